/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tag_from_trace.c - the scopes of a trace as tag trees. All threads are combined. A trace does not
 * record how often a scope was entered.
 */
#include <errno.h>
#include <string.h>

#include "model/query/query_plan.h"
#include "model/model_internal.h"
#include "model/tags/scope_tree.h"
#include "model/tags/tag_trees.h"
#include "model/tags/roles.h"

#define ALL_THREADS "(all threads)"

static struct hl_tag_sums sums_of(const struct hl_scope_sums *s)
{
	return (struct hl_tag_sums){.alloc_bytes = s->allocated.bytes,
		.alloc_blocks = s->allocated.blocks,
		.free_bytes = s->freed.bytes,
		.free_blocks = s->freed.blocks};
}

/* The tag trees outlive the model, which owns the names. */
static const char *copy_name(struct hl_tag_trees *b, const char *name)
{
	char *copy = hl_tag_trees_alloc(b, strlen(name) + 1);

	return copy ? strcpy(copy, name) : NULL;
}

static int put_rows(struct hl_tag_trees *b, const struct hl_scope_tree *t)
{
	b->r.rows = hl_tag_trees_alloc(b, ((size_t)t->n + 1) * sizeof(*b->r.rows));
	if (!b->r.rows)
		return -ENOMEM;
	b->r.n_rows = t->n + 1;
	b->r.rows[0] = (struct hl_tag_row){.name = ALL_THREADS,
		.name_len = sizeof(ALL_THREADS) - 1,
		.parent = HL_TAG_NO_ROW,
		.entered = HL_TAG_ENTERED_UNKNOWN,
		.self = sums_of(&t->outside)};
	for (uint32_t i = 0; i < t->n; i++) {
		const struct hl_scope_row *from = &t->rows[i];
		struct hl_tag_row *row = &b->r.rows[i + 1];

		*row = (struct hl_tag_row){.name = copy_name(b, from->name),
			.name_len = (uint32_t)strlen(from->name),
			.id = i + 1,
			.parent = from->parent == HL_TAG_NONE ? 0 : from->parent + 1,
			.entered = HL_TAG_ENTERED_UNKNOWN,
			.self = sums_of(&from->self)};
		if (!row->name)
			return -ENOMEM;
	}
	return 0;
}

static int fill_report(
	struct hl_tag_trees *b, const struct hl_trace_info *info, const struct hl_scope_tree *t)
{
	int err = put_rows(b, t);

	b->r.threads = hl_tag_trees_alloc(b, sizeof(*b->r.threads));
	if (err || !b->r.threads)
		return -ENOMEM;
	b->r.n_threads = 1;
	b->r.threads[0] = (struct hl_tag_thread){.name = ALL_THREADS,
		.name_len = sizeof(ALL_THREADS) - 1,
		.owners = info->threads,
		.n = b->r.n_rows};
	b->r.pid = info->meta.pid;
	b->r.start_s = (int64_t)(info->meta.start_unix_ns / 1000000000);
	b->r.time_s = (int64_t)((info->meta.start_unix_ns + info->end.duration_ns) / 1000000000);
	b->r.charge_owner = true;
	b->r.requested = true;
	hl_tag_report_finish(&b->r);
	return 0;
}

int hl_tags_from_trace(struct hl_model *m, struct hl_tag_trees *b)
{
	struct hl_scope_tree t;
	int err;

	err = hl_model_n_tags(m) > 0
		      ? hl_model_require(m, HL_NEEDS_EVENTS, "the activity of each scope")
		      : 0;
	if (!err)
		err = hl_scopes_build(&t, m, NULL);
	if (err)
		return err;
	err = t.n == 0 ? -ENOENT : fill_report(b, hl_model_info(m), &t);
	hl_scope_tree_fini(&t);
	return err;
}
