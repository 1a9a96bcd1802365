/*
 * divide.h - the blocks of a question by group first, and by stack within each: for trees whose
 * outermost frame is the group.
 *
 * A group is a row of `report --group`, with its numbers; rows of one name are one group. It gets a
 * frame of its own, "thread 0", "size: 64 B - 127 B", which is that of no code.
 */
#ifndef HL_MODEL_DIVIDE_H
#define HL_MODEL_DIVIDE_H

#include "model/cross.h"
#include "model/group.h"

/* Which frame stands for the group of a key, or of a stack for groups of code. */
struct hl_division {
	enum hl_group group;
	uint32_t *frames; /* n_keys + 1; HL_NODE_NONE where there are no blocks */
	uint32_t n_keys;
};

/* Of n answers of hl_model_cross() by the group's key, which have their groups in common. 0 or
 * -errno with hl_model_error(). */
int hl_division_make(struct hl_division *d, struct hl_model *m, enum hl_group g,
	const struct hl_cross *answers, size_t n);
void hl_division_fini(struct hl_division *d);
/* The frame of a stack's group, by the key that it was counted under. */
uint32_t hl_division_frame(const struct hl_division *d, uint32_t node, uint32_t key);

/* An answer that is divided, and the same by stack. */
struct hl_divided {
	struct hl_answer by_stack;
	struct hl_cross cross;
	struct hl_division division;
};
/* The caller frees it, whatever came of it. 0 or -errno with hl_model_error(). */
int hl_model_divide(
	struct hl_model *m, const struct hl_query *q, enum hl_group g, struct hl_divided *d);
void hl_divided_fini(struct hl_divided *d);

#endif
