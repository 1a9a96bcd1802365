/*
 * log.c - see log.h.
 *
 * Keyframes hold what changed since the one before: going through them in order, the sums of all
 * stacks are kept up to date by those rows alone. Any other way is by the sums of the two moments.
 */
#include "model/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/bits.h"
#include "model/model_internal.h"

struct hl_log {
	struct hl_model *m;
	HL_VEC(struct hl_moment) moments;
	HL_VEC(struct hl_source) sources;
	uint64_t *ids; /* by node */

	/* The sums at moment `at`, and at the one before; n_nodes + 1, the last: without a stack.
	 */
	size_t at;   /* SIZE_MAX: not known */
	size_t next; /* the keyframe after `now`; SIZE_MAX: not known */
	struct hl_sums *now, *was;
	struct hl_sums all;       /* of `now` together */
	uint64_t time_ns;         /* of it */
	bool moved;               /* which is not the moment that was asked for */
	HL_VEC(uint32_t) touched; /* where the two may differ */
	uint8_t *is_touched;
};

/* --- the moments --- */

static int add_key(struct hl_log *log, size_t key)
{
	struct hl_model *m = log->m;
	struct hl_snapshot_info s;
	struct hl_moment x = {.place = hl_place_key(m, key)};
	uint32_t name;
	int err = hl_reader_snapshot(m->reader, key, &s);

	if (err == -EBADMSG) {
		hl_model_mark_bad(m, &m->bad_keyframes[key]);
		return 0;
	}
	if (err)
		return err == -ENOENT ? 0 : err;
	x.time_ns = hl_reader_keyframe(m->reader, key)->time_ns;
	x.cause = (uint32_t)hl_min_u64(s.cause, UINT32_MAX);
	x.threshold = s.threshold;
	x.churn_bytes = s.churn_bytes;
	err = hl_strings_add(&m->strings, s.label, &name);
	free(s.label);
	if (err)
		return err;
	x.label = hl_strings_get(&m->strings, name);
	return hl_vec_push(&log->moments, x);
}

/* Among the first n, which are sorted. */
static bool has_moment(const struct hl_log *log, size_t n, uint64_t time_ns, const char *label)
{
	const struct hl_moment *all = log->moments.data;
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (all[mid].time_ns < time_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < n && all[lo].time_ns == time_ns; lo++)
		if (strcmp(all[lo].label, label) == 0)
			return true;
	return false;
}

/* Snapshots that have no keyframe of their own: their sums come from events. */
static int add_marks(struct hl_log *log)
{
	const struct hl_mark *marks;
	size_t n, keys = log->moments.len;
	int err = hl_model_marks(log->m, &marks, &n);

	for (size_t i = 0; i < n && !err; i++) {
		struct hl_moment x = {.time_ns = marks[i].time_ns,
			.label = marks[i].name,
			.place = hl_place_mark(&marks[i])};

		if (!marks[i].snapshot || has_moment(log, keys, x.time_ns, x.label))
			continue;
		/* Its keyframe is lost, and events cannot tell. */
		if (hl_reader_chunk(log->m->reader, marks[i].chunk)->apart)
			continue;
		err = hl_vec_push(&log->moments, x);
	}
	return err;
}

static int by_time(const void *a, const void *b)
{
	const struct hl_moment *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->place.chunk != y->place.chunk)
		return x->place.chunk < y->place.chunk ? -1 : 1;
	return x->place.limit < y->place.limit ? -1 : x->place.limit > y->place.limit;
}

static void sort_moments(struct hl_log *log)
{
	if (log->moments.len > 1)
		qsort(log->moments.data, log->moments.len, sizeof(*log->moments.data), by_time);
}

static int find_moments(struct hl_log *log)
{
	struct hl_model *m = log->m;
	struct hl_moment end = {.cause = HL_SNAPSHOT_END, .label = ""};
	const struct hl_moment *last;
	int err = 0;

	for (size_t i = 0; i < hl_reader_n_keyframes(m->reader) && !err; i++) {
		const struct hl_keyframe_info *k = hl_reader_keyframe(m->reader, i);

		if (k->snapshot && !k->lost && !m->bad_keyframes[i])
			err = add_key(log, i);
	}
	sort_moments(log);
	if (!err)
		err = add_marks(log);
	if (err)
		return err;
	sort_moments(log);
	last = log->moments.len ? &log->moments.data[log->moments.len - 1] : NULL;
	if (last && last->cause == HL_SNAPSHOT_END)
		return 0;
	end.place = hl_place_at(m, UINT64_MAX);
	end.time_ns = end.place.time_ns;
	return hl_vec_push(&log->moments, end);
}

/* --- who a stack is --- */

/* From its frames alone, as modules call themselves: the same in every run. */
static int make_ids(struct hl_log *log)
{
	struct hl_model *m = log->m;

	log->ids = calloc((size_t)m->n_nodes + 1, sizeof(*log->ids));
	if (!log->ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n_nodes; i++) {
		struct hl_node node;
		struct hl_module module;
		uint64_t h = 0;

		if (hl_reader_node(m->reader, i, &node) < 0) {
			log->ids[i] = i;
			continue;
		}
		if (node.parent != HL_NODE_NONE && node.parent < i)
			h = log->ids[node.parent];
		if (node.module != HL_MODULE_NONE &&
			hl_reader_module(m->reader, node.module, &module) == 0)
			for (const char *c = strrchr(module.path, '/') ? strrchr(module.path, '/')
								       : module.path;
				*c; c++)
				h = hl_hash_pair(h, (uint8_t)*c);
		log->ids[i] = hl_hash_pair(h, node.offset);
	}
	return 0;
}

/* --- going from moment to moment --- */

static struct hl_sums minus(const struct hl_sums *a, const struct hl_sums *b)
{
	return (struct hl_sums){a->alloc_blocks - b->alloc_blocks, a->alloc_bytes - b->alloc_bytes,
		a->free_blocks - b->free_blocks, a->free_bytes - b->free_bytes};
}

static void plus(struct hl_sums *to, const struct hl_sums *s)
{
	to->alloc_blocks += s->alloc_blocks;
	to->alloc_bytes += s->alloc_bytes;
	to->free_blocks += s->free_blocks;
	to->free_bytes += s->free_bytes;
}

static int touch(struct hl_log *log, uint32_t at)
{
	if (log->is_touched[at])
		return 0;
	log->is_touched[at] = 1;
	return hl_vec_push(&log->touched, at);
}

static int take_row(void *arg, uint32_t node, const struct hl_sums *sums)
{
	struct hl_log *log = arg;

	struct hl_sums change;

	if (node >= log->m->n_nodes)
		return -ERANGE;
	change = minus(sums, &log->now[node]);
	plus(&log->all, &change);
	log->now[node] = *sums;
	return touch(log, node);
}

/* The rows of keyframes up to this one; -ENODATA: there is no such way. */
static int follow_keys(struct hl_log *log, size_t key)
{
	struct hl_model *m = log->m;
	struct hl_sums *none = &log->now[m->n_nodes];
	struct hl_totals all;
	int err = 0;

	if (log->next > key + 1) /* nor if it is not known */
		return -ENODATA;
	for (size_t i = log->next; i <= key && !err; i++) {
		bool full;

		err = hl_reader_keyframe_rows(m->reader, i, &full, take_row, log);
		if (err == -EBADMSG)
			hl_model_mark_bad(m, &m->bad_keyframes[i]);
	}
	if (!err)
		err = hl_reader_keyframe_totals(m->reader, key, &all);
	if (err)
		return err == -ENOMEM ? err : -ENODATA;
	/* What is of the process and of no node has no stack. */
	log->all = minus(&log->all, none);
	*none = minus(&all.sums, &log->all);
	log->all = all.sums;
	log->next = key + 1;
	err = touch(log, m->n_nodes);
	for (size_t i = 0; i < log->touched.len && !err; i++)
		err = hl_sums_verify(m, &log->now[log->touched.data[i]], 0);
	return err;
}

static int touch_all(struct hl_log *log)
{
	int err = 0;

	for (uint32_t i = 0; i <= log->m->n_nodes && !err; i++)
		err = touch(log, i);
	return err;
}

/* The sums of a moment into `now`; 0: the start. */
static int go_to(struct hl_log *log, size_t to)
{
	const struct hl_moment *x = to ? &log->moments.data[to - 1] : NULL;
	size_t n = (size_t)log->m->n_nodes + 1;
	struct hl_place p;
	int err = -ENODATA;

	log->moved = false;
	log->time_ns = x ? x->time_ns : 0;
	if (!x) {
		memset(log->now, 0, n * sizeof(*log->now));
		log->all = (struct hl_sums){0};
		log->next = 0;
		return touch_all(log);
	}
	if (x->place.cut == HL_CUT_KEY && x->place.limit != UINT64_MAX)
		err = follow_keys(log, x->place.limit);
	if (err != -ENODATA)
		return err;
	p = x->place;
	err = hl_sums_at(log->m, &p, log->now);
	log->moved = p.moved;
	log->time_ns = p.time_ns;
	log->next = p.cut == HL_CUT_KEY && !err ? p.limit + 1 : SIZE_MAX;
	log->all = (struct hl_sums){0};
	for (size_t i = 0; i < n && !err; i++)
		plus(&log->all, &log->now[i]);
	return err ? err : touch_all(log);
}

int64_t hl_source_rank(const struct hl_source *s, enum hl_log_sort sort)
{
	switch (sort) {
	case HL_LOG_LIVE:
		break;
	case HL_LOG_GROWTH:
		return (int64_t)(s->change.alloc_bytes - s->change.free_bytes);
	case HL_LOG_CHURN:
		return (int64_t)(s->change.alloc_bytes + s->change.free_bytes);
	}
	return (int64_t)hl_sums_live_bytes(&s->total);
}

static int by_rank(const void *a, const void *b, void *arg)
{
	const struct hl_source *x = a, *y = b;
	int64_t rx = hl_source_rank(x, *(enum hl_log_sort *)arg),
		ry = hl_source_rank(y, *(enum hl_log_sort *)arg);

	return rx != ry ? rx < ry ? 1 : -1 : x->node < y->node ? -1 : x->node > y->node;
}

static int gather(struct hl_log *log, enum hl_log_sort sort, struct hl_log_page *page)
{
	struct hl_model *m = log->m;
	int err = 0;

	*page = (struct hl_log_page){
		.total = log->all, .time_ns = log->time_ns, .moved = log->moved};
	log->sources.len = 0;
	for (size_t i = 0; i < log->touched.len && !err; i++) {
		uint32_t at = log->touched.data[i];
		struct hl_source s = {.node = at < m->n_nodes ? at : HL_NODE_NONE,
			.id = at < m->n_nodes ? log->ids[at] : 0,
			.change = minus(&log->now[at], &log->was[at]),
			.total = log->now[at]};

		if (s.change.alloc_blocks == 0 && s.change.free_blocks == 0)
			continue;
		plus(&page->change, &s.change);
		err = hl_vec_push(&log->sources, s);
	}
	if (log->sources.len > 1)
		qsort_r(log->sources.data, log->sources.len, sizeof(*log->sources.data), by_rank,
			&sort);
	page->sources = log->sources.data;
	page->n = log->sources.len;
	return err;
}

int hl_log_between(
	struct hl_log *log, size_t from, size_t to, enum hl_log_sort sort, struct hl_log_page *page)
{
	size_t bytes = ((size_t)log->m->n_nodes + 1) * sizeof(*log->now);
	int err = 0;

	log->m->error[0] = 0;
	if (from > log->moments.len || to > log->moments.len)
		return hl_model_fail(log->m, -EINVAL);
	if (log->at != from)
		err = go_to(log, from);
	if (log->at == from && !err)
		for (size_t i = 0; i < log->touched.len; i++)
			log->was[log->touched.data[i]] = log->now[log->touched.data[i]];
	else if (!err)
		memcpy(log->was, log->now, bytes);
	for (size_t i = 0; i < log->touched.len; i++)
		log->is_touched[log->touched.data[i]] = 0;
	log->touched.len = 0;
	log->at = SIZE_MAX;
	if (!err)
		err = go_to(log, to);
	if (!err)
		err = gather(log, sort, page);
	if (!err)
		log->at = to;
	else if (!log->m->error[0])
		hl_model_fail(log->m, err);
	return err;
}

/* --- the list --- */

int hl_log_new(struct hl_log **out, struct hl_model *m)
{
	struct hl_log *log = calloc(1, sizeof(*log));
	size_t n = (size_t)m->n_nodes + 1;
	int err = -ENOMEM;

	if (!log)
		return hl_model_fail(m, err);
	log->m = m;
	log->now = calloc(n, sizeof(*log->now));
	log->was = calloc(n, sizeof(*log->was));
	log->is_touched = calloc(n, 1);
	if (log->now && log->was && log->is_touched)
		err = make_ids(log);
	if (!err)
		err = find_moments(log);
	if (err) {
		hl_log_free(log);
		return hl_model_fail(m, err);
	}
	*out = log;
	return 0;
}

void hl_log_free(struct hl_log *log)
{
	if (!log)
		return;
	hl_vec_free(&log->moments);
	hl_vec_free(&log->sources);
	hl_vec_free(&log->touched);
	free(log->ids);
	free(log->now);
	free(log->was);
	free(log->is_touched);
	free(log);
}

size_t hl_log_n(const struct hl_log *log)
{
	return log->moments.len;
}

const struct hl_moment *hl_log_moment(const struct hl_log *log, size_t i)
{
	return &log->moments.data[i - 1];
}
