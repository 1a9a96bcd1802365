/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshots_view.c - a tree or a table for each snapshot, numbered as in `heaplapse log`. The end
 * of the trace is a snapshot there, but not here: --leaks shows it.
 *
 * Output and time grow with snapshots times nodes. A small file can have thousands of both, so both
 * are limited. Real programs stay far below these limits.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/query/query_plan.h"
#include "request/result.h"
#include "util/safe_text.h"
#include "util/strbuf.h"

#define MAX_NODES          (1u << 20) /* limit for all snapshots, divided evenly */
#define MIN_NODES          100u       /* minimum for each snapshot */
#define MAX_STEPS          (UINT64_C(1) << 27)
#define STEPS_PER_SNAPSHOT 65536u /* cost of a snapshot, plus one for each node of the trace */
#define MIN_SNAPSHOTS      100u

static int find_snapshots(struct hl_model *m, struct hl_snapshots_result *x)
{
	int err = hl_snapshot_list_new(&x->log, m);

	if (err)
		return err;
	x->all = hl_snapshot_list_n(x->log);
	if (x->all > 0 && hl_snapshot_list_moment(x->log, x->all)->cause == HL_SNAPSHOT_END)
		x->all--;
	x->n = x->all;
	return 0;
}

/* Limits the result to the first snapshots, by the estimated time. */
static void limit_snapshots(struct hl_snapshots_result *x)
{
	struct hl_model *m = x->plan->m;
	/* With a filter each snapshot needs all events before it. */
	uint64_t events = x->plan->filter ? hl_model_info(m)->totals.events : 0;
	uint64_t each = STEPS_PER_SNAPSHOT + hl_model_n_nodes(m) + events;
	uint64_t max;

	if (x->view == &hl_view_cumulative_delta)
		return;
	if (x->view == &hl_view_snapshot_deltas)
		each *= 3; /* also the live blocks before and after */
	max = each < MAX_STEPS ? MAX_STEPS / each : 0;
	max = max < MIN_SNAPSHOTS ? MIN_SNAPSHOTS : max;
	x->n = x->n > max ? max : x->n;
	if (x->n > 0)
		x->max_nodes = MAX_NODES / x->n;
	if (x->max_nodes < MIN_NODES)
		x->max_nodes = MIN_NODES;
}

/* Checks the time budget. If keyframes and summaries are missing or far away, each snapshot may
 * need the whole trace; with a filter each event costs more. */
static bool is_over_budget(const struct hl_snapshots_result *x)
{
	const struct hl_model *m = x->plan->m;

	return hl_model_events_decoded(m) - x->decoded >
	       hl_model_events_limit(m) / (x->plan->filter ? 4 : 2);
}

static void note_left_out(const struct hl_snapshots_result *x)
{
	char shown[HL_TEXT_SIZE_MAX], all[HL_TEXT_SIZE_MAX];

	if (x->n < x->all)
		hl_notes_put(&x->plan->notes, HL_NOTE_INFO,
			"showing the first %s of %s snapshots; use --at TIME or --at @mark:NAME "
			"for others",
			hl_text_count(shown, x->n), hl_text_count(all, x->all));
}

/* Queries live bytes at a snapshot. The change between snapshots is growth minus freed bytes. */
static int query_live(const struct hl_snapshots_result *x, size_t i, struct hl_value *v)
{
	struct hl_query q = {.filter = x->plan->filter};
	struct hl_answer a;
	int err;

	q.to = hl_moment_time_spec(hl_snapshot_list_moment(x->log, i));
	err = hl_model_query(x->plan->m, &q, &a);
	if (!err) {
		*v = a.total;
		hl_answer_fini(&a);
	}
	return err;
}

static int query_change(struct hl_snapshots_result *x)
{
	struct hl_snapshot_result *s = &x->current;
	int err = 0;

	s->live_before = x->live;
	if (s->from != x->last)
		err = query_live(x, s->from, &s->live_before);
	if (!err)
		err = query_live(x, s->to, &s->live);
	if (!err) {
		x->live = s->live;
		x->last = s->to;
	}
	return err;
}

/* The label comes from the program and may contain anything, so it is escaped. */
static char *make_heading(const struct hl_snapshot_result *s)
{
	struct hl_strbuf b = {0};
	char *text;

	hl_strbuf_printf(&b, "snapshot %" PRIu64 "%s", s->number, s->moment->label[0] ? " " : "");
	hl_text_escape(&b, s->moment->label);
	if (s->moment->cause != HL_SNAPSHOT_PROGRAM)
		hl_strbuf_printf(&b, " (%s)", hl_snapshot_cause_name(s->moment->cause));
	if (!s->growth)
		hl_strbuf_puts(&b, ": live");
	else if (s->from > 0)
		hl_strbuf_printf(&b, ": new since snapshot %" PRIu64 " and still live", s->since);
	else if (s->since_base)
		hl_strbuf_puts(&b, ": allocated between the base and it and still live");
	else
		hl_strbuf_puts(&b, ": allocated before it and still live");
	text = strdup(hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
	return text;
}

static void drop_current(struct hl_snapshots_result *x)
{
	free(x->current.heading);
	if (x->grouped)
		hl_table_result_fini(&x->current.table);
	else
		hl_tree_result_fini(&x->current.tree);
	x->current = (struct hl_snapshot_result){0};
}

static int query_snapshot(struct hl_snapshots_result *x, const struct hl_query *q)
{
	struct hl_snapshot_result *s = &x->current;
	struct hl_answer *a = x->grouped ? &s->table.answer : &s->tree.answer;
	int err = hl_model_query(x->plan->m, q, a);

	s->answer = a;
	if (err)
		return err;
	hl_plan_note_moved(x->plan, &q->to, a->to_ns, a->before_damage);
	return x->grouped ? hl_table_result_build(&s->table, x->plan, x->group, &x->limits)
			  : hl_tree_result_build(&s->tree, x->plan, &x->limits);
}

/* The query for the tree or the table of a snapshot. */
static struct hl_query make_query(const struct hl_snapshots_result *x, size_t from, size_t to)
{
	struct hl_query q = {.filter = x->plan->filter};

	q.quantity = x->view == &hl_view_snapshots ? HL_QUANTITY_LIVE : HL_QUANTITY_GROWTH;
	q.to = hl_moment_time_spec(hl_snapshot_list_moment(x->log, to));
	if (x->grouped)
		q.key = hl_group_key(x->group);
	if (from > 0)
		q.from = hl_moment_time_spec(hl_snapshot_list_moment(x->log, from));
	return q;
}

static int compute_snapshot(struct hl_snapshots_result *x, size_t from, size_t to)
{
	struct hl_snapshot_result *s = &x->current;
	struct hl_query q;
	int err;

	*s = (struct hl_snapshot_result){.from = from,
		.to = to,
		.number = to + hl_snapshot_list_before(x->log),
		.since = from ? from + hl_snapshot_list_before(x->log) : 0,
		.since_base = from == 0 && hl_snapshot_list_is_late(x->log),
		.moment = hl_snapshot_list_moment(x->log, to),
		.growth = x->view != &hl_view_snapshots};
	s->tree.max_nodes = s->max_rows = x->max_nodes;
	s->heading = make_heading(s);
	q = make_query(x, from, to);
	err = s->heading ? query_snapshot(x, &q) : -ENOMEM;
	return err || !s->growth ? err : query_change(x);
}

const struct hl_snapshot_result *hl_snapshots_next(struct hl_snapshots_result *x, int *err)
{
	size_t to = ++x->next, from = to - 1;

	drop_current(x);
	*err = 0;
	if (to > 1 && is_over_budget(x) && x->view != &hl_view_cumulative_delta && x->n > from)
		x->n = from;
	if (x->view == &hl_view_cumulative_delta) {
		from = 1;
		to = to == 1 && x->n > 1 ? x->n : x->n + 1;
	}
	if (to > x->n) {
		note_left_out(x);
		return NULL;
	}
	*err = compute_snapshot(x, from, to);
	return *err ? NULL : &x->current;
}

static int run_snapshots(struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r)
{
	struct hl_snapshots_result *x = r->data;
	int err;

	x->plan = p;
	x->view = part->view;
	x->limits = r->limits;
	x->group = part->group;
	x->grouped = part->grouped;
	err = find_snapshots(p->m, x);
	if (!err && x->n == 0)
		hl_notes_put(&p->notes, HL_NOTE_WARNING,
			"this trace has no snapshots; see heaplapse_snapshot in heaplapse.h, and "
			"--every and --churn of heaplapse record");
	else if (!err && x->n == 1 && x->view == &hl_view_cumulative_delta)
		hl_notes_put(&p->notes, HL_NOTE_WARNING,
			"deltas need at least two snapshots, and this trace has one; use "
			"--snapshots");
	if (!err)
		limit_snapshots(x);
	x->decoded = hl_model_events_decoded(p->m);
	return err;
}

static int check_first(const struct hl_snapshots_result *x, const char **reads)
{
	bool all = x->view == &hl_view_cumulative_delta;
	struct hl_query_plan plan;
	struct hl_query q;
	int err;

	if (x->n == 0 || (all && x->n == 1)) {
		*reads = all && x->n == 1 ? "reads nothing: the trace has only one snapshot"
					  : "reads nothing: the trace has no snapshots";
		return 0;
	}
	q = make_query(x, all ? 1 : 0, all ? x->n : 1);
	err = hl_query_bind(&q, x->plan->m);
	return err ? err : hl_query_plan(x->plan->m, &q, &plan);
}

static int check_snapshots(
	const struct hl_plan *p, const struct hl_plan_part *part, const char **reads)
{
	struct hl_snapshots_result x = {.plan = (struct hl_plan *)(uintptr_t)p,
		.view = part->view,
		.group = part->group,
		.grouped = part->grouped};
	int err = find_snapshots(p->m, &x);

	if (!err)
		err = check_first(&x, reads);
	hl_snapshot_list_free(x.log);
	return err;
}

static void fini_snapshots(void *data)
{
	struct hl_snapshots_result *x = data;

	drop_current(x);
	hl_snapshot_list_free(x->log);
}

/* clang-format off */
#define SNAPSHOTS(view, ...) \
	const struct hl_view hl_view_##view = { \
		.id = HL_VIEW_ID_##view, \
		.flags = HL_VIEW_NAMES | HL_VIEW_BLOCKS, \
		.sorts = HL_SORTS_SIZE, \
		.min_percent = 0.5, \
		.data_size = sizeof(struct hl_snapshots_result), \
		.check = check_snapshots, \
		.run = run_snapshots, \
		.fini = fini_snapshots, \
		__VA_ARGS__ \
	}
#define DELTAS(view) \
	SNAPSHOTS(view, \
		.reads = "reads the events between snapshots, because lifetimes are in no sum")
/* clang-format on */

SNAPSHOTS(snapshots, .reads = "reads the sums at each snapshot, as --at does for one moment",
	.reads_filtered = "reads the events up to each snapshot");
DELTAS(snapshot_deltas);
DELTAS(cumulative_delta);
