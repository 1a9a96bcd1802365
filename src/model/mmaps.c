/*
 * mmaps.c - see mmaps.h.
 *
 * What is mapped is a list of ranges that do not overlap, each of one mapping. Linux gives out
 * addresses from the top down, so the list has the highest first: most new ranges are its last.
 * What is held is bounded by the mappings that exist at one time.
 */
#include "model/mmaps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "model/model_internal.h"
#include "model/sums.h"
#include "model/tags.h"

#define PAGE 4096u
/* A process has 65,530 maps unless its system was told otherwise. */
#define RANGES_MAX (1u << 20)
/* Ranges that were moved to make room: some ten seconds, which only a forged trace takes. */
#define MOVES_MAX (UINT64_C(1) << 33)

struct range {
	uint64_t from, to; /* pages, [from, to) */
	uint32_t map;      /* in maps */
};

struct work {
	struct hl_model *m;
	struct hl_mmaps *x;
	HL_VEC(struct range) ranges;
	HL_VEC(struct hl_mmap) maps; /* that exist; others are a list by id */
	size_t hole;                 /* the list's first place + 1 */
	uint64_t next_id, mapped, moves;
	uint64_t call;   /* number of the extra that is being taken, from 1 */
	uint64_t allocs; /* of the heap, before it */
};

/* --- words --- */

const char *hl_mmap_prot(char buf[HL_MMAP_PROT_MAX], uint32_t prot)
{
	buf[0] = prot & 1 ? 'r' : '-';
	buf[1] = prot & 2 ? 'w' : '-';
	buf[2] = prot & 4 ? 'x' : '-';
	buf[3] = '\0';
	return buf;
}

/* Linux's numbers, as x86_64 has them: the trace may be read on another machine. */
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

void hl_mmap_put_flags(struct hl_strbuf *b, uint32_t flags)
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

void hl_mmap_words_init(struct hl_mmap_words *w, const struct hl_mmap *map)
{
	*w = (struct hl_mmap_words){0};
	if (map->unknown)
		return;
	hl_mmap_put_flags(&w->flags_text, map->flags);
	w->flags = hl_strbuf_str(&w->flags_text);
	w->prot = hl_mmap_prot(w->prot_text, map->prot);
}

void hl_mmap_words_fini(struct hl_mmap_words *w)
{
	hl_strbuf_fini(&w->flags_text);
}

/* --- handing over --- */

static int fits(struct work *w, const struct hl_mmap *map, bool *holds)
{
	struct hl_role role = hl_role_of(w->m, map->thread);
	struct hl_block b = {.ordinal = map->allocs_before,
		.addr = map->addr,
		.size = map->size,
		.blocks = 1,
		.bytes = map->size,
		.birth_ns = map->birth_ns,
		.death_ns = map->death_ns,
		.node = map->node,
		.thread = role.thread,
		.tag = role.tag,
		.func = HL_FUNC_MMAP};

	*holds = true;
	return w->x->filter ? hl_filter_block(w->x->filter, w->m, &b, holds) : 0;
}

static int hand_over(struct work *w, const struct hl_mmap *map)
{
	struct hl_mmaps *x = w->x;
	struct hl_mmap out = *map;
	bool holds;
	int err = fits(w, map, &holds);

	if (err || !holds)
		return err ? hl_model_fail(w->m, err) : 0;
	x->n++;
	x->bytes += map->size;
	x->n_left += map->mapped_bytes > 0;
	x->left_bytes += map->mapped_bytes;
	out.thread = hl_role_of(w->m, map->thread).thread;
	out.end_thread = hl_role_of(w->m, map->end_thread).thread;
	return x->mapping ? x->mapping(x->arg, &out) : 0;
}

/* --- ranges --- */

/* The first range that ends at or below `to`'s page or overlaps what is below it: all before lie
 * at `to` or above. */
static size_t find(const struct work *w, uint64_t to)
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

static int too_many(struct work *w)
{
	snprintf(w->m->error, sizeof(w->m->error),
		"the trace has more mappings at one time than any process has: it is forged or "
		"damaged");
	return -EOVERFLOW;
}

/* Replaces n ranges at `at` by k others. */
static int splice(struct work *w, size_t at, size_t n, const struct range *with, size_t k)
{
	size_t rest = w->ranges.len - at - n;

	w->moves += n != k ? rest : 0;
	if (w->ranges.len + k > RANGES_MAX || w->moves > MOVES_MAX)
		return too_many(w);
	if (hl_vec_reserve(&w->ranges, w->ranges.len + k))
		return hl_model_fail(w->m, -ENOMEM);
	memmove(&w->ranges.data[at + k], &w->ranges.data[at + n], rest * sizeof(*with));
	if (k > 0)
		memcpy(&w->ranges.data[at], with, k * sizeof(*with));
	w->ranges.len += k - n;
	return 0;
}

static int insert(struct work *w, struct range r)
{
	uint64_t bytes = (r.to - r.from) * PAGE;

	if (r.from >= r.to)
		return 0;
	w->maps.data[r.map].mapped_bytes += bytes;
	w->mapped += bytes;
	return splice(w, find(w, r.to), 0, &r, 1);
}

/* Its last range is gone. */
static int end_map(struct work *w, uint32_t i)
{
	int err = hand_over(w, &w->maps.data[i]);

	w->maps.data[i] = (struct hl_mmap){.id = w->hole};
	w->hole = (size_t)i + 1;
	return err;
}

/* A part of a mapping is taken by this extra. */
static int cut_map(struct work *w, const struct range *r, const struct hl_extra *x, uint32_t keep)
{
	struct hl_mmap *map = &w->maps.data[r->map];
	uint64_t bytes = (r->to - r->from) * PAGE;

	w->mapped -= bytes;
	map->mapped_bytes -= bytes;
	if (r->map == keep)
		return 0;
	/* One call may take several ranges of a mapping that has holes. */
	map->cuts += map->cut_by != w->call;
	map->cut_by = w->call;
	if (map->mapped_bytes > 0)
		return 0;
	map->death_ns = x->time_ns;
	map->end_node = x->node;
	map->end_thread = x->thread;
	map->replaced = x->kind != HL_EXTRA_MUNMAP;
	return end_map(w, r->map);
}

/* Unmaps [from, to). The mapping `keep` does not end by it, and has lost no part: it is moved. */
static int cut(struct work *w, uint64_t from, uint64_t to, const struct hl_extra *x, uint32_t keep)
{
	size_t at = find(w, to);
	int err = 0;

	while (!err && at < w->ranges.len && w->ranges.data[at].to > from) {
		struct range r = w->ranges.data[at], left[2];
		size_t k = 0;

		if (r.to > to)
			left[k++] = (struct range){to, r.to, r.map};
		if (r.from < from)
			left[k++] = (struct range){r.from, from, r.map};
		err = splice(w, at, 1, left, k);
		at += k;
		r.from = hl_max_u64(r.from, from);
		r.to = hl_min_u64(r.to, to);
		if (!err)
			err = cut_map(w, &r, x, keep);
	}
	return err;
}

/* --- the three calls --- */

static uint64_t first_page(uint64_t addr)
{
	return addr / PAGE;
}

/* Beyond the last page of the range; nothing in a trace may overflow. */
static uint64_t end_page(uint64_t addr, uint64_t size)
{
	return size > UINT64_MAX - PAGE - addr ? UINT64_MAX / PAGE
					       : (addr + size + PAGE - 1) / PAGE;
}

static int new_map(struct work *w, const struct hl_extra *x, uint32_t *place)
{
	bool known = x->kind == HL_EXTRA_MMAP;
	struct hl_mmap map = {.id = w->next_id++,
		.addr = x->addr,
		.size = x->size,
		.last_addr = x->addr,
		.last_size = x->size,
		.birth_ns = x->time_ns,
		.death_ns = UINT64_MAX,
		.allocs_before = w->allocs,
		.node = x->node,
		.thread = x->thread,
		.end_node = HL_NODE_NONE,
		.prot = known ? (uint32_t)x->value : 0,
		.flags = known ? (uint32_t)(x->value >> 32) : 0,
		.unknown = !known};

	if (w->hole == 0) {
		*place = (uint32_t)w->maps.len;
		return hl_vec_push(&w->maps, map) ? hl_model_fail(w->m, -ENOMEM) : 0;
	}
	*place = (uint32_t)(w->hole - 1);
	w->hole = w->maps.data[*place].id;
	w->maps.data[*place] = map;
	return 0;
}

/* The mapping at a page; UINT32_MAX: none that is known. */
static uint32_t map_at(const struct work *w, uint64_t page)
{
	size_t at = find(w, page + 1);

	return at < w->ranges.len && w->ranges.data[at].to > page ? w->ranges.data[at].map
								  : UINT32_MAX;
}

/* The kernel refused the munmap before this, which is recorded before its call: it would have made
 * a hole in a mapping, and there are too many. So the mapping goes on below it. */
static int give_back(struct work *w, struct range r)
{
	r.map = r.from > 0 ? map_at(w, r.from - 1) : UINT32_MAX;
	if (r.map == UINT32_MAX)
		return 0;
	w->maps.data[r.map].cuts -= w->maps.data[r.map].cuts > 0;
	return insert(w, r);
}

static int take_mmap(struct work *w, const struct hl_extra *x)
{
	struct range r = {first_page(x->addr), end_page(x->addr, x->size), UINT32_MAX};
	int err;

	if (x->size == 0 || r.from >= r.to)
		return 0;
	err = cut(w, r.from, r.to, x, UINT32_MAX);
	if (!err && x->value == 0)
		return give_back(w, r);
	if (!err)
		err = new_map(w, x, &r.map);
	return err ? err : insert(w, r);
}

/* Without an old size mremap makes a second mapping beside the old one, with its protection. */
static int take_copy(struct work *w, const struct hl_extra *x, struct range r)
{
	uint32_t from = map_at(w, first_page(x->value));
	struct hl_mmap source = {.unknown = true}, *map;
	int err;

	if (from != UINT32_MAX)
		source = w->maps.data[from];
	err = cut(w, r.from, r.to, x, UINT32_MAX);
	if (!err)
		err = new_map(w, x, &r.map);
	if (err)
		return err;
	map = &w->maps.data[r.map];
	map->prot = source.prot;
	map->flags = source.flags;
	map->unknown = source.unknown;
	return insert(w, r);
}

static int take_mremap(struct work *w, const struct hl_extra *x)
{
	uint64_t old = first_page(x->value), old_end = end_page(x->value, x->value2);
	struct range r = {first_page(x->addr), end_page(x->addr, x->size), map_at(w, old)};
	int err;

	if (x->size == 0 || r.from >= r.to)
		return 0;
	if (x->value2 == 0)
		return take_copy(w, x, r);
	err = cut(w, old, old_end, x, r.map);
	if (!err)
		err = cut(w, r.from, r.to, x, r.map);
	if (!err && r.map == UINT32_MAX)
		err = new_map(w, x, &r.map);
	if (err)
		return err;
	w->maps.data[r.map].remaps++;
	w->maps.data[r.map].last_addr = x->addr;
	w->maps.data[r.map].last_size = x->size;
	return insert(w, r);
}

static int take_extra(struct work *w, const struct hl_extra *x)
{
	int err = 0;

	w->call++;
	if (x->kind == HL_EXTRA_MMAP)
		err = take_mmap(w, x);
	else if (x->kind == HL_EXTRA_MREMAP)
		err = take_mremap(w, x);
	else if (x->kind == HL_EXTRA_MUNMAP)
		err = cut(w, first_page(x->addr), end_page(x->addr, x->size), x, UINT32_MAX);
	if (w->mapped > w->x->peak_bytes) {
		w->x->peak_bytes = w->mapped;
		w->x->peak_ns = x->time_ns;
	}
	return err;
}

/* --- the whole --- */

static int take_chunk(struct work *w, size_t chunk, const struct hl_chunk_events *c)
{
	size_t event = 0;
	int err = 0;

	w->allocs = hl_reader_chunk(w->m->reader, chunk)->first_ordinal;
	for (size_t i = 0; i < c->n_extras && !err; i++) {
		for (; event < c->extras_at[i] && event < c->n_events; event++)
			w->allocs += c->events[event].op == HL_OP_ALLOC;
		if (c->extras[i].node != HL_NODE_NONE && c->extras[i].node >= w->m->n_nodes)
			return -EBADMSG;
		err = take_extra(w, &c->extras[i]);
	}
	return err;
}

static int read_all(struct work *w)
{
	size_t n = hl_reader_n_chunks(w->m->reader);
	struct hl_chunk_events c = {0};
	int err = 0;

	hl_progress_begin(HL_READING);
	for (size_t i = 0; i < n && !err; i++) {
		err = hl_chunk_is_lost(w->m, i)
			      ? -EBADMSG
			      : hl_reader_decode_some(w->m->reader, i, HL_WANT_OTHERS, &c);
		if (!err)
			err = take_chunk(w, i, &c);
		else if (err != -EBADMSG)
			hl_model_fail(w->m, err);
		if (err == -EBADMSG) {
			hl_model_mark_bad(w->m, &w->m->bad_chunks[i]);
			w->x->moved = true;
			w->x->end_ns = i > 0 ? hl_reader_chunk(w->m->reader, i - 1)->t1_ns : 0;
			err = 0;
			break;
		}
		hl_progress_tick(i + 1, n);
	}
	hl_progress_end();
	hl_chunk_events_free(&c);
	return err;
}

static int by_id(const void *a, const void *b)
{
	uint64_t x = ((const struct hl_mmap *)a)->id, y = ((const struct hl_mmap *)b)->id;

	return (x > y) - (x < y);
}

static int hand_over_left(struct work *w)
{
	int err = 0;

	if (w->maps.len > 0)
		qsort(w->maps.data, w->maps.len, sizeof(*w->maps.data), by_id);
	for (size_t i = 0; i < w->maps.len && !err; i++) {
		if (w->maps.data[i].mapped_bytes > 0)
			err = hand_over(w, &w->maps.data[i]);
	}
	return err;
}

static int check(struct hl_model *m, struct hl_filter *filter)
{
	if (!m->info->meta.maps && hl_model_is_imported(m)) {
		snprintf(m->error, sizeof(m->error),
			"mappings are not in this trace: it was imported from %.200s, which has "
			"none",
			m->info->meta.source);
		return -ENODATA;
	}
	if (!m->info->meta.maps) {
		snprintf(m->error, sizeof(m->error),
			"mappings are not in this trace: record the program with heaplapse record "
			"--mmap");
		return -ENODATA;
	}
	return filter ? hl_filter_bind(filter, m) : 0;
}

int hl_model_mmaps(struct hl_model *m, struct hl_mmaps *x)
{
	struct work w = {.m = m, .x = x};
	int err = check(m, x->filter);

	x->n = x->bytes = x->n_left = x->left_bytes = x->peak_bytes = x->peak_ns = 0;
	x->end_ns = hl_model_end_ns(m);
	x->moved = false;
	if (!err)
		err = read_all(&w);
	if (!err)
		err = hand_over_left(&w);
	hl_vec_free(&w.ranges);
	hl_vec_free(&w.maps);
	return err;
}

/* --- the largest --- */

struct keeping {
	struct hl_mmap_list *list;
	size_t limit;
};

static int by_size(const void *pa, const void *pb)
{
	const struct hl_mmap *a = pa, *b = pb;

	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return by_id(a, b);
}

static void keep_largest(struct keeping *k, size_t when)
{
	if (k->list->maps.len <= when)
		return;
	qsort(k->list->maps.data, k->list->maps.len, sizeof(*k->list->maps.data), by_size);
	if (k->limit && k->list->maps.len > k->limit)
		k->list->maps.len = k->limit;
}

static int keep(void *arg, const struct hl_mmap *map)
{
	struct keeping *k = arg;
	int err = hl_vec_push(&k->list->maps, *map);

	if (!err && k->limit)
		keep_largest(k, k->limit * 2 + 1024);
	return err;
}

int hl_mmaps_largest(
	struct hl_model *m, struct hl_filter *filter, size_t limit, struct hl_mmap_list *list)
{
	struct keeping k = {list, limit};
	int err;

	*list = (struct hl_mmap_list){.sums = {.filter = filter, .mapping = keep, .arg = &k}};
	err = hl_model_mmaps(m, &list->sums);
	if (err == -ENOMEM)
		hl_model_fail(m, err);
	if (!err)
		keep_largest(&k, 0);
	else
		hl_mmap_list_fini(list);
	return err;
}

void hl_mmap_list_fini(struct hl_mmap_list *list)
{
	hl_vec_free(&list->maps);
}
