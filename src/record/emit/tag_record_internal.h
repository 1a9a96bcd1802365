/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tag_record_internal.h - records of tags.
 *
 * The ring must have the tag of an event before the event. The tag is compared after the position
 * is read, so a handler that sends another tag in between makes the put fail.
 */
#ifndef HL_RECORD_EMIT_TAG_RECORD_INTERNAL_H
#define HL_RECORD_EMIT_TAG_RECORD_INTERNAL_H

#include "record/session/recorder.h"
#include "record/tags/tags.h"

hl_inline bool hl_emit_is_tag_sent(const struct hl_thread *t)
{
	atomic_signal_fence(memory_order_seq_cst); /* not before the position was read */
	return hl_likely(t->sent_tag == hl_tags_current());
}

/* Sends the current tag. False: there was no room. A handler may send another tag at any point in
 * here; then the last tag in the ring is not known. */
hl_cold bool hl_emit_send_tag(struct hl_thread *t);

#endif
