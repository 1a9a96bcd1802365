/* SPDX-License-Identifier: Apache-2.0 */
/*
 * position.c - from times to positions between events; see sums.h.
 *
 * Positions are found by the chunk headers. A chunk that turns out to be damaged still has its
 * header: a position must not depend on what other queries have read before.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "model/query/sums.h"

/* After the last chunk nothing can be lost. */
bool hl_chunk_is_lost(const struct hl_model *m, size_t chunk)
{
	if (chunk >= hl_reader_n_chunks(m->reader))
		return false;
	return m->bad_chunks[chunk] || hl_reader_chunk(m->reader, chunk)->lost;
}

bool hl_chunks_are_readable(const struct hl_model *m, size_t from, size_t to)
{
	for (size_t i = from; i < to && i < hl_reader_n_chunks(m->reader); i++) {
		if (hl_chunk_is_lost(m, i))
			return false;
	}
	return true;
}

/* The keyframe at this chunk boundary, if it is readable. */
static const struct hl_keyframe_info *keyframe_at(const struct hl_model *m, size_t chunk)
{
	for (size_t i = 0; i < hl_reader_n_keyframes(m->reader); i++) {
		const struct hl_keyframe_info *k = hl_reader_keyframe(m->reader, i);

		if (!k->lost && !m->bad_keyframes[i] && k->chunk == chunk)
			return k;
	}
	return NULL;
}

/* Is everything before this boundary at or before t? The times of a missing chunk are not known,
 * but a keyframe after it has the time of its last event. */
static bool boundary_is_sure(const struct hl_model *m, size_t chunk, uint64_t t)
{
	const struct hl_keyframe_info *k;

	if (chunk == 0 || !hl_reader_chunk(m->reader, chunk - 1)->header_lost)
		return true;
	k = keyframe_at(m, chunk);
	return k && k->time_ns <= t;
}

struct hl_position hl_position_key(struct hl_model *m, size_t key)
{
	const struct hl_keyframe_info *k = hl_reader_keyframe(m->reader, key);

	return (struct hl_position){.chunk = k->chunk,
		.cut = HL_CUT_KEY,
		.limit = key,
		.time_ns = k->time_ns,
		.is_exact = true};
}

struct hl_position hl_position_event(size_t chunk, size_t n, uint64_t time_ns)
{
	return (struct hl_position){.chunk = chunk,
		.cut = n > 0 ? HL_CUT_EVENTS : HL_CUT_START,
		.limit = n,
		.time_ns = time_ns,
		.is_exact = true};
}

struct hl_position hl_position_start(void)
{
	return (struct hl_position){.cut = HL_CUT_KEY, .limit = UINT64_MAX, .is_exact = true};
}

struct hl_position hl_position_first(struct hl_model *m)
{
	size_t key = hl_reader_base_keyframe(m->reader);
	const struct hl_base *base = hl_model_base(m);
	struct hl_position p = {
		.chunk = m->n_base_chunks, .time_ns = base->time_ns, .is_exact = true};

	if (!base->is_late)
		return hl_position_start();
	if (key != SIZE_MAX && !hl_reader_keyframe(m->reader, key)->lost &&
		!m->bad_keyframes[key]) {
		p.cut = HL_CUT_KEY;
		p.limit = key;
	}
	return p;
}

size_t hl_key_before(const struct hl_model *m, uint64_t t, size_t end)
{
	for (size_t i = hl_reader_n_keyframes(m->reader); i-- > 0;) {
		const struct hl_keyframe_info *k = hl_reader_keyframe(m->reader, i);

		if (!k->lost && !m->bad_keyframes[i] && k->time_ns <= t && k->chunk <= end)
			return i;
	}
	return SIZE_MAX;
}

/*
 * If there are aggregated blocks, a position that needs them is moved back to the last keyframe
 * before it, because single events since then are not known.
 */
static struct hl_position move_to_keyframe(struct hl_model *m, struct hl_position p, uint64_t t)
{
	size_t n = hl_reader_n_chunks(m->reader), key;
	bool disjoint = p.chunk < n ? hl_reader_chunk(m->reader, p.chunk)->disjoint : false;
	struct hl_position q;

	if (t == UINT64_MAX)
		return p;
	key = hl_key_before(m, t, p.chunk);
	q = key == SIZE_MAX ? hl_position_start() : hl_position_key(m, key);
	/* Within a segment all events are recorded, so the events since that keyframe suffice. */
	if (!disjoint && (key == SIZE_MAX ? 0 : m->key_segment[key]) ==
				 (p.chunk < n ? m->chunk_segment[p.chunk] : m->n_segments))
		return p;
	q.before_damage = q.time_ns != t;
	return q;
}

struct hl_position hl_position_at(struct hl_model *m, uint64_t t)
{
	uint64_t end = hl_model_end_ns(m);
	struct hl_position p = {.limit = t, .time_ns = hl_min_u64(t, end), .is_exact = true};
	size_t n = hl_reader_n_chunks(m->reader);

	/* In a truncated file nothing is known about later times. */
	p.before_damage = !m->info->has_end && t != UINT64_MAX && t > end;
	for (p.chunk = 0; p.chunk < n; p.chunk++) {
		const struct hl_chunk_info *c = hl_reader_chunk(m->reader, p.chunk);

		if (!c->header_lost && c->t1_ns > t) {
			p.cut = c->t0_ns <= t ? HL_CUT_TIME : HL_CUT_START;
			break;
		}
	}
	/* If the chunk before is missing, the moment may be inside it. The end is always exact. */
	p.is_exact = p.cut != HL_CUT_START || t == UINT64_MAX || boundary_is_sure(m, p.chunk, t);
	return m->n_segments > 0 ? move_to_keyframe(m, p, t) : p;
}

struct hl_position hl_position_peak(struct hl_model *m)
{
	const struct hl_totals *t = &m->info->totals;
	struct hl_position p = {
		.time_ns = t->peak_time_ns, .limit = t->peak_bytes, .is_exact = true};
	size_t n = hl_reader_n_chunks(m->reader);

	if (t->peak_bytes == 0)
		return p;
	if (hl_model_peak_is_before_base(m)) { /* callers have refused it, see hl_query_bind() */
		p = hl_position_first(m);
		p.before_damage = true;
		return p;
	}
	for (p.chunk = m->n_base_chunks; p.chunk < n; p.chunk++) {
		const struct hl_chunk_info *c = hl_reader_chunk(m->reader, p.chunk);

		if (!c->header_lost && c->max_live_bytes >= t->peak_bytes) {
			p.cut = HL_CUT_LIVE;
			return p;
		}
	}
	/* Its chunk is missing: only the time is known. */
	p = hl_position_at(m, t->peak_time_ns);
	p.is_exact = false;
	return p;
}

/* The time of the boundary before a chunk: that of the last event known to be before it. */
static uint64_t boundary_time(const struct hl_model *m, size_t chunk)
{
	const struct hl_keyframe_info *k = keyframe_at(m, chunk);

	if (k)
		return k->time_ns;
	while (chunk > 0 && hl_reader_chunk(m->reader, chunk - 1)->header_lost)
		chunk--;
	return chunk > 0 ? hl_reader_chunk(m->reader, chunk - 1)->t1_ns : 0;
}

/* The keyframe before the position, or the start: events between keyframes are not complete. */
static struct hl_position previous_keyframe(struct hl_model *m, const struct hl_position *p)
{
	size_t key = SIZE_MAX, from = hl_reader_n_keyframes(m->reader);
	struct hl_position q;

	if (p->cut == HL_CUT_KEY)
		from = p->limit == UINT64_MAX ? 0 : p->limit;
	for (size_t i = from; i-- > 0 && key == SIZE_MAX;) {
		const struct hl_keyframe_info *k = hl_reader_keyframe(m->reader, i);

		if (!k->lost && !m->bad_keyframes[i] && k->chunk <= p->chunk)
			key = i;
	}
	q = key == SIZE_MAX ? hl_position_start() : hl_position_key(m, key);
	q.before_damage = true;
	return q;
}

struct hl_position hl_position_before_loss(struct hl_model *m, const struct hl_position *p)
{
	struct hl_position q = {.chunk = p->chunk, .limit = p->limit, .before_damage = true};

	if (m->n_segments > 0)
		return previous_keyframe(m, p);
	if (p->is_exact && p->cut != HL_CUT_START && hl_chunk_is_lost(m, p->chunk)) {
		q.is_exact = true; /* the chunk itself is lost: move to its start */
	} else {
		/* Move before the nearest lost chunk. */
		while (p->is_exact && q.chunk > 0 && !hl_chunk_is_lost(m, q.chunk - 1))
			q.chunk--;
		if (q.chunk > 0)
			q.chunk--;
		q.is_exact = boundary_is_sure(m, q.chunk, p->limit);
	}
	q.time_ns = boundary_time(m, q.chunk);
	return q;
}

size_t hl_position_split(
	struct hl_model *m, const struct hl_position *p, const struct hl_chunk_events *c)
{
	uint64_t live = hl_reader_chunk(m->reader, p->chunk)->live_bytes;
	size_t i;

	switch (p->cut) {
	case HL_CUT_START:
	case HL_CUT_KEY:
		return 0;
	case HL_CUT_TIME:
		for (i = 0; i < c->n_events && c->events[i].time_ns <= p->limit; i++)
			;
		return i;
	case HL_CUT_EVENTS:
		return hl_min_u64(p->limit, c->n_events);
	case HL_CUT_LIVE:
		for (i = 0; i < c->n_events; i++) {
			live += c->events[i].op == HL_OP_ALLOC ? c->events[i].bytes
							       : -c->events[i].bytes;
			if (live == p->limit && c->events[i].op == HL_OP_ALLOC)
				return i + 1;
		}
		return i;
	}
	return 0;
}

int hl_position_count(
	struct hl_model *m, const struct hl_position *p, uint64_t *events, uint64_t *allocs)
{
	struct hl_chunk_events c = {0};
	const struct hl_chunk_info *info;
	size_t n;
	int err;

	if (!p->is_exact || p->chunk >= hl_reader_n_chunks(m->reader) ||
		hl_chunk_is_lost(m, p->chunk))
		return -ENODATA;
	info = hl_reader_chunk(m->reader, p->chunk);
	err = hl_reader_decode(m->reader, p->chunk, &c);
	if (err == -EBADMSG)
		hl_model_mark_bad(m, &m->bad_chunks[p->chunk]);
	n = err ? 0 : hl_position_split(m, p, &c);
	*events = info->first_event + n;
	*allocs = info->first_ordinal;
	for (size_t i = 0; i < n; i++)
		*allocs += c.events[i].op == HL_OP_ALLOC;
	hl_chunk_events_free(&c);
	return err == -EBADMSG ? -ENODATA : err;
}
