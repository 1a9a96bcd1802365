/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_usage.c - how full the heap's pages are; see page_usage.h.
 *
 * Blocks are needed in address order and may not fit in memory. They come in slices of the address
 * space (address_slices.h), and each slice is sorted separately. The state of the measurement is
 * kept from one slice to the next, because a page or a block may cross the boundary. The pages are
 * those of all blocks, so hl_query_blocks() does not suffice.
 */
#include "model/query/query_plan.h"
#include "model/views/page_usage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/stack/flat_table.h"
#include "model/model_internal.h"
#include "model/scan/prefetch.h"
#include "model/scan/block_stream.h"

struct live_block {
	uint64_t addr, size;
	uint32_t node;
	bool fits;
};

struct page_query {
	struct hl_prefetch base; /* must be the first member */
	struct hl_model *m;
	struct hl_fragmentation f;
	struct hl_time_spec when;
	struct hl_filter *filter; /* NULL: all blocks */
	struct hl_block_stream stream;
	HL_VEC(struct live_block) blocks_of_slice; /* the blocks of this slice */
	HL_VEC(struct hl_page_holder) holders;
	struct hl_pair_map by_frame;
	uint64_t start, end; /* of the current region */
	/* The current page, and the blocks that begin on it or reach into it. */
	uint64_t page, bytes, most;
	uint32_t node;
	bool fits;
	uint64_t blocks;
};

static void begin_stream(void *arg)
{
	struct page_query *x = arg;

	x->blocks_of_slice.len = x->holders.len = 0;
	hl_pair_map_fini(&x->by_frame);
	x->f = (struct hl_fragmentation){0};
	x->start = x->end = x->bytes = x->most = x->blocks = 0;
	x->page = UINT64_MAX;
}

static int add_block(void *arg, const struct hl_block *b)
{
	struct page_query *x = arg;
	struct live_block s = {.addr = b->addr, .size = b->size, .node = b->node, .fits = true};
	int err = 0;

	if (b->free_phase < HL_RANGE_AFTER)
		return 0;
	if (x->filter)
		err = hl_filter_block(x->filter, x->m, b, &s.fits);
	if (err)
		return err;
	x->f.all.bytes += b->size;
	x->f.all.blocks++;
	x->f.live.bytes += s.fits ? b->size : 0;
	x->f.live.blocks += s.fits;
	return hl_vec_push(&x->blocks_of_slice, s);
}

static int compare_addrs(const void *pa, const void *pb)
{
	const struct live_block *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static int add_holder(struct page_query *x)
{
	uint32_t frame, at;
	int err = hl_model_find_site(x->m, x->node, &frame);

	if (err)
		return err;
	at = hl_pair_map_get(&x->by_frame, frame, 0);
	if (at == HL_PAIR_MAP_NONE) {
		struct hl_page_holder h = {.frame = frame};

		at = (uint32_t)x->holders.len;
		err = hl_vec_push(&x->holders, h);
		if (!err)
			err = hl_pair_map_put(&x->by_frame, frame, 0, at);
	}
	if (err)
		return err;
	x->holders.data[at].pages++;
	x->holders.data[at].value.bytes += x->bytes;
	x->holders.data[at].value.blocks += x->blocks;
	return 0;
}

static int finish_page(struct page_query *x)
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

/* Whole pages inside a large block are full and are not visited one by one. A block of 0 bytes adds
 * no bytes, but counts as a block on its page. */
static int add_to_pages(struct page_query *x, const struct live_block *s)
{
	uint64_t addr = s->addr, left = s->size;
	int err = 0;

	do {
		uint64_t page = addr / HL_PAGE_BYTES;
		uint64_t part = hl_min_u64(left, HL_PAGE_BYTES - addr % HL_PAGE_BYTES);

		if (page != x->page)
			err = finish_page(x);
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

/* Measures the blocks of one slice. Their addresses are above those of all slices before. */
static int measure_slice(void *arg)
{
	struct page_query *x = arg;
	int err = 0;

	if (x->blocks_of_slice.len > 1)
		qsort(x->blocks_of_slice.data, x->blocks_of_slice.len,
			sizeof(*x->blocks_of_slice.data), compare_addrs);
	for (size_t i = 0; i < x->blocks_of_slice.len && !err; i++) {
		const struct live_block *s = &x->blocks_of_slice.data[i];
		uint64_t gap = s->addr > x->end ? s->addr - x->end : 0;

		if (x->f.regions == 0 || gap >= HL_REGION_GAP) {
			x->f.regions++;
			x->f.span_bytes += x->end - x->start;
			x->start = s->addr;
		} else {
			x->f.largest_gap = hl_max_u64(x->f.largest_gap, gap);
		}
		x->end = hl_max_u64(x->end, s->addr + s->size);
		err = add_to_pages(x, s);
	}
	hl_vec_free(&x->blocks_of_slice); /* before the table of the next slice grows */
	return err;
}

static int find_rss(struct page_query *x)
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
	return err == -EBADMSG ? 0 : err; /* RSS samples are optional */
}

static int compare_holders(const void *pa, const void *pb)
{
	const struct hl_page_holder *a = pa, *b = pb;

	if (a->pages != b->pages)
		return a->pages > b->pages ? -1 : 1;
	if (a->value.bytes != b->value.bytes)
		return a->value.bytes > b->value.bytes ? -1 : 1;
	if (a->value.blocks != b->value.blocks)
		return a->value.blocks > b->value.blocks ? -1 : 1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static int start_query(struct hl_prefetch *q)
{
	struct page_query *x = (struct page_query *)q;
	unsigned subjects = x->filter ? hl_filter_subjects(x->filter) : 0;
	int err = hl_time_spec_check_blocks(&x->when, x->m);

	if (!err && x->filter)
		err = hl_filter_bind(x->filter, x->m);
	if (err)
		return err;
	x->stream = (struct hl_block_stream){.to = hl_query_to(x->m, &x->when),
		.include_older = true,
		.read_all_frees = subjects & HL_FILTER_FREE_TIME,
		.func = subjects & HL_FILTER_FUNC,
		.begin = begin_stream,
		.block = add_block,
		.slice_end = measure_slice,
		.arg = x};
	x->stream.from = x->stream.to;
	hl_block_stream_init(&x->stream, x->m);
	x->stream.consumer.memory +=
		hl_min_u64(x->m->info->totals.peak_blocks, HL_ADDRESS_SLICE_BLOCKS) * 2 *
		sizeof(struct live_block);
	q->consumers[0] = &x->stream.consumer;
	return 0;
}

static int mark_ambiguous_holders(struct page_query *x)
{
	struct hl_pair_map seen = {0};
	int err = 0;

	for (uint32_t i = 0; i < x->holders.len && !err; i++) {
		struct hl_page_holder *h = &x->holders.data[i], *lookalike;
		const struct hl_frame *f = hl_model_frame(x->m, h->frame);
		uint32_t first;

		err = hl_frame_find_lookalike(&seen, 0, f, i, &first);
		lookalike = &x->holders.data[first];
		if (!err &&
			strcmp(hl_model_frame(x->m, lookalike->frame)->function, f->function) != 0)
			h->full_name = lookalike->full_name = true;
	}
	hl_pair_map_fini(&seen);
	return err;
}

static int finish_query(struct page_query *x)
{
	int err;

	x->f.time_ns = x->stream.to.time_ns;
	x->f.before_damage = x->stream.to.before_damage;
	x->f.span_bytes += x->end - x->start;
	err = finish_page(x);
	if (!err)
		err = find_rss(x);
	return err ? err : mark_ambiguous_holders(x);
}

static bool equals_query(const struct hl_prefetch *qa, const struct hl_prefetch *qb)
{
	const struct page_query *a = (const struct page_query *)qa,
				*b = (const struct page_query *)qb;

	return a->filter == b->filter && hl_time_spec_equal(&a->when, &b->when);
}

static void free_query(struct hl_prefetch *q)
{
	struct page_query *x = (struct page_query *)q;

	hl_vec_free(&x->blocks_of_slice);
	hl_vec_free(&x->holders);
	hl_pair_map_fini(&x->by_frame);
	hl_block_stream_fini(&x->stream);
	free(x);
}

static struct hl_prefetch *new_query(
	struct hl_model *m, const struct hl_time_spec *when, struct hl_filter *filter)
{
	static const struct hl_prefetch_kind kind = {start_query, equals_query, free_query};
	struct page_query *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->base = (struct hl_prefetch){.kind = &kind, .m = m};
	x->m = m;
	x->when = *when;
	x->filter = filter;
	return &x->base;
}

int hl_fragmentation_at(struct hl_fragmentation *f, struct hl_model *m,
	const struct hl_time_spec *when, struct hl_filter *filter)
{
	struct hl_prefetch *q = new_query(m, when, filter);
	struct page_query *x;
	int err;

	memset(f, 0, sizeof(*f));
	if (!q)
		return hl_model_fail(m, -ENOMEM);
	err = hl_model_require_blocks(m, when, "the position of blocks in pages");
	if (!err)
		err = hl_model_require_known(m, HL_UNKNOWN_ADDRESSES, "fragmentation");
	if (err) {
		free_query(q);
		return err;
	}
	err = hl_prefetch_run(&q);
	x = (struct page_query *)q;
	if (err == -EOVERFLOW)
		snprintf(m->error, sizeof(m->error),
			"more blocks are live at once than a file of this size can contain: it is "
			"damaged or forged");
	if (!err)
		err = finish_query(x);
	if (!err) {
		*f = x->f;
		f->holders = x->holders.data;
		f->n_holders = x->holders.len;
		x->holders.data = NULL;
	}
	if (f->n_holders > 1)
		qsort(f->holders, f->n_holders, sizeof(*f->holders), compare_holders);
	free_query(q);
	return err;
}

void hl_fragmentation_prefetch(
	struct hl_model *m, const struct hl_time_spec *when, struct hl_filter *filter)
{
	struct hl_prefetch *q = new_query(m, when, filter);

	if (q)
		hl_prefetch_add(q);
}

void hl_fragmentation_fini(struct hl_fragmentation *f)
{
	free(f->holders);
	memset(f, 0, sizeof(*f));
}
