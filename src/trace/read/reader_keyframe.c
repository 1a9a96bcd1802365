/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_keyframe.c - keyframes, live sets and RSS samples.
 *
 * A keyframe that is not full has rows only for nodes that changed since the previous one, back to
 * a full one. If the peak is newer than the previous keyframe, nodes without a row had the same
 * values at the peak as now.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "trace/read/reader_internal.h"

#define KEY_FIELDS  7
#define ALL_FIELDS  (KEY_FIELDS + HL_WRITTEN_FIELDS + 1)
#define LIVE_FIELDS 8          /* the last two only if there are samples */
#define RSS_MAX     (1u << 20) /* above this, pairs are merged */

int hl_read_process_numbers(struct hl_column_cursor *cur, struct hl_process_numbers *n)
{
	struct hl_totals *t = &n->totals;
	struct hl_counters *c = &n->counters;
	uint64_t *const fields[] = {&t->sums.alloc_blocks, &t->sums.alloc_bytes,
		&t->sums.free_blocks, &t->sums.free_bytes, &t->implicit_frees, &t->implicit_bytes,
		&t->peak_bytes, &t->peak_blocks, &t->peak_time_ns, &t->temporary, &t->events,
		&t->stacks, &t->last_alloc_event, &t->last_alloc_ordinal, &n->threads,
		&c->unknown_frees, &c->implicit_frees, &c->inherited_frees, &c->late_events,
		&c->dropped_events, &n->n_modules, &n->n_nodes, &n->n_threads, &c->unrecorded_frees,
		&t->samples};

	memset(n, 0, sizeof(*n));
	for (size_t i = 0; i < HL_ARRAY_LEN(fields); i++)
		*fields[i] = hl_column_cursor_varint(cur);
	return cur->bad ? -EBADMSG : 0;
}

int hl_read_aggregated(
	struct hl_reader *r, struct hl_chunk *c, const struct hl_totals *all, struct hl_sums *s)
{
	const struct hl_sums *t = &all->sums;
	struct hl_column_cursor cur;
	int err = hl_chunk_column(r, c, HL_COL_WITHHELD, &cur);

	*s = (struct hl_sums){0};
	if (err)
		return err == -ENOENT ? 0 : err;
	s->alloc_blocks = hl_column_cursor_varint(&cur);
	s->alloc_bytes = hl_column_cursor_varint(&cur);
	s->free_blocks = hl_column_cursor_varint(&cur);
	s->free_bytes = hl_column_cursor_varint(&cur);
	if (cur.bad || s->alloc_blocks > t->alloc_blocks || s->alloc_bytes > t->alloc_bytes ||
		s->free_blocks > t->free_blocks || s->free_bytes > t->free_bytes)
		return -EBADMSG;
	return 0;
}

/* Together they are all freed blocks. */
static bool check_lifetimes(const struct hl_totals *t)
{
	uint64_t left = t->sums.free_blocks;

	for (size_t i = 0; i < HL_LIFETIME_CLASSES_MAX; i++)
		left -= t->lifetimes[i];
	return left == 0;
}

int hl_read_lifetimes(struct hl_reader *r, struct hl_chunk *c, struct hl_process_numbers *n)
{
	struct hl_column_cursor cur;
	int err = hl_chunk_column(r, c, HL_COL_LIFETIMES, &cur);

	n->has_lifetimes = n->totals.sums.free_blocks == 0;
	if (err || n->has_lifetimes)
		return err == -ENOENT ? 0 : err;
	for (size_t i = 0; i < HL_LIFETIME_CLASSES_MAX && cur.p < cur.end; i++)
		n->totals.lifetimes[i] = hl_column_cursor_varint(&cur);
	n->has_lifetimes = true;
	return cur.bad || !check_lifetimes(&n->totals) ? -EBADMSG : 0;
}

/* Computes the aggregated part of a row. False if more is in events than in the sums. */
static bool set_aggregated(const uint64_t v[HL_WRITTEN_FIELDS], struct hl_key_row *row)
{
	const struct hl_sums *s = &row->sums;

	if (v[0] > s->alloc_blocks || v[1] > s->alloc_bytes || v[2] > s->free_blocks ||
		v[3] > s->free_bytes)
		return false;
	row->aggregated = (struct hl_sums){s->alloc_blocks - v[0], s->alloc_bytes - v[1],
		s->free_blocks - v[2], s->free_bytes - v[3]};
	return true;
}

/* `fields` is KEY_FIELDS or ALL_FIELDS. */
static int read_key_rows(
	struct hl_column_cursor cur[ALL_FIELDS], int fields, uint32_t n, hl_key_fn *fn, void *arg)
{
	uint64_t node = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t v[ALL_FIELDS] = {0};
		struct hl_key_row row = {0};
		int err;

		for (int f = 0; f < fields; f++) {
			v[f] = hl_column_cursor_varint(&cur[f]);
			if (cur[f].bad)
				return -EBADMSG;
		}
		if (v[0] >= HL_NODES_MAX || (node += v[0]) >= HL_NODES_MAX)
			return -EBADMSG;
		row.node = (uint32_t)node;
		row.sums = (struct hl_sums){v[1], v[2], v[1] - v[3], v[2] - v[4]};
		row.peak_blocks = v[3] + (uint64_t)hl_unzigzag(v[5]);
		row.peak_bytes = v[4] + (uint64_t)hl_unzigzag(v[6]);
		if (fields == ALL_FIELDS && !set_aggregated(v + KEY_FIELDS, &row))
			return -EBADMSG;
		if (fields == ALL_FIELDS)
			row.called = (uint32_t)hl_min_u64(v[ALL_FIELDS - 1], UINT32_MAX);
		err = fn(arg, &row);
		if (err)
			return err;
	}
	for (int f = 0; f < fields; f++)
		if (!hl_column_cursor_done(&cur[f]))
			return -EBADMSG;
	return 0;
}

int hl_key_part_rows(struct hl_reader *r, size_t row, hl_key_fn *fn, void *arg)
{
	struct hl_column_cursor cur[ALL_FIELDS];
	int fields = KEY_FIELDS;
	struct hl_chunk c;
	int err = hl_load_chunk(r, row, &c);

	if (err)
		return err;
	err = hl_check_columns(r, &c);
	for (int f = 0; f < ALL_FIELDS && !err; f++) {
		int id = f < KEY_FIELDS        ? HL_COL_KEY_NODE + f
			 : f == ALL_FIELDS - 1 ? HL_COL_KEY_FUNC
					       : HL_COL_KEY_WRITTEN + f - KEY_FIELDS;

		err = hl_chunk_column(r, &c, (uint16_t)id, &cur[f]);
		if (!err && f == KEY_FIELDS)
			fields = ALL_FIELDS;
		if (err == -ENOENT) /* a chunk without rows has no columns */
			err = 0;
	}
	if (!err)
		err = read_key_rows(cur, fields, c.head.n_rows, fn, arg);
	if (err == -EBADMSG)
		hl_mark_bad(r, row);
	return err;
}

/* Marks this keyframe, and those that build on it, as lost. */
static int mark_keyframe_lost(struct hl_reader *r, size_t key)
{
	r->keys.data[key].lost = true;
	for (size_t i = key + 1; i < r->keys.len && r->key_places.data[i].before == i - 1; i++)
		r->keys.data[i].lost = true;
	return -EBADMSG;
}

/* Callbacks for a chain of keyframes: `link` is called for each keyframe in order, then `row` for
 * each of its rows. */
struct chain {
	void (*link)(void *arg, const struct hl_chunk_header *head);
	hl_key_fn *row;
	void *arg;
};

static int walk_chain(struct hl_reader *r, size_t key, const struct chain *w)
{
	size_t first = key;

	if (r->keys.data[key].lost)
		return hl_reader_fail(r, "Keyframe %zu is lost.", key);
	while (r->key_places.data[first].before != HL_NO_ROW)
		first = r->key_places.data[first].before;
	for (size_t i = first; i <= key; i++) {
		const struct hl_keyframe_rows *p = &r->key_places.data[i];

		w->link(w->arg, &r->rows.data[p->row].head);
		for (uint32_t part = 0; part < p->parts; part++) {
			int err = hl_key_part_rows(r, p->row + part, w->row, w->arg);

			if (err == -ERANGE)
				return hl_reader_fail(
					r, "Keyframe %zu has nodes whose tables are lost.", i);
			if (err)
				return err == -EBADMSG ? mark_keyframe_lost(r, i) : err;
		}
	}
	return 0;
}

struct keyframe_loader {
	struct hl_node_totals *nodes;
	size_t n;
	uint64_t link, new_peak; /* keyframes so far, and the last with a newer peak */
};

static void begin_keyframe(void *arg, const struct hl_chunk_header *head)
{
	struct keyframe_loader *l = arg;

	l->link++;
	if (head->flags & HL_CHUNK_NEW_PEAK)
		l->new_peak = l->link;
}

static int store_row(void *arg, const struct hl_key_row *row)
{
	struct keyframe_loader *l = arg;
	struct hl_node_totals *n;

	if (row->node >= l->n)
		return -ERANGE; /* the keyframe is good, but the node's table is lost */
	n = &l->nodes[row->node];
	n->sums = row->sums;
	n->peak_bytes = row->peak_bytes;
	n->peak_blocks = row->peak_blocks;
	n->epoch = l->link;
	return 0;
}

int hl_reader_load_keyframe(
	struct hl_reader *r, size_t i, struct hl_node_totals *nodes, size_t n_nodes)
{
	struct keyframe_loader l = {.nodes = nodes, .n = n_nodes};
	const struct chain chain = {begin_keyframe, store_row, &l};
	int err;

	if (i >= r->keys.len)
		return -EINVAL;
	if (n_nodes > 0)
		memset(nodes, 0, n_nodes * sizeof(*nodes));
	err = walk_chain(r, i, &chain);
	for (size_t k = 0; k < n_nodes; k++) {
		if (nodes[k].epoch < l.new_peak) {
			nodes[k].peak_bytes = hl_sums_live_bytes(&nodes[k].sums);
			nodes[k].peak_blocks = hl_sums_live_blocks(&nodes[k].sums);
		}
		nodes[k].epoch = 0;
	}
	if (err && n_nodes > 0)
		memset(nodes, 0, n_nodes * sizeof(*nodes));
	return err;
}

size_t hl_reader_n_keyframes(const struct hl_reader *r)
{
	return r->keys.len;
}

const struct hl_keyframe_info *hl_reader_keyframe(const struct hl_reader *r, size_t i)
{
	return i < r->keys.len ? &r->keys.data[i] : NULL;
}

/* Reads two short columns and not the rows. hl_key_part_rows reads those. */
int hl_key_load_totals(struct hl_reader *r, size_t key, struct hl_process_numbers *n)
{
	size_t row = r->key_places.data[key].row;
	const struct hl_chunk_row *w = &r->rows.data[row];
	struct hl_column_cursor cur;
	struct hl_chunk c;
	int err = hl_base_load(r);

	if (err)
		return err;
	if (w->bad || (uint32_t)w->head.aux != 0) /* its first part is missing */
		return -EBADMSG;
	if (hl_load_column(r, row, &c, HL_COL_WITHHELD) < 0 ||
		hl_load_column(r, row, &c, HL_COL_LIFETIMES) < 0 ||
		hl_load_column(r, row, &c, HL_COL_NUMBERS) < 0 ||
		hl_chunk_column(r, &c, HL_COL_NUMBERS, &cur) < 0 ||
		hl_read_process_numbers(&cur, n) < 0 ||
		hl_read_aggregated(r, &c, &n->totals, &n->aggregated) < 0 ||
		hl_read_lifetimes(r, &c, n) < 0) {
		hl_mark_bad(r, row);
		return mark_keyframe_lost(r, key);
	}
	/* It may be freed, and so not be in the base. */
	if (hl_base_map_ordinal(r, &n->totals.last_alloc_ordinal) < 0)
		n->totals.last_alloc_ordinal = UINT64_MAX;
	return 0;
}

int hl_reader_keyframe_totals(struct hl_reader *r, size_t i, struct hl_totals *totals)
{
	struct hl_process_numbers n;
	int err;

	if (i >= r->keys.len)
		return -EINVAL;
	err = hl_key_load_totals(r, i, &n);
	if (!err)
		*totals = n.totals;
	return err;
}

struct aggregated_loader {
	struct hl_sums *nodes;
	uint8_t *called;
	size_t n;
};

static void ignore_keyframe(void *arg, const struct hl_chunk_header *head)
{
}

static int store_aggregated(void *arg, const struct hl_key_row *row)
{
	struct aggregated_loader *w = arg;

	if (row->node >= w->n)
		return -ERANGE;
	w->nodes[row->node] = row->aggregated;
	if (w->called && row->called <= UINT8_MAX)
		w->called[row->node] = (uint8_t)row->called;
	return 0;
}

int hl_reader_load_aggregated(
	struct hl_reader *r, size_t i, struct hl_sums *aggregated, uint8_t *called, size_t n_nodes)
{
	struct aggregated_loader w = {aggregated, called, n_nodes};
	const struct chain chain = {ignore_keyframe, store_aggregated, &w};

	if (i >= r->keys.len)
		return -EINVAL;
	if (n_nodes > 0)
		memset(aggregated, 0, n_nodes * sizeof(*aggregated));
	if (n_nodes > 0 && called)
		memset(called, 0, n_nodes);
	return walk_chain(r, i, &chain);
}

struct row_callback {
	hl_key_sums_fn *fn;
	void *arg;
};

static int forward_row(void *arg, const struct hl_key_row *row)
{
	struct row_callback *o = arg;

	return o->fn(o->arg, row->node, &row->sums);
}

int hl_reader_keyframe_rows(
	struct hl_reader *r, size_t i, bool *full, hl_key_sums_fn *fn, void *arg)
{
	struct row_callback o = {fn, arg};
	const struct hl_keyframe_rows *p;
	int err = 0;

	if (i >= r->keys.len)
		return -EINVAL;
	if (r->keys.data[i].lost)
		return hl_reader_fail(r, "Keyframe %zu is lost.", i);
	p = &r->key_places.data[i];
	*full = p->before == HL_NO_ROW;
	for (uint32_t part = 0; part < p->parts && !err; part++)
		err = hl_key_part_rows(r, p->row + part, forward_row, &o);
	return err == -EBADMSG ? mark_keyframe_lost(r, i) : err;
}

int hl_reader_snapshot(struct hl_reader *r, size_t i, struct hl_snapshot_info *s)
{
	struct hl_column_cursor cur;
	struct hl_chunk c;
	size_t row;
	int err;

	*s = (struct hl_snapshot_info){0};
	if (i >= r->keys.len)
		return -EINVAL;
	if (!r->keys.data[i].snapshot)
		return -ENOENT;
	row = r->key_places.data[i].row;
	err = hl_load_chunk(r, row, &c);
	if (err)
		return err;
	err = hl_chunk_column(r, &c, HL_COL_SNAPSHOT, &cur);
	s->number = hl_column_cursor_varint(&cur);
	s->cause = hl_column_cursor_varint(&cur);
	s->threshold = hl_column_cursor_varint(&cur);
	s->churn_bytes = hl_column_cursor_varint(&cur);
	if (err || cur.bad) {
		hl_mark_bad(r, row);
		return mark_keyframe_lost(r, i);
	}
	s->label = strndup((const char *)cur.p, (size_t)(cur.end - cur.p));
	return s->label ? 0 : -ENOMEM;
}

struct seen_ids {
	uint8_t *nodes, *threads;
	size_t n_nodes, n_threads;
};

static int mark_node(void *arg, const struct hl_key_row *row)
{
	struct seen_ids *a = arg;

	if (row->node < a->n_nodes && row->sums.alloc_blocks > 0)
		a->nodes[row->node / 8] |= (uint8_t)(1u << row->node % 8);
	return 0;
}

/* Reads the column HL_COL_KEY_THREADS of one keyframe. */
static int mark_threads(struct hl_reader *r, size_t key, struct seen_ids *a)
{
	struct hl_column_cursor cur;
	struct hl_chunk c;
	uint64_t id = 0;
	int err = hl_load_chunk(r, r->key_places.data[key].row, &c);

	if (err)
		return err;
	err = hl_chunk_column(r, &c, HL_COL_KEY_THREADS, &cur);
	if (err == -EBADMSG)
		return err;
	while (cur.p < cur.end && !cur.bad) {
		id += hl_column_cursor_varint(&cur);
		if (id < a->n_threads)
			a->threads[id / 8] |= (uint8_t)(1u << id % 8);
	}
	return cur.bad ? -EBADMSG : 0;
}

int hl_key_seen_ids(struct hl_reader *r, size_t key, uint8_t *nodes, size_t n_nodes,
	uint8_t *threads, size_t n_threads)
{
	struct seen_ids a = {nodes, threads, n_nodes, n_threads};
	const struct chain chain = {ignore_keyframe, mark_node, &a};
	int err = walk_chain(r, key, &chain);

	while (!err) {
		err = mark_threads(r, key, &a);
		key = r->key_places.data[key].before;
		if (key == HL_NO_ROW)
			break;
	}
	return err;
}

/* ---- live sets ---- */

size_t hl_reader_n_live_sets(const struct hl_reader *r)
{
	return r->sets.len;
}

const struct hl_live_set_info *hl_reader_live_set(const struct hl_reader *r, size_t i)
{
	return i < r->sets.len ? &r->sets.data[i] : NULL;
}

/* A part has a function for each block, or for none. */
static int read_live_funcs(struct hl_reader *r, struct hl_chunk *c, uint8_t *func)
{
	struct hl_column_cursor cur;
	size_t n = c->head.n_rows;
	int err = hl_chunk_column(r, c, HL_COL_LIVE_FUNC, &cur);

	if (err == -ENOENT)
		memset(func, HL_FUNC_UNKNOWN, n);
	else if (!err && (size_t)(cur.end - cur.p) == n)
		memcpy(func, cur.p, n);
	else
		return -EBADMSG;
	return 0;
}

int hl_read_live_part(struct hl_reader *r, size_t row, struct hl_chunk *c, struct hl_live_block *to,
	uint8_t *func)
{
	struct hl_column_cursor cur[LIVE_FIELDS];
	uint64_t v[LIVE_FIELDS] = {0}, now;
	bool weighted;

	if (hl_load_chunk(r, row, c) < 0)
		return -EBADMSG;
	now = c->head.t1_ns / HL_TIME_UNIT_NS;
	for (int f = 0; f < LIVE_FIELDS; f++)
		if (hl_chunk_column(r, c, (uint16_t)(HL_COL_LIVE_ADDR + f), &cur[f]) == -EBADMSG)
			return hl_mark_bad(r, row);
	weighted = cur[LIVE_FIELDS - 1].p < cur[LIVE_FIELDS - 1].end;
	for (uint32_t i = 0; i < c->head.n_rows; i++) {
		for (int f = 0; f < (weighted ? LIVE_FIELDS : LIVE_FIELDS - 2); f++)
			v[f] += (uint64_t)hl_unzigzag(hl_column_cursor_varint(&cur[f]));
		to[i] = (struct hl_live_block){
			.addr = v[0],
			.size = v[1],
			.node = (uint32_t)v[2] - 1,
			.ordinal = v[3],
			.alloc_ns = (now - v[4]) * HL_TIME_UNIT_NS,
			.thread = (uint32_t)v[5],
			.blocks = weighted ? v[6] : 1,
			.bytes = weighted ? v[7] : v[1],
		};
		if (v[2] > hl_nodes_limit(r->data_bytes) || v[5] >= hl_threads_limit(r->data_bytes))
			return hl_mark_bad(r, row);
	}
	for (int f = 0; f < LIVE_FIELDS; f++)
		if (!hl_column_cursor_done(&cur[f]))
			return hl_mark_bad(r, row);
	return func && read_live_funcs(r, c, func) < 0 ? hl_mark_bad(r, row) : 0;
}

int hl_reader_load_live_set(struct hl_reader *r, size_t i, struct hl_live_block **blocks, size_t *n)
{
	HL_VEC(struct hl_live_block) all = {0};
	const struct hl_live_set_rows *p;
	struct hl_chunk c;
	int err = hl_base_load(r);

	*blocks = NULL;
	*n = 0;
	if (err || i >= r->sets.len)
		return err ? err : -EINVAL;
	if (r->base_has_gap) /* the ordinals of some blocks are not known */
		return hl_reader_fail(r, "A live set needs the base, a part of which is lost.");
	p = &r->set_places.data[i];
	for (uint32_t part = 0; part < p->parts && !err; part++) {
		uint32_t rows = r->rows.data[p->row + part].head.n_rows;

		if (hl_vec_reserve(&all, all.len + rows + 1) < 0)
			err = -ENOMEM;
		else
			err = hl_read_live_part(r, p->row + part, &c, all.data + all.len, NULL);
		for (uint32_t k = 0; k < rows && !err; k++)
			err = hl_base_map_ordinal(r, &all.data[all.len + k].ordinal);
		all.len += err ? 0 : rows;
	}
	if (err) {
		hl_vec_free(&all);
		return err;
	}
	*blocks = all.data;
	*n = all.len;
	return 0;
}

/* ---- RSS ---- */

typedef HL_VEC(struct hl_rss_sample) rss_samples;

/* Halves the number of samples and keeps all maxima. */
static void halve_samples(rss_samples *all)
{
	size_t n = all->len / 2;

	for (size_t i = 0; i < n; i++) {
		const struct hl_rss_sample *pair = &all->data[2 * i];

		all->data[i] = pair[pair[1].rss_bytes > pair[0].rss_bytes];
	}
	if (all->len % 2)
		all->data[n++] = all->data[all->len - 1];
	all->len = n;
}

int hl_reader_rss(struct hl_reader *r, struct hl_rss_sample **samples, size_t *n)
{
	rss_samples all = {0};
	bool bad = false;

	*samples = NULL;
	*n = 0;
	for (size_t i = 0; i < r->rows.len; i++) {
		struct hl_column_cursor time, bytes;
		struct hl_rss_sample s = {0};
		size_t before;
		struct hl_chunk c;

		if (r->rows.data[i].head.type != HL_CHUNK_RSS)
			continue;
		if (hl_load_chunk(r, i, &c) < 0 ||
			hl_chunk_column(r, &c, HL_COL_RSS_TIME, &time) < 0 ||
			hl_chunk_column(r, &c, HL_COL_RSS_BYTES, &bytes) < 0) {
			bad = hl_mark_bad(r, i);
			continue;
		}
		if (all.len + c.head.n_rows > RSS_MAX)
			halve_samples(&all);
		before = all.len;
		for (uint32_t k = 0; k < c.head.n_rows; k++) {
			s.time_ns += (uint64_t)hl_unzigzag(hl_column_cursor_varint(&time)) *
				     HL_TIME_UNIT_NS;
			s.rss_bytes += (uint64_t)hl_unzigzag(hl_column_cursor_varint(&bytes));
			if (hl_vec_push(&all, s) < 0) {
				hl_vec_free(&all);
				return -ENOMEM;
			}
		}
		if (!hl_column_cursor_done(&time) || !hl_column_cursor_done(&bytes)) {
			all.len = before;
			bad = hl_mark_bad(r, i);
		}
	}
	*samples = all.data;
	*n = all.len;
	return bad ? -EBADMSG : 0;
}

int hl_reader_peak_rss(struct hl_reader *r, struct hl_rss_sample *peak)
{
	struct hl_rss_sample *samples;
	size_t n;
	int err = hl_reader_rss(r, &samples, &n);

	*peak = (struct hl_rss_sample){0};
	for (size_t i = 0; i < n; i++) {
		if (samples[i].rss_bytes > peak->rss_bytes)
			*peak = samples[i];
	}
	free(samples);
	return err;
}
