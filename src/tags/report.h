/*
 * report.h - the counters of all scopes at one moment, added up: what every output is made from.
 *
 * Rows of one thread lie together, the thread's own first: what it did outside any scope. A parent
 * comes before its children. Names are not the report's.
 */
#ifndef HL_TAGS_REPORT_H
#define HL_TAGS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tags/layout.h"

#define HL_TAG_NO_ROW          UINT32_MAX
#define HL_TAG_ENTERED_UNKNOWN UINT64_MAX

struct hl_tag_sums {
	uint64_t alloc_bytes, alloc_blocks;
	uint64_t free_bytes, free_blocks;
};

struct hl_tag_row {
	const char *name;
	uint32_t name_len;
	uint32_t id;
	uint32_t parent; /* HL_TAG_NO_ROW: a thread */
	uint32_t thread;
	uint32_t child, sibling; /* by hl_tag_report_settle(); the largest first */
	uint64_t entered;
	uint64_t calls[HL_TAG_CALLS];
	struct hl_tag_sums self;
	struct hl_tag_sums total; /* with all below; by hl_tag_report_settle() */
};

struct hl_tag_thread {
	const char *name;
	uint32_t name_len;
	uint32_t tid;
	uint64_t owners;        /* threads that counted here, one after another */
	uint64_t unbalanced;    /* pops without a push, scopes left open or by another thread */
	uint64_t failed;        /* pushes without memory */
	struct hl_tag_sums off; /* while counting was disabled */
	uint32_t first, n;      /* its rows */
};

struct hl_tag_report {
	uint64_t pid;
	int64_t start_s, time_s; /* Unix time: counting began, and now */
	bool owner;              /* a free is charged to who owns the block, not to who frees */
	bool requested; /* bytes are those that were asked for, not those that were given */
	uint64_t vm_bytes, rss_bytes;
	uint64_t used_bytes, free_bytes, mapped_bytes; /* in the allocator's own words */
	bool allocator_known;                          /* whether it has said any */
	uint64_t own_bytes;                            /* what counting takes */
	uint64_t before_bytes, before_freed;
	uint64_t unsettled; /* nodes that changed each time they were looked at */
	struct hl_tag_thread *threads;
	uint32_t n_threads;
	struct hl_tag_row *rows;
	uint32_t n_rows;
	struct hl_tag_sums all; /* by hl_tag_report_settle() */
};

/* How every output says it. */
const char *hl_tag_charge(const struct hl_tag_report *r);

void hl_tag_sums_add(struct hl_tag_sums *to, const struct hl_tag_sums *from);
static inline int64_t hl_tag_live_bytes(const struct hl_tag_sums *s)
{
	return (int64_t)(s->alloc_bytes - s->free_bytes);
}
static inline int64_t hl_tag_live_blocks(const struct hl_tag_sums *s)
{
	return (int64_t)(s->alloc_blocks - s->free_blocks);
}
/* Of all that was allocated, in hundredths of a percent. */
uint64_t hl_tag_share(const struct hl_tag_report *r, uint64_t bytes);

/* The numbers of a node that was copied whole. */
void hl_tag_sums_of(struct hl_tag_sums *to, const struct hl_tag_node *n);
/* Totals, and children in order. */
void hl_tag_report_settle(struct hl_tag_report *r);
/* The row after `i` of a walk that visits parents before children, from a thread's first row on;
 * HL_TAG_NO_ROW after the last. *depth follows. */
uint32_t hl_tag_report_next(const struct hl_tag_report *r, uint32_t i, uint32_t *depth);
/* The sums of all rows whose path is "THREAD/SCOPE/SCOPE"; the thread * is any. False: none. */
bool hl_tag_report_find(const struct hl_tag_report *r, const char *path, struct hl_tag_row *sum);

struct hl_sink;
void hl_tag_json(struct hl_sink *s, const struct hl_tag_report *r);
void hl_tag_dot(struct hl_sink *s, const struct hl_tag_report *r);
/* Scopes with less than `least` hundredths of a percent of all are not shown but counted. */
void hl_tag_text(struct hl_sink *s, const struct hl_tag_report *r, uint64_t least);

#endif
