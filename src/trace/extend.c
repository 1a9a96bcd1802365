/* extend.c - see extend.h. */
#include "trace/extend.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/reader_internal.h"
#include "trace/writer_internal.h"

struct hl_extension {
	struct hl_reader *r;
	struct hl_chunk_file *file;
	struct hl_file_news news;
	struct hl_sealer sealer;
	struct hl_chunk_head here; /* of the last chunk: where new ones stand */
	uint64_t seq, n_files;
	int err; /* the first one */
};

/* The chunk of this row, with its next number. */
static int copy_chunk(struct hl_extension *x, size_t row)
{
	struct hl_reader *r = x->r;
	struct hl_chunk c;
	int err = hl_load(r, row, &c);

	if (!err)
		err = hl_check_columns(r, &c);
	if (err)
		return -EBADMSG;
	if (c.head.seq != x->seq) {
		c.head.seq = x->seq;
		hl_chunk_head_encode(r->packed, r->sync, &c.head, c.columns);
	}
	x->seq++;
	x->here = c.head;
	return hl_chunk_file_copy(x->file, &c.head, r->packed);
}

static int copy_chunks(struct hl_extension *x)
{
	int err = 0;

	for (size_t i = 0; i < x->r->rows.len && !err; i++) {
		if (x->r->rows.data[i].head.type == HL_CHUNK_INDEX || i == x->r->end_row)
			continue;
		err = copy_chunk(x, i);
	}
	return err;
}

/* Chunks beside the events stand where the events before them end. */
static void stand_after(struct hl_chunk_head *h)
{
	h->first_event += h->n_events;
	h->n_events = h->n_rows = 0;
	h->t0_ns = h->t1_ns;
	h->aux = h->link = 0;
}

static int next_number(struct hl_extension *x)
{
	size_t n;
	int err = hl_reader_n_files(x->r, &n);

	for (size_t i = 0; i < n && !err; i++)
		if (x->r->files.v.data[i].number >= x->n_files)
			x->n_files = x->r->files.v.data[i].number + 1;
	return err;
}

int hl_extend_begin(struct hl_extension **out, struct hl_reader *r, int fd)
{
	const struct hl_trace_info *info;
	struct hl_extension *x;
	int err = hl_reader_info(r, &info);

	if (!err && r->running)
		err = -EBUSY;
	if (!err && info->damaged)
		err = hl_fail(r, "%s", info->damage);
	if (err)
		return err;
	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->r = r;
	err = hl_chunk_file_open(&x->file, fd, r->sync, &x->news);
	if (!err && info->unwritten.error)
		hl_chunk_file_stopped(x->file, &info->unwritten);
	if (!err)
		err = copy_chunks(x);
	if (!err)
		err = next_number(x);
	if (err) {
		if (x->file)
			hl_chunk_file_disown(x->file);
		hl_chunk_file_close(x->file);
		free(x);
		return err;
	}
	if (r->end_row != HL_NO_ROW)
		x->here = r->rows.data[r->end_row].head;
	stand_after(&x->here);
	*out = x;
	return 0;
}

static int put(void *arg)
{
	struct hl_extension *x = arg;
	int err = hl_seal_end(&x->sealer);

	x->sealer.chunk.head.seq = x->seq++;
	return err ? err : hl_chunk_file_put(x->file, &x->sealer.chunk);
}

int hl_extend_add_file(struct hl_extension *x, const struct hl_carried *file, int fd)
{
	if (!x->err)
		x->err = hl_seal_file(&x->sealer, &x->here, x->n_files++, file, fd, put, x);
	return x->err;
}

int hl_extend_end(struct hl_extension *x)
{
	int err = x->err;

	if (!err && x->r->end_row != HL_NO_ROW)
		err = copy_chunk(x, x->r->end_row);
	if (!err) {
		hl_seal_begin(&x->sealer, HL_CHUNK_INDEX, &x->here);
		err = put(x);
	}
	hl_chunk_file_close(x->file);
	hl_sealer_fini(&x->sealer);
	free(x);
	return err;
}
