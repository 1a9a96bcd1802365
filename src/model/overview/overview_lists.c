/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_lists.c - the lists of an overview: which sites they have, and in which order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "model/overview/overview_internal.h"

#define POINTS HL_OVERVIEW_POINTS

const char *hl_overview_list_name(enum hl_overview_list_id list)
{
	static const char *const names[] = {"held", "left", "growing", "churning"};

	return names[list];
}

const struct hl_value *hl_overview_site_value(
	const struct hl_overview_site *s, enum hl_overview_list_id list)
{
	switch (list) {
	case HL_OVERVIEW_HELD:
		return &s->at_peak;
	case HL_OVERVIEW_LEFT:
		return &s->at_end;
	case HL_OVERVIEW_GROWING:
		return &s->grown;
	default:
		return &s->churned;
	}
}

/* --- churn and growth --- */

static void raise(struct hl_value *v, uint64_t bytes, uint64_t blocks)
{
	v->bytes = hl_max_u64(v->bytes, bytes);
	v->blocks = hl_max_u64(v->blocks, blocks);
}

/* Blocks that are allocated once and freed late are no churn, so the most that were live are not
 * counted, as far as they are known. */
void hl_overview_compute_churn(struct hl_overview_builder *b)
{
	for (size_t i = 0; i < b->sites.len; i++) {
		struct hl_overview_site *s = &b->sites.data[i];
		struct hl_value most = s->at_end;

		raise(&most, s->at_peak.bytes, s->at_peak.blocks);
		for (unsigned k = 0; k < POINTS && b->o->trend_state == HL_OVERVIEW_KNOWN; k++)
			raise(&most, s->trend->live[k], s->trend->blocks[k]);
		s->churned = s->allocated;
		s->churned.bytes -= hl_min_u64(s->allocated.bytes, most.bytes);
		s->churned.blocks -= hl_min_u64(s->allocated.blocks, most.blocks);
	}
}

static uint64_t find_floor(const uint64_t *v, unsigned from, unsigned to)
{
	uint64_t low = v[from];

	for (unsigned k = from + 1; k < to; k++)
		low = hl_min_u64(low, v[k]);
	return low;
}

/* Floors of sums or of blocks may be too low. Such a floor is not subtracted: the values at the
 * moments are not below the true one. */
static uint64_t find_upper_floor(const struct hl_overview *o, const uint64_t *live,
	const uint64_t *floors, unsigned from, unsigned to)
{
	uint64_t low = find_floor(live, from, to);

	return o->floors_are_exact ? hl_min_u64(low, find_floor(floors, from + 1, to)) : low;
}

/* Live values at the moments and their floors; 0: the floor did not rise, or does not any more. */
static uint64_t find_growth(
	const struct hl_overview *o, const uint64_t *live, const uint64_t *floors)
{
	uint64_t early = find_upper_floor(o, live, floors, HL_GROWTH_EARLY, HL_GROWTH_LATE),
		 middle = find_upper_floor(o, live, floors, HL_GROWTH_LATE, HL_GROWTH_LATER),
		 late = find_floor(floors, HL_GROWTH_LATE + 1, HL_GROWTH_END),
		 later = find_floor(floors, HL_GROWTH_LATER + 1, HL_GROWTH_END);
	uint64_t grown = late > early ? late - early : 0;

	return later > middle && (double)(later - middle) >= (double)grown * HL_GROWTH_RISES ? grown
											     : 0;
}

static bool has_all_points(const struct hl_overview *o)
{
	for (unsigned k = HL_GROWTH_EARLY; k < HL_GROWTH_END; k++) {
		if (!o->known[k])
			return false;
	}
	return true;
}

void hl_overview_compute_growth(struct hl_overview_builder *b)
{
	struct hl_overview *o = b->o;

	for (size_t i = 0; i < b->sites.len; i++) {
		struct hl_overview_site *s = &b->sites.data[i];

		for (unsigned k = 0; k < POINTS; k++)
			o->live[k] += s->trend->live[k];
		if (!has_all_points(o))
			continue;
		s->grown.bytes = find_growth(o, s->trend->live, s->trend->floor_bytes);
		if (s->grown.bytes)
			s->grown.blocks = find_growth(o, s->trend->blocks, s->trend->floor_blocks);
	}
}

/* --- lists --- */

struct order {
	const struct hl_overview_site *sites;
	enum hl_overview_list_id list;
};

static int compare_sites(const void *pa, const void *pb, void *arg)
{
	const struct order *x = arg;
	uint32_t ia = *(const uint32_t *)pa, ib = *(const uint32_t *)pb;
	const struct hl_value *a = hl_overview_site_value(&x->sites[ia], x->list),
			      *b = hl_overview_site_value(&x->sites[ib], x->list);

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->blocks != b->blocks)
		return a->blocks > b->blocks ? -1 : 1;
	return ia < ib ? -1 : ia > ib;
}

static bool is_below(uint64_t part, uint64_t all, double percent)
{
	return (double)part * 100 < (double)all * percent;
}

/* All growth, or all churn, is a part of the heap not worth a list. */
static bool is_negligible(const struct hl_overview_builder *b, const struct hl_overview_list *l,
	enum hl_overview_list_id id)
{
	const struct hl_value *all = id == HL_OVERVIEW_GROWING ? &b->o->peak : &b->o->allocated;

	if (id != HL_OVERVIEW_GROWING && id != HL_OVERVIEW_CHURNING)
		return false;
	return is_below(l->total.bytes, all->bytes, HL_OVERVIEW_LIST_PERCENT) &&
	       (id == HL_OVERVIEW_GROWING ||
		       is_below(l->total.blocks, all->blocks, HL_OVERVIEW_LIST_PERCENT));
}

/* A limited list ends before the rows that say little, but has at least one, and those that were
 * promoted. */
static size_t count_rows(const struct hl_overview_builder *b, const struct hl_overview_list *l,
	enum hl_overview_list_id id, size_t promoted)
{
	size_t n = 0;

	if (b->opt->rows && promoted == 0 && is_negligible(b, l, id))
		return 0;
	while (n < l->all && (b->opt->rows == 0 || n < b->opt->rows)) {
		const struct hl_value *v = hl_overview_site_value(&b->sites.data[l->sites[n]], id);

		if (b->opt->rows && n > 0 && n >= promoted &&
			is_below(v->bytes, l->total.bytes, HL_OVERVIEW_MIN_PERCENT))
			break;
		n++;
	}
	return n;
}

/* --- sites that a limited list must have --- */

static size_t find_in_list(
	const struct hl_overview_builder *b, const struct hl_overview_list *l, uint32_t frame)
{
	size_t i = 0;

	while (i < l->all && b->sites.data[l->sites[i]].frame != frame)
		i++;
	return i;
}

/* Moves a site to an earlier row; the others keep their order. */
static void move_up(struct hl_overview_list *l, size_t from, size_t to)
{
	uint32_t site = l->sites[from];

	memmove(&l->sites[to + 1], &l->sites[to], (from - to) * sizeof(*l->sites));
	l->sites[to] = site;
}

/* Returns the number of sites of verdicts, which are the first then. */
static size_t promote_verdicts(const struct hl_overview_builder *b, struct hl_overview_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < b->o->n_verdicts; i++) {
		const struct hl_overview_verdict *v = &b->o->verdicts[i];
		size_t at = v->kind == HL_VERDICT_GROWING ? find_in_list(b, l, v->frame) : l->all;

		if (at < l->all)
			move_up(l, at, n++);
	}
	return n;
}

/* Many small blocks may be few bytes of the churn. The site with the most blocks is the last row of
 * a limited list that would not have it; so the list is in the order of bytes. */
static void keep_most_blocks(const struct hl_overview_builder *b, struct hl_overview_list *l)
{
	size_t top = 0;

	for (size_t i = 1; i < l->all; i++) {
		if (b->sites.data[l->sites[i]].churned.blocks >
			b->sites.data[l->sites[top]].churned.blocks)
			top = i;
	}
	if (l->n == 0)
		return;
	if (top >= l->n && l->n == b->opt->rows && l->n > 1)
		l->n--;
	if (top >= l->n && l->n < b->opt->rows)
		move_up(l, top, l->n++);
	l->kept = top < l->n ? top : l->n - 1;
}

size_t hl_overview_row(const struct hl_overview_list *l, size_t i, size_t rows)
{
	return i > 0 && i + 1 == rows && l->kept < l->n && l->kept >= rows ? l->kept : i;
}

/* Blocks of 0 bytes. */
static bool counts_empty_blocks(enum hl_overview_list_id id)
{
	return id == HL_OVERVIEW_LEFT || id == HL_OVERVIEW_CHURNING;
}

static int make_list(struct hl_overview_builder *b, enum hl_overview_list_id id)
{
	struct hl_overview_list *l = &b->o->lists[id];
	struct order order = {b->sites.data, id};
	size_t promoted = 0;

	l->kept = SIZE_MAX;
	l->sites = calloc(b->sites.len + 1, sizeof(*l->sites));
	if (!l->sites)
		return hl_model_fail(b->m, -ENOMEM);
	for (size_t i = 0; i < b->sites.len; i++) {
		const struct hl_value *v = hl_overview_site_value(&b->sites.data[i], id);

		if (v->bytes == 0 && (v->blocks == 0 || !counts_empty_blocks(id)))
			continue;
		hl_value_add(&l->total, v);
		l->sites[l->all++] = (uint32_t)i;
	}
	if (l->all > 1)
		qsort_r(l->sites, l->all, sizeof(*l->sites), compare_sites, &order);
	if (b->opt->rows && id == HL_OVERVIEW_GROWING)
		promoted = promote_verdicts(b, l);
	l->n = count_rows(b, l, id, promoted);
	if (b->opt->rows && id == HL_OVERVIEW_CHURNING)
		keep_most_blocks(b, l);
	return 0;
}

int hl_overview_mark_ambiguous_sites(struct hl_overview_builder *b)
{
	struct hl_pair_map seen = {0};
	int err = 0;

	for (uint32_t i = 0; i < b->sites.len && !err; i++) {
		struct hl_overview_site *s = &b->sites.data[i], *lookalike;
		const struct hl_frame *f = hl_model_frame(b->m, s->frame);
		uint32_t first;

		err = hl_frame_find_lookalike(&seen, 0, f, i, &first);
		if (err)
			break;
		lookalike = &b->sites.data[first];
		if (strcmp(hl_model_frame(b->m, lookalike->frame)->function, f->function) != 0)
			s->full_name = lookalike->full_name = true;
	}
	hl_pair_map_fini(&seen);
	return err ? hl_model_fail(b->m, err) : 0;
}

int hl_overview_make_lists(struct hl_overview_builder *b)
{
	struct hl_overview *o = b->o;
	int err = 0;

	for (int i = 0; i < HL_OVERVIEW_LISTS; i++) {
		o->lists[i].state = i == HL_OVERVIEW_HELD      ? o->peak_state
				    : i == HL_OVERVIEW_GROWING ? o->trend_state
							       : HL_OVERVIEW_KNOWN;
		if (o->sites_state != HL_OVERVIEW_KNOWN && o->lists[i].state == HL_OVERVIEW_KNOWN)
			o->lists[i].state = o->sites_state;
	}
	if (o->trend_state == HL_OVERVIEW_KNOWN && !has_all_points(o))
		o->lists[HL_OVERVIEW_GROWING].state = HL_OVERVIEW_NOT_KNOWN;
	for (int i = 0; i < HL_OVERVIEW_LISTS && !err; i++) {
		if (o->lists[i].state == HL_OVERVIEW_KNOWN)
			err = make_list(b, i);
	}
	return err;
}
