/*
 * filter_internal.h - a filter between its parser and its matcher.
 */
#ifndef HL_MODEL_FILTER_INTERNAL_H
#define HL_MODEL_FILTER_INTERNAL_H

#include "model/filter.h"
#include "model/pattern.h"
#include "model/when.h"
#include "util/vec.h"

/* The peak and marks are no times but places between two events. */
struct hl_filter_place {
	bool known;
	uint64_t events, allocs; /* before it */
};

/*
 * One value of one key. Terms of one group are alternatives, turned round together; groups of one
 * clause are alternatives; clauses must all hold. All are in order of their numbers.
 */
struct hl_filter_term {
	unsigned subject;
	uint32_t clause, group;
	bool negated;
	size_t at;
	uint64_t lo, hi; /* numbers and times, both ends belong to it; lo > hi: none fits */
	struct hl_when from, to;
	struct hl_filter_place from_place, to_place;
	bool last;         /* chain-position:last */
	bool after, until; /* the first, the last moment of the times does not belong to them */
	struct hl_pattern *name;
	uint64_t calls; /* fn, call: a bit for each function of the malloc family that fits */
	uint8_t *memo;  /* per node, thread or tag: 0 not known, 1 no, 2 yes */
	uint32_t n_memo;
	uint8_t *of_block; /* a bit for each ordinal: hl_filter_learn_deaths; NULL: not known */
	uint64_t n_of_block;
};

/* The range of times, which may have been written with < or >. At a place nothing happens that
 * could belong to it or not. */
static inline void hl_filter_set_times(struct hl_filter_term *t, uint64_t lo, uint64_t hi)
{
	bool after = t->after && !t->from_place.known, until = t->until && !t->to_place.known;
	bool none = (after && lo == UINT64_MAX) || (until && hi == 0);

	t->lo = none ? 1 : lo + after;
	t->hi = none ? 0 : hi - until;
}

struct hl_filter;
/* Does one term hold for a block whose death is known? 0 or -errno. */
int hl_filter_term_of_block(struct hl_filter *f, struct hl_filter_term *t, struct hl_model *m,
	const struct hl_block *b, bool *holds);

struct hl_filter {
	HL_VEC(struct hl_filter_term) terms;
	uint32_t n_clauses, n_groups;
	HL_VEC(uint32_t) chain; /* nodes on the way to one that is known */
};

#endif
