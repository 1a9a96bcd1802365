/*
 * threads.h - who allocates, and who frees whose blocks.
 */
#ifndef HL_MODEL_THREADS_H
#define HL_MODEL_THREADS_H

#include "model/query.h"

struct hl_thread_row {
	uint64_t tid;     /* 0 when not known */
	const char *name; /* the model's; NULL when it has none */
	struct hl_value allocated;
	struct hl_value freed;     /* by this thread, whoever allocated them */
	struct hl_value own;       /* of these, its own */
	struct hl_value by_others; /* allocated by this thread and freed by another */
	struct hl_value left;      /* allocated by this thread and freed by nobody */
};

/* Blocks that one thread allocated and another freed. */
struct hl_thread_pair {
	uint32_t from, to;
	struct hl_value value;
};

struct hl_threads {
	struct hl_thread_row *rows; /* n, by number */
	uint32_t n;
	struct hl_thread_pair *pairs; /* largest first by blocks */
	size_t n_pairs;
};

/* Of the whole run. 0 or -errno with hl_model_error(). */
int hl_threads_build(struct hl_threads *t, struct hl_model *m, struct hl_filter *filter);
/* It is going to be asked: see question.h. */
void hl_threads_expect(struct hl_model *m, struct hl_filter *filter);
void hl_threads_fini(struct hl_threads *t);

#endif
