/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshots_text.h - snapshots as text in the form of pmem's log.
 */
#ifndef HL_VIEWS_TEXT_SNAPSHOTS_TEXT_H
#define HL_VIEWS_TEXT_SNAPSHOTS_TEXT_H

#include <stdio.h>

#include "model/views/snapshots.h"
#include "model/stack/runtime_frames.h"
#include "views/text/text.h"

/* Explains the values of hl_text_log_changes() and their units. since: "since the snapshot
 * before". */
void hl_text_log_legend(
	FILE *out, const struct hl_model *m, const char *since, const struct hl_text_opts *opts);
/* Prints the changes between two moments. starts: frames to omit, or NULL; limit 0: all sources.
 * Returns 0 or -errno. */
int hl_text_log_changes(FILE *out, struct hl_model *m, const struct hl_snapshot_list *log,
	size_t from, size_t to, const struct hl_snapshot_changes *page,
	const struct hl_runtime_frames *starts, size_t limit, const struct hl_text_opts *opts);

#endif
