/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_stream.c - blocks by decoding events; see block_stream.h.
 *
 * A free event does not have all data of the block's allocation (not the function, not the exact
 * time), so selected blocks are in a table while they are live. A filter about allocations only is
 * evaluated at the allocation, and only blocks that it selects are put into the table. A live set
 * has all data of a block except the function, so a stream can start there.
 *
 * The table has a maximum size. If more blocks are live at once, the trace is scanned several
 * times, each time for the blocks of one share or of one slice of the address space: slower, but in
 * the same memory. The number of scans is limited in proportion to the file size: a small file that
 * claims many blocks is forged.
 */
#include "model/scan/block_stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/hash.h"
#include "model/model_internal.h"
#include "model/tags/roles.h"

#define NO_ORDINAL UINT64_MAX

/* Less than 128 MiB, including the memory of the decoder. */
#define LIVE_MAX   (UINT64_C(5) << 18)
#define SHARES_MAX (1u << 16)
#define MEMORY_SLACK \
	(1u << 20) /* the announced memory is that of the peak, which may be exceeded */

static bool is_in_share(const struct hl_block_stream *s, const struct hl_event *e)
{
	if (s->slice_end)
		return hl_address_slices_contains(&s->slices, e->addr);
	/* other bits than those that select the slot in the table */
	return s->shares == 0 ||
	       ((hl_hash_u64(e->ordinal / 8) >> 40) & (s->shares - 1)) == s->share;
}

/* An upper bound of the blocks that are live at once, from the chunk headers. */
static uint64_t max_live_blocks(const struct hl_model *m)
{
	uint64_t most = 0;

	for (size_t i = 0; i < hl_reader_n_chunks(m->reader); i++) {
		const struct hl_chunk_info *c = hl_reader_chunk(m->reader, i);

		if (c->live_blocks < UINT64_MAX - c->n_events)
			most = hl_max_u64(most, c->live_blocks + c->n_events);
	}
	return most;
}

static uint64_t events_per_scan(const struct hl_block_stream *s)
{
	uint64_t n = 0;

	for (size_t i = s->consumer.first; i < s->consumer.last_end; i++)
		n += hl_reader_chunk(s->m->reader, i)->n_events;
	return n;
}

/*
 * The table is full. Returns -EAGAIN: scan again in shares. Returns -EOVERFLOW: too many shares
 * would be needed, or the number that the chunk headers imply was not enough, so that the headers
 * are wrong.
 */
static int split_into_shares(struct hl_block_stream *s)
{
	uint64_t most = max_live_blocks(s->m);
	uint32_t shares = 2;

	while (shares <= SHARES_MAX && most / shares > LIVE_MAX / 8 * 7)
		shares *= 2;
	if (s->shares || most < LIVE_MAX || shares > SHARES_MAX ||
		events_per_scan(s) > hl_model_events_limit(s->m) / shares)
		return -EOVERFLOW;
	s->shares = shares;
	return -EAGAIN;
}

/* Is there no room for another block? */
static bool is_full(const struct hl_block_stream *s)
{
	return s->live.len >= (s->slice_end ? HL_ADDRESS_SLICE_BLOCKS : LIVE_MAX) ||
	       (s->consumer.is_prefetched &&
		       hl_block_table_memory(&s->live) > s->consumer.memory + MEMORY_SLACK);
}

/* Returns 0 if there is room now. The block may then be outside of the current slice. */
static int make_room(struct hl_block_stream *s)
{
	if (s->consumer.is_prefetched)
		return -EOVERFLOW;
	return s->slice_end ? hl_address_slices_narrow(&s->slices, &s->live) : split_into_shares(s);
}

static int deliver_block(struct hl_block_stream *s, const struct hl_block *b)
{
	bool holds = true;
	int err = 0;

	if (s->filter_at_free)
		err = hl_filter_block(s->filter, s->m, b, &holds);
	return err || !holds ? err : s->block(s->arg, b);
}

static bool is_known_stack(const struct hl_block_stream *s, uint32_t node)
{
	return node == HL_NODE_NONE || node < s->m->n_nodes;
}

/* Checks a block of which only the allocation is known. *wanted: the filter selects it, as far as
 * the filter can be evaluated now. */
hl_inline int filter_alloc(struct hl_block_stream *s, struct hl_block *b, bool *wanted)
{
	*wanted = true;
	if (!is_known_stack(s, b->node))
		return -EBADMSG;
	b->free_ns = UINT64_MAX;
	b->free_phase = HL_RANGE_NEVER;
	if (!s->filter || s->filter_at_free)
		return 0;
	return hl_filter_block(s->filter, s->m, b, wanted);
}

static int add_block(struct hl_block_stream *s, struct hl_block *b)
{
	bool wanted;
	int err = filter_alloc(s, b, &wanted);

	if (err || !wanted)
		return err;
	if (s->at_alloc)
		return s->block(s->arg, b);
	if (is_full(s))
		err = make_room(s);
	if (err || (s->slice_end && !hl_address_slices_contains(&s->slices, b->addr)))
		return err;
	return hl_block_table_put(&s->live, b);
}

/* Inlined where it runs for every event: a struct that is built elsewhere and copied at once makes
 * each load of the copy wait for the stores. */
hl_inline void set_allocated(const struct hl_model *m, struct hl_block *b, const struct hl_event *e,
	enum hl_range_phase phase)
{
	struct hl_role role = hl_role_at(m, e->thread);

	*b = (struct hl_block){.ordinal = e->ordinal,
		.addr = e->addr,
		.size = e->size,
		.blocks = e->blocks,
		.bytes = e->bytes,
		.alloc_ns = e->time_ns,
		.free_ns = UINT64_MAX,
		.node = e->node,
		.thread = role.thread,
		.tag = role.tag,
		.pool = UINT32_MAX,
		.free_node = HL_NODE_NONE,
		.func = e->func,
		.alloc_phase = (uint8_t)phase,
		.free_phase = HL_RANGE_NEVER};
}

struct hl_block hl_block_from_alloc(
	const struct hl_model *m, const struct hl_event *e, enum hl_range_phase phase)
{
	struct hl_block b;

	set_allocated(m, &b, e, phase);
	return b;
}

hl_inline void set_freed(const struct hl_model *m, struct hl_block *b, const struct hl_event *e)
{
	b->free_ns = e->time_ns;
	b->free_thread = hl_role_at(m, e->thread).thread;
	/* A realloc has one stack: that of the block it allocates, which is in the next event. */
	b->free_node = e->flags & HL_EVENT_MOVED ? e[1].node : e->free_node;
	b->free_func = e->func;
	b->moved = e->flags & (HL_EVENT_MOVED | HL_EVENT_LINKED);
}

void hl_block_set_freed(const struct hl_model *m, struct hl_block *b, const struct hl_event *e)
{
	set_freed(m, b, e);
}

hl_inline int end_block(struct hl_block_stream *s, struct hl_block *b, const struct hl_event *e,
	enum hl_range_phase phase)
{
	set_freed(s->m, b, e);
	b->free_phase = (uint8_t)phase;
	b->is_temporary = s->last_alloc == e->ordinal && !(e->flags & HL_EVENT_SPLIT);
	return deliver_block(s, b);
}

/* The number of events of this decoded chunk that come before the position. */
static size_t events_before(struct hl_block_stream *s, const struct hl_position *p, size_t chunk,
	const struct hl_chunk_events *c)
{
	if (chunk != p->chunk)
		return chunk < p->chunk ? c->n_events : 0;
	return hl_position_split(s->m, p, c);
}

/*
 * The table of a large heap does not fit into the cache, and each event accesses another slot. The
 * slot is prefetched some events before it is needed, so that several cache misses overlap.
 */
#define AHEAD 32

/* The events of a chunk. The first `from` events are before the range, the first `to` before its
 * end; the first `n` are read. */
struct chunk_range {
	const struct hl_event *events;
	size_t from, to, n;
};

static enum hl_range_phase phase_of(const struct chunk_range *p, size_t i)
{
	return i >= p->to ? HL_RANGE_AFTER : i >= p->from ? HL_RANGE_IN : HL_RANGE_BEFORE;
}

static bool is_alloc_in_range(const struct hl_block_stream *s, enum hl_range_phase phase)
{
	return phase != HL_RANGE_AFTER && (phase == HL_RANGE_IN || s->include_older);
}

static int apply_alloc(struct hl_block_stream *s, const struct chunk_range *p, size_t i)
{
	const struct hl_event *e = &p->events[i];
	enum hl_range_phase phase = phase_of(p, i);
	struct hl_block b;

	if (!is_alloc_in_range(s, phase))
		return 0;
	/* Most blocks are freed soon, in the same chunk. They are built at their free, or left out,
	 * and never put into the table. */
	if (e->pair_index && e->pair_index <= p->n && !s->at_alloc)
		return is_known_stack(s, e->node) ? 0 : -EBADMSG;
	if (!is_in_share(s, e))
		return 0;
	set_allocated(s->m, &b, e, phase);
	return add_block(s, &b);
}

/* The free of a block of the same chunk has all data of the allocation but its function. The event
 * of the allocation may be in no cache any more. */
hl_inline void set_allocated_by_free(const struct hl_block_stream *s, const struct chunk_range *p,
	struct hl_block *b, const struct hl_event *e)
{
	const struct hl_event alloc = {.time_ns = e->alloc_ns,
		.addr = e->addr,
		.size = e->size,
		.ordinal = e->ordinal,
		.node = e->node,
		.thread = e->alloc_role,
		.func = s->unused & HL_WANT_FUNC ? HL_FUNC_COUNT
						 : p->events[e->pair_index - 1].func,
		.blocks = e->blocks,
		.bytes = e->bytes};

	set_allocated(s->m, b, &alloc, phase_of(p, e->pair_index - 1));
}

static int apply_free(struct hl_block_stream *s, const struct chunk_range *p, size_t i)
{
	const struct hl_event *e = &p->events[i];
	struct hl_block b;
	bool wanted;
	int err;

	if (s->choice == HL_BLOCKS_LIVE && i < p->to) {
		if (!e->pair_index)
			hl_block_table_take(&s->live, e->ordinal, &b);
		return 0;
	}
	if (!e->pair_index || s->at_alloc)
		return hl_block_table_take(&s->live, e->ordinal, &b)
			       ? end_block(s, &b, e, phase_of(p, i))
			       : 0;
	if (!is_in_share(s, e))
		return 0;
	set_allocated_by_free(s, p, &b, e);
	if (!is_alloc_in_range(s, b.alloc_phase))
		return 0;
	err = filter_alloc(s, &b, &wanted);
	return err || !wanted ? err : end_block(s, &b, e, phase_of(p, i));
}

static int apply_all(struct hl_block_stream *s, const struct chunk_range *p)
{
	int err = 0;

	for (size_t i = 0; i < p->n && !err; i++) {
		const struct hl_event *e = &p->events[i];

		hl_scan_prefetch_event(e);
		if (i + AHEAD < p->n && !e[AHEAD].pair_index)
			hl_block_table_prefetch_slot(&s->live, e[AHEAD].ordinal);
		if (i + AHEAD / 2 < p->n && e[AHEAD / 2].op == HL_OP_FREE &&
			!e[AHEAD / 2].pair_index)
			hl_block_table_prefetch_entry(&s->live, e[AHEAD / 2].ordinal);
		err = e->op == HL_OP_FREE ? apply_free(s, p, i) : apply_alloc(s, p, i);
		s->last_alloc = e->op == HL_OP_ALLOC ? e->ordinal : NO_ORDINAL;
	}
	return err;
}

/* The only temporary blocks that are not freed in their chunk are allocated by its last event. */
static int apply_adjacent(struct hl_block_stream *s, const struct chunk_range *p, size_t i)
{
	const struct hl_event *e = &p->events[i];

	if (e->op == HL_OP_FREE)
		return s->last_alloc == e->ordinal ? apply_free(s, p, i) : 0;
	if (i + 1 == p->n)
		return apply_alloc(s, p, i);
	return is_known_stack(s, e->node) || !is_alloc_in_range(s, phase_of(p, i)) ? 0 : -EBADMSG;
}

static int apply_temporary(struct hl_block_stream *s, const struct chunk_range *p)
{
	int err = 0;

	for (size_t i = 0; i < p->n && !err; i++) {
		const struct hl_event *e = &p->events[i];

		err = apply_adjacent(s, p, i);
		s->last_alloc = e->op == HL_OP_ALLOC ? e->ordinal : NO_ORDINAL;
	}
	return err;
}

/* --- blocks of pools, which are in side events --- */

/* Is side event x before the position? n events of the chunk are before the position. */
static bool extra_is_before(const struct hl_position *p, size_t chunk, size_t n,
	const struct hl_chunk_events *c, size_t x)
{
	if (chunk != p->chunk)
		return chunk < p->chunk;
	if (p->cut == HL_CUT_TIME)
		return c->extras[x].time_ns <= p->limit;
	return p->cut != HL_CUT_START && c->extras_at[x] <= n && c->extras[x].time_ns <= p->time_ns;
}

static int apply_pool_extra(
	struct hl_block_stream *s, const struct hl_extra *x, enum hl_range_phase phase)
{
	struct hl_role role = hl_role_at(s->m, x->thread);
	const struct hl_event at = {.time_ns = x->time_ns,
		.ordinal = x->value2,
		.free_node = HL_NODE_NONE,
		.thread = x->thread,
		.func = HL_FUNC_POOL,
		.flags = x->value & HL_POOL_PARTED ? HL_EVENT_SPLIT : 0};
	struct hl_block b = {.ordinal = x->value2,
		.addr = x->addr,
		.size = x->size,
		.alloc_ns = x->time_ns,
		.node = x->node,
		.thread = role.thread,
		.tag = role.tag,
		.blocks = 1,
		.bytes = x->size,
		.pool = (uint32_t)x->value,
		.func = HL_FUNC_POOL,
		.alloc_phase = (uint8_t)phase};
	struct hl_block old;

	if (x->kind == HL_EXTRA_POOL_FREE)
		return hl_block_table_take(&s->live, x->value2, &old)
			       ? end_block(s, &old, &at, phase)
			       : 0;
	if (hl_block_table_take(&s->live, x->value2, &old))
		return -EBADMSG; /* a live block cannot be allocated again */
	return is_alloc_in_range(s, phase) ? add_block(s, &b) : 0;
}

static int apply_pool_extras(
	struct hl_block_stream *s, size_t chunk, const struct hl_chunk_events *c)
{
	size_t from = events_before(s, &s->from, chunk, c), to = events_before(s, &s->to, chunk, c);
	int err = 0;

	for (size_t i = 0; i < c->n_extras && !err; i++) {
		const struct hl_extra *x = &c->extras[i];
		enum hl_range_phase phase =
			!extra_is_before(&s->to, chunk, to, c, i)      ? HL_RANGE_AFTER
			: extra_is_before(&s->from, chunk, from, c, i) ? HL_RANGE_BEFORE
								       : HL_RANGE_IN;

		if ((phase == HL_RANGE_AFTER && !s->read_all_frees) ||
			!hl_model_is_pooled(s->m, s->pool, x))
			continue;
		err = apply_pool_extra(s, x, phase);
		s->last_alloc = x->kind == HL_EXTRA_POOL_ALLOC ? x->value2 : NO_ORDINAL;
	}
	return err;
}

static int apply_chunk(void *arg, size_t chunk, const struct hl_chunk_events *c)
{
	struct hl_block_stream *s = arg;
	struct chunk_range p = {.events = c->events,
		.from = events_before(s, &s->from, chunk, c),
		.to = events_before(s, &s->to, chunk, c)};

	if (s->pool)
		return apply_pool_extras(s, chunk, c);
	p.n = s->read_all_frees ? c->n_events : p.to;
	s->events_read += c->n_events;
	if (s->slice_end)
		hl_address_slices_note_chunk(&s->slices, chunk, c->events, c->n_events);
	s->last_alloc = NO_ORDINAL;
	if (c->follows_alloc)
		s->last_alloc = hl_reader_chunk(s->m->reader, chunk)->first_ordinal - 1;
	return s->choice == HL_BLOCKS_TEMPORARY ? apply_temporary(s, &p) : apply_all(s, &p);
}

static int load_live_set(struct hl_block_stream *s, size_t set)
{
	struct hl_live_block *blocks = NULL;
	size_t n = 0;
	int err = hl_reader_load_live_set(s->m->reader, set, &blocks, &n);

	if (err == -EBADMSG)
		hl_model_mark_bad(s->m, &s->m->bad_sets[set]);
	for (size_t i = 0; i < n && !err; i++) {
		struct hl_role role = hl_role_at(s->m, blocks[i].thread);
		struct hl_block b = {.ordinal = blocks[i].ordinal,
			.addr = blocks[i].addr,
			.size = blocks[i].size,
			.alloc_ns = blocks[i].alloc_ns,
			.node = blocks[i].node,
			.thread = role.thread,
			.tag = role.tag,
			.blocks = blocks[i].blocks,
			.bytes = blocks[i].bytes,
			.pool = UINT32_MAX,
			.func = HL_FUNC_COUNT,
			.alloc_phase = HL_RANGE_BEFORE};

		if (is_in_share(s, &(struct hl_event){.ordinal = b.ordinal, .addr = b.addr}))
			err = add_block(s, &b);
	}
	free(blocks);
	return err;
}

static int begin_scan(void *arg)
{
	struct hl_block_stream *s = arg;
	int err = 0;

	hl_block_table_fini(&s->live);
	s->last_alloc = NO_ORDINAL;
	if (!s->continuing) {
		s->share = 0;
		s->events_read = 0;
		s->begin(s->arg);
		if (s->slice_end)
			err = hl_address_slices_begin(&s->slices, hl_reader_n_chunks(s->m->reader));
	}
	s->continuing = false;
	return err || s->start_set == SIZE_MAX ? err : load_live_set(s, s->start_set);
}

static int want_fields(void *arg, size_t chunk, unsigned *want)
{
	struct hl_block_stream *s = arg;

	*want = HL_WANT_ALL & ~s->unused;
	if (!s->slice_end || s->slices.low == 0)
		return 0;
	if (hl_address_slices_may_skip(&s->slices, chunk))
		*want = HL_WANT_NO_EVENTS;
	/* An event costs twice as much with slices as with shares, so the limit is half. */
	return s->events_read > hl_model_events_limit(s->m) / 2 ? -EOVERFLOW : 0;
}

/* Returns -EAGAIN if there is another share or slice. */
static int end_share(struct hl_block_stream *s)
{
	int err = s->slice_end ? s->slice_end(s->arg) : 0;

	if (err)
		return err;
	s->continuing = s->slice_end ? hl_address_slices_next(&s->slices) : ++s->share < s->shares;
	return s->continuing ? -EAGAIN : 0;
}

static int end_scan(void *arg)
{
	struct hl_block_stream *s = arg;
	struct hl_block b;
	size_t at = 0;
	int err = 0;

	while (!err && hl_block_table_next(&s->live, &at, &b))
		err = deliver_block(s, &b);
	hl_block_table_fini(&s->live);
	return err ? err : end_share(s);
}

/* The first chunk after a live set; SIZE_MAX if the live set is not at a known chunk boundary. */
static size_t first_chunk_after(const struct hl_model *m, uint64_t first_event)
{
	size_t n = hl_reader_n_chunks(m->reader);
	const struct hl_chunk_info *last = n > 0 ? hl_reader_chunk(m->reader, n - 1) : NULL;

	for (size_t i = 0; i < n; i++) {
		if (hl_reader_chunk(m->reader, i)->first_event == first_event)
			return i;
	}
	return last && last->first_event + last->n_events == first_event ? n : SIZE_MAX;
}

/* Finds the latest start from which all events up to the end of the range can be read. */
static bool find_start(struct hl_block_stream *s)
{
	struct hl_model *m = s->m;
	size_t end = hl_position_end(&s->to);
	bool sets = s->include_older && !s->func && !s->pool;

	for (size_t i = sets ? hl_reader_n_live_sets(m->reader) : 0; i-- > 0;) {
		size_t chunk = first_chunk_after(m, hl_reader_live_set(m->reader, i)->first_event);

		s->consumer.first = chunk;
		s->start_set = i;
		if (!m->bad_sets[i] && chunk <= s->to.chunk && chunk <= s->from.chunk &&
			hl_chunks_are_readable(m, chunk, end))
			return true;
	}
	s->consumer.first = s->include_older ? 0 : s->from.chunk;
	s->start_set = SIZE_MAX;
	return hl_chunks_are_readable(m, s->consumer.first, end);
}

static int fail_no_free_times(struct hl_model *m)
{
	snprintf(m->error, sizeof(m->error),
		"lifetimes of blocks are not known: a part of the file is lost (see heaplapse "
		"info)");
	return -ENODATA;
}

static int plan_chunks(struct hl_scan_consumer *r)
{
	struct hl_block_stream *s = r->arg;
	size_t n = hl_reader_n_chunks(s->m->reader);

	/* Each iteration moves a position towards the start, so this ends. */
	for (;;) {
		if (!s->from.is_exact)
			s->from = hl_position_before_loss(s->m, &s->from);
		else if (!s->to.is_exact || !find_start(s))
			s->to = hl_position_before_loss(s->m, &s->to);
		else
			break;
	}
	if (s->read_all_frees && !hl_chunks_are_readable(s->m, r->first, n))
		return fail_no_free_times(s->m);
	r->last_end =
		s->read_all_frees || hl_position_end(&s->to) > n ? n : hl_position_end(&s->to);
	return 0;
}

/* The most blocks that the table may have. */
static uint64_t table_limit(const struct hl_block_stream *s)
{
	if (s->choice == HL_BLOCKS_TEMPORARY && !s->pool)
		return hl_reader_n_chunks(s->m->reader);
	return s->slice_end ? HL_ADDRESS_SLICE_BLOCKS : LIVE_MAX;
}

void hl_block_stream_init(struct hl_block_stream *s, struct hl_model *m)
{
	unsigned subjects = s->filter ? hl_filter_subjects(s->filter) : 0;

	s->m = m;
	s->filter_at_free = subjects & HL_FILTER_FREE_TIME;
	s->read_all_frees |= s->filter_at_free;
	s->at_alloc &= !s->filter_at_free;
	if (subjects & HL_FILTER_FUNC)
		s->func = true;
	if (s->func || subjects & HL_FILTER_FREED_FUNCTION) /* freed-fn: also matches free() */
		s->unused &= ~HL_WANT_FUNC;
	if (s->slice_end || subjects & HL_FILTER_ADDR)
		s->unused &= ~HL_WANT_ADDR;
	s->consumer = (struct hl_scan_consumer){.plan = plan_chunks,
		.begin = begin_scan,
		.want = want_fields,
		.chunk = apply_chunk,
		.end = end_scan,
		.arg = s};
	if (!s->at_alloc)
		s->consumer.memory = hl_min_u64(m->info->totals.peak_blocks, table_limit(s)) *
				     HL_BLOCKS_ENTRY_BYTES;
}

int hl_block_stream_plan(struct hl_block_stream *s)
{
	return plan_chunks(&s->consumer);
}

void hl_block_stream_fini(struct hl_block_stream *s)
{
	hl_block_table_fini(&s->live);
	hl_address_slices_fini(&s->slices);
}

int hl_block_stream_run(struct hl_model *m, struct hl_block_stream *s)
{
	int err;

	hl_block_stream_init(s, m);
	err = hl_scan(m, &s->consumer, NULL);
	hl_block_stream_fini(s);
	return err;
}
