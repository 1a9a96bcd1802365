/* SPDX-License-Identifier: Apache-2.0 */
/* tag_record.c - see tag_record_internal.h. */
#include "base/bits.h"
#include "record/emit/emit_internal.h"
#include "record/emit/tag_record_internal.h"

/* Sends the names of a node and of its ancestors that this ring does not have yet. */
static bool send_tag_names(struct hl_thread *t, const struct hl_tag_node *node)
{
	for (; node; node = node->parent) {
		uint32_t at = node->id % HL_NAMED_TAGS;
		uint32_t len = hl_min_u32(node->name_len, HL_TAG_NAME_MAX);
		const uint64_t words[] = {
			node->id | (uint64_t)(node->parent ? node->parent->id : 0) << 32, len};

		if (t->named_tags && t->named_tags[at] == node)
			break;
		if (!hl_emit_put_state(t, HL_REC_TAG_NAME, words, 2, node->name, len))
			return false;
		if (t->named_tags)
			t->named_tags[at] = node;
	}
	return true;
}

hl_cold bool hl_emit_send_tag(struct hl_thread *t)
{
	const struct hl_tag_node *node = hl_tags_current();
	uint32_t send_no = ++t->tag_sends;
	uint64_t id = node ? node->id : 0;

	t->sent_tag = HL_TAG_UNKNOWN;
	if (!send_tag_names(t, node) || !hl_emit_put_state(t, HL_REC_TAG, &id, 1, NULL, 0))
		return false;
	atomic_signal_fence(memory_order_seq_cst);
	t->sent_tag = node;
	atomic_signal_fence(memory_order_seq_cst);
	if (t->tag_sends != send_no)
		t->sent_tag = HL_TAG_UNKNOWN;
	return true;
}
