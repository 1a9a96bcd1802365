/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview.c - the most important facts of a trace; see overview.h.
 */
#include "model/overview/overview.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"
#include "model/query/query_plan.h"
#include "model/views/filtered_peak.h"
#include "model/overview/overview_internal.h"
#include "model/overview/verdicts.h"
#include "model/views/page_usage.h"

/* --- the whole process: timeline, resident memory, pages --- */

static int read_timeline(struct hl_overview_builder *b)
{
	struct hl_overview *o = b->o;
	struct hl_peak peak;
	int err;

	o->n_columns = b->opt->columns;
	o->columns = calloc(o->n_columns + 1, sizeof(*o->columns));
	if (!o->columns)
		return hl_model_fail(b->m, -ENOMEM);
	err = hl_timeline(b->m, b->opt->filter, o->columns, o->n_columns, &peak);
	if (err)
		return err;
	o->before_damage |= peak.before_damage;
	if (b->opt->filter)
		b->peak = peak.when;
	return 0;
}

/* The live bytes of the whole heap at a time. */
static int live_bytes_at(
	struct hl_overview_builder *b, uint64_t ns, uint64_t *bytes, bool *is_known)
{
	uint32_t n = b->m->n_nodes;
	struct hl_sums *sums = malloc(((size_t)n + 1) * sizeof(*sums));
	struct hl_position p = hl_position_at(b->m, ns);
	int err = sums ? hl_sums_at(b->m, &p, sums) : hl_model_fail(b->m, -ENOMEM);

	*bytes = 0;
	for (uint32_t i = 0; i <= n && !err; i++)
		*bytes += hl_sums_live_bytes(&sums[i]);
	/* A moment that the trace does not have moves to a keyframe before it. */
	*is_known = !p.before_damage && (p.cut != HL_CUT_KEY || p.time_ns == ns);
	free(sums);
	return err;
}

/* Resident memory is that of the whole process, so it is not compared with a part of the heap. */
static int find_rss(struct hl_overview_builder *b)
{
	struct hl_overview *o = b->o;
	struct hl_rss_sample peak = {0};
	int err = b->opt->filter ? 0 : hl_reader_peak_rss(b->m->reader, &peak);

	if (err == -EBADMSG)
		err = 0; /* samples are optional */
	o->has_rss = !err && peak.rss_bytes > 0;
	o->rss_bytes = peak.rss_bytes;
	o->rss_ns = peak.time_ns;
	if (!err && o->has_rss)
		err = live_bytes_at(b, o->rss_ns, &o->rss_live_bytes, &o->has_rss_live);
	o->has_maps = b->m->info->n_map_samples > 0;
	o->rss_is_elsewhere = !err && o->has_rss_live && o->rss_live_bytes < o->rss_bytes / 2 &&
			      o->rss_bytes - o->rss_live_bytes >= HL_OVERVIEW_ELSEWHERE_BYTES;
	return err;
}

static const struct hl_time_spec at_end = {.kind = HL_TIME_SPEC_END};

static int find_pages(struct hl_overview_builder *b)
{
	struct hl_overview *o = b->o;
	struct hl_fragmentation f;
	int err = hl_fragmentation_at(&f, b->m, &at_end, NULL);

	if (err)
		return err;
	o->pages = f.pages;
	o->sparse_pages = f.sparse_pages;
	o->sparse_bytes = f.sparse_bytes;
	if (f.n_holders > 0 && f.holders[0].pages > f.sparse_pages / 2) {
		o->sparse_frame = f.holders[0].frame;
		o->sparse_full_name = f.holders[0].full_name;
	}
	hl_fragmentation_fini(&f);
	return 0;
}

/* --- parts that may be missing --- */

/* Does a part that was not finished keep the rest from being shown? Sets its state if not. */
static int note_missing(struct hl_overview_builder *b, int err, enum hl_overview_state *state)
{
	struct hl_work *w = &b->m->work;

	if (w->stopped == -ETIME) {
		hl_work_resume(w);
		*state = HL_OVERVIEW_LEFT_OUT;
		return 0;
	}
	if (err == -ENODATA || err == -ENOENT) {
		*state = HL_OVERVIEW_NOT_KNOWN;
		return 0;
	}
	return w->stopped ? w->stopped : err;
}

/* Sums have the share of all blocks; for blocks that match a filter, and in older traces, the scan
 * finds it. */
static void find_short_lived(struct hl_overview_builder *b)
{
	struct hl_overview *o = b->o;
	struct hl_short_lived s;

	o->short_state = HL_OVERVIEW_NOT_KNOWN;
	if (b->opt->filter || hl_short_lived_find(b->m, 0, &s))
		return;
	o->short_state = HL_OVERVIEW_KNOWN;
	o->short_bound_ns = s.bound_ns;
	o->short_blocks = s.blocks;
	o->short_of = s.allocations;
}

static void find_states(struct hl_overview_builder *b)
{
	struct hl_overview *o = b->o;
	const struct hl_trace_info *i = b->m->info;
	uint32_t unknown = i->meta.unknown;
	bool long_scan = b->opt->events_max && i->totals.events > b->opt->events_max;

	if (!hl_model_has_event_order(b->m)) {
		o->peak_state = o->timeline_state = o->trend_state = HL_OVERVIEW_NOT_KNOWN;
		o->short_sites_state = o->pages_state = HL_OVERVIEW_NOT_KNOWN;
	}
	/* With this clock, events have an order and no times. A trace that begins late does not
	 * have the events of all blocks in its sums. */
	if (hl_model_has_aggregated(b->m) || unknown & (HL_UNKNOWN_LIFETIMES | HL_UNKNOWN_TIMES) ||
		strcmp(i->meta.clock, "counter") == 0 ||
		(!b->opt->filter && hl_model_base(b->m)->is_late))
		o->short_sites_state = HL_OVERVIEW_NOT_KNOWN;
	if (unknown & HL_UNKNOWN_TIMES)
		o->trend_state = HL_OVERVIEW_NOT_KNOWN;
	if (b->opt->filter || hl_model_has_samples(b->m))
		o->pages_state = HL_OVERVIEW_NOT_KNOWN;
	if (!b->opt->brief && !long_scan)
		return;
	if (o->short_sites_state == HL_OVERVIEW_KNOWN && long_scan)
		o->short_sites_state = HL_OVERVIEW_LEFT_OUT;
	if (o->pages_state == HL_OVERVIEW_KNOWN && long_scan)
		o->pages_state = HL_OVERVIEW_LEFT_OUT;
	if (b->opt->brief && o->timeline_state == HL_OVERVIEW_KNOWN)
		o->timeline_state = HL_OVERVIEW_LEFT_OUT;
}

/* Without the peak of the filter the values at that peak are not known either. */
static int run_timeline(struct hl_overview_builder *b)
{
	struct hl_overview *o = b->o;
	struct hl_peak peak;
	int err = 0;

	if (o->timeline_state == HL_OVERVIEW_KNOWN)
		err = note_missing(b, read_timeline(b), &o->timeline_state);
	else if (o->peak_state == HL_OVERVIEW_KNOWN && b->opt->filter)
		err = note_missing(b,
			hl_peak_find(b->m, &(struct hl_query){.filter = b->opt->filter}, &peak),
			&o->peak_state);
	if (o->timeline_state != HL_OVERVIEW_KNOWN && b->opt->filter && !b->opt->brief)
		o->peak_state = o->timeline_state;
	return err;
}

static unsigned count_points(const struct hl_overview *o)
{
	unsigned n = 0;

	for (unsigned k = 0; k < HL_OVERVIEW_POINTS; k++)
		n += o->known[k];
	return n;
}

static int run_scan(struct hl_overview_builder *b)
{
	struct hl_overview *o = b->o;
	int err = 0;

	if (b->by_sums) {
		if (o->trend_state == HL_OVERVIEW_KNOWN)
			err = note_missing(b, hl_overview_read_trends(b), &o->trend_state);
		if (o->trend_state == HL_OVERVIEW_KNOWN && count_points(o) < HL_OVERVIEW_POINTS_MIN)
			o->trend_state = HL_OVERVIEW_NOT_KNOWN;
		if (!err && o->short_sites_state == HL_OVERVIEW_KNOWN)
			err = note_missing(b, hl_overview_scan(b), &o->short_sites_state);
		return err;
	}
	if (o->short_sites_state != HL_OVERVIEW_KNOWN) {
		o->trend_state = o->short_sites_state;
		return 0;
	}
	err = note_missing(b, hl_overview_scan(b), &o->short_sites_state);
	if (o->short_sites_state != HL_OVERVIEW_KNOWN)
		o->trend_state = o->short_sites_state;
	return err;
}

/* The arrays do not move any more. */
static void link_trends(struct hl_overview_builder *b)
{
	if (b->trends.len < b->sites.len)
		b->o->trend_state = HL_OVERVIEW_NOT_KNOWN;
	for (size_t i = 0; i < b->trends.len; i++)
		b->sites.data[i].trend = &b->trends.data[i];
}

static int run_sites(struct hl_overview_builder *b)
{
	struct hl_overview *o = b->o;
	int err = hl_overview_add_values(b);

	/* Nothing else is known of the blocks that match a filter. */
	if (err && b->opt->filter && !b->has_totals)
		return b->m->work.stopped ? b->m->work.stopped : err;
	err = note_missing(b, err, &o->sites_state);
	if (err || o->sites_state != HL_OVERVIEW_KNOWN) {
		o->trend_state = o->short_sites_state = o->sites_state;
		if (o->short_state != HL_OVERVIEW_KNOWN)
			o->short_state = o->sites_state;
		return err;
	}
	err = run_scan(b);
	if (err)
		return err;
	link_trends(b);
	hl_overview_compute_churn(b);
	if (o->trend_state == HL_OVERVIEW_KNOWN)
		hl_overview_compute_growth(b);
	if (b->scan_cut) /* it counted the blocks of a part */
		o->short_sites_state = HL_OVERVIEW_NOT_KNOWN;
	if (o->short_sites_state == HL_OVERVIEW_KNOWN)
		hl_overview_count_short_lived(b);
	else if (o->short_state != HL_OVERVIEW_KNOWN)
		o->short_state = o->short_sites_state;
	return 0;
}

/* If the runtime's blocks were not found in time: all that is live at the end, without
 * the word "leaked". */
static void set_totals(struct hl_overview_builder *b)
{
	const struct hl_totals *t = &b->m->info->totals;
	struct hl_overview *o = b->o;

	if (b->has_totals || b->opt->filter)
		return;
	o->peak = (struct hl_value){.bytes = t->peak_bytes, .blocks = t->peak_blocks};
	o->peak_ns = t->peak_time_ns;
	o->allocated =
		(struct hl_value){.bytes = t->sums.alloc_bytes, .blocks = t->sums.alloc_blocks};
	o->at_end = (struct hl_value){
		.bytes = hl_sums_live_bytes(&t->sums), .blocks = hl_sums_live_blocks(&t->sums)};
	o->suppressed = (struct hl_value){0};
	o->leaked = false;
}

static int build(struct hl_overview_builder *b)
{
	struct hl_overview *o = b->o;
	int err = hl_model_check_base(b->m);

	if (!err && b->opt->filter)
		err = hl_filter_bind(b->opt->filter, b->m);
	if (!err)
		err = hl_overview_sites_init(b);
	if (err)
		return err;
	find_states(b);
	find_short_lived(b);
	/* One scan finds the pages and the short-lived blocks. */
	if (o->pages_state == HL_OVERVIEW_KNOWN && o->short_sites_state == HL_OVERVIEW_KNOWN)
		hl_fragmentation_prefetch(b->m, &at_end, NULL);
	err = run_timeline(b);
	if (!err)
		err = run_sites(b);
	if (!err)
		err = find_rss(b);
	if (!err && o->pages_state == HL_OVERVIEW_KNOWN)
		err = note_missing(b, find_pages(b), &o->pages_state);
	set_totals(b);
	o->sites = b->sites.data;
	o->n_sites = b->sites.len;
	if (!err)
		err = hl_overview_mark_ambiguous_sites(b);
	if (err)
		return err;
	hl_verdicts_find(o, b->end_ns);
	hl_overview_find_commands(b);
	err = hl_overview_make_lists(b);
	return err || b->opt->brief ? err : hl_overview_find_callers(b);
}

int hl_overview(
	struct hl_overview *o, struct hl_model *m, const struct hl_overview_options *options)
{
	struct hl_overview_builder b = {
		.m = m, .o = o, .opt = options, .end_ns = hl_model_end_ns(m)};
	unsigned subjects = options->filter ? hl_filter_subjects(options->filter) : 0;
	int err;

	memset(o, 0, sizeof(*o));
	o->sparse_frame = HL_NODE_NONE;
	o->leaked = hl_model_leaks_are_certain(m);
	o->estimated = hl_model_has_estimates(m);
	o->peak_since_ns = options->filter ? hl_model_base(m)->time_ns : 0;
	b.by_sums = (subjects & ~HL_FILTER_STACK) == 0;
	b.peak.kind = HL_TIME_SPEC_PEAK;
	err = build(&b);
	o->sites = b.sites.data;
	o->trends = b.trends.data;
	o->n_sites = b.sites.len;
	if (err == -ENOMEM)
		hl_model_fail(m, err);
	hl_overview_sites_fini(&b);
	return err;
}

void hl_overview_fini(struct hl_overview *o)
{
	for (int i = 0; i < HL_OVERVIEW_LISTS; i++) {
		free(o->lists[i].sites);
		free(o->lists[i].callers);
	}
	free(o->sites);
	free(o->trends);
	free(o->columns);
	memset(o, 0, sizeof(*o));
}
