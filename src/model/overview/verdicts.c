/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdicts.c - statements that the numbers of an overview prove; see verdicts.h.
 */
#include "model/overview/verdicts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/totals/short_lived.h"
#include "model/views/page_usage.h"
#include "util/safe_text.h"

const char *hl_verdict_kind_name(enum hl_overview_verdict_kind kind)
{
	static const char *const names[] = {"growing", "short_lived", "allocated", "sparse_pages"};

	return names[kind];
}

static void add_verdict(struct hl_overview *o, const struct hl_overview_verdict *v)
{
	if (o->n_verdicts == HL_VERDICTS_MAX)
		return;
	o->verdicts[o->n_verdicts] = *v;
	o->verdicts[o->n_verdicts++].estimated = o->estimated;
}

/* --- growing --- */

struct line {
	double slope; /* bytes per second */
	double r2;
};

/* The least-squares line through the live bytes at the moments [from, to). */
static struct line fit_line(
	const struct hl_overview *o, const uint64_t *live, unsigned from, unsigned to)
{
	double n = to - from, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0, dx, dy;
	struct line l = {0};

	/* relative to the first moment, or the squares lose their digits */
	for (unsigned k = from; k < to; k++) {
		double x = (double)(o->times[k] - o->times[from]) / 1e9;
		double y = (double)live[k] - (double)live[from];

		sx += x;
		sy += y;
		sxx += x * x;
		sxy += x * y;
		syy += y * y;
	}
	dx = n * sxx - sx * sx;
	dy = n * syy - sy * sy;
	if (dx <= 0 || dy <= 0)
		return l;
	l.slope = (n * sxy - sx * sy) / dx;
	l.r2 = (n * sxy - sx * sy) * (n * sxy - sx * sy) / (dx * dy);
	return l;
}

/* Did the bytes grow in every quarter, and in none much less than the line does? One step, or
 * growth that has ended, is not linear. */
static bool is_steady(
	const struct hl_overview *o, const uint64_t *live, unsigned from, unsigned to, double slope)
{
	for (unsigned q = 0; q < 4; q++) {
		unsigned a = from + (to - 1 - from) * q / 4,
			 b = from + (to - 1 - from) * (q + 1) / 4;
		double seconds = (double)(o->times[b] - o->times[a]) / 1e9;

		if ((double)live[b] - (double)live[a] < slope * seconds * HL_VERDICT_GROWTH_STEADY)
			return false;
	}
	return true;
}

/* A line of values that rises enough, and all the time. */
static bool is_growth(
	const struct hl_overview *o, const uint64_t *live, unsigned from, struct line *l)
{
	unsigned to = HL_GROWTH_END;
	double grown;

	*l = fit_line(o, live, from, to);
	grown = l->slope * (double)(o->times[to - 1] - o->times[from]) / 1e9;
	return l->slope > 0 && l->r2 >= HL_VERDICT_R2 && grown >= HL_VERDICT_GROWTH_BYTES &&
	       grown >= HL_VERDICT_GROWTH_SHARE * (double)o->peak.bytes &&
	       is_steady(o, live, from, to, l->slope);
}

/* The values at the moments are on a line, and so are the lowest ones between them. */
static bool check_line(const struct hl_overview *o, const struct hl_overview_site *s, unsigned from,
	struct hl_overview_verdict *v)
{
	unsigned to = HL_GROWTH_END;
	struct line l, lowest;

	if (!is_growth(o, s->trend->live, from, &l) ||
		!is_growth(o, s->trend->floor_bytes, from + 1, &lowest))
		return false;
	*v = (struct hl_overview_verdict){.kind = HL_VERDICT_GROWING,
		.frame = s->frame,
		.full_name = s->full_name,
		.bytes_per_s = l.slope < 1e18 ? l.slope : 1e18,
		.r2 = l.r2,
		.from_ns = o->times[from],
		.to_ns = o->times[to - 1],
		.from_k = from,
		.to_k = to - 1};
	return true;
}

/* The longest line that the moments prove. */
static bool find_line(const struct hl_overview *o, const struct hl_overview_site *s,
	struct hl_overview_verdict *v)
{
	unsigned from = 0;

	while (from < HL_GROWTH_END && !o->known[from])
		from++;
	for (unsigned k = from; k < HL_GROWTH_END; k++) {
		if (!o->known[k])
			return false;
	}
	for (; from + HL_VERDICT_POINTS <= HL_GROWTH_END; from++) {
		if (check_line(o, s, from, v))
			return true;
	}
	return false;
}

/* At most two sites: the fastest growing ones. */
static void find_growing(struct hl_overview *o, uint64_t end_ns)
{
	struct hl_overview_verdict best[2], v;
	size_t n = 0;

	if (o->trend_state != HL_OVERVIEW_KNOWN || end_ns < HL_VERDICT_RUN_NS)
		return;
	for (size_t i = 0; i < o->n_sites; i++) {
		if (!find_line(o, &o->sites[i], &v))
			continue;
		if (n < 2)
			best[n++] = v;
		else if (v.bytes_per_s > best[1].bytes_per_s)
			best[1] = v;
		if (n == 2 && best[1].bytes_per_s > best[0].bytes_per_s) {
			v = best[0];
			best[0] = best[1];
			best[1] = v;
		}
	}
	for (size_t i = 0; i < n; i++)
		add_verdict(o, &best[i]);
}

/* --- short-lived blocks --- */

static const struct hl_overview_site *find_shortest(const struct hl_overview *o)
{
	const struct hl_overview_site *top = NULL;

	for (size_t i = 0; i < o->n_sites && o->short_sites_state == HL_OVERVIEW_KNOWN; i++) {
		if (o->sites[i].short_blocks > (top ? top->short_blocks : 0))
			top = &o->sites[i];
	}
	return top;
}

static double percent(uint64_t part, uint64_t all)
{
	return all == 0 ? 0 : part > all ? 100 : (double)part * 100 / (double)all;
}

static void find_short_lived(struct hl_overview *o, uint64_t end_ns)
{
	const struct hl_overview_site *top = find_shortest(o);
	struct hl_overview_verdict v = {.kind = HL_VERDICT_SHORT_LIVED,
		.frame = HL_NODE_NONE,
		.bound_ns = o->short_bound_ns,
		.blocks = o->short_blocks,
		.percent = percent(o->short_blocks, o->short_of)};

	/* A few samples prove nothing. */
	if (hl_value_margin(&o->allocated) > o->allocated.bytes)
		return;
	/* The command shows the blocks of the file, which may be another part of the run. */
	if (o->short_state != HL_OVERVIEW_KNOWN || o->begins_late ||
		o->short_of != o->allocated.blocks || v.blocks < HL_VERDICT_SHORT_BLOCKS ||
		v.percent < HL_VERDICT_SHORT_PERCENT ||
		(double)v.blocks * 1e9 < (double)end_ns * HL_VERDICT_SHORT_PER_S)
		return;
	v.site_percent = top ? percent(top->short_blocks, o->short_blocks) : 0;
	if (v.site_percent >= HL_VERDICT_SHORT_OF_SITES) {
		v.frame = top->frame;
		v.full_name = top->full_name;
		v.blocks = top->short_blocks;
	}
	add_verdict(o, &v);
}

/* --- allocated bytes --- */

/* A program that allocates many times what it holds copies or fills memory again and again. */
static void find_allocated(struct hl_overview *o)
{
	const struct hl_overview_site *top = NULL;
	struct hl_overview_verdict v = {.kind = HL_VERDICT_ALLOCATED,
		.caller = HL_NODE_NONE,
		.bytes = o->allocated.bytes,
		.peak_bytes = o->peak.bytes};

	if (o->peak_state != HL_OVERVIEW_KNOWN || o->peak.bytes == 0 || o->begins_late ||
		hl_value_margin(&o->allocated) > o->allocated.bytes ||
		v.bytes < HL_VERDICT_ALLOCATED_BYTES ||
		v.bytes / HL_VERDICT_ALLOCATED_TIMES < v.peak_bytes)
		return;
	for (size_t i = 0; i < o->n_sites; i++) {
		if (o->sites[i].allocated.bytes > (top ? top->allocated.bytes : 0))
			top = &o->sites[i];
	}
	v.site_percent = top ? percent(top->allocated.bytes, v.bytes) : 0;
	if (v.site_percent < HL_VERDICT_ALLOCATED_OF_SITES)
		return;
	v.frame = top->frame;
	v.full_name = top->full_name;
	add_verdict(o, &v);
}

/* --- pages --- */

static void find_sparse_pages(struct hl_overview *o)
{
	struct hl_overview_verdict v = {.kind = HL_VERDICT_SPARSE_PAGES,
		.frame = o->sparse_frame,
		.full_name = o->sparse_full_name,
		.percent = percent(o->sparse_pages, o->pages),
		.page_bytes = o->sparse_pages * HL_PAGE_BYTES,
		.page_used_bytes = o->sparse_bytes,
		.page_use_percent = HL_SPARSE_PERCENT};

	if (o->pages_state == HL_OVERVIEW_KNOWN && v.page_bytes >= HL_VERDICT_PAGE_BYTES &&
		v.percent >= HL_VERDICT_PAGE_PERCENT)
		add_verdict(o, &v);
}

void hl_verdicts_find(struct hl_overview *o, uint64_t end_ns)
{
	o->n_verdicts = 0;
	find_growing(o, end_ns);
	find_short_lived(o, end_ns);
	find_allocated(o);
	find_sparse_pages(o);
}

/* --- in words --- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void put_site(struct hl_strbuf *b, struct hl_model *m, const struct hl_overview_verdict *v)
{
	const struct hl_frame *f = hl_model_frame(m, v->frame);

	hl_strbuf_puts(b, v->full_name ? f->function : f->display_name);
	if (f->file && f->line)
		hl_strbuf_printf(b, " %s:%" PRIu32, base_name(f->file), f->line);
	else if (f->file)
		hl_strbuf_printf(b, " %s", base_name(f->file));
	else if (f->module)
		hl_strbuf_printf(b, " [%s]", base_name(f->module));
}

/* "2 min", "50 s" */
static void put_seconds(struct hl_strbuf *b, uint64_t ns)
{
	uint64_t s = (ns + 500000000) / 1000000000;

	if (s < 120)
		hl_strbuf_printf(b, "%" PRIu64 " s", s);
	else if (s < 7200)
		hl_strbuf_printf(b, "%" PRIu64 " min", (s + 30) / 60);
	else
		hl_strbuf_printf(b, "%" PRIu64 " h", (s + 1800) / 3600);
}

static void put_growing(
	struct hl_strbuf *b, struct hl_model *m, const struct hl_overview_verdict *v)
{
	char rate[HL_TEXT_SIZE_MAX];

	hl_strbuf_puts(b, "growing: ");
	put_site(b, m, v);
	hl_strbuf_printf(b, " +%s/s%s, linear for ", hl_text_bytes(rate, (uint64_t)v->bytes_per_s),
		v->estimated ? " (estimated)" : "");
	put_seconds(b, v->to_ns - v->from_ns);
}

static void put_short_lived(
	struct hl_strbuf *b, struct hl_model *m, const struct hl_overview_verdict *v)
{
	char bound[HL_TEXT_SIZE_MAX];

	hl_strbuf_printf(b, "%s%.1f %% of allocations live less than %s",
		v->estimated ? "an estimated " : "", v->percent,
		hl_short_lived_bound_text(bound, v->bound_ns));
	if (v->frame == HL_NODE_NONE)
		return;
	hl_strbuf_printf(b, "; %.1f %% of them come from ", v->site_percent);
	put_site(b, m, v);
}

static void put_allocated(
	struct hl_strbuf *b, struct hl_model *m, const struct hl_overview_verdict *v)
{
	char bytes[HL_TEXT_SIZE_MAX];
	struct hl_overview_verdict caller = {.frame = v->caller};

	hl_strbuf_printf(b, "%s%s were allocated in all, %" PRIu64 " times the peak; %.1f %% by ",
		v->estimated ? "an estimated " : "", hl_text_bytes(bytes, v->bytes),
		v->bytes / v->peak_bytes, v->site_percent);
	put_site(b, m, v);
	if (v->caller == HL_NODE_NONE)
		return;
	hl_strbuf_puts(b, ", from ");
	put_site(b, m, &caller);
}

static void put_sparse_pages(
	struct hl_strbuf *b, struct hl_model *m, const struct hl_overview_verdict *v)
{
	char bytes[HL_TEXT_SIZE_MAX];

	hl_strbuf_printf(b, "at the end %s are in pages less than %u %% used",
		hl_text_bytes(bytes, v->page_bytes), v->page_use_percent);
	if (v->frame == HL_NODE_NONE)
		return;
	hl_strbuf_puts(b, "; most are held by ");
	put_site(b, m, v);
}

void hl_verdict_put(struct hl_strbuf *b, struct hl_model *m, const struct hl_overview_verdict *v)
{
	if (v->kind == HL_VERDICT_GROWING)
		put_growing(b, m, v);
	else if (v->kind == HL_VERDICT_SHORT_LIVED)
		put_short_lived(b, m, v);
	else if (v->kind == HL_VERDICT_ALLOCATED)
		put_allocated(b, m, v);
	else
		put_sparse_pages(b, m, v);
}

unsigned hl_verdict_percent(unsigned k)
{
	return (k + 1) * 100 / HL_OVERVIEW_POINTS;
}

/* Sorted as the verdict ranks the sites, so that its site is in the first row. */
void hl_verdict_put_options(struct hl_strbuf *b, const struct hl_overview_verdict *v)
{
	if (v->command == HL_COMMAND_NONE)
		return;
	if (v->command == HL_COMMAND_ALLOCATED)
		hl_strbuf_puts(b, "--allocated --sites --sort blocks");
	else if (v->kind == HL_VERDICT_GROWING)
		hl_strbuf_printf(b, "--growth %u%%..%u%% --sites", hl_verdict_percent(v->from_k),
			hl_verdict_percent(v->to_k));
	else if (v->kind == HL_VERDICT_SHORT_LIVED)
		hl_strbuf_printf(b, "--temporary=%" PRIu64 "ns --sites --sort blocks", v->bound_ns);
	else if (v->kind == HL_VERDICT_ALLOCATED)
		hl_strbuf_puts(b, "--allocated --sites");
	else
		hl_strbuf_puts(b, "--leaks --fragmentation");
}
