/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tags_dot.c - a report as a graph for graphviz: a cluster for each thread, scopes shaded by the
 * bytes that they allocated themselves. A node is named by its row, so scopes with the same name in
 * different parents stay separate.
 */
#include "base/attr.h"
#include "tags/tag_report.h"
#include "tags/text_sink.h"

/* Steps of color and size, by hundredths of a percent of all. */
static const struct {
	uint64_t below;
	const char *look;
} looks[] = {
	{500, "fillcolor=1 fontsize=9"},
	{1000, "fillcolor=2 fontsize=10"},
	{2000, "fillcolor=3 fontsize=12"},
	{4000, "fillcolor=4 fontsize=14"},
	{6000, "fillcolor=5 fontsize=16"},
	{8000, "fillcolor=6 fontsize=18"},
	{UINT64_MAX, "fillcolor=7 fontsize=20"},
};

static const char *choose_look(uint64_t share)
{
	size_t i = 0;

	while (share >= looks[i].below)
		i++;
	return looks[i].look;
}

static void put_amount(struct hl_text_sink *s, const char *what, int64_t bytes, uint64_t blocks)
{
	hl_text_sink_puts(s, what);
	hl_text_sink_bytes(s, bytes, 0);
	hl_text_sink_puts(s, " in ");
	hl_text_sink_u64(s, blocks);
}

static void put_node(struct hl_text_sink *s, const struct hl_tag_report *r, uint32_t i)
{
	const struct hl_tag_row *row = &r->rows[i];

	hl_text_sink_puts(s, "  n");
	hl_text_sink_u64(s, i);
	hl_text_sink_puts(s, row->parent == HL_TAG_NO_ROW ? " [shape=box " : " [");
	hl_text_sink_puts(s, choose_look(hl_tag_share(r, row->self.alloc_bytes)));
	hl_text_sink_puts(s, " label=\"");
	hl_text_sink_quoted(s, HL_QUOTE_DOT, row->name, row->name_len);
	put_amount(s, "\\ntotal ", (int64_t)row->total.alloc_bytes, row->total.alloc_blocks);
	put_amount(s, "\\nself ", (int64_t)row->self.alloc_bytes, row->self.alloc_blocks);
	hl_text_sink_puts(s, "\\nlive ");
	hl_text_sink_bytes(s, hl_tag_live_bytes(&row->total), 0);
	if (row->entered != HL_TAG_ENTERED_UNKNOWN) {
		hl_text_sink_puts(s, ", entered ");
		hl_text_sink_u64(s, row->entered);
	}
	hl_text_sink_puts(s, "\"];\n");
	if (row->parent == HL_TAG_NO_ROW)
		return;
	hl_text_sink_puts(s, "  n");
	hl_text_sink_u64(s, row->parent);
	hl_text_sink_puts(s, " -> n");
	hl_text_sink_u64(s, i);
	hl_text_sink_puts(s, " [label=\"");
	hl_text_sink_hundredths(s, hl_tag_share(r, row->total.alloc_bytes));
	hl_text_sink_puts(s, "%\"];\n");
}

static void put_thread(struct hl_text_sink *s, const struct hl_tag_report *r, uint32_t i)
{
	const struct hl_tag_thread *t = &r->threads[i];

	hl_text_sink_puts(s, " subgraph cluster_");
	hl_text_sink_u64(s, i);
	hl_text_sink_puts(s, " {\n  labelloc=b label=\"");
	hl_text_sink_quoted(s, HL_QUOTE_DOT, t->name, t->name_len);
	hl_text_sink_puts(s, t->tid ? ", thread " : "");
	if (t->tid)
		hl_text_sink_u64(s, t->tid);
	hl_text_sink_puts(s, "\";\n");
	for (uint32_t k = 0; k < t->n; k++)
		put_node(s, r, t->first + k);
	hl_text_sink_puts(s, " }\n");
}

void hl_tag_dot(struct hl_text_sink *s, const struct hl_tag_report *r)
{
	hl_text_sink_puts(s, "digraph heaplapse_tags {\n"
			     " node [colorscheme=reds9 style=filled fontname=\"sans\"];\n"
			     " edge [fontname=\"sans\" fontsize=9];\n process [shape=note "
			     "fillcolor=white label=\"process ");
	hl_text_sink_u64(s, r->pid);
	put_amount(s, "\\nallocated ", (int64_t)r->all.alloc_bytes, r->all.alloc_blocks);
	put_amount(s, "\\nfreed ", (int64_t)r->all.free_bytes, r->all.free_blocks);
	hl_text_sink_puts(s, "\\nresident ");
	hl_text_sink_bytes(s, (int64_t)r->rss_bytes, 0);
	hl_text_sink_puts(s, "\\n");
	hl_text_sink_puts(s, hl_tag_charge_text(r));
	hl_text_sink_puts(s, "\\nshaded by bytes that a scope allocated itself\"];\n");
	for (uint32_t i = 0; i < r->n_threads; i++)
		if (r->threads[i].n)
			put_thread(s, r, i);
	hl_text_sink_puts(s, "}\n");
}
