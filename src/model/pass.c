/*
 * pass.c - see pass.h.
 */
#include "model/pass.h"

#include <errno.h>

#include "model/model_internal.h"
#include "model/question.h"

#define READINGS_MAX 32

struct pass {
	struct hl_model *m;
	struct hl_reading *all[READINGS_MAX];
	size_t n, n_own; /* the first are those that it is made for */
	size_t bad;      /* parts of the file that were so when this round began */
	int err;         /* of one of the first: all is over */
	struct hl_decoded decoded;
};

void hl_reading_up_to(struct hl_reading *r, struct hl_model *m, struct hl_place *p)
{
	size_t n = hl_reader_n_chunks(m->reader);

	while (!p->sure || !hl_chunks_are_there(m, 0, hl_place_end(p)))
		*p = hl_place_before_loss(m, p);
	r->first = 0;
	r->last_end = hl_place_end(p) < n ? hl_place_end(p) : n;
}

/* Damage that is new is a reason to begin again; anything else is the end of it. */
static void stop(struct pass *p, size_t i, int err)
{
	bool again = err == -EAGAIN || (err == -EBADMSG && p->m->n_bad != p->bad);

	p->all[i]->state = again ? HL_READING_NOT_YET : HL_READING_FAILED;
	if (!again && i < p->n_own)
		p->err = hl_model_fail(p->m, err);
}

/* Whoever has still to read begins. *from, *to: the chunks that they need together. */
static void begin(struct pass *p, size_t *from, size_t *to)
{
	*from = SIZE_MAX;
	*to = 0;
	for (size_t i = 0; i < p->n && !p->err; i++) {
		struct hl_reading *r = p->all[i];
		int err;

		if (r->state != HL_READING_NOT_YET)
			continue;
		err = r->plan(r);
		if (err) {
			r->state = HL_READING_FAILED;
			p->err = i < p->n_own ? err : 0;
			continue;
		}
		r->state = HL_READING_NOW;
		err = r->begin(r->arg);
		if (err)
			stop(p, i, err);
		else if (r->first < r->last_end) {
			*from = r->first < *from ? r->first : *from;
			*to = r->last_end > *to ? r->last_end : *to;
		}
	}
}

/* What all want of this chunk. */
static unsigned wanted(struct pass *p, size_t chunk)
{
	unsigned all = HL_WANT_NO_EVENTS;

	for (size_t i = 0; i < p->n; i++) {
		struct hl_reading *r = p->all[i];
		unsigned want = 0;
		int err;

		r->waits = false;
		if (r->state != HL_READING_NOW || chunk < r->first || chunk >= r->last_end)
			continue;
		err = r->want(r->arg, chunk, &want);
		if (err)
			stop(p, i, err);
		else if (want != HL_WANT_NO_EVENTS) {
			r->waits = true;
			all = (all & ~HL_WANT_NO_EVENTS) | want;
		}
	}
	return all;
}

static void read_chunk(struct pass *p, size_t chunk)
{
	unsigned want = wanted(p, chunk);
	int err;

	if (p->err || want == HL_WANT_NO_EVENTS)
		return;
	err = hl_decoded_read(p->m, &p->decoded, chunk, want);
	if (err == -EBADMSG)
		hl_model_mark_bad(p->m, &p->m->bad_chunks[chunk]);
	for (size_t i = 0; i < p->n && !p->err; i++) {
		struct hl_reading *r = p->all[i];
		int one = err;

		if (!r->waits)
			continue;
		if (!err)
			one = r->chunk(r->arg, chunk, &p->decoded.events);
		if (one)
			stop(p, i, one);
	}
}

static void end(struct pass *p)
{
	for (size_t i = 0; i < p->n && !p->err; i++) {
		struct hl_reading *r = p->all[i];
		int err;

		if (r->state != HL_READING_NOW)
			continue;
		err = r->end ? r->end(r->arg) : 0;
		r->state = HL_READING_DONE;
		if (err)
			stop(p, i, err);
	}
}

/* Is somebody left who has met damage? */
static bool is_over(const struct pass *p)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->all[i]->state == HL_READING_NOT_YET)
			return false;
	}
	return true;
}

int hl_pass(struct hl_model *m, struct hl_reading *one, struct hl_reading *other)
{
	struct pass p = {
		.m = m, .all = {one, other}, .n = other ? 2 : 1, .decoded = hl_decoded_borrow(m)};
	size_t from, to;

	p.n_own = p.n;
	for (size_t i = 0; i < p.n; i++)
		p.all[i]->state = HL_READING_NOT_YET;
	hl_questions_join(m, p.all, &p.n, READINGS_MAX);
	/* Each round marks a part bad, and who begins again moves before it: so this ends. */
	do {
		p.bad = m->n_bad;
		begin(&p, &from, &to);
		hl_progress_begin(HL_READING);
		for (size_t i = from; i < to && !p.err; i++) {
			read_chunk(&p, i);
			hl_progress_tick(i + 1 - from, to - from);
		}
		hl_progress_end();
		end(&p);
	} while (!p.err && !is_over(&p));
	hl_decoded_return(m, &p.decoded);
	return p.err;
}
