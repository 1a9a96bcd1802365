/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain.c - a plan in words: which keyframes, summaries or events are read, and why.
 */
#include "model/query/query_plan.h"
#include "model/stack/flat_table.h"
#include "request/plan.h"

static const char *find_option(const struct hl_request *r, const struct hl_view *view)
{
	for (size_t i = 0; i < r->parts.len; i++) {
		if (r->parts.data[i].view == view)
			return r->parts.data[i].option;
	}
	return "";
}

/* "live at the peak, by module", "--timeline" or "--fragmentation, live at the peak". */
static void describe_part(
	const struct hl_plan *p, const struct hl_plan_part *part, struct hl_strbuf *b)
{
	char heading[256] = "";

	if (part->view->flags & HL_VIEW_QUANTITY)
		hl_plan_heading(p, part->quantity, heading, sizeof(heading));
	if (part->view->reads)
		hl_strbuf_printf(b, "%s%s%s", find_option(p->request, part->view),
			heading[0] ? ", " : "", heading);
	else
		hl_strbuf_printf(b, "%s, by %s", heading,
			part->view == &hl_view_process ? "process" : hl_group_name(part->group));
}

static struct hl_query part_query(const struct hl_plan *p, const struct hl_plan_part *part)
{
	struct hl_query q = hl_plan_query(p, part->quantity);

	if (part->view != &hl_view_tree && part->view != &hl_view_process)
		q.key = hl_group_key(part->group);
	return q;
}

/* Refuses a part whose view reads more than its query. Returns 0 or -ENODATA. */
static int check_view(const struct hl_plan *p, const struct hl_plan_part *part)
{
	struct hl_query q = part_query(p, part);
	unsigned requires = part->view->requires;

	if (part->view == &hl_view_timeline && p->filter)
	requires |= HL_NEEDS_EVENTS;
	return part->view->flags & HL_VIEW_MOMENT ? hl_model_require_blocks(p->m, &q.to, "this")
						  : hl_model_require(p->m, requires, "this");
}

static void explain_view(
	const struct hl_plan *p, const struct hl_plan_part *part, struct hl_strbuf *b)
{
	if (check_view(p, part))
		hl_strbuf_printf(b, "is refused: %s", hl_model_error(p->m));
	else
		hl_strbuf_puts(b, p->filter ? part->view->reads_filtered : part->view->reads);
}

static void explain_part(
	const struct hl_plan *p, const struct hl_plan_part *part, struct hl_strbuf *b)
{
	struct hl_query q = part_query(p, part);

	describe_part(p, part, b);
	hl_strbuf_puts(b, ": ");
	if (part->view->reads)
		explain_view(p, part, b);
	else if (hl_plan_has_own_peak(p, part->quantity))
		hl_strbuf_puts(
			b, hl_model_require(p->m, HL_NEEDS_ORDER | HL_NEEDS_EVENTS, "this")
				   ? "is refused: the peak of matching blocks needs every event"
				   : "reads every event to find the peak of the matching "
				     "blocks, then the state at that moment");
	else
		hl_query_explain(p->m, &q, b);
	if (part->view == &hl_view_sites)
		hl_strbuf_puts(b, hl_model_has_aggregated(p->m)
					  ? "; lifetimes and trends are not known"
					  : "; lifetimes and trends of the sites read every event");
	hl_strbuf_puts(b, "\n");
}

void hl_plan_explain(struct hl_plan *p, struct hl_strbuf *b)
{
	for (size_t i = 0; i < p->parts.len; i++)
		explain_part(p, &p->parts.data[i], b);
	if (p->parts.len > 1)
		hl_strbuf_puts(b, "parts that read the same events share one pass over them\n");
}
