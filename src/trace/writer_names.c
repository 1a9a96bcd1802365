/*
 * writer_names.c - NAMES chunks: what stands at places of modules whose names come with the trace.
 *
 * A chunk has its own texts, each once, so that it can be read alone.
 */
#include <string.h>

#include "base/bits.h"
#include "base/varint.h"
#include "trace/writer_internal.h"

/* Varints of a row and of a frame, and the length of a text, at most. */
#define ROW_MAX   32u
#define FRAME_MAX 32u

void hl_names_fini(struct hl_pending_names *n)
{
	hl_strings_fini(&n->known);
	hl_vec_free(&n->text);
	hl_vec_free(&n->rows);
}

int hl_write_names(struct hl_writer *w)
{
	struct hl_pending_names *n = &w->names;

	if (n->n_rows == 0)
		return 0;
	hl_writer_begin(w, HL_CHUNK_NAMES);
	hl_seal_column(&w->sealer, HL_COL_NAME_TEXT, n->text.data, n->text.len);
	hl_seal_column(&w->sealer, HL_COL_NAME_ROWS, n->rows.data, n->rows.len);
	w->sealer.chunk.head.n_rows = n->n_rows;
	hl_strings_fini(&n->known);
	n->known = (struct hl_strings){0};
	n->text.len = n->rows.len = 0;
	n->n_rows = 0;
	n->last_offset = 0;
	return hl_writer_put(w);
}

static size_t text_len(const char *s)
{
	return s ? strnlen(s, HL_TEXT_MAX) : 0;
}

/* Puts the number of a text into the row, and the text into the chunk if it is new there. */
static int put_text(struct hl_pending_names *n, const char *s)
{
	size_t known = n->known.len, len = text_len(s);
	uint32_t id;
	int err;

	if (!len)
		return hl_bytes_varint(&n->rows, 0);
	err = hl_strings_add(&n->known, s, &id);
	if (!err && n->known.len > known)
		err = hl_bytes_varint(&n->text, len) ? -ENOMEM : hl_bytes_put(&n->text, s, len);
	return err ? err : hl_bytes_varint(&n->rows, (uint64_t)id + 1);
}

static int put_row(struct hl_pending_names *n, uint32_t module, uint64_t offset,
	const struct hl_name *frames, size_t n_frames)
{
	int err = hl_bytes_varint(&n->rows, (uint32_t)(module + 1));

	if (!err)
		err = hl_bytes_varint(&n->rows, hl_zigzag((int64_t)(offset - n->last_offset)));
	if (!err)
		err = hl_bytes_varint(&n->rows, n_frames);
	for (size_t i = 0; i < n_frames && !err; i++) {
		err = put_text(n, frames[i].function);
		if (!err)
			err = put_text(n, frames[i].file);
		if (!err)
			err = hl_bytes_varint(&n->rows, frames[i].line);
	}
	n->last_offset = offset;
	n->n_rows++;
	return err;
}

int hl_writer_add_names(struct hl_writer *w, uint32_t module, uint64_t offset,
	const struct hl_name *frames, size_t n)
{
	struct hl_pending_names *names = &w->names;
	size_t need = ROW_MAX;

	if (w->error)
		return w->error;
	if (module != HL_MODULE_NONE && module >= w->n_modules)
		return w->error = -EINVAL;
	n = hl_min_u64(n, HL_NAME_FRAMES);
	/* Enough for the longest texts, 256 times over, is more than a chunk: so frames give way.
	 */
	for (size_t i = 0; i < n; i++) {
		size_t more = FRAME_MAX + text_len(frames[i].function) + text_len(frames[i].file);

		if (need + more > HL_RAW_MAX) {
			n = i;
			break;
		}
		need += more;
	}
	/* The TABLE with its module goes first. */
	if (names->text.len + names->rows.len + need > HL_RAW_MAX || names->n_rows == HL_NAMES_ROWS)
		w->error = hl_write_tables(w);
	if (!w->error)
		w->error = put_row(names, module, offset, frames, n);
	return w->error;
}
