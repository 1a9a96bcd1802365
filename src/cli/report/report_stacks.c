/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_stacks.c - views of stacks that are recorded only on request: --freed-by for record
 * --free-stacks, --mmaps for record --mmap.
 */
#include <stdio.h>

#include "cli/report/report_request.h"

#define FREED_BY_MIN 0.5
#define MMAPS_SHOWN  20

static void account_answer(struct hl_report *r, struct hl_model *m, const struct hl_query *q,
	const struct hl_answer *a)
{
	hl_report_warn_moved(r, m, q, a->to_ns, a->before_damage);
	r->total.bytes += a->total.bytes;
	r->total.blocks += a->total.blocks;
}

int hl_report_freed_by(struct hl_report *r, struct hl_model *m)
{
	struct hl_text_opts opts = hl_report_list_opts(r);
	struct hl_query q = hl_report_query(r);
	struct hl_freed_by f;
	char what[256];
	int err = hl_freed_by(&f, m, &q);

	if (err)
		return err;
	account_answer(r, m, &q, &f.answer);
	snprintf(what, sizeof(what), "%s, by freeing site", hl_report_heading(r, m));
	opts.quantity_text = what;
	opts.min_percent = r->min_given ? r->min : FREED_BY_MIN;
	hl_report_put_peak_of(r);
	if (r->common.json)
		hl_json_freed_by(&r->json, m, &f);
	else
		hl_text_freed_by(stdout, m, &f, &opts);
	if (r->suppressions && r->common.json)
		hl_json_suppressed(&r->json, r->suppressions);
	else if (r->suppressions)
		hl_text_suppressed(stdout, r->suppressions);
	hl_freed_by_fini(&f);
	return 0;
}

static int show_mmaps(struct hl_report *r, struct hl_model *m)
{
	struct hl_text_opts opts = hl_report_list_opts(r);
	struct hl_mapping_list list;
	int err = hl_mappings_largest(m, r->filter, r->limit_given ? r->limit : MMAPS_SHOWN, &list);

	if (err)
		return err;
	r->before_damage |= list.sums.before_damage;
	err = hl_text_mmaps(stdout, m, &list, r->full_stacks, &opts);
	hl_mapping_list_fini(&list);
	return err;
}

int hl_report_mmaps(struct hl_report *r, struct hl_model *m)
{
	struct hl_mappings x = {.filter = r->filter};
	int err;

	if (!r->common.json)
		return show_mmaps(r, m);
	err = hl_json_mmaps(&r->json, m, &x);
	r->before_damage |= x.before_damage;
	return err;
}
