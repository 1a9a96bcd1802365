/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_snapshots.c - the views of `report` by snapshot: a tree for each, numbered as in
 * `heaplapse log`. The end of the trace is a snapshot there, but not here: --leaks shows it.
 */
#include <unistd.h>

#include "cli/report/report_request.h"
#include "model/views/snapshots.h"
#include "util/strbuf.h"
#include "util/safe_text.h"
#include "util/terminal/wrap.h"

/*
 * Each snapshot is a separate tree, so output and time grow with snapshots times nodes. A small
 * file can have thousands of both, so both are limited. Real programs stay far below these limits.
 */
#define MAX_NODES          (1u << 20) /* limit for all snapshots in JSON, divided evenly */
#define MIN_NODES          100u       /* minimum for each snapshot */
#define MAX_STEPS          (UINT64_C(1) << 27)
#define STEPS_PER_SNAPSHOT 65536u /* cost of a snapshot, plus one for each node of the trace */
#define MIN_SNAPSHOTS      100u

struct snapshots {
	struct hl_snapshot_list *log;
	size_t all, n;        /* number of snapshots, and how many to show */
	struct hl_value live; /* live blocks at snapshot `last` */
	size_t last;          /* the last one shown; 0: before the first */
};

static int find_snapshots(struct hl_model *m, struct snapshots *s)
{
	int err = hl_snapshot_list_new(&s->log, m);

	if (err)
		return err;
	s->all = hl_snapshot_list_n(s->log);
	if (s->all > 0 && hl_snapshot_list_moment(s->log, s->all)->cause == HL_SNAPSHOT_END)
		s->all--;
	s->n = s->all;
	return 0;
}

/* Limits the output to the first snapshots, by the estimated time. */
static void limit_snapshots(struct hl_report *r, struct hl_model *m, struct snapshots *s)
{
	/* With a filter each snapshot needs all events before it. */
	uint64_t events = r->filter ? hl_model_info(m)->totals.events : 0;
	uint64_t each = STEPS_PER_SNAPSHOT + hl_model_n_nodes(m) + events;
	uint64_t max;

	if (r->view == HL_REPORT_CUMULATIVE)
		return;
	if (r->view == HL_REPORT_DELTAS)
		each *= 3; /* also the live blocks before and after */
	max = each < MAX_STEPS ? MAX_STEPS / each : 0;
	max = max < MIN_SNAPSHOTS ? MIN_SNAPSHOTS : max;
	s->n = s->n > max ? max : s->n;
	if (s->n > 0)
		r->max_nodes = MAX_NODES / s->n;
	if (r->max_nodes < MIN_NODES)
		r->max_nodes = MIN_NODES;
}

/* Checks the time budget. If keyframes and summaries are missing or far away, each snapshot may
 * need the whole trace; with a filter each event costs more. */
static bool is_over_budget(const struct hl_report *r, const struct hl_model *m, uint64_t decoded)
{
	return hl_model_events_decoded(m) - decoded >
	       hl_model_events_limit(m) / (r->filter ? 4 : 2);
}

static void print_left_out(const struct snapshots *s)
{
	char shown[HL_TEXT_SIZE_MAX], all[HL_TEXT_SIZE_MAX];

	if (s->n < s->all)
		hl_cli_info("showing the first %s of %s snapshots; use --at TIME or --at "
			    "@mark:NAME for others",
			hl_text_count(shown, s->n), hl_text_count(all, s->all));
}

/* Queries live bytes at a snapshot. The change between snapshots is growth minus freed bytes. */
static int query_live(struct hl_report *r, struct hl_model *m, const struct snapshots *s, size_t i,
	struct hl_value *v)
{
	struct hl_query q = {.filter = r->filter};
	struct hl_answer a;
	int err;

	q.to = hl_moment_time_spec(hl_snapshot_list_moment(s->log, i));
	err = hl_model_query(m, &q, &a);
	if (!err) {
		*v = a.total;
		hl_answer_fini(&a);
	}
	return err;
}

static void put_change(struct hl_report *r, const struct hl_answer *a,
	const struct hl_value *old_live, const struct hl_value *new_live)
{
	uint64_t freed = old_live->bytes + a->total.bytes - new_live->bytes;
	struct hl_strbuf b = {0};
	char grown[HL_TEXT_SIZE_MAX], freed_text[HL_TEXT_SIZE_MAX], before[HL_TEXT_SIZE_MAX],
		now[HL_TEXT_SIZE_MAX];

	if (r->common.json) {
		hl_json_key_u64(&r->json, "live_bytes_before", old_live->bytes);
		hl_json_key_u64(&r->json, "live_bytes", new_live->bytes);
		hl_json_key_u64(&r->json, "freed_bytes", freed);
		return;
	}
	hl_strbuf_printf(&b, "%s live before, %s new, %s freed: %s live",
		hl_text_bytes(before, old_live->bytes), hl_text_bytes(grown, a->total.bytes),
		hl_text_bytes(freed_text, freed), hl_text_bytes(now, new_live->bytes));
	hl_wrap(stdout, hl_strbuf_str(&b), 0, 2,
		isatty(STDOUT_FILENO) ? (unsigned)hl_report_page_width() : 0);
	hl_strbuf_fini(&b);
}

/* The label comes from the program and may contain anything, so it is escaped. */
static void build_title(
	struct hl_strbuf *b, const struct hl_moment *x, size_t from, size_t to, bool growth)
{
	hl_strbuf_printf(b, "snapshot %zu%s", to, x->label[0] ? " " : "");
	hl_text_escape(b, x->label);
	if (x->cause != HL_SNAPSHOT_PROGRAM)
		hl_strbuf_printf(b, " (%s)", hl_snapshot_cause_name(x->cause));
	if (!growth)
		hl_strbuf_puts(b, ": live");
	else if (from > 0)
		hl_strbuf_printf(b, ": new since snapshot %zu and still live", from);
	else
		hl_strbuf_puts(b, ": allocated before it and still live");
}

static int show_snapshot(
	struct hl_report *r, struct hl_model *m, struct snapshots *s, size_t from, size_t to)
{
	const struct hl_moment *x = hl_snapshot_list_moment(s->log, to);
	bool growth = r->view != HL_REPORT_SNAPSHOTS;
	struct hl_query q = {.quantity = growth ? HL_QUANTITY_GROWTH : HL_QUANTITY_LIVE,
		.to = hl_moment_time_spec(x),
		.filter = r->filter};
	struct hl_value old_live, new_live = {0};
	struct hl_answer a;
	struct hl_strbuf what = {0};
	int err;

	if (from > 0)
		q.from = hl_moment_time_spec(hl_snapshot_list_moment(s->log, from));
	err = hl_report_run_query(r, m, &q, &a);
	if (err)
		return err;
	if (r->common.json) {
		hl_json_begin_object(&r->json);
		hl_json_key_u64(&r->json, "snapshot", to);
		hl_json_key_string(&r->json, "name", x->label);
		hl_json_key_string(&r->json, "cause", hl_snapshot_cause_name(x->cause));
		if (growth)
			hl_json_key_u64(&r->json, "since_snapshot", from);
	}
	build_title(&what, x, from, to, growth);
	err = hl_report_tree(r, m, &a, hl_strbuf_str(&what));
	hl_strbuf_fini(&what);
	if (!err && growth) {
		old_live = s->live;
		if (from != s->last)
			err = query_live(r, m, s, from, &old_live);
		if (!err)
			err = query_live(r, m, s, to, &new_live);
		if (!err) {
			put_change(r, &a, &old_live, &new_live);
			s->live = new_live;
			s->last = to;
		}
	}
	if (r->common.json)
		hl_json_end_object(&r->json);
	hl_answer_fini(&a);
	return err;
}

static int show_all_snapshots(struct hl_report *r, struct hl_model *m, struct snapshots *s)
{
	uint64_t decoded = hl_model_events_decoded(m);
	int err = 0;

	for (size_t i = 1; i <= s->n && !err; i++) {
		if (i > 1 && !r->common.json)
			putchar('\n');
		err = show_snapshot(r, m, s, i - 1, i);
		if (is_over_budget(r, m, decoded))
			s->n = i;
	}
	return err;
}

int hl_report_snapshots(struct hl_report *r, struct hl_model *m)
{
	struct snapshots s = {0};
	int err = find_snapshots(m, &s);

	if (!err && s.n == 0)
		hl_cli_error("this trace has no snapshots; see heaplapse_snapshot in heaplapse.h, "
			     "and --every and --churn of heaplapse record");
	else if (!err && s.n == 1 && r->view == HL_REPORT_CUMULATIVE)
		hl_cli_error("deltas need at least two snapshots, and this trace has one; use "
			     "--snapshots");
	if (!err)
		limit_snapshots(r, m, &s);
	if (r->common.json) {
		hl_json_key(&r->json, "snapshots");
		hl_json_begin_array(&r->json);
	}
	if (!err && r->view == HL_REPORT_CUMULATIVE && s.n > 1)
		err = show_snapshot(r, m, &s, 1, s.n);
	else if (!err && r->view != HL_REPORT_CUMULATIVE)
		err = show_all_snapshots(r, m, &s);
	print_left_out(&s);
	if (r->common.json) {
		hl_json_end_array(&r->json);
		hl_json_key_u64(&r->json, "snapshots_left_out", s.all - s.n);
	}
	r->max_nodes = 0;
	hl_snapshot_list_free(s.log);
	return err;
}
