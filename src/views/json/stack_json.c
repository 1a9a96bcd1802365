/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_json.c - one stack with all its frames, as JSON.
 */
#include "model/stack/runtime_frames.h"
#include "views/json/json.h"

static void put_object(void *arg, const struct hl_frame *f, bool inlined)
{
	struct hl_json *j = arg;

	hl_json_begin_object(j);
	hl_json_frame(j, f);
	hl_json_key_bool(j, "inlined", inlined);
	hl_json_end_object(j);
}

int hl_json_stack(struct hl_json *j, struct hl_model *m, uint32_t node)
{
	int err = 0;

	hl_json_begin_array(j);
	if (node != HL_NODE_NONE)
		err = hl_model_each_frame(m, node, NULL, put_object, j);
	hl_json_end_array(j);
	return err;
}
