/*
 * place.c - from times to places between events; see sums.h.
 *
 * Where a moment is, the heads of chunks tell. One that turns out to be damaged still has its head:
 * what others have read before must not move a place.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "model/sums.h"

/* Behind the last one there is nothing to be lost. */
bool hl_chunk_is_lost(const struct hl_model *m, size_t chunk)
{
	if (chunk >= hl_reader_n_chunks(m->reader))
		return false;
	return m->bad_chunks[chunk] || hl_reader_chunk(m->reader, chunk)->lost;
}

bool hl_chunks_are_there(const struct hl_model *m, size_t from, size_t to)
{
	for (size_t i = from; i < to && i < hl_reader_n_chunks(m->reader); i++) {
		if (hl_chunk_is_lost(m, i))
			return false;
	}
	return true;
}

/* The keyframe at this boundary, if it can be read. */
static const struct hl_keyframe_info *keyframe_at(const struct hl_model *m, size_t chunk)
{
	for (size_t i = 0; i < hl_reader_n_keyframes(m->reader); i++) {
		const struct hl_keyframe_info *k = hl_reader_keyframe(m->reader, i);

		if (!k->lost && !m->bad_keyframes[i] && k->chunk == chunk)
			return k;
	}
	return NULL;
}

/* Is everything before this boundary at or before t? The times of a chunk that is gone are not
 * known, but a keyframe there knows that of its last event. */
static bool boundary_is_sure(const struct hl_model *m, size_t chunk, uint64_t t)
{
	const struct hl_keyframe_info *k;

	if (chunk == 0 || !hl_reader_chunk(m->reader, chunk - 1)->gone)
		return true;
	k = keyframe_at(m, chunk);
	return k && k->time_ns <= t;
}

struct hl_place hl_place_key(struct hl_model *m, size_t key)
{
	const struct hl_keyframe_info *k = hl_reader_keyframe(m->reader, key);

	return (struct hl_place){.chunk = k->chunk,
		.cut = HL_CUT_KEY,
		.limit = key,
		.time_ns = k->time_ns,
		.sure = true};
}

struct hl_place hl_place_event(size_t chunk, size_t n, uint64_t time_ns)
{
	return (struct hl_place){.chunk = chunk,
		.cut = n > 0 ? HL_CUT_EVENTS : HL_CUT_START,
		.limit = n,
		.time_ns = time_ns,
		.sure = true};
}

struct hl_place hl_place_start(void)
{
	return (struct hl_place){.cut = HL_CUT_KEY, .limit = UINT64_MAX, .sure = true};
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
 * Where not all is in events, the time of a place is no more than that of the last keyframe before
 * it: what happened since is not known one by one.
 */
static struct hl_place place_apart(struct hl_model *m, struct hl_place p, uint64_t t)
{
	size_t n = hl_reader_n_chunks(m->reader), key;
	bool apart = p.chunk < n ? hl_reader_chunk(m->reader, p.chunk)->apart : false;
	struct hl_place q;

	if (t == UINT64_MAX)
		return p;
	key = hl_key_before(m, t, p.chunk);
	q = key == SIZE_MAX ? hl_place_start() : hl_place_key(m, key);
	/* In a stretch where all is in events, the events since that keyframe tell the rest. */
	if (!apart && (key == SIZE_MAX ? 0 : m->key_stretch[key]) ==
			      (p.chunk < n ? m->chunk_stretch[p.chunk] : m->n_stretches))
		return p;
	q.moved = q.time_ns != t;
	return q;
}

struct hl_place hl_place_at(struct hl_model *m, uint64_t t)
{
	uint64_t end = hl_model_end_ns(m);
	struct hl_place p = {.limit = t, .time_ns = hl_min_u64(t, end), .sure = true};
	size_t n = hl_reader_n_chunks(m->reader);

	/* In a file that was cut off nothing is known of later times. */
	p.moved = !m->info->has_end && t != UINT64_MAX && t > end;
	for (p.chunk = 0; p.chunk < n; p.chunk++) {
		const struct hl_chunk_info *c = hl_reader_chunk(m->reader, p.chunk);

		if (!c->gone && c->t1_ns > t) {
			p.cut = c->t0_ns <= t ? HL_CUT_TIME : HL_CUT_START;
			break;
		}
	}
	/* With a chunk gone just before, the moment may lie inside it. The end is the end. */
	p.sure = p.cut != HL_CUT_START || t == UINT64_MAX || boundary_is_sure(m, p.chunk, t);
	return m->n_stretches > 0 ? place_apart(m, p, t) : p;
}

struct hl_place hl_place_peak(struct hl_model *m)
{
	const struct hl_totals *t = &m->info->totals;
	struct hl_place p = {.time_ns = t->peak_time_ns, .limit = t->peak_bytes, .sure = true};
	size_t n = hl_reader_n_chunks(m->reader);

	if (t->peak_bytes == 0)
		return p;
	for (p.chunk = 0; p.chunk < n; p.chunk++) {
		const struct hl_chunk_info *c = hl_reader_chunk(m->reader, p.chunk);

		if (!c->gone && c->max_live_bytes >= t->peak_bytes) {
			p.cut = HL_CUT_LIVE;
			return p;
		}
	}
	/* Its chunk is gone: all that is known of it is the time. */
	p = hl_place_at(m, t->peak_time_ns);
	p.sure = false;
	return p;
}

/* What the boundary before a chunk is called: the time of the last event known to be before it. */
static uint64_t boundary_time(const struct hl_model *m, size_t chunk)
{
	const struct hl_keyframe_info *k = keyframe_at(m, chunk);

	if (k)
		return k->time_ns;
	while (chunk > 0 && hl_reader_chunk(m->reader, chunk - 1)->gone)
		chunk--;
	return chunk > 0 ? hl_reader_chunk(m->reader, chunk - 1)->t1_ns : 0;
}

/* The keyframe before, or the start: events are no way to what is between. */
static struct hl_place before_apart(struct hl_model *m, const struct hl_place *p)
{
	size_t key = SIZE_MAX, from = hl_reader_n_keyframes(m->reader);
	struct hl_place q;

	if (p->cut == HL_CUT_KEY)
		from = p->limit == UINT64_MAX ? 0 : p->limit;
	for (size_t i = from; i-- > 0 && key == SIZE_MAX;) {
		const struct hl_keyframe_info *k = hl_reader_keyframe(m->reader, i);

		if (!k->lost && !m->bad_keyframes[i] && k->chunk <= p->chunk)
			key = i;
	}
	q = key == SIZE_MAX ? hl_place_start() : hl_place_key(m, key);
	q.moved = true;
	return q;
}

struct hl_place hl_place_before_loss(struct hl_model *m, const struct hl_place *p)
{
	struct hl_place q = {.chunk = p->chunk, .limit = p->limit, .moved = true};

	if (m->n_stretches > 0)
		return before_apart(m, p);
	if (p->sure && p->cut != HL_CUT_START && hl_chunk_is_lost(m, p->chunk)) {
		q.sure = true; /* the chunk itself is what is lost: up to its start */
	} else {
		/* What is in the way is the nearest lost chunk before. */
		while (p->sure && q.chunk > 0 && !hl_chunk_is_lost(m, q.chunk - 1))
			q.chunk--;
		if (q.chunk > 0)
			q.chunk--;
		q.sure = boundary_is_sure(m, q.chunk, p->limit);
	}
	q.time_ns = boundary_time(m, q.chunk);
	return q;
}

size_t hl_place_split(struct hl_model *m, const struct hl_place *p, const struct hl_chunk_events *c)
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

int hl_place_count(struct hl_model *m, const struct hl_place *p, uint64_t *events, uint64_t *allocs)
{
	struct hl_chunk_events c = {0};
	const struct hl_chunk_info *info;
	size_t n;
	int err;

	if (!p->sure || p->chunk >= hl_reader_n_chunks(m->reader) || hl_chunk_is_lost(m, p->chunk))
		return -ENODATA;
	info = hl_reader_chunk(m->reader, p->chunk);
	err = hl_reader_decode(m->reader, p->chunk, &c);
	if (err == -EBADMSG)
		hl_model_mark_bad(m, &m->bad_chunks[p->chunk]);
	n = err ? 0 : hl_place_split(m, p, &c);
	*events = info->first_event + n;
	*allocs = info->first_ordinal;
	for (size_t i = 0; i < n; i++)
		*allocs += c.events[i].op == HL_OP_ALLOC;
	hl_chunk_events_free(&c);
	return err == -EBADMSG ? -ENODATA : err;
}
