/*
 * fragmentation.c - how full the heap's pages are; see fragmentation.h.
 *
 * Blocks are needed in the order of their addresses, and may be more than memory should hold. So
 * they come by parts of the address space (parts.h), each is put in order by itself, and what has
 * been measured so far goes on through the next: a page or a block may reach from one into another.
 */
#include "model/fragmentation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/group.h"
#include "model/model_internal.h"
#include "model/question.h"
#include "model/stream.h"

struct spot {
	uint64_t addr, size;
	uint32_t node;
	bool fits;
};

struct measure {
	struct hl_question question; /* first */
	struct hl_model *m;
	struct hl_fragmentation f;
	struct hl_when when;
	struct hl_filter *filter; /* NULL: all */
	struct hl_stream stream;
	HL_VEC(struct spot) spots; /* of this part */
	HL_VEC(struct hl_holder) holders;
	struct hl_map by_frame;
	uint64_t start, end; /* of the region */
	/* The page that is being filled, and the blocks that begin on it or reach into it. */
	uint64_t page, bytes, most;
	uint32_t node;
	bool fits;
	uint64_t blocks;
};

static void begin(void *arg)
{
	struct measure *x = arg;

	x->spots.len = x->holders.len = 0;
	hl_map_fini(&x->by_frame);
	x->f = (struct hl_fragmentation){0};
	x->start = x->end = x->bytes = x->most = x->blocks = 0;
	x->page = UINT64_MAX;
}

static int take(void *arg, const struct hl_block *b)
{
	struct measure *x = arg;
	struct spot s = {.addr = b->addr, .size = b->size, .node = b->node, .fits = true};
	int err = 0;

	if (b->died < HL_PHASE_AFTER)
		return 0;
	if (x->filter)
		err = hl_filter_block(x->filter, x->m, b, &s.fits);
	if (err)
		return err;
	x->f.all.bytes += b->size;
	x->f.all.blocks++;
	x->f.live.bytes += s.fits ? b->size : 0;
	x->f.live.blocks += s.fits;
	return hl_vec_push(&x->spots, s);
}

static int by_addr(const void *pa, const void *pb)
{
	const struct spot *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static int add_holder(struct measure *x)
{
	uint32_t frame, at;
	int err = hl_model_site(x->m, x->node, &frame);

	if (err)
		return err;
	at = hl_map_get(&x->by_frame, frame, 0);
	if (at == HL_MAP_NONE) {
		struct hl_holder h = {.frame = frame};

		at = (uint32_t)x->holders.len;
		err = hl_vec_push(&x->holders, h);
		if (!err)
			err = hl_map_put(&x->by_frame, frame, 0, at);
	}
	if (err)
		return err;
	x->holders.data[at].pages++;
	x->holders.data[at].value.bytes += x->bytes;
	x->holders.data[at].value.blocks += x->blocks;
	return 0;
}

static int end_page(struct measure *x)
{
	int err = 0;

	if (x->blocks == 0)
		return 0;
	x->f.pages++;
	if (x->bytes < HL_SPARSE_BYTES) {
		x->f.sparse_pages++;
		x->f.sparse_bytes += x->bytes;
		if (x->fits)
			err = add_holder(x);
	}
	x->bytes = x->most = x->blocks = 0;
	return err;
}

/* Whole pages inside a large block are full: they need not be looked at one by one. A block of no
 * bytes adds none, and lies on its page all the same. */
static int add_spot(struct measure *x, const struct spot *s)
{
	uint64_t addr = s->addr, left = s->size;
	int err = 0;

	do {
		uint64_t page = addr / HL_PAGE_BYTES;
		uint64_t part = hl_min_u64(left, HL_PAGE_BYTES - addr % HL_PAGE_BYTES);

		if (page != x->page)
			err = end_page(x);
		x->page = page;
		if (part == HL_PAGE_BYTES) {
			x->f.pages += left / HL_PAGE_BYTES;
			part = left - left % HL_PAGE_BYTES;
		} else {
			x->bytes += part;
			if (x->blocks++ == 0 || part > x->most) {
				x->most = part;
				x->node = s->node;
				x->fits = s->fits;
			}
		}
		addr += part;
		left -= part;
	} while (left > 0 && !err);
	return err;
}

/* The blocks of a part, which lie behind those of all parts before. */
static int measure_part(void *arg)
{
	struct measure *x = arg;
	int err = 0;

	if (x->spots.len > 1)
		qsort(x->spots.data, x->spots.len, sizeof(*x->spots.data), by_addr);
	for (size_t i = 0; i < x->spots.len && !err; i++) {
		const struct spot *s = &x->spots.data[i];
		uint64_t gap = s->addr > x->end ? s->addr - x->end : 0;

		if (x->f.regions == 0 || gap >= HL_REGION_GAP) {
			x->f.regions++;
			x->f.span_bytes += x->end - x->start;
			x->start = s->addr;
		} else {
			x->f.largest_gap = hl_max_u64(x->f.largest_gap, gap);
		}
		x->end = hl_max_u64(x->end, s->addr + s->size);
		err = add_spot(x, s);
	}
	hl_vec_free(&x->spots); /* before the next part's table grows */
	return err;
}

static int find_rss(struct measure *x)
{
	struct hl_rss_sample *samples = NULL;
	size_t n = 0;
	int err = hl_reader_rss(x->m->reader, &samples, &n);

	for (size_t i = 0; i < n && !err && samples[i].time_ns <= x->f.time_ns; i++) {
		x->f.has_rss = true;
		x->f.rss_bytes = samples[i].rss_bytes;
		x->f.rss_time_ns = samples[i].time_ns;
	}
	free(samples);
	return err == -EBADMSG ? 0 : err; /* without samples there is only less to say */
}

static int by_pages(const void *pa, const void *pb)
{
	const struct hl_holder *a = pa, *b = pb;

	if (a->pages != b->pages)
		return a->pages > b->pages ? -1 : 1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static int start(struct hl_question *q)
{
	struct measure *x = (struct measure *)q;
	unsigned subjects = x->filter ? hl_filter_subjects(x->filter) : 0;
	int err = hl_when_check(&x->when, x->m);

	if (!err && x->filter)
		err = hl_filter_bind(x->filter, x->m);
	if (err)
		return err;
	x->stream = (struct hl_stream){.to = hl_query_to(x->m, &x->when),
		.older = true,
		.to_end = subjects & HL_FILTER_DEATH,
		.func = subjects & HL_FILTER_FUNC,
		.begin = begin,
		.block = take,
		.part = measure_part,
		.arg = x};
	x->stream.from = x->stream.to;
	hl_stream_init(&x->stream, x->m);
	x->stream.reading.memory += hl_min_u64(x->m->info->totals.peak_blocks, HL_PARTS_BLOCKS) *
				    2 * sizeof(struct spot);
	q->reads[0] = &x->stream.reading;
	return 0;
}

static int mark_twins(struct measure *x)
{
	struct hl_map seen = {0};
	int err = 0;

	for (uint32_t i = 0; i < x->holders.len && !err; i++) {
		struct hl_holder *h = &x->holders.data[i], *twin;
		const struct hl_frame *f = hl_model_frame(x->m, h->frame);
		uint32_t first;

		err = hl_frame_look(&seen, 0, f, i, &first);
		twin = &x->holders.data[first];
		if (!err && strcmp(hl_model_frame(x->m, twin->frame)->function, f->function) != 0)
			h->full = twin->full = true;
	}
	hl_map_fini(&seen);
	return err;
}

static int finish(struct measure *x)
{
	int err;

	x->f.time_ns = x->stream.to.time_ns;
	x->f.moved = x->stream.to.moved;
	x->f.span_bytes += x->end - x->start;
	err = end_page(x);
	if (!err)
		err = find_rss(x);
	return err ? err : mark_twins(x);
}

static bool same(const struct hl_question *qa, const struct hl_question *qb)
{
	const struct measure *a = (const struct measure *)qa, *b = (const struct measure *)qb;

	return a->filter == b->filter && hl_when_same(&a->when, &b->when);
}

static void drop(struct hl_question *q)
{
	struct measure *x = (struct measure *)q;

	hl_vec_free(&x->spots);
	hl_vec_free(&x->holders);
	hl_map_fini(&x->by_frame);
	hl_stream_fini(&x->stream);
	free(x);
}

static struct hl_question *new_question(
	struct hl_model *m, const struct hl_when *when, struct hl_filter *filter)
{
	static const struct hl_question_kind kind = {start, same, drop};
	struct measure *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->question = (struct hl_question){.kind = &kind, .m = m};
	x->m = m;
	x->when = *when;
	x->filter = filter;
	return &x->question;
}

int hl_fragmentation_at(struct hl_fragmentation *f, struct hl_model *m, const struct hl_when *when,
	struct hl_filter *filter)
{
	struct hl_question *q = new_question(m, when, filter);
	struct measure *x;
	int err;

	memset(f, 0, sizeof(*f));
	if (!q)
		return hl_model_fail(m, -ENOMEM);
	if (hl_model_withholds(m) && !hl_model_end_is_known(m, when)) {
		drop(q);
		return hl_model_no_events(m, "where blocks lie");
	}
	if (m->info->meta.unknown & HL_UNKNOWN_ADDRESSES) {
		drop(q);
		snprintf(m->error, sizeof(m->error),
			"pages need addresses of blocks, which are not known: the trace was "
			"imported from %.200s",
			m->info->meta.source);
		return -ENODATA;
	}
	err = hl_question_ask(&q);
	x = (struct measure *)q;
	if (err == -EOVERFLOW)
		snprintf(m->error, sizeof(m->error),
			"more blocks are alive at once than a file of this size can tell of: it is "
			"damaged or forged");
	if (!err)
		err = finish(x);
	if (!err) {
		*f = x->f;
		f->holders = x->holders.data;
		f->n_holders = x->holders.len;
		x->holders.data = NULL;
	}
	if (f->n_holders > 1)
		qsort(f->holders, f->n_holders, sizeof(*f->holders), by_pages);
	drop(q);
	return err;
}

void hl_fragmentation_expect(
	struct hl_model *m, const struct hl_when *when, struct hl_filter *filter)
{
	struct hl_question *q = new_question(m, when, filter);

	if (q)
		hl_question_expect(q);
}

void hl_fragmentation_fini(struct hl_fragmentation *f)
{
	free(f->holders);
	memset(f, 0, sizeof(*f));
}
