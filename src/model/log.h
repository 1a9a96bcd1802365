/*
 * log.h - a recording as a list of moments, and what changed from each to the next: by stack, in
 * bytes and blocks, exact in every mode.
 *
 * The moments are the snapshots, those that the recorder made by itself and those that the program
 * asked for, and the end.
 */
#ifndef HL_MODEL_LOG_H
#define HL_MODEL_LOG_H

#include "model/model.h"
#include "model/sums.h"

struct hl_moment {
	uint64_t time_ns;
	uint32_t cause;       /* enum hl_snapshot_cause, or a newer one */
	uint64_t threshold;   /* of the cause; 0: none */
	uint64_t churn_bytes; /* after which the next would have come; 0: never */
	const char *label;    /* the model's; "" without one */
	struct hl_place place;
};

/* One stack that has changed. */
struct hl_source {
	uint32_t node; /* HL_NODE_NONE: blocks without a stack */
	uint64_t id;   /* of the stack: the same for the same stack in other runs */
	struct hl_sums change, total;
};

enum hl_log_sort { HL_LOG_LIVE, HL_LOG_GROWTH, HL_LOG_CHURN };

struct hl_log;

/* 0 or -errno with hl_model_error(). */
int hl_log_new(struct hl_log **out, struct hl_model *m);
void hl_log_free(struct hl_log *log);
size_t hl_log_n(const struct hl_log *log);
const struct hl_moment *hl_log_moment(const struct hl_log *log, size_t i);

/*
 * What changed from moment `from` to moment `to`, numbered from 1; 0 is the start. The cheapest in
 * order, each from the one before. The sources are the log's until the next call.
 */
struct hl_log_page {
	struct hl_source *sources; /* sorted, the largest first */
	size_t n;
	struct hl_sums change, total; /* of all stacks */
	/* The moment; moved: what was asked for is lost, and this is the latest before it. */
	uint64_t time_ns;
	bool moved;
};
int hl_log_between(struct hl_log *log, size_t from, size_t to, enum hl_log_sort sort,
	struct hl_log_page *page);

/* Bytes of change by which sources are sorted. */
int64_t hl_source_rank(const struct hl_source *s, enum hl_log_sort sort);

#endif
