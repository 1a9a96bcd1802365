/*
 * stream.c - blocks by decoding events; see stream.h.
 *
 * A free does not say all of its block's birth (not the function, not the exact time), so selected
 * blocks are kept in a table while they live. A filter on births alone is asked at birth, and only
 * what it selects is kept. A live set tells of each block all but the function, so that a stream
 * may begin there.
 */
#include "model/stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/model_internal.h"

struct run {
	struct hl_model *m;
	struct hl_stream *s;
	bool late_verdict; /* the filter is about deaths: ask it when they are known */
	uint64_t previous; /* ordinal of the event before if that was an allocation */
	struct hl_blocks alive;
};

/* Where a stream begins. */
struct start {
	size_t chunk;
	size_t set; /* SIZE_MAX: with nothing */
};

#define NO_ORDINAL UINT64_MAX

static int hand_over(struct run *r, const struct hl_block *b)
{
	bool holds = true;
	int err = 0;

	if (r->late_verdict)
		err = hl_filter_block(r->s->filter, r->m, b, &holds);
	return err || !holds ? err : r->s->block(r->s->arg, b);
}

/* A block of which nothing but its birth is known yet; *wanted: as far as that goes. */
static int judge_birth(struct run *r, struct hl_block *b, bool *wanted)
{
	*wanted = true;
	if (b->node != HL_NODE_NONE && b->node >= r->m->n_nodes)
		return -EBADMSG;
	b->death_ns = UINT64_MAX;
	b->died = HL_PHASE_NEVER;
	if (!r->s->filter || r->late_verdict)
		return 0;
	return hl_filter_block(r->s->filter, r->m, b, wanted);
}

static int birth(struct run *r, struct hl_block *b)
{
	bool wanted;
	int err = judge_birth(r, b, &wanted);

	if (err || !wanted)
		return err;
	return r->s->at_birth ? r->s->block(r->s->arg, b) : hl_blocks_put(&r->alive, b);
}

static int death(struct run *r, struct hl_block *b, const struct hl_event *e, enum hl_phase phase)
{
	b->death_ns = e->time_ns;
	b->died = (uint8_t)phase;
	b->free_thread = e->thread;
	b->next = r->previous == e->ordinal;
	return hand_over(r, b);
}

/* How many events of this decoded chunk come before the place. */
static size_t before(
	struct run *r, const struct hl_place *p, size_t chunk, const struct hl_chunk_events *c)
{
	if (chunk != p->chunk)
		return chunk < p->chunk ? c->n_events : 0;
	return hl_place_split(r->m, p, c);
}

/*
 * The table of a large heap is in no cache, and each event is somewhere else in it: by asking for a
 * place some events before it is needed, waiting for memory is done for many at a time.
 */
#define AHEAD 16

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

static bool born_in_time(const struct run *r, enum hl_phase phase)
{
	return phase != HL_PHASE_AFTER && (phase == HL_PHASE_IN || r->s->older);
}

static struct hl_block block_of(const struct hl_event *e, enum hl_phase phase)
{
	return (struct hl_block){.ordinal = e->ordinal,
		.addr = e->addr,
		.size = e->size,
		.birth_ns = e->time_ns,
		.node = e->node,
		.thread = e->thread,
		.func = e->func,
		.born = (uint8_t)phase};
}

static int apply_alloc(struct run *r, const struct part *p, size_t i)
{
	const struct hl_event *e = &p->events[i];
	enum hl_phase phase = phase_of(p, i);
	struct hl_block b;

	if (!born_in_time(r, phase))
		return 0;
	/* Most die soon, in the same chunk: they are made when they do, and lie in no table. */
	if (e->pair_at && e->pair_at <= p->n && !r->s->at_birth)
		return 0;
	b = block_of(e, phase);
	return birth(r, &b);
}

static int apply_free(struct run *r, const struct part *p, size_t i)
{
	const struct hl_event *e = &p->events[i];
	struct hl_block b;
	bool wanted;
	int err;

	if (!e->pair_at || r->s->at_birth)
		return hl_blocks_take(&r->alive, e->ordinal, &b) ? death(r, &b, e, phase_of(p, i))
								 : 0;
	b = block_of(&p->events[e->pair_at - 1], phase_of(p, e->pair_at - 1));
	if (!born_in_time(r, b.born))
		return 0;
	err = judge_birth(r, &b, &wanted);
	return err || !wanted ? err : death(r, &b, e, phase_of(p, i));
}

static int apply_chunk(struct run *r, size_t chunk, const struct hl_chunk_events *c)
{
	struct part p = {.events = c->events,
		.from = before(r, &r->s->from, chunk, c),
		.to = before(r, &r->s->to, chunk, c)};
	int err = 0;

	p.n = r->s->to_end ? c->n_events : p.to;

	r->previous = NO_ORDINAL;
	if (c->follows_alloc)
		r->previous = hl_reader_chunk(r->m->reader, chunk)->first_ordinal - 1;
	for (size_t i = 0; i < p.n && !err; i++) {
		const struct hl_event *e = &c->events[i];

		if (i + AHEAD < p.n && !e[AHEAD].pair_at)
			hl_blocks_expect(&r->alive, e[AHEAD].ordinal);
		err = e->op == HL_OP_FREE ? apply_free(r, &p, i) : apply_alloc(r, &p, i);
		r->previous = e->op == HL_OP_ALLOC ? e->ordinal : NO_ORDINAL;
	}
	return err;
}

static int apply_set(struct run *r, size_t set)
{
	struct hl_live_block *blocks = NULL;
	size_t n = 0;
	int err = hl_reader_load_live_set(r->m->reader, set, &blocks, &n);

	if (err == -EBADMSG)
		hl_model_mark_bad(r->m, &r->m->bad_sets[set]);
	for (size_t i = 0; i < n && !err; i++) {
		struct hl_block b = {.ordinal = blocks[i].ordinal,
			.addr = blocks[i].addr,
			.size = blocks[i].size,
			.birth_ns = blocks[i].birth_ns,
			.node = blocks[i].node,
			.thread = blocks[i].thread,
			.func = HL_FUNC_COUNT,
			.born = HL_PHASE_BEFORE};

		err = birth(r, &b);
	}
	free(blocks);
	return err;
}

static size_t end_of(const struct run *r)
{
	size_t n = hl_reader_n_chunks(r->m->reader), end = hl_place_end(&r->s->to);

	return r->s->to_end || end > n ? n : end;
}

/* What turns out to be unreadable is marked bad. */
static int go(struct run *r, const struct start *from)
{
	struct hl_chunk_events c = {0};
	int err = 0;

	r->s->begin(r->s->arg);
	if (from->set != SIZE_MAX)
		err = apply_set(r, from->set);
	hl_progress_begin(HL_READING);
	for (size_t i = from->chunk; i < end_of(r) && !err; i++) {
		err = hl_reader_decode(r->m->reader, i, &c);
		if (err == -EBADMSG)
			hl_model_mark_bad(r->m, &r->m->bad_chunks[i]);
		if (!err)
			err = apply_chunk(r, i, &c);
		hl_progress_tick(i + 1 - from->chunk, end_of(r) - from->chunk);
	}
	hl_progress_end();
	for (size_t i = 0; i < r->alive.cap && !err; i++) {
		if (r->alive.slots[i].ordinal != NO_ORDINAL)
			err = hand_over(r, &r->alive.slots[i]);
	}
	hl_chunk_events_free(&c);
	hl_blocks_fini(&r->alive);
	return err;
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
static bool find_start(const struct run *r, struct start *start)
{
	struct hl_model *m = r->m;
	size_t end = hl_place_end(&r->s->to);
	bool sets = r->s->older && !r->s->func;

	for (size_t i = sets ? hl_reader_n_live_sets(m->reader) : 0; i-- > 0;) {
		size_t chunk = chunk_after(m, hl_reader_live_set(m->reader, i)->first_event);

		*start = (struct start){.chunk = chunk, .set = i};
		if (!m->bad_sets[i] && chunk <= r->s->to.chunk && chunk <= r->s->from.chunk &&
			hl_chunks_are_there(m, chunk, end))
			return true;
	}
	*start = (struct start){.chunk = r->s->older ? 0 : r->s->from.chunk, .set = SIZE_MAX};
	return hl_chunks_are_there(m, start->chunk, end);
}

static int no_deaths(struct hl_model *m)
{
	snprintf(m->error, sizeof(m->error),
		"how long blocks lived cannot be known: a part of the file is lost (heaplapse info "
		"says which)");
	return -ENODATA;
}

int hl_stream_blocks(struct hl_model *m, struct hl_stream *s)
{
	struct run r = {.m = m, .s = s};

	r.late_verdict = s->filter && hl_filter_subjects(s->filter) & HL_FILTER_DEATH;
	s->to_end |= r.late_verdict;
	s->at_birth &= !r.late_verdict;
	if (s->filter && hl_filter_subjects(s->filter) & HL_FILTER_FUNC)
		s->func = true;
	/* Each turn marks a part bad or moves towards the start, so this ends. */
	for (;;) {
		size_t bad = m->n_bad;
		struct start start;
		int err;

		if (!s->from.sure)
			s->from = hl_place_before_loss(m, &s->from);
		else if (!s->to.sure || !find_start(&r, &start))
			s->to = hl_place_before_loss(m, &s->to);
		else if (s->to_end &&
			 !hl_chunks_are_there(m, start.chunk, hl_reader_n_chunks(m->reader)))
			return no_deaths(m);
		else if ((err = go(&r, &start)) != -EBADMSG || m->n_bad == bad)
			return err ? hl_model_fail(m, err) : 0;
	}
}
