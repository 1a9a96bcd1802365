/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match.c - matches frees to allocations and reallocs to their blocks.
 *
 * An event is applied only if the state of its address allows it: an allocation where no block is
 * live, a free where one is. Stamps are trusted to +-STAMP_WINDOW ticks, so an event that does not
 * fit is deferred for that long. If the event that it waits for does not arrive, it is an implicit
 * or an unknown free and counted as such, never in another counter. Only an event of another thread
 * can resolve a deferred event: later events of its own thread with the same address queue behind
 * it. After a pause or a stop, or when sampling, a free may be of a block that was not recorded.
 * Such a free is not deferred, and has a counter of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/hash.h"
#include "collect/match/match.h"
#include "collect/match/live_table_inline.h"
#include "collect/match/rotate.h"
#include "collect/match/thread_names.h"
#include "collect/output/base_task.h"
#include "collect/drain/region.h"
#include "collect/match/match_fast.h"
#include "collect/match/sample_weight.h"
#include "ring/sample_filter.h"
#include "ring/ring_record.h"
#include "util/radix_sort.h"

#define STAMP_WINDOW 4096u
/* Normal programs have a few of these. The limit protects against hostile ones. */
#define DEFERRED_MAX 4096u
#define MOVES_MAX    4096u

uint32_t hl_match_thread(struct hl_target *p, struct hl_thread_stream *f)
{
	if (f->thread == UINT32_MAX) {
		struct hl_thread_stream *other = hl_thread_stream_sibling(f);

		if (other && other->thread != UINT32_MAX)
			return f->thread = other->thread;
		(void)hl_writer_add_thread(p->writer, f->tid);
		f->thread = hl_target_add_role(
			p, &(struct hl_match_role){p->match.n_roles, HL_TAG_NONE, f->tid});
		hl_thread_names_add(f, p->match.last_stamp);
	}
	return f->thread;
}

/* The weight of a block, the same for its allocation and its free. */
hl_inline struct hl_sample_weight weight_of(
	const struct hl_target *p, const struct hl_live_entry *b)
{
	if (hl_likely(!hl_live_rate_id(b)))
		return (struct hl_sample_weight){1, hl_live_size(b)};
	return hl_sample_weight_of(b, p->control.steering->rates, p->control.salt);
}

/* The role of an event: its thread, in its scope. */
static uint32_t role_of(struct hl_target *p, const struct hl_decoded_event *e)
{
	return hl_likely(e->role == UINT32_MAX) ? hl_match_thread(p, e->stream) : e->role;
}

/* thread: the role that frees, which may differ from that of e. */
static void emit_free_by(struct hl_target *p, const struct hl_decoded_event *e, uint32_t thread,
	const struct hl_live_entry *b, uint8_t func, uint8_t flags)
{
	uint64_t time = hl_match_time(p, e->stamp), alloc_ns = hl_live_alloc_ns(b);
	struct hl_sample_weight weight = weight_of(p, b);
	struct hl_event event = {
		.op = HL_OP_FREE,
		.func = func,
		.flags = flags,
		.time_ns = time,
		.addr = b->addr,
		.size = hl_live_size(b),
		.ordinal = hl_live_ordinal(b),
		.alloc_ns = alloc_ns,
		.node = hl_live_node(b),
		.free_node = e->type == HL_REC_FREE_STACK ? e->node : HL_NODE_NONE,
		.thread = thread,
		.alloc_role = hl_live_thread(b),
		.blocks = weight.blocks,
		.bytes = weight.bytes,
	};

	p->match.n_frees++;
	if (hl_unlikely(p->match.base != NULL))
		hl_live_copy_keep(&p->match.base->copy, b);
	if (hl_unlikely(b->size_time & HL_LIVE_FILTERED))
		hl_sample_filter_remove(p->control.filter, b->addr);
	hl_retain_free(p, &event);
}

static void emit_free(struct hl_target *p, const struct hl_decoded_event *e,
	const struct hl_live_entry *b, uint8_t func, uint8_t flags)
{
	emit_free_by(p, e, role_of(p, e), b, func, flags);
}

/* Marks a block as filtered. is_there: a sample, which the program has added to the filter
 * itself. */
static void put_in_filter(struct hl_target *p, struct hl_live_entry *b, bool is_there)
{
	if (!is_there)
		hl_sample_filter_add(p->control.filter, b->addr);
	b->size_time |= HL_LIVE_FILTERED;
}

static void add_to_filter(void *arg, struct hl_live_entry *b)
{
	if (!(b->size_time & HL_LIVE_FILTERED))
		put_in_filter(arg, b, false);
}

void hl_match_fill_filter(struct hl_target *p)
{
	hl_live_each_mutable(&p->match.live, add_to_filter, p);
}

/* realloc_of: the ordinal of the old block, used with HL_EVENT_LINKED. */
static void emit_alloc(
	struct hl_target *p, const struct hl_decoded_event *e, uint8_t flags, uint64_t realloc_of)
{
	uint64_t time = hl_match_time(p, e->stamp), units = time / HL_TIME_UNIT_NS;
	uint32_t thread = role_of(p, e);
	uint64_t size = e->size < HL_LIVE_SIZE_MAX ? e->size : HL_LIVE_SIZE_MAX;
	struct hl_live_entry *block = hl_live_insert(&p->match.live, e->addr);
	struct hl_sample_weight weight;
	struct hl_event event;

	if (hl_unlikely(!block)) {
		p->match.out_of_memory = true;
		p->match.counters.dropped_events++;
		return;
	}
	block->ordinal_thread = thread & 0xffffff;
	block->size_time = size << 16 | ((units >> 32) & 0xffff);
	block->time_node = hl_live_time_node(units, hl_live_origin(e->func, e->rate_id), e->node);
	if (hl_unlikely(e->rate_id ||
			(p->control.steering && p->control.steering->mode == HL_MODE_SAMPLE)))
		put_in_filter(p, block, e->rate_id);
	weight = weight_of(p, block);
	event = (struct hl_event){
		.op = HL_OP_ALLOC,
		.func = e->func,
		.flags = flags,
		.time_ns = time,
		.addr = e->addr,
		.size = size,
		.realloc_of = realloc_of,
		.node = e->node,
		.free_node = HL_NODE_NONE,
		.thread = thread,
		.blocks = weight.blocks,
		.bytes = weight.bytes,
	};
	p->match.n_allocs++;
	hl_retain_alloc(p, &event, block);
}

static void emit_unknown_free(struct hl_target *p, const struct hl_decoded_event *e, uint64_t addr)
{
	struct hl_extra extra = {.kind = HL_EXTRA_UNKNOWN_FREE,
		.addr = addr,
		.value = p->forked,
		.node = HL_NODE_NONE};

	if (p->control.gaps && !p->forked) {
		p->match.counters.unrecorded_frees++;
		return;
	}
	if (p->forked)
		p->match.counters.inherited_frees++;
	else
		p->match.counters.unknown_frees++;
	hl_match_extra(p, e->stream, &extra, NULL, 0, e->stamp);
}

static struct hl_move *find_move(
	struct hl_target *p, const struct hl_thread_stream *f, uint64_t addr)
{
	for (size_t i = p->match.moves.len; i > 0; i--) {
		struct hl_move *m = &p->match.moves.data[i - 1];

		if (m->addr == addr && (f ? m->stream == f : m->state == HL_MOVE_IN_PROGRESS))
			return m;
	}
	return NULL;
}

static void drop_move(struct hl_target *p, struct hl_move *m)
{
	*m = p->match.moves.data[--p->match.moves.len];
}

/* Removes the block at the address of an allocation, if one is live. False: a block is live there
 * and the event may be too early; defer it. */
static bool clear_address(struct hl_target *p, const struct hl_decoded_event *e, bool may_defer)
{
	struct hl_live_entry freed;
	struct hl_move *m;

	if (!hl_live_find(&p->match.live, e->addr))
		return true;
	m = find_move(p, NULL, e->addr);
	if (!m && may_defer)
		return false;
	hl_live_remove(&p->match.live, e->addr, &freed);
	if (m) {
		/* Another thread's realloc has released the address and has not returned yet. */
		m->state = HL_MOVE_ENDED;
		m->ordinal = hl_live_ordinal(&freed);
		emit_free_by(p, e, m->role, &freed, m->func, 0);
	} else {
		p->match.counters.implicit_frees++;
		emit_free(p, e, &freed, HL_FUNC_IMPLICIT, 0);
	}
	return true;
}

static bool apply_alloc(struct hl_target *p, const struct hl_decoded_event *e, bool may_defer)
{
	if (!clear_address(p, e, may_defer))
		return false;
	emit_alloc(p, e, 0, 0);
	return true;
}

static bool apply_free(struct hl_target *p, const struct hl_decoded_event *e, bool may_defer)
{
	struct hl_live_entry *block = hl_live_find(&p->match.live, e->addr);

	if (hl_likely(block != NULL)) {
		emit_free(p, e, block, e->func, 0);
		hl_live_remove_found(&p->match.live);
		return true;
	}
	/* Where blocks may be unrecorded, most such frees are of those. The next block at this
	 * address may be allocated at once, and must not be matched with this free. */
	if (may_defer && !p->control.gaps)
		return false;
	emit_unknown_free(p, e, e->addr);
	return true;
}

static void begin_move(struct hl_target *p, const struct hl_decoded_event *e)
{
	struct hl_move m = {
		.stream = e->stream, .addr = e->addr, .role = role_of(p, e), .func = e->func};

	if (p->match.moves.len >= MOVES_MAX)
		drop_move(p, &p->match.moves.data[0]);
	m.state = hl_live_find(&p->match.live, e->addr) ? HL_MOVE_IN_PROGRESS : HL_MOVE_UNKNOWN;
	if (hl_vec_push(&p->match.moves, m))
		p->match.out_of_memory = true;
}

/* The flag of the new block of a realloc. LINKED needs the ordinal of the old block in the file,
 * which is known only where every block is written at once. */
static uint8_t link_flag(const struct hl_target *p, bool had_old, bool ended, uint64_t realloc_of)
{
	if (had_old)
		return HL_EVENT_MOVED;
	return ended && p->retain.mode == HL_MODE_TRACE && realloc_of < HL_ORDINAL_WITHHELD
		       ? HL_EVENT_LINKED
		       : 0;
}

/* The old block is freed and the new one allocated in one step: the peak never includes both. */
static bool end_move(struct hl_target *p, const struct hl_decoded_event *e, bool may_defer)
{
	struct hl_move *m = find_move(p, e->stream, e->old_addr);
	bool ended = m && m->state == HL_MOVE_ENDED, had_old = false;
	uint64_t realloc_of = ended ? m->ordinal : 0;
	struct hl_live_entry freed;

	if (e->addr && e->addr != e->old_addr && hl_live_find(&p->match.live, e->addr) &&
		may_defer && !find_move(p, NULL, e->addr))
		return false;
	if (m)
		drop_move(p, m);
	if (!ended) {
		had_old = hl_live_remove(&p->match.live, e->old_addr, &freed);
		if (!had_old)
			emit_unknown_free(p, e, e->old_addr);
	}
	if (e->addr && e->addr != e->old_addr)
		clear_address(p, e, false);
	if (had_old)
		emit_free(p, e, &freed, e->func, e->addr ? HL_EVENT_MOVED : 0);
	if (e->addr)
		emit_alloc(p, e, link_flag(p, had_old, ended, realloc_of), realloc_of);
	return true;
}

/* False: the event does not fit yet. */
static bool apply_event(struct hl_target *p, const struct hl_decoded_event *e, bool may_defer)
{
	struct hl_move *m;

	switch (e->type) {
	case HL_REC_ALLOC:
		return apply_alloc(p, e, may_defer);
	case HL_REC_FREE:
	case HL_REC_FREE_STACK:
		return apply_free(p, e, may_defer);
	case HL_REC_MOVE_BEGIN:
		begin_move(p, e);
		return true;
	case HL_REC_MOVE_END:
		return end_move(p, e, may_defer);
	case HL_REC_MOVE_FAILED:
		m = find_move(p, e->stream, e->addr);
		if (m)
			drop_move(p, m);
		return true;
	}
	return true;
}

static void remove_deferred(struct hl_target *p, size_t i)
{
	memmove(&p->match.deferred.data[i], &p->match.deferred.data[i + 1],
		(--p->match.deferred.len - i) * sizeof(*p->match.deferred.data));
}

static bool concerns_address(const struct hl_decoded_event *e, uint64_t addr)
{
	return e->addr == addr || (e->type == HL_REC_MOVE_END && e->old_addr == addr);
}

/* True if one of the first n deferred events is of the same thread and block: e must wait behind
 * it. */
static bool is_behind_deferred(
	const struct hl_target *p, const struct hl_decoded_event *e, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct hl_decoded_event *earlier = &p->match.deferred.data[i];

		if (earlier->stream == e->stream &&
			(concerns_address(earlier, e->addr) ||
				(e->type == HL_REC_MOVE_END &&
					concerns_address(earlier, e->old_addr))))
			return true;
	}
	return false;
}

/* Retries deferred events that waited for a change at `addr`. */
static void retry_deferred(struct hl_target *p, uint64_t addr)
{
	for (size_t i = 0; i < p->match.deferred.len;) {
		struct hl_decoded_event e = p->match.deferred.data[i];

		if (concerns_address(&e, addr) && !is_behind_deferred(p, &e, i) &&
			apply_event(p, &e, true)) {
			remove_deferred(p, i);
			i = 0;
		} else {
			i++;
		}
	}
}

/* Applies events unconditionally that were deferred for longer than stamps can be wrong.
 * UINT64_MAX: all of them. */
static void expire_deferred(struct hl_target *p, uint64_t now)
{
	while (p->match.deferred.len &&
		(now == UINT64_MAX || now - p->match.deferred.data[0].stamp > STAMP_WINDOW)) {
		struct hl_decoded_event e = p->match.deferred.data[0];

		remove_deferred(p, 0);
		apply_event(p, &e, false);
		retry_deferred(p, e.addr);
	}
}

/* The index of the live table was replaced since these lines were looked up. */
static void refresh_home_lines(struct hl_target *p, uint32_t i)
{
	for (; i < p->match.n_pending; i++)
		p->match.pending[i].home_line =
			hl_live_home_line(&p->match.live, p->match.pending[i].addr);
}

/* With one thread there is no other that could resolve a deferred event. */
static bool may_wait_for_others(const struct hl_target *p)
{
	return p->match.streams.len > 1;
}

void hl_target_flush(struct hl_target *p)
{
	const struct hl_live_line *lines = p->match.live.index.lines;

	hl_retain_release(p, hl_target_last_ns(p));
	hl_live_continue_growth(&p->match.live, p->match.n_pending);
	for (uint32_t i = hl_match_fast_flush(p, 0); i < p->match.n_pending;
		i = hl_match_fast_flush(p, i + 1)) {
		const struct hl_decoded_event *e = &p->match.pending[i];

		if (hl_unlikely(p->retain.n_queued > 0))
			hl_retain_release(p, hl_target_last_ns(p));
		if (p->match.deferred.len)
			expire_deferred(p, e->stamp);
		if (is_behind_deferred(p, e, p->match.deferred.len) ||
			!apply_event(p, e, may_wait_for_others(p))) {
			if (p->match.deferred.len >= DEFERRED_MAX ||
				hl_vec_push(&p->match.deferred, *e))
				apply_event(p, e, false);
		} else if (p->match.deferred.len) {
			retry_deferred(p, e->addr);
		}
		if (hl_unlikely(p->match.live.index.lines != lines)) {
			lines = p->match.live.index.lines;
			refresh_home_lines(p, i + 1);
		}
	}
	p->match.n_pending = 0;
}

void hl_match_extra(struct hl_target *p, struct hl_thread_stream *f, const struct hl_extra *extra,
	const char *text, uint32_t len, uint64_t stamp)
{
	struct hl_extra x = *extra;
	char *copy = text ? strndup(text, len) : NULL;

	if (text && !copy) {
		p->match.out_of_memory = true;
		return;
	}
	x.time_ns = hl_match_time(p, stamp);
	x.thread = f->role != UINT32_MAX ? f->role : hl_match_thread(p, f);
	x.text = copy;
	hl_retain_extra(p, &x);
	free(copy);
}

void hl_match_advance_time(struct hl_target *p, struct hl_thread_stream *f, uint64_t stamp)
{
	hl_target_flush(p);
	(void)hl_match_thread(p, f);
	(void)hl_match_time(p, stamp);
}

struct live_list {
	struct hl_radix_item *keyed;
	size_t n;
};

static void add_live(void *arg, const struct hl_live_entry *e)
{
	struct live_list *list = arg;

	list->keyed[list->n++] = (struct hl_radix_item){.key = e->addr, .value = e};
}

/* Sorted by address. */
static void write_live_set(struct hl_target *p)
{
	size_t capacity = hl_live_blocks(&p->match.live) + 1;
	const uint64_t *rates = p->control.steering ? p->control.steering->rates : NULL;
	struct hl_live_block *blocks;
	struct live_list list = {0};

	/* Some live blocks are only aggregated: the list would be incomplete. */
	if (hl_live_blocks(&p->match.live) > HL_LIVE_SET_MAX ||
		hl_writer_aggregated_sums(p->writer)->alloc_blocks !=
			hl_writer_aggregated_sums(p->writer)->free_blocks)
		return;
	blocks = malloc(capacity * sizeof(*blocks));
	list.keyed = malloc(capacity * sizeof(*list.keyed));
	if (!blocks || !list.keyed)
		goto out;
	hl_live_each(&p->match.live, add_live, &list);
	_Static_assert(sizeof(*blocks) >= sizeof(*list.keyed), "room to sort in");
	hl_radix_sort(list.keyed, (struct hl_radix_item *)blocks, list.n);
	for (size_t i = 0; i < list.n; i++)
		blocks[i] = hl_sample_live_block(list.keyed[i].value, rates, p->control.salt);
	(void)hl_writer_add_live_set(p->writer, blocks, list.n);
out:
	free(blocks);
	free(list.keyed);
}

void hl_match_end(struct hl_target *p, const struct hl_end *end)
{
	hl_target_flush(p);
	expire_deferred(p, UINT64_MAX);
	hl_match_copy_base(p, UINT32_MAX);
	hl_retain_end(p);
	write_live_set(p);
	hl_match_end_output(p, end);
	hl_writer_close(p->writer);
	p->output = NULL;
	p->writer = NULL;
}
