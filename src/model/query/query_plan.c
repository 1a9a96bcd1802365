/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_plan.c - what a trace can answer, and how; see query_plan.h.
 *
 * Keyframes and summaries are used whenever they suffice.
 */
#include "model/query/query_plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "model/query/sums_by_key.h"
#include "model/query/suppress.h"
#include "model/scan/block_stream.h"
#include "model/views/import_limits.h"
#include "util/safe_text.h"

/* --- what a trace lacks --- */

static int refuse_order(struct hl_model *m, const char *what)
{
	snprintf(m->error, sizeof(m->error),
		"%s needs the order of events, which is not known: the trace was imported from "
		"%.200s, which has only sums; use --leaks for memory in use or --allocated for all "
		"allocations",
		what, m->info->meta.source);
	return -ENODATA;
}

static int refuse_events(struct hl_model *m, const char *what)
{
	char held[HL_TEXT_SIZE_MAX], all[HL_TEXT_SIZE_MAX];

	snprintf(m->error, sizeof(m->error),
		"%s needs every event, but the trace has only sums of %s of %s blocks (mode %s); "
		"peak, leaks and allocated by stack, and heaplapse log, are exact; record with "
		"--mode=trace to get every event",
		what, hl_text_count(held, m->info->aggregated.alloc_blocks),
		hl_text_count(all, m->info->totals.sums.alloc_blocks), hl_model_sums_mode(m));
	return -ENODATA;
}

static int refuse_adjacency(struct hl_model *m)
{
	snprintf(m->error, sizeof(m->error),
		"blocks freed by the very next event are not known: the recording has samples, and "
		"the events between them are missing; use --temporary=TIME for short-lived blocks");
	return -ENODATA;
}

/* Data that is recorded only with an option. */
static int refuse_unrecorded(struct hl_model *m, const char *data, const char *option)
{
	if (hl_model_is_imported(m))
		snprintf(m->error, sizeof(m->error),
			"this trace has no %s: it was imported from %.200s, which does not have "
			"them",
			data, m->info->meta.source);
	else
		snprintf(m->error, sizeof(m->error),
			"this trace has no %s: record the program with heaplapse record %s", data,
			option);
	return -ENODATA;
}

static int refuse_map_samples(struct hl_model *m)
{
	if (!m->info->meta.record_mmap)
		return refuse_unrecorded(m, "samples of mappings", "--mmap");
	snprintf(m->error, sizeof(m->error),
		"this trace has no samples of mappings: the program ended before the first one "
		"(record it with --exit-wait=2s, too), or its /proc/PID/smaps could not be read "
		"(record --log-level=warn shows why)");
	return -ENODATA;
}

int hl_model_require(struct hl_model *m, unsigned needs, const char *what)
{
	if (needs & HL_NEEDS_FREE_STACKS && !m->info->meta.free_stacks)
		return refuse_unrecorded(m, "stacks of frees", "--free-stacks");
	if (needs & HL_NEEDS_MMAPS && !m->info->meta.record_mmap)
		return refuse_unrecorded(m, "mappings", "--mmap");
	if (needs & HL_NEEDS_MAP_SAMPLES && !m->info->n_map_samples)
		return refuse_map_samples(m);
	if (needs & HL_NEEDS_ORDER && !hl_model_has_event_order(m))
		return refuse_order(m, what);
	if (needs & HL_NEEDS_ADJACENCY && !hl_model_has_adjacency(m))
		return refuse_adjacency(m);
	if (needs & HL_NEEDS_EVENTS && hl_model_has_aggregated(m))
		return refuse_events(m, what);
	return 0;
}

int hl_model_require_blocks(struct hl_model *m, const struct hl_time_spec *when, const char *what)
{
	const struct hl_sums *s = &m->info->aggregated;

	if (when->kind == HL_TIME_SPEC_END && m->info->has_end && s->alloc_blocks == s->free_blocks)
		return 0;
	return hl_model_require(m, HL_NEEDS_EVENTS, what);
}

int hl_model_require_known(struct hl_model *m, uint32_t needs, const char *what)
{
	uint32_t lacks = needs & m->info->meta.unknown;
	struct hl_strbuf b = {0};

	if (!lacks)
		return 0;
	hl_import_limits_describe(&b, lacks);
	snprintf(m->error, sizeof(m->error),
		"%s needs data that the trace does not have: %s; it was imported from %.200s", what,
		hl_strbuf_str(&b), m->info->meta.source);
	hl_strbuf_fini(&b);
	return -ENODATA;
}

/* --- the method --- */

bool hl_query_is_peak_before_base(const struct hl_model *m, const struct hl_query *q)
{
	return q->quantity == HL_QUANTITY_LIVE && q->to.kind == HL_TIME_SPEC_PEAK &&
	       hl_model_peak_is_before_base(m);
}

/* Keyframes and summaries have neither growth nor temporary blocks, nor the accuracy of
 * estimates. */
static const char *find_reason(const struct hl_model *m, const struct hl_query *q)
{
	unsigned subjects = q->filter ? hl_filter_subjects(q->filter) : 0;

	if (q->decode)
		return "sums must not be used";
	if (q->pool)
		return "blocks of pools are in no sum";
	if (hl_model_has_estimates(m) && !hl_model_has_aggregated(m) &&
		!hl_query_is_peak_before_base(m, q))
		return "the accuracy of estimates is in no sum";
	if (q->quantity != HL_QUANTITY_LIVE && q->quantity != HL_QUANTITY_ALLOCATED)
		return "the lifetimes of single blocks are in no sum";
	if (q->key != HL_KEY_STACK && !hl_key_sums_has_key(q->key))
		return "there are no sums by this group";
	if (subjects & ~HL_FILTER_STACK)
		return "the filter is about single blocks";
	if (q->key != HL_KEY_STACK && (subjects || q->suppressions))
		return "sums by this group are not by stack";
	if (q->suppressions && hl_suppressions_need_calls(q->suppressions))
		return "the suppressions are about the called function";
	return NULL;
}

bool hl_query_sums_suffice(const struct hl_model *m, const struct hl_query *q)
{
	return !find_reason(m, q);
}

/* A profile has no moments but its start and its end. */
static unsigned find_needs(const struct hl_query *q)
{
	unsigned subjects = q->filter ? hl_filter_subjects(q->filter) : 0, needs = 0;

	if (q->to.kind != HL_TIME_SPEC_END || q->from.kind != HL_TIME_SPEC_NS || q->from.ns > 0 ||
		q->quantity == HL_QUANTITY_TEMPORARY || q->key == HL_KEY_LIFETIME ||
		q->key == HL_KEY_INTERVAL || subjects & (HL_FILTER_TIME | HL_FILTER_FREE_TIME))
		needs |= HL_NEEDS_ORDER;
	if (q->quantity == HL_QUANTITY_TEMPORARY && !q->temporary_ns)
		needs |= HL_NEEDS_ADJACENCY;
	return needs;
}

/* Quantities of a moment need only the blocks that are live there. */
static int require_events(struct hl_model *m, const struct hl_query *q)
{
	if (q->quantity == HL_QUANTITY_LIVE || q->quantity == HL_QUANTITY_GROWTH)
		return hl_model_require_blocks(m, &q->to, "this");
	return hl_model_require(m, HL_NEEDS_EVENTS, "this");
}

int hl_query_plan(struct hl_model *m, const struct hl_query *q, struct hl_query_plan *p)
{
	int err = hl_model_require(m, find_needs(q), "this");

	p->reason = find_reason(m, q);
	p->method = p->reason                ? HL_METHOD_EVENTS
		    : q->key == HL_KEY_STACK ? HL_METHOD_STACK_SUMS
					     : HL_METHOD_KEY_SUMS;
	return err || p->method == HL_METHOD_STACK_SUMS ? err : require_events(m, q);
}

int hl_query_plan_blocks(struct hl_model *m, const struct hl_query *q)
{
	int err = hl_model_require(m, HL_NEEDS_ORDER, "a list of single allocations");

	/* Sums may have a peak before the base; its blocks are not in the file. */
	if (!err && q->quantity == HL_QUANTITY_LIVE)
		err = hl_time_spec_check_blocks(&q->to, m);
	return err ? err : require_events(m, q);
}

/* --- in words --- */

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* Chunks are named as `dump` and `info --verify` count them, from 0. */
static void describe_chunks(struct hl_strbuf *b, size_t from, size_t to)
{
	if (to - from == 1)
		hl_strbuf_printf(b, "chunk %zu", from);
	else
		hl_strbuf_printf(b, "chunks %zu to %zu", from, to - 1);
}

static void describe_path(struct hl_model *m, const struct hl_position *p,
	const struct hl_sums_path *w, struct hl_strbuf *b)
{
	char time[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX];
	const char *sign = w->back ? "minus" : "plus";

	if (w->keyframe == SIZE_MAX)
		hl_strbuf_puts(b, "the start, where all sums are 0");
	else
		hl_strbuf_printf(b, "keyframe %zu, at %s", w->keyframe,
			hl_text_duration(
				time, hl_reader_keyframe(m->reader, w->keyframe)->time_ns));
	if (w->to > w->from) {
		hl_strbuf_printf(b, ", %s the summaries of ", sign);
		describe_chunks(b, w->from, w->to);
	}
	if (hl_position_end(p) != p->chunk)
		hl_strbuf_printf(b, ", %s events of chunk %zu (it has %s)", sign, p->chunk,
			hl_text_count(n, hl_reader_chunk(m->reader, p->chunk)->n_events));
}

/* The sums at a moment. */
static void explain_sums(struct hl_model *m, struct hl_position p, struct hl_strbuf *b)
{
	struct hl_sums_path w;

	if (p.is_exact && hl_sums_find_path(m, &p, &w))
		describe_path(m, &p, &w, b);
	else
		hl_strbuf_puts(b, "the latest known moment before a lost part of the file");
}

static void explain_stack_sums(struct hl_model *m, const struct hl_query *q, struct hl_strbuf *b)
{
	if (q->quantity == HL_QUANTITY_LIVE && q->to.kind == HL_TIME_SPEC_PEAK &&
		hl_query_peak_in_keyframe(m)) {
		hl_strbuf_puts(b, "reads the last keyframe, which has the sums at the peak");
		return;
	}
	hl_strbuf_puts(b, "reads ");
	explain_sums(m, hl_query_to(m, &q->to), b);
	if (q->quantity == HL_QUANTITY_LIVE)
		return;
	hl_strbuf_puts(b, "; and for the begin of the range ");
	explain_sums(m, hl_query_from(m, &q->from), b);
}

static uint64_t count_events(const struct hl_model *m, size_t from, size_t to)
{
	uint64_t n = 0;

	for (size_t i = from; i < to && i < hl_reader_n_chunks(m->reader); i++)
		n += hl_reader_chunk(m->reader, i)->n_events;
	return n;
}

static void explain_summaries(struct hl_model *m, const struct hl_query *q, struct hl_strbuf *b)
{
	struct hl_position to = hl_query_to(m, &q->to);
	size_t last = hl_min_u64(hl_position_end(&to), hl_reader_n_chunks(m->reader));
	size_t first = q->quantity == HL_QUANTITY_LIVE ? 0 : hl_query_from(m, &q->from).chunk;

	if (first >= last) {
		hl_strbuf_puts(b, "reads nothing: there is no event in the range");
		return;
	}
	hl_strbuf_puts(b, "reads the summaries of ");
	describe_chunks(b, first, last);
	hl_strbuf_puts(b, ", and the events of those that have none or are cut");
}

/* Live blocks are those of a live set and of the events from there to the moment; others are in the
 * events of the range, and of the frees after it. */
static void explain_events(struct hl_model *m, const struct hl_query *q,
	const struct hl_query_plan *p, struct hl_strbuf *b)
{
	struct hl_block_stream s;
	char text[HL_TEXT_SIZE_MAX];
	size_t first, last;
	uint64_t events;

	hl_query_init_stream(&s, m, q);
	hl_block_stream_init(&s, m);
	if (hl_block_stream_plan(&s)) {
		hl_strbuf_printf(b, "is refused: %s", hl_model_error(m));
		hl_block_stream_fini(&s);
		return;
	}
	first = s.consumer.first;
	last = hl_min_u64(s.consumer.last_end, hl_reader_n_chunks(m->reader));
	events = count_events(m, first, last);
	if (s.start_set != SIZE_MAX)
		hl_strbuf_printf(b, "reads the list of blocks that are live at %s",
			hl_text_duration(
				text, hl_reader_live_set(m->reader, s.start_set)->time_ns));
	if (first < last) {
		hl_strbuf_puts(b,
			s.start_set != SIZE_MAX ? " and the events of " : "reads the events of ");
		describe_chunks(b, first, last);
		hl_strbuf_printf(b, " (%s event%s)", hl_text_count(text, events), plural(events));
	} else if (s.start_set == SIZE_MAX) {
		hl_strbuf_puts(b, "reads nothing: there is no event in the range");
	}
	if (first < last || s.start_set != SIZE_MAX)
		hl_strbuf_printf(b, ", because %s", p->reason);
	hl_block_stream_fini(&s);
}

void hl_query_explain(struct hl_model *m, const struct hl_query *q, struct hl_strbuf *b)
{
	struct hl_query_plan p;
	int err = hl_query_bind(q, m);

	if (!err)
		err = hl_query_plan(m, q, &p);
	if (err)
		hl_strbuf_printf(b, "is refused: %s", hl_model_error(m));
	else if (p.method == HL_METHOD_STACK_SUMS)
		explain_stack_sums(m, q, b);
	else if (p.method == HL_METHOD_KEY_SUMS)
		explain_summaries(m, q, b);
	else
		explain_events(m, q, &p, b);
}
