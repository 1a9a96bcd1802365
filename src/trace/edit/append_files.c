/* SPDX-License-Identifier: Apache-2.0 */
/* append_files.c - see append_files.h. */
#include "trace/edit/append_files.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/read/reader_internal.h"
#include "trace/write/writer_internal.h"

struct hl_append_files {
	struct hl_reader *r;
	struct hl_chunk_file *file;
	struct hl_file_status status;
	struct hl_sealer sealer;
	struct hl_chunk_header last_head; /* of the last chunk; new chunks continue from it */
	uint64_t seq, n_files;
	int err; /* the first error */
};

/* Copies the chunk of this index row, with the next sequence number. */
static int copy_chunk(struct hl_append_files *x, size_t row)
{
	struct hl_reader *r = x->r;
	struct hl_chunk c;
	int err = hl_load_chunk(r, row, &c);

	if (!err)
		err = hl_check_columns(r, &c);
	if (err)
		return -EBADMSG;
	if (c.head.seq != x->seq) {
		c.head.seq = x->seq;
		hl_chunk_header_encode(r->packed, r->sync, &c.head, c.columns);
	}
	x->seq++;
	x->last_head = c.head;
	return hl_chunk_file_copy(x->file, &c.head, r->packed);
}

static int copy_chunks(struct hl_append_files *x)
{
	int err = 0;

	for (size_t i = 0; i < x->r->rows.len && !err; i++) {
		if (x->r->rows.data[i].head.type == HL_CHUNK_INDEX || i == x->r->end_row)
			continue;
		err = copy_chunk(x, i);
	}
	return err;
}

/* Turns the header of a chunk into that of a chunk without events that comes directly after it. */
static void move_to_end(struct hl_chunk_header *h)
{
	h->first_event += h->n_events;
	h->n_events = h->n_rows = 0;
	h->t0_ns = h->t1_ns;
	h->aux = h->link = 0;
}

static int find_free_file_number(struct hl_append_files *x)
{
	size_t n;
	int err = hl_reader_n_files(x->r, &n);

	for (size_t i = 0; i < n && !err; i++)
		if (x->r->files.v.data[i].number >= x->n_files)
			x->n_files = x->r->files.v.data[i].number + 1;
	return err;
}

int hl_append_files_begin(struct hl_append_files **out, struct hl_reader *r, int fd)
{
	const struct hl_trace_info *info;
	struct hl_append_files *x;
	int err = hl_reader_info(r, &info);

	if (!err && r->running)
		err = -EBUSY;
	if (!err && info->damaged)
		err = hl_reader_fail(r, "%s", info->damage);
	if (err)
		return err;
	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->r = r;
	err = hl_chunk_file_open(&x->file, fd, r->sync, &x->status);
	if (!err && info->unwritten.error)
		hl_chunk_file_set_unwritten(x->file, &info->unwritten);
	if (!err)
		err = copy_chunks(x);
	if (!err)
		err = find_free_file_number(x);
	if (err) {
		if (x->file)
			hl_chunk_file_disown(x->file);
		hl_chunk_file_close(x->file);
		free(x);
		return err;
	}
	if (r->end_row != HL_NO_ROW)
		x->last_head = r->rows.data[r->end_row].head;
	move_to_end(&x->last_head);
	*out = x;
	return 0;
}

static int put_sealed(void *arg)
{
	struct hl_append_files *x = arg;
	int err = hl_seal_end(&x->sealer);

	x->sealer.chunk.head.seq = x->seq++;
	return err ? err : hl_chunk_file_put(x->file, &x->sealer.chunk);
}

int hl_append_files_add_file(struct hl_append_files *x, const struct hl_embedded_file *file, int fd)
{
	if (!x->err)
		x->err = hl_seal_file(
			&x->sealer, &x->last_head, x->n_files++, file, fd, put_sealed, x);
	return x->err;
}

int hl_append_files_end(struct hl_append_files *x)
{
	int err = x->err;

	if (!err && x->r->end_row != HL_NO_ROW)
		err = copy_chunk(x, x->r->end_row);
	if (!err) {
		hl_seal_begin(&x->sealer, HL_CHUNK_INDEX, &x->last_head);
		err = put_sealed(x);
	}
	hl_chunk_file_close(x->file);
	hl_sealer_fini(&x->sealer);
	free(x);
	return err;
}
