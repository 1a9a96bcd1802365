/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_cursor.c - see map_cursor.h and docs/trace-format.md 3.16.
 *
 * As long as the mappings of a sample are those of the one before, they are changed in place;
 * `next` is filled from the first one on that is gone or new. Memory is bounded by the limits of
 * the format and by the size of the file.
 */
#include "trace/read/map_cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "trace/read/reader_internal.h"

struct hl_map_cursor {
	struct hl_reader *r;
	size_t row;        /* the next one to look at */
	bool has_last;     /* `last` is a whole sample */
	uint64_t last_seq; /* of its first part */
	bool damaged;
	HL_VEC(struct hl_map_entry) last, next;
	bool is_moved;    /* the mappings of the sample that is being read are in `next` */
	size_t old;       /* mappings of `last` that are handled */
	uint64_t end;     /* of the last mapping of the new list */
	uint64_t n, time; /* of the sample that is being read */
	uint64_t work;    /* mappings and rows of all samples so far */
	struct hl_string_table names;
	size_t name_bytes;          /* in all samples */
	HL_VEC(const char *) texts; /* of the samples since the last full one */
	size_t text_bytes;
	struct hl_map_sample sample;
};

int hl_map_cursor_open(struct hl_map_cursor **out, struct hl_reader *r)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->r = r;
	return 0;
}

void hl_map_cursor_close(struct hl_map_cursor *c)
{
	if (!c)
		return;
	hl_vec_free(&c->last);
	hl_vec_free(&c->next);
	hl_vec_free(&c->texts);
	hl_string_table_fini(&c->names);
	free(c);
}

bool hl_map_cursor_is_damaged(const struct hl_map_cursor *c)
{
	return c->damaged;
}

size_t hl_map_cursor_progress(const struct hl_map_cursor *c, size_t *all)
{
	*all = c->r->rows.len;
	return c->row;
}

/* ---- texts ---- */

static int add_text(struct hl_map_cursor *c, const uint8_t *bytes, size_t n)
{
	char text[HL_MAP_NAME_MAX + 1];
	size_t before = c->names.len;
	uint32_t id;

	if (!bytes || n == 0 || n > HL_MAP_NAME_MAX || memchr(bytes, 0, n))
		return -EBADMSG;
	c->text_bytes += n;
	if (c->text_bytes > HL_MAP_TEXTS_BYTES ||
		c->name_bytes + n > HL_STRING_TABLE_MAX(c->r->data_bytes))
		return -EBADMSG;
	memcpy(text, bytes, n);
	text[n] = '\0';
	if (hl_string_table_add(&c->names, text, &id) ||
		hl_vec_push(&c->texts, hl_string_table_get(&c->names, id)))
		return -ENOMEM;
	c->name_bytes += c->names.len > before ? n : 0;
	return 0;
}

static int read_texts(struct hl_map_cursor *c, struct hl_chunk *chunk)
{
	struct hl_column_cursor cur;
	int err = hl_chunk_column(c->r, chunk, HL_COL_MAP_TEXTS, &cur);

	if (err == -ENOENT)
		return 0;
	while (!err && cur.p < cur.end) {
		uint64_t n = hl_column_cursor_varint(&cur);

		err = cur.bad ? -EBADMSG : add_text(c, hl_column_cursor_bytes(&cur, n), n);
	}
	return err;
}

/* ---- rows ---- */

static uint64_t mappings_limit(const struct hl_map_cursor *c)
{
	return hl_min_u64(HL_MAPS_MAX, HL_MAPS_FREE + c->r->data_bytes / 8);
}

/* A forged file cannot make a reader work for long. */
static int add_work(struct hl_map_cursor *c, uint64_t n)
{
	c->work += n;
	return c->work > hl_map_work_limit(c->r->data_bytes) ? -EBADMSG : 0;
}

/* Adds a mapping to the new list. */
static int append(struct hl_map_cursor *c, const struct hl_map_entry *m)
{
	if (c->next.len >= c->n || m->start < c->end)
		return -EBADMSG;
	c->end = m->end;
	return hl_vec_push(&c->next, *m);
}

/* From here on the new list is in `next`. */
static int move_list(struct hl_map_cursor *c)
{
	if (c->is_moved)
		return 0;
	if (hl_vec_reserve(&c->next, c->old + 1))
		return -ENOMEM;
	if (c->old > 0)
		memcpy(c->next.data, c->last.data, c->old * sizeof(*c->next.data));
	c->next.len = c->old;
	c->end = c->old > 0 ? c->last.data[c->old - 1].end : 0;
	c->is_moved = true;
	return 0;
}

static int skip_mappings(struct hl_map_cursor *c, uint64_t n)
{
	int err = n > c->last.len - c->old ? -EBADMSG : 0;

	if (!c->is_moved && !err)
		c->old += n;
	for (; c->is_moved && n > 0 && !err; n--)
		err = append(c, &c->last.data[c->old++]);
	return err;
}

static int change_fields(struct hl_map_entry *m, struct hl_column_cursor *cur)
{
	uint64_t mask = hl_column_cursor_varint(cur), pages = (m->end - m->start) / HL_MAP_PAGE;

	if (!mask || mask >> (HL_MAP_SIZE_BIT + 1))
		return -EBADMSG;
	for (unsigned i = 0; i < HL_MAP_AMOUNTS; i++) {
		if (mask >> i & 1)
			m->kib[i] += (uint64_t)hl_unzigzag(hl_column_cursor_varint(cur));
		if (m->kib[i] >= HL_MAP_AMOUNT_MAX)
			return -EBADMSG;
	}
	if (mask >> HL_MAP_SIZE_BIT & 1)
		pages += (uint64_t)hl_unzigzag(hl_column_cursor_varint(cur));
	if (pages == 0 || pages >= HL_MAP_PAGES_MAX - m->start / HL_MAP_PAGE)
		return -EBADMSG;
	m->end = m->start + pages * HL_MAP_PAGE;
	return 0;
}

static int change_mapping(struct hl_map_cursor *c, struct hl_column_cursor *cur)
{
	struct hl_map_entry m;
	int err = c->old < c->last.len ? 0 : -EBADMSG;

	if (err)
		return err;
	m = c->last.data[c->old];
	err = change_fields(&m, cur);
	if (err)
		return err;
	if (!c->is_moved && c->old + 1 < c->last.len && m.end > c->last.data[c->old + 1].start)
		err = move_list(c); /* the next mapping must be gone */
	if (err)
		return err;
	if (c->is_moved)
		err = append(c, &m);
	else
		c->last.data[c->old] = m;
	c->old++;
	return err;
}

static int add_mapping(struct hl_map_cursor *c, struct hl_column_cursor *cur)
{
	int err = move_list(c);
	uint64_t before = c->end / HL_MAP_PAGE, step, pages, offset, name, perms;
	struct hl_map_entry m = {.name = ""};

	step = hl_column_cursor_varint(cur);
	pages = hl_column_cursor_varint(cur);
	perms = hl_column_cursor_varint(cur);
	offset = hl_column_cursor_varint(cur);
	name = hl_column_cursor_varint(cur);
	if (step >= HL_MAP_PAGES_MAX - before || pages == 0 ||
		pages >= HL_MAP_PAGES_MAX - before - step || perms > 15 ||
		offset >= HL_MAP_PAGES_MAX || name > c->texts.len)
		return -EBADMSG;
	m.start = (before + step) * HL_MAP_PAGE;
	m.end = m.start + pages * HL_MAP_PAGE;
	m.perms = (uint8_t)perms;
	m.offset = offset * HL_MAP_PAGE;
	if (name)
		m.name = c->texts.data[name - 1];
	for (unsigned i = 0; i < HL_MAP_AMOUNTS; i++) {
		m.kib[i] = hl_column_cursor_varint(cur);
		if (m.kib[i] >= HL_MAP_AMOUNT_MAX)
			return -EBADMSG;
	}
	return err ? err : append(c, &m);
}

static int drop_mapping(struct hl_map_cursor *c)
{
	int err = c->old < c->last.len ? move_list(c) : -EBADMSG;

	c->old += !err;
	return err;
}

static int read_rows(struct hl_map_cursor *c, struct hl_chunk *chunk)
{
	struct hl_column_cursor cur;
	int err = hl_chunk_column(c->r, chunk, HL_COL_MAP_ROWS, &cur);

	if (err == -ENOENT)
		err = 0;
	if (!err)
		err = add_work(c, chunk->head.n_rows);
	for (uint32_t i = 0; i < chunk->head.n_rows && !err; i++) {
		uint64_t v = hl_column_cursor_varint(&cur);

		err = skip_mappings(c, v >> 2);
		if (err)
			break;
		switch (v & 3) {
		case HL_MAP_GONE:
			err = drop_mapping(c);
			break;
		case HL_MAP_CHANGED:
			err = change_mapping(c, &cur);
			break;
		case HL_MAP_NEW:
			err = add_mapping(c, &cur);
			break;
		default:
			err = -EBADMSG;
		}
		if (cur.bad)
			err = -EBADMSG;
	}
	return err || hl_column_cursor_done(&cur) ? err : -EBADMSG;
}

/* ---- samples ---- */

static int begin_sample(struct hl_map_cursor *c, struct hl_chunk *chunk)
{
	struct hl_column_cursor cur;

	if (chunk->head.flags & HL_CHUNK_FULL) {
		c->last.len = c->texts.len = c->text_bytes = 0;
	} else if (!c->has_last || chunk->head.link != c->last_seq) {
		return -EBADMSG;
	}
	if (hl_chunk_column(c->r, chunk, HL_COL_NUMBERS, &cur) < 0)
		return -EBADMSG;
	c->time = hl_column_cursor_varint(&cur);
	c->sample.read_ns = hl_column_cursor_varint(&cur);
	c->n = hl_column_cursor_varint(&cur);
	if (cur.bad || c->time > UINT64_MAX / HL_TIME_UNIT_NS || c->n > mappings_limit(c) ||
		c->time * HL_TIME_UNIT_NS < c->sample.time_ns)
		return -EBADMSG;
	c->old = c->end = 0;
	c->next.len = 0;
	c->is_moved = false;
	return add_work(c, hl_max_u64(c->n, c->last.len));
}

static int end_sample(struct hl_map_cursor *c)
{
	int err = skip_mappings(c, c->last.len - c->old);

	if (!err && c->is_moved) {
		struct hl_map_entry *data = c->last.data;
		size_t cap = c->last.cap;

		c->last.data = c->next.data;
		c->last.len = c->next.len;
		c->last.cap = c->next.cap;
		c->next.data = data;
		c->next.cap = cap;
	}
	if (err || c->last.len != c->n)
		return err ? err : -EBADMSG;
	c->sample.time_ns = c->time * HL_TIME_UNIT_NS;
	c->sample.maps = c->last.data;
	c->sample.n = c->last.len;
	return 0;
}

/* Reads the sample whose first part is at c->row, which is moved behind it. */
static int read_sample(struct hl_map_cursor *c)
{
	const struct hl_chunk_header first = c->r->rows.data[c->row].head;
	uint64_t parts = first.aux >> 32;
	int err = 0;

	for (uint64_t i = 0; i < parts && !err; i++) {
		struct hl_chunk chunk;
		size_t row = c->row;

		if (row >= c->r->rows.len || c->r->rows.data[row].head.type != HL_CHUNK_MAPS ||
			c->r->rows.data[row].head.seq != first.seq + i ||
			c->r->rows.data[row].head.aux != (i | parts << 32))
			return -ENODATA;
		c->row++;
		err = hl_load_chunk(c->r, row, &chunk);
		if (!err && i == 0)
			err = begin_sample(c, &chunk);
		if (!err)
			err = read_texts(c, &chunk);
		if (!err)
			err = read_rows(c, &chunk);
		if (err == -EBADMSG)
			(void)hl_mark_bad(c->r, row);
	}
	return err ? err : end_sample(c);
}

/* True if a sample that is not damaged may begin at this row: the others build on a sample that is
 * not known. */
static bool is_readable(const struct hl_map_cursor *c, const struct hl_chunk_header *h)
{
	return h->type == HL_CHUNK_MAPS && !(uint32_t)h->aux && h->aux >> 32 &&
	       (h->flags & HL_CHUNK_FULL || (c->has_last && h->link == c->last_seq));
}

int hl_map_cursor_next(struct hl_map_cursor *c, const struct hl_map_sample **sample)
{
	*sample = NULL;
	while (c->row < c->r->rows.len) {
		struct hl_chunk_header h = c->r->rows.data[c->row].head;
		size_t row = c->row;
		int err;

		if (!is_readable(c, &h)) {
			c->damaged |= h.type == HL_CHUNK_MAPS;
			c->row++;
			continue;
		}
		err = read_sample(c);
		if (err == -ENOMEM)
			return err;
		c->has_last = !err;
		c->last_seq = h.seq;
		if (!err) {
			*sample = &c->sample;
			return 0;
		}
		c->damaged = true;
		if (err == -EBADMSG)
			(void)hl_mark_bad(c->r, row);
		c->row += c->row == row;
	}
	return 0;
}
