/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks.h - the blocks that are live at the end of a trace: those that are leaked, and those that
 * suppressions leave out. Every view of a whole trace takes its number from here; `report --leaks`
 * makes the same query with a key and a filter of its own.
 */
#ifndef HL_MODEL_TOTALS_LEAKS_H
#define HL_MODEL_TOTALS_LEAKS_H

#include "model/query/query.h"

struct hl_leaks {
	struct hl_value leaked;     /* no rule matches them */
	struct hl_value suppressed; /* a rule matches them */
	struct hl_value live;       /* both together: all that is live at the end */
	bool certain;               /* "leaked" is the word for them; otherwise "live at the end" */
	/* A part of the file is lost: the values are of to_ns, the latest known moment. */
	bool before_damage;
	uint64_t to_ns;
};

/* rules: NULL for the built-in rules; hl_suppressions_counts(rules) has the part of each rule
 * afterwards. Names are looked up, for the built-in rules only of stacks that end in libc and
 * similar libraries. Returns 0, or -errno with hl_model_error(). */
int hl_leaks_find(struct hl_model *m, struct hl_suppressions *rules, struct hl_leaks *l);

/* If it is not known what is suppressed: all that is live at the end, without the word "leaked". */
struct hl_leaks hl_leaks_of_totals(const struct hl_model *m);

#endif
