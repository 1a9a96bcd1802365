/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moments.c - see moments.h.
 */
#include "model/views/curves/moments.h"

#include "model/model_internal.h"

/* Is moment k the end of the run? What comes later than the known end belongs to it. */
static bool is_end(const struct hl_model *m, const struct hl_time_range *r, size_t n, size_t k)
{
	return k + 1 == n && r->to_ns >= hl_model_end_ns(m);
}

static size_t count_chunks(const struct hl_model *m, const struct hl_time_range *r)
{
	size_t n = 0;

	for (size_t i = m->n_base_chunks; i < hl_reader_n_chunks(m->reader); i++) {
		const struct hl_chunk_info *c = hl_reader_chunk(m->reader, i);

		n += c->header_lost || (c->t1_ns >= r->from_ns && c->t0_ns <= r->to_ns);
	}
	return n;
}

/* The last known time before chunk `at`, which is not before `since`. */
static uint64_t time_before(const struct hl_model *m, size_t at, uint64_t since)
{
	const struct hl_chunk_info *c = at > 0 ? hl_reader_chunk(m->reader, at - 1) : NULL;

	return c && !c->header_lost && c->t1_ns > since ? c->t1_ns : since;
}

/* The position between two chunks that is nearest to the time. *at and *since are those of the
 * position before it, because times ascend. */
static struct hl_position find_border(
	const struct hl_model *m, uint64_t ns, size_t *at, uint64_t *since)
{
	size_t n = hl_reader_n_chunks(m->reader);

	while (*at < n) {
		uint64_t next = time_before(m, *at + 1, *since);

		if (next > ns && next - ns > (ns > *since ? ns - *since : 0))
			break;
		*since = next;
		++*at;
	}
	return hl_position_event(*at, 0, *since);
}

static bool is_known(const struct hl_model *m, size_t key)
{
	return !hl_reader_keyframe(m->reader, key)->lost && !m->bad_keyframes[key];
}

static size_t count_keyframes(const struct hl_model *m, const struct hl_time_range *r)
{
	size_t n = 0;

	for (size_t i = 0; i < hl_reader_n_keyframes(m->reader); i++) {
		uint64_t ns = hl_reader_keyframe(m->reader, i)->time_ns;

		n += is_known(m, i) && ns >= r->from_ns && ns <= r->to_ns;
	}
	return n;
}

static bool has_enough_keyframes(const struct hl_model *m, const struct hl_time_range *r)
{
	return count_keyframes(m, r) >= HL_MOMENTS_KEYFRAMES_MIN;
}

bool hl_moments_are_cheap(const struct hl_model *m, const struct hl_time_range *r)
{
	return m->n_segments > 0 || count_chunks(m, r) <= HL_MOMENTS_WALK_CHUNKS ||
	       has_enough_keyframes(m, r);
}

/* Within a disjoint chunk only keyframes are known, so the last one is taken, else the nearest. */
static struct hl_position find_keyframe(struct hl_model *m, uint64_t ns)
{
	size_t key = hl_key_before(m, ns, hl_reader_n_chunks(m->reader)),
	       n = hl_reader_n_keyframes(m->reader), next = key == SIZE_MAX ? 0 : key + 1;

	while (next < n && !is_known(m, next))
		next++;
	if (m->n_segments == 0 && next < n &&
		(key == SIZE_MAX || hl_reader_keyframe(m->reader, next)->time_ns - ns <
					    ns - hl_reader_keyframe(m->reader, key)->time_ns))
		key = next;
	if (key == SIZE_MAX)
		return (struct hl_position){.time_ns = ns};
	return hl_position_key(m, key);
}

static bool is_same(const struct hl_position *a, const struct hl_position *b)
{
	return a->is_exact && b->is_exact && a->chunk == b->chunk && a->cut == b->cut &&
	       a->limit == b->limit;
}

/* The kinds of positions. */
enum kind { AT_TIMES, AT_BORDERS, AT_KEYFRAMES };

static enum kind choose_kind(const struct hl_model *m, const struct hl_time_range *r, bool by_stack)
{
	size_t chunks = count_chunks(m, r);

	if (m->n_segments > 0)
		return AT_KEYFRAMES;
	if (by_stack && chunks > HL_MOMENTS_WALK_CHUNKS && has_enough_keyframes(m, r))
		return AT_KEYFRAMES;
	return chunks > HL_MOMENTS_EXACT_CHUNKS ? AT_BORDERS : AT_TIMES;
}

size_t hl_moments_choose(struct hl_model *m, const struct hl_time_range *r, bool by_stack,
	struct hl_position *positions, size_t n)
{
	enum kind kind = choose_kind(m, r, by_stack);
	size_t at = m->n_base_chunks, used = 0;
	uint64_t since = hl_model_base(m)->time_ns;

	if (kind == AT_KEYFRAMES && n > HL_MOMENTS_KEYFRAMES_MAX)
		n = HL_MOMENTS_KEYFRAMES_MAX;
	for (size_t k = 0; k < n; k++) {
		uint64_t ns = hl_time_range_end(r, k, n);
		struct hl_position *p = &positions[used];

		if (is_end(m, r, n, k))
			*p = hl_position_at(m, UINT64_MAX);
		else if (hl_model_base(m)->is_late && ns < hl_model_base(m)->time_ns)
			*p = (struct hl_position){.time_ns = ns};
		else if (kind == AT_KEYFRAMES)
			*p = find_keyframe(m, ns);
		else if (kind == AT_BORDERS)
			*p = find_border(m, ns, &at, &since);
		else
			*p = hl_position_at(m, ns);
		used += used == 0 || !is_same(p, p - 1);
	}
	return used;
}
