/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer_keyframe.c - KEYFRAME and LIVESET chunks: the state of the heap at one moment.
 *
 * Both consist of rows that may need several chunks; each chunk has its part number and the number
 * of parts. A keyframe that is not full has only the nodes that changed since the previous one.
 * They are kept in a list, so there is no scan over all nodes.
 */
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "base/varint.h"
#include "trace/write/writer_internal.h"

int hl_keyframe_touch(struct hl_writer *w, uint32_t role, uint32_t node_id)
{
	uint32_t first = w->role_threads.data[role];
	uint8_t *thread = &w->thread_state.data[first];
	uint8_t *node = &w->node_state.data[hl_node_code(node_id)];

	if (first != role)
		w->thread_state.data[role] = HL_ANOTHER_ROLE;
	if (*thread == HL_NO_EVENT) {
		*thread = HL_SINCE_KEYFRAME;
		w->active_threads++;
	}
	if (*node == HL_SINCE_KEYFRAME || node_id == HL_NODE_NONE)
		return 0;
	*node = HL_SINCE_KEYFRAME;
	return hl_vec_push(&w->touched, node_id);
}

/* The default size of a row, in 1/256 bytes, until one was written. Measured with compilers. */
#define KEY_ROW_DEFAULT (256 * 5 / 2)

static double estimate_size(const struct hl_writer *w, uint64_t rows)
{
	uint32_t row = atomic_load_explicit(&w->status->keyframe_row_size, memory_order_relaxed);

	return 400 + (row ? row : KEY_ROW_DEFAULT) / 256.0 * (double)rows;
}

bool hl_keyframe_due(const struct hl_writer *w)
{
	return w->totals.events - w->key_event >= w->keyframe_events &&
	       (double)(hl_writer_bytes(w) - w->key_size) >=
		       w->keyframe_share * estimate_size(w, w->touched.len);
}

bool hl_keyframe_full_due(const struct hl_writer *w)
{
	return w->key_seq == 0 || (double)(hl_writer_bytes(w) - w->full_size) >=
					  w->keyframe_share * estimate_size(w, w->totals.stacks);
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Sorts by id. If there are many, a scan of all marks is faster than sorting. */
static void sort_touched(struct hl_writer *w)
{
	const uint8_t *marks = w->node_state.data + hl_node_code(0);
	size_t n = 0;

	if (w->touched.len < w->n_nodes / 32) {
		qsort(w->touched.data, w->touched.len, sizeof(uint32_t), compare_ids);
		return;
	}
	for (uint32_t i = 0; i < w->n_nodes; i++) {
		w->touched.data[n] = i; /* overwritten in the next step unless it is marked */
		n += marks[i] == HL_SINCE_KEYFRAME;
		if (n == w->touched.len)
			return;
	}
}

/* Lists every node that ever had an event, for a full keyframe. */
static int list_all_nodes(struct hl_writer *w)
{
	const uint8_t *marks = w->node_state.data + hl_node_code(0);

	w->touched.len = 0;
	for (uint32_t i = 0; i < w->n_nodes; i++)
		if (marks[i] != HL_NO_EVENT && hl_vec_push(&w->touched, i) < 0)
			return -ENOMEM;
	return 0;
}

/* The values of a row. Peaks are stored as the difference to the live values, which is mostly 0. */
struct key_row {
	uint64_t values[6];
};

static struct key_row make_key_row(const struct hl_totals *t, uint32_t node)
{
	const struct hl_sums *s = &hl_totals_node(t, node)->sums;
	uint64_t live_blocks = hl_sums_live_blocks(s), live_bytes = hl_sums_live_bytes(s);
	uint64_t bytes, blocks;

	hl_totals_at_peak(t, node, &bytes, &blocks);
	return (struct key_row){{s->alloc_blocks, s->alloc_bytes, live_blocks, live_bytes,
		hl_zigzag((int64_t)(blocks - live_blocks)),
		hl_zigzag((int64_t)(bytes - live_bytes))}};
}

#define FETCH_AHEAD 16 /* prefetch distance: nodes are far apart in memory */

/* Returns the start of the scratch buffer with space for n varints; NULL if memory is short. */
static uint8_t *begin_column(struct hl_sealer *s, size_t n)
{
	hl_byte_buffer *b = &s->scratch;

	return hl_vec_reserve(b, (n + 1) * HL_VARINT_MAX) < 0 ? NULL : b->data;
}

static void end_column(struct hl_sealer *s, uint16_t id, const uint8_t *end)
{
	hl_byte_buffer *b = &s->scratch;

	b->len = (size_t)(end - b->data);
	hl_seal_column(s, id, b->data, b->len);
}

static int put_key_column(struct hl_writer *w, const struct key_row *rows, size_t n, int field)
{
	uint8_t *to = begin_column(&w->sealer, n);

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		to = hl_varint_put(to, rows[i].values[field]);
	end_column(&w->sealer, (uint16_t)(HL_COL_KEY_NODE + 1 + field), to);
	return 0;
}

static int put_key_columns(struct hl_writer *w, const uint32_t *nodes, size_t n)
{
	/* Nodes are far apart in memory, so each is read only once. */
	struct key_row *rows = malloc((n + 1) * sizeof(*rows));
	uint8_t *to = begin_column(&w->sealer, n);
	uint32_t prev = 0;
	int err = rows && to ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++) {
		to = hl_varint_put(to, nodes[i] - prev);
		prev = nodes[i];
		if (i + FETCH_AHEAD < n)
			hl_prefetch_write(hl_totals_node(&w->totals, nodes[i + FETCH_AHEAD]));
		rows[i] = make_key_row(&w->totals, nodes[i]);
	}
	if (!err)
		end_column(&w->sealer, HL_COL_KEY_NODE, to);
	for (int field = 0; field < 6 && !err; field++)
		err = put_key_column(w, rows, n, field);
	free(rows);
	return err;
}

/* Writes the threads whose first event is since the last keyframe; in a full one all threads with
 * an event. */
static int put_key_threads(struct hl_writer *w, bool full)
{
	hl_byte_buffer *b = &w->sealer.scratch;
	uint32_t prev = 0;

	b->len = 0;
	for (uint32_t i = 0; i < w->n_threads && b->len < HL_RAW_MAX / 8; i++) {
		uint8_t *s = &w->thread_state.data[i];

		if (*s == HL_SINCE_KEYFRAME || (full && *s == HL_BEFORE_KEYFRAME)) {
			if (hl_byte_buffer_varint(b, i - prev) < 0)
				return -ENOMEM;
			prev = i;
			*s = HL_BEFORE_KEYFRAME;
		}
	}
	hl_seal_column(&w->sealer, HL_COL_KEY_THREADS, b->data, b->len);
	return 0;
}

/* The part of a node's sums that is in events. */
static uint64_t get_written_value(const struct hl_writer *w, uint32_t node, int field)
{
	const struct hl_sums *s = &hl_totals_node(&w->totals, node)->sums;
	struct hl_sums agg = {0};

	if (node < w->aggregated.len)
		agg = w->aggregated.data[node];
	switch (field) {
	case 0:
		return s->alloc_blocks - agg.alloc_blocks;
	case 1:
		return s->alloc_bytes - agg.alloc_bytes;
	case 2:
		return s->free_blocks - agg.free_blocks;
	}
	return s->free_bytes - agg.free_bytes;
}

/* Without aggregated events these columns are left out. */
static int put_written_columns(struct hl_writer *w, const uint32_t *nodes, size_t n)
{
	w->sealer.scratch.len = 0;
	for (size_t i = 0; i < n && w->first_funcs.len > 0; i++)
		if (hl_byte_buffer_varint(&w->sealer.scratch,
			    nodes[i] < w->first_funcs.len ? w->first_funcs.data[nodes[i]] : 0) < 0)
			return -ENOMEM;
	hl_seal_column(&w->sealer, HL_COL_KEY_FUNC, w->sealer.scratch.data, w->sealer.scratch.len);
	for (int field = 0; field < HL_WRITTEN_FIELDS && w->aggregated.len > 0; field++) {
		w->sealer.scratch.len = 0;
		for (size_t i = 0; i < n; i++)
			if (hl_byte_buffer_varint(
				    &w->sealer.scratch, get_written_value(w, nodes[i], field)) < 0)
				return -ENOMEM;
		hl_seal_column(&w->sealer, (uint16_t)(HL_COL_KEY_WRITTEN + field),
			w->sealer.scratch.data, w->sealer.scratch.len);
	}
	return 0;
}

static int put_snapshot_column(struct hl_writer *w, const struct hl_snapshot *s)
{
	const uint64_t v[] = {++w->n_snapshots, s->cause, s->threshold, s->churn_bytes};
	hl_byte_buffer *b = &w->sealer.scratch;
	size_t len = s->label ? hl_min_u64(strlen(s->label), HL_TEXT_MAX) : 0;

	b->len = 0;
	if (hl_byte_buffer_values(b, v, HL_ARRAY_LEN(v)) < 0 ||
		hl_byte_buffer_put(b, s->label, len) < 0)
		return -ENOMEM;
	hl_seal_column(&w->sealer, HL_COL_SNAPSHOT, b->data, b->len);
	return 0;
}

static uint32_t max_part_rows(const struct hl_writer *w)
{
	return w->aggregated.len > 0 ? HL_KEYFRAME_ROWS_WIDE : HL_KEYFRAME_ROWS;
}

/* The header has the current state, because aggregated events are in no chunk before it. */
static void set_key_header(struct hl_writer *w, struct hl_chunk_header *h)
{
	h->t0_ns = h->t1_ns = hl_max_u64(w->last_time, w->sums_time) * HL_TIME_UNIT_NS;
	h->live_bytes = hl_sums_live_bytes(&w->totals.sums);
	h->live_blocks = hl_sums_live_blocks(&w->totals.sums);
	h->max_live_bytes = w->disjoint ? w->open.max_live_bytes : h->live_bytes;
	h->flags |= w->disjoint ? HL_CHUNK_APART : 0;
}

static int write_key_part(
	struct hl_writer *w, bool full, uint32_t part, uint32_t parts, const struct hl_snapshot *s)
{
	size_t from = (size_t)part * max_part_rows(w);
	size_t n = hl_min_u64(w->touched.len - from, max_part_rows(w));
	struct hl_chunk_header *h = &w->sealer.chunk.head;

	hl_writer_begin(w, HL_CHUNK_KEYFRAME);
	h->flags = (uint16_t)((full ? HL_CHUNK_FULL : 0) |
			      (w->totals.epoch != w->key_epoch ? HL_CHUNK_NEW_PEAK : 0) |
			      (s ? HL_CHUNK_SNAPSHOT : 0) | (w->in_base ? HL_CHUNK_BASE : 0));
	set_key_header(w, h);
	w->sealer.chunk.durable = part + 1 == parts ? w->n_sums_only : 0;
	h->link = full ? 0 : w->key_seq;
	h->aux = part | (uint64_t)parts << 32;
	h->n_rows = (uint32_t)n;
	if (part == 0) {
		w->sealer.scratch.len = 0;
		if (hl_put_totals(w, &w->sealer.scratch, &w->seen) < 0)
			return -ENOMEM;
		hl_seal_column(
			&w->sealer, HL_COL_NUMBERS, w->sealer.scratch.data, w->sealer.scratch.len);
		if (put_key_threads(w, full) < 0 || hl_aggregated_column(w) < 0 ||
			hl_lifetimes_column(w) < 0 || (s && put_snapshot_column(w, s) < 0))
			return -ENOMEM;
	}
	if (put_key_columns(w, n ? w->touched.data + from : NULL, n) < 0 ||
		put_written_columns(w, n ? w->touched.data + from : NULL, n) < 0)
		return -ENOMEM;
	return hl_writer_put(w);
}

int hl_write_keyframe(struct hl_writer *w, bool full, const struct hl_snapshot *s)
{
	uint64_t seq = w->seq;
	uint32_t parts;
	int err = 0;

	if (full && list_all_nodes(w) < 0)
		return -ENOMEM;
	if (!full && w->touched.len > 0)
		sort_touched(w);
	parts = (uint32_t)((w->touched.len + max_part_rows(w) - 1) / max_part_rows(w));
	parts += parts == 0;
	for (uint32_t i = 0; i < parts && !err; i++)
		err = write_key_part(w, full, i, parts, s);
	if (err)
		return err;
	for (size_t i = 0; i < w->touched.len; i++)
		w->node_state.data[hl_node_code(w->touched.data[i])] = HL_BEFORE_KEYFRAME;
	w->touched.len = 0;
	w->disjoint = false;
	w->n_sums_only = 0;
	w->open.live_bytes = w->open.max_live_bytes = hl_sums_live_bytes(&w->totals.sums);
	w->open.live_blocks = hl_sums_live_blocks(&w->totals.sums);
	w->key_seq = seq;
	w->key_event = w->totals.events;
	w->key_epoch = w->totals.epoch;
	w->key_size = hl_writer_bytes(w);
	if (full)
		w->full_size = w->key_size;
	return 0;
}

/* ---- LIVESET ---- */

static int put_live_column(
	struct hl_sealer *s, const struct hl_live_block *b, size_t n, uint64_t now, int field)
{
	uint8_t *to = begin_column(s, n);
	uint64_t prev = 0;

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const uint64_t v[] = {b[i].addr, b[i].size, hl_node_code(b[i].node), b[i].ordinal,
			now - b[i].alloc_ns / HL_TIME_UNIT_NS, b[i].thread, b[i].blocks,
			b[i].bytes};

		to = hl_varint_put(to, hl_zigzag((int64_t)(v[field] - prev)));
		prev = v[field];
	}
	end_column(s, (uint16_t)(HL_COL_LIVE_ADDR + field), to);
	return 0;
}

int hl_live_columns(struct hl_sealer *s, const struct hl_live_block *b, const uint8_t *func,
	size_t n, uint64_t now)
{
	bool weighted = false;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		weighted |= b[i].blocks > 1 || (b[i].blocks && b[i].bytes != b[i].size);
	for (int field = 0; field < (weighted ? 8 : 6) && !err; field++)
		err = put_live_column(s, b, n, now, field);
	if (func)
		hl_seal_column(s, HL_COL_LIVE_FUNC, func, n);
	return err;
}

int hl_writer_add_live_set(struct hl_writer *w, const struct hl_live_block *blocks, size_t n)
{
	uint32_t parts = (uint32_t)((n + HL_LIVESET_ROWS - 1) / HL_LIVESET_ROWS);

	parts += parts == 0;
	w->pair_open = false;
	if (hl_writer_flush(w) < 0)
		return w->error;
	for (uint32_t i = 0; i < parts && !w->error; i++) {
		size_t from = (size_t)i * HL_LIVESET_ROWS;
		size_t rows = hl_min_u64(n - from, HL_LIVESET_ROWS);

		hl_writer_begin(w, HL_CHUNK_LIVESET);
		w->sealer.chunk.head.aux = i | (uint64_t)parts << 32;
		w->sealer.chunk.head.n_rows = (uint32_t)rows;
		w->error = hl_live_columns(
			&w->sealer, blocks + from, NULL, rows, w->open.t1_ns / HL_TIME_UNIT_NS);
		if (!w->error)
			w->error = hl_writer_put(w);
	}
	return w->error;
}
