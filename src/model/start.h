/*
 * start.h - the frames in which every stack begins: what libc does before main and before a
 * thread's function.
 *
 * They are the outermost run of a stack: `_start`, `__libc_start_main` and what it calls, or
 * `clone3` and `start_thread`. A libc that has lost its names is known by its module.
 */
#ifndef HL_MODEL_START_H
#define HL_MODEL_START_H

#include "model/query.h"

struct hl_starts {
	uint8_t *depth; /* per node of the call tree: its place in such a run, from 1; 0: none */
};

/* Of all stacks that have a number in an answer by stack. 0 or -errno. */
int hl_starts_find(struct hl_starts *s, struct hl_model *m, const struct hl_answer *a);
/* Of all stacks; with hl_model_error(). */
int hl_starts_find_all(struct hl_starts *s, struct hl_model *m);
void hl_starts_fini(struct hl_starts *s);

/* Is the node one of these? A stack that ends in one has no other frames. */
static inline bool hl_starts_have(const struct hl_starts *s, uint32_t node)
{
	return s->depth && node != HL_NODE_NONE && s->depth[node] > 0;
}

#endif
