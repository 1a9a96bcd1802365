/*
 * log.h - snapshots as text in the form of pmem's log, and as JSON (docs/json.md).
 */
#ifndef HL_VIEWS_TEXT_LOG_H
#define HL_VIEWS_TEXT_LOG_H

#include <stdio.h>

#include "model/log.h"
#include "model/start.h"
#include "util/json.h"

/* "churn" */
const char *hl_snapshot_cause_name(uint32_t cause);

/* What the numbers of hl_text_log() mean, and their unit; since: "since the snapshot before". */
void hl_text_log_legend(FILE *out, const struct hl_model *m, const char *since);
/* From one moment to another; starts: frames that are left out, or NULL; limit 0: all sources. 0 or
 * -errno. */
int hl_text_log(FILE *out, struct hl_model *m, const struct hl_log *log, size_t from, size_t to,
	const struct hl_log_page *page, const struct hl_starts *starts, size_t limit);
/* An object in an array that the caller has begun. */
int hl_json_log(struct hl_json *j, struct hl_model *m, const struct hl_log *log, size_t from,
	size_t to, const struct hl_log_page *page);

#endif
