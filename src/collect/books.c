/*
 * books.c - matches frees to allocations and reallocs to their blocks.
 *
 * An event is applied only if the state of its address allows it: an allocation where nothing
 * lives, a free of what lives. Stamps are trusted to +-WINDOW ticks, so an event that does not fit
 * is parked for that long; if what it waits for does not come, it is an implicit or an unknown free
 * and counted as that, never folded into another number. Only another thread's word can be what it
 * waits for: what its own thread says of that address later waits behind it. After a pause, a stop
 * or among samples a free may be of a block that nobody told us of: it does not wait, and is
 * counted apart.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/hash.h"
#include "collect/books.h"
#include "collect/names.h"
#include "collect/region.h"
#include "collect/usual.h"
#include "collect/weigh.h"
#include "ring/filter.h"
#include "ring/record.h"
#include "util/radix.h"

#define WINDOW 4096u
/* Honest programs have a few of these; hostile ones do not get more. */
#define PARKED_MAX 4096u
#define MOVES_MAX  4096u

uint32_t hl_books_thread(struct hl_proc *p, struct hl_feed *f)
{
	if (f->thread == UINT32_MAX) {
		struct hl_feed *other = hl_feed_other(f);

		if (other && other->thread != UINT32_MAX)
			return f->thread = other->thread;
		(void)hl_writer_add_thread(p->writer, f->tid);
		f->thread = p->n_roles++;
		hl_names_meet(f, p->last_stamp);
	}
	return f->thread;
}

/* What a block stands for, at its birth as at its end. */
hl_inline struct hl_weight weight_of(const struct hl_proc *p, const struct hl_live_entry *b)
{
	uint32_t rate = hl_live_rate(b);

	if (hl_likely(!rate))
		return (struct hl_weight){1, hl_live_size(b)};
	return hl_weigh(hl_live_size(b), p->steering->rates[rate],
		hl_hash_pair(b->addr, hl_live_birth_ns(b)), p->salt);
}

/* Who did it, and in which scope. */
static uint32_t role_of(struct hl_proc *p, const struct hl_pending *e)
{
	return hl_likely(e->role == UINT32_MAX) ? hl_books_thread(p, e->feed) : e->role;
}

/* thread: the role that frees, which need not be that of e. */
static void emit_free_by(struct hl_proc *p, const struct hl_pending *e, uint32_t thread,
	const struct hl_live_entry *b, uint8_t func, uint8_t flags)
{
	uint64_t time = hl_books_time(p, e->stamp), birth = hl_live_birth_ns(b);
	struct hl_weight weight = weight_of(p, b);
	struct hl_event event = {
		.op = HL_OP_FREE,
		.func = func,
		.flags = flags,
		.time_ns = time,
		.addr = b->addr,
		.size = hl_live_size(b),
		.ordinal = hl_live_ordinal(b),
		.birth_ns = birth,
		.node = hl_live_node(b),
		.free_node = e->type == HL_REC_FREE_STACK ? e->node : HL_NODE_NONE,
		.thread = thread,
		.birth_thread = hl_live_thread(b),
		.blocks = weight.blocks,
		.bytes = weight.bytes,
	};

	p->n_frees++;
	if (hl_unlikely(b->size_birth & HL_LIVE_FILTERED))
		hl_filter_remove(p->filter, b->addr);
	hl_keep_free(p, &event);
}

static void emit_free(struct hl_proc *p, const struct hl_pending *e, const struct hl_live_entry *b,
	uint8_t func, uint8_t flags)
{
	emit_free_by(p, e, role_of(p, e), b, func, flags);
}

/* The program has put a sample there itself. */
static void put_in_filter(struct hl_proc *p, struct hl_live_entry *b, bool is_there)
{
	if (!is_there)
		hl_filter_add(p->filter, b->addr);
	b->size_birth |= HL_LIVE_FILTERED;
}

static void fill_in(void *arg, struct hl_live_entry *b)
{
	if (!(b->size_birth & HL_LIVE_FILTERED))
		put_in_filter(arg, b, false);
}

void hl_books_fill_filter(struct hl_proc *p)
{
	hl_live_change_each(&p->live, fill_in, p);
}

/* made_of: with HL_EVENT_LINKED. */
static void emit_alloc(
	struct hl_proc *p, const struct hl_pending *e, uint8_t flags, uint64_t made_of)
{
	uint64_t time = hl_books_time(p, e->stamp), units = time / HL_TIME_UNIT_NS;
	uint32_t thread = role_of(p, e);
	uint64_t size = e->size < HL_LIVE_SIZE_MAX ? e->size : HL_LIVE_SIZE_MAX;
	struct hl_live_entry *block = hl_live_insert(&p->live, e->addr);
	struct hl_weight weight;
	struct hl_event event;

	if (hl_unlikely(!block)) {
		p->out_of_memory = true;
		p->counters.dropped_events++;
		return;
	}
	block->ordinal_thread = thread & 0xffffff;
	block->size_birth = size << 16 | ((units >> 32) & 0xffff);
	block->birth_node = units << 32 | (uint32_t)e->rate << 26 | (e->node & HL_LIVE_NODE_MASK);
	if (hl_unlikely(e->rate || (p->steering && p->steering->mode == HL_MODE_SAMPLE)))
		put_in_filter(p, block, e->rate);
	weight = weight_of(p, block);
	event = (struct hl_event){
		.op = HL_OP_ALLOC,
		.func = e->func,
		.flags = flags,
		.time_ns = time,
		.addr = e->addr,
		.size = size,
		.made_of = made_of,
		.node = e->node,
		.free_node = HL_NODE_NONE,
		.thread = thread,
		.blocks = weight.blocks,
		.bytes = weight.bytes,
	};
	p->n_allocs++;
	hl_keep_alloc(p, &event, block);
}

static void unknown_free(struct hl_proc *p, const struct hl_pending *e, uint64_t addr)
{
	struct hl_extra extra = {.kind = HL_EXTRA_UNKNOWN_FREE,
		.addr = addr,
		.value = p->forked,
		.node = HL_NODE_NONE};

	if (p->gaps && !p->forked) {
		p->counters.unrecorded_frees++;
		return;
	}
	if (p->forked)
		p->counters.inherited_frees++;
	else
		p->counters.unknown_frees++;
	hl_books_extra(p, e->feed, &extra, NULL, 0, e->stamp);
}

static struct hl_move *find_move(struct hl_proc *p, const struct hl_feed *f, uint64_t addr)
{
	for (size_t i = p->moves.len; i > 0; i--) {
		struct hl_move *m = &p->moves.data[i - 1];

		if (m->addr == addr && (f ? m->feed == f : m->state == HL_MOVE_LIMBO))
			return m;
	}
	return NULL;
}

static void drop_move(struct hl_proc *p, struct hl_move *m)
{
	*m = p->moves.data[--p->moves.len];
}

/*
 * Makes room at an address that an allocation wants. False: something lives there, and the event
 * may have come too early: park it.
 */
static bool clear_address(struct hl_proc *p, const struct hl_pending *e, bool may_park)
{
	struct hl_live_entry gone;
	struct hl_move *m;

	if (!hl_live_find(&p->live, e->addr))
		return true;
	m = find_move(p, NULL, e->addr);
	if (!m && may_park)
		return false;
	hl_live_take(&p->live, e->addr, &gone);
	if (m) {
		/* Another thread's realloc has given the address up and is not back yet. */
		m->state = HL_MOVE_ENDED;
		m->ordinal = hl_live_ordinal(&gone);
		emit_free_by(p, e, m->role, &gone, m->func, 0);
	} else {
		p->counters.implicit_frees++;
		emit_free(p, e, &gone, HL_FUNC_IMPLICIT, 0);
	}
	return true;
}

static bool apply_alloc(struct hl_proc *p, const struct hl_pending *e, bool may_park)
{
	if (!clear_address(p, e, may_park))
		return false;
	emit_alloc(p, e, 0, 0);
	return true;
}

static bool apply_free(struct hl_proc *p, const struct hl_pending *e, bool may_park)
{
	struct hl_live_entry *block = hl_live_find(&p->live, e->addr);

	if (hl_likely(block != NULL)) {
		emit_free(p, e, block, e->func, 0);
		hl_live_remove_found(&p->live);
		return true;
	}
	/* Where blocks come unrecorded, most such frees are theirs; the next that gets the address,
	 * perhaps at once, must not be taken for what was freed. */
	if (may_park && !p->gaps)
		return false;
	unknown_free(p, e, e->addr);
	return true;
}

static void begin_move(struct hl_proc *p, const struct hl_pending *e)
{
	struct hl_move m = {
		.feed = e->feed, .addr = e->addr, .role = role_of(p, e), .func = e->func};

	if (p->moves.len >= MOVES_MAX)
		drop_move(p, &p->moves.data[0]);
	m.state = hl_live_find(&p->live, e->addr) ? HL_MOVE_LIMBO : HL_MOVE_UNKNOWN;
	if (hl_vec_push(&p->moves, m))
		p->out_of_memory = true;
}

/* The flag of a realloc's new block. Ordinals are those of the file only where every block is
 * written at once. */
static uint8_t link_flag(const struct hl_proc *p, bool had, bool ended, uint64_t made_of)
{
	if (had)
		return HL_EVENT_MOVED;
	return ended && p->keep.mode == HL_MODE_TRACE && made_of < HL_KEEP_HELD ? HL_EVENT_LINKED
										: 0;
}

/* The old block goes and the new one comes in one step: the peak never sees both. */
static bool end_move(struct hl_proc *p, const struct hl_pending *e, bool may_park)
{
	struct hl_move *m = find_move(p, e->feed, e->old);
	bool ended = m && m->state == HL_MOVE_ENDED, had = false;
	uint64_t made_of = ended ? m->ordinal : 0;
	struct hl_live_entry gone;

	if (e->addr && e->addr != e->old && hl_live_find(&p->live, e->addr) && may_park &&
		!find_move(p, NULL, e->addr))
		return false;
	if (m)
		drop_move(p, m);
	if (!ended) {
		had = hl_live_take(&p->live, e->old, &gone);
		if (!had)
			unknown_free(p, e, e->old);
	}
	if (e->addr && e->addr != e->old)
		clear_address(p, e, false);
	if (had)
		emit_free(p, e, &gone, e->func, e->addr ? HL_EVENT_MOVED : 0);
	if (e->addr)
		emit_alloc(p, e, link_flag(p, had, ended, made_of), made_of);
	return true;
}

/* False: it does not fit yet. */
static bool apply(struct hl_proc *p, const struct hl_pending *e, bool may_park)
{
	struct hl_move *m;

	switch (e->type) {
	case HL_REC_ALLOC:
		return apply_alloc(p, e, may_park);
	case HL_REC_FREE:
	case HL_REC_FREE_STACK:
		return apply_free(p, e, may_park);
	case HL_REC_MOVE_BEGIN:
		begin_move(p, e);
		return true;
	case HL_REC_MOVE_END:
		return end_move(p, e, may_park);
	case HL_REC_MOVE_FAILED:
		m = find_move(p, e->feed, e->addr);
		if (m)
			drop_move(p, m);
		return true;
	}
	return true;
}

static void unpark(struct hl_proc *p, size_t i)
{
	memmove(&p->parked.data[i], &p->parked.data[i + 1],
		(--p->parked.len - i) * sizeof(*p->parked.data));
}

static bool concerns(const struct hl_pending *e, uint64_t addr)
{
	return e->addr == addr || (e->type == HL_REC_MOVE_END && e->old == addr);
}

/* Has its thread said something about the same block before, that is among the first n parked? */
static bool is_behind(const struct hl_proc *p, const struct hl_pending *e, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct hl_pending *first = &p->parked.data[i];

		if (first->feed == e->feed &&
			(concerns(first, e->addr) ||
				(e->type == HL_REC_MOVE_END && concerns(first, e->old))))
			return true;
	}
	return false;
}

/* What waited for a change at `addr` may fit now. */
static void retry_parked(struct hl_proc *p, uint64_t addr)
{
	for (size_t i = 0; i < p->parked.len;) {
		struct hl_pending e = p->parked.data[i];

		if (concerns(&e, addr) && !is_behind(p, &e, i) && apply(p, &e, true)) {
			unpark(p, i);
			i = 0;
		} else {
			i++;
		}
	}
}

/* What has waited for longer than stamps can be wrong is what it looks like. */
static void expire_parked(struct hl_proc *p, uint64_t now)
{
	while (p->parked.len && (now == UINT64_MAX || now - p->parked.data[0].stamp > WINDOW)) {
		struct hl_pending e = p->parked.data[0];

		unpark(p, 0);
		apply(p, &e, false);
		retry_parked(p, e.addr);
	}
}

/* The index has become another since these were looked up. */
static void find_homes(struct hl_proc *p, uint32_t i)
{
	for (; i < p->n_pending; i++)
		p->pending[i].home = hl_live_line(&p->live, p->pending[i].addr);
}

/* A thread alone has said all there is: nothing that is missing can still come. */
static bool may_come_late(const struct hl_proc *p)
{
	return p->feeds.len > 1;
}

void hl_proc_settle(struct hl_proc *p)
{
	const struct hl_live_line *lines = p->live.now.lines;

	hl_keep_release(p, hl_proc_last_ns(p));
	hl_live_grow_on(&p->live, p->n_pending);
	for (uint32_t i = hl_usual_settle(p, 0); i < p->n_pending; i = hl_usual_settle(p, i + 1)) {
		const struct hl_pending *e = &p->pending[i];

		if (hl_unlikely(p->keep.n_waiting > 0))
			hl_keep_release(p, hl_proc_last_ns(p));
		if (p->parked.len)
			expire_parked(p, e->stamp);
		if (is_behind(p, e, p->parked.len) || !apply(p, e, may_come_late(p))) {
			if (p->parked.len >= PARKED_MAX || hl_vec_push(&p->parked, *e))
				apply(p, e, false);
		} else if (p->parked.len) {
			retry_parked(p, e->addr);
		}
		if (hl_unlikely(p->live.now.lines != lines)) {
			lines = p->live.now.lines;
			find_homes(p, i + 1);
		}
	}
	p->n_pending = 0;
}

void hl_books_extra(struct hl_proc *p, struct hl_feed *f, const struct hl_extra *extra,
	const char *text, uint32_t len, uint64_t stamp)
{
	struct hl_extra x = *extra;
	char *copy = text ? strndup(text, len) : NULL;

	if (text && !copy) {
		p->out_of_memory = true;
		return;
	}
	x.time_ns = hl_books_time(p, stamp);
	x.thread = f->role != UINT32_MAX ? f->role : hl_books_thread(p, f);
	x.text = copy;
	hl_keep_extra(p, &x);
	free(copy);
}

void hl_books_pass_time(struct hl_proc *p, struct hl_feed *f, uint64_t stamp)
{
	hl_proc_settle(p);
	(void)hl_books_thread(p, f);
	(void)hl_books_time(p, stamp);
}

struct live_list {
	struct hl_keyed *keyed;
	size_t n;
};

static void add_live(void *arg, const struct hl_live_entry *e)
{
	struct live_list *list = arg;

	list->keyed[list->n++] = (struct hl_keyed){.key = e->addr, .value = e};
}

static struct hl_live_block live_block(const struct hl_proc *p, const struct hl_live_entry *e)
{
	struct hl_weight weight = weight_of(p, e);

	return (struct hl_live_block){
		.addr = e->addr,
		.size = hl_live_size(e),
		.ordinal = hl_live_ordinal(e),
		.birth_ns = hl_live_birth_ns(e),
		.node = hl_live_node(e),
		.thread = hl_live_thread(e),
		.blocks = weight.blocks,
		.bytes = weight.bytes,
	};
}

/* By address. */
static void put_live_set(struct hl_proc *p)
{
	size_t room = hl_live_blocks(&p->live) + 1;
	struct hl_live_block *blocks;
	struct live_list list = {0};

	/* Blocks that no event tells of are in sums alone. */
	if (hl_live_blocks(&p->live) > HL_LIVE_SET_MAX ||
		hl_writer_withheld(p->writer)->alloc_blocks !=
			hl_writer_withheld(p->writer)->free_blocks)
		return;
	blocks = malloc(room * sizeof(*blocks));
	list.keyed = malloc(room * sizeof(*list.keyed));
	if (!blocks || !list.keyed)
		goto out;
	hl_live_each(&p->live, add_live, &list);
	_Static_assert(sizeof(*blocks) >= sizeof(*list.keyed), "room to sort in");
	hl_radix_sort(list.keyed, (struct hl_keyed *)blocks, list.n);
	for (size_t i = 0; i < list.n; i++)
		blocks[i] = live_block(p, list.keyed[i].value);
	(void)hl_writer_add_live_set(p->writer, blocks, list.n);
out:
	free(blocks);
	free(list.keyed);
}

void hl_books_end(struct hl_proc *p, const struct hl_end *end)
{
	struct hl_end whole = *end;

	hl_proc_settle(p);
	expire_parked(p, UINT64_MAX);
	hl_keep_end(p);
	put_live_set(p);
	if (p->out_of_memory && !p->counters.dropped_events)
		p->counters.dropped_events = 1; /* at least: what was lost then was not counted */
	if (whole.duration_ns < hl_proc_last_ns(p))
		whole.duration_ns = hl_proc_last_ns(p);
	hl_output_end(p->output, &whole, &p->counters, &p->cost, p->n_allocs + p->n_frees);
	p->output = NULL;
	p->writer = NULL;
}
