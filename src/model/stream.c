/*
 * stream.c - sums of filtered blocks; see stream.h.
 *
 * A free does not say all of its block's birth (not the function, not the exact time), so the
 * filter judges allocations only, and one bit for each allocation keeps the verdict for the free.
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
};

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
		return false;
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

static void forget_births(struct stream *s)
{
	for (size_t i = 0; i < s->births.len; i++)
		free(s->births.data[i].bits);
	hl_vec_free(&s->births);
}

/* *bad: this chunk turned out to be unreadable. */
static int stream_to(struct stream *s, const struct hl_place *to, size_t *bad)
{
	struct hl_chunk_events c = {0};
	size_t n = hl_reader_n_chunks(s->m->reader);
	int err = 0;

	memset(s->values, 0, ((size_t)s->m->n_nodes + 1) * sizeof(*s->values));
	for (size_t i = 0; i < hl_place_end(to) && i < n && !err; i++) {
		err = hl_reader_decode(s->m->reader, i, &c);
		if (err == -EBADMSG)
			*bad = i;
		if (!err)
			err = apply_chunk(s, i, &c,
				i < to->chunk ? c.n_events : hl_place_split(s->m, to, &c));
	}
	hl_chunk_events_free(&c);
	forget_births(s);
	return err;
}

static bool has_loss(const struct hl_model *m, const struct hl_place *p)
{
	for (size_t i = 0; i < hl_place_end(p) && i < hl_reader_n_chunks(m->reader); i++) {
		if (hl_chunk_is_lost(m, i))
			return true;
	}
	return false;
}

int hl_stream_sums(struct hl_model *m, struct hl_filter *f, bool live, uint64_t from_ns,
	struct hl_place *to, struct hl_value *values)
{
	struct stream s = {.m = m, .filter = f, .live = live, .from_ns = from_ns, .values = values};

	for (;;) {
		size_t bad = SIZE_MAX;
		int err;

		while (!to->sure || has_loss(m, to))
			*to = hl_place_before_loss(m, to);
		err = stream_to(&s, to, &bad);
		if (bad == SIZE_MAX)
			return err ? hl_model_fail(m, err) : 0;
		hl_model_mark_bad(m, &m->bad_chunks[bad]);
	}
}
