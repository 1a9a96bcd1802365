/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_curves_internal.h - what the two parts of group_curves share.
 */
#ifndef HL_MODEL_VIEWS_CURVES_GROUP_CURVES_INTERNAL_H
#define HL_MODEL_VIEWS_CURVES_GROUP_CURVES_INTERNAL_H

#include "model/model_internal.h"
#include "model/views/curves/group_curves.h"

struct hl_curves_builder {
	struct hl_group_curves *c;
	struct hl_model *m;
	const struct hl_group_curves_request *request;
	enum hl_key key;
	uint32_t n_keys;
	struct hl_position *positions; /* of the moments, unless every event is read */
	uint32_t *row_of;              /* n_keys + 1; UINT32_MAX: no row */
};

/* Sets the times and their number. Returns 0 or -errno. */
int hl_curves_choose_moments(struct hl_curves_builder *b);
/* Fills the cells of all rows and the total, and sets which moments are known. Returns 0, or -errno
 * with hl_model_error(). */
int hl_curves_fill(struct hl_curves_builder *b);

#endif
