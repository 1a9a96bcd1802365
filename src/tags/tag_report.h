/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tag_report.h - the counters of all scopes at one moment, summed up: the source of every output.
 *
 * The rows of one thread are adjacent. The first one is the thread itself: its events outside any
 * scope. A parent comes before its children. The report does not own the names.
 */
#ifndef HL_TAGS_TAG_REPORT_H
#define HL_TAGS_TAG_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tags/tag_counters.h"

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
	uint32_t child, sibling; /* set by hl_tag_report_finish(); the largest first */
	uint64_t entered;
	uint64_t calls[HL_TAG_CALLS];
	struct hl_tag_sums self;
	struct hl_tag_sums total; /* with all descendants; set by hl_tag_report_finish() */
};

struct hl_tag_thread {
	const char *name;
	uint32_t name_len;
	uint32_t tid;
	uint64_t owners;     /* number of threads that counted here, one after another */
	uint64_t unbalanced; /* pops without a push, scopes left open or left by another thread */
	uint64_t failed;     /* pushes without memory */
	struct hl_tag_sums disabled_sums; /* while counting was disabled */
	uint32_t first, n;                /* its rows */
};

struct hl_tag_report {
	uint64_t pid;
	int64_t start_s, time_s; /* Unix time: counting began, and now */
	bool charge_owner; /* a free is charged to the owner of the block, not to the scope that
			      frees */
	bool difference;   /* of two other reports: numbers may be negative, in two's complement */
	bool requested;    /* bytes are requested sizes, not usable sizes */
	uint64_t vm_bytes, rss_bytes;
	uint64_t used_bytes, free_bytes, mapped_bytes; /* as the allocator reports them */
	bool allocator_known;                          /* whether it has reported any */
	uint64_t own_bytes;                            /* memory that counting takes */
	uint64_t before_bytes, before_freed;
	uint64_t unsettled; /* nodes that changed each time they were read */
	struct hl_tag_thread *threads;
	uint32_t n_threads;
	struct hl_tag_row *rows;
	uint32_t n_rows;
	struct hl_tag_sums all; /* set by hl_tag_report_finish() */
};

/* A sentence for every output: what bytes are, and which scope a free is charged to. */
const char *hl_tag_charge_text(const struct hl_tag_report *r);

void hl_tag_sums_add(struct hl_tag_sums *to, const struct hl_tag_sums *from);
static inline int64_t hl_tag_live_bytes(const struct hl_tag_sums *s)
{
	return (int64_t)(s->alloc_bytes - s->free_bytes);
}
static inline int64_t hl_tag_live_blocks(const struct hl_tag_sums *s)
{
	return (int64_t)(s->alloc_blocks - s->free_blocks);
}
/* The share of all allocated bytes, in hundredths of a percent. */
uint64_t hl_tag_share(const struct hl_tag_report *r, uint64_t bytes);

/* Computes the sums of a node from a consistent copy. */
void hl_tag_sums_from_node(struct hl_tag_sums *to, const struct hl_tag_node *n);
/* Computes totals and orders children. */
void hl_tag_report_finish(struct hl_tag_report *r);
/* The row after `i` of a walk that visits parents before children, from a thread's first row on;
 * HL_TAG_NO_ROW after the last. Updates *depth. */
uint32_t hl_tag_report_next(const struct hl_tag_report *r, uint32_t i, uint32_t *depth);
/* Sums all rows whose path is "THREAD/SCOPE/SCOPE"; the thread * matches any. False: there
 * is none. */
bool hl_tag_report_find(const struct hl_tag_report *r, const char *path, struct hl_tag_row *sum);

struct hl_text_sink;
void hl_tag_json(struct hl_text_sink *s, const struct hl_tag_report *r);
void hl_tag_dot(struct hl_text_sink *s, const struct hl_tag_report *r);
/* Scopes with less than `least` hundredths of a percent of all are not shown but counted. */
void hl_tag_text(struct hl_text_sink *s, const struct hl_tag_report *r, uint64_t least);

#endif
