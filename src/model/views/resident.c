/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resident.c - see resident.h.
 *
 * One pass over the samples. `now` has the mappings of the current sample, and each new sample is
 * joined with it by address, so that memory is bounded by one sample and by the number of groups.
 */
#include "model/views/resident.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "model/model_internal.h"
#include "model/query/query_plan.h"
#include "trace/read/map_cursor.h"
#include "util/pair_map.h"

#define NOT_SHOWN UINT32_MAX

/* A mapping of the current sample. */
struct mapping {
	struct hl_resident_map map;
	uint32_t group;
	uint32_t shown; /* index in the result; NOT_SHOWN: it is not there */
};

struct group {
	struct hl_resident_group g;
	uint64_t rss;    /* in sample `sample` */
	uint64_t sample; /* the last one that has it, from 1 */
};

typedef HL_VEC(struct mapping) mappings;

struct resident_query {
	struct hl_model *m;
	struct hl_resident *x;
	uint64_t moment_ns;
	const struct hl_mapping_choice *only; /* NULL: all */
	mappings now, next;
	HL_VEC(struct group) groups;
	struct hl_pair_map by_name; /* address of the name to group */
	struct hl_resident_use use; /* of the current sample */
	uint64_t sample;            /* number of samples so far */
	struct hl_map_sample shown; /* the current sample is shown if no later one is better */
	bool is_shown;
	/* The columns of trends and of points up to which the current sample is applied, + 1. */
	size_t trend_done, points_done;
	struct hl_resident_point *points;
	size_t n_points;
};

/* ---- amounts and names ---- */

static struct hl_resident_use use_of(const struct hl_map_entry *e)
{
	const uint64_t *k = e->kib;
	struct hl_resident_use u = {.size = e->end - e->start,
		.anonymous = k[HL_MAP_ANONYMOUS] * 1024,
		.dirty = (k[HL_MAP_SHARED_DIRTY] + k[HL_MAP_PRIVATE_DIRTY]) * 1024,
		.clean = (k[HL_MAP_SHARED_CLEAN] + k[HL_MAP_PRIVATE_CLEAN]) * 1024,
		.swap = k[HL_MAP_SWAP] * 1024};

	u.rss = u.dirty + u.clean;
	return u;
}

static void add_use(struct hl_resident_use *to, const struct hl_resident_use *u)
{
	to->size += u->size;
	to->rss += u->rss;
	to->anonymous += u->anonymous;
	to->dirty += u->dirty;
	to->clean += u->clean;
	to->swap += u->swap;
}

static const struct {
	const char *prefix;
	enum hl_resident_kind kind;
} kinds[] = {
	{"/memfd:heaplapse", HL_RESIDENT_RECORDER},
	{"/memfd:", HL_RESIDENT_SHARED},
	{"/dev/shm/", HL_RESIDENT_SHARED},
	{"/dev/zero", HL_RESIDENT_SHARED},
	{"/SYSV", HL_RESIDENT_SHARED},
	{"[anon_shmem:", HL_RESIDENT_SHARED},
	{"/", HL_RESIDENT_FILE},
	{"[heap]", HL_RESIDENT_HEAP},
	{"[stack", HL_RESIDENT_STACK},
	{"[anon:", HL_RESIDENT_ANONYMOUS},
	{"[", HL_RESIDENT_KERNEL},
};

/* Names that do not begin with a slash are those of special files, or made up. */
static enum hl_resident_kind kind_of(const char *name)
{
	static const char recorder[] = "/libheaplapse.so";
	size_t n = strlen(name);

	if (!*name)
		return HL_RESIDENT_ANONYMOUS;
	if (n >= sizeof(recorder) - 1 && !strcmp(name + n - (sizeof(recorder) - 1), recorder))
		return HL_RESIDENT_RECORDER;
	for (size_t i = 0; i < HL_ARRAY_LEN(kinds); i++)
		if (!strncmp(name, kinds[i].prefix, strlen(kinds[i].prefix)))
			return kinds[i].kind;
	return HL_RESIDENT_FILE;
}

const char *hl_resident_kind_name(enum hl_resident_kind kind)
{
	static const char *const names[HL_RESIDENT_KINDS] = {
		[HL_RESIDENT_FILE] = "file",
		[HL_RESIDENT_ANONYMOUS] = "anonymous",
		[HL_RESIDENT_HEAP] = "heap",
		[HL_RESIDENT_STACK] = "stack",
		[HL_RESIDENT_SHARED] = "shared",
		[HL_RESIDENT_KERNEL] = "kernel",
		[HL_RESIDENT_RECORDER] = "recorder",
		[HL_RESIDENT_OTHERS] = "others",
	};

	return names[kind];
}

/* ---- groups ---- */

static int add_group(struct resident_query *q, const char *name, uint32_t *group)
{
	struct group g = {.g = {.name = name, .kind = kind_of(name)}};
	bool is_last = q->groups.len + 1 == HL_RESIDENT_GROUPS_MAX;

	if (q->groups.len == HL_RESIDENT_GROUPS_MAX) {
		*group = HL_RESIDENT_GROUPS_MAX - 1;
		return 0;
	}
	if (is_last) {
		g.g.name = "";
		g.g.kind = HL_RESIDENT_OTHERS;
	}
	*group = (uint32_t)q->groups.len;
	if (hl_vec_push(&q->groups, g))
		return -ENOMEM;
	return is_last ? 0 : hl_pair_map_put(&q->by_name, (uintptr_t)name, *name != 0, *group);
}

/* Equal names have one address, except that of the empty name. */
static int find_group(struct resident_query *q, const char *name, uint32_t *group)
{
	static const char none[] = "";

	name = *name ? name : none;
	*group = hl_pair_map_get(&q->by_name, (uintptr_t)name, *name != 0);
	return *group == HL_PAIR_MAP_NONE ? add_group(q, name, group) : 0;
}

static void add_to_group(struct resident_query *q, const struct mapping *p, uint64_t time_ns)
{
	struct group *g = &q->groups.data[p->group];

	if (g->sample != q->sample) {
		g->g.first_ns = g->sample ? g->g.first_ns : time_ns;
		g->g.use = (struct hl_resident_use){0};
		g->g.maps = 0;
		g->sample = q->sample;
	}
	g->g.last_ns = time_ns;
	add_use(&g->g.use, &p->map.use);
	g->g.maps++;
	g->rss = g->g.use.rss;
	if (g->rss > g->g.peak_rss) {
		g->g.peak_rss = g->rss;
		g->g.peak_ns = time_ns;
	}
}

/* ---- columns ---- */

static uint64_t current_rss(const struct resident_query *q, const struct group *g)
{
	return g->sample == q->sample ? g->rss : 0;
}

/* Fills the columns before `end` that have no sample of their own with the current one. */
static void carry(struct resident_query *q, size_t trend_end, size_t points_end)
{
	if (!q->sample)
		return;
	for (size_t i = 0; i < q->groups.len && q->trend_done < trend_end; i++)
		for (size_t k = q->trend_done; k < trend_end; k++)
			q->groups.data[i].g.trend[k] = current_rss(q, &q->groups.data[i]);
	for (size_t k = q->points_done; k < points_end; k++)
		q->points[k] = (struct hl_resident_point){.known = true, .use = q->use};
	q->trend_done = hl_max_u64(q->trend_done, trend_end);
	q->points_done = hl_max_u64(q->points_done, points_end);
}

/* Applies the current sample, which is at this time, to its column. */
static void put_columns(struct resident_query *q, uint64_t time_ns, size_t trend, size_t point)
{
	if (time_ns < q->x->range.from_ns)
		return;
	for (size_t i = 0; i < q->groups.len; i++) {
		struct group *g = &q->groups.data[i];

		g->g.trend[trend] = hl_max_u64(g->g.trend[trend], current_rss(q, g));
	}
	q->trend_done = trend + 1;
	if (!q->n_points)
		return;
	q->points[point] = (struct hl_resident_point){.known = true, .use = q->use};
	q->points_done = point + 1;
}

/* ---- samples ---- */

static bool is_same(const struct mapping *p, const struct hl_map_entry *e)
{
	return p->map.start == e->start && p->map.perms == e->perms &&
	       !strcmp(p->map.name, e->name);
}

/* Makes the mapping of the new sample. old: the same one in the sample before; NULL: none. */
static int join_mapping(struct resident_query *q, const struct mapping *old,
	const struct hl_map_entry *e, uint64_t time_ns)
{
	struct mapping p = {.map = {.start = e->start,
				    .end = e->end,
				    .offset = e->offset,
				    .name = e->name,
				    .perms = e->perms,
				    .use = use_of(e),
				    .first_ns = old ? old->map.first_ns : time_ns,
				    .last_ns = time_ns},
		.shown = old ? old->shown : NOT_SHOWN,
		.group = old ? old->group : 0};
	int err = old ? 0 : find_group(q, e->name, &p.group);

	p.map.peak_rss = hl_max_u64(old ? old->map.peak_rss : 0, p.map.use.rss);
	return err ? err : hl_vec_push(&q->next, p);
}

static void swap_mappings(mappings *a, mappings *b)
{
	mappings was = *a;

	*a = *b;
	*b = was;
}

static bool is_chosen(const struct resident_query *q, const struct hl_map_entry *e)
{
	const struct hl_mapping_choice *c = q->only;

	if (!c)
		return true;
	if (c->by_address)
		return c->address >= e->start && c->address < e->end;
	return hl_pattern_matches_path(c->name, *e->name ? e->name : "anonymous");
}

static int join_sample(struct resident_query *q, const struct hl_map_sample *s)
{
	size_t old = 0;
	int err = 0;

	q->next.len = 0;
	for (size_t i = 0; i < s->n && !err; i++) {
		bool same;

		if (!is_chosen(q, &s->maps[i]))
			continue;
		while (old < q->now.len && q->now.data[old].map.start < s->maps[i].start)
			old++;
		same = old < q->now.len && is_same(&q->now.data[old], &s->maps[i]);
		err = join_mapping(q, same ? &q->now.data[old] : NULL, &s->maps[i], s->time_ns);
	}
	swap_mappings(&q->now, &q->next);
	return err;
}

/* The current sample becomes the one that is shown. */
static int show_sample(struct resident_query *q)
{
	struct hl_resident *x = q->x;

	free(x->maps);
	free(x->groups);
	x->n_maps = x->n_groups = 0;
	q->is_shown = true;
	x->time_ns = q->shown.time_ns;
	x->read_ns = q->shown.read_ns;
	x->use = q->use;
	x->maps = calloc(q->now.len + 1, sizeof(*x->maps));
	x->groups = calloc(q->groups.len + 1, sizeof(*x->groups));
	if (!x->maps || !x->groups)
		return -ENOMEM;
	for (; x->n_maps < q->now.len; x->n_maps++) {
		x->maps[x->n_maps] = q->now.data[x->n_maps].map;
		q->now.data[x->n_maps].shown = (uint32_t)x->n_maps;
	}
	/* The groups of the sample, in the order of their numbers; those that follow are newer. */
	for (size_t i = 0; i < q->groups.len; i++) {
		x->groups[i] = q->groups.data[i].g;
		if (q->groups.data[i].sample != q->sample) {
			x->groups[i].use = (struct hl_resident_use){0};
			x->groups[i].maps = 0;
		}
	}
	x->n_groups = q->groups.len;
	return 0;
}

/* Is the current sample to be shown, as far as is known when the next one is read? */
static bool is_wanted(const struct resident_query *q, const struct hl_map_sample *next)
{
	if (!q->sample)
		return false;
	if (q->moment_ns == HL_RESIDENT_HIGHEST)
		return q->x->peak_ns == q->shown.time_ns;
	return !q->is_shown && (!next || next->time_ns > q->moment_ns);
}

static int apply_sample(struct resident_query *q, const struct hl_map_sample *s)
{
	const struct hl_time_range *r = &q->x->range;
	uint64_t at = hl_min_u64(s->time_ns, r->to_ns);
	size_t trend = hl_time_range_column(r, at, HL_RESIDENT_POINTS);
	size_t point = q->n_points ? hl_time_range_column(r, at, q->n_points) : 0;
	bool is_late = s->time_ns > r->to_ns && r->to_ns < hl_model_end_ns(q->m);
	int err = 0;

	if (!is_late && s->time_ns >= r->from_ns)
		carry(q, trend, point);
	if (is_late)
		carry(q, HL_RESIDENT_POINTS, q->n_points);
	if (is_wanted(q, s))
		err = show_sample(q);
	if (!err)
		err = join_sample(q, s);
	if (err)
		return err;
	q->sample++;
	q->use = (struct hl_resident_use){0};
	for (size_t i = 0; i < q->now.len; i++) {
		struct mapping *p = &q->now.data[i];

		add_use(&q->use, &p->map.use);
		add_to_group(q, p, s->time_ns);
		if (p->shown != NOT_SHOWN) {
			q->x->maps[p->shown].last_ns = s->time_ns;
			q->x->maps[p->shown].peak_rss = p->map.peak_rss;
		}
	}
	q->shown = (struct hl_map_sample){.time_ns = s->time_ns, .read_ns = s->read_ns};
	if (!is_late)
		put_columns(q, s->time_ns, trend, point);
	return 0;
}

static void note_sample(struct resident_query *q, const struct hl_map_sample *s)
{
	struct hl_resident *x = q->x;

	if (!x->n_samples++) {
		x->first_sample_ns = s->time_ns;
		x->first_known = s->time_ns < x->range.from_ns
					 ? 0
					 : (unsigned)hl_time_range_column(&x->range,
						   hl_min_u64(s->time_ns, x->range.to_ns),
						   HL_RESIDENT_POINTS);
	}
	x->last_sample_ns = s->time_ns;
	if (q->use.rss > x->peak_rss || x->n_samples == 1) {
		x->peak_rss = q->use.rss;
		x->peak_ns = s->time_ns;
	}
}

static int read_samples(struct resident_query *q)
{
	struct hl_map_cursor *c = q->x->names;
	const struct hl_map_sample *s = NULL;
	int err = 0;

	hl_work_begin(&q->m->work, HL_WORK_PASS, "reading the samples of mappings");
	do {
		size_t all, done = hl_map_cursor_progress(c, &all);

		err = hl_work_tick(&q->m->work, done, all);
		if (!err)
			err = hl_map_cursor_next(c, &s);
		if (!err && s)
			err = apply_sample(q, s);
		if (!err && s)
			note_sample(q, s);
	} while (!err && s);
	hl_work_end(&q->m->work, HL_WORK_PASS);
	q->x->before_damage = hl_map_cursor_is_damaged(c);
	return err;
}

/* ---- the result ---- */

static int compare_groups(const void *pa, const void *pb)
{
	const struct hl_resident_group *a = pa, *b = pb;

	if (!a->maps != !b->maps)
		return a->maps ? -1 : 1;
	if (a->use.rss != b->use.rss)
		return a->use.rss > b->use.rss ? -1 : 1;
	if (a->use.size != b->use.size)
		return a->use.size > b->use.size ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Copies the values that depend on later samples: trends, peaks, the last time. */
static void complete_groups(struct resident_query *q)
{
	struct hl_resident *x = q->x;

	for (size_t i = 0; i < x->n_groups; i++) {
		const struct hl_resident_group *g = &q->groups.data[i].g;

		x->groups[i].last_ns = g->last_ns;
		x->groups[i].peak_rss = g->peak_rss;
		x->groups[i].peak_ns = g->peak_ns;
		memcpy(x->groups[i].trend, g->trend, sizeof(g->trend));
	}
	qsort(x->groups, x->n_groups, sizeof(*x->groups), compare_groups);
	while (x->n_groups && !x->groups[x->n_groups - 1].maps)
		x->n_groups--;
	x->groups_gone = q->groups.len - x->n_groups;
}

int hl_resident_at(struct hl_resident *x, struct hl_model *m, uint64_t moment_ns,
	const struct hl_time_range *range, const struct hl_mapping_choice *only,
	struct hl_resident_point *points, size_t n_points)
{
	struct resident_query q = {.m = m,
		.x = x,
		.only = only,
		.moment_ns = moment_ns,
		.points = points,
		.n_points = points ? n_points : 0};
	int err;

	*x = (struct hl_resident){.range = *range};
	if (q.n_points)
		memset(points, 0, n_points * sizeof(*points));
	err = hl_model_require(m, HL_NEEDS_MAP_SAMPLES, "this");
	if (err)
		return err;
	err = hl_map_cursor_open(&x->names, m->reader);
	if (!err)
		err = read_samples(&q);
	if (!err)
		carry(&q, HL_RESIDENT_POINTS, q.n_points);
	if (!err && is_wanted(&q, NULL))
		err = show_sample(&q);
	if (!err && q.sample)
		complete_groups(&q);
	if (!err && !q.sample)
		err = hl_model_fail(m, -EBADMSG);
	else if (err)
		err = hl_model_fail(m, err);
	hl_vec_free(&q.now);
	hl_vec_free(&q.next);
	hl_vec_free(&q.groups);
	hl_pair_map_fini(&q.by_name);
	return err;
}

void hl_resident_fini(struct hl_resident *x)
{
	free(x->groups);
	free(x->maps);
	hl_map_cursor_close(x->names);
	*x = (struct hl_resident){0};
}
