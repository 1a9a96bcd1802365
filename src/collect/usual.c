/*
 * usual.c - the allocation and the free that nearly all are, from the ring's words to the columns.
 *
 * Everything here is done by the same parts as for any other event (live.h, trace/writer_add.c);
 * what is spared is asking: the block stands for itself, lies where it is looked for first, and the
 * trace is one of everything. Where that is not so nothing has happened, and books.c goes on.
 *
 * Where blocks have places an event goes through at once. Where they have none it waits in a batch,
 * so that what it needs is fetched in the meantime: first its line of the index, then the entry
 * that this leads to, then the sums of the node that stands there.
 */
#include "base/attr.h"
#include "collect/books.h"
#include "collect/record.h"
#include "collect/steer.h"
#include "collect/usual.h"
#include "ring/record.h"

#define FETCH_ENTRY   8u /* so many events ahead ... */
#define FETCH_NODE    4u
#define NODES_MANY    4096u
#define AT_ONCE_WORDS 640 /* about 256 events, before the caller may look around */

/* A trace of everything, without samples. */
static bool is_plain(const struct hl_proc *p)
{
	return hl_keep_is_plain(&p->keep) && !p->parked.len &&
	       !(p->steering && p->steering->mode == HL_MODE_SAMPLE);
}

/* At a place where the last one that died was another. */
static hl_noinline struct hl_live_entry *settle_down(struct hl_live *l, uint64_t addr)
{
	return hl_live_find(l, addr) ? NULL : hl_live_insert(l, addr);
}

/* Where a new block lies, to be filled. home: its line of the index; NULL: there are places. */
hl_inline struct hl_live_entry *begin_life(
	struct hl_live *l, uint64_t addr, struct hl_live_line *home)
{
	struct hl_live_entry *place;

	if (home)
		return hl_live_insert_home(l, addr, home);
	place = hl_live_place(l, addr);
	return hl_likely(hl_live_revive(l, place, addr)) ? place : settle_down(l, addr);
}

/* False: it is not the usual one, and nothing has happened. */
hl_inline bool alloc_at_once(struct hl_proc *p, const struct hl_books_clock *clock,
	const struct hl_pending *e, struct hl_live_line *home)
{
	struct hl_live_entry *block;
	struct hl_live_block b;
	uint64_t units;

	if (hl_unlikely(e->size >= HL_LIVE_SIZE_MAX || e->rate || e->role == UINT32_MAX))
		return false;
	block = begin_life(&p->live, e->addr, home);
	if (hl_unlikely(!block))
		return false;
	b = (struct hl_live_block){.addr = e->addr,
		.size = e->size,
		.ordinal = p->keep.n_written++,
		.node = e->node,
		.thread = e->role};
	units = hl_books_units(p, clock, e->stamp);
	block->ordinal_thread = b.ordinal << 24 | (b.thread & 0xffffff);
	block->size_birth = b.size << 16 | ((units >> 32) & 0xffff);
	block->birth_node = units << 32 | (b.node & HL_LIVE_NODE_MASK);
	p->n_allocs++;
	(void)hl_writer_add_alloc(p->writer, &b, units, e->func);
	return true;
}

/* One that is not in its place. */
static hl_noinline struct hl_live_entry *find_far(
	struct hl_live *l, uint64_t addr, struct hl_live_line **home, uint32_t *slot)
{
	*home = hl_live_line(l, addr);
	return hl_live_find_home(l, addr, *home, slot);
}

hl_inline bool free_at_once(struct hl_proc *p, const struct hl_books_clock *clock,
	const struct hl_pending *e, struct hl_live_line *home)
{
	struct hl_live_entry *block = home ? NULL : hl_live_place(&p->live, e->addr);
	struct hl_live_block b;
	uint32_t slot = 0;

	if (home)
		block = hl_live_find_home(&p->live, e->addr, home, &slot);
	else if (hl_unlikely(block->addr != e->addr))
		block = find_far(&p->live, e->addr, &home, &slot);
	if (hl_unlikely(!block || e->role == UINT32_MAX || !hl_live_is_plain(block)))
		return false;
	b = (struct hl_live_block){.addr = e->addr,
		.size = hl_live_size(block),
		.ordinal = hl_live_ordinal(block),
		.birth_ns = hl_live_birth_ns(block),
		.node = hl_live_node(block),
		.thread = hl_live_thread(block)};
	if (hl_unlikely(b.ordinal >= HL_KEEP_HELD))
		return false;
	if (home) {
		hl_live_remove_home(&p->live, block, home, slot);
		hl_live_note_age(&p->live, p->keep.n_written - b.ordinal);
	} else {
		hl_live_die(&p->live, block);
	}
	p->n_frees++;
	(void)hl_writer_add_free(
		p->writer, &b, hl_books_units(p, clock, e->stamp), e->role, e->func);
	return true;
}

hl_inline bool at_once(struct hl_proc *p, const struct hl_books_clock *clock,
	const struct hl_pending *e, struct hl_live_line *home)
{
	return e->type == HL_REC_FREE ? free_at_once(p, clock, e, home)
				      : e->type == HL_REC_ALLOC && alloc_at_once(p, clock, e, home);
}

/* --- without places: a batch --- */

/* What the events a few places ahead will ask for. */
struct ahead {
	bool blocks, nodes;                             /* worth it: there are many */
	const struct hl_live_entry *found[FETCH_ENTRY]; /* NULL: not, or not looked for */
};

/* First the entries of the blocks that are freed, and when they are here the sums of their nodes.
 */
hl_inline void fetch_ahead(struct hl_proc *p, struct ahead *a, uint32_t i)
{
	const struct hl_pending *e = &p->pending[i];

	if (i + FETCH_ENTRY < p->n_pending)
		a->found[i % FETCH_ENTRY] =
			hl_live_prefetch_entry(&p->live, e[FETCH_ENTRY].addr, e[FETCH_ENTRY].home);
	if (a->nodes && i + FETCH_NODE < p->n_pending) {
		const struct hl_live_entry *b = a->found[(i + FETCH_NODE) % FETCH_ENTRY];

		if (e[FETCH_NODE].type == HL_REC_ALLOC)
			hl_writer_expect(p->writer, e[FETCH_NODE].node);
		else if (b)
			hl_writer_expect(p->writer, hl_live_node(b));
	}
}

uint32_t hl_usual_settle(struct hl_proc *p, uint32_t i)
{
	const struct hl_books_clock clock = hl_books_clock(p);
	struct ahead ahead = {
		.blocks = !p->live.places, .nodes = hl_calltree_nodes(&p->tree) > NODES_MANY};

	if (hl_unlikely(!is_plain(p)))
		return i;
	for (; i < p->n_pending; i++) {
		if (ahead.blocks)
			fetch_ahead(p, &ahead, i);
		if (hl_unlikely(!at_once(
			    p, &clock, &p->pending[i], ahead.blocks ? p->pending[i].home : NULL)))
			return i;
	}
	return i;
}

/* --- from the ring --- */

/* The node of a stack that comes back, or of the last one: then the record is three words long.
 * HL_NODE_NONE: ask hl_feed_stack(). */
hl_inline uint32_t usual_stack(struct hl_feed *f, const uint64_t *words, uint64_t *size)
{
	uint64_t stack = words[2];
	uint32_t number = hl_stack_kept(stack);

	*size = stack & HL_SIZE_BIG;
	if (hl_unlikely(*size == HL_SIZE_BIG))
		return HL_NODE_NONE;
	if (stack >> HL_SIZE_BITS == f->again)
		return f->again_node;
	if (stack & HL_STACK_WAY)
		return hl_likely(number < f->ways.len) ? f->ways.data[number] : HL_NODE_NONE;
	return HL_NODE_NONE;
}

/* Reads an allocation or a free, and tells its length; 0: it is something else. */
hl_inline uint32_t read_usual(struct hl_feed *f, const uint64_t *words, struct hl_pending *e)
{
	uint64_t first = words[0], size;

	e->type = first & 31;
	if (hl_unlikely(e->type != HL_REC_FREE && e->type != HL_REC_ALLOC &&
			e->type != HL_REC_ALLOC_WAY))
		return 0;
	e->addr = words[1];
	if (hl_unlikely(!hl_live_is_address(e->addr)))
		return 0;
	e->func = (first >> 5) & 31;
	e->rate = 0;
	e->feed = f;
	if (e->type == HL_REC_FREE) {
		e->node = HL_NODE_NONE;
		return 2;
	}
	if (e->type == HL_REC_ALLOC_WAY) {
		e->type = HL_REC_ALLOC;
		e->node = hl_feed_stack_named(f, words, &size);
		e->size = size;
		return hl_record_length(words, UINT64_MAX);
	}
	e->node = usual_stack(f, words, &e->size);
	if (hl_likely(e->node != HL_NODE_NONE))
		return 3;
	e->node = hl_feed_stack(f, words[2], words + 3, &size);
	e->size = size; /* so that nobody asks for the address of e */
	return hl_record_length(words, UINT64_MAX);
}

/* Its place in the order, behind the last one's. */
hl_inline void note_stamp(struct hl_proc *p, uint64_t stamp)
{
	if (hl_unlikely(stamp < p->last_stamp))
		p->counters.late_events++;
	else
		p->last_stamp = stamp;
}

/* The stamp of the record that the cursor has come to, if there is one. */
hl_inline uint64_t next_stamp(
	const struct hl_cursor *c, const uint64_t *words, uint64_t stamp, bool counter)
{
	return words < c->end ? hl_ticks_stamp(*words, stamp, c->near, counter) : stamp;
}

/* Into the batch. */
static void read_ahead(struct hl_proc *p, struct hl_feed *f, struct hl_cursor *c, uint64_t before)
{
	const bool counter = p->ticks->counter;
	const uint32_t role = hl_feed_role(f);
	const uint64_t *words = c->at;
	uint64_t stamp = c->stamp;
	uint32_t n = p->n_pending;

	for (; words < c->end && stamp < before && n < HL_PENDING_MAX; n++) {
		struct hl_pending *e = &p->pending[n];
		uint32_t len = read_usual(f, words, e);

		if (hl_unlikely(!len))
			break;
		e->stamp = stamp;
		e->role = role;
		e->home = hl_live_line(&p->live, e->addr);
		hl_fetch(e->home);
		note_stamp(p, stamp);
		words += len;
		stamp = next_stamp(c, words, stamp, counter);
	}
	c->at = words;
	c->stamp = stamp;
	p->n_pending = n;
}

/* Through the books. Few locals: the loop runs for every event, and its body needs the registers.
 */
static void read_through(struct hl_proc *p, struct hl_feed *f, struct hl_cursor *c, uint64_t before)
{
	const struct hl_books_clock clock = hl_books_clock(p);
	const uint32_t role = hl_feed_role(f);
	const uint64_t *words = c->at, *stop = c->end;
	uint64_t stamp = c->stamp;

	if (stop - words > AT_ONCE_WORDS)
		stop = words + AT_ONCE_WORDS;
	while (words < stop && stamp < before) {
		struct hl_pending e = {0};
		uint32_t len = read_usual(f, words, &e);

		if (hl_unlikely(!len))
			break;
		e.stamp = stamp;
		e.role = role;
		words += len;
		note_stamp(p, stamp);
		if (hl_unlikely(!at_once(p, &clock, &e, NULL))) {
			p->pending[p->n_pending++] = e;
			stop = words;
		}
		stamp = next_stamp(c, words, stamp, false);
	}
	c->at = words;
	c->stamp = stamp;
}

void hl_proc_records(struct hl_proc *p, struct hl_feed *f, struct hl_cursor *c, uint64_t before)
{
	if (f == p->execing)
		return;
	if (p->live.places && p->n_pending)
		hl_proc_settle(p);
	if (p->n_pending == 0)
		hl_live_look(&p->live);
	/* First what was pending, then the question: one of those may have to wait for what comes.
	 */
	if (p->live.places && is_plain(p) && !p->ticks->counter && hl_feed_role(f) != UINT32_MAX) {
		hl_live_grow_on(&p->live, AT_ONCE_WORDS / 8);
		read_through(p, f, c, before);
		return;
	}
	read_ahead(p, f, c, before);
	if (p->n_pending == HL_PENDING_MAX)
		hl_proc_settle(p);
}
