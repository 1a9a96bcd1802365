/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_names.c - writes and reads the symbol names that a trace itself contains (NAMES chunks).
 *
 * Each chunk has its own texts, so the loss of a chunk does not affect the names in others.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "trace/read/reader_internal.h"
#include "trace/write/writer_internal.h"

/* ---- writing ---- */

/* A chunk is written when it has this much. Even with the longest site, its longest last frame and
 * the numbers added it stays below the size limit of a chunk. */
#define SITES_FLUSH_LEN (192u << 10)
#define TEXTS_FLUSH_LEN (384u << 10)
#define SITE_TEXTS_MAX  (256u << 10) /* further frames of a site are left out */
#define FRAMES_MAX      1024u

void hl_symbol_names_fini(struct hl_pending_names *n)
{
	hl_string_table_fini(&n->text_table);
	hl_vec_free(&n->texts);
	hl_vec_free(&n->sites);
}

int hl_write_names(struct hl_writer *w)
{
	struct hl_pending_names *n = &w->names;
	hl_byte_buffer *b = &w->sealer.scratch;

	if (n->n_sites == 0)
		return 0;
	b->len = 0;
	if (hl_byte_buffer_varint(b, n->text_table.len) < 0 ||
		hl_byte_buffer_varint(b, n->n_sites) < 0)
		return -ENOMEM;
	hl_writer_begin(w, HL_CHUNK_NAMES);
	hl_seal_column(&w->sealer, HL_COL_NUMBERS, b->data, b->len);
	hl_seal_column(&w->sealer, HL_COL_NAMES_TEXT, n->texts.data, n->texts.len);
	hl_seal_column(&w->sealer, HL_COL_NAMES_SITES, n->sites.data, n->sites.len);
	hl_string_table_fini(&n->text_table);
	n->texts.len = n->sites.len = 0;
	n->n_sites = 0;
	return hl_writer_put(w);
}

static int add_text(struct hl_pending_names *n, const char *text, uint32_t *id)
{
	size_t n_before = n->text_table.len, len = hl_min_u64(strlen(text), HL_TEXT_MAX);
	int err = hl_string_table_add(&n->text_table, text, id);

	if (err || n->text_table.len == n_before)
		return err;
	err = hl_byte_buffer_varint(&n->texts, len);
	return err ? err : hl_byte_buffer_put(&n->texts, text, len);
}

static int add_frame(struct hl_pending_names *n, const struct hl_name_frame *f)
{
	bool has_file = f->file && f->file[0];
	uint32_t function, file = 0;
	int err = add_text(n, f->function ? f->function : "", &function);

	if (!err && has_file)
		err = add_text(n, f->file, &file);
	if (!err)
		err = hl_byte_buffer_varint(&n->sites, function);
	if (!err)
		err = hl_byte_buffer_varint(&n->sites, has_file ? (uint64_t)file + 1 : 0);
	if (!err)
		err = hl_byte_buffer_varint(&n->sites, (uint64_t)f->line << 1 | f->inlined);
	return err;
}

static size_t text_len(const char *text)
{
	return text ? strnlen(text, HL_TEXT_MAX) : 0;
}

/* The number of frames, from the outermost, that can be stored. */
static size_t count_fitting_frames(const struct hl_named_site *site)
{
	size_t n = hl_min_u64(site->n_frames, FRAMES_MAX), bytes = 0;

	for (size_t i = 0; i < n; i++) {
		if (bytes > SITE_TEXTS_MAX)
			return i;
		bytes += text_len(site->frames[i].function) + text_len(site->frames[i].file);
	}
	return n;
}

int hl_writer_add_names(struct hl_writer *w, const struct hl_named_site *site)
{
	struct hl_pending_names *n = &w->names;
	size_t frames = count_fitting_frames(site);
	int err = w->error;

	if (!err && site->module != HL_MODULE_NONE && site->module >= w->n_modules)
		err = -EINVAL;
	if (!err && (n->sites.len > SITES_FLUSH_LEN || n->texts.len > TEXTS_FLUSH_LEN))
		err = hl_write_names(w);
	if (!err)
		err = hl_byte_buffer_varint(&n->sites, (uint32_t)(site->module + 1));
	if (!err)
		err = hl_byte_buffer_varint(&n->sites, site->offset);
	if (!err)
		err = hl_byte_buffer_varint(&n->sites, frames);
	for (size_t i = 0; i < frames && !err; i++)
		err = add_frame(n, &site->frames[i]);
	n->n_sites++;
	return w->error = err;
}

/* ---- reading ---- */

/* Limit for all sites and frames together. No real program calls this many, but a forged file could
 * claim them. */
#define TOTAL_FRAMES_MAX(bytes) ((1u << 20) + hl_min_u64(bytes, 7u << 20))

void hl_stored_names_fini(struct hl_stored_names *n)
{
	hl_pair_map_fini(&n->ids);
	hl_pair_map_fini(&n->modules);
	hl_vec_free(&n->sites);
	hl_vec_free(&n->frames);
	hl_string_table_fini(&n->strings);
}

/* Ids in the reader's string table of the texts of one chunk. */
typedef HL_VEC(uint32_t) text_ids;

static int read_texts(struct hl_reader *r, struct hl_column_cursor *cur, uint64_t n, text_ids *ids)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t len = hl_column_cursor_varint(cur);
		const uint8_t *bytes = hl_column_cursor_bytes(cur, len);
		char *text;
		uint32_t id;
		int err;

		r->names.bytes += len + 1;
		if (!bytes || cur->bad || r->names.bytes > HL_STRING_TABLE_MAX(r->data_bytes))
			return -EBADMSG;
		text = strndup((const char *)bytes, len);
		err = text ? hl_string_table_add(&r->names.strings, text, &id) : -ENOMEM;
		free(text);
		if (err || hl_vec_push(ids, id) < 0)
			return -ENOMEM;
	}
	return hl_column_cursor_done(cur) ? 0 : -EBADMSG;
}

static int read_frame(struct hl_reader *r, struct hl_column_cursor *cur, const text_ids *ids)
{
	uint64_t function = hl_column_cursor_varint(cur), file = hl_column_cursor_varint(cur);
	uint64_t line = hl_column_cursor_varint(cur);
	struct hl_name_frame f = {.line = (uint32_t)(line >> 1), .inlined = line & 1};

	if (cur->bad || function >= ids->len || file > ids->len)
		return -EBADMSG;
	f.function = hl_string_table_get(&r->names.strings, ids->data[function]);
	if (file)
		f.file = hl_string_table_get(&r->names.strings, ids->data[file - 1]);
	return hl_vec_push(&r->names.frames, f);
}

static int read_site(struct hl_reader *r, struct hl_column_cursor *cur, const text_ids *ids)
{
	struct hl_stored_names *n = &r->names;
	uint64_t module = hl_column_cursor_varint(cur), offset = hl_column_cursor_varint(cur);
	struct hl_site_names site = {n->frames.len, hl_column_cursor_varint(cur)};
	int err = 0;

	if (cur->bad || module > HL_MODULES_MAX || site.n > FRAMES_MAX ||
		n->frames.len + n->sites.len + site.n > TOTAL_FRAMES_MAX(r->data_bytes))
		return -EBADMSG;
	for (size_t i = 0; i < site.n && !err; i++)
		err = read_frame(r, cur, ids);
	if (err || hl_pair_map_get(&n->ids, module, offset) != HL_PAIR_MAP_NONE)
		return err; /* the first names of a code address win */
	err = hl_pair_map_put(&n->ids, module, offset, (uint32_t)n->sites.len);
	if (!err && hl_pair_map_get(&n->modules, module, 0) == HL_PAIR_MAP_NONE)
		err = hl_pair_map_put(&n->modules, module, 0, 0);
	return err ? err : hl_vec_push(&n->sites, site);
}

static int read_names_chunk(struct hl_reader *r, struct hl_chunk *c)
{
	struct hl_column_cursor numbers, texts, sites;
	text_ids ids = {0};
	uint64_t n_texts, n_sites;
	int err;

	if (hl_chunk_column(r, c, HL_COL_NUMBERS, &numbers) < 0 ||
		hl_chunk_column(r, c, HL_COL_NAMES_TEXT, &texts) == -EBADMSG ||
		hl_chunk_column(r, c, HL_COL_NAMES_SITES, &sites) == -EBADMSG)
		return -EBADMSG;
	n_texts = hl_column_cursor_varint(&numbers);
	n_sites = hl_column_cursor_varint(&numbers);
	if (numbers.bad)
		return -EBADMSG;
	err = read_texts(r, &texts, n_texts, &ids);
	for (uint64_t i = 0; i < n_sites && !err; i++)
		err = read_site(r, &sites, &ids);
	hl_vec_free(&ids);
	return err;
}

static int read_all_names(struct hl_reader *r)
{
	struct hl_chunk c;
	int err = 0;

	for (size_t i = 0; i < r->rows.len && err != -ENOMEM; i++) {
		if (r->rows.data[i].head.type != HL_CHUNK_NAMES || hl_load_chunk(r, i, &c) < 0)
			continue;
		err = read_names_chunk(r, &c);
		if (err == -EBADMSG)
			hl_mark_bad(r, i);
	}
	return r->names.state = err == -ENOMEM ? err : 1;
}

int hl_reader_names(struct hl_reader *r, uint32_t module, uint64_t offset,
	const struct hl_name_frame **frames, size_t *n)
{
	const struct hl_site_names *site;
	uint32_t id;

	*n = 0;
	if (r->names.state == 0)
		read_all_names(r);
	if (r->names.state < 0)
		return r->names.state;
	if (hl_pair_map_get(&r->names.modules, (uint32_t)(module + 1), 0) == HL_PAIR_MAP_NONE)
		return -ENOENT;
	id = hl_pair_map_get(&r->names.ids, (uint32_t)(module + 1), offset);
	if (id == HL_PAIR_MAP_NONE)
		return 0;
	site = &r->names.sites.data[id];
	*n = site->n;
	if (site->n) /* without any frame there is no array to point into */
		*frames = r->names.frames.data + site->first;
	return 0;
}
