/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_encoder.c - see map_encoder.h and docs/trace-format.md 3.16.
 */
#include "trace/write/map_encoder.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/varint.h"

#define NO_ROOM      "[?]"
#define ROW_BYTES    (16u * HL_VARINT_MAX)
#define TEXTS_PAUSED (HL_MAP_TEXTS_BYTES / 2) /* of old texts: the next sample is full */

struct map_encoding {
	struct hl_map_encoder *e;
	struct hl_map_parts *out;
	struct hl_map_part *part; /* the last one of out */
	uint64_t skip;            /* old mappings that were copied since the last row */
	uint64_t end;             /* of the last mapping of the new list, in pages */
	int err;
};

void hl_map_parts_fini(struct hl_map_parts *p)
{
	for (size_t i = 0; i < p->v.len; i++) {
		hl_vec_free(&p->v.data[i].numbers);
		hl_vec_free(&p->v.data[i].texts);
		hl_vec_free(&p->v.data[i].rows);
	}
	hl_vec_free(&p->v);
}

void hl_map_encoder_fini(struct hl_map_encoder *e)
{
	hl_vec_free(&e->last);
	hl_vec_free(&e->next);
	hl_string_table_fini(&e->texts);
}

static void begin_part(struct map_encoding *x)
{
	if (!x->err)
		x->err = hl_vec_push(&x->out->v, (struct hl_map_part){0});
	x->part = x->err ? NULL : &x->out->v.data[x->out->v.len - 1];
}

static void put(struct map_encoding *x, hl_byte_buffer *b, uint64_t v)
{
	if (!x->err)
		x->err = hl_byte_buffer_varint(b, v);
}

/* Makes room for a row and a text. */
static void begin_row(struct map_encoding *x, enum hl_map_op op, size_t text)
{
	size_t most = x->e->bytes_max ? x->e->bytes_max : HL_RAW_MAX, used;

	if (x->err)
		return;
	used = x->part->numbers.len + x->part->texts.len + x->part->rows.len;
	if (x->part->n_rows > 0 &&
		(used + ROW_BYTES + text > most || x->part->n_rows == HL_CHUNK_EXTRAS_MAX))
		begin_part(x);
	if (x->err)
		return;
	x->part->n_rows++;
	put(x, &x->part->rows, x->skip << 2 | op);
	x->skip = 0;
}

/* Finds the number of a name. A text that the reader does not have yet is returned in *text. */
static uint32_t number_name(struct map_encoding *x, const char *name, const char **text)
{
	struct hl_string_table *t = &x->e->texts;
	char cut[HL_MAP_NAME_MAX + 1];
	size_t before = t->len, n = strnlen(name, HL_MAP_NAME_MAX);
	uint32_t id = 0;

	*text = NULL;
	if (!n || x->err)
		return 0;
	memcpy(cut, name, n);
	cut[n] = '\0';
	if (x->e->text_bytes + n + sizeof(NO_ROOM) > HL_MAP_TEXTS_BYTES &&
		!hl_string_table_find(t, cut, &id))
		memcpy(cut, NO_ROOM, sizeof(NO_ROOM));
	x->err = hl_string_table_add(t, cut, &id);
	if (!x->err && t->len > before) {
		*text = hl_string_table_get(t, id);
		x->e->text_bytes += strlen(*text);
	}
	return x->err ? 0 : id + 1;
}

static void put_new(struct map_encoding *x, const struct hl_map_known *k, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	begin_row(x, HL_MAP_NEW, len + HL_VARINT_MAX);
	if (x->err)
		return;
	if (text) {
		put(x, &x->part->texts, len);
		if (!x->err)
			x->err = hl_byte_buffer_put(&x->part->texts, text, len);
	}
	put(x, &x->part->rows, k->page - x->end);
	put(x, &x->part->rows, k->pages);
	put(x, &x->part->rows, k->perms);
	put(x, &x->part->rows, k->offset);
	put(x, &x->part->rows, k->name);
	for (int i = 0; i < HL_MAP_AMOUNTS; i++)
		put(x, &x->part->rows, k->kib[i]);
}

static void put_changed(
	struct map_encoding *x, const struct hl_map_known *was, const struct hl_map_known *is)
{
	uint32_t mask = was->pages != is->pages ? 1u << HL_MAP_SIZE_BIT : 0;

	for (unsigned i = 0; i < HL_MAP_AMOUNTS; i++)
		mask |= was->kib[i] != is->kib[i] ? 1u << i : 0;
	if (!mask) {
		x->skip++;
		return;
	}
	begin_row(x, HL_MAP_CHANGED, 0);
	if (x->err)
		return;
	put(x, &x->part->rows, mask);
	for (unsigned i = 0; i < HL_MAP_AMOUNTS; i++)
		if (mask >> i & 1)
			put(x, &x->part->rows, hl_zigzag((int64_t)(is->kib[i] - was->kib[i])));
	if (mask >> HL_MAP_SIZE_BIT & 1)
		put(x, &x->part->rows, hl_zigzag((int64_t)(is->pages - was->pages)));
}

static bool is_same(const struct hl_map_known *a, const struct hl_map_known *b)
{
	return a->page == b->page && a->offset == b->offset && a->name == b->name &&
	       a->perms == b->perms;
}

static int check_entry(const struct hl_map_entry *m, uint64_t end)
{
	if (m->start % HL_MAP_PAGE || m->end % HL_MAP_PAGE || m->offset % HL_MAP_PAGE ||
		m->start >= m->end || m->start / HL_MAP_PAGE < end || m->perms > 15)
		return -EINVAL;
	for (int i = 0; i < HL_MAP_AMOUNTS; i++)
		if (m->kib[i] >= HL_MAP_AMOUNT_MAX)
			return -EINVAL;
	return 0;
}

/* Encodes the mappings of the old list before `m`, which are gone, and m itself. *old: the first
 * mapping of the old list that is not handled yet. */
static void put_entry(struct map_encoding *x, const struct hl_map_entry *m, size_t *old)
{
	struct hl_map_encoder *e = x->e;
	struct hl_map_known k = {.page = m->start / HL_MAP_PAGE,
		.pages = (m->end - m->start) / HL_MAP_PAGE,
		.offset = m->offset / HL_MAP_PAGE,
		.perms = m->perms};
	const char *text;

	memcpy(k.kib, m->kib, sizeof(k.kib));
	x->err = check_entry(m, x->end);
	k.name = number_name(x, m->name, &text);
	while (!x->err && *old < e->last.len &&
		(e->last.data[*old].page < k.page ||
			(e->last.data[*old].page == k.page && !is_same(&e->last.data[*old], &k)))) {
		begin_row(x, HL_MAP_GONE, 0);
		(*old)++;
	}
	if (x->err)
		return;
	if (*old < e->last.len && is_same(&e->last.data[*old], &k))
		put_changed(x, &e->last.data[(*old)++], &k);
	else
		put_new(x, &k, text);
	x->end = k.page + k.pages;
	if (!x->err)
		x->err = hl_vec_push(&e->next, k);
}

void hl_map_encoder_restart(struct hl_map_encoder *e)
{
	hl_string_table_fini(&e->texts);
	e->texts = (struct hl_string_table){0};
	e->text_bytes = 0;
	e->last.len = 0;
	e->since_full = 0;
}

static void swap_lists(struct hl_map_encoder *e)
{
	struct hl_map_known *data = e->last.data;
	size_t cap = e->last.cap;

	e->last.data = e->next.data;
	e->last.len = e->next.len;
	e->last.cap = e->next.cap;
	e->next.data = data;
	e->next.len = 0;
	e->next.cap = cap;
}

int hl_map_encode(
	struct hl_map_encoder *e, const struct hl_map_sample *sample, struct hl_map_parts *out)
{
	struct map_encoding x = {.e = e, .out = out};
	size_t old = 0;

	*out = (struct hl_map_parts){.n = sample->n};
	if (sample->n > HL_MAPS_MAX)
		return -E2BIG;
	if (e->since_full > HL_MAP_CHAIN_MAX || e->text_bytes > TEXTS_PAUSED)
		hl_map_encoder_restart(e);
	out->full = e->since_full == 0;
	e->next.len = 0;
	begin_part(&x);
	if (x.part) {
		put(&x, &x.part->numbers, sample->time_ns / HL_TIME_UNIT_NS);
		put(&x, &x.part->numbers, sample->read_ns);
		put(&x, &x.part->numbers, sample->n);
	}
	for (size_t i = 0; i < sample->n && !x.err; i++)
		put_entry(&x, &sample->maps[i], &old);
	for (; old < e->last.len && !x.err; old++)
		begin_row(&x, HL_MAP_GONE, 0);
	if (x.err) {
		hl_map_parts_fini(out);
		hl_map_encoder_restart(e);
		return x.err;
	}
	swap_lists(e);
	e->since_full++;
	return 0;
}
