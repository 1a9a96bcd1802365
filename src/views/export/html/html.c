/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html.c - a self-contained page with a report: summary values, the heap over time, flame graphs,
 * trees, sites and sizes for several queries.
 *
 * The page is page/page.html with its {{placeholders}} replaced. It has at most HL_PAGE_MAX bytes
 * for any trace: small nodes and rows are left out of trees and tables, and their sum is shown
 * instead. The page may not load anything (its Content-Security-Policy), and runs no script but its
 * own, which the policy allows by its hash.
 */
#include "model/query/query_plan.h"
#include "views/export/html/html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model/tags/roles.h"
#include "util/pair_map.h"
#include "util/safe_text.h"

#include "views/export/page.inc"
#include "views/export/page_script.inc"
#include "views/export/page_style.inc"

#define HL_PAGE_MAX 5000000
#define DATA_MAX    (HL_PAGE_MAX - 300000) /* the rest is for the page itself, see html_text.c */
/* Larger traces are not verified as a whole, as in report. */
#define VERIFY_MAX (UINT64_C(1) << 30)

/* --- queries --- */

static const struct {
	const char *id, *name, *what;
	enum hl_quantity quantity;
	enum hl_time_spec_kind to;
} standard[] = {
	{"peak", "Peak", "live at the peak", HL_QUANTITY_LIVE, HL_TIME_SPEC_PEAK},
	{"leaks", "Leaked", "leaked (live at the end)", HL_QUANTITY_LIVE, HL_TIME_SPEC_END},
	{"allocated", "Allocated", "allocated", HL_QUANTITY_ALLOCATED, HL_TIME_SPEC_END},
	{"temporary", "Temporary", "temporary (freed by the very next event)",
		HL_QUANTITY_TEMPORARY, HL_TIME_SPEC_END},
};
#define N_STANDARD (sizeof(standard) / sizeof(standard[0]))

static bool is_same_query(const struct hl_query *a, const struct hl_query *b)
{
	return a->quantity == b->quantity && hl_time_spec_equal(&a->to, &b->to) &&
	       (a->quantity == HL_QUANTITY_LIVE || hl_time_spec_equal(&a->from, &b->from)) &&
	       a->temporary_ns == b->temporary_ns && !a->suppressions == !b->suppressions;
}

static const char *quantity_label(enum hl_quantity q)
{
	static const char *const names[] = {[HL_QUANTITY_LIVE] = "Live",
		[HL_QUANTITY_ALLOCATED] = "Allocated in a range",
		[HL_QUANTITY_TEMPORARY] = "Temporary, as requested",
		[HL_QUANTITY_GROWTH] = "Growth"};

	return names[q];
}

static struct hl_page_query *add_query(struct hl_page *p, const char *id, const char *name,
	const char *what, const struct hl_query *query)
{
	struct hl_page_query *q = &p->queries[p->n++];

	q->id = id;
	q->name = name;
	q->title = what;
	q->query = *query;
	return q;
}

/* The queries of every report, and after them the requested one, if it is none of them. */
static void choose_queries(struct hl_page *p)
{
	struct hl_export_job *x = p->x;
	bool asked = x->quantity_given;

	for (size_t i = 0; i < N_STANDARD; i++) {
		struct hl_query q = {.quantity = standard[i].quantity,
			.to.kind = standard[i].to,
			.filter = x->query.filter,
			.pool = x->query.pool};
		bool leaks = standard[i].to == HL_TIME_SPEC_END && q.quantity == HL_QUANTITY_LIVE;
		const char *what = standard[i].what;
		bool same;

		if (standard[i].to == HL_TIME_SPEC_PEAK && q.filter && !q.pool) {
			what = "live at the peak of blocks that match the filter";
			q.to = x->has_peak ? x->peak.when : q.to;
		}
		if (leaks)
			q.suppressions = p->suppressions[HL_PAGE_LISTS];
		same = asked && is_same_query(&q, &x->query);
		if (same)
			p->first = p->n;
		asked &= !same;
		if (leaks && !p->leaks.certain)
			add_query(p, standard[i].id, "At the end",
				"live at the end of the recording", &q);
		else
			add_query(p, standard[i].id, standard[i].name, what,
				same && !leaks ? &x->query : &q);
	}
	if (asked) {
		p->first = p->n;
		add_query(p, "asked", quantity_label(x->query.quantity), x->title, &x->query);
	}
}

/* --- running the queries --- */

static const enum hl_group list_groups[HL_PAGE_LISTS] = {
	HL_GROUP_SIZE, HL_GROUP_LIFETIME, HL_GROUP_THREAD, HL_GROUP_TAG};

/* The page's own suppressions, so that no two queries count with the same ones. */
static int copy_suppressions(struct hl_page *p)
{
	int err = 0;

	for (unsigned k = 0; k <= HL_PAGE_LISTS && !err; k++)
		err = hl_suppressions_copy(p->x->suppressions, &p->suppressions[k]);
	return err;
}

static int find_leaks(struct hl_page *p)
{
	int err = hl_leaks_find(p->x->m, p->x->suppressions, &p->leaks);

	if (err == -ENODATA) {
		p->leaks = hl_leaks_of_totals(p->x->m);
		err = 0;
	}
	return err;
}

/* The query of a list of q. */
static struct hl_query list_query(
	const struct hl_page *p, const struct hl_page_query *q, enum hl_page_list list)
{
	struct hl_query query = q->query;

	query.key = hl_group_key(list_groups[list]);
	if (query.suppressions)
		query.suppressions = p->suppressions[list];
	return query;
}

/* Data that the trace does not contain is explained in its place on the page and is not an
 * error. */
static int explain_unknown(struct hl_page *p, int err, char why[HL_PAGE_REASON_MAX])
{
	if (err != -ENODATA)
		return err;
	snprintf(why, HL_PAGE_REASON_MAX, "%s", hl_model_error(p->x->m));
	return 0;
}

/* With aggregated blocks, values are known only for some moments. A deviation from the requested
 * time is reported only for the requested query. */
static void note_time(struct hl_page *p, const struct hl_query *q, const struct hl_answer *a)
{
	bool asked = p->x->quantity_given && is_same_query(q, &p->x->query);

	if (asked || (a->before_damage && !hl_model_has_aggregated(p->x->m))) {
		p->x->before_damage |= a->before_damage;
		p->x->to_ns = a->to_ns;
	}
}

/* The same for a query. The blocks that were live at a peak before the base are not in the file. */
static int explain_query(
	struct hl_page *p, const struct hl_query *q, int err, char why[HL_PAGE_REASON_MAX])
{
	bool is_before_base = err == -ENOENT && q->to.kind == HL_TIME_SPEC_PEAK &&
			      hl_model_peak_is_before_base(p->x->m);

	return explain_unknown(p, is_before_base ? -ENODATA : err, why);
}

static int build_list(struct hl_page *p, struct hl_page_query *q, enum hl_page_list list)
{
	const struct hl_query query = list_query(p, q, list);
	struct hl_answer a = {0};
	int err;

	err = hl_model_query(p->x->m, &query, &a);
	if (!err)
		err = hl_table_build(&q->lists[list], p->x->m, &a, list_groups[list], false);
	if (!err && (list == HL_PAGE_THREADS || list == HL_PAGE_TAGS))
		hl_table_sort(&q->lists[list], HL_SORT_BYTES);
	hl_answer_fini(&a);
	return explain_query(p, &query, err, q->lists_why[list]);
}

static int run_query(struct hl_page *p, struct hl_page_query *q)
{
	int err = hl_model_query(p->x->m, &q->query, &q->a);

	if (err) {
		hl_answer_fini(&q->a);
		q->a = (struct hl_answer){.quantity = q->query.quantity};
		return explain_query(p, &q->query, err, q->why);
	}
	note_time(p, &q->query, &q->a);
	err = hl_model_find_called_functions(p->x->m, &q->a);
	if (!err && p->x->grouped)
		err = hl_model_group_stacks(p->x->m, &q->query, p->x->group, &q->grouped);
	return err;
}

/*
 * Prefetches all that needs every event, so that one scan answers it. With a filter, the peak needs
 * a scan before this one, because the time of a query depends on it; the timeline shares that one.
 */
static void prefetch_all(struct hl_page *p)
{
	if (!p->x->query.filter)
		hl_timeline_prefetch(p->x->m, NULL, HL_PAGE_COLUMNS);
	if (!p->x->query.pool)
		hl_sites_stats_prefetch(p->x->m, p->x->query.filter);
	for (size_t i = 0; i < p->n; i++) {
		if (p->queries[i].why[0])
			continue;
		hl_query_prefetch(p->x->m, &p->queries[i].query);
		for (unsigned k = 0; k < HL_PAGE_LISTS; k++) {
			const struct hl_query q = list_query(p, &p->queries[i], k);

			if (p->has[k])
				hl_query_prefetch(p->x->m, &q);
		}
	}
}

/* The peak is found first, because it is the time of a query. The same scan makes the timeline. */
static int find_peak(struct hl_page *p, char why[HL_PAGE_REASON_MAX])
{
	if (p->x->query.filter)
		hl_timeline_prefetch(p->x->m, p->x->query.filter, HL_PAGE_COLUMNS);
	return explain_unknown(p, hl_export_find_peak(p->x), why);
}

/* Like the figures, verdicts are about the whole heap. Their scan answers what was announced. */
static int find_verdicts(struct hl_page *p)
{
	const struct hl_overview_options options = {
		.rows = 1, .events_max = HL_OVERVIEW_EVENTS_MAX, .brief = true};

	return hl_overview(&p->overview, p->x->m, &options);
}

static int run_queries(struct hl_page *p)
{
	int err = 0;

	p->has[HL_PAGE_SIZES] = p->has[HL_PAGE_LIFETIMES] = true;
	p->has[HL_PAGE_THREADS] = hl_model_info(p->x->m)->threads > 1;
	p->has[HL_PAGE_TAGS] = hl_model_n_tags(p->x->m) > 0;
	prefetch_all(p);
	err = find_verdicts(p);
	for (size_t i = 0; i < p->n && !err; i++) {
		struct hl_page_query *q = &p->queries[i];
		bool known = !q->why[0];

		for (unsigned k = 0; k < HL_PAGE_LISTS && !err; k++) {
			if (!known)
				memcpy(q->lists_why[k], q->why, HL_PAGE_REASON_MAX);
			else
				err = p->has[k] ? build_list(p, q, k) : 0;
		}
		/* Last, so that the counts of the suppressions are those of the stacks. */
		if (!err && known)
			err = run_query(p, q);
	}
	return err;
}

/* --- sites --- */

static double larger_share(const struct hl_value *v, const struct hl_value *total)
{
	double bytes = total->bytes ? (double)v->bytes / (double)total->bytes : 0;
	double blocks = total->blocks ? (double)v->blocks / (double)total->blocks : 0;

	return bytes > blocks ? bytes : blocks;
}

static int add_site(struct hl_page *p, struct hl_pair_map *by_frame, size_t question,
	const struct hl_table_row *r)
{
	const struct hl_value *total = &p->queries[question].a.total;
	uint32_t at = hl_pair_map_get(by_frame, r->frame, 0);
	struct hl_page_site *s;
	double share;

	if (at == HL_PAIR_MAP_NONE) {
		at = (uint32_t)p->sites.len;
		if (hl_vec_push(&p->sites, ((struct hl_page_site){.frame = r->frame})) ||
			hl_pair_map_put(by_frame, r->frame, 0, at))
			return -ENOMEM;
	}
	s = &p->sites.data[at];
	hl_value_add(&s->values[question], &r->value);
	share = larger_share(&s->values[question], total);
	s->share = share > s->share ? share : s->share;
	return 0;
}

static int compare_share(const void *pa, const void *pb)
{
	const struct hl_page_site *a = pa, *b = pb;

	if (a->share != b->share)
		return a->share > b->share ? -1 : 1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static int build_sites(struct hl_page *p)
{
	struct hl_pair_map by_frame = {0};
	int err = 0;

	for (size_t i = 0; i < p->n && !err; i++) {
		struct hl_table t = {0};

		if (p->queries[i].why[0])
			continue;
		err = hl_table_build(&t, p->x->m, &p->queries[i].a, HL_GROUP_SITE, false);
		for (size_t k = 0; k < t.n && !err; k++)
			err = add_site(p, &by_frame, i, &t.rows[k]);
		hl_table_fini(&t);
	}
	hl_pair_map_fini(&by_frame);
	if (p->sites.len > 0)
		qsort(p->sites.data, p->sites.len, sizeof(*p->sites.data), compare_share);
	return err;
}

/* Finds the lifetimes of the sites and their live bytes over the run. */
static int build_stats(struct hl_page *p)
{
	const struct hl_query all = {
		.quantity = HL_QUANTITY_ALLOCATED, .to = {.kind = HL_TIME_SPEC_END}};
	struct hl_table t = {.group = HL_GROUP_SITE};
	int err;

	t.n = p->sites.len < p->limits.sites ? p->sites.len : p->limits.sites;
	t.rows = calloc(t.n + 1, sizeof(*t.rows));
	if (!t.rows)
		return -ENOMEM;
	if (p->x->query.pool)
		snprintf(p->stats_why, sizeof(p->stats_why),
			"lifetimes and trends of sites are known only for the heap");
	for (size_t i = 0; i < t.n; i++)
		t.rows[i].frame = p->sites.data[i].frame;
	err = hl_query_plan_blocks(p->x->m, &all);
	if (!err && !p->x->query.pool)
		err = hl_sites_stats(p->x->m, &t, t.n, p->x->query.filter, &p->stats);
	if (!err && p->stats)
		p->n_stats = t.n;
	free(t.rows);
	return explain_unknown(p, err, p->stats_why);
}

struct hl_value hl_page_other_sites(const struct hl_page *p, size_t question, size_t n)
{
	struct hl_value remaining = p->queries[question].a.total;

	for (size_t i = 0; i < n && i < p->sites.len; i++) {
		remaining.bytes -= p->sites.data[i].values[question].bytes;
		remaining.blocks -= p->sites.data[i].values[question].blocks;
	}
	return remaining;
}

/* --- heap over time --- */

static int build_rss(struct hl_page *p)
{
	struct hl_rss_sample *samples = NULL;
	int err = hl_reader_rss(hl_model_reader(p->x->m), &samples, &p->n_rss);

	for (size_t i = 0; i < p->n_rss && !err; i++) {
		const struct hl_rss_sample *s = &samples[i];
		uint64_t *column =
			&p->rss[hl_timeline_column(p->x->m, s->time_ns, HL_PAGE_COLUMNS)];

		*column = s->rss_bytes > *column ? s->rss_bytes : *column;
		if (s->rss_bytes > p->rss_max) {
			p->rss_max = s->rss_bytes;
			p->rss_max_ns = s->time_ns;
		}
	}
	free(samples);
	return err;
}

static int build_timeline(struct hl_page *p)
{
	int err;

	p->columns = calloc(HL_PAGE_COLUMNS, sizeof(*p->columns));
	err = p->columns ? hl_timeline(p->x->m, p->x->query.filter, p->columns, HL_PAGE_COLUMNS,
				   &p->peak)
			 : -ENOMEM;
	if (err) {
		free(p->columns);
		p->columns = NULL;
	}
	for (size_t i = 0; i < HL_PAGE_COLUMNS && p->columns; i++)
		p->x->before_damage |= p->columns[i].lost;
	err = explain_unknown(p, err, p->columns_why);
	if (!err)
		err = build_rss(p);
	return err ? err : hl_model_marks(p->x->m, &p->marks, &p->n_marks);
}

/* --- writing --- */

void hl_page_shorten_name(struct hl_strbuf *b, const char *name, size_t room)
{
	size_t len = strlen(name), head = room * 2 / 3, tail = room / 3;

	if (len <= room) {
		hl_strbuf_puts(b, name);
		return;
	}
	while (head > 0 && ((unsigned char)name[head] & 0xc0) == 0x80)
		head--;
	while (tail > 0 && ((unsigned char)name[len - tail] & 0xc0) == 0x80)
		tail--;
	hl_strbuf_add(b, name, head);
	hl_strbuf_puts(b, " … ");
	hl_strbuf_puts(b, name + len - tail);
}

static void put_policy(struct hl_page *p, FILE *out)
{
	fputs("default-src 'none'; script-src 'sha256-" PAGE_SCRIPT_SHA256
	      "'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
		out);
}

static void put_style(struct hl_page *p, FILE *out)
{
	fputs(page_style, out);
}

static void put_script(struct hl_page *p, FILE *out)
{
	fputs(page_script, out);
}

static void put_version(struct hl_page *p, FILE *out)
{
	fputs("heaplapse " HL_VERSION, out);
}

static const struct {
	const char *name;
	void (*put)(struct hl_page *p, FILE *out);
} placeholders[] = {
	{"title", hl_page_title},
	{"policy", put_policy},
	{"style", put_style},
	{"heading", hl_page_heading},
	{"notes", hl_page_notes},
	{"figures", hl_page_summary},
	{"timeline", hl_page_timeline},
	{"sites", hl_page_sites},
	{"version", put_version},
	{"script", put_script},
};

static void put_placeholder(struct hl_page *p, const char *name, size_t len, const char *data)
{
	for (size_t i = 0; i < sizeof(placeholders) / sizeof(placeholders[0]); i++) {
		if (strlen(placeholders[i].name) == len &&
			memcmp(placeholders[i].name, name, len) == 0)
			placeholders[i].put(p, p->x->out);
	}
	if (len == 4 && memcmp(name, "data", 4) == 0)
		fputs(data, p->x->out);
}

static void put_page(struct hl_page *p, const char *data)
{
	const char *s = page, *open, *close;

	while ((open = strstr(s, "{{")) && (close = strstr(open, "}}"))) {
		fwrite(s, 1, (size_t)(open - s), p->x->out);
		put_placeholder(p, open + 2, (size_t)(close - open) - 2, data);
		s = close + 2;
	}
	fputs(s, p->x->out);
}

/* Reduces the limits until the data fits: the size of the names is known only after writing. */
static int write_page(struct hl_page *p)
{
	char *data = NULL;
	size_t len = 0;
	int err = hl_page_data(p, &data, &len);

	while (!err && len > DATA_MAX && p->limits.nodes > 1) {
		p->limits.nodes /= 2;
		p->limits.sites = p->limits.sites > 20 ? p->limits.sites / 2 : p->limits.sites;
		p->limits.marks = p->limits.marks > 10 ? p->limits.marks / 2 : p->limits.marks;
		p->limits.name = p->limits.name > 200 ? p->limits.name * 3 / 4 : p->limits.name;
		free(data);
		err = hl_page_data(p, &data, &len);
	}
	if (!err)
		put_page(p, data);
	free(data);
	return err;
}

static void free_page(struct hl_page *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct hl_page_query *q = &p->queries[i];

		hl_answer_fini(&q->a);
		hl_grouped_stacks_fini(&q->grouped);
		for (unsigned k = 0; k < HL_PAGE_LISTS; k++)
			hl_table_fini(&q->lists[k]);
	}
	hl_model_drop_prefetched(p->x->m); /* they refer to the suppressions */
	for (unsigned k = 0; k <= HL_PAGE_LISTS; k++)
		hl_suppressions_free(p->suppressions[k]);
	hl_vec_free(&p->sites);
	free(p->stats);
	free(p->columns);
	hl_overview_fini(&p->overview);
}

int hl_export_html(struct hl_export_job *x)
{
	struct hl_page p = {.x = x,
		.limits = {.nodes = 12000, .sites = 400, .rows = 100, .marks = 300, .name = 1500}};
	char why[HL_PAGE_REASON_MAX] = "";
	int err;

	/* A trace with missing chunks must not report leaks. The check records damage in the
	 * trace's info. */
	if (hl_model_info(x->m)->file_bytes <= VERIFY_MAX)
		hl_reader_verify(hl_model_reader(x->m), hl_model_work(x->m));
	err = copy_suppressions(&p);
	if (!err)
		err = find_leaks(&p);
	if (!err)
		err = find_peak(&p, why);
	choose_queries(&p);
	/* The first query is the peak. */
	memcpy(p.queries[0].why, why, HL_PAGE_REASON_MAX);
	if (!err)
		err = run_queries(&p);
	if (!err)
		err = build_timeline(&p);
	if (!err)
		err = build_sites(&p);
	if (!err)
		err = build_stats(&p);
	if (!err)
		err = write_page(&p);
	free_page(&p);
	return err;
}
