/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.c - plans a request for one trace and runs its parts.
 */
#include "request/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/query/query_plan.h"
#include "model/views/filtered_peak.h"
#include "model/views/import_limits.h"
#include "util/safe_text.h"
#include "util/work/work.h"

/* --- making a plan --- */

/* A profile has no peak: its only state is the memory in use. */
static enum hl_request_quantity resolve_quantity(
	const struct hl_plan *p, const struct hl_view *view)
{
	enum hl_request_quantity q = p->request->quantity;

	if (q != HL_REQUEST_DEFAULT)
		return q;
	if (view->flags & HL_VIEW_DEFAULT_ALL)
		return HL_REQUEST_ALLOCATED;
	return hl_model_has_event_order(p->m) ? q : HL_REQUEST_LEAKS;
}

static int add_part(struct hl_plan *p, const struct hl_request_part *of)
{
	struct hl_plan_part part = {.view = of->view,
		.group = of->group,
		.grouped = of->grouped,
		.quantity = resolve_quantity(p, of->view)};

	return hl_vec_push(&p->parts, part);
}

static int add_parts(struct hl_plan *p)
{
	static const struct hl_request_part tree = {.view = &hl_view_tree, .group = HL_GROUP_STACK};
	const struct hl_request *r = p->request;
	int err = r->parts.len == 0 ? add_part(p, &tree) : 0;

	for (size_t i = 0; i < r->parts.len && !err; i++)
		err = add_part(p, &r->parts.data[i]);
	return err;
}

int hl_request_make_suppressions(const struct hl_request *r, struct hl_suppressions **out)
{
	int err = hl_suppressions_new(out);

	if (!err && !r->no_default_suppressions)
		err = hl_suppressions_add_defaults(*out);
	for (size_t i = 0, line; i < r->suppressions.len && !err; i++)
		err = hl_suppressions_add_text(*out, r->suppressions.data[i], &line);
	return err;
}

/* Suppressions apply only to blocks that are live at the end. */
static int add_suppressions(struct hl_plan *p)
{
	if (p->request->quantity != HL_REQUEST_LEAKS)
		return 0;
	return hl_request_make_suppressions(p->request, &p->suppressions);
}

int hl_plan_new(struct hl_plan **out, const struct hl_request *r, struct hl_model *m,
	const struct hl_notes *notes, struct hl_request_error *why)
{
	struct hl_plan *p = calloc(1, sizeof(*p));
	int err = p ? 0 : -ENOMEM;

	*why = (struct hl_request_error){0};
	if (p) {
		p->request = r;
		p->m = m;
		p->notes = *notes;
		p->peak.kind = HL_TIME_SPEC_PEAK;
		err = hl_request_make_filter(r, &p->filter, why);
		hl_request_describe_filter(r, &p->filter_text);
		err = err ? err : hl_strbuf_error(&p->filter_text) ? -ENOMEM : 0;
	}
	if (!err)
		err = hl_request_make_rules(r, &p->rules, why);
	if (!err)
		hl_model_set_stack_rules(m, p->rules.any ? &p->rules.rules : NULL);
	if (!err)
		err = add_suppressions(p);
	if (!err)
		err = add_parts(p);
	if (p)
		hl_work_limit(hl_model_work(m), r->budget.max_ns);
	if (err) {
		if (!why->text[0])
			snprintf(why->text, sizeof(why->text), "%s", strerror(-err));
		hl_plan_free(p);
		p = NULL;
	}
	*out = p;
	return err;
}

void hl_plan_free(struct hl_plan *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->parts.len; i++)
		hl_result_free(p->parts.data[i].early);
	if (p->m) {
		hl_model_drop_prefetched(p->m); /* they refer to the filter */
		hl_model_set_stack_rules(p->m, NULL);
		hl_work_limit(hl_model_work(p->m), 0);
		hl_work_resume(hl_model_work(p->m));
	}
	hl_vec_free(&p->parts);
	hl_filter_free(p->filter);
	hl_strbuf_fini(&p->filter_text);
	hl_request_rules_fini(&p->rules);
	hl_suppressions_free(p->suppressions);
	free(p);
}

/* --- does the trace have the requested times? --- */

/* A range must be within the run and begin before its end. */
static bool has_range(const struct hl_plan *p, struct hl_strbuf *why)
{
	uint64_t from = hl_time_spec_ns(&p->request->from, p->m),
		 to = hl_time_spec_ns(&p->request->to, p->m), end = hl_model_end_ns(p->m);
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX];

	if (from > end)
		hl_strbuf_printf(why, "the range begins at %s, after the end of the recording (%s)",
			hl_text_duration(a, from), hl_text_duration(b, end));
	else if (from > to)
		hl_strbuf_printf(why, "the range begins at %s, after its end (%s)",
			hl_text_duration(a, from), hl_text_duration(b, to));
	return from <= end && from <= to;
}

/* False if the requested moment is after the end of this trace. A single trace is shown at its end
 * instead, with a note. With several traces, its values would be added to values of another
 * time. */
static bool has_moment(const struct hl_plan *p, struct hl_strbuf *why)
{
	uint64_t at = hl_time_spec_ns(&p->request->at, p->m), end = hl_model_end_ns(p->m);
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX];

	if (p->request->quantity != HL_REQUEST_AT || !p->several_traces || at <= end)
		return true;
	hl_strbuf_printf(why, "%s is after the end of the recording (%s)", hl_text_duration(a, at),
		hl_text_duration(b, end));
	return false;
}

static bool check_times(struct hl_plan *p, struct hl_strbuf *why)
{
	const struct hl_request *r = p->request;

	if (hl_time_spec_check(&r->from, p->m) || hl_time_spec_check(&r->to, p->m) ||
		hl_time_spec_check(&r->at, p->m) ||
		(p->filter && hl_filter_bind(p->filter, p->m) == -ENOENT)) {
		hl_strbuf_puts(why, hl_model_error(p->m));
		return false;
	}
	return has_moment(p, why) && (!r->ranged || has_range(p, why));
}

bool hl_plan_has_times(struct hl_plan *p, struct hl_strbuf *why)
{
	bool has;

	hl_strbuf_reset(why);
	has = check_times(p, why);
	/* Without the time to look for a mark, the parts that need it are refused in their turn. */
	return has || hl_model_work(p->m)->stopped == -ETIME;
}

/* --- what an imported trace lacks --- */

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

static uint32_t query_needs(const struct hl_plan *p)
{
	const struct hl_request *r = p->request;
	unsigned subjects = p->filter ? hl_filter_subjects(p->filter) : 0;
	uint32_t needs = 0;

	if (r->ranged || r->quantity == HL_REQUEST_AT ||
		subjects & (HL_FILTER_TIME | HL_FILTER_ALIVE | HL_FILTER_GROUP_TIMES))
		needs |= HL_UNKNOWN_TIMES;
	if (r->temporary_ns || subjects & HL_FILTER_LIFETIME)
		needs |= HL_UNKNOWN_LIFETIMES | HL_UNKNOWN_TIMES;
	needs |= subjects & HL_FILTER_ADDR ? HL_UNKNOWN_ADDRESSES : 0;
	needs |= subjects & (HL_FILTER_THREAD | HL_FILTER_FREED_THREAD) ? HL_UNKNOWN_THREADS : 0;
	needs |= subjects & HL_FILTER_GROUP ? HL_UNKNOWN_COUNTS : 0;
	needs |= subjects & HL_FILTER_FUNC ? HL_UNKNOWN_CALLS : 0;
	needs |= subjects & HL_FILTER_SIZE ? HL_UNKNOWN_ORDER : 0;
	return needs;
}

/* Puts one note about all data that the parts lack. The model refuses queries that cannot be
 * answered at all; this is about answers that are incomplete. */
static void note_import_limits(const struct hl_plan *p)
{
	const struct hl_meta *meta = &hl_model_info(p->m)->meta;
	uint32_t needs = query_needs(p);
	struct hl_strbuf b = {0};

	for (size_t i = 0; i < p->parts.len; i++) {
		const struct hl_plan_part *part = &p->parts.data[i];

		needs |= part->view->needs |
			 (part->view->flags & HL_VIEW_POOLS || part->view == &hl_view_curves
					 ? group_needs(part->group)
					 : 0);
	}
	hl_import_limits_describe(&b, needs & meta->unknown);
	if (b.len)
		hl_notes_put(&p->notes, HL_NOTE_INFO, "imported from %s, which does not have: %s",
			meta->source, hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

void hl_plan_note_base_limit(const struct hl_plan *p)
{
	const char *limit = hl_filter_base_limit(p->filter, p->m);

	if (limit)
		hl_notes_put(&p->notes, HL_NOTE_WARNING, "%s", limit);
}

/* --- the peak --- */

static bool is_peak(enum hl_request_quantity quantity)
{
	return quantity == HL_REQUEST_DEFAULT || quantity == HL_REQUEST_PEAK;
}

bool hl_plan_has_own_peak(const struct hl_plan *p, enum hl_request_quantity quantity)
{
	return p->filter && !p->request->pool && is_peak(quantity);
}

bool hl_plan_part_has_quantity(const struct hl_plan_part *part)
{
	unsigned flags = part->view->flags;

	return flags & HL_VIEW_QUANTITY &&
	       !(flags & HL_VIEW_OWN_MOMENT && part->quantity == HL_REQUEST_DEFAULT);
}

uint64_t hl_plan_peak_since(const struct hl_plan *p, enum hl_request_quantity quantity)
{
	return hl_plan_has_own_peak(p, quantity) ? hl_model_base(p->m)->time_ns : 0;
}

static bool needs_own_peak(const struct hl_plan *p, const struct hl_plan_part *part)
{
	return hl_plan_part_has_quantity(part) && hl_plan_has_own_peak(p, part->quantity);
}

static int find_peak(struct hl_plan *p)
{
	const struct hl_query q = {.filter = p->filter, .pool = p->request->pool};
	struct hl_peak peak;
	int err = hl_peak_find(p->m, &q, &peak);

	if (err)
		return err;
	p->peak = peak.when;
	p->before_damage |= peak.before_damage;
	hl_plan_note_moved_peak(p, &peak);
	return 0;
}

void hl_plan_note_moved_peak(const struct hl_plan *p, const struct hl_peak *peak)
{
	char got[HL_TEXT_SIZE_MAX];

	if (peak->before_damage)
		hl_notes_put(&p->notes, HL_NOTE_WARNING,
			"part of the file is lost and the peak of matching blocks is not known; "
			"showing the highest value before the loss, at %s",
			hl_text_duration(got, peak->time_ns));
}

void hl_plan_note_moved(
	const struct hl_plan *p, const struct hl_time_spec *asked_at, uint64_t got_ns, bool moved)
{
	uint64_t asked_ns = hl_time_spec_ns(asked_at, p->m);
	char asked[HL_TEXT_SIZE_MAX], got[HL_TEXT_SIZE_MAX];

	if (asked_ns > hl_model_end_ns(p->m))
		hl_notes_put(&p->notes, HL_NOTE_WARNING,
			"%s is after the end of the recording; showing the end, at %s",
			hl_text_duration(asked, asked_ns), hl_text_duration(got, got_ns));
	else if (moved)
		hl_notes_put(&p->notes, HL_NOTE_WARNING,
			"the state at %s is not in the file; showing the latest before it, at %s",
			hl_text_duration(asked, asked_ns), hl_text_duration(got, got_ns));
}

/* --- queries and headings --- */

struct hl_query hl_plan_query(const struct hl_plan *p, enum hl_request_quantity quantity)
{
	const struct hl_request *r = p->request;
	struct hl_query q = {.quantity = HL_QUANTITY_LIVE,
		.from = r->from,
		.to = r->at,
		.filter = p->filter,
		.pool = r->pool,
		.suppressions = p->suppressions,
		.temporary_ns = r->temporary_ns};

	switch (quantity) {
	case HL_REQUEST_DEFAULT:
	case HL_REQUEST_PEAK:
		q.to = p->peak;
		break;
	case HL_REQUEST_LEAKS:
		q.to.kind = HL_TIME_SPEC_END;
		break;
	case HL_REQUEST_AT:
		break;
	default:
		q.quantity = quantity == HL_REQUEST_ALLOCATED   ? HL_QUANTITY_ALLOCATED
			     : quantity == HL_REQUEST_TEMPORARY ? HL_QUANTITY_TEMPORARY
								: HL_QUANTITY_GROWTH;
		q.to = r->to;
		if (!r->ranged)
			q.to.kind = HL_TIME_SPEC_END;
	}
	return q;
}

/* A file may end before the run: the rest is in the next file. */
static const char *end_heading(const struct hl_plan *p)
{
	return hl_model_info(p->m)->end.kind == HL_END_CONTINUED
		       ? "live at the end of this file, which another file continues"
		       : "live at the end of the recording";
}

/* With a filter there are two peaks. */
static const char *peak_heading(const struct hl_plan *p, enum hl_request_quantity quantity)
{
	if (!p->filter)
		return "live at the peak";
	if (!hl_plan_has_own_peak(p, quantity))
		return "live at the peak of the whole heap";
	return hl_plan_peak_since(p, quantity)
		       ? "live at the peak of blocks that match the filter, since the base"
		       : "live at the peak of blocks that match the filter";
}

/* If frees may be missing from the recording, --leaks must not call a block leaked. */
static const char *heap_heading(const struct hl_plan *p, enum hl_request_quantity quantity)
{
	switch (quantity) {
	case HL_REQUEST_DEFAULT:
	case HL_REQUEST_PEAK:
		return peak_heading(p, quantity);
	case HL_REQUEST_LEAKS:
		return hl_model_leaks_are_certain(p->m) ? "leaked (live at the end)"
							: end_heading(p);
	case HL_REQUEST_ALLOCATED:
		return "allocated";
	case HL_REQUEST_TEMPORARY:
		return p->request->temporary_ns ? "temporary (freed within the given time)"
						: "temporary (freed by the very next event)";
	case HL_REQUEST_GROWTH:
		return "growth (allocated and still live)";
	case HL_REQUEST_AT:
		return p->request->at.kind == HL_TIME_SPEC_PEAK  ? peak_heading(p, quantity)
		       : p->request->at.kind == HL_TIME_SPEC_END ? end_heading(p)
								 : "live";
	}
	return "";
}

void hl_plan_heading(
	const struct hl_plan *p, enum hl_request_quantity quantity, char *to, size_t size)
{
	const char *what = heap_heading(p, quantity);

	if (p->request->pool_name)
		snprintf(to, size, "pool %s: %s", p->request->pool_name, what);
	else
		snprintf(to, size, "%s", what);
}

void hl_plan_part_heading(
	const struct hl_plan *p, const struct hl_plan_part *part, char *to, size_t size)
{
	if (part->view->flags & HL_VIEW_ALL_LIVE && part->quantity == HL_REQUEST_LEAKS)
		snprintf(to, size, "live at the end of the recording");
	else
		hl_plan_heading(p, part->quantity, to, size);
}

/* --- the budget of time --- */

/* Sets the message why a part is not answered. Returns -ETIME. */
static int refuse_late(const struct hl_plan *p, const struct hl_plan_part *part)
{
	const struct hl_work *w = hl_model_work(p->m);
	char limit[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	hl_plan_describe_part(p, part, &b);
	hl_strbuf_printf(&b, ": not answered within --max-time=%s",
		hl_text_duration(limit, p->request->budget.max_ns));
	if (w->stopped_what && w->stopped_percent >= 1)
		hl_strbuf_printf(
			&b, ", which ended at %.0f%% of %s", w->stopped_percent, w->stopped_what);
	hl_strbuf_printf(&b, "; give it more time%s",
		p->filter             ? ", or omit the filter, which needs every event"
		: !p->request->ranged ? ""
		: p->request->quantity == HL_REQUEST_GROWTH ? ", or narrow the range of --growth"
							    : ", or narrow --range");
	hl_model_set_error(p->m, hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
	return -ETIME;
}

int hl_plan_check_stopped(struct hl_plan *p, const struct hl_plan_part *part, int err)
{
	struct hl_work *w = hl_model_work(p->m);

	/* An error that follows from the stop may be another one, or be lost. */
	if (w->stopped)
		err = w->stopped;
	if (err == -ETIME)
		refuse_late(p, part);
	else if (err == -ECANCELED)
		hl_model_set_error(p->m, "the request was cancelled");
	return err;
}

/* --- running --- */

#define ROWS_WITHOUT_LARGE 10 /* of a list in which every row is below the default minimum */

static struct hl_limits make_limits(const struct hl_request *r, const struct hl_view *view)
{
	struct hl_limits l = {.by_blocks = r->sorted && r->sort == HL_SORT_BLOCKS};

	if (r->unlimited)
		return l;
	l.min_percent = r->min_given ? r->min : view->min_percent;
	l.least_rows = r->min_given ? 0 : ROWS_WITHOUT_LARGE;
	l.limit = r->limit_given ? r->limit : view->limit;
	l.limited = l.limit > 0;
	return l;
}

static bool is_about_peak(const struct hl_plan *p, const struct hl_plan_part *part)
{
	if (!p->filter || !hl_plan_part_has_quantity(part))
		return false;
	return part->quantity == HL_REQUEST_AT ? p->request->at.kind == HL_TIME_SPEC_PEAK
					       : is_peak(part->quantity);
}

/* Without what it needs a view has no result. */
static int run_view(struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r)
{
	int err = needs_own_peak(p, part) ? p->peak_err : 0;

	if (!err)
		err = hl_model_require_known(p->m, part->view->refuses, "this");
	if (!err)
		err = r->data ? part->view->run(p, part, r) : -ENOMEM;
	return hl_plan_check_stopped(p, part, err);
}

static int run_part(
	struct hl_plan *p, const struct hl_plan_part *part, bool early, struct hl_result **out)
{
	struct hl_result *r = calloc(1, sizeof(*r));
	int err;

	*out = NULL;
	if (!r)
		return -ENOMEM;
	*r = (struct hl_result){.m = p->m,
		.plan = p,
		.part = *part,
		.limits = make_limits(p->request, part->view),
		.about_peak = is_about_peak(p, part),
		.early = early,
		.asked = hl_plan_query(p, part->quantity).to,
		.data = calloc(1, part->view->data_size)};
	r->part.early = NULL;
	hl_plan_part_heading(p, part, r->heading, sizeof(r->heading));
	hl_work_resume(hl_model_work(p->m));
	err = run_view(p, part, r);
	if (err) {
		hl_result_free(r);
		return err;
	}
	*out = r;
	return 0;
}

/* A result that is computed early is noted in its turn. */
static void note_moment(const struct hl_result *r)
{
	if (r->has_moment)
		hl_plan_note_moved(r->plan, &r->asked, r->got_ns, r->before_damage);
}

void hl_result_set_moment(struct hl_result *r, uint64_t got_ns, bool before_damage)
{
	r->has_moment = true;
	r->got_ns = got_ns;
	r->before_damage = before_damage;
	if (!r->early)
		note_moment(r);
}

void hl_result_set_answer(struct hl_result *r, const struct hl_answer *a)
{
	r->total = a->total;
	r->suppressions = r->plan->suppressions;
	hl_result_set_moment(r, a->to_ns, a->before_damage);
}

void hl_result_free(struct hl_result *r)
{
	if (!r)
		return;
	if (r->data && r->part.view->fini)
		r->part.view->fini(r->data);
	free(r->data);
	free(r);
}

int hl_plan_run(struct hl_plan *p, size_t i, struct hl_result **out)
{
	struct hl_plan_part *part = &p->parts.data[i];
	int err = 0;

	*out = part->early;
	part->early = NULL;
	if (!*out)
		err = run_part(p, part, false, out);
	else
		note_moment(*out);
	return err;
}

/* Parts about the filter's own peak can be prefetched only when that peak is found. The scan that
 * finds it serves the other parts, too. */
static int prefetch_parts(struct hl_plan *p)
{
	bool several = p->parts.len > 1, own_peak = false;
	int err;

	for (size_t i = 0; i < p->parts.len; i++) {
		const struct hl_plan_part *part = &p->parts.data[i];

		if (needs_own_peak(p, part))
			own_peak = true;
		else if (several && part->view->prefetch)
			part->view->prefetch(p, part);
	}
	err = own_peak ? find_peak(p) : 0;
	if (own_peak && hl_model_work(p->m)->stopped)
		err = hl_model_work(p->m)->stopped;
	if (err == -ETIME) {
		p->peak_err = err;
		return 0;
	}
	if (err == -ECANCELED)
		hl_model_set_error(p->m, "the request was cancelled");
	for (size_t i = 0; i < p->parts.len && several && !err; i++) {
		const struct hl_plan_part *part = &p->parts.data[i];

		if (needs_own_peak(p, part) && part->view->prefetch)
			part->view->prefetch(p, part);
	}
	return err;
}

static bool filters_names(const struct hl_plan *p)
{
	return p->filter &&
	       hl_filter_subjects(p->filter) & (HL_FILTER_FRAMES | HL_FILTER_FREED_FRAMES);
}

bool hl_plan_part_shows_names(const struct hl_plan_part *part)
{
	bool is_table = part->view == &hl_view_table || part->grouped;

	return part->view->flags & HL_VIEW_NAMES && (!is_table || part->group <= HL_GROUP_MODULE);
}

/* Returns whether part i can run before its turn. Names must not be looked up in another order,
 * because the notes about modules are in the order of lookup; and suppressions report the blocks of
 * the last query. */
static bool can_run_early(const struct hl_plan *p, size_t i)
{
	bool names = filters_names(p);

	for (size_t k = 0; k < i; k++)
		names |= hl_plan_part_shows_names(&p->parts.data[k]);
	return i > 0 && !names && !p->suppressions;
}

/*
 * The statistics of sites need all events, but only when it is known which sites are shown. So if
 * the list of sites comes after other parts, it is computed before them, and one scan serves them
 * all. If that fails, it is computed again in its turn.
 */
static void run_early_parts(struct hl_plan *p)
{
	for (size_t i = 0; i < p->parts.len; i++) {
		struct hl_plan_part *part = &p->parts.data[i];

		if (part->view->flags & HL_VIEW_EARLY && can_run_early(p, i))
			run_part(p, part, true, &part->early);
	}
}

/* Scans find the sites of blocks, so the wrappers must be known before. */
static int find_wrappers(struct hl_plan *p)
{
	bool wanted = false;
	int err;

	for (size_t i = 0; i < p->parts.len; i++)
		wanted |= hl_plan_part_shows_names(&p->parts.data[i]);
	err = wanted ? hl_model_find_wrappers(p->m) : 0;
	return err == -ETIME ? 0 : err; /* the parts that need them are refused in their turn */
}

int hl_plan_prepare(struct hl_plan *p)
{
	int err;

	hl_work_resume(hl_model_work(p->m));
	note_import_limits(p);
	hl_plan_note_base_limit(p);
	err = find_wrappers(p);
	if (!err)
		err = prefetch_parts(p);
	if (!err)
		run_early_parts(p);
	return err;
}

bool hl_plan_shows_names(const struct hl_plan *p)
{
	bool any = false;

	if (p->parts.data[0].view == &hl_view_process)
		return false; /* its rows have none */
	if (p->parts.len == 1 && p->parts.data[0].view == &hl_view_overview)
		return false; /* it has a line about them itself */
	if (p->request->suppressions.len > 0 || filters_names(p))
		return true;
	for (size_t i = 0; i < p->parts.len; i++)
		any |= hl_plan_part_shows_names(&p->parts.data[i]);
	return any;
}
