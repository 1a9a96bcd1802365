/* live.c - see live.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/bits.h"
#include "collect/live.h"

#define FIRST_LINES     512u
#define LARGE_LINES     (1u << 17) /* 8 MiB: above this, room is dearer than a longer search */
#define PART_MOST       4u         /* 256 bytes of the heap share a line ... */
#define PART_LEAST      2u         /* ... or down to 64 */
#define MOVE_LINES      2u /* per insert: the old index is empty long before the new one is full */
#define SEGMENT_ENTRIES (1u << HL_LIVE_SEGMENT_BITS)
#define ENTRY_BYTES     (SEGMENT_ENTRIES * sizeof(struct hl_live_entry))
#define SPARE_BYTES     (SEGMENT_ENTRIES * sizeof(uint32_t))
#define SEGMENT_BYTES   (ENTRY_BYTES + SPARE_BYTES)
#define PATIENCE_MAX    63u
#define PLACES_BYTES    (HL_LIVE_PLACES * sizeof(struct hl_live_entry))
#define MANY_LINES      (1u << 11) /* a smaller index is near anyway */

_Static_assert(HL_LIVE_PAGE_PLACES * sizeof(struct hl_live_entry) == 4096, "a page of places");

/* An unlinked file beside the trace holds what memory should not. */
static int backing_file(int dir_fd)
{
	return openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

/* fd < 0: in memory. NULL: out of memory. */
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
	/* What is small, and the first of many, stays mostly empty. */
	if (fd < 0 && offset + bytes > SEGMENT_BYTES)
		madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

/* In small pages: most heaps need few of them, and a large one takes long to clear. */
static void *map_places(void)
{
	void *p = map_pages(-1, 0, PLACES_BYTES);

	if (p)
		madvise(p, PLACES_BYTES, MADV_NOHUGEPAGE);
	return p;
}

static int index_init(struct hl_live_index *t, uint64_t lines, size_t limit, int dir_fd)
{
	size_t bytes = lines * sizeof(*t->lines);

	t->fd = bytes > limit ? backing_file(dir_fd) : -1;
	t->lines = map_pages(t->fd, 0, bytes);
	if (!t->lines) {
		if (t->fd >= 0)
			close(t->fd);
		return -ENOMEM;
	}
	t->mask = lines - 1;
	t->full = lines * (lines < LARGE_LINES ? 3 : 5);
	t->shift = 64 - hl_log2(lines);
	t->part = PART_MOST;
	t->count = t->passed = 0;
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
	if (s->spare)
		munmap(s->spare, SPARE_BYTES);
}

void hl_live_fini(struct hl_live *l)
{
	if (l->places)
		munmap(l->places, PLACES_BYTES);
	index_fini(&l->now);
	index_fini(&l->old);
	for (size_t i = 0; i < l->pool.segments.len; i++)
		drop_segment(&l->pool.segments.data[i]);
	hl_vec_free(&l->pool.segments);
	if (l->pool.fd >= 0)
		close(l->pool.fd);
}

int hl_live_init(struct hl_live *l, size_t memory_limit, int dir_fd)
{
	memset(l, 0, sizeof(*l));
	l->memory_limit = memory_limit;
	l->dir_fd = dir_fd;
	l->pool.fd = -1;
	l->places = map_places();
	if (l->places && index_init(&l->now, FIRST_LINES, memory_limit, dir_fd) == 0)
		return 0;
	hl_live_fini(l);
	return -ENOMEM;
}

/* The line to look at after one that is full: another for each tag, so that full ones do not pile
 * up; odd, so that all are met. */
static uint64_t step_of(uint32_t tag)
{
	return (tag * HL_HASH_K >> 32) | 1;
}

#define PASSED_ONE (HL_LIVE_PASSED / 255)

static void count_passed(struct hl_live_line *line, uint64_t change)
{
	if (hl_likely((line->prints & HL_LIVE_PASSED) != HL_LIVE_PASSED))
		line->prints += change;
}

static bool leads_to(const struct hl_live *l, uint64_t slot, uint64_t addr)
{
	return slot >> 32 == hl_live_tag(addr) && slot &&
	       hl_live_at(&l->pool, (uint32_t)slot - 1)->addr == addr;
}

/* The slot that leads to the entry of addr, or NULL. */
static uint64_t *index_find(const struct hl_live *l, const struct hl_live_index *t, uint64_t addr)
{
	uint32_t tag = hl_live_tag(addr);
	uint64_t at = hl_live_home(t, tag);

	for (uint64_t tries = 0; tries <= t->mask; tries++) {
		struct hl_live_line *line = &t->lines[at];
		uint64_t match = hl_live_match(line, tag);

		for (; match; match &= match - 1) {
			uint64_t *slot = &line->slots[hl_live_first(match)];

			if (hl_likely(leads_to(l, *slot, addr)))
				return slot;
		}
		if (hl_likely(!(line->prints & HL_LIVE_PASSED)))
			return NULL;
		at = (at + step_of(tag)) & t->mask;
	}
	return NULL;
}

static void index_add(struct hl_live_index *t, uint64_t slot)
{
	uint32_t tag = (uint32_t)(slot >> 32);
	uint64_t at = hl_live_home(t, tag), empty;

	while (!(empty = hl_live_zeros(t->lines[at].prints | HL_LIVE_PASSED))) {
		count_passed(&t->lines[at], PASSED_ONE);
		t->passed++;
		at = (at + step_of(tag)) & t->mask;
	}
	hl_live_fill(t, &t->lines[at], hl_live_first(empty), slot);
}

static void index_remove(struct hl_live_index *t, uint64_t *slot)
{
	struct hl_live_line *line = &t->lines[(slot - t->lines->slots) / 8]; /* prints counts too */
	uint32_t tag = (uint32_t)(*slot >> 32);
	uint64_t at = hl_live_home(t, tag);

	line->prints &= ~(UINT64_C(255) << (slot - line->slots) * 8);
	*slot = 0;
	t->count--;
	for (; hl_unlikely(line != &t->lines[at]); at = (at + step_of(tag)) & t->mask)
		count_passed(&t->lines[at], -PASSED_ONE);
}

static int start_growing(struct hl_live *l)
{
	struct hl_live_index bigger;
	int err = index_init(&bigger, (l->now.mask + 1) * 2, l->memory_limit, l->dir_fd);

	if (err)
		return err;
	/* Too many blocks in one part of the heap for its line: smaller parts. */
	bigger.part = l->now.part;
	if (l->now.passed > l->now.count / 8 && l->now.part > PART_LEAST)
		bigger.part--;
	l->old = l->now;
	l->now = bigger;
	l->moved = 0;
	return 0;
}

/* What lies in a line of the old index comes to the new one. Who counted its blocks as passed on
 * goes on counting them: a search in the old one is then longer than it need be, and right. */
static void move_line(struct hl_live *l, struct hl_live_line *line)
{
	for (uint32_t i = 0; i < HL_LIVE_SLOTS; i++) {
		if (!line->slots[i])
			continue;
		index_add(&l->now, line->slots[i]);
		line->slots[i] = 0;
		l->old.count--;
	}
	line->prints &= HL_LIVE_PASSED;
}

static void move_some(struct hl_live *l, uint64_t n)
{
	for (; n && l->moved <= l->old.mask; n--, l->moved++)
		move_line(l, &l->old.lines[l->moved]);
	if (l->moved > l->old.mask)
		index_fini(&l->old);
}

void hl_live_grow_on(struct hl_live *l, uint32_t n)
{
	if (hl_unlikely(l->old.lines != NULL))
		move_some(l, (uint64_t)n * MOVE_LINES);
}

static hl_cold int make_room(struct hl_live *l)
{
	int err;

	if (l->old.lines)
		move_some(l, UINT64_MAX);
	err = start_growing(l);
	/* Without memory for a larger index go on in this one while it is not nearly full. */
	return err && l->now.count >= (l->now.mask + 1) * (HL_LIVE_SLOTS - 1) ? err : 0;
}

/* One more segment, above the limit in a file. */
static hl_cold int grow_pool(struct hl_live *l)
{
	struct hl_live_pool *p = &l->pool;
	size_t offset = p->segments.len * SEGMENT_BYTES;
	bool in_file = offset + SEGMENT_BYTES > l->memory_limit;
	struct hl_live_segment s;

	if (p->used > UINT32_MAX - 1 - SEGMENT_ENTRIES)
		return -ENOMEM; /* the numbers are used up */
	if (in_file && p->fd < 0)
		p->fd = backing_file(l->dir_fd);
	s.entries = map_pages(in_file ? p->fd : -1, offset, ENTRY_BYTES);
	s.spare = map_pages(in_file ? p->fd : -1, offset + ENTRY_BYTES, SPARE_BYTES);
	if (!s.entries || !s.spare || hl_vec_push(&p->segments, s)) {
		drop_segment(&s);
		return -ENOMEM;
	}
	return 0;
}

/* The number of an entry that nobody uses, + 1; 0: out of memory. */
static uint32_t new_entry(struct hl_live *l)
{
	uint32_t number = hl_live_ready_entry(&l->pool);

	if (hl_unlikely(!number) && grow_pool(l) == 0)
		number = hl_live_ready_entry(&l->pool);
	return number;
}

struct hl_live_entry *hl_live_find(struct hl_live *l, uint64_t addr)
{
	struct hl_live_entry *place = l->places ? hl_live_place(l, addr) : NULL;

	l->found_place = place && place->addr == addr ? place : NULL;
	l->found = NULL;
	if (place && (place->addr == addr || place->addr == ~addr))
		return l->found_place;
	l->found_in = &l->now;
	l->found = index_find(l, &l->now, addr);
	if (!l->found && hl_unlikely(l->old.lines != NULL)) {
		l->found_in = &l->old;
		l->found = index_find(l, &l->old, addr);
	}
	return l->found ? hl_live_at(&l->pool, (uint32_t)*l->found - 1) : NULL;
}

/* An entry in the pool; NULL: out of memory. */
static struct hl_live_entry *insert(struct hl_live *l, uint64_t addr)
{
	struct hl_live_entry *e;
	uint32_t number;

	if (hl_unlikely(l->old.lines != NULL))
		move_some(l, MOVE_LINES);
	if (hl_unlikely(l->now.count >= l->now.full) && make_room(l))
		return NULL;
	number = new_entry(l);
	if (hl_unlikely(!number))
		return NULL;
	index_add(&l->now, (uint64_t)hl_live_tag(addr) << 32 | number);
	e = hl_live_at(&l->pool, number - 1);
	e->addr = addr;
	return e;
}

/* The first place from i on that a block lives in; NULL: there is none. */
static struct hl_live_entry *next_alive(const struct hl_live *l, uint32_t i)
{
	while (l->places && i < HL_LIVE_PLACES) {
		uint32_t page = i / HL_LIVE_PAGE_PLACES;

		if (!(l->place_pages[page / 64] >> page % 64 & 1))
			i = (page + 1) * HL_LIVE_PAGE_PLACES;
		else if (hl_live_is_alive(&l->places[i]))
			return &l->places[i];
		else
			i++;
	}
	return NULL;
}

/* The one after it. */
static struct hl_live_entry *alive_after(const struct hl_live *l, const struct hl_live_entry *place)
{
	return next_alive(l, (uint32_t)(place - l->places) + 1);
}

/* All go to the pool, or as many as there is memory for. */
static void leave_places(struct hl_live *l)
{
	struct hl_live_entry *e, *place;

	for (place = next_alive(l, 0); place; place = alive_after(l, place)) {
		e = insert(l, place->addr);
		if (!e)
			return;
		*e = *place;
		place->addr = 0;
	}
	munmap(l->places, PLACES_BYTES);
	l->places = NULL;
	memset(l->place_pages, 0, sizeof(l->place_pages));
}

/* Leaving takes milliseconds: who goes to and fro has to show ever longer that places would pay. */
static void leave_for_longer(struct hl_live *l)
{
	leave_places(l);
	l->patience = hl_min_u32(l->patience * 2 + 1, PATIENCE_MAX);
	l->good_looks = 0;
}

hl_cold void hl_live_turn(struct hl_live *l)
{
	uint64_t births = l->births - l->looked_births, deaths = l->deaths - l->looked_deaths;

	if (l->places && l->pushed > births / 4 && l->now.mask >= MANY_LINES - 1)
		leave_for_longer(l);
	else if (!l->places && l->young > deaths / 8 * 7 && deaths > HL_LIVE_LOOK / 3)
		l->good_looks++;
	else
		l->good_looks = 0;
	if (!l->places && l->good_looks > l->patience / 2)
		l->places = map_places();
	l->looked_births = l->births;
	l->looked_deaths = l->deaths;
	l->pushed = l->young = 0;
}

/* The place of addr, where nobody lives; who did is in the pool now. NULL: out of memory. */
static struct hl_live_entry *clear_place(struct hl_live *l, uint64_t addr)
{
	struct hl_live_entry *place = hl_live_place(l, addr), *e;
	uint32_t page = (uint32_t)(place - l->places) / HL_LIVE_PAGE_PLACES;

	l->place_pages[page / 64] |= UINT64_C(1) << page % 64;
	if (!hl_live_is_alive(place))
		return place;
	e = insert(l, place->addr);
	if (!e)
		return NULL;
	*e = *place;
	l->pushed++;
	return place;
}

struct hl_live_entry *hl_live_insert(struct hl_live *l, uint64_t addr)
{
	struct hl_live_entry *e = l->places ? clear_place(l, addr) : insert(l, addr);

	if (hl_unlikely(!e))
		return NULL;
	e->addr = addr;
	l->births++;
	return e;
}

void hl_live_remove_found(struct hl_live *l)
{
	uint32_t number;

	if (l->found_place) {
		hl_live_die(l, l->found_place);
		return;
	}
	number = (uint32_t)*l->found;
	hl_live_give_back(&l->pool, hl_live_at(&l->pool, number - 1), number);
	index_remove(l->found_in, l->found);
	l->deaths++;
}

bool hl_live_take(struct hl_live *l, uint64_t addr, struct hl_live_entry *out)
{
	struct hl_live_entry *e = hl_live_find(l, addr);

	if (!e)
		return false;
	*out = *e;
	hl_live_remove_found(l);
	return true;
}

void hl_live_change_each(struct hl_live *l, void (*fn)(void *, struct hl_live_entry *), void *arg)
{
	struct hl_live_entry *place;

	for (place = next_alive(l, 0); place; place = alive_after(l, place))
		fn(arg, place);
	for (uint32_t i = 0; i < l->pool.used; i++) {
		struct hl_live_entry *e = hl_live_at(&l->pool, i);

		if (e->addr)
			fn(arg, e);
	}
}

struct each {
	void (*fn)(void *arg, const struct hl_live_entry *);
	void *arg;
};

static void show(void *arg, struct hl_live_entry *e)
{
	const struct each *to = arg;

	to->fn(to->arg, e);
}

void hl_live_each(
	const struct hl_live *l, void (*fn)(void *, const struct hl_live_entry *), void *arg)
{
	struct each to = {fn, arg};

	hl_live_change_each((struct hl_live *)l, show, &to); /* show() changes nothing */
}
