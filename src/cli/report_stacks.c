/*
 * report_stacks.c - views of stacks that are recorded only when they are asked for: --freed-by of
 * record --free-stacks, --mmaps of record --mmap.
 */
#include <stdio.h>

#include "cli/report.h"

#define FREED_BY_MIN 0.5
#define MMAPS_SHOWN  20

static void note_freed_by(struct hl_report *r, struct hl_model *m, const struct hl_query *q,
	const struct hl_answer *a)
{
	hl_report_warn_moved(r, m, q, a->to_ns, a->moved);
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
	note_freed_by(r, m, &q, &f.answer);
	snprintf(what, sizeof(what), "%s, by who frees it", hl_report_heading(r, m));
	opts.what = what;
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
	struct hl_mmap_list list;
	int err = hl_mmaps_largest(m, r->filter, r->limit_given ? r->limit : MMAPS_SHOWN, &list);

	if (err)
		return err;
	r->moved |= list.sums.moved;
	err = hl_text_mmaps(stdout, m, &list, r->full_stacks, &opts);
	hl_mmap_list_fini(&list);
	return err;
}

int hl_report_mmaps(struct hl_report *r, struct hl_model *m)
{
	struct hl_mmaps x = {.filter = r->filter};
	int err;

	if (!r->common.json)
		return show_mmaps(r, m);
	err = hl_json_mmaps(&r->json, m, &x);
	r->moved |= x.moved;
	return err;
}
