/*
 * stream.c - blocks by decoding events; see stream.h.
 *
 * A free does not say all of its block's birth (not the function, not the exact time), so selected
 * blocks are kept in a table while they live. A filter on births alone is asked at birth, and only
 * what it selects is kept. A live set tells of each block all but the function, so that a stream
 * may begin there.
 *
 * The table has a bound. Where more blocks are alive at once, the trace is read several times, each
 * time for the blocks of one share or of one part of the address space: slower, but in the same
 * memory. How often is in proportion to the file: a small one that claims many blocks is forged.
 */
#include "model/stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/hash.h"
#include "model/model_internal.h"
#include "model/tags.h"

#define NO_ORDINAL UINT64_MAX

/* Less than 128 MiB, with what decoding takes. */
#define ALIVE_MAX  (UINT64_C(5) << 18)
#define SHARES_MAX (1u << 16)
#define ALONG_MORE (1u << 20) /* what was said is of the peak: there may be a little more */

static bool is_mine(const struct hl_stream *s, const struct hl_event *e)
{
	if (s->part)
		return hl_parts_has(&s->parts, e->addr);
	/* not the bits by which the table finds its places */
	return s->shares == 0 ||
	       ((hl_hash_u64(e->ordinal / 8) >> 40) & (s->shares - 1)) == s->share;
}

/* The most that are ever alive, by the heads of the chunks. */
static uint64_t most_alive(const struct hl_model *m)
{
	uint64_t most = 0;

	for (size_t i = 0; i < hl_reader_n_chunks(m->reader); i++) {
		const struct hl_chunk_info *c = hl_reader_chunk(m->reader, i);

		if (c->live_blocks < UINT64_MAX - c->n_events)
			most = hl_max_u64(most, c->live_blocks + c->n_events);
	}
	return most;
}

static uint64_t events_of_reading(const struct hl_stream *s)
{
	uint64_t n = 0;

	for (size_t i = s->reading.first; i < s->reading.last_end; i++)
		n += hl_reader_chunk(s->m->reader, i)->n_events;
	return n;
}

/*
 * The table is full. -EAGAIN: read again, in shares. -EOVERFLOW: they would be too many, or those
 * that the heads ask for are not enough, so that the heads lie.
 */
static int make_shares(struct hl_stream *s)
{
	uint64_t most = most_alive(s->m);
	uint32_t shares = 2;

	while (shares <= SHARES_MAX && most / shares > ALIVE_MAX / 8 * 7)
		shares *= 2;
	if (s->shares || most < ALIVE_MAX || shares > SHARES_MAX ||
		events_of_reading(s) > hl_model_events_limit(s->m) / shares)
		return -EOVERFLOW;
	s->shares = shares;
	return -EAGAIN;
}

/* Is there no room for one more? */
static bool is_full(const struct hl_stream *s)
{
	return s->alive.len >= (s->part ? HL_PARTS_BLOCKS : ALIVE_MAX) ||
	       (s->reading.along && hl_blocks_memory(&s->alive) > s->reading.memory + ALONG_MORE);
}

/* 0: there is now, if the block is still wanted. */
static int make_room(struct hl_stream *s)
{
	if (s->reading.along)
		return -EOVERFLOW;
	return s->part ? hl_parts_narrow(&s->parts, &s->alive) : make_shares(s);
}

static int hand_over(struct hl_stream *s, const struct hl_block *b)
{
	bool holds = true;
	int err = 0;

	if (s->late_verdict)
		err = hl_filter_block(s->filter, s->m, b, &holds);
	return err || !holds ? err : s->block(s->arg, b);
}

/* A block of which nothing but its birth is known yet; *wanted: as far as that goes. */
static int judge_birth(struct hl_stream *s, struct hl_block *b, bool *wanted)
{
	*wanted = true;
	if (b->node != HL_NODE_NONE && b->node >= s->m->n_nodes)
		return -EBADMSG;
	b->death_ns = UINT64_MAX;
	b->died = HL_PHASE_NEVER;
	if (!s->filter || s->late_verdict)
		return 0;
	return hl_filter_block(s->filter, s->m, b, wanted);
}

static int birth(struct hl_stream *s, struct hl_block *b)
{
	bool wanted;
	int err = judge_birth(s, b, &wanted);

	if (err || !wanted)
		return err;
	if (s->at_birth)
		return s->block(s->arg, b);
	if (is_full(s))
		err = make_room(s);
	if (err || (s->part && !hl_parts_has(&s->parts, b->addr)))
		return err;
	return hl_blocks_put(&s->alive, b);
}

static int death(
	struct hl_stream *s, struct hl_block *b, const struct hl_event *e, enum hl_phase phase)
{
	hl_block_freed(s->m, b, e);
	b->died = (uint8_t)phase;
	b->next = s->previous == e->ordinal && !(e->flags & HL_EVENT_PARTED);
	return hand_over(s, b);
}

/* How many events of this decoded chunk come before the place. */
static size_t before(struct hl_stream *s, const struct hl_place *p, size_t chunk,
	const struct hl_chunk_events *c)
{
	if (chunk != p->chunk)
		return chunk < p->chunk ? c->n_events : 0;
	return hl_place_split(s->m, p, c);
}

/*
 * The table of a large heap is in no cache, and each event is somewhere else in it: by asking for a
 * place some events before it is needed, waiting for memory is done for many at a time.
 */
#define AHEAD 32

/* The events of a chunk, and how many of them come before the range, before its end, and are read.
 */
struct part {
	const struct hl_event *events;
	size_t from, to, n;
};

static enum hl_phase phase_of(const struct part *p, size_t i)
{
	return i >= p->to ? HL_PHASE_AFTER : i >= p->from ? HL_PHASE_IN : HL_PHASE_BEFORE;
}

static bool born_in_time(const struct hl_stream *s, enum hl_phase phase)
{
	return phase != HL_PHASE_AFTER && (phase == HL_PHASE_IN || s->older);
}

struct hl_block hl_block_born(
	const struct hl_model *m, const struct hl_event *e, enum hl_phase phase)
{
	struct hl_role role = hl_role_of(m, e->thread);

	return (struct hl_block){.ordinal = e->ordinal,
		.addr = e->addr,
		.size = e->size,
		.blocks = e->blocks,
		.bytes = e->bytes,
		.birth_ns = e->time_ns,
		.death_ns = UINT64_MAX,
		.node = e->node,
		.thread = role.thread,
		.tag = role.tag,
		.pool = UINT32_MAX,
		.free_node = HL_NODE_NONE,
		.func = e->func,
		.born = (uint8_t)phase,
		.died = HL_PHASE_NEVER};
}

void hl_block_freed(const struct hl_model *m, struct hl_block *b, const struct hl_event *e)
{
	b->death_ns = e->time_ns;
	b->free_thread = hl_role_of(m, e->thread).thread;
	/* A realloc has one stack: that of the block it makes, by the event after this. */
	b->free_node = e->flags & HL_EVENT_MOVED ? e[1].node : e->free_node;
	b->free_func = e->func;
	b->moved = e->flags & (HL_EVENT_MOVED | HL_EVENT_LINKED);
}

static int apply_alloc(struct hl_stream *s, const struct part *p, size_t i)
{
	const struct hl_event *e = &p->events[i];
	enum hl_phase phase = phase_of(p, i);
	struct hl_block b;

	if (!born_in_time(s, phase))
		return 0;
	/* Most die soon, in the same chunk: they are made when they do, and lie in no table. */
	if (e->pair_at && e->pair_at <= p->n && !s->at_birth)
		return 0;
	if (!is_mine(s, e))
		return 0;
	b = hl_block_born(s->m, e, phase);
	return birth(s, &b);
}

static int apply_free(struct hl_stream *s, const struct part *p, size_t i)
{
	const struct hl_event *e = &p->events[i];
	struct hl_block b;
	bool wanted;
	int err;

	if (!e->pair_at || s->at_birth)
		return hl_blocks_take(&s->alive, e->ordinal, &b) ? death(s, &b, e, phase_of(p, i))
								 : 0;
	if (!is_mine(s, e))
		return 0;
	b = hl_block_born(s->m, &p->events[e->pair_at - 1], phase_of(p, e->pair_at - 1));
	if (!born_in_time(s, b.born))
		return 0;
	err = judge_birth(s, &b, &wanted);
	return err || !wanted ? err : death(s, &b, e, phase_of(p, i));
}

/* --- blocks of pools, which lie between the events --- */

/* Is this extra before the place, of which `n` events of the chunk are? */
static bool extra_is_before(
	const struct hl_place *p, size_t chunk, size_t n, const struct hl_chunk_events *c, size_t x)
{
	if (chunk != p->chunk)
		return chunk < p->chunk;
	if (p->cut == HL_CUT_TIME)
		return c->extras[x].time_ns <= p->limit;
	return p->cut != HL_CUT_START && c->extras_at[x] <= n && c->extras[x].time_ns <= p->time_ns;
}

static int apply_pool_extra(struct hl_stream *s, const struct hl_extra *x, enum hl_phase phase)
{
	struct hl_role role = hl_role_of(s->m, x->thread);
	const struct hl_event at = {.time_ns = x->time_ns,
		.ordinal = x->value2,
		.free_node = HL_NODE_NONE,
		.thread = x->thread,
		.func = HL_FUNC_POOL,
		.flags = x->value & HL_POOL_PARTED ? HL_EVENT_PARTED : 0};
	struct hl_block b = {.ordinal = x->value2,
		.addr = x->addr,
		.size = x->size,
		.birth_ns = x->time_ns,
		.node = x->node,
		.thread = role.thread,
		.tag = role.tag,
		.blocks = 1,
		.bytes = x->size,
		.pool = (uint32_t)x->value,
		.func = HL_FUNC_POOL,
		.born = (uint8_t)phase};
	struct hl_block had;

	if (x->kind == HL_EXTRA_POOL_FREE)
		return hl_blocks_take(&s->alive, x->value2, &had) ? death(s, &had, &at, phase) : 0;
	if (hl_blocks_take(&s->alive, x->value2, &had))
		return -EBADMSG; /* no block is given out twice */
	return born_in_time(s, phase) ? birth(s, &b) : 0;
}

static int apply_pools(struct hl_stream *s, size_t chunk, const struct hl_chunk_events *c)
{
	size_t from = before(s, &s->from, chunk, c), to = before(s, &s->to, chunk, c);
	int err = 0;

	for (size_t i = 0; i < c->n_extras && !err; i++) {
		const struct hl_extra *x = &c->extras[i];
		enum hl_phase phase = !extra_is_before(&s->to, chunk, to, c, i) ? HL_PHASE_AFTER
				      : extra_is_before(&s->from, chunk, from, c, i)
					      ? HL_PHASE_BEFORE
					      : HL_PHASE_IN;

		if ((phase == HL_PHASE_AFTER && !s->to_end) ||
			!hl_model_is_pooled(s->m, s->pool, x))
			continue;
		err = apply_pool_extra(s, x, phase);
		s->previous = x->kind == HL_EXTRA_POOL_ALLOC ? x->value2 : NO_ORDINAL;
	}
	return err;
}

static int apply_chunk(void *arg, size_t chunk, const struct hl_chunk_events *c)
{
	struct hl_stream *s = arg;
	struct part p = {.events = c->events,
		.from = before(s, &s->from, chunk, c),
		.to = before(s, &s->to, chunk, c)};
	int err = 0;

	if (s->pool)
		return apply_pools(s, chunk, c);
	p.n = s->to_end ? c->n_events : p.to;
	s->events_read += c->n_events;
	if (s->part)
		hl_parts_see(&s->parts, chunk, c->events, c->n_events);
	s->previous = NO_ORDINAL;
	if (c->follows_alloc)
		s->previous = hl_reader_chunk(s->m->reader, chunk)->first_ordinal - 1;
	for (size_t i = 0; i < p.n && !err; i++) {
		const struct hl_event *e = &c->events[i];

		if (i + AHEAD < p.n && !e[AHEAD].pair_at)
			hl_blocks_expect(&s->alive, e[AHEAD].ordinal);
		if (i + AHEAD / 2 < p.n && e[AHEAD / 2].op == HL_OP_FREE && !e[AHEAD / 2].pair_at)
			hl_blocks_fetch(&s->alive, e[AHEAD / 2].ordinal);
		err = e->op == HL_OP_FREE ? apply_free(s, &p, i) : apply_alloc(s, &p, i);
		s->previous = e->op == HL_OP_ALLOC ? e->ordinal : NO_ORDINAL;
	}
	return err;
}

static int apply_set(struct hl_stream *s, size_t set)
{
	struct hl_live_block *blocks = NULL;
	size_t n = 0;
	int err = hl_reader_load_live_set(s->m->reader, set, &blocks, &n);

	if (err == -EBADMSG)
		hl_model_mark_bad(s->m, &s->m->bad_sets[set]);
	for (size_t i = 0; i < n && !err; i++) {
		struct hl_role role = hl_role_of(s->m, blocks[i].thread);
		struct hl_block b = {.ordinal = blocks[i].ordinal,
			.addr = blocks[i].addr,
			.size = blocks[i].size,
			.birth_ns = blocks[i].birth_ns,
			.node = blocks[i].node,
			.thread = role.thread,
			.tag = role.tag,
			.blocks = blocks[i].blocks,
			.bytes = blocks[i].bytes,
			.pool = UINT32_MAX,
			.func = HL_FUNC_COUNT,
			.born = HL_PHASE_BEFORE};

		if (is_mine(s, &(struct hl_event){.ordinal = b.ordinal, .addr = b.addr}))
			err = birth(s, &b);
	}
	free(blocks);
	return err;
}

static int begin(void *arg)
{
	struct hl_stream *s = arg;
	int err = 0;

	hl_blocks_fini(&s->alive);
	s->previous = NO_ORDINAL;
	if (!s->go_on) {
		s->share = 0;
		s->events_read = 0;
		s->begin(s->arg);
		if (s->part)
			err = hl_parts_begin(&s->parts, hl_reader_n_chunks(s->m->reader));
	}
	s->go_on = false;
	return err || s->start_set == SIZE_MAX ? err : apply_set(s, s->start_set);
}

static int want(void *arg, size_t chunk, unsigned *want)
{
	struct hl_stream *s = arg;

	*want = HL_WANT_ALL;
	if (!s->part || s->parts.low == 0)
		return 0;
	if (hl_parts_may_skip(&s->parts, chunk))
		*want = HL_WANT_NO_EVENTS;
	/* Each costs twice what one does that is of another share. */
	return s->events_read > hl_model_events_limit(s->m) / 2 ? -EOVERFLOW : 0;
}

/* -EAGAIN: there is another share, or another part. */
static int end_reading(struct hl_stream *s)
{
	int err = s->part ? s->part(s->arg) : 0;

	if (err)
		return err;
	s->go_on = s->part ? hl_parts_next(&s->parts) : ++s->share < s->shares;
	return s->go_on ? -EAGAIN : 0;
}

static int end(void *arg)
{
	struct hl_stream *s = arg;
	struct hl_block b;
	size_t at = 0;
	int err = 0;

	while (!err && hl_blocks_next(&s->alive, &at, &b))
		err = hand_over(s, &b);
	hl_blocks_fini(&s->alive);
	return err ? err : end_reading(s);
}

/* The first chunk after a live set; SIZE_MAX if it stands at no boundary that is known. */
static size_t chunk_after(const struct hl_model *m, uint64_t first_event)
{
	size_t n = hl_reader_n_chunks(m->reader);
	const struct hl_chunk_info *last = n > 0 ? hl_reader_chunk(m->reader, n - 1) : NULL;

	for (size_t i = 0; i < n; i++) {
		if (hl_reader_chunk(m->reader, i)->first_event == first_event)
			return i;
	}
	return last && last->first_event + last->n_events == first_event ? n : SIZE_MAX;
}

/* The latest start from which every event up to the end of the range can be read. */
static bool find_start(struct hl_stream *s)
{
	struct hl_model *m = s->m;
	size_t end = hl_place_end(&s->to);
	bool sets = s->older && !s->func && !s->pool;

	for (size_t i = sets ? hl_reader_n_live_sets(m->reader) : 0; i-- > 0;) {
		size_t chunk = chunk_after(m, hl_reader_live_set(m->reader, i)->first_event);

		s->reading.first = chunk;
		s->start_set = i;
		if (!m->bad_sets[i] && chunk <= s->to.chunk && chunk <= s->from.chunk &&
			hl_chunks_are_there(m, chunk, end))
			return true;
	}
	s->reading.first = s->older ? 0 : s->from.chunk;
	s->start_set = SIZE_MAX;
	return hl_chunks_are_there(m, s->reading.first, end);
}

static int no_deaths(struct hl_model *m)
{
	snprintf(m->error, sizeof(m->error),
		"how long blocks lived cannot be known: a part of the file is lost (heaplapse info "
		"says which)");
	return -ENODATA;
}

static int plan(struct hl_reading *r)
{
	struct hl_stream *s = r->arg;
	size_t n = hl_reader_n_chunks(s->m->reader);

	/* Each turn moves towards the start, so this ends. */
	for (;;) {
		if (!s->from.sure)
			s->from = hl_place_before_loss(s->m, &s->from);
		else if (!s->to.sure || !find_start(s))
			s->to = hl_place_before_loss(s->m, &s->to);
		else
			break;
	}
	if (s->to_end && !hl_chunks_are_there(s->m, r->first, n))
		return no_deaths(s->m);
	r->last_end = s->to_end || hl_place_end(&s->to) > n ? n : hl_place_end(&s->to);
	return 0;
}

void hl_stream_init(struct hl_stream *s, struct hl_model *m)
{
	s->m = m;
	s->late_verdict = s->filter && hl_filter_subjects(s->filter) & HL_FILTER_DEATH;
	s->to_end |= s->late_verdict;
	s->at_birth &= !s->late_verdict;
	if (s->filter && hl_filter_subjects(s->filter) & HL_FILTER_FUNC)
		s->func = true;
	s->reading = (struct hl_reading){.plan = plan,
		.begin = begin,
		.want = want,
		.chunk = apply_chunk,
		.end = end,
		.arg = s};
	if (!s->at_birth)
		s->reading.memory = hl_min_u64(m->info->totals.peak_blocks,
					    s->part ? HL_PARTS_BLOCKS : ALIVE_MAX) *
				    HL_BLOCKS_EACH;
}

void hl_stream_fini(struct hl_stream *s)
{
	hl_blocks_fini(&s->alive);
	hl_parts_fini(&s->parts);
}

int hl_stream_blocks(struct hl_model *m, struct hl_stream *s)
{
	int err;

	hl_stream_init(s, m);
	err = hl_pass(m, &s->reading, NULL);
	hl_stream_fini(s);
	return err;
}
