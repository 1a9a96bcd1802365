/*
 * names.c - names that a trace carries for places in its code (NAMES chunks), written and read.
 *
 * A chunk has its own texts, so that one that is lost takes no other's names with it.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "trace/reader_internal.h"
#include "trace/writer_internal.h"

/* ---- writing ---- */

/*
 * A chunk that has so much is written; together with the longest site, its longest last frame and
 * the numbers it stays below the limit of a chunk.
 */
#define SITES_ENOUGH   (192u << 10)
#define TEXTS_ENOUGH   (384u << 10)
#define SITE_TEXTS_MAX (256u << 10) /* frames beyond it are left out */
#define FRAMES_MAX     1024u

void hl_names_fini(struct hl_pending_names *n)
{
	hl_strings_fini(&n->known);
	hl_vec_free(&n->texts);
	hl_vec_free(&n->sites);
}

int hl_write_names(struct hl_writer *w)
{
	struct hl_pending_names *n = &w->names;
	hl_bytes *b = &w->sealer.scratch;

	if (n->n_sites == 0)
		return 0;
	b->len = 0;
	if (hl_bytes_varint(b, n->known.len) < 0 || hl_bytes_varint(b, n->n_sites) < 0)
		return -ENOMEM;
	hl_writer_begin(w, HL_CHUNK_NAMES);
	hl_seal_column(&w->sealer, HL_COL_NUMBERS, b->data, b->len);
	hl_seal_column(&w->sealer, HL_COL_NAMES_TEXT, n->texts.data, n->texts.len);
	hl_seal_column(&w->sealer, HL_COL_NAMES_SITES, n->sites.data, n->sites.len);
	hl_strings_fini(&n->known);
	n->texts.len = n->sites.len = 0;
	n->n_sites = 0;
	return hl_writer_put(w);
}

static int add_text(struct hl_pending_names *n, const char *text, uint32_t *id)
{
	size_t known = n->known.len, len = hl_min_u64(strlen(text), HL_TEXT_MAX);
	int err = hl_strings_add(&n->known, text, id);

	if (err || n->known.len == known)
		return err;
	err = hl_bytes_varint(&n->texts, len);
	return err ? err : hl_bytes_put(&n->texts, text, len);
}

static int add_frame(struct hl_pending_names *n, const struct hl_name_frame *f)
{
	bool has_file = f->file && f->file[0];
	uint32_t function, file = 0;
	int err = add_text(n, f->function ? f->function : "", &function);

	if (!err && has_file)
		err = add_text(n, f->file, &file);
	if (!err)
		err = hl_bytes_varint(&n->sites, function);
	if (!err)
		err = hl_bytes_varint(&n->sites, has_file ? (uint64_t)file + 1 : 0);
	if (!err)
		err = hl_bytes_varint(&n->sites, (uint64_t)f->line << 1 | f->inlined);
	return err;
}

static size_t text_len(const char *text)
{
	return text ? strnlen(text, HL_TEXT_MAX) : 0;
}

/* How many of its frames, from the outermost, can be told. */
static size_t frames_that_fit(const struct hl_named_site *site)
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
	size_t frames = frames_that_fit(site);
	int err = w->error;

	if (!err && site->module != HL_MODULE_NONE && site->module >= w->n_modules)
		err = -EINVAL;
	if (!err && (n->sites.len > SITES_ENOUGH || n->texts.len > TEXTS_ENOUGH))
		err = hl_write_names(w);
	if (!err)
		err = hl_bytes_varint(&n->sites, (uint32_t)(site->module + 1));
	if (!err)
		err = hl_bytes_varint(&n->sites, site->offset);
	if (!err)
		err = hl_bytes_varint(&n->sites, frames);
	for (size_t i = 0; i < frames && !err; i++)
		err = add_frame(n, &site->frames[i]);
	n->n_sites++;
	return w->error = err;
}

/* ---- reading ---- */

/* Of places and frames: no program has so many that are called, but a forged file could. */
#define FRAMES_ALL_MAX(bytes) ((1u << 20) + hl_min_u64(bytes, 7u << 20))

void hl_stored_names_fini(struct hl_stored_names *n)
{
	hl_map_fini(&n->ids);
	hl_map_fini(&n->modules);
	hl_vec_free(&n->sites);
	hl_vec_free(&n->frames);
	hl_strings_fini(&n->strings);
}

/* The texts of one chunk: their numbers among all. */
typedef HL_VEC(uint32_t) text_ids;

static int read_texts(struct hl_reader *r, struct hl_cursor *cur, uint64_t n, text_ids *ids)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t len = hl_cursor_varint(cur);
		const uint8_t *bytes = hl_cursor_bytes(cur, len);
		char *text;
		uint32_t id;
		int err;

		r->names.bytes += len + 1;
		if (!bytes || cur->bad || r->names.bytes > HL_STRINGS_MAX(r->data_bytes))
			return -EBADMSG;
		text = strndup((const char *)bytes, len);
		err = text ? hl_strings_add(&r->names.strings, text, &id) : -ENOMEM;
		free(text);
		if (err || hl_vec_push(ids, id) < 0)
			return -ENOMEM;
	}
	return hl_cursor_done(cur) ? 0 : -EBADMSG;
}

static int read_frame(struct hl_reader *r, struct hl_cursor *cur, const text_ids *ids)
{
	uint64_t function = hl_cursor_varint(cur), file = hl_cursor_varint(cur);
	uint64_t line = hl_cursor_varint(cur);
	struct hl_name_frame f = {.line = (uint32_t)(line >> 1), .inlined = line & 1};

	if (cur->bad || function >= ids->len || file > ids->len)
		return -EBADMSG;
	f.function = hl_strings_get(&r->names.strings, ids->data[function]);
	if (file)
		f.file = hl_strings_get(&r->names.strings, ids->data[file - 1]);
	return hl_vec_push(&r->names.frames, f);
}

static int read_site(struct hl_reader *r, struct hl_cursor *cur, const text_ids *ids)
{
	struct hl_stored_names *n = &r->names;
	uint64_t module = hl_cursor_varint(cur), offset = hl_cursor_varint(cur);
	struct hl_site_names site = {n->frames.len, hl_cursor_varint(cur)};
	int err = 0;

	if (cur->bad || module > HL_MODULES_MAX || site.n > FRAMES_MAX ||
		n->frames.len + n->sites.len + site.n > FRAMES_ALL_MAX(r->data_bytes))
		return -EBADMSG;
	for (size_t i = 0; i < site.n && !err; i++)
		err = read_frame(r, cur, ids);
	if (err || hl_map_get(&n->ids, module, offset) != HL_MAP_NONE)
		return err; /* the first names of a place stay */
	err = hl_map_put(&n->ids, module, offset, (uint32_t)n->sites.len);
	if (!err && hl_map_get(&n->modules, module, 0) == HL_MAP_NONE)
		err = hl_map_put(&n->modules, module, 0, 0);
	return err ? err : hl_vec_push(&n->sites, site);
}

static int read_names_chunk(struct hl_reader *r, struct hl_chunk *c)
{
	struct hl_cursor numbers, texts, sites;
	text_ids ids = {0};
	uint64_t n_texts, n_sites;
	int err;

	if (hl_column(r, c, HL_COL_NUMBERS, &numbers) < 0 ||
		hl_column(r, c, HL_COL_NAMES_TEXT, &texts) == -EBADMSG ||
		hl_column(r, c, HL_COL_NAMES_SITES, &sites) == -EBADMSG)
		return -EBADMSG;
	n_texts = hl_cursor_varint(&numbers);
	n_sites = hl_cursor_varint(&numbers);
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
		if (r->rows.data[i].head.type != HL_CHUNK_NAMES || hl_load(r, i, &c) < 0)
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
	if (hl_map_get(&r->names.modules, (uint32_t)(module + 1), 0) == HL_MAP_NONE)
		return -ENOENT;
	id = hl_map_get(&r->names.ids, (uint32_t)(module + 1), offset);
	if (id == HL_MAP_NONE)
		return 0;
	site = &r->names.sites.data[id];
	*frames = r->names.frames.data + site->first;
	*n = site->n;
	return 0;
}
