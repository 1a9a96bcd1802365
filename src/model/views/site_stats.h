/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_stats.h - statistics of each site over the whole run, besides the values of a query.
 */
#ifndef HL_MODEL_VIEWS_SITE_STATS_H
#define HL_MODEL_VIEWS_SITE_STATS_H

#include "model/stack/flat_table.h"

#define HL_SPARK_POINTS 24

struct hl_site_stat {
	uint64_t freed;     /* blocks whose lifetime is known */
	uint64_t median_ns; /* lifetime, to a quarter of an octave; UINT64_MAX: none freed */
	uint64_t live[HL_SPARK_POINTS]; /* live bytes at equal distances, the last at the end */
	unsigned first_point; /* earlier points are before the base and not known; else 0 */
};

/*
 * Computes *stats for the first n rows of a table of sites. filter: the query's, bound. The caller
 * frees *stats. *stats is NULL if some blocks are aggregated, because their times are not known.
 * Returns 0 or -errno with hl_model_error(). Decodes the whole trace.
 */
int hl_sites_stats(struct hl_model *m, const struct hl_table *t, size_t n, struct hl_filter *filter,
	struct hl_site_stat **stats);
/* Announces this query for any table, see prefetch.h. Dropped if there are very many sites. */
void hl_sites_stats_prefetch(struct hl_model *m, struct hl_filter *filter);

#endif
