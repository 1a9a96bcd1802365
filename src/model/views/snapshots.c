/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshots.c - see snapshots.h.
 *
 * A keyframe holds the rows that changed since the one before. When moments are visited in order,
 * these rows alone keep the sums of all stacks up to date. In any other order the sums of both
 * moments are computed from scratch.
 */
#include "model/views/snapshots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/bits.h"
#include "model/model_internal.h"

struct hl_snapshot_list {
	struct hl_model *m;
	HL_VEC(struct hl_moment) moments;
	HL_VEC(struct hl_stack_change) sources;
	uint64_t *ids; /* stack ids, by node */

	/* The sums at moment `at` and at the previous one: n_nodes + 1 each, the last for blocks
	 * without a stack. */
	size_t at;   /* SIZE_MAX: not known */
	size_t next; /* the keyframe after `now`; SIZE_MAX: not known */
	struct hl_sums *now, *was;
	struct hl_sums all;       /* total of `now` */
	uint64_t time_ns;         /* time of `now` */
	bool before_damage;       /* `now` is not the requested moment */
	HL_VEC(uint32_t) touched; /* nodes whose sums may differ between `now` and `was` */
	uint8_t *is_touched;
};

/* --- the moments --- */

static int add_keyframe(struct hl_snapshot_list *log, size_t key)
{
	struct hl_model *m = log->m;
	struct hl_snapshot_info s;
	struct hl_moment x = {.position = hl_position_key(m, key)};
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
	err = hl_string_table_add(&m->strings, s.label, &name);
	free(s.label);
	if (err)
		return err;
	x.label = hl_string_table_get(&m->strings, name);
	return hl_vec_push(&log->moments, x);
}

/* Is this snapshot among the first n moments, which are sorted? The end may have the same time as
 * the last requested snapshot, so cause and label are compared too. */
static bool has_moment(const struct hl_snapshot_list *log, size_t n, const struct hl_moment *x)
{
	const struct hl_moment *all = log->moments.data;
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (all[mid].time_ns < x->time_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < n && all[lo].time_ns == x->time_ns; lo++)
		if (all[lo].cause == x->cause && strcmp(all[lo].label, x->label) == 0)
			return true;
	return false;
}

/* Adds snapshots that have no keyframe of their own: their sums are computed from events. */
static int add_marks(struct hl_snapshot_list *log)
{
	const struct hl_mark *marks;
	size_t n, keys = log->moments.len;
	int err = hl_model_marks(log->m, &marks, &n);

	for (size_t i = 0; i < n && !err; i++) {
		struct hl_moment x = {.time_ns = marks[i].time_ns,
			.cause = marks[i].cause,
			.label = marks[i].name,
			.mark = i + 1,
			.position = hl_position_mark(&marks[i])};

		if (!marks[i].snapshot || has_moment(log, keys, &x))
			continue;
		/* Its keyframe is damaged, and events of a disjoint chunk do not have the sums. */
		if (hl_reader_chunk(log->m->reader, marks[i].chunk)->disjoint)
			continue;
		err = hl_vec_push(&log->moments, x);
	}
	return err;
}

struct hl_time_spec hl_moment_time_spec(const struct hl_moment *x)
{
	if (x->mark)
		return (struct hl_time_spec){.kind = HL_TIME_SPEC_MARK, .n_mark = x->mark};
	if (x->position.cut == HL_CUT_KEY && x->position.limit != UINT64_MAX)
		return (struct hl_time_spec){.kind = HL_TIME_SPEC_KEY, .key = x->position.limit};
	return (struct hl_time_spec){.kind = HL_TIME_SPEC_END};
}

static int compare_moments(const void *a, const void *b)
{
	const struct hl_moment *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->position.chunk != y->position.chunk)
		return x->position.chunk < y->position.chunk ? -1 : 1;
	return x->position.limit < y->position.limit ? -1 : x->position.limit > y->position.limit;
}

static void sort_moments(struct hl_snapshot_list *log)
{
	if (log->moments.len > 1)
		qsort(log->moments.data, log->moments.len, sizeof(*log->moments.data),
			compare_moments);
}

static int find_moments(struct hl_snapshot_list *log)
{
	struct hl_model *m = log->m;
	struct hl_moment end = {.cause = HL_SNAPSHOT_END, .label = ""};
	const struct hl_moment *last;
	int err = 0;

	for (size_t i = 0; i < hl_reader_n_keyframes(m->reader) && !err; i++) {
		const struct hl_keyframe_info *k = hl_reader_keyframe(m->reader, i);

		if (k->snapshot && !k->lost && !m->bad_keyframes[i])
			err = add_keyframe(log, i);
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
	end.position = hl_position_at(m, UINT64_MAX);
	end.time_ns = end.position.time_ns;
	end.is_rotation = m->info->end.kind == HL_END_CONTINUED;
	return hl_vec_push(&log->moments, end);
}

/* --- stack ids --- */

/* Hashes the frames with the file names of modules, so that ids are equal in every run. */
static int compute_stack_ids(struct hl_snapshot_list *log)
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

/* --- moving from moment to moment --- */

static struct hl_sums subtract_sums(const struct hl_sums *a, const struct hl_sums *b)
{
	return (struct hl_sums){a->alloc_blocks - b->alloc_blocks, a->alloc_bytes - b->alloc_bytes,
		a->free_blocks - b->free_blocks, a->free_bytes - b->free_bytes};
}

static void add_sums(struct hl_sums *to, const struct hl_sums *s)
{
	to->alloc_blocks += s->alloc_blocks;
	to->alloc_bytes += s->alloc_bytes;
	to->free_blocks += s->free_blocks;
	to->free_bytes += s->free_bytes;
}

static int mark_touched(struct hl_snapshot_list *log, uint32_t at)
{
	if (log->is_touched[at])
		return 0;
	log->is_touched[at] = 1;
	return hl_vec_push(&log->touched, at);
}

static int apply_row(void *arg, uint32_t node, const struct hl_sums *sums)
{
	struct hl_snapshot_list *log = arg;

	struct hl_sums change;

	if (node >= log->m->n_nodes)
		return -ERANGE;
	change = subtract_sums(sums, &log->now[node]);
	add_sums(&log->all, &change);
	log->now[node] = *sums;
	return mark_touched(log, node);
}

/* Applies the rows of the keyframes up to this one; -ENODATA: not possible from `now`. */
static int apply_keyframes(struct hl_snapshot_list *log, size_t key)
{
	struct hl_model *m = log->m;
	struct hl_sums *none = &log->now[m->n_nodes];
	struct hl_totals all;
	int err = 0;

	if (log->next > key + 1) /* even if it is SIZE_MAX */
		return -ENODATA;
	for (size_t i = log->next; i <= key && !err; i++) {
		bool full;

		err = hl_reader_keyframe_rows(m->reader, i, &full, apply_row, log);
		if (err == -EBADMSG)
			hl_model_mark_bad(m, &m->bad_keyframes[i]);
	}
	if (!err)
		err = hl_reader_keyframe_totals(m->reader, key, &all);
	if (err)
		return err == -ENOMEM ? err : -ENODATA;
	/* The difference between the process totals and the nodes' sums belongs to blocks without a
	 * stack. */
	log->all = subtract_sums(&log->all, none);
	*none = subtract_sums(&all.sums, &log->all);
	log->all = all.sums;
	log->next = key + 1;
	err = mark_touched(log, m->n_nodes);
	for (size_t i = 0; i < log->touched.len && !err; i++)
		err = hl_sums_verify(m, &log->now[log->touched.data[i]], 0);
	return err;
}

static int mark_all_touched(struct hl_snapshot_list *log)
{
	int err = 0;

	for (uint32_t i = 0; i <= log->m->n_nodes && !err; i++)
		err = mark_touched(log, i);
	return err;
}

/* Sets `now` to the sums of a moment; 0: the start, or the base of a trace that begins late. */
static int move_to_moment(struct hl_snapshot_list *log, size_t to)
{
	const struct hl_moment *x = to ? &log->moments.data[to - 1] : NULL;
	size_t n = (size_t)log->m->n_nodes + 1;
	struct hl_position p;
	int err = -ENODATA;

	log->before_damage = false;
	log->time_ns = x ? x->time_ns : 0;
	if (!x && !hl_model_base(log->m)->is_late) {
		memset(log->now, 0, n * sizeof(*log->now));
		log->all = (struct hl_sums){0};
		log->next = 0;
		return mark_all_touched(log);
	}
	if (x && x->position.cut == HL_CUT_KEY && x->position.limit != UINT64_MAX)
		err = apply_keyframes(log, x->position.limit);
	if (err != -ENODATA)
		return err;
	p = x ? x->position : hl_position_first(log->m);
	err = hl_sums_at(log->m, &p, log->now);
	log->before_damage = p.before_damage;
	log->time_ns = p.time_ns;
	log->next = p.cut == HL_CUT_KEY && !err ? p.limit + 1 : SIZE_MAX;
	log->all = (struct hl_sums){0};
	for (size_t i = 0; i < n && !err; i++)
		add_sums(&log->all, &log->now[i]);
	return err ? err : mark_all_touched(log);
}

int64_t hl_stack_change_rank(const struct hl_stack_change *s, enum hl_snapshot_list_sort sort)
{
	switch (sort) {
	case HL_SNAPSHOT_LIST_LIVE:
		break;
	case HL_SNAPSHOT_LIST_GROWTH:
		return (int64_t)(s->change.alloc_bytes - s->change.free_bytes);
	case HL_SNAPSHOT_LIST_CHURN:
		return (int64_t)(s->change.alloc_bytes + s->change.free_bytes);
	}
	return (int64_t)hl_sums_live_bytes(&s->total);
}

static int compare_sources(const void *a, const void *b, void *arg)
{
	const struct hl_stack_change *x = a, *y = b;
	int64_t rx = hl_stack_change_rank(x, *(enum hl_snapshot_list_sort *)arg),
		ry = hl_stack_change_rank(y, *(enum hl_snapshot_list_sort *)arg);

	return rx != ry ? rx < ry ? 1 : -1 : x->node < y->node ? -1 : x->node > y->node;
}

static int collect_sources(struct hl_snapshot_list *log, enum hl_snapshot_list_sort sort,
	struct hl_snapshot_changes *page)
{
	struct hl_model *m = log->m;
	int err = 0;

	*page = (struct hl_snapshot_changes){
		.total = log->all, .time_ns = log->time_ns, .before_damage = log->before_damage};
	log->sources.len = 0;
	for (size_t i = 0; i < log->touched.len && !err; i++) {
		uint32_t at = log->touched.data[i];
		struct hl_stack_change s = {.node = at < m->n_nodes ? at : HL_NODE_NONE,
			.id = at < m->n_nodes ? log->ids[at] : 0,
			.change = subtract_sums(&log->now[at], &log->was[at]),
			.total = log->now[at]};

		if (s.change.alloc_blocks == 0 && s.change.free_blocks == 0)
			continue;
		add_sums(&page->change, &s.change);
		err = hl_vec_push(&log->sources, s);
	}
	if (log->sources.len > 1)
		qsort_r(log->sources.data, log->sources.len, sizeof(*log->sources.data),
			compare_sources, &sort);
	page->sources = log->sources.data;
	page->n = log->sources.len;
	return err;
}

int hl_snapshot_list_changes(struct hl_snapshot_list *log, size_t from, size_t to,
	enum hl_snapshot_list_sort sort, struct hl_snapshot_changes *page)
{
	size_t bytes = ((size_t)log->m->n_nodes + 1) * sizeof(*log->now);
	int err = 0;

	log->m->error[0] = 0;
	if (from > log->moments.len || to > log->moments.len)
		return hl_model_fail(log->m, -EINVAL);
	if (log->at != from)
		err = move_to_moment(log, from);
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
		err = move_to_moment(log, to);
	if (!err)
		err = collect_sources(log, sort, page);
	if (!err)
		log->at = to;
	else if (!log->m->error[0])
		hl_model_fail(log->m, err);
	return err;
}

/* --- the list --- */

int hl_snapshot_list_new(struct hl_snapshot_list **out, struct hl_model *m)
{
	struct hl_snapshot_list *log = calloc(1, sizeof(*log));
	size_t n = (size_t)m->n_nodes + 1;
	int err = -ENOMEM;

	if (!log)
		return hl_model_fail(m, err);
	log->m = m;
	log->at = hl_model_base(m)->is_late ? SIZE_MAX : 0; /* `now` is zeroed */
	log->now = calloc(n, sizeof(*log->now));
	log->was = calloc(n, sizeof(*log->was));
	log->is_touched = calloc(n, 1);
	if (log->now && log->was && log->is_touched)
		err = compute_stack_ids(log);
	if (!err)
		err = find_moments(log);
	if (err) {
		hl_snapshot_list_free(log);
		return hl_model_fail(m, err);
	}
	*out = log;
	return 0;
}

void hl_snapshot_list_free(struct hl_snapshot_list *log)
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

size_t hl_snapshot_list_n(const struct hl_snapshot_list *log)
{
	return log->moments.len;
}

const struct hl_moment *hl_snapshot_list_moment(const struct hl_snapshot_list *log, size_t i)
{
	return &log->moments.data[i - 1];
}

uint64_t hl_snapshot_list_before(const struct hl_snapshot_list *log)
{
	return hl_model_base(log->m)->snapshots;
}

bool hl_snapshot_list_is_late(const struct hl_snapshot_list *log)
{
	return hl_model_base(log->m)->is_late;
}

const char *hl_moment_cause_name(const struct hl_moment *x)
{
	return x->is_rotation ? "rotate" : hl_snapshot_cause_name(x->cause);
}

const char *hl_snapshot_cause_name(uint32_t cause)
{
	static const char *const names[] = {[HL_SNAPSHOT_PROGRAM] = "asked",
		[HL_SNAPSHOT_CHURN] = "churn",
		[HL_SNAPSHOT_TIME] = "time",
		[HL_SNAPSHOT_LIVE] = "live",
		[HL_SNAPSHOT_RSS] = "rss",
		[HL_SNAPSHOT_CTL] = "ctl",
		[HL_SNAPSHOT_END] = "end",
		[HL_SNAPSHOT_MODE_CHANGE] = "mode",
		[HL_SNAPSHOT_SIGNAL] = "signal"};

	return cause < HL_ARRAY_LEN(names) ? names[cause] : "other";
}
