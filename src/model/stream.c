/*
 * stream.c - sums of filtered blocks; see stream.h.
 *
 * A free does not say all of its block's birth (not the function, not the exact time), so the
 * filter judges allocations only, and one bit for each allocation keeps the verdict for the free.
 * A live set tells of each block all but the function, so that a stream may begin there.
 */
#include "model/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"

/* The verdicts on the allocations of one chunk. */
struct births {
	uint64_t first; /* ordinal of the first */
	uint32_t n;
	uint8_t *bits;
};

struct stream {
	struct hl_model *m;
	struct hl_filter *filter;
	bool live;
	uint64_t from_ns;
	struct hl_value *values;
	HL_VEC(struct births) births;
	HL_VEC(uint64_t)
	older; /* ordinals of selected blocks from before the first chunk, rising */
};

/* Where a stream begins. */
struct start {
	size_t chunk;
	size_t set; /* SIZE_MAX: at the start of the recording, with nothing */
};

static int by_value(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a < b ? -1 : a > b;
}

static bool was_selected(const struct stream *s, uint64_t ordinal)
{
	size_t lo = 0, hi = s->births.len;
	const struct births *b;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->births.data[mid].first <= ordinal)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return s->older.len &&
		       bsearch(&ordinal, s->older.data, s->older.len, sizeof(ordinal), by_value);
	b = &s->births.data[lo - 1];
	ordinal -= b->first;
	return ordinal < b->n && b->bits[ordinal / 8] >> (ordinal % 8) & 1;
}

static struct hl_value *slot(struct stream *s, uint32_t node)
{
	if (node == HL_NODE_NONE)
		return &s->values[s->m->n_nodes];
	return node < s->m->n_nodes ? &s->values[node] : NULL;
}

static int apply_alloc(struct stream *s, const struct hl_event *e)
{
	struct births *b = &s->births.data[s->births.len - 1];
	struct hl_value *v = slot(s, e->node);
	uint64_t i = e->ordinal - b->first;
	bool holds;
	int err;

	if (!v || i >= b->n)
		return -EBADMSG;
	err = hl_filter_event(s->filter, s->m, e, &holds);
	if (err || !holds)
		return err;
	b->bits[i / 8] |= (uint8_t)(1u << (i % 8));
	if (s->live || e->time_ns >= s->from_ns) {
		v->bytes += e->size;
		v->blocks++;
	}
	return 0;
}

static int apply_free(struct stream *s, const struct hl_event *e)
{
	struct hl_value *v = slot(s, e->node);

	if (!s->live || !was_selected(s, e->ordinal))
		return 0;
	if (!v || v->blocks == 0 || v->bytes < e->size)
		return -EBADMSG;
	v->bytes -= e->size;
	v->blocks--;
	return 0;
}

static int apply_chunk(struct stream *s, size_t chunk, const struct hl_chunk_events *c, size_t n)
{
	struct births b = {.first = hl_reader_chunk(s->m->reader, chunk)->first_ordinal,
		.n = (uint32_t)c->n_events};
	int err = 0;

	b.bits = calloc(c->n_events / 8 + 1, 1);
	if (!b.bits || hl_vec_push(&s->births, b)) {
		free(b.bits);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n && !err; i++)
		err = c->events[i].op == HL_OP_ALLOC ? apply_alloc(s, &c->events[i])
						     : apply_free(s, &c->events[i]);
	return err;
}

static int apply_set(struct stream *s, size_t set)
{
	struct hl_live_block *blocks;
	size_t n;
	int err = hl_reader_load_live_set(s->m->reader, set, &blocks, &n);

	if (err == -EBADMSG)
		hl_model_mark_bad(s->m, &s->m->bad_sets[set]);
	for (size_t i = 0; i < n && !err; i++) {
		const struct hl_event birth = {.op = HL_OP_ALLOC,
			.time_ns = blocks[i].birth_ns,
			.size = blocks[i].size,
			.node = blocks[i].node,
			.thread = blocks[i].thread};
		struct hl_value *v = slot(s, blocks[i].node);
		bool holds;

		err = v ? hl_filter_event(s->filter, s->m, &birth, &holds) : -EBADMSG;
		if (err || !holds)
			continue;
		v->bytes += blocks[i].size;
		v->blocks++;
		err = hl_vec_push(&s->older, blocks[i].ordinal);
	}
	free(blocks);
	if (!err && s->older.len > 1)
		qsort(s->older.data, s->older.len, sizeof(*s->older.data), by_value);
	return err;
}

static void forget(struct stream *s)
{
	for (size_t i = 0; i < s->births.len; i++)
		free(s->births.data[i].bits);
	hl_vec_free(&s->births);
	hl_vec_free(&s->older);
}

/* What turns out to be unreadable is marked bad. */
static int stream_to(struct stream *s, const struct start *from, const struct hl_place *to)
{
	struct hl_chunk_events c = {0};
	size_t n = hl_reader_n_chunks(s->m->reader), end = hl_place_end(to);
	int err = 0;

	memset(s->values, 0, ((size_t)s->m->n_nodes + 1) * sizeof(*s->values));
	if (from->set != SIZE_MAX)
		err = apply_set(s, from->set);
	for (size_t i = from->chunk; i < end && i < n && !err; i++) {
		err = hl_reader_decode(s->m->reader, i, &c);
		if (err == -EBADMSG)
			hl_model_mark_bad(s->m, &s->m->bad_chunks[i]);
		if (!err)
			err = apply_chunk(s, i, &c,
				i < to->chunk ? c.n_events : hl_place_split(s->m, to, &c));
	}
	hl_chunk_events_free(&c);
	forget(s);
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

static bool clear(const struct hl_model *m, size_t from, const struct hl_place *to)
{
	for (size_t i = from; i < hl_place_end(to) && i < hl_reader_n_chunks(m->reader); i++) {
		if (hl_chunk_is_lost(m, i))
			return false;
	}
	return true;
}

/* The latest start from which every event up to the place can be read. */
static bool find_start(const struct stream *s, const struct hl_place *to, struct start *start)
{
	struct hl_model *m = s->m;
	bool sets = s->live && !(hl_filter_subjects(s->filter) & HL_FILTER_FUNC);

	for (size_t i = sets ? hl_reader_n_live_sets(m->reader) : 0; i-- > 0;) {
		size_t chunk = chunk_after(m, hl_reader_live_set(m->reader, i)->first_event);

		*start = (struct start){.chunk = chunk, .set = i};
		if (!m->bad_sets[i] && chunk <= to->chunk && clear(m, chunk, to))
			return true;
	}
	*start = (struct start){.chunk = 0, .set = SIZE_MAX};
	return clear(m, 0, to);
}

int hl_stream_sums(struct hl_model *m, struct hl_filter *f, bool live, uint64_t from_ns,
	struct hl_place *to, struct hl_value *values)
{
	struct stream s = {.m = m, .filter = f, .live = live, .from_ns = from_ns, .values = values};

	/* Each turn marks a part bad or moves towards the start, so this ends. */
	for (;;) {
		size_t bad = m->n_bad;
		struct start start;
		int err;

		if (!to->sure || !find_start(&s, to, &start)) {
			*to = hl_place_before_loss(m, to);
			continue;
		}
		err = stream_to(&s, &start, to);
		if (err != -EBADMSG || m->n_bad == bad)
			return err ? hl_model_fail(m, err) : 0;
	}
}
