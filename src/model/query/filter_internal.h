/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_internal.h - a parsed filter, shared by its parser and its matcher.
 */
#ifndef HL_MODEL_QUERY_FILTER_INTERNAL_H
#define HL_MODEL_QUERY_FILTER_INTERNAL_H

#include "model/query/filter.h"
#include "model/query/pattern.h"
#include "model/query/time_spec.h"
#include "util/vec.h"

/* The peak and marks are not times but positions between two events. */
struct hl_filter_position {
	bool known;
	uint64_t events, allocs; /* number of events and of allocations before it */
};

/*
 * One value of one key. Terms of one group are alternatives and are negated together; groups of one
 * clause are alternatives; all clauses must hold. Terms are ordered by clause and group.
 */
struct hl_filter_term {
	unsigned subject;
	/* The subject whose names the term matches: HL_FILTER_FUNCTION for freed-fn. 0: none. */
	unsigned names;
	uint32_t clause, group;
	bool negated;
	size_t at;
	const char *key; /* "size" */
	char *value;     /* as --filter takes it: ">=4K"; owned */
	uint64_t lo, hi; /* numbers and times, inclusive; lo > hi: nothing matches */
	struct hl_time_spec from, to;
	struct hl_filter_position from_pos, to_pos;
	bool last;                       /* chain-position:last */
	bool percent;                    /* lo and hi are in thousandths of a percent */
	bool excludes_from, excludes_to; /* the first, the last moment is not in the range */
	struct hl_pattern *name;
	uint64_t calls; /* fn, call: a bit for each function of the malloc family that matches */
	uint8_t *memo;  /* per node, thread or tag: 0 not known, 1 no, 2 yes */
	uint32_t n_memo;
	uint8_t *block_bits; /* a bit for each ordinal: hl_filter_load_frees; NULL: not loaded */
	uint64_t n_block_bits;
};

/* The range of times, which may have been written with < or >. At a position there is no event that
 * could be included or excluded. */
static inline void hl_filter_set_times(struct hl_filter_term *t, uint64_t lo, uint64_t hi)
{
	bool excludes_from = t->excludes_from && !t->from_pos.known,
	     excludes_to = t->excludes_to && !t->to_pos.known;
	bool none = (excludes_from && lo == UINT64_MAX) || (excludes_to && hi == 0);

	t->lo = none ? 1 : lo + excludes_from;
	t->hi = none ? 0 : hi - excludes_to;
}

struct hl_filter;
/* Does one term hold for a block whose free is known? Returns 0 or -errno. */
int hl_filter_term_of_block(struct hl_filter *f, struct hl_filter_term *t, struct hl_model *m,
	const struct hl_block *b, bool *holds);

struct hl_filter {
	HL_VEC(struct hl_filter_term) terms;
	uint32_t n_clauses, n_groups;
	HL_VEC(uint32_t) chain; /* nodes from the current one up to one whose result is cached */
};

#endif
