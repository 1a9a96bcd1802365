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

#define FIRST_SLOTS 4096u
#define LARGE_SLOTS (1u << 18) /* 8 MiB: more than the caches that are near */
#define MOVE_SLOTS  16u /* per insert: the old table is empty long before the new one is full */
/* Addresses that no block has: a free slot, and one whose block has gone from a table that only
 * shrinks. */
#define EMPTY UINT64_C(0)
#define DEAD  UINT64_C(1)

/* An unlinked file beside the trace holds what memory should not. */
static int backing_file(int dir_fd, size_t bytes)
{
	int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 && ftruncate(fd, (off_t)bytes) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int table_init(struct hl_live_table *t, uint64_t slots, size_t limit, int dir_fd)
{
	size_t bytes = slots * sizeof(*t->slots);
	void *p;

	t->fd = bytes > limit ? backing_file(dir_fd, bytes) : -1;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		t->fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, t->fd, 0);
	if (p == MAP_FAILED) {
		if (t->fd >= 0)
			close(t->fd);
		return -ENOMEM;
	}
	if (t->fd < 0)
		madvise(p, bytes, MADV_HUGEPAGE);
	t->slots = p;
	t->mask = slots - 1;
	t->shift = 64 - (unsigned)hl_log2(slots);
	t->by_page = slots >= LARGE_SLOTS;
	t->count = 0;
	return 0;
}

static void table_fini(struct hl_live_table *t)
{
	if (!t->slots)
		return;
	munmap(t->slots, (t->mask + 1) * sizeof(*t->slots));
	if (t->fd >= 0)
		close(t->fd);
	t->slots = NULL;
}

int hl_live_init(struct hl_live *l, size_t memory_limit, int dir_fd)
{
	memset(l, 0, sizeof(*l));
	l->memory_limit = memory_limit;
	l->dir_fd = dir_fd;
	return table_init(&l->now, FIRST_SLOTS, memory_limit, dir_fd);
}

void hl_live_fini(struct hl_live *l)
{
	table_fini(&l->now);
	table_fini(&l->old);
}

static struct hl_live_entry *table_find(const struct hl_live_table *t, uint64_t addr)
{
	for (uint64_t i = hl_live_home(t, addr);; i = (i + 1) & t->mask) {
		if (t->slots[i].addr == addr)
			return &t->slots[i];
		if (t->slots[i].addr == EMPTY)
			return NULL;
	}
}

/* The first free slot for addr. */
static struct hl_live_entry *table_add(struct hl_live_table *t, uint64_t addr)
{
	uint64_t i = hl_live_home(t, addr);

	while (t->slots[i].addr != EMPTY)
		i = (i + 1) & t->mask;
	t->count++;
	t->slots[i].addr = addr;
	return &t->slots[i];
}

/* Closes the gap at slot i by moving later entries back: no tombstones in the table that lives on.
 */
static void table_remove(struct hl_live_table *t, uint64_t i)
{
	uint64_t hole = i;

	for (;;) {
		uint64_t want;

		i = (i + 1) & t->mask;
		if (t->slots[i].addr == EMPTY)
			break;
		want = hl_live_home(t, t->slots[i].addr);
		if (((i - want) & t->mask) < ((i - hole) & t->mask))
			continue;
		t->slots[hole] = t->slots[i];
		hole = i;
	}
	t->slots[hole].addr = EMPTY;
	t->count--;
}

static int start_growing(struct hl_live *l)
{
	struct hl_live_table bigger;
	int err = table_init(&bigger, (l->now.mask + 1) * 2, l->memory_limit, l->dir_fd);

	if (err)
		return err;
	l->old = l->now;
	l->now = bigger;
	l->moved = 0;
	return 0;
}

static void move_some(struct hl_live *l, uint64_t n)
{
	for (; n && l->moved <= l->old.mask; n--, l->moved++) {
		struct hl_live_entry *e = &l->old.slots[l->moved];

		if (e->addr == EMPTY || e->addr == DEAD)
			continue;
		*table_add(&l->now, e->addr) = *e;
		e->addr = DEAD; /* the probe chains of the old table stay whole */
	}
	if (l->moved > l->old.mask)
		table_fini(&l->old);
}

struct hl_live_entry *hl_live_find(struct hl_live *l, uint64_t addr)
{
	struct hl_live_entry *e = table_find(&l->now, addr);

	return e || !l->old.slots ? e : table_find(&l->old, addr);
}

static hl_cold int make_room(struct hl_live *l)
{
	int err;

	if (l->old.slots)
		move_some(l, UINT64_MAX);
	err = start_growing(l);
	/* Without memory for a larger table go on in this one while it is not nearly full. */
	return err && l->now.count * 8 >= (l->now.mask + 1) * 7 ? err : 0;
}

struct hl_live_entry *hl_live_insert(struct hl_live *l, uint64_t addr)
{
	if (hl_unlikely(l->old.slots != NULL))
		move_some(l, MOVE_SLOTS);
	if (hl_unlikely(l->now.count * 5 >= (l->now.mask + 1) * (l->now.by_page ? 3 : 2)) &&
		make_room(l))
		return NULL;
	l->blocks++;
	return table_add(&l->now, addr);
}

void hl_live_remove(struct hl_live *l, struct hl_live_entry *e)
{
	uint64_t i = (uint64_t)(e - l->now.slots);

	if (hl_likely(e >= l->now.slots && i <= l->now.mask))
		table_remove(&l->now, i);
	else
		e->addr = DEAD;
	l->blocks--;
}

bool hl_live_take(struct hl_live *l, uint64_t addr, struct hl_live_entry *out)
{
	struct hl_live_entry *e = hl_live_find(l, addr);

	if (!e)
		return false;
	*out = *e;
	hl_live_remove(l, e);
	return true;
}

void hl_live_each(
	const struct hl_live *l, void (*fn)(void *, const struct hl_live_entry *), void *arg)
{
	const struct hl_live_table *tables[] = {&l->now, &l->old};

	for (int k = 0; k < 2; k++)
		for (uint64_t i = 0; tables[k]->slots && i <= tables[k]->mask; i++)
			if (tables[k]->slots[i].addr > DEAD)
				fn(arg, &tables[k]->slots[i]);
}
