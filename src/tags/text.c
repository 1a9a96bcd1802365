/*
 * text.c - a report as a tree to read, on a terminal or in a log.
 */
#include "tags/report.h"
#include "tags/sink.h"

static void put_line(struct hl_sink *s, const char *what, uint64_t bytes)
{
	hl_sink_puts(s, what);
	hl_sink_bytes(s, (int64_t)bytes, 0);
}

static void put_head(struct hl_sink *s, const struct hl_tag_report *r)
{
	uint64_t unbalanced = 0, failed = 0;

	for (uint32_t i = 0; i < r->n_threads; i++) {
		unbalanced += r->threads[i].unbalanced;
		failed += r->threads[i].failed;
	}
	hl_sink_puts(s, "process ");
	hl_sink_u64(s, r->pid);
	if (r->requested) { /* of a trace, which has other numbers of the process */
		hl_sink_puts(s, ", as recorded");
	} else {
		put_line(s, ": resident ", r->rss_bytes);
		put_line(s, ", address space ", r->vm_bytes);
		put_line(s, ", before counting ", r->before_bytes);
		put_line(s, ", counting takes ", r->own_bytes);
	}
	if (r->allocator_known) {
		put_line(s, "\nallocator: in use ", r->used_bytes);
		put_line(s, ", free ", r->free_bytes);
		put_line(s, ", mapped ", r->mapped_bytes);
	}
	hl_sink_puts(s, "\n");
	hl_sink_puts(s, hl_tag_charge(r));
	hl_sink_puts(s, "\n");
	if (unbalanced) {
		hl_sink_puts(s, "unbalanced pops: ");
		hl_sink_u64(s, unbalanced);
		hl_sink_puts(s, "\n");
	}
	if (failed) {
		hl_sink_puts(s, "scopes without memory, counted in those around them: ");
		hl_sink_u64(s, failed);
		hl_sink_puts(s, "\n");
	}
	if (r->unsettled) {
		hl_sink_puts(s, "scopes that changed whenever they were read: ");
		hl_sink_u64(s, r->unsettled);
		hl_sink_puts(s, "\n");
	}
}

/* Further in, a scope is told by a number: a recursion would fill the disk with blanks. */
#define DEPTH_SHOWN 40u

static void put_row(struct hl_sink *s, const struct hl_tag_report *r, uint32_t i, uint32_t depth)
{
	const struct hl_tag_row *row = &r->rows[i];
	uint64_t share = hl_tag_share(r, row->total.alloc_bytes);

	hl_sink_bytes(s, hl_tag_live_bytes(&row->total), 12);
	hl_sink_bytes(s, (int64_t)row->total.alloc_bytes, 12);
	hl_sink_bytes(s, (int64_t)row->self.alloc_bytes, 12);
	hl_sink_bytes(s, (int64_t)row->total.free_bytes, 12);
	hl_sink_right(s, (int64_t)row->total.alloc_blocks, 11);
	if (row->entered == HL_TAG_ENTERED_UNKNOWN)
		hl_sink_puts(s, "         -");
	else
		hl_sink_right(s, (int64_t)row->entered, 10);
	hl_sink_right(s, (int64_t)(share / 100), 4);
	hl_sink_puts(s, "% ");
	for (uint32_t d = 0; d <= depth && d <= DEPTH_SHOWN; d++)
		hl_sink_puts(s, d ? "  " : " ");
	if (depth > DEPTH_SHOWN) {
		hl_sink_puts(s, "(depth ");
		hl_sink_u64(s, depth);
		hl_sink_puts(s, ") ");
	}
	hl_sink_quoted(s, HL_QUOTE_TEXT, row->name_len ? row->name : "(no name)",
		row->name_len ? row->name_len : 9);
	if (row->parent == HL_TAG_NO_ROW && r->threads[row->thread].owners > 1) {
		hl_sink_puts(s, " (");
		hl_sink_u64(s, r->threads[row->thread].owners);
		hl_sink_puts(s, " threads)");
	}
	hl_sink_puts(s, "\n");
}

static void put_hidden(struct hl_sink *s, uint64_t n)
{
	if (n == 0)
		return;
	hl_sink_puts(s, "not shown: ");
	hl_sink_u64(s, n);
	hl_sink_puts(s, " scopes with a smaller share\n");
}

void hl_tag_text(struct hl_sink *s, const struct hl_tag_report *r, uint64_t least)
{
	uint64_t hidden = 0;

	put_head(s, r);
	hl_sink_puts(s,
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
