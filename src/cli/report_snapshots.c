/*
 * report_snapshots.c - the views of `report` that go by snapshots: a tree for each, with the number
 * that `heaplapse log` has for it. The end is one there, but not here: --leaks shows it.
 */
#include <unistd.h>

#include "cli/report.h"
#include "model/log.h"
#include "util/strbuf.h"
#include "util/text.h"
#include "util/wrap.h"
#include "views/text/log.h"

/*
 * Each snapshot is a tree of its own, so that what is written and the time it takes grow with
 * snapshots times nodes: a small file can have thousands of both. What programs really do is far
 * below these.
 */
#define NODES_MOST      (1u << 20) /* of all snapshots as JSON, shared out evenly, */
#define NODES_LEAST     100u       /* but so many for each */
#define STEPS_MOST      (UINT64_C(1) << 27)
#define STEPS_SNAPSHOT  65536u /* beside one for each node of the trace */
#define SNAPSHOTS_LEAST 100u

struct snapshots {
	struct hl_log *log;
	size_t all, n;        /* that there are, and to be shown */
	struct hl_value live; /* at the one that was shown last, */
	size_t last;          /* which is this; 0: before the first */
};

static int find_snapshots(struct hl_model *m, struct snapshots *s)
{
	int err = hl_log_new(&s->log, m);

	if (err)
		return err;
	s->all = hl_log_n(s->log);
	if (s->all > 0 && hl_log_moment(s->log, s->all)->cause == HL_SNAPSHOT_END)
		s->all--;
	s->n = s->all;
	return 0;
}

/* The first ones, as many as there is time for. */
static void limit_snapshots(struct hl_report *r, struct hl_model *m, struct snapshots *s)
{
	/* With a filter each takes all events up to it. */
	uint64_t events = r->filter ? hl_model_info(m)->totals.events : 0;
	uint64_t each = STEPS_SNAPSHOT + hl_model_n_nodes(m) + events;
	uint64_t most;

	if (r->view == HL_REPORT_CUMULATIVE)
		return;
	if (r->view == HL_REPORT_DELTAS)
		each *= 3; /* what was live before and after, too */
	most = each < STEPS_MOST ? STEPS_MOST / each : 0;
	most = most < SNAPSHOTS_LEAST ? SNAPSHOTS_LEAST : most;
	s->n = s->n > most ? most : s->n;
	if (s->n > 0)
		r->most_nodes = NODES_MOST / s->n;
	if (r->most_nodes < NODES_LEAST)
		r->most_nodes = NODES_LEAST;
}

/* Where keyframes and summaries are missing, or far away, each may take the whole trace; and blocks
 * that a filter looks at are more work. */
static bool is_time_over(const struct hl_report *r, const struct hl_model *m, uint64_t decoded)
{
	return hl_model_events_decoded(m) - decoded >
	       hl_model_events_limit(m) / (r->filter ? 4 : 2);
}

static void say_what_is_left_out(const struct snapshots *s)
{
	char shown[HL_TEXT_SIZE_MAX], all[HL_TEXT_SIZE_MAX];

	if (s->n < s->all)
		hl_cli_error(
			"shown are the first %s of %s snapshots; --at TIME or @mark:NAME shows "
			"any",
			hl_text_count(shown, s->n), hl_text_count(all, s->all));
}

/* Live bytes at a snapshot, for the change that is the sum of growth and what was freed. */
static int live_at(struct hl_report *r, struct hl_model *m, const struct snapshots *s, size_t i,
	struct hl_value *v)
{
	struct hl_query q = {.filter = r->filter};
	struct hl_answer a;
	int err;

	q.to = hl_moment_when(hl_log_moment(s->log, i));
	err = hl_model_query(m, &q, &a);
	if (!err) {
		*v = a.total;
		hl_answer_fini(&a);
	}
	return err;
}

static void put_change(struct hl_report *r, const struct hl_answer *a, const struct hl_value *was,
	const struct hl_value *is)
{
	uint64_t freed = was->bytes + a->total.bytes - is->bytes;
	struct hl_strbuf b = {0};
	char grown[HL_TEXT_SIZE_MAX], gone[HL_TEXT_SIZE_MAX], before[HL_TEXT_SIZE_MAX],
		now[HL_TEXT_SIZE_MAX];

	if (r->common.json) {
		hl_json_key_u64(&r->json, "live_bytes_before", was->bytes);
		hl_json_key_u64(&r->json, "live_bytes", is->bytes);
		hl_json_key_u64(&r->json, "freed_bytes", freed);
		return;
	}
	hl_strbuf_printf(&b, "%s live before, %s new, %s of the old freed: %s live",
		hl_text_bytes(before, was->bytes), hl_text_bytes(grown, a->total.bytes),
		hl_text_bytes(gone, freed), hl_text_bytes(now, is->bytes));
	hl_wrap(stdout, hl_strbuf_str(&b), 0, 2,
		isatty(STDOUT_FILENO) ? (unsigned)hl_report_page_width() : 0);
	hl_strbuf_fini(&b);
}

/* A name comes from the program, and may be anything. */
static void title(
	struct hl_strbuf *b, const struct hl_moment *x, size_t from, size_t to, bool growth)
{
	hl_strbuf_printf(b, "snapshot %zu%s", to, x->label[0] ? " " : "");
	hl_text_escape(b, x->label);
	if (x->cause != HL_SNAPSHOT_ASKED)
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
	const struct hl_moment *x = hl_log_moment(s->log, to);
	bool growth = r->view != HL_REPORT_SNAPSHOTS;
	struct hl_query q = {.quantity = growth ? HL_QUANTITY_GROWTH : HL_QUANTITY_LIVE,
		.to = hl_moment_when(x),
		.filter = r->filter};
	struct hl_value was, is = {0};
	struct hl_answer a;
	struct hl_strbuf what = {0};
	int err;

	if (from > 0)
		q.from = hl_moment_when(hl_log_moment(s->log, from));
	err = hl_report_ask(r, m, &q, &a);
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
	title(&what, x, from, to, growth);
	err = hl_report_tree(r, m, &a, hl_strbuf_str(&what));
	hl_strbuf_fini(&what);
	if (!err && growth) {
		was = s->live;
		if (from != s->last)
			err = live_at(r, m, s, from, &was);
		if (!err)
			err = live_at(r, m, s, to, &is);
		if (!err) {
			put_change(r, &a, &was, &is);
			s->live = is;
			s->last = to;
		}
	}
	if (r->common.json)
		hl_json_end_object(&r->json);
	hl_answer_fini(&a);
	return err;
}

static int show_each(struct hl_report *r, struct hl_model *m, struct snapshots *s)
{
	uint64_t decoded = hl_model_events_decoded(m);
	int err = 0;

	for (size_t i = 1; i <= s->n && !err; i++) {
		if (i > 1 && !r->common.json)
			putchar('\n');
		err = show_snapshot(r, m, s, i - 1, i);
		if (is_time_over(r, m, decoded))
			s->n = i;
	}
	return err;
}

int hl_report_snapshots(struct hl_report *r, struct hl_model *m)
{
	struct snapshots s = {0};
	int err = find_snapshots(m, &s);

	if (!err && s.n == 0)
		hl_cli_error(
			"the program made no snapshot: see heaplapse_snapshot in heaplapse.h, and "
			"--every and --churn of heaplapse record");
	else if (!err && s.n == 1 && r->view == HL_REPORT_CUMULATIVE)
		hl_cli_error("the program made one snapshot, and a change is from one to another: "
			     "--snapshots shows what was live then");
	if (!err)
		limit_snapshots(r, m, &s);
	if (r->common.json) {
		hl_json_key(&r->json, "snapshots");
		hl_json_begin_array(&r->json);
	}
	if (!err && r->view == HL_REPORT_CUMULATIVE && s.n > 1)
		err = show_snapshot(r, m, &s, 1, s.n);
	else if (!err && r->view != HL_REPORT_CUMULATIVE)
		err = show_each(r, m, &s);
	say_what_is_left_out(&s);
	if (r->common.json) {
		hl_json_end_array(&r->json);
		hl_json_key_u64(&r->json, "snapshots_left_out", s.all - s.n);
	}
	r->most_nodes = 0;
	hl_log_free(s.log);
	return err;
}
