/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key_index.c - see key_index.h.
 */
#include "model/query/key_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "model/model_internal.h"

uint64_t hl_key_index_bytes = UINT64_C(8) << 20;

static const enum hl_key keys[] = {HL_KEY_THREAD, HL_KEY_SIZE, HL_KEY_TAG};

struct border_sums {
	uint64_t bytes[2], blocks[2]; /* indexed by enum hl_op */
};

struct key_borders {
	struct hl_key_sums sums; /* at the begin of chunk `chunks` of the index */
	uint32_t width;          /* n_keys + 1; the first entry of a row is that of none */
	size_t stride;           /* row i is of the begin of chunk (i + 1) * stride */
	HL_VEC(struct border_sums) rows;
};

struct hl_key_index {
	struct key_borders of[HL_ARRAY_LEN(keys)];
	size_t chunks; /* the number that is read */
};

static const struct key_borders *find_borders(const struct hl_model *m, enum hl_key key)
{
	for (size_t i = 0; i < HL_ARRAY_LEN(keys) && m->key_index; i++) {
		if (keys[i] == key)
			return &m->key_index->of[i];
	}
	return NULL;
}

static size_t count_rows(const struct key_borders *b)
{
	return b->rows.len / b->width;
}

/* --- making it --- */

/* Programs start threads, so rows become wider. */
static int widen(struct key_borders *b, uint32_t n_keys)
{
	size_t n = count_rows(b);
	uint32_t width = n_keys + 1;
	struct border_sums *rows;
	hl_tally *tallies;

	if (width == b->width)
		return 0;
	rows = calloc(n * width + 1, sizeof(*rows));
	tallies = calloc(width, sizeof(*tallies));
	if (!rows || !tallies) {
		free(rows);
		free(tallies);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		memcpy(rows + i * width, b->rows.data + i * b->width, b->width * sizeof(*rows));
	memcpy(tallies, b->sums.tallies, (b->width - 1) * sizeof(*tallies));
	memcpy(tallies[n_keys], b->sums.tallies[b->width - 1], sizeof(*tallies));
	hl_vec_free(&b->rows);
	b->rows.data = rows;
	b->rows.len = b->rows.cap = n * width;
	free(b->sums.tallies);
	b->sums.tallies = tallies;
	b->sums.n_keys = n_keys;
	b->width = width;
	return 0;
}

/* Keeps every other row. */
static void thin_out(struct key_borders *b)
{
	size_t n = count_rows(b) / 2;

	for (size_t i = 0; i < n; i++)
		memmove(b->rows.data + i * b->width, b->rows.data + (2 * i + 1) * b->width,
			b->width * sizeof(*b->rows.data));
	b->rows.len = n * b->width;
	b->stride *= 2;
}

static int add_row(struct key_borders *b)
{
	while ((b->rows.len + b->width) * sizeof(*b->rows.data) > hl_key_index_bytes &&
		b->rows.len > 0)
		thin_out(b);
	for (uint32_t i = 0; i < b->width; i++) {
		const struct hl_value *t = b->sums.tallies[i ? i - 1 : b->width - 1];
		struct border_sums s = {{t[HL_OP_ALLOC].bytes, t[HL_OP_FREE].bytes},
			{t[HL_OP_ALLOC].blocks, t[HL_OP_FREE].blocks}};

		_Static_assert(HL_OP_ALLOC == 0 && HL_OP_FREE == 1, "the order of the arrays");
		if (hl_vec_push(&b->rows, s))
			return -ENOMEM;
	}
	return 0;
}

static int read_chunk(struct hl_model *m, struct hl_key_index *x, struct hl_summary *summary)
{
	struct hl_chunk_cache d = {0};
	int err = hl_reader_summary(m->reader, x->chunks, summary);
	bool by_events = err == -ENOENT || err == -EBADMSG;

	if (by_events) {
		d = hl_chunk_cache_borrow(m);
		err = hl_chunk_cache_read(m, &d, x->chunks, 0);
	}
	for (size_t i = 0; i < HL_ARRAY_LEN(keys) && !err; i++) {
		struct key_borders *b = &x->of[i];

		if (by_events)
			hl_key_sums_add_events(&b->sums, d.events.events, d.events.n_events);
		else
			hl_key_sums_add_summary(&b->sums, summary);
		if ((x->chunks + 1) % b->stride == 0)
			err = add_row(b);
	}
	if (by_events)
		hl_chunk_cache_return(m, &d);
	return err;
}

static int prepare(struct hl_model *m)
{
	struct hl_key_index *x = m->key_index;
	bool is_new = !x;
	int err = 0;

	if (is_new) {
		x = m->key_index = calloc(1, sizeof(*x));
		if (!x)
			return -ENOMEM;
	}
	for (size_t i = 0; i < HL_ARRAY_LEN(keys) && !err; i++) {
		struct key_borders *b = &x->of[i];
		uint32_t n_keys;

		err = hl_key_count(m, keys[i], &n_keys);
		if (err)
			break;
		if (!is_new) {
			err = widen(b, n_keys);
			continue;
		}
		b->stride = 1;
		b->width = n_keys + 1;
		b->sums = (struct hl_key_sums){.m = m, .key = keys[i], .n_keys = n_keys};
		b->sums.tallies = calloc(b->width, sizeof(*b->sums.tallies));
		err = b->sums.tallies ? 0 : -ENOMEM;
	}
	return err;
}

static void drop(struct hl_model *m)
{
	hl_key_index_free(m->key_index);
	m->key_index = NULL;
}

int hl_key_index_extend(struct hl_model *m, size_t chunks, size_t *left)
{
	size_t n = hl_reader_n_chunks(m->reader), end;
	struct hl_summary summary = {0};
	int err;

	*left = 0;
	if (hl_model_has_aggregated(m) || m->n_segments > 0 || hl_model_base_is_lost(m) ||
		(m->key_index && m->key_index->chunks == n))
		return 0;
	err = prepare(m);
	if (err) {
		drop(m);
		return err;
	}
	end = n - m->key_index->chunks > chunks ? m->key_index->chunks + chunks : n;
	while (!err && m->key_index->chunks < end && !hl_chunk_is_lost(m, m->key_index->chunks)) {
		err = read_chunk(m, m->key_index, &summary);
		m->key_index->chunks += !err;
	}
	hl_summary_free(&summary);
	if (err == -EBADMSG) /* a query that needs the chunk notices the damage */
		return 0;
	if (err)
		drop(m);
	else if (m->key_index->chunks == end)
		*left = n - end;
	return err;
}

void hl_key_index_free(struct hl_key_index *x)
{
	for (size_t i = 0; i < HL_ARRAY_LEN(keys) && x; i++) {
		free(x->of[i].sums.tallies);
		hl_vec_free(&x->of[i].rows);
	}
	free(x);
}

/* --- using it --- */

size_t hl_key_index_before(const struct hl_model *m, enum hl_key key, size_t chunk)
{
	const struct key_borders *b = find_borders(m, key);
	size_t rows = b ? count_rows(b) : 0, row = b ? chunk / b->stride : 0;

	return (row < rows ? row : rows) * (b ? b->stride : 0);
}

size_t hl_key_index_distance(const struct hl_model *m, enum hl_key key, size_t chunk)
{
	return chunk - hl_key_index_before(m, key, chunk);
}

void hl_key_index_load(const struct hl_model *m, enum hl_key key, size_t border, uint32_t n_keys,
	hl_tally *tallies)
{
	const struct key_borders *b = find_borders(m, key);
	const struct border_sums *row = b->rows.data + (border / b->stride - 1) * b->width;

	memset(tallies, 0, ((size_t)n_keys + 1) * sizeof(*tallies));
	for (uint32_t i = 0; i < b->width; i++) {
		struct hl_value *t = tallies[i ? i - 1 : n_keys];

		for (unsigned op = 0; op < 2; op++) {
			t[op].bytes = row[i].bytes[op];
			t[op].blocks = row[i].blocks[op];
		}
	}
}
