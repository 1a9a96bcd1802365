/*
 * question.h - questions that are going to be asked. Whichever is asked first has the trace read
 * for all of them that need its events, as far as memory allows.
 */
#ifndef HL_MODEL_QUESTION_H
#define HL_MODEL_QUESTION_H

#include "model/pass.h"

struct hl_question;

struct hl_question_kind {
	/* Finds out what must be read, and sets reads. 0 or -errno. */
	int (*start)(struct hl_question *q);
	bool (*same)(const struct hl_question *a, const struct hl_question *b);
	void (*free)(struct hl_question *q);
};

/* The first member of what each kind makes of it. */
struct hl_question {
	const struct hl_question_kind *kind;
	struct hl_model *m;
	struct hl_reading *reads[2]; /* NULL: none */
	bool joined;                 /* it went along with a pass */
};

/* Takes over the question, for the next pass that there is. It may be forgotten: whoever asks does
 * not see more than the time that it takes. */
void hl_question_expect(struct hl_question *q);
/*
 * Has it read, unless that has been done for one that was expected: then this takes its place in
 * *q. 0 or -errno with hl_model_error(); *q is the caller's to free in any case.
 */
int hl_question_ask(struct hl_question **q);

/* For the pass: those that have not been read go along, as many as fit in. */
void hl_questions_join(struct hl_model *m, struct hl_reading **all, size_t *n, size_t max);
void hl_questions_fini(struct hl_model *m);

#endif
