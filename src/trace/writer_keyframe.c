/*
 * writer_keyframe.c - KEYFRAME and LIVESET chunks: the state of the heap at an instant.
 *
 * Both are rows that may need several chunks; each part says which of how many it is. A difference
 * keyframe holds the nodes that changed since the keyframe before, which are known from a list: no
 * scan over all nodes, however many there are.
 */
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "base/varint.h"
#include "trace/writer_internal.h"

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

/* What a row took on compilers, until one was written. */
#define KEY_ROW (256 * 5 / 2)

static double expected_size(const struct hl_writer *w, uint64_t rows)
{
	uint32_t row = atomic_load_explicit(&w->news->key_row, memory_order_relaxed);

	return 400 + (row ? row : KEY_ROW) / 256.0 * (double)rows;
}

bool hl_keyframe_due(const struct hl_writer *w)
{
	return w->totals.events - w->key_event >= w->keyframe_events &&
	       (double)(hl_writer_bytes(w) - w->key_size) >=
		       w->keyframe_share * expected_size(w, w->touched.len);
}

bool hl_keyframe_full_due(const struct hl_writer *w)
{
	return w->key_seq == 0 || (double)(hl_writer_bytes(w) - w->full_size) >=
					  w->keyframe_share * expected_size(w, w->totals.stacks);
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* In the order of their numbers. Where they are many, reading all marks is faster than sorting. */
static void sort_touched(struct hl_writer *w)
{
	const uint8_t *marks = w->node_state.data + hl_node_code(0);
	size_t n = 0;

	if (w->touched.len < w->n_nodes / 32) {
		qsort(w->touched.data, w->touched.len, sizeof(uint32_t), compare_ids);
		return;
	}
	for (uint32_t i = 0; i < w->n_nodes; i++) {
		w->touched.data[n] = i; /* stays if it is marked */
		n += marks[i] == HL_SINCE_KEYFRAME;
		if (n == w->touched.len)
			return;
	}
}

/* For a full one: every node that ever had an event. */
static int list_all(struct hl_writer *w)
{
	const uint8_t *marks = w->node_state.data + hl_node_code(0);

	w->touched.len = 0;
	for (uint32_t i = 0; i < w->n_nodes; i++)
		if (marks[i] != HL_NO_EVENT && hl_vec_push(&w->touched, i) < 0)
			return -ENOMEM;
	return 0;
}

/* A row, as its columns have it. Peaks as the difference to live: it is mostly none. */
struct key_row {
	uint64_t values[6];
};

static struct key_row key_row_of(const struct hl_totals *t, uint32_t node)
{
	const struct hl_sums *s = &hl_totals_node(t, node)->sums;
	uint64_t live_blocks = hl_sums_live_blocks(s), live_bytes = hl_sums_live_bytes(s);
	uint64_t bytes, blocks;

	hl_totals_at_peak(t, node, &bytes, &blocks);
	return (struct key_row){{s->alloc_blocks, s->alloc_bytes, live_blocks, live_bytes,
		hl_zigzag((int64_t)(blocks - live_blocks)),
		hl_zigzag((int64_t)(bytes - live_bytes))}};
}

#define FETCH_AHEAD 16 /* nodes lie far apart */

/* Where the numbers of a column go, with room for n; NULL: there is none. */
static uint8_t *begin_column(struct hl_writer *w, size_t n)
{
	hl_bytes *b = &w->sealer.scratch;

	return hl_vec_reserve(b, (n + 1) * HL_VARINT_MAX) < 0 ? NULL : b->data;
}

static void end_column(struct hl_writer *w, uint16_t id, const uint8_t *end)
{
	hl_bytes *b = &w->sealer.scratch;

	b->len = (size_t)(end - b->data);
	hl_seal_column(&w->sealer, id, b->data, b->len);
}

static int key_column(struct hl_writer *w, const struct key_row *rows, size_t n, int field)
{
	uint8_t *to = begin_column(w, n);

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		to = hl_varint_put(to, rows[i].values[field]);
	end_column(w, (uint16_t)(HL_COL_KEY_NODE + 1 + field), to);
	return 0;
}

static int key_columns(struct hl_writer *w, const uint32_t *nodes, size_t n)
{
	/* Nodes lie far apart: each is looked at once. */
	struct key_row *rows = malloc((n + 1) * sizeof(*rows));
	uint8_t *to = begin_column(w, n);
	uint32_t prev = 0;
	int err = rows && to ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++) {
		to = hl_varint_put(to, nodes[i] - prev);
		prev = nodes[i];
		if (i + FETCH_AHEAD < n)
			hl_fetch(hl_totals_node(&w->totals, nodes[i + FETCH_AHEAD]));
		rows[i] = key_row_of(&w->totals, nodes[i]);
	}
	if (!err)
		end_column(w, HL_COL_KEY_NODE, to);
	for (int field = 0; field < 6 && !err; field++)
		err = key_column(w, rows, n, field);
	free(rows);
	return err;
}

/* Threads with a first event since the last keyframe; in a full one, with any event. */
static int key_threads(struct hl_writer *w, bool full)
{
	hl_bytes *b = &w->sealer.scratch;
	uint32_t prev = 0;

	b->len = 0;
	for (uint32_t i = 0; i < w->n_threads && b->len < HL_RAW_MAX / 8; i++) {
		uint8_t *s = &w->thread_state.data[i];

		if (*s == HL_SINCE_KEYFRAME || (full && *s == HL_BEFORE_KEYFRAME)) {
			if (hl_bytes_varint(b, i - prev) < 0)
				return -ENOMEM;
			prev = i;
			*s = HL_BEFORE_KEYFRAME;
		}
	}
	hl_seal_column(&w->sealer, HL_COL_KEY_THREADS, b->data, b->len);
	return 0;
}

/* What of a node's sums is in events. */
static uint64_t written_value(const struct hl_writer *w, uint32_t node, int field)
{
	const struct hl_sums *s = &hl_totals_node(&w->totals, node)->sums;
	struct hl_sums held = {0};

	if (node < w->withheld.len)
		held = w->withheld.data[node];
	switch (field) {
	case 0:
		return s->alloc_blocks - held.alloc_blocks;
	case 1:
		return s->alloc_bytes - held.alloc_bytes;
	case 2:
		return s->free_blocks - held.free_blocks;
	}
	return s->free_bytes - held.free_bytes;
}

/* Left out of a trace in which all is. */
static int written_columns(struct hl_writer *w, const uint32_t *nodes, size_t n)
{
	w->sealer.scratch.len = 0;
	for (size_t i = 0; i < n && w->called.len > 0; i++)
		if (hl_bytes_varint(&w->sealer.scratch,
			    nodes[i] < w->called.len ? w->called.data[nodes[i]] : 0) < 0)
			return -ENOMEM;
	hl_seal_column(&w->sealer, HL_COL_KEY_FUNC, w->sealer.scratch.data, w->sealer.scratch.len);
	for (int field = 0; field < HL_WRITTEN_FIELDS && w->withheld.len > 0; field++) {
		w->sealer.scratch.len = 0;
		for (size_t i = 0; i < n; i++)
			if (hl_bytes_varint(&w->sealer.scratch, written_value(w, nodes[i], field)) <
				0)
				return -ENOMEM;
		hl_seal_column(&w->sealer, (uint16_t)(HL_COL_KEY_WRITTEN + field),
			w->sealer.scratch.data, w->sealer.scratch.len);
	}
	return 0;
}

static int snapshot_column(struct hl_writer *w, const struct hl_snapshot *s)
{
	const uint64_t v[] = {++w->n_snapshots, s->cause, s->threshold, s->churn_bytes};
	hl_bytes *b = &w->sealer.scratch;
	size_t len = s->label ? hl_min_u64(strlen(s->label), HL_TEXT_MAX) : 0;

	b->len = 0;
	if (hl_bytes_numbers(b, v, HL_ARRAY_LEN(v)) < 0 || hl_bytes_put(b, s->label, len) < 0)
		return -ENOMEM;
	hl_seal_column(&w->sealer, HL_COL_SNAPSHOT, b->data, b->len);
	return 0;
}

static uint32_t rows_of_part(const struct hl_writer *w)
{
	return w->withheld.len > 0 ? HL_KEYFRAME_ROWS_WIDE : HL_KEYFRAME_ROWS;
}

/* Its head says how things stand now: events that were counted are in no chunk before it. */
static void key_head(struct hl_writer *w, struct hl_chunk_head *h)
{
	h->t0_ns = h->t1_ns = hl_max_u64(w->last_time, w->now) * HL_TIME_UNIT_NS;
	h->live_bytes = hl_sums_live_bytes(&w->totals.sums);
	h->live_blocks = hl_sums_live_blocks(&w->totals.sums);
	h->max_live_bytes = w->apart ? w->open.max_live_bytes : h->live_bytes;
	h->flags |= w->apart ? HL_CHUNK_APART : 0;
}

static int key_part(
	struct hl_writer *w, bool full, uint32_t part, uint32_t parts, const struct hl_snapshot *s)
{
	size_t from = (size_t)part * rows_of_part(w);
	size_t n = hl_min_u64(w->touched.len - from, rows_of_part(w));
	struct hl_chunk_head *h = &w->sealer.chunk.head;

	hl_writer_begin(w, HL_CHUNK_KEYFRAME);
	h->flags = (uint16_t)((full ? HL_CHUNK_FULL : 0) |
			      (w->totals.epoch != w->key_epoch ? HL_CHUNK_NEW_PEAK : 0) |
			      (s ? HL_CHUNK_SNAPSHOT : 0));
	key_head(w, h);
	w->sealer.chunk.durable = part + 1 == parts ? w->counted : 0;
	h->link = full ? 0 : w->key_seq;
	h->aux = part | (uint64_t)parts << 32;
	h->n_rows = (uint32_t)n;
	if (part == 0) {
		w->sealer.scratch.len = 0;
		if (hl_put_totals(w, &w->sealer.scratch, &w->seen) < 0)
			return -ENOMEM;
		hl_seal_column(
			&w->sealer, HL_COL_NUMBERS, w->sealer.scratch.data, w->sealer.scratch.len);
		if (key_threads(w, full) < 0 || hl_withheld_column(w) < 0 ||
			(s && snapshot_column(w, s) < 0))
			return -ENOMEM;
	}
	if (key_columns(w, n ? w->touched.data + from : NULL, n) < 0 ||
		written_columns(w, n ? w->touched.data + from : NULL, n) < 0)
		return -ENOMEM;
	return hl_writer_put(w);
}

int hl_write_keyframe(struct hl_writer *w, bool full, const struct hl_snapshot *s)
{
	uint64_t seq = w->seq;
	uint32_t parts;
	int err = 0;

	if (full && list_all(w) < 0)
		return -ENOMEM;
	if (!full && w->touched.len > 0)
		sort_touched(w);
	parts = (uint32_t)((w->touched.len + rows_of_part(w) - 1) / rows_of_part(w));
	parts += parts == 0;
	for (uint32_t i = 0; i < parts && !err; i++)
		err = key_part(w, full, i, parts, s);
	if (err)
		return err;
	for (size_t i = 0; i < w->touched.len; i++)
		w->node_state.data[hl_node_code(w->touched.data[i])] = HL_BEFORE_KEYFRAME;
	w->touched.len = 0;
	w->apart = false;
	w->counted = 0;
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

static int live_columns(struct hl_writer *w, const struct hl_live_block *b, size_t n)
{
	uint64_t now = w->open.t1_ns / HL_TIME_UNIT_NS;

	bool weighted = false;

	for (size_t i = 0; i < n; i++)
		weighted |= b[i].blocks > 1 || (b[i].blocks && b[i].bytes != b[i].size);
	for (int field = 0; field < (weighted ? 8 : 6); field++) {
		uint8_t *to = begin_column(w, n);
		uint64_t prev = 0;

		if (!to)
			return -ENOMEM;
		for (size_t i = 0; i < n; i++) {
			const uint64_t v[] = {b[i].addr, b[i].size, hl_node_code(b[i].node),
				b[i].ordinal, now - b[i].birth_ns / HL_TIME_UNIT_NS, b[i].thread,
				b[i].blocks, b[i].bytes};

			to = hl_varint_put(to, hl_zigzag((int64_t)(v[field] - prev)));
			prev = v[field];
		}
		end_column(w, (uint16_t)(HL_COL_LIVE_ADDR + field), to);
	}
	return 0;
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
		w->error = live_columns(w, blocks + from, rows);
		if (!w->error)
			w->error = hl_writer_put(w);
	}
	return w->error;
}
