/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_rows.c - mappings with their blocks; see address_rows.h.
 *
 * Blocks come in the order of their addresses, slice by slice (scan/address_slices.h), and are
 * merged with the mappings, which are in that order, too. Memory is bounded by the number of
 * mappings and by a slice; a row without blocks has no measurement.
 */
#include "model/views/address_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "model/query/query_plan.h"
#include "model/scan/block_stream.h"

struct live_block {
	uint64_t addr, size;
	bool fits;
};

struct builder {
	struct hl_address_space *s;
	struct hl_model *m;
	struct hl_filter *filter;
	struct hl_block_stream stream;
	HL_VEC(struct live_block) blocks; /* of this slice */
	HL_VEC(struct hl_address_row) rows;
	size_t next_map;     /* the first one without a row */
	bool open;           /* the last row may have more blocks */
	uint64_t blocks_end; /* of the blocks of the last row */
};

/* --- how full a row is --- */

/* Makes steps longer until the offset is in one of them. */
static void widen(struct hl_address_fill *f, uint64_t offset)
{
	while (offset / f->step >= HL_FILL_STEPS && f->step < UINT64_C(1) << 57) {
		for (size_t i = 0; i < HL_FILL_STEPS / 2; i++)
			f->bytes[i] = f->bytes[2 * i] + f->bytes[2 * i + 1];
		memset(f->bytes + HL_FILL_STEPS / 2, 0, sizeof(f->bytes) / 2);
		f->step *= 2;
	}
}

static void fill(struct hl_address_fill *f, uint64_t offset, uint64_t size)
{
	if (size > 0)
		widen(f, offset + size - 1);
	while (size > 0) {
		uint64_t i = offset / f->step, room = f->step - offset % f->step;
		uint64_t part = hl_min_u64(size, room);

		if (i >= HL_FILL_STEPS)
			return;
		f->bytes[i] += part;
		offset += part;
		size -= part;
	}
}

/* --- rows --- */

static struct hl_address_row *last_row(struct builder *b)
{
	return b->rows.len > 0 ? &b->rows.data[b->rows.len - 1] : NULL;
}

/* The last row gets no more blocks. */
static void close_row(struct builder *b)
{
	struct hl_address_row *r = last_row(b);

	if (!b->open)
		return;
	b->open = false;
	if (!r->map)
		r->end = b->blocks_end;
	if (r->all.blocks && b->blocks_end < r->end) {
		r->free_bytes += r->end - b->blocks_end;
		r->largest_gap = hl_max_u64(r->largest_gap, r->end - b->blocks_end);
	}
}

static int add_row(struct builder *b, const struct hl_address_row *row)
{
	close_row(b);
	b->open = true;
	b->blocks_end = row->start;
	return hl_vec_push(&b->rows, *row);
}

static int add_map(struct builder *b)
{
	const struct hl_resident_map *map = &b->s->resident.maps[b->next_map++];

	return add_row(
		b, &(struct hl_address_row){.start = map->start, .end = map->end, .map = map});
}

/* Adds the mappings up to this address. */
static int pass_maps(struct builder *b, uint64_t addr)
{
	int err = 0;

	while (!err && b->next_map < b->s->resident.n_maps &&
		b->s->resident.maps[b->next_map].start <= addr)
		err = add_map(b);
	return err;
}

/* The row of a block: the mapping with its address, else a region of blocks. */
static int find_row(struct builder *b, uint64_t addr)
{
	struct hl_address_row *r;
	int err = pass_maps(b, addr);

	if (err)
		return err;
	r = last_row(b);
	if (r && b->open && r->map && addr < r->end)
		return 0;
	if (r && b->open && !r->map && addr - hl_min_u64(addr, b->blocks_end) < HL_REGION_GAP)
		return 0;
	return add_row(b, &(struct hl_address_row){.start = addr, .end = addr});
}

static int add_to_row(struct builder *b, const struct live_block *block)
{
	struct hl_address_row *r = last_row(b);
	uint64_t end = block->addr + block->size;
	uint64_t gap = block->addr - hl_min_u64(block->addr, b->blocks_end);

	if (!r->fill) {
		r->fill = calloc(1, sizeof(*r->fill));
		if (!r->fill)
			return -ENOMEM;
		r->fill->step = HL_PAGE_BYTES;
		if (r->map && r->end > r->start)
			widen(r->fill, r->end - r->start - 1);
	}
	r->free_bytes += gap;
	r->largest_gap = hl_max_u64(r->largest_gap, gap);
	r->all.bytes += block->size;
	r->all.blocks++;
	r->live.bytes += block->fits ? block->size : 0;
	r->live.blocks += block->fits;
	b->s->outside_blocks += !r->map;
	fill(r->fill, block->addr - r->start, block->size);
	b->blocks_end = hl_max_u64(b->blocks_end, end);
	return 0;
}

/* --- the blocks --- */

static void begin_stream(void *arg)
{
	struct builder *b = arg;

	for (size_t i = 0; i < b->rows.len; i++)
		free(b->rows.data[i].fill);
	b->rows.len = b->blocks.len = b->next_map = 0;
	b->open = false;
	b->s->live = b->s->all = (struct hl_value){0};
	b->s->outside_blocks = 0;
}

static int add_block(void *arg, const struct hl_block *block)
{
	struct builder *b = arg;
	struct live_block l = {.addr = block->addr, .size = block->size, .fits = true};
	int err = 0;

	if (block->free_phase < HL_RANGE_AFTER)
		return 0;
	if (block->size > UINT64_MAX - block->addr)
		l.size = UINT64_MAX - block->addr; /* a forged file */
	if (b->filter)
		err = hl_filter_block(b->filter, b->m, block, &l.fits);
	if (err)
		return err;
	b->s->all.bytes += l.size;
	b->s->all.blocks++;
	b->s->live.bytes += l.fits ? l.size : 0;
	b->s->live.blocks += l.fits;
	return hl_vec_push(&b->blocks, l);
}

static int compare_addrs(const void *pa, const void *pb)
{
	const struct live_block *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static int add_slice(void *arg)
{
	struct builder *b = arg;
	int err = 0;

	if (b->blocks.len > 1)
		qsort(b->blocks.data, b->blocks.len, sizeof(*b->blocks.data), compare_addrs);
	for (size_t i = 0; i < b->blocks.len && !err; i++) {
		err = find_row(b, b->blocks.data[i].addr);
		if (!err)
			err = add_to_row(b, &b->blocks.data[i]);
	}
	hl_vec_free(&b->blocks); /* before the table of the next slice grows */
	return err;
}

static int run_stream(struct builder *b, const struct hl_time_spec *when)
{
	unsigned subjects = b->filter ? hl_filter_subjects(b->filter) : 0;

	b->stream = (struct hl_block_stream){.to = hl_query_to(b->m, when),
		.include_older = true,
		.read_all_frees = subjects & HL_FILTER_FREE_TIME,
		.func = subjects & HL_FILTER_FUNC,
		.begin = begin_stream,
		.block = add_block,
		.slice_end = add_slice,
		.arg = b};
	b->stream.from = b->stream.to;
	return hl_block_stream_run(b->m, &b->stream);
}

/* --- all --- */

static int find_maps(struct builder *b, uint64_t moment_ns)
{
	struct hl_time_range all = hl_time_range_all(b->m);
	int err;

	err = hl_resident_at(&b->s->resident, b->m, moment_ns, &all, NULL, NULL, 0);
	if (err == -ENODATA) {
		hl_resident_fini(&b->s->resident);
		b->s->resident = (struct hl_resident){0};
		return 0;
	}
	b->s->has_maps = !err;
	return err;
}

static void finish_rows(struct builder *b)
{
	struct hl_address_space *s = b->s;

	close_row(b);
	s->rows = b->rows.data;
	s->n_rows = b->rows.len;
	b->rows.data = NULL;
	for (size_t i = 0; i < s->n_rows; i++) {
		struct hl_address_row *r = &s->rows[i];

		if (i > 0 && r->start > s->rows[i - 1].end)
			r->gap_before = r->start - s->rows[i - 1].end;
		s->clusters += i == 0 || r->gap_before >= HL_CLUSTER_GAP;
		r->cluster = s->clusters;
	}
}

static int build(struct builder *b, const struct hl_time_spec *when)
{
	int err = hl_time_spec_check_blocks(when, b->m);

	if (!err && b->filter)
		err = hl_filter_bind(b->filter, b->m);
	if (!err)
		err = find_maps(b, hl_time_spec_ns(when, b->m));
	if (!err)
		err = run_stream(b, when);
	if (!err)
		err = pass_maps(b, UINT64_MAX);
	if (err)
		return err;
	b->s->time_ns = b->stream.to.time_ns;
	b->s->before_damage = b->stream.to.before_damage;
	finish_rows(b);
	return 0;
}

int hl_address_space_at(struct hl_address_space *s, struct hl_model *m,
	const struct hl_time_spec *when, struct hl_filter *filter)
{
	struct builder b = {.s = s, .m = m, .filter = filter};
	int err;

	*s = (struct hl_address_space){0};
	err = hl_model_require_blocks(m, when, "the addresses of blocks");
	if (!err)
		err = hl_model_require_known(m, HL_UNKNOWN_ADDRESSES, "the address space");
	if (!err)
		err = build(&b, when);
	for (size_t i = 0; i < b.rows.len && b.rows.data; i++)
		free(b.rows.data[i].fill);
	hl_vec_free(&b.rows);
	hl_vec_free(&b.blocks);
	return err;
}

void hl_address_space_fini(struct hl_address_space *s)
{
	for (size_t i = 0; i < s->n_rows; i++)
		free(s->rows[i].fill);
	free(s->rows);
	hl_resident_fini(&s->resident);
	*s = (struct hl_address_space){0};
}
