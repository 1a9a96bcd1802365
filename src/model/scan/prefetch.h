/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prefetch.h - queries that are announced before they are made, so that one scan answers several.
 * The first query that needs the events runs the scan for all announced ones, as far as memory
 * allows.
 */
#ifndef HL_MODEL_SCAN_PREFETCH_H
#define HL_MODEL_SCAN_PREFETCH_H

#include "model/scan/shared_scan.h"

struct hl_prefetch;

struct hl_prefetch_kind {
	/* Plans the query and sets consumers[] to the consumers it needs. Returns 0 or -errno. */
	int (*start)(struct hl_prefetch *q);
	bool (*same)(const struct hl_prefetch *a, const struct hl_prefetch *b);
	void (*free)(struct hl_prefetch *q);
};

/* The common part of a prefetched query: the first member of each kind's own struct. */
struct hl_prefetch {
	const struct hl_prefetch_kind *kind;
	struct hl_model *m;
	struct hl_scan_consumer *consumers[2]; /* NULL: none */
	bool joined;                           /* its consumers took part in a scan */
};

/* Announces a query for the next scan and takes ownership of it. The query may be dropped; making
 * it later then only takes longer. */
void hl_prefetch_add(struct hl_prefetch *q);
/*
 * Runs the query *q. If an equal query was prefetched and is complete, *q is freed and replaced by
 * it. Returns 0, or -errno with hl_model_error(). The caller frees *q in every case.
 */
int hl_prefetch_run(struct hl_prefetch **q);

/* For hl_scan(): appends the consumers of announced queries that have not run yet to all[*n], as
 * far as `max` and the memory limit allow. Queries that do not fit are dropped. */
void hl_prefetch_join(struct hl_model *m, struct hl_scan_consumer **all, size_t *n, size_t max);
void hl_prefetch_fini(struct hl_model *m);

#endif
