/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c - opens a trace, or refuses it with one sentence that says what to do. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/read/reader_internal.h"

static int refuse(struct hl_reader_refusal *why, int err, const char *fmt, ...) hl_printf(3, 4);
static int refuse(struct hl_reader_refusal *why, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	return err;
}

/* If the file header is damaged, the first chunk, directly behind it, still has the sync word. */
static bool recover_sync(struct hl_reader *r)
{
	uint8_t buf[HL_CHUNK_HEADERS_MAX];
	struct hl_chunk_header head;
	size_t len = sizeof(buf);

	if (r->file_bytes - HL_FILE_HEADER_LEN < len)
		len = (size_t)(r->file_bytes - HL_FILE_HEADER_LEN);
	if (len < HL_CHUNK_HEADER_LEN || hl_pread(r, buf, len, HL_FILE_HEADER_LEN) < 0)
		return false;
	r->sync = hl_get64(buf);
	return hl_chunk_header_decode(buf, len, r->sync, &head, NULL) == 0 &&
	       head.type == HL_CHUNK_META && head.seq == 0;
}

static int read_file_header(struct hl_reader *r, const char *path, struct hl_reader_refusal *why)
{
	static const char foreign[] =
		"%.300s is not a heaplapse trace; pass a file written by `heaplapse record`.";
	static const char tags[] = "{\"heaplapse_tags\":";
	uint8_t head[HL_FILE_HEADER_LEN] = {0};
	uint32_t version = 0;

	if (hl_pread(r, head, r->file_bytes < sizeof(head) ? (size_t)r->file_bytes : sizeof(head),
		    0) < 0)
		return refuse(why, -EIO, "%.300s cannot be read; check the disk.", path);
	switch (hl_file_header_decode(head, &r->sync, &version)) {
	case HL_HEADER_GOOD:
		r->info.unwritten = hl_file_header_unwritten(head);
		return 0;
	case HL_HEADER_NEWER:
		return refuse(why, -EPROTONOSUPPORT,
			"%.300s has format version %u, but this heaplapse reads up to %u; use a "
			"newer heaplapse.",
			path, version, HL_FORMAT_VERSION);
	case HL_HEADER_MANGLED:
		return refuse(why, -EBADMSG,
			"%.300s was changed by a text-mode transfer; copy the trace again in "
			"binary mode.",
			path);
	case HL_HEADER_DAMAGED:
		if (r->file_bytes < HL_FILE_HEADER_LEN)
			return refuse(why, -EBADMSG,
				"%.300s ends before its first chunk: nothing was recorded; record "
				"again.",
				path);
		r->head_damaged = true;
		if (recover_sync(r))
			return 0;
		return refuse(why, -EBADMSG,
			"%.300s is a trace with a damaged beginning; use another copy of it.",
			path);
	case HL_HEADER_FOREIGN:
		if (!memcmp(head, tags, sizeof(tags) - 1))
			return refuse(why, -EBADMSG,
				"%.300s contains counters of record --mode=tags and is not a "
				"trace; show it with `heaplapse tags FILE`.",
				path);
		break;
	}
	return refuse(why, -EBADMSG, foreign, path);
}

int hl_make_buffers(struct hl_reader *r)
{
	r->packed = malloc(HL_CHUNK_LEN_MAX);
	r->raw = malloc(HL_RAW_MAX + HL_COLUMNS_MAX * 16);
	r->zstd = ZSTD_createDCtx();
	return r->packed && r->raw && r->zstd ? 0 : -ENOMEM;
}

int hl_reader_load(struct hl_reader *r, const char *name, struct hl_reader_refusal *why)
{
	int err;

	r->file_bytes = r->source->bytes;
	r->data_bytes = r->source->data_bytes;
	r->running = r->source->growing;
	err = read_file_header(r, name, why);
	if (!err)
		err = hl_find_chunks(r);
	if (!err)
		err = hl_read_meta(r);
	if (!err) {
		hl_find_base(r);
		err = hl_list_chunks(r);
	}
	if (err && !why->text[0])
		refuse(why, err, "%.300s cannot be opened: %s.", name, strerror(-err));
	if (err)
		return err;
	hl_describe_damage(r);
	if (!r->workers_given)
		r->workers = hl_default_workers(r);
	return 0;
}

int hl_reader_open_source(struct hl_reader **out, struct hl_byte_source *source, const char *name,
	struct hl_reader_refusal *why)
{
	struct hl_reader *r = calloc(1, sizeof(*r));
	int err;

	why->text[0] = '\0';
	if (!r) {
		hl_byte_source_close(source);
		return refuse(why, -ENOMEM, "Out of memory while opening a trace.");
	}
	r->source = source;
	r->create_thread = pthread_create;
	err = hl_make_buffers(r);
	if (err)
		refuse(why, err, "%.300s cannot be opened: %s.", name, strerror(-err));
	else
		err = hl_reader_load(r, name, why);
	if (err)
		hl_reader_close(r);
	else
		*out = r;
	return err;
}

int hl_reader_open(struct hl_reader **out, const char *path, struct hl_reader_refusal *why)
{
	struct hl_byte_source *source;
	int err = hl_byte_source_open(&source, path, why);

	return err ? err : hl_reader_open_source(out, source, path, why);
}

static void free_lists(struct hl_reader *r)
{
	hl_vec_free(&r->rows);
	hl_vec_free(&r->chunks);
	hl_vec_free(&r->chunk_rows);
	hl_vec_free(&r->base_ordinals);
}

static void free_contents(struct hl_reader *r)
{
	if (!r->shared)
		free_lists(r);
	hl_vec_free(&r->keys);
	hl_vec_free(&r->key_places);
	hl_vec_free(&r->sets);
	hl_vec_free(&r->set_places);
	hl_tables_free(&r->tables);
	hl_stored_names_fini(&r->names);
	hl_files_fini(&r->files);
	hl_readable_sums_fini(&r->sums);
	for (int i = 0; i < HL_META_STRINGS; i++)
		free(r->meta_strings[i]);
	free(r->slice_filter);
}

void hl_reader_unload(struct hl_reader *r)
{
	struct hl_reader kept = {.source = r->source,
		.bytes_read = r->bytes_read,
		.events_decoded = r->events_decoded,
		.workers = r->workers,
		.workers_given = r->workers_given,
		.create_thread = r->create_thread,
		.zstd = r->zstd,
		.packed = r->packed,
		.raw = r->raw};

	free_contents(r);
	*r = kept;
}

void hl_reader_close(struct hl_reader *r)
{
	if (!r)
		return;
	free_contents(r);
	if (!r->shared)
		hl_byte_source_close(r->source);
	ZSTD_freeDCtx(r->zstd);
	free(r->packed);
	free(r->raw);
	free(r);
}

uint64_t hl_reader_data_bytes(const struct hl_reader *r)
{
	return r->data_bytes;
}

uint64_t hl_reader_bytes_read(const struct hl_reader *r)
{
	return r->bytes_read;
}

uint64_t hl_reader_events_decoded(const struct hl_reader *r)
{
	return r->events_decoded;
}

const char *hl_reader_error(const struct hl_reader *r)
{
	return r->error;
}

size_t hl_reader_n_chunks(const struct hl_reader *r)
{
	return r->chunks.len;
}

const struct hl_chunk_info *hl_reader_chunk(const struct hl_reader *r, size_t i)
{
	return i < r->chunks.len ? &r->chunks.data[i] : NULL;
}
