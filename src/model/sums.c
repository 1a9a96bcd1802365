/*
 * sums.c - the shortest exact way to the sums of a moment; see sums.h.
 */
#include "model/sums.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"

/* A way: from a keyframe (or the start) to a place. */
struct way {
	size_t keyframe; /* SIZE_MAX: the start */
	size_t from, to; /* whole chunks between: [from, to) */
	bool back;       /* the keyframe is after the place */
};

static void add(struct hl_sums *to, const struct hl_sums *s, bool back)
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

/* Where a node's sums stand; the blocks without a stack come last. */
static struct hl_sums *slot(struct hl_model *m, struct hl_sums *sums, uint32_t node)
{
	if (node == HL_NODE_NONE)
		return &sums[m->n_nodes];
	return node < m->n_nodes ? &sums[node] : NULL;
}

static int add_events(struct hl_model *m, const struct hl_event *events, size_t n, bool back,
	struct hl_sums *sums)
{
	for (size_t i = 0; i < n; i++) {
		struct hl_sums *to = slot(m, sums, events[i].node), one = {0};

		if (!to)
			return -EBADMSG;
		if (events[i].op == HL_OP_ALLOC) {
			one.alloc_blocks = events[i].blocks;
			one.alloc_bytes = events[i].bytes;
		} else {
			one.free_blocks = events[i].blocks;
			one.free_bytes = events[i].bytes;
		}
		add(to, &one, back);
	}
	return 0;
}

static int read_events(struct hl_model *m, struct hl_decoded *d, size_t chunk, unsigned want)
{
	uint64_t before = hl_reader_bytes_read(m->reader);
	int err = hl_decoded_read(m, d, chunk, want);

	if (err)
		return err;
	return hl_model_note_calls(m, &d->events, hl_reader_bytes_read(m->reader) - before);
}

/* A whole chunk by its summary, or, if it has none, by its events. */
static int add_chunk(struct hl_model *m, size_t chunk, bool back, struct hl_sums *sums,
	struct hl_summary *summary, struct hl_decoded *d)
{
	int err = hl_reader_summary(m->reader, chunk, summary);

	if (err == 0) {
		for (size_t i = 0; i < summary->n; i++) {
			struct hl_sums *to = slot(m, sums, summary->rows[i].node);

			if (!to)
				return -EBADMSG;
			add(to, &summary->rows[i].sums, back);
		}
		return 0;
	}
	/* A summary that is damaged is no more than one that is missing. */
	if (err != -ENOENT && err != -EBADMSG)
		return err;
	err = read_events(m, d, chunk, HL_WANT_NODE | HL_WANT_FUNC);
	return err ? err : add_events(m, d->events.events, d->events.n_events, back, sums);
}

/* In which stretch a place lies. False: in none, but within a chunk that is apart. */
static bool stretch_of(const struct hl_model *m, const struct hl_place *p, uint32_t *stretch)
{
	size_t n = hl_reader_n_chunks(m->reader);

	*stretch = p->cut == HL_CUT_KEY ? p->limit == UINT64_MAX ? 0 : m->key_stretch[p->limit]
		   : p->chunk >= n ? m->n_stretches
					: m->chunk_stretch[p->chunk];
	return hl_place_end(p) == p->chunk || p->chunk >= n ||
	       !hl_reader_chunk(m->reader, p->chunk)->apart;
}

/* Finds the way over the fewest chunks. False: there is none. */
static bool find_way(const struct hl_model *m, const struct hl_place *p, struct way *best)
{
	size_t n = hl_reader_n_keyframes(m->reader);
	uint32_t stretch;
	bool found = false;

	if (hl_place_end(p) != p->chunk && hl_chunk_is_lost(m, p->chunk))
		return false;
	if (!stretch_of(m, p, &stretch))
		return false;
	for (size_t i = 0; i <= n; i++) {
		const struct hl_keyframe_info *k = i < n ? hl_reader_keyframe(m->reader, i) : NULL;
		size_t at = k ? k->chunk : 0;
		struct way w = {.keyframe = k ? i : SIZE_MAX,
			.back = at >= hl_place_end(p) && at > p->chunk};

		if (k && (k->lost || m->bad_keyframes[i]))
			continue;
		if ((k ? m->key_stretch[i] : 0) != stretch)
			continue;
		w.from = w.back ? hl_place_end(p) : at;
		w.to = w.back ? at : p->chunk;
		if (w.from > w.to || (found && w.to - w.from >= best->to - best->from))
			continue;
		if (hl_chunks_are_there(m, w.from, w.to)) {
			*best = w;
			found = true;
		}
	}
	return found;
}

/* What a keyframe says of the process and not of any node is of blocks without a stack. */
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
		add(&sums[m->n_nodes], &nodes[i].sums, true);
	}
	free(nodes);
	return err;
}

static int load_base(struct hl_model *m, const struct way *w, struct hl_sums *sums)
{
	int err;

	if (w->keyframe == SIZE_MAX) {
		memset(sums, 0, ((size_t)m->n_nodes + 1) * sizeof(*sums));
		return 0;
	}
	err = hl_sums_of_keyframe(m, w->keyframe, sums);
	if (err == -EBADMSG)
		hl_model_mark_bad(m, &m->bad_keyframes[w->keyframe]);
	return err;
}

static int add_edge(struct hl_model *m, const struct hl_place *p, bool back, struct hl_sums *sums,
	struct hl_decoded *d)
{
	const struct hl_chunk_events *c = &d->events;
	size_t split;
	int err;

	if (hl_place_end(p) == p->chunk)
		return 0;
	err = read_events(m, d, p->chunk, HL_WANT_ALL);
	if (err == -EBADMSG)
		hl_model_mark_bad(m, &m->bad_chunks[p->chunk]);
	if (err)
		return err;
	split = hl_place_split(m, p, c);
	if (back)
		return add_events(m, c->events + split, c->n_events - split, true, sums);
	return add_events(m, c->events, split, false, sums);
}

/* -EBADMSG with something new marked bad: try another way. */
static int go(
	struct hl_model *m, const struct hl_place *p, const struct way *w, struct hl_sums *sums)
{
	struct hl_decoded decoded = hl_decoded_borrow(m);
	struct hl_summary summary = {0};
	int err = load_base(m, w, sums);

	for (size_t i = w->from; i < w->to && !err; i++) {
		err = add_chunk(m, i, w->back, sums, &summary, &decoded);
		if (err == -EBADMSG)
			hl_model_mark_bad(m, &m->bad_chunks[i]);
	}
	if (!err)
		err = add_edge(m, p, w->back, sums, &decoded);
	hl_summary_free(&summary);
	hl_decoded_return(m, &decoded);
	return err;
}

int hl_sums_verify(struct hl_model *m, const struct hl_sums *sums, uint32_t n)
{
	for (size_t i = 0; i <= n; i++) {
		if (sums[i].free_blocks > sums[i].alloc_blocks ||
			sums[i].free_bytes > sums[i].alloc_bytes) {
			snprintf(m->error, sizeof(m->error),
				"the sums in the file contradict each other (number %zu), so that "
				"nothing can be said about this moment: use another copy of the "
				"trace, or record again (heaplapse info --verify checks all of it)",
				i);
			return -EBADMSG;
		}
	}
	return 0;
}

int hl_sums_at(struct hl_model *m, struct hl_place *p, struct hl_sums *sums)
{
	struct way w = {0};
	int err;

	/* Each turn marks a part bad or moves towards the start, so this ends. */
	for (;;) {
		size_t bad = m->n_bad;

		if (!p->sure || !find_way(m, p, &w)) {
			*p = hl_place_before_loss(m, p);
			continue;
		}
		err = go(m, p, &w, sums);
		if (err == 0)
			return hl_sums_verify(m, sums, m->n_nodes);
		if (err != -EBADMSG || bad == m->n_bad)
			return hl_model_fail(m, err);
	}
}

int hl_sums_by_decoding(struct hl_model *m, const struct hl_place *p, struct hl_sums *sums)
{
	struct hl_chunk_events c = {0};
	int err = 0;

	memset(sums, 0, ((size_t)m->n_nodes + 1) * sizeof(*sums));
	for (size_t i = 0; i < hl_place_end(p) && i < hl_reader_n_chunks(m->reader) && !err; i++) {
		if (hl_chunk_is_lost(m, i)) {
			err = -ENODATA;
			break;
		}
		err = hl_reader_decode(m->reader, i, &c);
		if (!err)
			err = add_events(m, c.events,
				i < p->chunk ? c.n_events : hl_place_split(m, p, &c), false, sums);
	}
	hl_chunk_events_free(&c);
	return err ? hl_model_fail(m, err) : hl_sums_verify(m, sums, m->n_nodes);
}
