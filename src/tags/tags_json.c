/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tags_json.c - a report as JSON, the format of snapshots: docs/json.md. Scopes are a list and not
 * nested, so no JSON reader can find them too deep.
 */
#include "tags/tag_report.h"
#include "tags/text_sink.h"

static void key_u64(struct hl_text_sink *s, const char *key, uint64_t n)
{
	hl_text_sink_puts(s, key);
	hl_text_sink_u64(s, n);
}

static void key_i64(struct hl_text_sink *s, const char *key, int64_t n)
{
	hl_text_sink_puts(s, key);
	hl_text_sink_i64(s, n);
}

static void key_name(struct hl_text_sink *s, const char *key, const char *name, uint32_t len)
{
	hl_text_sink_puts(s, key);
	hl_text_sink_puts(s, "\"");
	hl_text_sink_quoted(s, HL_QUOTE_JSON, name, len);
	hl_text_sink_puts(s, "\"");
}

/* Signed, because a report may be a difference. */
static void put_sums(struct hl_text_sink *s, const char *key, const struct hl_tag_sums *n)
{
	hl_text_sink_puts(s, key);
	key_i64(s, "{\"allocated_bytes\":", (int64_t)n->alloc_bytes);
	key_i64(s, ",\"allocated_blocks\":", (int64_t)n->alloc_blocks);
	key_i64(s, ",\"freed_bytes\":", (int64_t)n->free_bytes);
	key_i64(s, ",\"freed_blocks\":", (int64_t)n->free_blocks);
	key_i64(s, ",\"live_bytes\":", hl_tag_live_bytes(n));
	key_i64(s, ",\"live_blocks\":", hl_tag_live_blocks(n));
	hl_text_sink_puts(s, "}");
}

static void put_row(struct hl_text_sink *s, const struct hl_tag_report *r, uint32_t i)
{
	static const char *const names[HL_TAG_CALLS] = HL_TAG_CALL_NAMES;
	const struct hl_tag_row *row = &r->rows[i];

	key_u64(s, "{\"id\":", row->id);
	hl_text_sink_puts(s, ",\"parent\":");
	if (row->parent == HL_TAG_NO_ROW)
		hl_text_sink_puts(s, "null");
	else
		hl_text_sink_u64(s, r->rows[row->parent].id);
	key_name(s, ",\"name\":", row->name, row->name_len);
	if (row->entered == HL_TAG_ENTERED_UNKNOWN)
		hl_text_sink_puts(s, ",\"entered\":null");
	else
		key_i64(s, ",\"entered\":", (int64_t)row->entered);
	put_sums(s, ",\"self\":", &row->self);
	put_sums(s, ",\"total\":", &row->total);
	key_i64(s, ",\"average_bytes\":",
		row->self.alloc_blocks
			? (int64_t)row->self.alloc_bytes / (int64_t)row->self.alloc_blocks
			: 0);
	hl_text_sink_puts(s, ",\"share_percent\":");
	hl_text_sink_hundredths(s, hl_tag_share(r, row->total.alloc_bytes));
	hl_text_sink_puts(s, ",\"calls\":{");
	for (int c = 0; c < HL_TAG_CALLS; c++) {
		hl_text_sink_puts(s, c ? ",\"" : "\"");
		hl_text_sink_puts(s, names[c]);
		key_i64(s, "\":", (int64_t)row->calls[c]);
	}
	hl_text_sink_puts(s, "}}");
}

static void put_thread(struct hl_text_sink *s, const struct hl_tag_report *r, uint32_t i)
{
	const struct hl_tag_thread *t = &r->threads[i];

	hl_text_sink_puts(s, i ? ",\n{" : "\n{");
	key_name(s, "\"name\":", t->name, t->name_len);
	key_u64(s, ",\"tid\":", t->tid);
	key_i64(s, ",\"threads\":", (int64_t)t->owners);
	key_i64(s, ",\"unbalanced_pops\":", (int64_t)t->unbalanced);
	key_i64(s, ",\"failed_pushes\":", (int64_t)t->failed);
	put_sums(s, ",\"disabled\":", &t->disabled_sums);
	hl_text_sink_puts(s, ",\"scopes\":[");
	for (uint32_t k = 0; k < t->n; k++) {
		hl_text_sink_puts(s, k ? ",\n " : "\n ");
		put_row(s, r, t->first + k);
	}
	hl_text_sink_puts(s, "]}");
}

static void put_process(struct hl_text_sink *s, const struct hl_tag_report *r)
{
	struct hl_tag_sums outside = {0};

	for (uint32_t i = 0; i < r->n_threads; i++)
		if (r->threads[i].n)
			hl_tag_sums_add(&outside, &r->rows[r->threads[i].first].self);
	put_sums(s, ",\n\"all\":", &r->all);
	put_sums(s, ",\n\"outside\":", &outside);
	key_i64(s, ",\n\"before_bytes\":", (int64_t)r->before_bytes);
	key_i64(s, ",\"before_freed_bytes\":", (int64_t)r->before_freed);
	key_i64(s, ",\"vm_bytes\":", (int64_t)r->vm_bytes);
	key_i64(s, ",\"rss_bytes\":", (int64_t)r->rss_bytes);
	hl_text_sink_puts(s, ",\"allocator\":");
	if (r->allocator_known) {
		key_i64(s, "{\"used_bytes\":", (int64_t)r->used_bytes);
		key_i64(s, ",\"free_bytes\":", (int64_t)r->free_bytes);
		key_i64(s, ",\"mapped_bytes\":", (int64_t)r->mapped_bytes);
		hl_text_sink_puts(s, "}");
	} else {
		hl_text_sink_puts(s, "null");
	}
	key_i64(s, ",\"own_bytes\":", (int64_t)r->own_bytes);
	key_i64(s, ",\"unsettled\":", (int64_t)r->unsettled);
}

void hl_tag_json(struct hl_text_sink *s, const struct hl_tag_report *r)
{
	hl_text_sink_puts(s, "{\"heaplapse_tags\":1,\"charge\":");
	hl_text_sink_puts(s, r->charge_owner ? "\"owner\"" : "\"freeing\"");
	hl_text_sink_puts(s, ",\"meaning\":\"");
	hl_text_sink_puts(s, hl_tag_charge_text(r));
	hl_text_sink_puts(s, r->difference ? "\",\"difference\":true" : "\",\"difference\":false");
	key_u64(s, ",\n\"pid\":", r->pid);
	key_i64(s, ",\"start\":", r->start_s);
	key_i64(s, ",\"time\":", r->time_s);
	put_process(s, r);
	hl_text_sink_puts(s, ",\n\"threads\":[");
	for (uint32_t i = 0; i < r->n_threads; i++)
		put_thread(s, r, i);
	hl_text_sink_puts(s, "]}\n");
}
