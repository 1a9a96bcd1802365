/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_refresh.c - reads what was added to a file since the last look.
 *
 * A chunk that was read never changes, so lists, tables and sums only grow. There are three cases
 * in which everything is read again: the writer has ended, and the file may have an index; the
 * trace is damaged; its beginning was not complete. All three are also the cases in which a reader
 * that is opened now may see something else than one that has grown.
 */
#include <errno.h>
#include <string.h>

#include "trace/read/reader_internal.h"

static int fail_stale(struct hl_reader *r, int err, const char *what)
{
	(void)hl_reader_fail(r, "The trace was %s while it was read; open it again.", what);
	return err;
}

/* Asks the source for its size. */
static int measure(struct hl_reader *r)
{
	int err = hl_byte_source_refresh(r->source);

	if (err == -ENOENT)
		return fail_stale(r, err, "deleted or renamed");
	if (err == -ESTALE)
		return fail_stale(r, err, "replaced by another file");
	if (err)
		return fail_stale(r, err, strerror(-err));
	if (r->source->bytes < r->scan_at)
		return fail_stale(r, -ESTALE, "truncated");
	return 0;
}

/* A full disk makes the writer replace the header. It may be halfway: then the next refresh has
 * it. */
static int read_header(struct hl_reader *r, bool *changed)
{
	uint8_t head[HL_FILE_HEADER_LEN];
	struct hl_unwritten now, *old = &r->info.unwritten;
	uint64_t sync = 0;
	uint32_t version;

	if (r->head_damaged)
		return 0;
	if (hl_pread(r, head, sizeof(head), 0) < 0)
		return fail_stale(r, -ESTALE, "truncated");
	switch (hl_file_header_decode(head, &sync, &version)) {
	case HL_HEADER_GOOD:
		break;
	case HL_HEADER_DAMAGED:
		return 0;
	default:
		sync = 0; /* never that of a trace */
	}
	if (sync != r->sync)
		return fail_stale(r, -ESTALE, "overwritten");
	now = hl_file_header_unwritten(head);
	*changed |= now.error != old->error || now.events != old->events;
	*old = now;
	return 0;
}

/* Can all that was read of a running trace stay? */
static bool is_sound(const struct hl_reader *r)
{
	return r->running && !r->info.damaged && r->skipped_bytes == 0 && r->rows.len > 0 &&
	       r->rows.data[0].head.type == HL_CHUNK_META &&
	       (!r->info.meta.base.is_late || r->base_key != HL_NO_ROW);
}

/* Names and files are few and rarely written. */
static void forget_names(struct hl_reader *r, size_t from, struct hl_refreshed *found)
{
	for (size_t i = from; i < r->rows.len; i++) {
		uint16_t type = r->rows.data[i].head.type;

		found->names |= type == HL_CHUNK_NAMES || type == HL_CHUNK_FILE;
	}
	if (!found->names)
		return;
	hl_stored_names_fini(&r->names);
	hl_files_fini(&r->files);
	r->names = (struct hl_stored_names){0};
	r->files = (struct hl_files){0};
}

static int read_more(struct hl_reader *r, struct hl_refreshed *found)
{
	size_t rows = r->rows.len;
	int err;

	r->file_bytes = r->info.file_bytes = r->source->bytes;
	r->data_bytes = r->source->data_bytes;
	if (!r->workers_given)
		r->workers = hl_default_workers(r);
	err = hl_find_more_chunks(r);
	if (!err)
		err = hl_list_chunks(r);
	found->changed |= r->rows.len > rows;
	forget_names(r, rows, found);
	r->tables.state = r->tables.state > 0 ? 0 : r->tables.state;
	r->info_ready = false;
	hl_describe_damage(r);
	found->names |= r->info.damaged;
	return err;
}

static int read_again(struct hl_reader *r, struct hl_refreshed *found)
{
	struct hl_reader_refusal why = {0};
	bool was_sound = is_sound(r);
	size_t n_files = 0, n_names = 0;
	int err;

	for (size_t i = 0; i < r->rows.len; i++) {
		n_files += r->rows.data[i].head.type == HL_CHUNK_FILE;
		n_names += r->rows.data[i].head.type == HL_CHUNK_NAMES;
	}
	found->changed = true;
	hl_reader_unload(r);
	err = hl_reader_load(r, "The trace", &why);
	if (err) {
		(void)hl_reader_fail(r, "%.250s", why.text);
		return err;
	}
	for (size_t i = 0; i < r->rows.len; i++) {
		n_files -= r->rows.data[i].head.type == HL_CHUNK_FILE;
		n_names -= r->rows.data[i].head.type == HL_CHUNK_NAMES;
	}
	found->names = !was_sound || r->info.damaged || n_files || n_names;
	return 0;
}

int hl_reader_refresh(struct hl_reader *r, struct hl_refreshed *found)
{
	int err = measure(r);

	*found = (struct hl_refreshed){0};
	if (!err)
		err = read_header(r, &found->changed);
	if (err)
		return err;
	if (!found->changed && r->source->bytes == r->file_bytes &&
		r->source->growing == r->running)
		return 0;
	if (r->source->growing && is_sound(r))
		return read_more(r, found);
	return read_again(r, found);
}

bool hl_reader_is_running(const struct hl_reader *r)
{
	return r->running;
}
