/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_import_limits.c - warns about data that a report of an imported trace lacks. The model
 * refuses queries that cannot be answered at all; the warnings here are about answers that are
 * incomplete.
 */
#include "cli/report/report_request.h"
#include "model/views/import_limits.h"
#include "util/strbuf.h"

static uint32_t group_needs(enum hl_group group)
{
	switch (group) {
	case HL_GROUP_THREAD:
		return HL_UNKNOWN_THREADS;
	case HL_GROUP_CALL:
		return HL_UNKNOWN_CALLS;
	case HL_GROUP_LIFETIME:
		return HL_UNKNOWN_LIFETIMES | HL_UNKNOWN_TIMES;
	case HL_GROUP_SIZE:
		return HL_UNKNOWN_ORDER; /* sizes are averages */
	default:
		return 0;
	}
}

/* Returns the data that the current view needs and an imported trace may lack. */
static uint32_t part_needs(const struct hl_report *r)
{
	switch (r->view) {
	case HL_REPORT_TABLE:
	case HL_REPORT_ALL_BY:
		return group_needs(r->group);
	case HL_REPORT_THREADS:
		return HL_UNKNOWN_THREADS;
	case HL_REPORT_SITES:
		return HL_UNKNOWN_LIFETIMES;
	default:
		return 0;
	}
}

static uint32_t query_needs(const struct hl_report *r)
{
	unsigned subjects = r->filter ? hl_filter_subjects(r->filter) : 0;
	uint32_t needs = 0;

	if (r->ranged || r->what == HL_REPORT_AT || subjects & (HL_FILTER_TIME | HL_FILTER_ALIVE))
		needs |= HL_UNKNOWN_TIMES;
	if (r->temporary_ns || subjects & HL_FILTER_LIFETIME)
		needs |= HL_UNKNOWN_LIFETIMES | HL_UNKNOWN_TIMES;
	needs |= subjects & HL_FILTER_ADDR ? HL_UNKNOWN_ADDRESSES : 0;
	needs |= subjects & HL_FILTER_THREAD ? HL_UNKNOWN_THREADS : 0;
	needs |= subjects & HL_FILTER_FUNC ? HL_UNKNOWN_CALLS : 0;
	needs |= subjects & HL_FILTER_SIZE ? HL_UNKNOWN_ORDER : 0;
	return needs;
}

void hl_report_warn_unknown(struct hl_report *r, struct hl_model *m)
{
	const struct hl_meta *meta = &hl_model_info(m)->meta;
	enum hl_report_what requested = r->what;
	struct hl_strbuf b = {0};
	uint32_t needs = 0;

	for (size_t i = 0; i < r->parts.len && meta->unknown; i++) {
		hl_report_select_part(r, i, requested);
		needs |= part_needs(r) | query_needs(r);
	}
	needs |= r->parts.len ? 0 : query_needs(r);
	r->what = requested;
	hl_import_limits_describe(&b, needs & meta->unknown);
	if (b.len)
		hl_cli_info("imported from %s, which does not have: %s", meta->source,
			hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}
