/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_result.c - renders a result with the renderer of its view.
 */
#include "views/json/json_internal.h"

typedef int render_fn(struct hl_json *j, struct hl_result *r);

#define X(name, renderer, ...) [HL_VIEW_ID_##name] = hl_json_##renderer,
static render_fn *const renderers[HL_VIEW_COUNT] = {HL_VIEWS(X)};
#undef X

int hl_json_result(struct hl_json *j, struct hl_result *r)
{
	const struct hl_plan *p = r->plan;
	int err;

	if (p->request->pool_name)
		hl_json_key_string(j, "pool", p->request->pool_name);
	/* With a filter there are two peaks. */
	if (r->about_peak)
		hl_json_key_string(j, "peak_of",
			hl_plan_has_own_peak(p, r->part.quantity) ? "filter" : "heap");
	err = renderers[r->part.view->id](j, r);
	if (!err && r->suppressions)
		hl_json_suppressed(j, r->suppressions);
	return err;
}

int hl_json_process(struct hl_json *j, struct hl_result *r)
{
	hl_json_answer(j, &((const struct hl_process_result *)r->data)->answer);
	return 0;
}
