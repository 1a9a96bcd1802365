/* SPDX-License-Identifier: Apache-2.0 */
/* truth.h - the complete contents of an intact trace, and a comparison of a damaged one with it. */
#ifndef HL_TESTS_TRACE_TRUTH_H
#define HL_TESTS_TRACE_TRUTH_H

#include "trace/read/reader.h"

struct truth_chunk {
	struct hl_chunk_info info;
	struct hl_chunk_events events;
	struct hl_summary summary;
};

struct truth_keyframe {
	struct hl_keyframe_info info;
	struct hl_node_totals *nodes;
	struct hl_totals totals;
};

struct truth {
	struct truth_chunk *chunks;
	size_t n_chunks;
	struct truth_keyframe *keyframes;
	size_t n_keyframes;
	struct hl_trace_info info;
	struct hl_node *nodes;
	uint32_t n_nodes, n_threads, n_tags, n_modules;
	struct hl_live_block *live;
	size_t n_live;
	struct hl_rss_sample *rss;
	size_t n_rss;
};

/*
 * The parts of a damaged file that could be read. All of them were equal to the truth, or `wrong`
 * says which were not.
 */
struct seen {
	bool refused;
	char why[512];
	const char *wrong;
	size_t good_chunks, bad_chunks, good_summaries, good_keyframes, good_sets, rss;
	uint32_t nodes, threads, modules;
	uint64_t lost_chunks, lost_events, events;
	bool damaged, has_end, lost_exact;
	uint8_t end_kind;
	char damage[512];
};

void truth_read(struct truth *t, const char *path);
void truth_free(struct truth *t);
/* Reads everything in the file at path and compares it with the truth. */
void truth_compare(const struct truth *t, const char *path, struct seen *seen);
/* Reads everything and compares nothing: for files that were never valid. */
void read_all(const char *path);

#endif
