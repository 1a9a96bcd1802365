/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_frames.h - the outermost frames of every stack: the code of libc that runs before main
 * and before a thread's function.
 *
 * They are an outermost run of frames: `_start`, `__libc_start_main` and its callees, or `clone3`
 * and `start_thread`. In a libc without symbols they are recognized by their module.
 */
#ifndef HL_MODEL_STACK_RUNTIME_FRAMES_H
#define HL_MODEL_STACK_RUNTIME_FRAMES_H

#include "model/query/query.h"

struct hl_runtime_frames {
	uint8_t *depth; /* per node: its one-based position in such a run; 0: not a runtime frame */
};

/* For all stacks that have blocks in an answer by stack. Returns 0 or -errno. */
int hl_runtime_frames_find(
	struct hl_runtime_frames *s, struct hl_model *m, const struct hl_answer *a);
/* For all stacks. Returns 0 or -errno with hl_model_error(). */
int hl_runtime_frames_find_all(struct hl_runtime_frames *s, struct hl_model *m);
void hl_runtime_frames_fini(struct hl_runtime_frames *s);

/* True if the node is a runtime frame. All callers of such a node are runtime frames too. */
static inline bool hl_runtime_frames_contain(const struct hl_runtime_frames *s, uint32_t node)
{
	return s->depth && node != HL_NODE_NONE && s->depth[node] > 0;
}

/*
 * Calls `fn` for each frame of a stack, innermost first. starts: omit the frames before main; NULL:
 * all frames. A stack that ends in such a frame has all its frames. Returns 0 or -errno with
 * hl_model_error().
 */
typedef void hl_frame_fn(void *arg, const struct hl_frame *f, bool inlined);
int hl_model_each_frame(struct hl_model *m, uint32_t node, const struct hl_runtime_frames *starts,
	hl_frame_fn *fn, void *arg);

#endif
