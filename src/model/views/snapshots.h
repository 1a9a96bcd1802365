/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshots.h - a recording as a list of moments, and the changes between them: by stack, in bytes
 * and blocks, exact in every mode.
 *
 * The moments are the snapshots (taken by the recorder or requested by the program) and the end.
 */
#ifndef HL_MODEL_VIEWS_SNAPSHOTS_H
#define HL_MODEL_VIEWS_SNAPSHOTS_H

#include "model/model.h"
#include "model/query/sums.h"
#include "model/query/time_spec.h"

struct hl_moment {
	uint64_t time_ns;
	uint32_t cause;       /* enum hl_snapshot_cause, or a value of a newer version */
	uint64_t threshold;   /* of the cause; 0: none */
	uint64_t churn_bytes; /* churn after which the next snapshot would be taken; 0: never */
	const char *label;    /* owned by the model; "" if it has none */
	size_t mark; /* one-based index of its mark, if it has no keyframe of its own; else 0 */
	struct hl_position position;
	bool is_rotation; /* the end of the file, but not of the run */
};

/* A stack that has changed. */
struct hl_stack_change {
	uint32_t node; /* HL_NODE_NONE: blocks without a stack */
	uint64_t id;   /* hash of the stack: equal for the same stack in other runs */
	struct hl_sums change, total;
};

enum hl_snapshot_list_sort {
	HL_SNAPSHOT_LIST_LIVE,
	HL_SNAPSHOT_LIST_GROWTH,
	HL_SNAPSHOT_LIST_CHURN
};

struct hl_snapshot_list;

/* The word for a cause, for example "churn"; and that of a moment. */
const char *hl_snapshot_cause_name(uint32_t cause);
const char *hl_moment_cause_name(const struct hl_moment *x);
/* Bytes allocated and freed. */
static inline uint64_t hl_sums_churn(const struct hl_sums *s)
{
	return s->alloc_bytes + s->free_bytes;
}

/* Creates the list of moments. The caller frees it with hl_snapshot_list_free. Returns 0 or -errno
 * with hl_model_error(). */
int hl_snapshot_list_new(struct hl_snapshot_list **out, struct hl_model *m);
void hl_snapshot_list_free(struct hl_snapshot_list *log);
size_t hl_snapshot_list_n(const struct hl_snapshot_list *log);
const struct hl_moment *hl_snapshot_list_moment(const struct hl_snapshot_list *log, size_t i);
/* The number of snapshots before those of the list: those before the base of a trace that begins
 * late. Users see i + this as the number of moment i. */
uint64_t hl_snapshot_list_before(const struct hl_snapshot_list *log);
/* Does moment 0 stand for the base, not for the start of the run? */
bool hl_snapshot_list_is_late(const struct hl_snapshot_list *log);
/* The position of the moment, for queries. */
struct hl_time_spec hl_moment_time_spec(const struct hl_moment *x);

/*
 * The changes from moment `from` to moment `to`, counted from 1; 0 is the start, or the base of a
 * trace that begins late. Calls in order,
 * each from the last moment to the next, are the cheapest. The list owns the sources until the next
 * call.
 */
struct hl_snapshot_changes {
	struct hl_stack_change *sources; /* sorted in descending order */
	size_t n;
	struct hl_sums change, total; /* of all stacks */
	/* before_damage: the requested moment is damaged; time_ns is the latest one before it. */
	uint64_t time_ns;
	bool before_damage;
};
int hl_snapshot_list_changes(struct hl_snapshot_list *log, size_t from, size_t to,
	enum hl_snapshot_list_sort sort, struct hl_snapshot_changes *page);

/* The bytes by which sources are sorted. */
int64_t hl_stack_change_rank(const struct hl_stack_change *s, enum hl_snapshot_list_sort sort);

#endif
