/* SPDX-License-Identifier: Apache-2.0 */
/* live_table.c - see live_table.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/bits.h"
#include "collect/match/live_table.h"
#include "collect/match/live_table_inline.h"

#define INITIAL_LINES    512u
#define LARGE_LINES      (1u << 17) /* 8 MiB: above this, memory costs more than longer searches */
#define SPAN_BITS_MAX    4u         /* 256 bytes of the heap share a line ... */
#define SPAN_BITS_MIN    2u         /* ... or down to 64 */
#define MOVE_LINES       2u /* per insert: the old index is empty long before the new one is full */
#define SEGMENT_ENTRIES  (1u << HL_LIVE_SEGMENT_BITS)
#define ENTRY_BYTES      (SEGMENT_ENTRIES * sizeof(struct hl_live_entry))
#define FREE_STACK_BYTES (SEGMENT_ENTRIES * sizeof(uint32_t))
#define SEGMENT_BYTES    (ENTRY_BYTES + FREE_STACK_BYTES)
#define PATIENCE_MAX     63u
#define CACHE_BYTES      (HL_LIVE_CACHE_SLOTS * sizeof(struct hl_live_entry))
#define CACHE_DROP_LINES (1u << 11) /* a smaller index is in the CPU's cache anyway */

_Static_assert(HL_LIVE_PAGE_SLOTS * sizeof(struct hl_live_entry) == 4096, "a page of places");

/* Opens an unlinked file for memory above the limit, in the directory of the traces. */
static int open_backing_file(int dir_fd)
{
	return openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

/* fd < 0: anonymous memory. Returns NULL on failure. */
static void *map_pages(int fd, size_t offset, size_t bytes)
{
	void *p;

	if (fd >= 0 && ftruncate(fd, (off_t)(offset + bytes)) < 0)
		return NULL;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, fd,
		(off_t)(fd >= 0 ? offset : 0));
	if (p == MAP_FAILED)
		return NULL;
	/* Small mappings, and the first one of many, stay mostly empty. */
	if (fd < 0 && offset + bytes > SEGMENT_BYTES)
		madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

/* Uses small pages: most heaps need few of them, and clearing a huge page takes long. */
static void *map_cache(void)
{
	void *p = map_pages(-1, 0, CACHE_BYTES);

	if (p)
		madvise(p, CACHE_BYTES, MADV_NOHUGEPAGE);
	return p;
}

static int index_init(struct hl_live_index *t, uint64_t lines, size_t limit, int dir_fd)
{
	size_t bytes = lines * sizeof(*t->lines);

	t->fd = bytes > limit ? open_backing_file(dir_fd) : -1;
	t->lines = map_pages(t->fd, 0, bytes);
	if (!t->lines) {
		if (t->fd >= 0)
			close(t->fd);
		return -ENOMEM;
	}
	t->mask = lines - 1;
	t->grow_at = lines * (lines < LARGE_LINES ? 3 : 5);
	t->shift = 64 - hl_log2(lines);
	t->span_bits = SPAN_BITS_MAX;
	t->count = t->overflowed = 0;
	return 0;
}

static void index_fini(struct hl_live_index *t)
{
	if (!t->lines)
		return;
	munmap(t->lines, (t->mask + 1) * sizeof(*t->lines));
	if (t->fd >= 0)
		close(t->fd);
	t->lines = NULL;
}

static void drop_segment(const struct hl_live_segment *s)
{
	if (s->entries)
		munmap(s->entries, ENTRY_BYTES);
	if (s->free_stack)
		munmap(s->free_stack, FREE_STACK_BYTES);
}

void hl_live_fini(struct hl_live_table *l)
{
	if (l->cache)
		munmap(l->cache, CACHE_BYTES);
	index_fini(&l->index);
	index_fini(&l->old_index);
	for (size_t i = 0; i < l->pool.segments.len; i++)
		drop_segment(&l->pool.segments.data[i]);
	hl_vec_free(&l->pool.segments);
	if (l->pool.fd >= 0)
		close(l->pool.fd);
}

int hl_live_init(struct hl_live_table *l, size_t memory_limit, int dir_fd)
{
	memset(l, 0, sizeof(*l));
	l->memory_limit = memory_limit;
	l->dir_fd = dir_fd;
	l->pool.fd = -1;
	l->cache = map_cache();
	if (l->cache && index_init(&l->index, INITIAL_LINES, memory_limit, dir_fd) == 0)
		return 0;
	hl_live_fini(l);
	return -ENOMEM;
}

/* The distance between the lines that are probed. It depends on the tag, so that full lines do not
 * cluster, and it is odd, so that all lines are reached. */
static uint64_t probe_step(uint32_t tag)
{
	return (tag * HL_HASH_K >> 32) | 1;
}

#define OVERFLOW_ONE (HL_LIVE_OVERFLOW / 255)

static void add_overflow(struct hl_live_line *line, uint64_t change)
{
	if (hl_likely((line->fingerprints & HL_LIVE_OVERFLOW) != HL_LIVE_OVERFLOW))
		line->fingerprints += change;
}

static bool slot_matches(const struct hl_live_table *l, uint64_t slot, uint64_t addr)
{
	return slot >> 32 == hl_live_tag(addr) && slot &&
	       hl_live_entry_at(&l->pool, (uint32_t)slot - 1)->addr == addr;
}

/* Returns the slot of `addr`, or NULL. */
static uint64_t *index_find(
	const struct hl_live_table *l, const struct hl_live_index *t, uint64_t addr)
{
	uint32_t tag = hl_live_tag(addr);
	uint64_t at = hl_live_home_number(t, tag);

	for (uint64_t tries = 0; tries <= t->mask; tries++) {
		struct hl_live_line *line = &t->lines[at];
		uint64_t match = hl_live_match_slots(line, tag);

		for (; match; match &= match - 1) {
			uint64_t *slot = &line->slots[hl_live_first_slot(match)];

			if (hl_likely(slot_matches(l, *slot, addr)))
				return slot;
		}
		if (hl_likely(!(line->fingerprints & HL_LIVE_OVERFLOW)))
			return NULL;
		at = (at + probe_step(tag)) & t->mask;
	}
	return NULL;
}

static void index_add(struct hl_live_index *t, uint64_t slot)
{
	uint32_t tag = (uint32_t)(slot >> 32);
	uint64_t at = hl_live_home_number(t, tag), empty;

	while (!(empty = hl_live_zeros(t->lines[at].fingerprints | HL_LIVE_OVERFLOW))) {
		add_overflow(&t->lines[at], OVERFLOW_ONE);
		t->overflowed++;
		at = (at + probe_step(tag)) & t->mask;
	}
	hl_live_fill_slot(t, &t->lines[at], hl_live_first_slot(empty), slot);
}

static void index_remove(struct hl_live_index *t, uint64_t *slot)
{
	/* A line is eight words: `fingerprints` is the eighth. */
	struct hl_live_line *line = &t->lines[(slot - t->lines->slots) / 8];
	uint32_t tag = (uint32_t)(*slot >> 32);
	uint64_t at = hl_live_home_number(t, tag);

	line->fingerprints &= ~(UINT64_C(255) << (slot - line->slots) * 8);
	*slot = 0;
	t->count--;
	for (; hl_unlikely(line != &t->lines[at]); at = (at + probe_step(tag)) & t->mask)
		add_overflow(&t->lines[at], -OVERFLOW_ONE);
}

static int start_growing(struct hl_live_table *l)
{
	struct hl_live_index bigger;
	int err = index_init(&bigger, (l->index.mask + 1) * 2, l->memory_limit, l->dir_fd);

	if (err)
		return err;
	/* Too many blocks per line: use smaller spans. */
	bigger.span_bits = l->index.span_bits;
	if (l->index.overflowed > l->index.count / 8 && l->index.span_bits > SPAN_BITS_MIN)
		bigger.span_bits--;
	l->old_index = l->index;
	l->index = bigger;
	l->n_moved = 0;
	return 0;
}

/* Moves the blocks of a line of the old index to the new one. Overflow counts of lines in the old
 * index are not decremented: a search in it may then be longer than necessary, but it is
 * correct. */
static void move_line(struct hl_live_table *l, struct hl_live_line *line)
{
	for (uint32_t i = 0; i < HL_LIVE_SLOTS; i++) {
		if (!line->slots[i])
			continue;
		index_add(&l->index, line->slots[i]);
		line->slots[i] = 0;
		l->old_index.count--;
	}
	line->fingerprints &= HL_LIVE_OVERFLOW;
}

static void move_lines(struct hl_live_table *l, uint64_t n)
{
	for (; n && l->n_moved <= l->old_index.mask; n--, l->n_moved++)
		move_line(l, &l->old_index.lines[l->n_moved]);
	if (l->n_moved > l->old_index.mask)
		index_fini(&l->old_index);
}

void hl_live_continue_growth(struct hl_live_table *l, uint32_t n)
{
	if (hl_unlikely(l->old_index.lines != NULL))
		move_lines(l, (uint64_t)n * MOVE_LINES);
}

static hl_cold int grow_index(struct hl_live_table *l)
{
	int err;

	if (l->old_index.lines)
		move_lines(l, UINT64_MAX);
	err = start_growing(l);
	/* Without memory for a larger index, continue with this one until it is nearly full. */
	return err && l->index.count >= (l->index.mask + 1) * (HL_LIVE_SLOTS - 1) ? err : 0;
}

/* Adds a segment; it is in a file if it is above the memory limit. */
static hl_cold int grow_pool(struct hl_live_table *l)
{
	struct hl_live_pool *p = &l->pool;
	size_t offset = p->segments.len * SEGMENT_BYTES;
	bool in_file = offset + SEGMENT_BYTES > l->memory_limit;
	struct hl_live_segment s;

	if (p->n_used > UINT32_MAX - 1 - SEGMENT_ENTRIES)
		return -ENOMEM; /* no more refs */
	if (in_file && p->fd < 0)
		p->fd = open_backing_file(l->dir_fd);
	s.entries = map_pages(in_file ? p->fd : -1, offset, ENTRY_BYTES);
	s.free_stack = map_pages(in_file ? p->fd : -1, offset + ENTRY_BYTES, FREE_STACK_BYTES);
	if (!s.entries || !s.free_stack || hl_vec_push(&p->segments, s)) {
		drop_segment(&s);
		return -ENOMEM;
	}
	return 0;
}

/* Returns the ref of an unused entry; 0: out of memory. */
static uint32_t new_entry(struct hl_live_table *l)
{
	uint32_t ref = hl_live_alloc_ref(&l->pool);

	if (hl_unlikely(!ref) && grow_pool(l) == 0)
		ref = hl_live_alloc_ref(&l->pool);
	return ref;
}

struct hl_live_entry *hl_live_find(struct hl_live_table *l, uint64_t addr)
{
	struct hl_live_entry *cached = l->cache ? hl_live_cache_slot(l, addr) : NULL;

	l->found_cached = cached && cached->addr == addr ? cached : NULL;
	l->found_slot = NULL;
	if (cached && (cached->addr == addr || cached->addr == ~addr))
		return l->found_cached;
	l->found_index = &l->index;
	l->found_slot = index_find(l, &l->index, addr);
	if (!l->found_slot && hl_unlikely(l->old_index.lines != NULL)) {
		l->found_index = &l->old_index;
		l->found_slot = index_find(l, &l->old_index, addr);
	}
	return l->found_slot ? hl_live_entry_at(&l->pool, (uint32_t)*l->found_slot - 1) : NULL;
}

/* Inserts into the pool. NULL: out of memory. */
static struct hl_live_entry *insert_in_pool(struct hl_live_table *l, uint64_t addr)
{
	struct hl_live_entry *e;
	uint32_t ref;

	if (hl_unlikely(l->old_index.lines != NULL))
		move_lines(l, MOVE_LINES);
	if (hl_unlikely(l->index.count >= l->index.grow_at) && grow_index(l))
		return NULL;
	ref = new_entry(l);
	if (hl_unlikely(!ref))
		return NULL;
	index_add(&l->index, (uint64_t)hl_live_tag(addr) << 32 | ref);
	e = hl_live_entry_at(&l->pool, ref - 1);
	e->addr = addr;
	return e;
}

/* The first slot with a live block, from slot i on; NULL: none. */
static struct hl_live_entry *next_cached(const struct hl_live_table *l, uint32_t i)
{
	while (l->cache && i < HL_LIVE_CACHE_SLOTS) {
		uint32_t page = i / HL_LIVE_PAGE_SLOTS;

		if (!(l->cache_pages[page / 64] >> page % 64 & 1))
			i = (page + 1) * HL_LIVE_PAGE_SLOTS;
		else if (hl_live_is_block(&l->cache[i]))
			return &l->cache[i];
		else
			i++;
	}
	return NULL;
}

static struct hl_live_entry *next_cached_after(
	const struct hl_live_table *l, const struct hl_live_entry *cached)
{
	return next_cached(l, (uint32_t)(cached - l->cache) + 1);
}

/* Moves all blocks of the cache to the pool, or as many as there is memory for. */
static void drop_cache(struct hl_live_table *l)
{
	struct hl_live_entry *e, *cached;

	for (cached = next_cached(l, 0); cached; cached = next_cached_after(l, cached)) {
		e = insert_in_pool(l, cached->addr);
		if (!e)
			return;
		*e = *cached;
		cached->addr = 0;
	}
	munmap(l->cache, CACHE_BYTES);
	l->cache = NULL;
	memset(l->cache_pages, 0, sizeof(l->cache_pages));
}

/* Dropping the cache takes milliseconds. A program that alternates must show for longer and longer
 * that a cache would pay. */
static void drop_cache_and_back_off(struct hl_live_table *l)
{
	drop_cache(l);
	l->patience = hl_min_u32(l->patience * 2 + 1, PATIENCE_MAX);
	l->good_checks = 0;
}

hl_cold void hl_live_switch_cache(struct hl_live_table *l)
{
	uint64_t inserted = l->n_inserted - l->checked_inserted,
		 removed = l->n_removed - l->checked_removed;

	if (l->cache && l->n_evicted > inserted / 4 && l->index.mask >= CACHE_DROP_LINES - 1)
		drop_cache_and_back_off(l);
	else if (!l->cache && l->n_short_lived > removed / 8 * 7 &&
		 removed > HL_LIVE_CONSIDER_EVERY / 3)
		l->good_checks++;
	else
		l->good_checks = 0;
	if (!l->cache && l->good_checks > l->patience / 2)
		l->cache = map_cache();
	l->checked_inserted = l->n_inserted;
	l->checked_removed = l->n_removed;
	l->n_evicted = l->n_short_lived = 0;
}

/* Returns the cache slot of `addr`, without a live block: a block that was there is evicted to the
 * pool. NULL: out of memory. */
static struct hl_live_entry *claim_cache_slot(struct hl_live_table *l, uint64_t addr)
{
	struct hl_live_entry *cached = hl_live_cache_slot(l, addr), *e;
	uint32_t page = (uint32_t)(cached - l->cache) / HL_LIVE_PAGE_SLOTS;

	l->cache_pages[page / 64] |= UINT64_C(1) << page % 64;
	if (!hl_live_is_block(cached))
		return cached;
	e = insert_in_pool(l, cached->addr);
	if (!e)
		return NULL;
	*e = *cached;
	l->n_evicted++;
	return cached;
}

struct hl_live_entry *hl_live_insert(struct hl_live_table *l, uint64_t addr)
{
	struct hl_live_entry *e = l->cache ? claim_cache_slot(l, addr) : insert_in_pool(l, addr);

	if (hl_unlikely(!e))
		return NULL;
	e->addr = addr;
	l->n_inserted++;
	return e;
}

void hl_live_remove_found(struct hl_live_table *l)
{
	uint32_t ref;

	if (l->found_cached) {
		hl_live_cache_remove(l, l->found_cached);
		return;
	}
	ref = (uint32_t)*l->found_slot;
	hl_live_free_ref(&l->pool, hl_live_entry_at(&l->pool, ref - 1), ref);
	index_remove(l->found_index, l->found_slot);
	l->n_removed++;
}

bool hl_live_remove(struct hl_live_table *l, uint64_t addr, struct hl_live_entry *out)
{
	struct hl_live_entry *e = hl_live_find(l, addr);

	if (!e)
		return false;
	*out = *e;
	hl_live_remove_found(l);
	return true;
}

void *hl_live_map_pages(const struct hl_live_table *l, size_t bytes)
{
	int fd = bytes > l->memory_limit ? open_backing_file(l->dir_fd) : -1;
	void *p = map_pages(fd, 0, bytes);

	if (fd >= 0)
		close(fd);
	return p;
}

void hl_live_each_cached(
	const struct hl_live_table *l, void (*fn)(void *, const struct hl_live_entry *), void *arg)
{
	const struct hl_live_entry *cached;

	for (cached = next_cached(l, 0); cached; cached = next_cached_after(l, cached))
		fn(arg, cached);
}

void hl_live_each_mutable(
	struct hl_live_table *l, void (*fn)(void *, struct hl_live_entry *), void *arg)
{
	struct hl_live_entry *cached;

	for (cached = next_cached(l, 0); cached; cached = next_cached_after(l, cached))
		fn(arg, cached);
	for (uint32_t i = 0; i < l->pool.n_used; i++) {
		struct hl_live_entry *e = hl_live_entry_at(&l->pool, i);

		if (e->addr)
			fn(arg, e);
	}
}

struct callback {
	void (*fn)(void *arg, const struct hl_live_entry *);
	void *arg;
};

static void call_with_const(void *arg, struct hl_live_entry *e)
{
	const struct callback *cb = arg;

	cb->fn(cb->arg, e);
}

void hl_live_each(
	const struct hl_live_table *l, void (*fn)(void *, const struct hl_live_entry *), void *arg)
{
	struct callback cb = {fn, arg};

	hl_live_each_mutable((struct hl_live_table *)l, call_with_const,
		&cb); /* call_with_const() changes nothing */
}
