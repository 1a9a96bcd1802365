/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain.c - a plan in words: which keyframes, summaries or events are read, and why.
 */
#include "model/query/key_index.h"
#include "model/query/query_plan.h"
#include "model/stack/flat_table.h"
#include "model/views/curves/moments.h"
#include "request/plan.h"
#include "request/result.h"
#include "util/safe_text.h"

static const char *find_option(const struct hl_request *r, const struct hl_view *view)
{
	for (size_t i = 0; i < r->parts.len; i++) {
		if (r->parts.data[i].view == view)
			return r->parts.data[i].option;
	}
	return "";
}

#define FILTERED_PEAK "reads every event to find the peak of the matching blocks"

/* "live at the peak, by module", "--timeline" or "--fragmentation, live at the peak". */
void hl_plan_describe_part(
	const struct hl_plan *p, const struct hl_plan_part *part, struct hl_strbuf *b)
{
	char heading[256] = "";

	if (hl_plan_part_has_quantity(part))
		hl_plan_part_heading(p, part, heading, sizeof(heading));
	if (part->view->reads)
		hl_strbuf_printf(b, "%s%s%s%s%s", find_option(p->request, part->view),
			heading[0] ? ", " : "", heading, part->grouped ? ", by " : "",
			part->grouped ? hl_group_name(part->group) : "");
	else
		hl_strbuf_printf(b, "%s, by %s", heading,
			part->view == &hl_view_process ? "process" : hl_group_name(part->group));
}

struct hl_query hl_plan_part_query(const struct hl_plan *p, const struct hl_plan_part *part)
{
	struct hl_query q = hl_plan_query(p, part->quantity);

	if (part->view != &hl_view_tree && part->view != &hl_view_process)
		q.key = hl_group_key(part->group);
	return q;
}

struct hl_query hl_plan_query_to_check(const struct hl_plan *p, const struct hl_plan_part *part)
{
	struct hl_query q = hl_plan_part_query(p, part);

	if (hl_plan_has_own_peak(p, part->quantity))
		q.to = (struct hl_time_spec){.ns = hl_model_base(p->m)->time_ns};
	return q;
}

/* Is the end in the trace? Not if the trace ends in its base. */
static int check_end(const struct hl_plan *p)
{
	const struct hl_time_spec end = {.kind = HL_TIME_SPEC_END};

	return hl_time_spec_check_blocks(&end, p->m);
}

/* Blocks that are live at a moment, as the query plan requires them. */
static int check_live_blocks(const struct hl_plan *p, const struct hl_query *q)
{
	int err = hl_model_require_blocks(p->m, &q->to, "this");

	if (!err && q->quantity == HL_QUANTITY_LIVE)
		err = hl_time_spec_check_blocks(&q->to, p->m);
	return err;
}

/* HL_NEEDS_* that a filter adds to a view which reads something else with it. Sums by stack suffice
 * for a filter about stacks, but the timeline has none. */
static unsigned filter_needs(const struct hl_plan *p, const struct hl_view *view)
{
	if (!p->filter || !view->reads_filtered)
		return 0;
	if (view != &hl_view_timeline && !(hl_filter_subjects(p->filter) & ~HL_FILTER_STACK))
		return 0;
	return HL_NEEDS_EVENTS;
}

/* Refuses a part whose view reads more than its query. Returns 0 or -errno. */
static int check_needs(const struct hl_plan *p, const struct hl_plan_part *part)
{
	struct hl_query q = hl_plan_query_to_check(p, part);
	unsigned needs = part->view->requires | filter_needs(p, part->view);
	bool live = part->view->flags & HL_VIEW_QUANTITY && needs & HL_NEEDS_EVENTS &&
		    (q.quantity == HL_QUANTITY_LIVE || q.quantity == HL_QUANTITY_GROWTH);
	int err = hl_model_require_known(p->m, part->view->refuses, "this");

	if (live)
		needs &= ~(unsigned)HL_NEEDS_EVENTS;
	if (!err)
		err = hl_model_require(p->m, needs, "this");
	return !err && live ? check_live_blocks(p, &q) : err;
}

static int check_view(const struct hl_plan *p, const struct hl_plan_part *part, const char **reads)
{
	int err = check_needs(p, part);

	if (err)
		return err;
	return part->view->check                    ? part->view->check(p, part, reads)
	       : part->view->flags & HL_VIEW_BLOCKS ? check_end(p)
						    : 0;
}

static const char *find_reads(const struct hl_plan *p, const struct hl_view *view)
{
	return p->filter && view->reads_filtered ? view->reads_filtered : view->reads;
}

static void explain_view(const struct hl_plan *p, const struct hl_plan_part *part,
	const char *reads, struct hl_strbuf *b)
{
	if (hl_plan_part_has_quantity(part) && hl_plan_has_own_peak(p, part->quantity))
		hl_strbuf_printf(b, "%s, then %s", FILTERED_PEAK, reads);
	else
		hl_strbuf_puts(b, reads);
}

static void explain_part(
	const struct hl_plan *p, const struct hl_plan_part *part, struct hl_strbuf *b)
{
	struct hl_query q = hl_plan_part_query(p, part);
	const char *reads = find_reads(p, part->view);

	hl_plan_describe_part(p, part, b);
	hl_strbuf_puts(b, ": ");
	if (check_view(p, part, &reads)) {
		hl_strbuf_printf(b, "is refused: %s\n", hl_model_error(p->m));
		return;
	}
	if (part->view->reads)
		explain_view(p, part, reads, b);
	else if (hl_plan_has_own_peak(p, part->quantity) && check_end(p))
		hl_strbuf_printf(b, "is refused: %s", hl_model_error(p->m));
	else if (hl_plan_has_own_peak(p, part->quantity))
		hl_strbuf_puts(
			b, hl_model_require(p->m, HL_NEEDS_ORDER | HL_NEEDS_EVENTS, "this")
				   ? "is refused: the peak of matching blocks needs every event"
				   : FILTERED_PEAK ", then the state at that moment");
	else
		hl_query_explain(p->m, &q, b);
	if (part->view == &hl_view_sites)
		hl_strbuf_puts(b, hl_model_has_aggregated(p->m)
					  ? "; lifetimes and trends are not known"
					  : "; lifetimes and trends of the sites read every event");
	hl_strbuf_puts(b, "\n");
}

/* This many summaries are read in some 50 ms; and this many events take as long as one. */
#define CHEAP_SUMMARIES 256
#define SUMMARY_EVENTS  16384

/* The summaries that are read for sums by a key at a position. A chunk without one counts as
 * several, by its events. */
static size_t count_summaries(
	const struct hl_plan *p, enum hl_key key, const struct hl_position *at)
{
	const struct hl_reader *r = hl_model_reader(p->m);
	size_t end = hl_reader_n_chunks(r), n = 0;

	end = at->chunk < end ? at->chunk : end;
	for (size_t i = hl_key_index_before(p->m, key, end); i < end; i++) {
		const struct hl_chunk_info *c = hl_reader_chunk(r, i);

		n += 1 + (c->has_summary ? 0 : c->n_events / SUMMARY_EVENTS);
	}
	return n;
}

/* For both ends of the range of the query. */
static bool is_cheap_by_key(const struct hl_plan *p, const struct hl_query *q)
{
	struct hl_position to = hl_query_to(p->m, &q->to), from;
	size_t n = count_summaries(p, q->key, &to);

	if (q->quantity != HL_QUANTITY_LIVE) {
		from = hl_query_from(p->m, &q->from);
		n += count_summaries(p, q->key, &from);
	}
	return n <= CHEAP_SUMMARIES;
}

static bool is_cheap_query(const struct hl_plan *p, const struct hl_query *q)
{
	struct hl_query_plan plan;

	if (hl_query_plan(p->m, q, &plan))
		return true; /* it is refused */
	return plan.method == HL_METHOD_STACK_SUMS ||
	       (plan.method == HL_METHOD_KEY_SUMS && is_cheap_by_key(p, q));
}

/* A filter on stacks selects sums by stack. */
static bool is_cheap_curves(const struct hl_plan *p, const struct hl_plan_part *part)
{
	struct hl_query q = {.quantity = HL_QUANTITY_ALLOCATED,
		.key = hl_group_key(part->group),
		.to.kind = HL_TIME_SPEC_END,
		.filter = p->filter};
	struct hl_time_range range = hl_plan_time_range(p);

	return is_cheap_query(p, &q) &&
	       (q.key != HL_KEY_STACK || hl_moments_are_cheap(p->m, &range));
}

/* A view that reads more than its query, or events to find a peak, is not cheap. */
static bool is_cheap_part(const struct hl_plan *p, const struct hl_plan_part *part)
{
	struct hl_query q = hl_plan_part_query(p, part);

	if (part->view == &hl_view_curves)
		return is_cheap_curves(p, part);
	if (p->filter)
		return false;
	if (part->view == &hl_view_timeline)
		return true; /* it decodes HL_TIMELINE_CHUNKS at most */
	if (part->view->reads || part->view->flags & HL_VIEW_EARLY)
		return false;
	return is_cheap_query(p, &q);
}

bool hl_plan_is_cheap(const struct hl_plan *p)
{
	bool cheap = true;

	for (size_t i = 0; i < p->parts.len && cheap; i++)
		cheap = is_cheap_part(p, &p->parts.data[i]);
	return cheap;
}

static void explain_budget(const struct hl_budget *b, struct hl_strbuf *to)
{
	char text[HL_TEXT_SIZE_MAX];

	if (b->max_ns)
		hl_strbuf_printf(to,
			"--max-time: a part that is not ready within %s is refused; reading all "
			"events may take three quarters of it\n",
			hl_text_duration(text, b->max_ns));
	if (b->max_rows)
		hl_strbuf_printf(to, "--max-rows: at most %s rows are written\n",
			hl_text_count(text, b->max_rows));
	if (b->max_bytes)
		hl_strbuf_printf(to, "--max-bytes: rows are written up to %s\n",
			hl_text_bytes(text, b->max_bytes));
}

/* A mark can be anywhere in the trace. */
static void explain_marks(const struct hl_request *r, struct hl_strbuf *b)
{
	if (r->at.kind == HL_TIME_SPEC_MARK || r->from.kind == HL_TIME_SPEC_MARK ||
		r->to.kind == HL_TIME_SPEC_MARK)
		hl_strbuf_puts(b, "@mark: before that, the side events of all chunks are read to "
				  "find the mark\n");
}

/* Terms that look up tables of the whole trace. */
static void explain_filter(const struct hl_plan *p, struct hl_strbuf *b)
{
	unsigned subjects = p->filter ? hl_filter_subjects(p->filter) : 0;

	if (subjects & HL_FILTER_CHAIN)
		hl_strbuf_puts(b, "chain-: before that, every event is read to find the realloc "
				  "chains\n");
	if (subjects & HL_FILTER_GROUP_TIMES)
		hl_strbuf_puts(b, "group-: before that, every event is read, because the times of "
				  "the blocks of a stack are in no sum\n");
	else if (subjects & HL_FILTER_GROUP)
		hl_strbuf_puts(b, "group-: the blocks of each stack are counted from sums\n");
}

void hl_plan_explain(struct hl_plan *p, struct hl_strbuf *b)
{
	for (size_t i = 0; i < p->parts.len; i++)
		explain_part(p, &p->parts.data[i], b);
	if (p->parts.len > 1)
		hl_strbuf_puts(b, "parts that read the same events share one pass over them\n");
	explain_filter(p, b);
	explain_marks(p->request, b);
	explain_budget(&p->request->budget, b);
}
