/* SPDX-License-Identifier: Apache-2.0 */
/*
 * short_lived.c - see short_lived.h.
 */
#include "model/totals/short_lived.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model/model_internal.h"
#include "model/query/query_plan.h"
#include "model/scan/lifetime_class.h"
#include "model/scan/shared_scan.h"
#include "util/safe_text.h"

const uint64_t hl_short_lived_bounds[HL_SHORT_LIVED_BOUNDS] = {1024, 98304, 10485760};

struct lifetimes {
	struct hl_scan_consumer reading;
	struct hl_model *m;
	struct hl_position to;
	uint64_t blocks[HL_LIFETIME_CLASSES_MAX]; /* freed blocks by lifetime class */
	uint64_t allocations;
};

/* --- a trace without these sums --- */

static int plan_chunks(struct hl_scan_consumer *r)
{
	struct lifetimes *l = r->arg;

	l->to = hl_position_at(l->m, UINT64_MAX);
	hl_scan_consumer_up_to(r, l->m, &l->to);
	return 0;
}

static int begin_scan(void *arg)
{
	struct lifetimes *l = arg;

	memset(l->blocks, 0, sizeof(l->blocks));
	l->allocations = 0;
	return 0;
}

static int want_times(void *arg, size_t chunk, unsigned *want)
{
	*want = HL_WANT_TIME;
	return 0;
}

static int add_chunk(void *arg, size_t chunk, const struct hl_chunk_events *events)
{
	struct lifetimes *l = arg;

	for (size_t i = 0; i < events->n_events; i++) {
		const struct hl_event *e = &events->events[i];

		if (e->op == HL_OP_FREE)
			l->blocks[e->lifetime_class] += e->blocks;
		else
			l->allocations += e->blocks;
	}
	return 0;
}

static int refuse(struct hl_model *m, const char *why)
{
	snprintf(m->error, sizeof(m->error), "%s", why);
	return -ENODATA;
}

static int read_events(struct hl_model *m, uint64_t max_events, struct lifetimes *l)
{
	int err = hl_model_require(
		m, HL_NEEDS_EVENTS | HL_NEEDS_ORDER, "the share of short-lived blocks");

	if (err)
		return err;
	if (hl_model_base(m)->is_late)
		return refuse(m, "the lifetimes of blocks from before the begin of this trace are "
				 "not in it");
	if (m->info->totals.events > max_events)
		return refuse(m,
			"this trace has no sums of lifetimes; report --lifetimes reads all events");
	l->m = m;
	l->reading = (struct hl_scan_consumer){.plan = plan_chunks,
		.begin = begin_scan,
		.want = want_times,
		.chunk = add_chunk,
		.arg = l};
	return hl_scan(m, &l->reading, NULL);
}

/* --- the bound --- */

static uint64_t count_below(const struct lifetimes *l, uint64_t bound_ns)
{
	unsigned end = hl_lifetime_class(bound_ns);
	uint64_t n = 0;

	for (unsigned i = 0; i < end; i++)
		n += l->blocks[i];
	return n;
}

/* In a short run no block lives long. */
static size_t count_bounds(uint64_t run_ns)
{
	size_t n = 1;

	while (n < HL_SHORT_LIVED_BOUNDS && hl_short_lived_bounds[n] <= run_ns / 10)
		n++;
	return n;
}

size_t hl_short_lived_choose(const uint64_t below[HL_SHORT_LIVED_BOUNDS], uint64_t run_ns)
{
	size_t i = count_bounds(run_ns) - 1;
	uint64_t most = below[i];

	while (most > 0 && i > 0 && below[i - 1] >= (most + 1) / 2)
		i--;
	return i;
}

static void choose_bound(const struct lifetimes *l, uint64_t run_ns, struct hl_short_lived *s)
{
	uint64_t below[HL_SHORT_LIVED_BOUNDS];
	size_t i;

	for (i = 0; i < HL_SHORT_LIVED_BOUNDS; i++)
		below[i] = count_below(l, hl_short_lived_bounds[i]);
	i = hl_short_lived_choose(below, run_ns);
	*s = (struct hl_short_lived){.bound_ns = hl_short_lived_bounds[i],
		.blocks = below[i],
		.allocations = l->allocations};
}

int hl_short_lived_find(struct hl_model *m, uint64_t max_events, struct hl_short_lived *s)
{
	struct lifetimes l = {.allocations = m->info->totals.sums.alloc_blocks};
	int err = 0;

	*s = (struct hl_short_lived){0};
	if (m->info->meta.unknown & (HL_UNKNOWN_TIMES | HL_UNKNOWN_LIFETIMES | HL_UNKNOWN_ORDER)) {
		snprintf(m->error, sizeof(m->error),
			"lifetimes are not known: the trace was imported from %.200s, which does "
			"not have them",
			m->info->meta.source);
		return -ENODATA;
	}
	if (strcmp(m->info->meta.clock, "counter") == 0)
		return refuse(m, "lifetimes are not known: the recording has only the order of "
				 "events, and one time for many of them (--clock=counter)");
	if (m->info->has_lifetimes)
		memcpy(l.blocks, m->info->totals.lifetimes, sizeof(l.blocks));
	else
		err = read_events(m, max_events, &l);
	if (!err)
		choose_bound(&l, hl_model_end_ns(m), s);
	if (!err && s->blocks > s->allocations) /* a forged file */
		err = refuse(m, "lifetimes are not known: their sums contradict the allocations");
	return err;
}

double hl_short_lived_percent(const struct hl_short_lived *s)
{
	return s->allocations ? (double)s->blocks * 100 / (double)s->allocations : 0;
}

char *hl_short_lived_bound_text(char *buf, uint64_t bound_ns)
{
	static const char *const texts[HL_SHORT_LIVED_BOUNDS] = {
		"about 1 us", "about 100 us", "about 10 ms"};

	for (size_t i = 0; i < HL_SHORT_LIVED_BOUNDS; i++) {
		if (hl_short_lived_bounds[i] == bound_ns) {
			snprintf(buf, HL_TEXT_SIZE_MAX, "%s", texts[i]);
			return buf;
		}
	}
	return hl_text_duration(buf, bound_ns);
}
