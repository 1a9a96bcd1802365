/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_internal.h - the renderers of results.
 */
#ifndef HL_VIEWS_JSON_JSON_INTERNAL_H
#define HL_VIEWS_JSON_JSON_INTERNAL_H

#include "request/result.h"
#include "views/json/json.h"

/* The `max_nodes` largest nodes and the number of omitted ones. Returns 0 or -ENOMEM. */
int hl_json_put_tree(struct hl_json *j, struct hl_model *m, const struct hl_tree_result *x);

#define X(name, renderer, ...) int hl_json_##renderer(struct hl_json *j, struct hl_result *r);
HL_VIEWS(X)
#undef X

#endif
