/*
 * question.c - see question.h.
 *
 * What fails while it is taken along is forgotten: it is read anew where it is asked, and fails
 * there.
 */
#include "model/question.h"

#include <errno.h>

#include "model/model_internal.h"

/* What all that read together may hold; what does not fit in is read by itself. */
#define ALONG_BYTES (UINT64_C(128) << 20)

void hl_question_expect(struct hl_question *q)
{
	if (hl_vec_push(&q->m->expected, q))
		q->kind->free(q);
}

static void take_out(struct hl_model *m, size_t i)
{
	m->expected.data[i] = m->expected.data[--m->expected.len];
}

static bool fits(const struct hl_question *q, uint64_t *memory)
{
	for (size_t i = 0; i < 2 && q->reads[i]; i++)
		*memory += q->reads[i]->memory;
	return *memory <= ALONG_BYTES;
}

void hl_questions_join(struct hl_model *m, struct hl_reading **all, size_t *n, size_t max)
{
	uint64_t memory = 0;

	for (size_t i = 0; i < *n; i++)
		memory += all[i]->memory;
	for (size_t i = 0; i < m->expected.len;) {
		struct hl_question *q = m->expected.data[i];
		uint64_t with = memory;

		if (!q->joined &&
			(*n + 2 > max || q->kind->start(q) || !q->reads[0] || !fits(q, &with))) {
			take_out(m, i);
			q->kind->free(q);
			continue;
		}
		for (size_t k = 0; k < 2 && q->reads[k] && !q->joined; k++) {
			q->reads[k]->along = true;
			all[(*n)++] = q->reads[k];
		}
		q->joined = true;
		memory = with;
		i++;
	}
	m->error[0] = 0; /* of these nobody has asked yet */
}

static bool is_read(const struct hl_question *q)
{
	for (size_t i = 0; i < 2 && q->reads[i]; i++) {
		if (q->reads[i]->state != HL_READING_DONE)
			return false;
	}
	return q->joined;
}

/* The one that was expected, which then is the caller's; NULL: none. */
static struct hl_question *find(struct hl_model *m, const struct hl_question *q)
{
	for (size_t i = 0; i < m->expected.len; i++) {
		struct hl_question *e = m->expected.data[i];

		if (e->kind != q->kind || !q->kind->same(e, q))
			continue;
		take_out(m, i);
		return e;
	}
	return NULL;
}

int hl_question_ask(struct hl_question **q)
{
	struct hl_model *m = (*q)->m;
	struct hl_question *other = find(m, *q);
	int err;

	if (other && is_read(other)) {
		(*q)->kind->free(*q);
		*q = other;
		return 0;
	}
	if (other)
		other->kind->free(other);
	m->error[0] = 0;
	err = (*q)->kind->start(*q);
	if (!err && (*q)->reads[0])
		err = hl_pass(m, (*q)->reads[0], (*q)->reads[1]);
	if (err && !m->error[0])
		hl_model_fail(m, err);
	return err;
}

void hl_questions_fini(struct hl_model *m)
{
	for (size_t i = 0; i < m->expected.len; i++)
		m->expected.data[i]->kind->free(m->expected.data[i]);
	hl_vec_free(&m->expected);
}
