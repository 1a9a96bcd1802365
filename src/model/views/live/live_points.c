/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_points.c - see live_points.h.
 */
#include "model/views/live/live_points.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "model/query/query_plan.h"
#include "model/views/filtered_peak.h"

/* The chunks that have a part of the range: from *first up to *end, without it. Chunks are in the
 * order of time. */
static void find_chunks(
	const struct hl_model *m, const struct hl_time_range *r, size_t *first, size_t *end)
{
	size_t n = hl_reader_n_chunks(m->reader);

	*first = m->n_base_chunks;
	while (*first < n && (hl_reader_chunk(m->reader, *first)->header_lost ||
				     hl_reader_chunk(m->reader, *first)->t1_ns < r->from_ns))
		(*first)++;
	for (*end = *first; *end < n; (*end)++) {
		const struct hl_chunk_info *c = hl_reader_chunk(m->reader, *end);

		if (!c->header_lost && c->t0_ns > r->to_ns)
			break;
	}
}

static int put_equal_columns(struct hl_model *m, const struct hl_time_range *r,
	struct hl_live_point *points, size_t most)
{
	struct hl_timeline_bin *columns = calloc(most, sizeof(*columns));
	uint64_t length = r->to_ns - r->from_ns;
	struct hl_peak peak;
	int err = columns ? hl_timeline_range(m, NULL, r, columns, most, &peak)
			  : hl_model_fail(m, -ENOMEM);

	for (size_t i = 0; i < most && !err; i++)
		points[i] = (struct hl_live_point){
			.from_ns =
				r->from_ns + (uint64_t)((double)length * (double)i / (double)most),
			.to_ns = r->from_ns +
				 (uint64_t)((double)length * (double)(i + 1) / (double)most),
			.max_bytes = columns[i].max_bytes,
			.end_bytes = columns[i].end_bytes,
			.lost = columns[i].lost || columns[i].before_base};
	free(columns);
	return err;
}

/* Live bytes after a chunk: the next one begins with them. *lost: they are not known. */
static uint64_t find_end(const struct hl_model *m, size_t chunk, bool *lost)
{
	const struct hl_chunk_info *next = hl_reader_chunk(m->reader, chunk + 1);

	if (chunk + 1 == hl_reader_n_chunks(m->reader))
		return hl_sums_live_bytes(&m->info->totals.sums);
	if (!next->header_lost)
		return next->live_bytes;
	*lost = true;
	return hl_reader_chunk(m->reader, chunk)->live_bytes;
}

static void add_chunk(const struct hl_model *m, size_t chunk, struct hl_live_point *p)
{
	const struct hl_chunk_info *c = hl_reader_chunk(m->reader, chunk);

	p->lost |= hl_chunk_is_lost(m, chunk);
	if (c->header_lost)
		return;
	p->from_ns = hl_min_u64(p->from_ns, c->t0_ns);
	p->to_ns = hl_max_u64(p->to_ns, c->t1_ns);
	p->max_bytes = hl_max_u64(p->max_bytes, c->max_live_bytes);
	p->end_bytes = find_end(m, chunk, &p->lost);
}

int hl_live_points(struct hl_model *m, const struct hl_time_range *r, struct hl_live_point *points,
	size_t most, size_t *n)
{
	size_t first, end, group;
	int err = hl_model_require(m, HL_NEEDS_ORDER, "a timeline");

	*n = 0;
	if (err)
		return err;
	find_chunks(m, r, &first, &end);
	if (m->n_segments > 0 || end - first <= HL_LIVE_POINTS_CHUNKS) {
		*n = most;
		return put_equal_columns(m, r, points, most);
	}
	group = (end - first + most - 1) / most;
	for (size_t i = first; i < end; i++) {
		struct hl_live_point *p = &points[(i - first) / group];

		if ((i - first) % group == 0)
			points[(*n)++] = (struct hl_live_point){.from_ns = UINT64_MAX};
		add_chunk(m, i, p);
	}
	/* Nothing is known of a group whose headers are all lost, not even its time. */
	for (size_t i = 0; i < *n; i++) {
		if (points[i].from_ns == UINT64_MAX)
			points[i].from_ns = points[i].to_ns = i ? points[i - 1].to_ns : 0;
	}
	return 0;
}
