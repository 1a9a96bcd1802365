/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match_fast.c - the fast path for allocations and frees, from the words of a ring to the columns
 * of the trace.
 *
 * It uses the same building blocks as the slow path (live_table_inline.h,
 * trace/write/writer_add.c). It saves case distinctions: the block represents only itself, is where
 * it is looked for first, and every block becomes an event. If one of these conditions fails,
 * nothing has been changed and match.c handles the event.
 *
 * With a cache in the live table, an event is applied directly. Without one it waits in a batch, so
 * that its data is prefetched meanwhile: first its line of the index, then the entry that the line
 * refers to, then the sums of the entry's node.
 */
#include "base/attr.h"
#include "collect/match/decode_record.h"
#include "collect/match/match.h"
#include "collect/match/live_table_inline.h"
#include "collect/drain/record_length.h"
#include "collect/control/steering.h"
#include "collect/match/match_fast.h"
#include "ring/ring_record.h"

#define PREFETCH_ENTRY 8u /* distance in events */
#define PREFETCH_NODE  4u
#define MANY_NODES     4096u
#define DIRECT_WORDS   640 /* about 256 events, before control returns to the caller */

/* Every block becomes an event, without sampling and without deferred events, and no base is being
 * copied. */
static bool is_plain_trace(const struct hl_target *p)
{
	return hl_retain_is_plain(&p->retain) && !p->match.deferred.len && !p->match.base &&
	       !(p->control.steering && p->control.steering->mode == HL_MODE_SAMPLE);
}

/* The cache slot has no tombstone of this address. */
static hl_noinline struct hl_live_entry *insert_slow(struct hl_live_table *l, uint64_t addr)
{
	return hl_live_find(l, addr) ? NULL : hl_live_insert(l, addr);
}

/* Returns the entry of a new block, to be filled; NULL: slow path. home_line: NULL if there is a
 * cache. */
hl_inline struct hl_live_entry *insert_fast(
	struct hl_live_table *l, uint64_t addr, struct hl_live_line *home_line)
{
	struct hl_live_entry *cached;

	if (home_line)
		return hl_live_insert_home(l, addr, home_line);
	cached = hl_live_cache_slot(l, addr);
	return hl_likely(hl_live_cache_insert(l, cached, addr)) ? cached : insert_slow(l, addr);
}

/* False: the event needs the slow path, and nothing was changed. */
hl_inline bool alloc_fast(struct hl_target *p, const struct hl_match_clock *clock,
	const struct hl_decoded_event *e, struct hl_live_line *home_line)
{
	struct hl_live_entry *block;
	struct hl_live_block b;
	uint64_t units;

	if (hl_unlikely(e->size >= HL_LIVE_SIZE_MAX || e->rate_id || e->role == UINT32_MAX))
		return false;
	block = insert_fast(&p->match.live, e->addr, home_line);
	if (hl_unlikely(!block))
		return false;
	b = (struct hl_live_block){.addr = e->addr,
		.size = e->size,
		.ordinal = hl_retain_next_ordinal(&p->retain),
		.node = e->node,
		.thread = e->role};
	units = hl_match_units(p, clock, e->stamp);
	block->ordinal_thread = b.ordinal << 24 | (b.thread & 0xffffff);
	block->size_time = b.size << 16 | ((units >> 32) & 0xffff);
	block->time_node = hl_live_time_node(units, e->func, b.node);
	p->match.n_allocs++;
	(void)hl_writer_add_alloc(p->writer, &b, units, e->func);
	return true;
}

/* Finds a block that is not in the cache. */
static hl_noinline struct hl_live_entry *find_in_index(
	struct hl_live_table *l, uint64_t addr, struct hl_live_line **home_line, uint32_t *slot)
{
	*home_line = hl_live_home_line(l, addr);
	return hl_live_find_home(l, addr, *home_line, slot);
}

hl_inline bool free_fast(struct hl_target *p, const struct hl_match_clock *clock,
	const struct hl_decoded_event *e, struct hl_live_line *home_line)
{
	struct hl_live_entry *block =
		home_line ? NULL : hl_live_cache_slot(&p->match.live, e->addr);
	struct hl_live_block b;
	uint32_t slot = 0;

	if (home_line)
		block = hl_live_find_home(&p->match.live, e->addr, home_line, &slot);
	else if (hl_unlikely(block->addr != e->addr))
		block = find_in_index(&p->match.live, e->addr, &home_line, &slot);
	if (hl_unlikely(!block || e->role == UINT32_MAX || !hl_live_is_plain(block)))
		return false;
	b = (struct hl_live_block){.addr = e->addr,
		.size = hl_live_size(block),
		.ordinal = hl_live_ordinal(block),
		.alloc_ns = hl_live_alloc_ns(block),
		.node = hl_live_node(block),
		.thread = hl_live_thread(block)};
	if (hl_unlikely(b.ordinal >= HL_ORDINAL_WITHHELD))
		return false;
	if (home_line) {
		hl_live_remove_home(&p->match.live, block, home_line, slot);
		hl_live_count_age(&p->match.live, p->retain.n_written - b.ordinal);
	} else {
		hl_live_cache_remove(&p->match.live, block);
	}
	p->match.n_frees++;
	(void)hl_writer_add_free(
		p->writer, &b, hl_match_units(p, clock, e->stamp), e->role, e->func);
	return true;
}

hl_inline bool apply_fast(struct hl_target *p, const struct hl_match_clock *clock,
	const struct hl_decoded_event *e, struct hl_live_line *home_line)
{
	return e->type == HL_REC_FREE
		       ? free_fast(p, clock, e, home_line)
		       : e->type == HL_REC_ALLOC && alloc_fast(p, clock, e, home_line);
}

/* --- without a cache: a batch --- */

/* Data that the next events will need. */
struct prefetch {
	bool blocks, nodes; /* whether prefetching pays: there are many */
	const struct hl_live_entry *found[PREFETCH_ENTRY]; /* NULL: not found, or not looked up */
};

/* First prefetches the entries of blocks that are freed; when these are loaded, the sums of their
 * nodes. */
hl_inline void prefetch_ahead(struct hl_target *p, struct prefetch *a, uint32_t i)
{
	const struct hl_decoded_event *e = &p->match.pending[i];

	if (i + PREFETCH_ENTRY < p->match.n_pending)
		a->found[i % PREFETCH_ENTRY] = hl_live_prefetch_entry(
			&p->match.live, e[PREFETCH_ENTRY].addr, e[PREFETCH_ENTRY].home_line);
	if (a->nodes && i + PREFETCH_NODE < p->match.n_pending) {
		const struct hl_live_entry *b = a->found[(i + PREFETCH_NODE) % PREFETCH_ENTRY];

		if (e[PREFETCH_NODE].type == HL_REC_ALLOC)
			hl_writer_prefetch_node(p->writer, e[PREFETCH_NODE].node);
		else if (b)
			hl_writer_prefetch_node(p->writer, hl_live_node(b));
	}
}

uint32_t hl_match_fast_flush(struct hl_target *p, uint32_t i)
{
	const struct hl_match_clock clock = hl_match_clock(p);
	struct prefetch prefetch = {.blocks = !p->match.live.cache,
		.nodes = hl_calltree_nodes(&p->match.tree) > MANY_NODES};

	if (hl_unlikely(!is_plain_trace(p)))
		return i;
	for (; i < p->match.n_pending; i++) {
		if (prefetch.blocks)
			prefetch_ahead(p, &prefetch, i);
		if (hl_unlikely(!apply_fast(p, &clock, &p->match.pending[i],
			    prefetch.blocks ? p->match.pending[i].home_line : NULL)))
			return i;
	}
	return i;
}

/* --- from the ring --- */

/* Returns the node of a stack that is sent by its id, or equals the last one; the record is then
 * three words long. HL_NODE_NONE: use hl_thread_stream_read_stack(). */
hl_inline uint32_t known_stack_node(
	struct hl_thread_stream *f, const uint64_t *words, uint64_t *size)
{
	uint64_t stack = words[2];
	uint32_t stack_id = hl_stack_shared_or_id(stack);

	*size = stack & HL_SIZE_BIG;
	if (hl_unlikely(*size == HL_SIZE_BIG))
		return HL_NODE_NONE;
	if (stack >> HL_SIZE_BITS == f->last_stack_word)
		return f->last_node;
	if (stack & HL_STACK_HAS_ID)
		return hl_likely(stack_id < f->stack_nodes.len) ? f->stack_nodes.data[stack_id]
								: HL_NODE_NONE;
	return HL_NODE_NONE;
}

/* Decodes an allocation or a free and returns its length; 0: another record. */
hl_inline uint32_t decode_fast(
	struct hl_thread_stream *f, const uint64_t *words, struct hl_decoded_event *e)
{
	uint64_t first = words[0], size;

	e->type = first & 31;
	/* Others may have one word. The common types are compared first. */
	if (e->type != HL_REC_FREE && hl_unlikely(e->type != HL_REC_ALLOC) &&
		e->type != HL_REC_ALLOC_STACK_ID)
		return 0;
	e->addr = words[1];
	if (hl_unlikely(!hl_live_is_valid_address(e->addr)))
		return 0;
	e->func = (first >> 5) & 31;
	e->rate_id = 0;
	e->stream = f;
	if (e->type == HL_REC_FREE) {
		e->node = HL_NODE_NONE;
		return 2;
	}
	if (hl_unlikely(e->type == HL_REC_ALLOC_STACK_ID)) {
		e->type = HL_REC_ALLOC;
		e->node = hl_thread_stream_stack_with_id(f, words, &size);
		e->size = size;
		return hl_record_length(words, UINT64_MAX);
	}
	e->node = known_stack_node(f, words, &e->size);
	if (hl_likely(e->node != HL_NODE_NONE))
		return 3;
	e->node = hl_thread_stream_read_stack(f, words[2], words + 3, &size);
	e->size = size; /* a copy, so that the address of e is never taken */
	return hl_record_length(words, UINT64_MAX);
}

/* The stamp of the record at `words`, if there is one. */
hl_inline uint64_t next_stamp(
	const struct hl_record_cursor *c, const uint64_t *words, uint64_t stamp, bool counter)
{
	return words < c->end ? hl_tsc_clock_stamp(*words, stamp, c->near, counter) : stamp;
}

/* Decodes records into the batch. */
static void decode_batch(struct hl_target *p, struct hl_thread_stream *f,
	struct hl_record_cursor *c, uint64_t before)
{
	const bool counter = p->clock->counter;
	const uint32_t role = hl_thread_stream_role(f);
	const uint64_t *words = c->at;
	uint64_t stamp = c->stamp;
	uint32_t n = p->match.n_pending;

	for (; words < c->end && stamp < before && n < HL_BATCH_MAX; n++) {
		struct hl_decoded_event *e = &p->match.pending[n];
		uint32_t len = decode_fast(f, words, e);

		if (hl_unlikely(!len))
			break;
		e->stamp = stamp;
		e->role = role;
		e->home_line = hl_live_home_line(&p->match.live, e->addr);
		hl_prefetch_write(e->home_line);
		hl_match_note_stamp(p, stamp, true);
		words += len;
		stamp = next_stamp(c, words, stamp, counter);
	}
	c->at = words;
	c->stamp = stamp;
	p->match.n_pending = n;
}

/* Decodes and applies records one by one. The loop runs for every event and its body needs the
 * registers, so there are few locals. */
static void apply_directly(struct hl_target *p, struct hl_thread_stream *f,
	struct hl_record_cursor *c, uint64_t before)
{
	const struct hl_match_clock clock = hl_match_clock(p);
	const uint32_t role = hl_thread_stream_role(f);
	const uint64_t *words = c->at, *stop = c->end;
	uint64_t stamp = c->stamp;

	if (role == UINT32_MAX || stamp < p->match.last_stamp)
		return; /* never, see may_apply_directly(); the loop needs no such tests then */
	if (stop - words > DIRECT_WORDS)
		stop = words + DIRECT_WORDS;
	while (words < stop && stamp < before) {
		struct hl_decoded_event e = {0};
		uint32_t len = decode_fast(f, words, &e);

		if (hl_unlikely(!len))
			break;
		e.stamp = stamp;
		e.role = role;
		p->match.last_stamp = stamp;
		words += len;
		if (hl_unlikely(!apply_fast(p, &clock, &e, NULL))) {
			p->match.pending[p->match.n_pending++] = e;
			stop = words;
		}
		stamp = next_stamp(c, words, stamp, false);
	}
	c->at = words;
	c->stamp = stamp;
}

/* Stamps of one ring never decrease: if the first event is not late, none is. */
static bool may_apply_directly(const struct hl_target *p, const struct hl_thread_stream *f,
	const struct hl_record_cursor *c)
{
	return p->match.live.cache && is_plain_trace(p) && !p->clock->counter &&
	       hl_thread_stream_role(f) != UINT32_MAX && c->stamp >= p->match.last_stamp;
}

void hl_target_process_heap_records(struct hl_target *p, struct hl_thread_stream *f,
	struct hl_record_cursor *c, uint64_t before)
{
	if (f == p->match.execing)
		return;
	if (p->match.live.cache && p->match.n_pending)
		hl_target_flush(p);
	if (p->match.n_pending == 0)
		hl_live_consider_cache(&p->match.live);
	/* Flush before this test: an event of the batch may be deferred, and then this path is
	 * closed. */
	if (may_apply_directly(p, f, c)) {
		hl_live_continue_growth(&p->match.live, DIRECT_WORDS / 8);
		apply_directly(p, f, c, before);
		return;
	}
	decode_batch(p, f, c, before);
	if (p->match.n_pending == HL_BATCH_MAX)
		hl_target_flush(p);
}
