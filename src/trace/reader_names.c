/*
 * reader_names.c - names that came with the trace, from the NAMES chunks.
 *
 * All are read when the first is asked for. A lost chunk loses its places: they have no names.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "trace/reader_internal.h"

void hl_name_tables_free(struct hl_name_tables *t)
{
	hl_map_fini(&t->places);
	hl_map_fini(&t->modules);
	hl_vec_free(&t->firsts);
	hl_vec_free(&t->frames);
	hl_vec_free(&t->text);
	hl_vec_free(&t->answer);
	hl_vec_free(&t->texts);
}

/* The chunk's texts into the store; where each is into t->texts. */
static int read_texts(struct hl_reader *r, struct hl_cursor *cur)
{
	struct hl_name_tables *t = &r->names;

	t->texts.len = 0;
	while (cur->p < cur->end) {
		uint64_t len = hl_cursor_varint(cur);
		const uint8_t *bytes = hl_cursor_bytes(cur, len);

		if (!bytes || t->text.len + len + 1 > HL_STRINGS_MAX(r->data_bytes))
			return -EBADMSG;
		if (hl_vec_push(&t->texts, t->text.len) < 0 ||
			hl_vec_reserve(&t->text, t->text.len + len + 1) < 0)
			return -ENOMEM;
		memcpy(t->text.data + t->text.len, bytes, len);
		t->text.data[t->text.len + len] = '\0';
		t->text.len += len + 1;
	}
	return 0;
}

static int text_at(const struct hl_name_tables *t, uint64_t number, size_t *place)
{
	if (number > t->texts.len)
		return -EBADMSG;
	*place = number ? t->texts.data[number - 1] : 0;
	return 0;
}

static int read_frame(struct hl_name_tables *t, struct hl_cursor *cur)
{
	struct hl_name_entry e;
	int err = text_at(t, hl_cursor_varint(cur), &e.function);

	if (!err)
		err = text_at(t, hl_cursor_varint(cur), &e.file);
	e.line = (uint32_t)hl_cursor_varint(cur);
	if (!err && cur->bad)
		err = -EBADMSG;
	return err ? err : hl_vec_push(&t->frames, e);
}

/* A place that is there already keeps its first names. */
static int read_row(struct hl_reader *r, struct hl_cursor *cur, uint64_t *offset)
{
	struct hl_name_tables *t = &r->names;
	uint64_t module = hl_cursor_varint(cur), n;
	int err = 0;

	*offset += (uint64_t)hl_unzigzag(hl_cursor_varint(cur));
	n = hl_cursor_varint(cur);
	if (cur->bad || module > HL_MODULES_MAX || n > HL_NAME_FRAMES ||
		t->firsts.len + t->frames.len + n > hl_names_limit(r->data_bytes))
		return -EBADMSG;
	for (uint64_t i = 0; i < n && !err; i++)
		err = read_frame(t, cur);
	if (!err && hl_map_get(&t->modules, module, 0) == HL_MAP_NONE)
		err = hl_map_put(&t->modules, module, 0, 0);
	if (!err && hl_map_get(&t->places, module, *offset) == HL_MAP_NONE)
		err = hl_map_put(&t->places, module, *offset, (uint32_t)t->firsts.len - 1);
	return err ? err : hl_vec_push(&t->firsts, (uint32_t)t->frames.len);
}

static int read_names_chunk(struct hl_reader *r, struct hl_chunk *c)
{
	struct hl_cursor text, rows;
	uint64_t offset = 0;
	int err;

	if (hl_column(r, c, HL_COL_NAME_TEXT, &text) == -EBADMSG ||
		hl_column(r, c, HL_COL_NAME_ROWS, &rows) == -EBADMSG)
		return -EBADMSG;
	err = read_texts(r, &text);
	for (uint32_t i = 0; i < c->head.n_rows && !err; i++)
		err = read_row(r, &rows, &offset);
	return !err && !hl_cursor_done(&rows) ? -EBADMSG : err;
}

static int read_all(struct hl_reader *r)
{
	struct hl_name_tables *t = &r->names;
	struct hl_chunk c;
	int err = 0;

	if (t->state)
		return t->state < 0 ? t->state : 0;
	/* Place 0 in the store is for no text. */
	if (hl_vec_push(&t->text, 0) < 0 || hl_vec_push(&t->firsts, 0) < 0)
		err = -ENOMEM;
	for (size_t i = 0; i < r->rows.len && err != -ENOMEM; i++) {
		if (r->rows.data[i].head.type != HL_CHUNK_NAMES || hl_load(r, i, &c) < 0)
			continue;
		err = read_names_chunk(r, &c);
		if (err == -EBADMSG) {
			hl_mark_bad(r, i);
			/* frames of the row that is damaged belong to nobody */
			t->frames.len = t->firsts.data[t->firsts.len - 1];
		}
	}
	hl_vec_free(&t->texts);
	t->state = err == -ENOMEM ? err : 1;
	return t->state < 0 ? t->state : 0;
}

int hl_reader_names(struct hl_reader *r, uint32_t module, uint64_t offset,
	const struct hl_name **frames, size_t *n)
{
	struct hl_name_tables *t = &r->names;
	uint64_t code = (uint32_t)(module + 1);
	uint32_t place;
	int err = read_all(r);

	*n = 0;
	if (err)
		return err;
	if (hl_map_get(&t->modules, code, 0) == HL_MAP_NONE)
		return -ENOENT;
	place = hl_map_get(&t->places, code, offset);
	if (place == HL_MAP_NONE)
		return 0;
	*n = t->firsts.data[place + 1] - t->firsts.data[place];
	if (hl_vec_reserve(&t->answer, *n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < *n; i++) {
		const struct hl_name_entry *e = &t->frames.data[t->firsts.data[place] + i];
		const char *store = (const char *)t->text.data;

		t->answer.data[i] = (struct hl_name){
			.function = e->function ? store + e->function : NULL,
			.file = e->file ? store + e->file : NULL,
			.line = e->line,
		};
	}
	*frames = t->answer.data;
	return 0;
}
