/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_rules.h - the kind of each frame of a trace: the rules by name (frame_rules.h), those of a
 * request (--fold, --alloc-fn), and the allocation wrappers that the trace itself shows.
 *
 * An allocation wrapper is a function of the program that passes on requests for memory: xmalloc,
 * zmalloc, g_malloc. wrappers.c finds them in the stacks of the whole run, so they do not depend on
 * the quantity, range or filter of a request. Kinds are kept for each frame.
 */
#ifndef HL_MODEL_STACK_STACK_RULES_H
#define HL_MODEL_STACK_STACK_RULES_H

#include "model/query/filter.h"
#include "model/query/pattern.h"
#include "model/stack/code_address.h"
#include "model/stack/frame_rules.h"
#include "util/strbuf.h"

struct hl_stack_rules {
	struct hl_filter *const *folds; /* frames that match one of them are plumbing, too */
	size_t n_folds;
	struct hl_pattern *const *wrappers; /* functions that match one of them are wrappers */
	size_t n_wrappers;
	const struct hl_code_address *addresses; /* so are these functions without names */
	size_t n_addresses;
	bool no_wrappers; /* only these */
};

/* Sets the rules for all later answers. They belong to the caller and must stay valid until the
 * next call. NULL: none. */
void hl_model_set_stack_rules(struct hl_model *m, const struct hl_stack_rules *rules);
/* Finds the wrappers, unless that has been done. To be called before a scan that needs kinds of
 * frames or sites. Returns 0 or -errno with hl_model_error(). */
int hl_model_find_wrappers(struct hl_model *m);
/* The kind of a frame. If the wrappers were not found before, frames are looked up, as by
 * hl_model_node_frames. Returns 0 or -errno with hl_model_error(). */
int hl_model_frame_kind(struct hl_model *m, uint32_t frame, enum hl_frame_kind *kind);
/* Plumbing and wrappers: what is folded in trees. */
static inline bool hl_frame_kind_is_folded(enum hl_frame_kind kind)
{
	return kind == HL_FRAME_PLUMBING || kind == HL_FRAME_WRAPPER;
}

/* The wrappers: those that were found, most callers first, then those of the request that occur in
 * an answer. */
/* Names as hl_put_function writes them. */
size_t hl_model_n_wrappers(const struct hl_model *m);
const char *hl_model_wrapper(const struct hl_model *m, size_t i);
/* Is a frame of it in an answer, as far as kinds of frames were asked for? */
bool hl_model_wrapper_was_met(const struct hl_model *m, size_t i);

/* Appends the wrappers that occur in an answer, a line for people; nothing if there are none. Names
 * in it are not escaped. */
void hl_model_put_wrappers(struct hl_strbuf *b, const struct hl_model *m);

#endif
