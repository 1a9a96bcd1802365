/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_readers.h - do two readers answer alike? For tests that compare a reader that has grown
 * with one that was opened now.
 *
 * hl_readers_differ() returns NULL, or what differs. Both readers are asked in the same order, so
 * that they find the same damage.
 */
#ifndef HL_TRACE_COMPARE_READERS_H
#define HL_TRACE_COMPARE_READERS_H

#include <stdlib.h>
#include <string.h>

#include "trace/read/reader.h"

/* NULL and "" are different. */
static inline bool hl_readers_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static inline const char *hl_readers_differ_in_info(struct hl_reader *ra, struct hl_reader *rb)
{
	const struct hl_trace_info *a, *b;
	int err = hl_reader_info(ra, &a);

	if (hl_reader_info(rb, &b) != err)
		return "the error of info";
	if (a->end.kind != b->end.kind || a->end.value != b->end.value ||
		a->end.duration_ns != b->end.duration_ns || a->end.oom != b->end.oom ||
		a->end.other_traces != b->end.other_traces || a->has_end != b->has_end)
		return "the end";
	if (memcmp(&a->totals, &b->totals, sizeof(a->totals)) != 0 ||
		a->has_lifetimes != b->has_lifetimes)
		return "the totals";
	if (memcmp(&a->counters, &b->counters, sizeof(a->counters)) != 0)
		return "the counters";
	if (memcmp(&a->aggregated, &b->aggregated, sizeof(a->aggregated)) != 0)
		return "the aggregated sums";
	if (a->threads != b->threads || a->n_event_chunks != b->n_event_chunks ||
		a->n_keyframes != b->n_keyframes || a->file_bytes != b->file_bytes)
		return "a number of info";
	if (a->stops != b->stops || a->mode_changes != b->mode_changes || a->pauses != b->pauses)
		return "the mode changes";
	if (a->unwritten.error != b->unwritten.error || a->unwritten.events != b->unwritten.events)
		return "the unwritten events";
	if (a->damaged != b->damaged || strcmp(a->damage, b->damage) != 0 ||
		a->lost_chunks != b->lost_chunks || a->lost_events != b->lost_events ||
		a->base_lost != b->base_lost)
		return "the damage";
	if (!hl_readers_same_text(a->meta.program, b->meta.program) || a->meta.pid != b->meta.pid ||
		!hl_readers_same_text(a->meta.mode, b->meta.mode) ||
		memcmp(&a->meta.base, &b->meta.base, sizeof(a->meta.base)) != 0)
		return "META";
	return NULL;
}

static inline const char *hl_readers_differ_in_nodes(struct hl_reader *a, struct hl_reader *b)
{
	uint32_t na, nb;
	int err = hl_reader_n_nodes(a, &na);

	if (hl_reader_n_nodes(b, &nb) != err || na != nb)
		return "the number of nodes";
	for (uint32_t i = 0; i < na; i++) {
		struct hl_node x = {0}, y = {0};

		err = hl_reader_node(a, i, &x);
		if (hl_reader_node(b, i, &y) != err || x.parent != y.parent ||
			x.module != y.module || x.offset != y.offset)
			return "a node";
	}
	err = hl_reader_n_modules(a, &na);
	if (hl_reader_n_modules(b, &nb) != err || na != nb)
		return "the number of modules";
	for (uint32_t i = 0; i < na; i++) {
		struct hl_module x = {.path = ""}, y = {.path = ""};

		err = hl_reader_module(a, i, &x);
		if (hl_reader_module(b, i, &y) != err || strcmp(x.path, y.path) != 0 ||
			x.build_id_len != y.build_id_len)
			return "a module";
	}
	return NULL;
}

static inline const char *hl_readers_differ_in_roles(struct hl_reader *a, struct hl_reader *b)
{
	const struct hl_role *ra, *rb;
	uint32_t na, nb;
	int err = hl_reader_n_threads(a, &na);

	if (hl_reader_n_threads(b, &nb) != err || na != nb)
		return "the number of threads";
	for (uint32_t i = 0; i < na; i++) {
		uint64_t x = 0, y = 0;

		err = hl_reader_thread(a, i, &x);
		if (hl_reader_thread(b, i, &y) != err || x != y)
			return "a thread";
	}
	hl_reader_n_tags(a, &na);
	hl_reader_n_tags(b, &nb);
	if (na != nb)
		return "the number of tags";
	for (uint32_t i = 0; i < na; i++) {
		struct hl_tag x = {.name = ""}, y = {.name = ""};

		err = hl_reader_tag(a, i, &x);
		if (hl_reader_tag(b, i, &y) != err || strcmp(x.name, y.name) != 0 ||
			x.parent != y.parent)
			return "a tag";
	}
	hl_reader_roles(a, &ra, &na);
	hl_reader_roles(b, &rb, &nb);
	if (na != nb || (na > 0 && memcmp(ra, rb, na * sizeof(*ra)) != 0))
		return "the roles";
	return NULL;
}

static inline bool hl_readers_same_chunk(
	const struct hl_chunk_info *a, const struct hl_chunk_info *b)
{
	return a->lost == b->lost && a->header_lost == b->header_lost && a->seq == b->seq &&
	       a->first_event == b->first_event && a->first_ordinal == b->first_ordinal &&
	       a->n_events == b->n_events && a->n_extras == b->n_extras && a->t0_ns == b->t0_ns &&
	       a->t1_ns == b->t1_ns && a->live_bytes == b->live_bytes &&
	       a->live_blocks == b->live_blocks && a->max_live_bytes == b->max_live_bytes &&
	       a->has_summary == b->has_summary && a->disjoint == b->disjoint;
}

static inline bool hl_readers_same_keyframe(
	const struct hl_keyframe_info *a, const struct hl_keyframe_info *b)
{
	return a->lost == b->lost && a->first_event == b->first_event && a->time_ns == b->time_ns &&
	       a->chunk == b->chunk && a->disjoint == b->disjoint && a->snapshot == b->snapshot &&
	       a->live_bytes == b->live_bytes && a->live_blocks == b->live_blocks &&
	       a->max_live_bytes == b->max_live_bytes;
}

static inline const char *hl_readers_differ_in_lists(struct hl_reader *a, struct hl_reader *b)
{
	if (hl_reader_n_chunks(a) != hl_reader_n_chunks(b))
		return "the number of chunks";
	for (size_t i = 0; i < hl_reader_n_chunks(a); i++)
		if (!hl_readers_same_chunk(hl_reader_chunk(a, i), hl_reader_chunk(b, i)))
			return "a chunk";
	if (hl_reader_n_keyframes(a) != hl_reader_n_keyframes(b))
		return "the number of keyframes";
	for (size_t i = 0; i < hl_reader_n_keyframes(a); i++)
		if (!hl_readers_same_keyframe(hl_reader_keyframe(a, i), hl_reader_keyframe(b, i)))
			return "a keyframe";
	if (hl_reader_n_live_sets(a) != hl_reader_n_live_sets(b))
		return "the number of live sets";
	for (size_t i = 0; i < hl_reader_n_live_sets(a); i++)
		if (memcmp(hl_reader_live_set(a, i), hl_reader_live_set(b, i),
			    sizeof(struct hl_live_set_info)) != 0)
			return "a live set";
	if (hl_reader_n_base_chunks(a) != hl_reader_n_base_chunks(b) ||
		hl_reader_base_keyframe(a) != hl_reader_base_keyframe(b))
		return "the base";
	return NULL;
}

static inline const char *hl_readers_differ_in_rss(struct hl_reader *a, struct hl_reader *b)
{
	struct hl_rss_sample *sa, *sb;
	size_t na, nb;
	int err = hl_reader_rss(a, &sa, &na);
	bool same = hl_reader_rss(b, &sb, &nb) == err && na == nb &&
		    (na == 0 || memcmp(sa, sb, na * sizeof(*sa)) == 0);

	free(sa);
	free(sb);
	return same ? NULL : "the RSS samples";
}

static inline const char *hl_readers_differ_in_files(struct hl_reader *a, struct hl_reader *b)
{
	const struct hl_name_frame *fa = NULL, *fb = NULL;
	size_t na, nb;
	int err = hl_reader_n_files(a, &na);

	if (hl_reader_n_files(b, &nb) != err || na != nb)
		return "the number of files";
	for (size_t i = 0; i < na; i++) {
		struct hl_embedded_file x, y;

		if (hl_reader_file(a, i, &x) || hl_reader_file(b, i, &y) ||
			strcmp(x.path, y.path) != 0 || x.size != y.size)
			return "a file";
	}
	err = hl_reader_names(a, 0, 16, &fa, &na);
	if (hl_reader_names(b, 0, 16, &fb, &nb) != err || na != nb)
		return "the names";
	for (size_t i = 0; i < na; i++)
		if (strcmp(fa[i].function, fb[i].function) != 0)
			return "a name";
	return NULL;
}

/* The events of the last chunk, and the sums of the last keyframe. */
static inline const char *hl_readers_differ_in_last(struct hl_reader *a, struct hl_reader *b)
{
	struct hl_chunk_events ca = {0}, cb = {0};
	size_t n = hl_reader_n_chunks(a), keys = hl_reader_n_keyframes(a);
	const char *what = NULL;
	struct hl_totals ta, tb;

	memset(&ta, 0, sizeof(ta));
	memset(&tb, 0, sizeof(tb));
	if (n > 0) {
		int err = hl_reader_decode(a, n - 1, &ca);

		if (hl_reader_decode(b, n - 1, &cb) != err || ca.n_events != cb.n_events ||
			ca.n_extras != cb.n_extras ||
			(ca.n_events && memcmp(ca.events, cb.events,
						ca.n_events * sizeof(*ca.events)) != 0))
			what = "the events of the last chunk";
	}
	if (!what && keys > 0) {
		int err = hl_reader_keyframe_totals(a, keys - 1, &ta);

		if (hl_reader_keyframe_totals(b, keys - 1, &tb) != err ||
			memcmp(&ta, &tb, sizeof(ta)) != 0)
			what = "the totals of the last keyframe";
	}
	hl_chunk_events_free(&ca);
	hl_chunk_events_free(&cb);
	return what;
}

static inline const char *hl_readers_differ(struct hl_reader *a, struct hl_reader *b)
{
	static const char *(*const parts[])(struct hl_reader *, struct hl_reader *) = {
		hl_readers_differ_in_info, hl_readers_differ_in_nodes, hl_readers_differ_in_roles,
		hl_readers_differ_in_lists, hl_readers_differ_in_rss, hl_readers_differ_in_files,
		hl_readers_differ_in_last};
	const char *what = NULL;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !what; i++)
		what = parts[i](a, b);
	return what;
}

#endif
