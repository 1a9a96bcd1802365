/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site.h - the site of a stack: the innermost frame that is neither plumbing, nor an allocation
 * wrapper, nor start-up (stack_rules.h). If there is none, the innermost frame of the stack.
 */
#ifndef HL_MODEL_STACK_SITE_H
#define HL_MODEL_STACK_SITE_H

#include "model/model.h"

struct hl_site {
	uint32_t node;  /* the recorded node that has the frame */
	uint32_t index; /* of the frame in hl_model_node_frames */
	uint32_t frame;
	uint32_t inner; /* the frame that it called; HL_NODE_NONE: none but the malloc family */
	bool own;       /* false: the stack has no such frame, and this is its innermost one */
};
/* Return 0 or -errno with hl_model_error(). node may be HL_NODE_NONE. */
int hl_model_locate_site(struct hl_model *m, uint32_t node, struct hl_site *site);
int hl_model_find_site(struct hl_model *m, uint32_t node, uint32_t *frame);
/* The innermost frame outside of the site that is the program's own and of another function:
 * HL_NODE_NONE if there is none, or only main. For a site without a source file, the innermost one
 * with a source file, if there is one: also main. */
int hl_model_find_site_caller(struct hl_model *m, uint32_t node, uint32_t *frame);

#endif
