/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mappings.c - see mappings.h.
 *
 * The mapped memory is a list of ranges that do not overlap; each range belongs to one mapping.
 * Linux assigns addresses from the top down, so the list is sorted by descending address and most
 * new ranges are appended. Memory is bounded by the number of mappings that exist at one time.
 */
#include "model/views/mappings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "model/model_internal.h"
#include "model/query/query_plan.h"
#include "model/query/time_spec.h"
#include "model/query/sums.h"
#include "model/tags/roles.h"

#define PAGE 4096u
/* By default a process has at most 65,530 mappings. */
#define RANGES_MAX (1u << 20)
/* Limit of ranges moved by insertions and removals: about ten seconds. Only a forged trace reaches
 * it. */
#define MOVES_MAX (UINT64_C(1) << 33)

struct range {
	uint64_t from, to; /* pages, [from, to) */
	uint32_t map;      /* index in maps */
};

struct scan {
	struct hl_model *m;
	struct hl_mappings *x;
	HL_VEC(struct range) ranges;
	HL_VEC(struct hl_mapping) maps; /* existing ones; unused slots are linked by `id` */
	size_t free_list;               /* first slot of the free list + 1; 0: it is empty */
	uint64_t next_id, mapped, ranges_moved;
	uint64_t call;   /* one-based index of the current side event */
	uint64_t allocs; /* heap allocations before it */
};

/* --- text --- */

const char *hl_mapping_prot(char buf[HL_MAPPING_PROT_MAX], uint32_t prot)
{
	buf[0] = prot & 1 ? 'r' : '-';
	buf[1] = prot & 2 ? 'w' : '-';
	buf[2] = prot & 4 ? 'x' : '-';
	buf[3] = '\0';
	return buf;
}

/* Linux's values on most CPUs. System headers are not used, because the trace
 * may be read on another machine. */
static const struct {
	uint32_t bit;
	const char *name;
} flag_names[] = {
	{0x10, "fixed"},
	{0x20, "anonymous"},
	{0x40, "32bit"},
	{0x100, "growsdown"},
	{0x800, "denywrite"},
	{0x1000, "executable"},
	{0x2000, "locked"},
	{0x4000, "noreserve"},
	{0x8000, "populate"},
	{0x10000, "nonblock"},
	{0x20000, "stack"},
	{0x40000, "hugetlb"},
	{0x80000, "sync"},
	{0x100000, "fixed_noreplace"},
};
#define FLAG_TYPE 0xfu

void hl_mapping_put_flags(struct hl_strbuf *b, uint32_t flags)
{
	static const char *const types[] = {"", "shared", "private", "shared_validate"};
	uint32_t type = flags & FLAG_TYPE;
	const char *comma = type ? "," : "";

	if (type < HL_ARRAY_LEN(types))
		hl_strbuf_puts(b, types[type]);
	else
		hl_strbuf_printf(b, "0x%" PRIx32, type);
	flags &= ~FLAG_TYPE;
	for (size_t i = 0; i < HL_ARRAY_LEN(flag_names); i++) {
		if (!(flags & flag_names[i].bit))
			continue;
		hl_strbuf_printf(b, "%s%s", comma, flag_names[i].name);
		comma = ",";
		flags &= ~flag_names[i].bit;
	}
	if (flags)
		hl_strbuf_printf(b, "%s0x%" PRIx32, comma, flags);
}

void hl_mapping_text_init(struct hl_mapping_text *w, const struct hl_mapping *map)
{
	*w = (struct hl_mapping_text){0};
	if (map->flags_unknown)
		return;
	hl_mapping_put_flags(&w->flags_text, map->flags);
	w->flags = hl_strbuf_str(&w->flags_text);
	w->prot = hl_mapping_prot(w->prot_text, map->prot);
}

void hl_mapping_text_fini(struct hl_mapping_text *w)
{
	hl_strbuf_fini(&w->flags_text);
}

/* --- results --- */

static int test_filter(struct scan *w, const struct hl_mapping *map, bool *holds)
{
	struct hl_role role = hl_role_at(w->m, map->thread);
	struct hl_block b = {.ordinal = map->allocs_before,
		.addr = map->addr,
		.size = map->size,
		.blocks = 1,
		.bytes = map->size,
		.alloc_ns = map->mapped_ns,
		.free_ns = map->unmapped_ns,
		.node = map->node,
		.thread = role.thread,
		.tag = role.tag,
		.free_node = HL_NODE_NONE, /* not known, as the thread */
		.free_thread = UINT32_MAX,
		.func = HL_FUNC_MMAP,
		.free_func = HL_FUNC_COUNT};

	*holds = true;
	return w->x->filter ? hl_filter_block(w->x->filter, w->m, &b, holds) : 0;
}

static int report_mapping(struct scan *w, const struct hl_mapping *map)
{
	struct hl_mappings *x = w->x;
	struct hl_mapping out = *map;
	bool holds;
	int err = test_filter(w, map, &holds);

	if (err || !holds)
		return err ? hl_model_fail(w->m, err) : 0;
	x->n++;
	x->bytes += map->size;
	x->n_left += map->mapped_bytes > 0;
	x->left_bytes += map->mapped_bytes;
	out.thread = hl_role_at(w->m, map->thread).thread;
	out.end_thread = hl_role_at(w->m, map->end_thread).thread;
	return x->on_mapping ? x->on_mapping(x->arg, &out) : 0;
}

/* --- ranges --- */

/* The index of the first range that begins below page `to`. All ranges before it are at `to` or
 * above. */
static size_t find_range(const struct scan *w, uint64_t to)
{
	size_t lo = 0, hi = w->ranges.len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->ranges.data[mid].from >= to)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int fail_too_many(struct scan *w)
{
	snprintf(w->m->error, sizeof(w->m->error),
		"the trace has more mappings at one time than any process has: it is forged or "
		"damaged");
	return -EOVERFLOW;
}

/* Replaces n ranges at index `at` by k others. */
static int splice_ranges(
	struct scan *w, size_t at, size_t n, const struct range *new_ranges, size_t k)
{
	size_t rest = w->ranges.len - at - n;

	w->ranges_moved += n != k ? rest : 0;
	if (w->ranges.len + k > RANGES_MAX || w->ranges_moved > MOVES_MAX)
		return fail_too_many(w);
	if (hl_vec_reserve(&w->ranges, w->ranges.len + k))
		return hl_model_fail(w->m, -ENOMEM);
	memmove(&w->ranges.data[at + k], &w->ranges.data[at + n], rest * sizeof(*new_ranges));
	if (k > 0)
		memcpy(&w->ranges.data[at], new_ranges, k * sizeof(*new_ranges));
	w->ranges.len += k - n;
	return 0;
}

static int insert_range(struct scan *w, struct range r)
{
	uint64_t bytes = (r.to - r.from) * PAGE;

	if (r.from >= r.to)
		return 0;
	w->maps.data[r.map].mapped_bytes += bytes;
	w->mapped += bytes;
	return splice_ranges(w, find_range(w, r.to), 0, &r, 1);
}

/* Reports a mapping whose last range was removed, and puts its slot on the free list. */
static int finish_mapping(struct scan *w, uint32_t i)
{
	int err = report_mapping(w, &w->maps.data[i]);

	w->maps.data[i] = (struct hl_mapping){.id = w->free_list};
	w->free_list = (size_t)i + 1;
	return err;
}

/* A side event removes a range of a mapping. */
static int shrink_mapping(
	struct scan *w, const struct range *r, const struct hl_extra *x, uint32_t keep)
{
	struct hl_mapping *map = &w->maps.data[r->map];
	uint64_t bytes = (r->to - r->from) * PAGE;

	w->mapped -= bytes;
	map->mapped_bytes -= bytes;
	if (r->map == keep)
		return 0;
	/* One call may remove several ranges of a mapping that has holes; it counts once. */
	map->partial_unmaps += map->last_unmap_call != w->call;
	map->last_unmap_call = w->call;
	if (map->mapped_bytes > 0)
		return 0;
	map->unmapped_ns = x->time_ns;
	map->end_node = x->node;
	map->end_thread = x->thread;
	map->replaced = x->kind != HL_EXTRA_MUNMAP;
	return finish_mapping(w, r->map);
}

/* Unmaps [from, to). For the mapping `keep` this is not an end and not a cut: it is being moved. */
static int unmap_range(
	struct scan *w, uint64_t from, uint64_t to, const struct hl_extra *x, uint32_t keep)
{
	size_t at = find_range(w, to);
	int err = 0;

	while (!err && at < w->ranges.len && w->ranges.data[at].to > from) {
		struct range r = w->ranges.data[at], left[2];
		size_t k = 0;

		if (r.to > to)
			left[k++] = (struct range){to, r.to, r.map};
		if (r.from < from)
			left[k++] = (struct range){r.from, from, r.map};
		err = splice_ranges(w, at, 1, left, k);
		at += k;
		r.from = hl_max_u64(r.from, from);
		r.to = hl_min_u64(r.to, to);
		if (!err)
			err = shrink_mapping(w, &r, x, keep);
	}
	return err;
}

/* --- the three calls --- */

static uint64_t first_page(uint64_t addr)
{
	return addr / PAGE;
}

/* The first page behind the range. Values of a damaged trace must not overflow. */
static uint64_t end_page(uint64_t addr, uint64_t size)
{
	return size > UINT64_MAX - PAGE - addr ? UINT64_MAX / PAGE
					       : (addr + size + PAGE - 1) / PAGE;
}

static int add_mapping(struct scan *w, const struct hl_extra *x, uint32_t *slot)
{
	bool known = x->kind == HL_EXTRA_MMAP;
	struct hl_mapping map = {.id = w->next_id++,
		.addr = x->addr,
		.size = x->size,
		.last_addr = x->addr,
		.last_size = x->size,
		.mapped_ns = x->time_ns,
		.unmapped_ns = UINT64_MAX,
		.allocs_before = w->allocs,
		.node = x->node,
		.thread = x->thread,
		.end_node = HL_NODE_NONE,
		.prot = known ? (uint32_t)x->value : 0,
		.flags = known ? (uint32_t)(x->value >> 32) : 0,
		.flags_unknown = !known};

	if (w->free_list == 0) {
		*slot = (uint32_t)w->maps.len;
		return hl_vec_push(&w->maps, map) ? hl_model_fail(w->m, -ENOMEM) : 0;
	}
	*slot = (uint32_t)(w->free_list - 1);
	w->free_list = w->maps.data[*slot].id;
	w->maps.data[*slot] = map;
	return 0;
}

/* The mapping at a page; UINT32_MAX: none is known. */
static uint32_t map_at(const struct scan *w, uint64_t page)
{
	size_t at = find_range(w, page + 1);

	return at < w->ranges.len && w->ranges.data[at].to > page ? w->ranges.data[at].map
								  : UINT32_MAX;
}

/* Undoes a munmap that failed. A munmap is recorded before its call. The kernel refuses it if it
 * would make a hole in a mapping and the process has too many mappings; an mmap with value 0 then
 * follows in the trace. The range belongs again to the mapping below it. */
static int undo_munmap(struct scan *w, struct range r)
{
	r.map = r.from > 0 ? map_at(w, r.from - 1) : UINT32_MAX;
	if (r.map == UINT32_MAX)
		return 0;
	w->maps.data[r.map].partial_unmaps -= w->maps.data[r.map].partial_unmaps > 0;
	return insert_range(w, r);
}

static int apply_mmap(struct scan *w, const struct hl_extra *x)
{
	struct range r = {first_page(x->addr), end_page(x->addr, x->size), UINT32_MAX};
	int err;

	if (x->size == 0 || r.from >= r.to)
		return 0;
	err = unmap_range(w, r.from, r.to, x, UINT32_MAX);
	if (!err && x->value == 0)
		return undo_munmap(w, r);
	if (!err)
		err = add_mapping(w, x, &r.map);
	return err ? err : insert_range(w, r);
}

/* With an old size of 0 mremap makes a second mapping of the same memory, with the same
 * protection. */
static int apply_mremap_copy(struct scan *w, const struct hl_extra *x, struct range r)
{
	uint32_t from = map_at(w, first_page(x->value));
	struct hl_mapping source = {.flags_unknown = true}, *map;
	int err;

	if (from != UINT32_MAX)
		source = w->maps.data[from];
	err = unmap_range(w, r.from, r.to, x, UINT32_MAX);
	if (!err)
		err = add_mapping(w, x, &r.map);
	if (err)
		return err;
	map = &w->maps.data[r.map];
	map->prot = source.prot;
	map->flags = source.flags;
	map->flags_unknown = source.flags_unknown;
	return insert_range(w, r);
}

static int apply_mremap(struct scan *w, const struct hl_extra *x)
{
	uint64_t old = first_page(x->value), old_end = end_page(x->value, x->value2);
	struct range r = {first_page(x->addr), end_page(x->addr, x->size), map_at(w, old)};
	int err;

	if (x->size == 0 || r.from >= r.to)
		return 0;
	if (x->value2 == 0)
		return apply_mremap_copy(w, x, r);
	err = unmap_range(w, old, old_end, x, r.map);
	if (!err)
		err = unmap_range(w, r.from, r.to, x, r.map);
	if (!err && r.map == UINT32_MAX)
		err = add_mapping(w, x, &r.map);
	if (err)
		return err;
	w->maps.data[r.map].remaps++;
	w->maps.data[r.map].last_addr = x->addr;
	w->maps.data[r.map].last_size = x->size;
	return insert_range(w, r);
}

static int apply_side_event(struct scan *w, const struct hl_extra *x)
{
	int err = 0;

	w->call++;
	if (x->kind == HL_EXTRA_MMAP)
		err = apply_mmap(w, x);
	else if (x->kind == HL_EXTRA_MREMAP)
		err = apply_mremap(w, x);
	else if (x->kind == HL_EXTRA_MUNMAP)
		err = unmap_range(
			w, first_page(x->addr), end_page(x->addr, x->size), x, UINT32_MAX);
	if (w->mapped > w->x->peak_bytes) {
		w->x->peak_bytes = w->mapped;
		w->x->peak_ns = x->time_ns;
	}
	return err;
}

/* --- the scan --- */

static int apply_chunk(struct scan *w, size_t chunk, const struct hl_chunk_events *c)
{
	size_t event = 0;
	int err = 0;

	w->allocs = hl_reader_chunk(w->m->reader, chunk)->first_ordinal;
	for (size_t i = 0; i < c->n_extras && !err; i++) {
		for (; event < c->extras_at[i] && event < c->n_events; event++)
			w->allocs += c->events[event].op == HL_OP_ALLOC;
		if (c->extras[i].node != HL_NODE_NONE && c->extras[i].node >= w->m->n_nodes)
			return -EBADMSG;
		err = apply_side_event(w, &c->extras[i]);
	}
	return err;
}

static int read_all(struct scan *w)
{
	size_t n = hl_reader_n_chunks(w->m->reader);
	struct hl_chunk_events c = {0};
	int err = 0;

	hl_work_begin(&w->m->work, HL_WORK_PASS, HL_WORK_READING);
	for (size_t i = 0; i < n && !err; i++) {
		err = hl_work_tick(&w->m->work, i, n);
		if (!err)
			err = hl_chunk_is_lost(w->m, i)
				      ? -EBADMSG
				      : hl_reader_decode_some(w->m->reader, i, HL_WANT_OTHERS, &c);
		if (!err)
			err = apply_chunk(w, i, &c);
		else if (err != -EBADMSG)
			hl_model_fail(w->m, err);
		if (err == -EBADMSG) {
			hl_model_mark_bad(w->m, &w->m->bad_chunks[i]);
			w->x->before_damage = true;
			w->x->end_ns = i > 0 ? hl_reader_chunk(w->m->reader, i - 1)->t1_ns : 0;
			err = 0;
			break;
		}
	}
	hl_work_end(&w->m->work, HL_WORK_PASS);
	hl_chunk_events_free(&c);
	return err;
}

static int compare_ids(const void *a, const void *b)
{
	uint64_t x = ((const struct hl_mapping *)a)->id, y = ((const struct hl_mapping *)b)->id;

	return (x > y) - (x < y);
}

static int report_remaining(struct scan *w)
{
	int err = 0;

	if (w->maps.len > 0)
		qsort(w->maps.data, w->maps.len, sizeof(*w->maps.data), compare_ids);
	for (size_t i = 0; i < w->maps.len && !err; i++) {
		if (w->maps.data[i].mapped_bytes > 0)
			err = report_mapping(w, &w->maps.data[i]);
	}
	return err;
}

int hl_mappings_check(struct hl_model *m, struct hl_filter *filter)
{
	const struct hl_time_spec end = {.kind = HL_TIME_SPEC_END};
	int err = hl_model_require(m, HL_NEEDS_MMAPS, "this");

	if (!err)
		err = hl_time_spec_check_blocks(&end, m);
	return err || !filter ? err : hl_filter_bind(filter, m);
}

int hl_model_mappings(struct hl_model *m, struct hl_mappings *x)
{
	struct scan w = {.m = m, .x = x};
	int err = hl_mappings_check(m, x->filter);

	x->n = x->bytes = x->n_left = x->left_bytes = x->peak_bytes = x->peak_ns = 0;
	x->end_ns = hl_model_end_ns(m);
	x->before_damage = false;
	if (!err)
		err = read_all(&w);
	if (!err)
		err = report_remaining(&w);
	hl_vec_free(&w.ranges);
	hl_vec_free(&w.maps);
	return err;
}

/* --- the largest mappings --- */

struct largest_context {
	struct hl_mapping_list *list;
	size_t limit;
};

static int compare_sizes(const void *pa, const void *pb)
{
	const struct hl_mapping *a = pa, *b = pb;

	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return compare_ids(a, b);
}

static void trim_to_largest(struct largest_context *k, size_t when)
{
	if (k->list->maps.len <= when)
		return;
	qsort(k->list->maps.data, k->list->maps.len, sizeof(*k->list->maps.data), compare_sizes);
	if (k->limit && k->list->maps.len > k->limit)
		k->list->maps.len = k->limit;
}

static int keep_mapping(void *arg, const struct hl_mapping *map)
{
	struct largest_context *k = arg;
	int err = hl_vec_push(&k->list->maps, *map);

	if (!err && k->limit)
		trim_to_largest(k, k->limit * 2 + 1024);
	return err;
}

int hl_mappings_largest(
	struct hl_model *m, struct hl_filter *filter, size_t limit, struct hl_mapping_list *list)
{
	struct largest_context k = {list, limit};
	int err;

	*list = (struct hl_mapping_list){
		.sums = {.filter = filter, .on_mapping = keep_mapping, .arg = &k}};
	err = hl_model_mappings(m, &list->sums);
	if (err == -ENOMEM)
		hl_model_fail(m, err);
	if (!err)
		trim_to_largest(&k, 0);
	else
		hl_mapping_list_fini(list);
	return err;
}

void hl_mapping_list_fini(struct hl_mapping_list *list)
{
	hl_vec_free(&list->maps);
}
