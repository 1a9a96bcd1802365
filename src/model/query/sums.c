/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums.c - the shortest exact computation of the sums at a position; see sums.h.
 */
#include "model/query/sums.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"

static void add_sums(struct hl_sums *to, const struct hl_sums *s, bool back)
{
	if (back) {
		to->alloc_blocks -= s->alloc_blocks;
		to->alloc_bytes -= s->alloc_bytes;
		to->free_blocks -= s->free_blocks;
		to->free_bytes -= s->free_bytes;
	} else {
		to->alloc_blocks += s->alloc_blocks;
		to->alloc_bytes += s->alloc_bytes;
		to->free_blocks += s->free_blocks;
		to->free_bytes += s->free_bytes;
	}
}

/* The entry of a node; the last entry is for blocks without a stack. NULL if there is no such
 * node. */
static struct hl_sums *sums_of_node(struct hl_model *m, struct hl_sums *sums, uint32_t node)
{
	if (node == HL_NODE_NONE)
		return &sums[m->n_nodes];
	return node < m->n_nodes ? &sums[node] : NULL;
}

static int add_events(struct hl_model *m, const struct hl_event *events, size_t n, bool back,
	struct hl_sums *sums)
{
	for (size_t i = 0; i < n; i++) {
		struct hl_sums *to = sums_of_node(m, sums, events[i].node), one = {0};

		if (!to)
			return -EBADMSG;
		if (events[i].op == HL_OP_ALLOC) {
			one.alloc_blocks = events[i].blocks;
			one.alloc_bytes = events[i].bytes;
		} else {
			one.free_blocks = events[i].blocks;
			one.free_bytes = events[i].bytes;
		}
		add_sums(to, &one, back);
	}
	return 0;
}

static int read_events(struct hl_model *m, struct hl_chunk_cache *d, size_t chunk, unsigned want)
{
	uint64_t before = hl_reader_bytes_read(m->reader);
	int err = hl_chunk_cache_read(m, d, chunk, want);

	if (err)
		return err;
	return hl_model_learn_called_functions(
		m, &d->events, hl_reader_bytes_read(m->reader) - before);
}

/* Adds a whole chunk by its summary or, if it has none, by its events. */
static int add_chunk(struct hl_model *m, size_t chunk, bool back, struct hl_sums *sums,
	struct hl_summary *summary, struct hl_chunk_cache *d)
{
	int err = hl_reader_summary(m->reader, chunk, summary);

	if (err == 0) {
		for (size_t i = 0; i < summary->n; i++) {
			struct hl_sums *to = sums_of_node(m, sums, summary->rows[i].node);

			if (!to)
				return -EBADMSG;
			add_sums(to, &summary->rows[i].sums, back);
		}
		return 0;
	}
	/* A damaged summary is treated as a missing one. */
	if (err != -ENOENT && err != -EBADMSG)
		return err;
	err = read_events(m, d, chunk, HL_WANT_NODE | HL_WANT_FUNC);
	return err ? err : add_events(m, d->events.events, d->events.n_events, back, sums);
}

/* Finds the segment of a position. Returns false if the position is inside a disjoint chunk. */
static bool find_segment(const struct hl_model *m, const struct hl_position *p, uint32_t *segment)
{
	size_t n = hl_reader_n_chunks(m->reader);

	*segment = p->cut == HL_CUT_KEY ? p->limit == UINT64_MAX ? 0 : m->key_segment[p->limit]
		   : p->chunk >= n ? m->n_segments
					: m->chunk_segment[p->chunk];
	return hl_position_end(p) == p->chunk || p->chunk >= n ||
	       !hl_reader_chunk(m->reader, p->chunk)->disjoint;
}

bool hl_sums_find_path(
	const struct hl_model *m, const struct hl_position *p, struct hl_sums_path *best)
{
	size_t n = hl_reader_n_keyframes(m->reader);
	uint32_t segment;
	bool found = false;

	if (hl_position_end(p) != p->chunk && hl_chunk_is_lost(m, p->chunk))
		return false;
	if (!find_segment(m, p, &segment))
		return false;
	for (size_t i = 0; i <= n; i++) {
		const struct hl_keyframe_info *k = i < n ? hl_reader_keyframe(m->reader, i) : NULL;
		size_t at = k ? k->chunk : 0;
		struct hl_sums_path w = {.keyframe = k ? i : SIZE_MAX,
			.back = at >= hl_position_end(p) && at > p->chunk};

		/* A trace that begins late does not begin with zeros. */
		if (k ? k->lost || m->bad_keyframes[i] : hl_model_base(m)->is_late)
			continue;
		if ((k ? m->key_segment[i] : 0) != segment)
			continue;
		w.from = w.back ? hl_position_end(p) : at;
		w.to = w.back ? at : p->chunk;
		if (w.from > w.to || (found && w.to - w.from >= best->to - best->from))
			continue;
		if (hl_chunks_are_readable(m, w.from, w.to)) {
			*best = w;
			found = true;
		}
	}
	return found;
}

/* Sums of the process that belong to no node are of blocks without a stack. */
int hl_sums_of_keyframe(struct hl_model *m, size_t key, struct hl_sums *sums)
{
	struct hl_node_totals *nodes = malloc(((size_t)m->n_nodes + 1) * sizeof(*nodes));
	struct hl_totals all;
	int err;

	if (!nodes)
		return -ENOMEM;
	err = hl_reader_load_keyframe(m->reader, key, nodes, m->n_nodes);
	if (!err)
		err = hl_reader_keyframe_totals(m->reader, key, &all);
	if (!err)
		sums[m->n_nodes] = all.sums;
	for (size_t i = 0; i < m->n_nodes && !err; i++) {
		sums[i] = nodes[i].sums;
		add_sums(&sums[m->n_nodes], &nodes[i].sums, true);
	}
	free(nodes);
	return err;
}

static int load_base(struct hl_model *m, const struct hl_sums_path *w, struct hl_sums *sums)
{
	int err;

	if (w->onward)
		return 0;
	if (w->keyframe == SIZE_MAX) {
		memset(sums, 0, ((size_t)m->n_nodes + 1) * sizeof(*sums));
		return 0;
	}
	err = hl_sums_of_keyframe(m, w->keyframe, sums);
	if (err == -EBADMSG)
		hl_model_mark_bad(m, &m->bad_keyframes[w->keyframe]);
	return err;
}

static int add_partial_chunk(struct hl_model *m, const struct hl_position *p, bool back,
	struct hl_sums *sums, struct hl_chunk_cache *d)
{
	const struct hl_chunk_events *c = &d->events;
	size_t split;
	int err;

	if (hl_position_end(p) == p->chunk)
		return 0;
	err = read_events(m, d, p->chunk, HL_WANT_ALL);
	if (err == -EBADMSG)
		hl_model_mark_bad(m, &m->bad_chunks[p->chunk]);
	if (err)
		return err;
	split = hl_position_split(m, p, c);
	if (back)
		return add_events(m, c->events + split, c->n_events - split, true, sums);
	return add_events(m, c->events, split, false, sums);
}

/* Returns -EBADMSG with a new bad mark if another path must be tried. */
static int follow_path(struct hl_model *m, const struct hl_position *p,
	const struct hl_sums_path *w, struct hl_sums *sums)
{
	struct hl_chunk_cache decoded = hl_chunk_cache_borrow(m);
	struct hl_summary summary = {0};
	int err;

	hl_work_begin(&m->work, HL_WORK_SHORT, HL_WORK_READING);
	err = hl_work_tick(&m->work, 0, w->to - w->from);
	if (!err)
		err = load_base(m, w, sums);
	for (size_t i = w->from; i < w->to && !err; i++) {
		err = hl_work_tick(&m->work, i - w->from, w->to - w->from);
		if (!err)
			err = add_chunk(m, i, w->back, sums, &summary, &decoded);
		if (err == -EBADMSG)
			hl_model_mark_bad(m, &m->bad_chunks[i]);
	}
	if (!err)
		err = add_partial_chunk(m, p, w->back, sums, &decoded);
	hl_work_end(&m->work, HL_WORK_SHORT);
	hl_summary_free(&summary);
	hl_chunk_cache_return(m, &decoded);
	return err;
}

int hl_sums_verify(struct hl_model *m, const struct hl_sums *sums, uint32_t n)
{
	for (size_t i = 0; i <= n; i++) {
		if (sums[i].free_blocks > sums[i].alloc_blocks ||
			sums[i].free_bytes > sums[i].alloc_bytes) {
			snprintf(m->error, sizeof(m->error),
				"the sums in the file contradict each other (node %zu), so the "
				"state at this moment is not known: use another copy of the trace, "
				"or record again (heaplapse info --verify checks the whole file)",
				i);
			return -EBADMSG;
		}
	}
	return 0;
}

int hl_sums_at(struct hl_model *m, struct hl_position *p, struct hl_sums *sums)
{
	struct hl_sums_path w = {0};
	int err;

	/* Each iteration marks a part bad or moves towards the start, so this ends. */
	for (;;) {
		size_t bad = m->n_bad;

		if (!p->is_exact || !hl_sums_find_path(m, p, &w)) {
			if (hl_model_base(m)->is_late && hl_position_end(p) <= m->n_base_chunks)
				return hl_model_lost_base(m);
			*p = hl_position_before_loss(m, p);
			continue;
		}
		err = follow_path(m, p, &w, sums);
		if (err == 0)
			return hl_sums_verify(m, sums, m->n_nodes);
		if (err != -EBADMSG || bad == m->n_bad)
			return hl_model_fail(m, err);
	}
}

/* --- a walk from moment to moment --- */

/* Loading a keyframe takes as long as adding a few summaries. */
#define KEYFRAME_CHUNKS 4

int hl_sums_walk_init(struct hl_sums_walk *w, struct hl_model *m)
{
	size_t n = (size_t)m->n_nodes + 1;

	*w = (struct hl_sums_walk){.m = m};
	w->border = malloc(n * sizeof(*w->border));
	w->sums = malloc(n * sizeof(*w->sums));
	return w->border && w->sums ? 0 : -ENOMEM;
}

void hl_sums_walk_fini(struct hl_sums_walk *w)
{
	free(w->border);
	free(w->sums);
	*w = (struct hl_sums_walk){0};
}

/* Can the chunks since the last border be added, and is no path from a keyframe much shorter? */
static bool continues(const struct hl_sums_walk *w, const struct hl_position *p)
{
	struct hl_sums_path best;

	if (!w->has_border || p->chunk < w->chunk ||
		!hl_chunks_are_readable(w->m, w->chunk, p->chunk))
		return false;
	return !hl_sums_find_path(w->m, p, &best) ||
	       p->chunk - w->chunk <= best.to - best.from + KEYFRAME_CHUNKS;
}

/* Moves the border to the begin of the position's chunk. */
static int move_border(struct hl_sums_walk *w, const struct hl_position *p)
{
	struct hl_position to = hl_position_event(p->chunk, 0, p->time_ns);
	struct hl_sums_path on = {.from = w->chunk, .to = p->chunk, .onward = true};
	bool onward = continues(w, &to);
	int err;

	w->has_border = false;
	err = onward ? follow_path(w->m, &to, &on, w->border) : hl_sums_at(w->m, &to, w->border);
	if (err)
		return err;
	w->chunk = to.chunk;
	w->has_border = !to.before_damage;
	return to.before_damage ? -EBADMSG : hl_sums_verify(w->m, w->border, w->m->n_nodes);
}

static int add_rest(struct hl_sums_walk *w, const struct hl_position *p)
{
	struct hl_sums_path none = {.from = p->chunk, .to = p->chunk, .onward = true};

	memcpy(w->sums, w->border, ((size_t)w->m->n_nodes + 1) * sizeof(*w->sums));
	if (hl_position_end(p) == p->chunk)
		return 0;
	return follow_path(w->m, p, &none, w->sums);
}

int hl_sums_walk_to(struct hl_sums_walk *w, struct hl_position *p)
{
	int err = -EBADMSG;

	if (p->is_exact && p->cut != HL_CUT_KEY && w->m->n_segments == 0)
		err = move_border(w, p);
	if (!err)
		err = add_rest(w, p);
	if (!err)
		return hl_sums_verify(w->m, w->sums, w->m->n_nodes);
	/* Something is damaged: the way of a single position ends before it. */
	return err == -EBADMSG ? hl_sums_at(w->m, p, w->sums) : hl_model_fail(w->m, err);
}
