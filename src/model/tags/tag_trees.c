/* SPDX-License-Identifier: Apache-2.0 */
/* tag_trees.c - see tag_trees.h. */
#include "model/tags/tag_trees.h"

#include <stdlib.h>
#include <string.h>

#include "util/pair_map.h"
#include "util/string_table.h"

void hl_tag_trees_fini(struct hl_tag_trees *b)
{
	for (size_t i = 0; i < b->memory.len; i++)
		free(b->memory.data[i]);
	hl_vec_free(&b->memory);
	memset(&b->r, 0, sizeof(b->r));
}

void *hl_tag_trees_alloc(void *trees, size_t bytes)
{
	struct hl_tag_trees *b = trees;
	void *p = calloc(1, bytes ? bytes : 1);

	if (p && hl_vec_push(&b->memory, p)) {
		free(p);
		p = NULL;
	}
	return p;
}

/* Threads and rows while they are collected. The report needs arrays, with the rows grouped by
 * thread, at the end. */
struct collected {
	HL_VEC(struct hl_tag_thread) threads;
	HL_VEC(struct hl_tag_row) rows; /* parent, thread: indexes; threads in any order */
	struct hl_pair_map by_name;     /* (parent row or ~thread, name) -> row */
	struct hl_string_table names;
};

static void collected_fini(struct collected *g)
{
	hl_vec_free(&g->threads);
	hl_vec_free(&g->rows);
	hl_pair_map_fini(&g->by_name);
	hl_string_table_fini(&g->names);
}

static const char *merged_name(
	const struct hl_tag_merge *merges, size_t n, const char *name, bool *merged)
{
	for (size_t i = 0; i < n; i++)
		if (hl_pattern_matches(merges[i].pattern, name)) {
			*merged = true;
			return merges[i].name;
		}
	return name;
}

/* Finds the row with this name below this parent, or adds it. parent_key: see by_name. Returns 0 or
 * -ENOMEM. */
static int find_row(struct collected *g, uint64_t parent_key, uint32_t parent, uint32_t thread,
	const char *name, uint32_t *at)
{
	struct hl_tag_row row = {.parent = parent, .thread = thread, .name = name};
	uint32_t id;

	if (hl_string_table_add(&g->names, name, &id))
		return -ENOMEM;
	*at = hl_pair_map_get(&g->by_name, parent_key, id);
	if (*at != HL_PAIR_MAP_NONE)
		return 0;
	*at = (uint32_t)g->rows.len;
	row.id = *at + 1;
	row.name_len = (uint32_t)strlen(name);
	return hl_vec_push(&g->rows, row) || hl_pair_map_put(&g->by_name, parent_key, id, *at)
		       ? -ENOMEM
		       : 0;
}

static void combine(uint64_t *to, uint64_t n, bool take_away)
{
	*to += take_away ? -n : n;
}

static void combine_sums(struct hl_tag_sums *to, const struct hl_tag_sums *n, bool take_away)
{
	combine(&to->alloc_bytes, n->alloc_bytes, take_away);
	combine(&to->alloc_blocks, n->alloc_blocks, take_away);
	combine(&to->free_bytes, n->free_bytes, take_away);
	combine(&to->free_blocks, n->free_blocks, take_away);
}

static void combine_row(struct hl_tag_row *to, const struct hl_tag_row *n, bool take_away)
{
	if (to->entered == HL_TAG_ENTERED_UNKNOWN || n->entered == HL_TAG_ENTERED_UNKNOWN)
		to->entered = HL_TAG_ENTERED_UNKNOWN; /* from a trace; also for a new row */
	else
		combine(&to->entered, n->entered, take_away);
	for (int i = 0; i < HL_TAG_CALLS; i++)
		combine(&to->calls[i], n->calls[i], take_away);
	combine_sums(&to->self, &n->self, take_away);
}

/* Finds the thread to merge with, or adds one. */
static int find_thread(struct collected *g, const struct hl_tag_thread *t,
	const struct hl_tag_merges *m, const char **name, uint32_t *at)
{
	struct hl_tag_thread fresh = {.tid = t->tid};
	bool merged = m->by_name || m->all_threads;

	*name = m->all_threads ? "all threads"
			       : merged_name(m->threads, m->n_threads, t->name, &merged);
	for (*at = 0; merged && *at < g->threads.len; ++*at)
		if (!strcmp(g->rows.data[g->threads.data[*at].first].name, *name)) {
			g->threads.data[*at].tid = 0;
			return 0;
		}
	*at = (uint32_t)g->threads.len;
	fresh.first = (uint32_t)g->rows.len;
	return hl_vec_push(&g->threads, fresh);
}

static int add_thread(struct collected *g, const struct hl_tag_report *r,
	const struct hl_tag_thread *t, const struct hl_tag_merges *m, uint32_t *rows,
	bool take_away)
{
	const char *name;
	uint32_t at;
	int err = find_thread(g, t, m, &name, &at);

	if (err)
		return err;
	combine(&g->threads.data[at].owners, t->owners, take_away);
	combine(&g->threads.data[at].unbalanced, t->unbalanced, take_away);
	combine(&g->threads.data[at].failed, t->failed, take_away);
	combine_sums(&g->threads.data[at].disabled_sums, &t->disabled_sums, take_away);
	for (uint32_t i = t->first; i < t->first + t->n && !err; i++) {
		const struct hl_tag_row *row = &r->rows[i];
		bool root = row->parent == HL_TAG_NO_ROW, merged = false;
		uint32_t parent = root ? HL_TAG_NO_ROW : rows[row->parent];

		err = find_row(g, root ? ~(uint64_t)at : parent, parent, at,
			root ? name : merged_name(m->scopes, m->n_scopes, row->name, &merged),
			&rows[i]);
		if (!err)
			combine_row(&g->rows.data[rows[i]], row, take_away);
	}
	return err;
}

static int add_report(struct collected *g, const struct hl_tag_report *r,
	const struct hl_tag_merges *m, bool take_away)
{
	uint32_t *rows = calloc((size_t)r->n_rows + 1, sizeof(*rows));
	int err = rows ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < r->n_threads && !err; i++)
		err = add_thread(g, r, &r->threads[i], m, rows, take_away);
	free(rows);
	return err;
}

static const char *copy_name(struct hl_tag_trees *b, const char *name)
{
	size_t len = strlen(name);
	char *copy = hl_tag_trees_alloc(b, len + 1);

	return copy ? memcpy(copy, name, len) : NULL;
}

/* Groups the rows by thread, as a report needs them. */
static int make_report(struct hl_tag_trees *b, const struct collected *g)
{
	uint32_t *new_index = calloc(g->rows.len + 1, sizeof(*new_index)), n = 0;
	struct hl_tag_report *r = &b->r;

	r->threads = hl_tag_trees_alloc(b, (g->threads.len + 1) * sizeof(*r->threads));
	r->rows = hl_tag_trees_alloc(b, (g->rows.len + 1) * sizeof(*r->rows));
	r->n_threads = (uint32_t)g->threads.len;
	r->n_rows = (uint32_t)g->rows.len;
	if (!new_index || !r->threads || !r->rows) {
		free(new_index);
		return -ENOMEM;
	}
	for (uint32_t t = 0; t < r->n_threads; t++)
		r->threads[t] = g->threads.data[t];
	for (size_t i = 0; i < g->rows.len; i++)
		r->threads[g->rows.data[i].thread].n++;
	for (uint32_t t = 0; t < r->n_threads; t++) {
		r->threads[t].first = n;
		n += r->threads[t].n;
		r->threads[t].n = 0;
	}
	for (size_t i = 0; i < g->rows.len; i++) {
		struct hl_tag_thread *t = &r->threads[g->rows.data[i].thread];

		new_index[i] = t->first + t->n++;
	}
	for (size_t i = 0; i < g->rows.len; i++) {
		struct hl_tag_row *row = &r->rows[new_index[i]];

		*row = g->rows.data[i];
		row->id = new_index[i] + 1;
		row->name = copy_name(b, row->name);
		if (row->parent != HL_TAG_NO_ROW)
			row->parent = new_index[row->parent];
		else
			r->threads[row->thread].name = row->name;
		r->threads[row->thread].name_len = r->rows[r->threads[row->thread].first].name_len;
		if (!row->name) {
			free(new_index);
			return -ENOMEM;
		}
	}
	free(new_index);
	hl_tag_report_finish(r);
	return 0;
}

/* Values of the process. Start and time are those of the report that was added or subtracted
 * first. */
static void combine_process(
	struct hl_tag_report *to, const struct hl_tag_report *n, bool first, bool take_away)
{
	to->charge_owner = first ? n->charge_owner : to->charge_owner && n->charge_owner;
	to->difference |= take_away || n->difference;
	to->requested = first ? n->requested : to->requested && n->requested;
	to->pid = first || take_away ? n->pid : 0;
	to->start_s = first ? n->start_s : to->start_s;
	to->time_s = first ? n->time_s : to->time_s;
	to->allocator_known = (first || to->allocator_known) && n->allocator_known;
	combine(&to->vm_bytes, n->vm_bytes, take_away);
	combine(&to->rss_bytes, n->rss_bytes, take_away);
	combine(&to->used_bytes, n->used_bytes, take_away);
	combine(&to->free_bytes, n->free_bytes, take_away);
	combine(&to->mapped_bytes, n->mapped_bytes, take_away);
	combine(&to->own_bytes, n->own_bytes, take_away);
	combine(&to->before_bytes, n->before_bytes, take_away);
	combine(&to->before_freed, n->before_freed, take_away);
	to->unsettled += n->unsettled;
}

bool hl_tag_trees_are_comparable(const struct hl_tag_trees *a, const struct hl_tag_trees *b)
{
	return a->r.charge_owner == b->r.charge_owner && a->r.requested == b->r.requested;
}

int hl_tag_trees_add(struct hl_tag_trees *to, const struct hl_tag_trees *from,
	const struct hl_tag_merges *m, bool take_away)
{
	/* Rows in `to` are merged already and only need to be found again. */
	const struct hl_tag_merges as_it_is = {
		.by_name = m->by_name || m->all_threads || m->n_threads};
	struct hl_tag_trees sum = {.r = to->r};
	bool first = to->r.n_threads == 0;
	struct collected g = {0};
	int err = add_report(&g, &to->r, &as_it_is, false);

	if (!err)
		err = add_report(&g, &from->r, m, take_away);
	combine_process(&sum.r, &from->r, first, take_away);
	if (!err)
		err = make_report(&sum, &g);
	collected_fini(&g);
	if (err) {
		hl_tag_trees_fini(&sum);
		return err;
	}
	hl_tag_trees_fini(to);
	*to = sum;
	return 0;
}
