/*
 * html.c - one page that holds a report and needs nothing else: figures, the heap over time, flame
 * graphs, trees, sites and sizes of several questions.
 *
 * The page is page/page.html with what stands in double braces filled in. It is at most HL_PAGE_MAX
 * bytes whatever the trace: what is too small for that is left out of trees and tables, and summed
 * where it is missing. It may load nothing (its Content-Security-Policy), and runs no script but
 * its own, which the policy knows by its hash.
 */
#include "views/export/html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model/tags.h"
#include "util/map.h"
#include "util/text.h"

#include "views/export/page.inc"
#include "views/export/page_script.inc"
#include "views/export/page_style.inc"

#define HL_PAGE_MAX 5000000
#define DATA_MAX    (HL_PAGE_MAX - 300000) /* the rest is the page itself, see html_text.c */
/* Larger traces are believed where they are read, as by report. */
#define VERIFY_MAX (UINT64_C(1) << 30)

/* --- the questions --- */

static const struct {
	const char *id, *name, *what;
	enum hl_quantity quantity;
	enum hl_when_kind to;
} usual[] = {
	{"peak", "Peak", "live at the peak", HL_QUANTITY_LIVE, HL_WHEN_PEAK},
	{"leaks", "Leaked", "leaked (live at the end)", HL_QUANTITY_LIVE, HL_WHEN_END},
	{"allocated", "Allocated", "allocated", HL_QUANTITY_ALLOCATED, HL_WHEN_END},
	{"temporary", "Temporary", "temporary (freed by the very next event)",
		HL_QUANTITY_TEMPORARY, HL_WHEN_END},
};
#define N_USUAL (sizeof(usual) / sizeof(usual[0]))

static bool is_same(const struct hl_query *a, const struct hl_query *b)
{
	return a->quantity == b->quantity && hl_when_same(&a->to, &b->to) &&
	       (a->quantity == HL_QUANTITY_LIVE || hl_when_same(&a->from, &b->from)) &&
	       a->temporary_ns == b->temporary_ns;
}

static const char *asked_name(enum hl_quantity q)
{
	static const char *const names[] = {[HL_QUANTITY_LIVE] = "Live",
		[HL_QUANTITY_ALLOCATED] = "Allocated in a range",
		[HL_QUANTITY_TEMPORARY] = "Temporary, as asked",
		[HL_QUANTITY_GROWTH] = "Growth"};

	return names[q];
}

static struct hl_page_question *add_question(struct hl_page *p, const char *id, const char *name,
	const char *what, const struct hl_query *query)
{
	struct hl_page_question *q = &p->questions[p->n++];

	q->id = id;
	q->name = name;
	q->what = what;
	q->query = *query;
	return q;
}

/* Those that every report has, and before them what was asked, if it is none of them. */
static void choose_questions(struct hl_page *p)
{
	struct hl_export_job *x = p->x;
	bool asked = x->asked;

	for (size_t i = 0; i < N_USUAL; i++) {
		struct hl_query q = {.quantity = usual[i].quantity,
			.to.kind = usual[i].to,
			.filter = x->query.filter,
			.pool = x->query.pool};
		bool leaks = usual[i].to == HL_WHEN_END && q.quantity == HL_QUANTITY_LIVE;
		const char *what = usual[i].what;
		bool same;

		if (usual[i].to == HL_WHEN_PEAK && q.filter && !q.pool) {
			what = "live at the peak of what fits the filter";
			q.to = x->has_peak ? x->peak.when : q.to;
		}
		same = asked && is_same(&q, &x->query);

		if (same)
			p->first = p->n;
		asked &= !same;
		if (leaks && !p->leaked)
			add_question(p, usual[i].id, "At the end",
				"live at the end of the recording", same ? &x->query : &q);
		else
			add_question(p, usual[i].id, usual[i].name, what, same ? &x->query : &q);
	}
	if (asked) {
		p->first = p->n;
		add_question(p, "asked", asked_name(x->query.quantity), x->what, &x->query);
	}
}

/* --- asking --- */

/* What a trace cannot tell is said in its place, and no reason to have no page. */
static int excuse(struct hl_page *p, int err, char why[HL_PAGE_WHY])
{
	if (err != -ENODATA)
		return err;
	snprintf(why, HL_PAGE_WHY, "%s", hl_model_error(p->x->m));
	return 0;
}

/* Where only sums are kept, what is known is so of some moments: only of what was asked for it
 * matters that this is another. */
static void note_moment(struct hl_page *p, const struct hl_query *q, const struct hl_answer *a)
{
	bool asked = p->x->asked && is_same(q, &p->x->query);

	if (asked || (a->moved && !hl_model_withholds(p->x->m))) {
		p->x->moved |= a->moved;
		p->x->to_ns = a->to_ns;
	}
}

static const enum hl_group list_groups[HL_PAGE_LISTS] = {
	HL_GROUP_SIZE, HL_GROUP_LIFE, HL_GROUP_THREAD, HL_GROUP_TAG};

static int ask_list(struct hl_page *p, struct hl_page_question *q, enum hl_page_list list)
{
	struct hl_query query = q->query;
	struct hl_answer a = {0};
	int err;

	query.key = hl_group_key(list_groups[list]);
	err = hl_model_query(p->x->m, &query, &a);
	if (!err)
		err = hl_table_build(&q->lists[list], p->x->m, &a, list_groups[list], false);
	if (!err && (list == HL_PAGE_THREADS || list == HL_PAGE_TAGS))
		hl_table_sort(&q->lists[list], HL_SORT_BYTES);
	hl_answer_fini(&a);
	return excuse(p, err, q->lists_why[list]);
}

static int ask_question(struct hl_page *p, struct hl_page_question *q)
{
	int err = hl_model_query(p->x->m, &q->query, &q->a);

	if (err) {
		hl_answer_fini(&q->a);
		q->a = (struct hl_answer){.quantity = q->query.quantity};
		return excuse(p, err, q->why);
	}
	note_moment(p, &q->query, &q->a);
	err = hl_model_find_calls(p->x->m, &q->a);
	if (!err && p->x->grouped)
		err = hl_model_divide(p->x->m, &q->query, p->x->group, &q->divided);
	return err;
}

/* All that takes every event is asked in one go. */
static void expect_all(struct hl_page *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct hl_query q = p->questions[i].query;

		if (p->questions[i].why[0])
			continue;
		hl_query_expect(p->x->m, &q);
		for (unsigned k = 0; k < HL_PAGE_LISTS; k++) {
			q.key = hl_group_key(list_groups[k]);
			if (p->has[k])
				hl_query_expect(p->x->m, &q);
		}
	}
}

/* The peak that the page is about comes first, because it is a moment to ask about. The timeline is
 * read on the way. */
static int find_peak(struct hl_page *p, char why[HL_PAGE_WHY])
{
	hl_timeline_expect(p->x->m, p->x->query.filter, HL_PAGE_COLUMNS);
	return excuse(p, hl_export_find_peak(p->x), why);
}

static int ask_questions(struct hl_page *p)
{
	int err = 0;

	p->has[HL_PAGE_SIZES] = p->has[HL_PAGE_LIVES] = true;
	p->has[HL_PAGE_THREADS] = hl_model_info(p->x->m)->threads > 1;
	p->has[HL_PAGE_TAGS] = hl_model_n_tags(p->x->m) > 0;
	expect_all(p);
	for (size_t i = 0; i < p->n && !err; i++) {
		struct hl_page_question *q = &p->questions[i];
		bool known = !q->why[0];

		for (unsigned k = 0; k < HL_PAGE_LISTS && !err; k++) {
			if (!known)
				memcpy(q->lists_why[k], q->why, HL_PAGE_WHY);
			else
				err = p->has[k] ? ask_list(p, q, k) : 0;
		}
		/* Last: what suppressions have taken is then of the stacks. */
		if (!err && known)
			err = ask_question(p, q);
	}
	return err;
}

/* --- sites --- */

static double share_of(const struct hl_value *v, const struct hl_value *total)
{
	double bytes = total->bytes ? (double)v->bytes / (double)total->bytes : 0;
	double blocks = total->blocks ? (double)v->blocks / (double)total->blocks : 0;

	return bytes > blocks ? bytes : blocks;
}

static int add_site(
	struct hl_page *p, struct hl_map *by_frame, size_t question, const struct hl_row *r)
{
	const struct hl_value *total = &p->questions[question].a.total;
	uint32_t at = hl_map_get(by_frame, r->frame, 0);
	struct hl_page_site *s;
	double share;

	if (at == HL_MAP_NONE) {
		at = (uint32_t)p->sites.len;
		if (hl_vec_push(&p->sites, ((struct hl_page_site){.frame = r->frame})) ||
			hl_map_put(by_frame, r->frame, 0, at))
			return -ENOMEM;
	}
	s = &p->sites.data[at];
	hl_value_add(&s->values[question], &r->value);
	share = share_of(&s->values[question], total);
	s->share = share > s->share ? share : s->share;
	return 0;
}

static int by_share(const void *pa, const void *pb)
{
	const struct hl_page_site *a = pa, *b = pb;

	if (a->share != b->share)
		return a->share > b->share ? -1 : 1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static int make_sites(struct hl_page *p)
{
	struct hl_map by_frame = {0};
	int err = 0;

	for (size_t i = 0; i < p->n && !err; i++) {
		struct hl_table t = {0};

		if (p->questions[i].why[0])
			continue;
		err = hl_table_build(&t, p->x->m, &p->questions[i].a, HL_GROUP_SITE, false);
		for (size_t k = 0; k < t.n && !err; k++)
			err = add_site(p, &by_frame, i, &t.rows[k]);
		hl_table_fini(&t);
	}
	hl_map_fini(&by_frame);
	if (p->sites.len > 0)
		qsort(p->sites.data, p->sites.len, sizeof(*p->sites.data), by_share);
	return err;
}

/* Their lifetimes and their course over the run. */
static int make_stats(struct hl_page *p)
{
	const struct hl_query all = {
		.quantity = HL_QUANTITY_ALLOCATED, .to = {.kind = HL_WHEN_END}};
	struct hl_table t = {.group = HL_GROUP_SITE};
	int err;

	t.n = p->sites.len < p->room.sites ? p->sites.len : p->room.sites;
	t.rows = calloc(t.n + 1, sizeof(*t.rows));
	if (!t.rows)
		return -ENOMEM;
	if (p->x->query.pool)
		snprintf(p->stats_why, sizeof(p->stats_why),
			"lifetimes and the course of sites are known of the heap alone");
	for (size_t i = 0; i < t.n; i++)
		t.rows[i].frame = p->sites.data[i].frame;
	err = hl_query_check_lives(p->x->m, &all);
	if (!err && !p->x->query.pool)
		err = hl_sites_stats(p->x->m, &t, t.n, p->x->query.filter, &p->stats);
	if (!err && p->stats)
		p->n_stats = t.n;
	free(t.rows);
	return excuse(p, err, p->stats_why);
}

struct hl_value hl_page_other_sites(const struct hl_page *p, size_t question, size_t n)
{
	struct hl_value rest = p->questions[question].a.total;

	for (size_t i = 0; i < n && i < p->sites.len; i++) {
		rest.bytes -= p->sites.data[i].values[question].bytes;
		rest.blocks -= p->sites.data[i].values[question].blocks;
	}
	return rest;
}

/* --- the heap over time --- */

static int make_rss(struct hl_page *p)
{
	struct hl_rss_sample *samples = NULL;
	int err = hl_reader_rss(hl_model_reader(p->x->m), &samples, &p->n_rss);

	for (size_t i = 0; i < p->n_rss && !err; i++) {
		const struct hl_rss_sample *s = &samples[i];
		uint64_t *column =
			&p->rss[hl_timeline_column(p->x->m, s->time_ns, HL_PAGE_COLUMNS)];

		*column = s->rss_bytes > *column ? s->rss_bytes : *column;
		if (s->rss_bytes > p->rss_most) {
			p->rss_most = s->rss_bytes;
			p->rss_most_ns = s->time_ns;
		}
	}
	free(samples);
	return err;
}

static int make_timeline(struct hl_page *p)
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
		p->x->moved |= p->columns[i].lost;
	err = excuse(p, err, p->columns_why);
	if (!err)
		err = make_rss(p);
	return err ? err : hl_model_marks(p->x->m, &p->marks, &p->n_marks);
}

/* --- writing --- */

void hl_page_cut(struct hl_strbuf *b, const char *name, size_t room)
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
} slots[] = {
	{"title", hl_page_title},
	{"policy", put_policy},
	{"style", put_style},
	{"heading", hl_page_heading},
	{"notes", hl_page_notes},
	{"figures", hl_page_figures},
	{"timeline", hl_page_timeline},
	{"sites", hl_page_sites},
	{"version", put_version},
	{"script", put_script},
};

static void put_slot(struct hl_page *p, const char *name, size_t len, const char *data)
{
	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		if (strlen(slots[i].name) == len && memcmp(slots[i].name, name, len) == 0)
			slots[i].put(p, p->x->out);
	}
	if (len == 4 && memcmp(name, "data", 4) == 0)
		fputs(data, p->x->out);
}

static void put_page(struct hl_page *p, const char *data)
{
	const char *s = page, *open, *close;

	while ((open = strstr(s, "{{")) && (close = strstr(open, "}}"))) {
		fwrite(s, 1, (size_t)(open - s), p->x->out);
		put_slot(p, open + 2, (size_t)(close - open) - 2, data);
		s = close + 2;
	}
	fputs(s, p->x->out);
}

/* Tries with less until it fits: how much room names take is known only afterwards. */
static int write_page(struct hl_page *p)
{
	char *data = NULL;
	size_t len = 0;
	int err = hl_page_data(p, &data, &len);

	while (!err && len > DATA_MAX && p->room.nodes > 1) {
		p->room.nodes /= 2;
		p->room.sites = p->room.sites > 20 ? p->room.sites / 2 : p->room.sites;
		p->room.marks = p->room.marks > 10 ? p->room.marks / 2 : p->room.marks;
		p->room.name = p->room.name > 200 ? p->room.name * 3 / 4 : p->room.name;
		free(data);
		err = hl_page_data(p, &data, &len);
	}
	if (!err)
		put_page(p, data);
	free(data);
	return err;
}

static void page_fini(struct hl_page *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct hl_page_question *q = &p->questions[i];

		hl_answer_fini(&q->a);
		hl_divided_fini(&q->divided);
		for (unsigned k = 0; k < HL_PAGE_LISTS; k++)
			hl_table_fini(&q->lists[k]);
	}
	hl_vec_free(&p->sites);
	free(p->stats);
	free(p->columns);
}

int hl_export_html(struct hl_export_job *x)
{
	struct hl_page p = {.x = x,
		.room = {.nodes = 12000, .sites = 400, .rows = 100, .marks = 300, .name = 1500}};
	char why[HL_PAGE_WHY] = "";
	int err;

	/* A trace with a hole never says leaked. What cannot be read is in the info afterwards. */
	if (hl_model_info(x->m)->file_bytes <= VERIFY_MAX)
		hl_reader_verify(hl_model_reader(x->m));
	p.leaked = hl_model_may_say_leaked(x->m);
	err = find_peak(&p, why);
	choose_questions(&p);
	/* The first of them is the peak. */
	memcpy(p.questions[0].why, why, HL_PAGE_WHY);
	if (!err)
		err = ask_questions(&p);
	if (!err)
		err = make_timeline(&p);
	if (!err)
		err = make_sites(&p);
	if (!err)
		err = make_stats(&p);
	if (!err)
		err = write_page(&p);
	page_fini(&p);
	return err;
}
