/*
 * sites.h - what is known of each site over the whole run, beside the numbers of a query.
 */
#ifndef HL_MODEL_SITES_H
#define HL_MODEL_SITES_H

#include "model/group.h"

#define HL_SPARK_POINTS 24

struct hl_site_stat {
	uint64_t freed;     /* blocks whose lifetime is known */
	uint64_t median_ns; /* of them, to a quarter of an octave; UINT64_MAX when there are none */
	uint64_t live[HL_SPARK_POINTS]; /* bytes at equal distances, the last at the end */
};

/*
 * For the first n rows of a table of sites; the filter is the query's, bound. The caller frees
 * *stats, which is NULL where blocks are in sums only: when each came and went is not known. 0 or
 * -errno with hl_model_error(). Decodes the whole trace.
 */
int hl_sites_stats(struct hl_model *m, const struct hl_table *t, size_t n, struct hl_filter *filter,
	struct hl_site_stat **stats);

#endif
