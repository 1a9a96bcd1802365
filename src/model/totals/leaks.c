/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks.c - see leaks.h.
 */
#include "model/totals/leaks.h"

#include "model/model_internal.h"
#include "model/query/suppress.h"

static int find_with(struct hl_model *m, struct hl_suppressions *rules, struct hl_leaks *l)
{
	const struct hl_query q = {.to.kind = HL_TIME_SPEC_END, .suppressions = rules};
	struct hl_answer a;
	int err = hl_model_query(m, &q, &a);

	if (err)
		return err;
	*l = (struct hl_leaks){.leaked = a.total,
		.suppressed = hl_suppressions_total(rules),
		.live = a.total,
		.certain = hl_model_leaks_are_certain(m),
		.before_damage = a.before_damage,
		.to_ns = a.to_ns};
	hl_value_add(&l->live, &l->suppressed);
	hl_answer_fini(&a);
	return 0;
}

struct hl_leaks hl_leaks_of_totals(const struct hl_model *m)
{
	const struct hl_sums *sums = &m->info->totals.sums;
	struct hl_value live = {
		.bytes = hl_sums_live_bytes(sums), .blocks = hl_sums_live_blocks(sums)};

	return (struct hl_leaks){.leaked = live, .live = live, .to_ns = hl_model_end_ns(m)};
}

int hl_leaks_find(struct hl_model *m, struct hl_suppressions *rules, struct hl_leaks *l)
{
	struct hl_suppressions *builtin = NULL;
	int err = 0;

	*l = (struct hl_leaks){0};
	if (!rules) {
		err = hl_suppressions_new(&builtin);
		if (!err)
			err = hl_suppressions_add_defaults(builtin);
		rules = builtin;
	}
	err = err ? hl_model_fail(m, err) : find_with(m, rules, l);
	hl_suppressions_free(builtin);
	return err;
}
