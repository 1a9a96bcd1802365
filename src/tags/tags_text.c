/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tags_text.c - a report as a tree in plain text, for a terminal or a log.
 */
#include "tags/tag_report.h"
#include "tags/text_sink.h"

static void put_amount(struct hl_text_sink *s, const char *what, uint64_t bytes)
{
	hl_text_sink_puts(s, what);
	hl_text_sink_bytes(s, (int64_t)bytes, 0);
}

static void put_header(struct hl_text_sink *s, const struct hl_tag_report *r)
{
	uint64_t unbalanced = 0, failed = 0;

	for (uint32_t i = 0; i < r->n_threads; i++) {
		unbalanced += r->threads[i].unbalanced;
		failed += r->threads[i].failed;
	}
	hl_text_sink_puts(s, "process ");
	hl_text_sink_u64(s, r->pid);
	if (r->requested) { /* from a trace, which has other numbers about the process */
		hl_text_sink_puts(s, ", as recorded");
	} else {
		put_amount(s, ": resident ", r->rss_bytes);
		put_amount(s, ", address space ", r->vm_bytes);
		put_amount(s, ", before counting ", r->before_bytes);
		put_amount(s, ", counting takes ", r->own_bytes);
	}
	if (r->allocator_known) {
		put_amount(s, "\nallocator: in use ", r->used_bytes);
		put_amount(s, ", free ", r->free_bytes);
		put_amount(s, ", mapped ", r->mapped_bytes);
	}
	hl_text_sink_puts(s, "\n");
	hl_text_sink_puts(s, hl_tag_charge_text(r));
	hl_text_sink_puts(s, "\n");
	if (unbalanced) {
		hl_text_sink_puts(s, "unbalanced pops: ");
		hl_text_sink_u64(s, unbalanced);
		hl_text_sink_puts(s, "\n");
	}
	if (failed) {
		hl_text_sink_puts(s, "scopes not counted separately for lack of memory: ");
		hl_text_sink_u64(s, failed);
		hl_text_sink_puts(s, "\n");
	}
	if (r->unsettled) {
		hl_text_sink_puts(s, "scopes that changed while they were read: ");
		hl_text_sink_u64(s, r->unsettled);
		hl_text_sink_puts(s, "\n");
	}
}

/* Deeper scopes show their depth as a number instead of indentation: deep recursion would fill the
 * disk with blanks. */
#define DEPTH_SHOWN 40u

static void put_row(
	struct hl_text_sink *s, const struct hl_tag_report *r, uint32_t i, uint32_t depth)
{
	const struct hl_tag_row *row = &r->rows[i];
	uint64_t share = hl_tag_share(r, row->total.alloc_bytes);

	hl_text_sink_bytes(s, hl_tag_live_bytes(&row->total), 12);
	hl_text_sink_bytes(s, (int64_t)row->total.alloc_bytes, 12);
	hl_text_sink_bytes(s, (int64_t)row->self.alloc_bytes, 12);
	hl_text_sink_bytes(s, (int64_t)row->total.free_bytes, 12);
	hl_text_sink_i64_right(s, (int64_t)row->total.alloc_blocks, 11);
	if (row->entered == HL_TAG_ENTERED_UNKNOWN)
		hl_text_sink_puts(s, "         -");
	else
		hl_text_sink_i64_right(s, (int64_t)row->entered, 10);
	hl_text_sink_i64_right(s, (int64_t)(share / 100), 4);
	hl_text_sink_puts(s, "% ");
	for (uint32_t d = 0; d <= depth && d <= DEPTH_SHOWN; d++)
		hl_text_sink_puts(s, d ? "  " : " ");
	if (depth > DEPTH_SHOWN) {
		hl_text_sink_puts(s, "(depth ");
		hl_text_sink_u64(s, depth);
		hl_text_sink_puts(s, ") ");
	}
	hl_text_sink_quoted(s, HL_QUOTE_TEXT, row->name_len ? row->name : "(no name)",
		row->name_len ? row->name_len : 9);
	if (row->parent == HL_TAG_NO_ROW && r->threads[row->thread].owners > 1) {
		hl_text_sink_puts(s, " (");
		hl_text_sink_u64(s, r->threads[row->thread].owners);
		hl_text_sink_puts(s, " threads)");
	}
	hl_text_sink_puts(s, "\n");
}

static void put_hidden(struct hl_text_sink *s, uint64_t n)
{
	if (n == 0)
		return;
	hl_text_sink_puts(s, "not shown: ");
	hl_text_sink_u64(s, n);
	hl_text_sink_puts(s, " scopes with a smaller share\n");
}

void hl_tag_text(struct hl_text_sink *s, const struct hl_tag_report *r, uint64_t least)
{
	uint64_t hidden = 0;

	put_header(s, r);
	hl_text_sink_puts(s,
		"        live   allocated        self       freed     blocks   entered share"
		"  scope\n");
	for (uint32_t t = 0; t < r->n_threads; t++) {
		uint32_t depth = 0, i = r->threads[t].n ? r->threads[t].first : HL_TAG_NO_ROW;

		for (; i != HL_TAG_NO_ROW; i = hl_tag_report_next(r, i, &depth))
			if (!least || hl_tag_share(r, r->rows[i].total.alloc_bytes) >= least)
				put_row(s, r, i, depth);
			else
				hidden++;
	}
	put_hidden(s, hidden);
}
