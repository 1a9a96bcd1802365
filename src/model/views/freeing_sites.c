/* SPDX-License-Identifier: Apache-2.0 */
/*
 * freeing_sites.c - see freeing_sites.h.
 *
 * Blocks are counted by pairs of sites. Finding a site needs symbols, so it is done once per stack.
 */
#include "model/views/freeing_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/query/query_plan.h"
#include "model/stack/flat_table.h"
#include "model/model_internal.h"

#define NO_SITE UINT32_MAX

struct pair {
	uint32_t site;
	struct hl_freeing freeing;
};

struct pair_counter {
	struct hl_model *m;
	uint32_t *site_of; /* site's frame per node, the last: no stack; NO_SITE: not found yet */
	struct hl_pair_map by_pair;
	HL_VEC(struct pair) pairs;
};

const char *hl_free_kind_name(enum hl_free_kind e)
{
	static const char *const names[] = {"free", "realloc", "unseen", "none"};

	return names[e];
}

static int find_site(struct pair_counter *c, uint32_t node, uint32_t *frame)
{
	uint32_t *known = &c->site_of[node < c->m->n_nodes ? node : c->m->n_nodes];
	int err = 0;

	if (*known == NO_SITE)
		err = hl_model_find_site(c->m, node < c->m->n_nodes ? node : HL_NODE_NONE, known);
	*frame = *known;
	return err;
}

enum hl_free_kind hl_free_kind_of(const struct hl_block *b)
{
	if (b->free_ns == UINT64_MAX)
		return HL_FREED_BY_NONE;
	if (b->free_func == HL_FUNC_IMPLICIT)
		return HL_FREED_BY_UNSEEN;
	return b->moved ? HL_FREED_BY_REALLOC : HL_FREED_BY_FREE;
}

static int find_pair(struct pair_counter *c, const struct hl_block *b, struct pair **pair)
{
	struct pair p = {.freeing = {.kind = hl_free_kind_of(b), .frame = HL_NODE_NONE}};
	uint64_t by;
	uint32_t at;
	int err = find_site(c, b->node, &p.site);

	if (!err && p.freeing.kind <= HL_FREED_BY_REALLOC)
		err = find_site(c, b->free_node, &p.freeing.frame);
	if (err)
		return err;
	by = (uint64_t)p.freeing.kind << 32 | p.freeing.frame;
	at = hl_pair_map_get(&c->by_pair, p.site, by);
	if (at == HL_PAIR_MAP_NONE) {
		at = (uint32_t)c->pairs.len;
		err = hl_vec_push(&c->pairs, p);
		if (!err)
			err = hl_pair_map_put(&c->by_pair, p.site, by, at);
	}
	*pair = err ? NULL : &c->pairs.data[at];
	return err;
}

static void begin_count(void *arg)
{
	struct pair_counter *c = arg;

	for (size_t i = 0; i < c->pairs.len; i++)
		c->pairs.data[i].freeing.value = (struct hl_value){0};
}

static int count_block(void *arg, const struct hl_block *b, const struct hl_value *value)
{
	struct pair *pair;
	int err = find_pair(arg, b, &pair);

	if (!err)
		hl_value_add(&pair->freeing.value, value);
	return err;
}

/* --- sorting --- */

static int compare_values(const struct hl_value *a, const struct hl_value *b)
{
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->blocks > b->blocks ? -1 : a->blocks < b->blocks;
}

static int compare_pairs(const void *pa, const void *pb)
{
	const struct pair *a = pa, *b = pb;
	int order = (a->site > b->site) - (a->site < b->site);

	if (!order)
		order = compare_values(&a->freeing.value, &b->freeing.value);
	if (!order)
		order = (int)a->freeing.kind - (int)b->freeing.kind;
	return order ? order
		     : (a->freeing.frame > b->freeing.frame) -
			       (a->freeing.frame < b->freeing.frame);
}

static int compare_sites(const void *pa, const void *pb)
{
	const struct hl_freed_site *a = pa, *b = pb;
	int order = compare_values(&a->value, &b->value);

	return order ? order : (a->frame > b->frame) - (a->frame < b->frame);
}

static int build_rows(struct pair_counter *c, struct hl_freed_by *f)
{
	f->sites = calloc(c->pairs.len + 1, sizeof(*f->sites));
	f->freeings = calloc(c->pairs.len + 1, sizeof(*f->freeings));
	if (!f->sites || !f->freeings)
		return -ENOMEM;
	if (c->pairs.len > 0)
		qsort(c->pairs.data, c->pairs.len, sizeof(*c->pairs.data), compare_pairs);
	for (size_t i = 0; i < c->pairs.len; i++) {
		const struct pair *p = &c->pairs.data[i];

		if (p->freeing.value.blocks == 0)
			continue; /* left over from a scan that was restarted */
		if (f->n_sites == 0 || f->sites[f->n_sites - 1].frame != p->site)
			f->sites[f->n_sites++] =
				(struct hl_freed_site){.frame = p->site, .first = f->n_freeings};
		f->sites[f->n_sites - 1].n++;
		f->freeings[f->n_freeings++] = p->freeing;
		hl_value_add(&f->sites[f->n_sites - 1].value, &p->freeing.value);
	}
	if (f->n_sites > 0)
		qsort(f->sites, f->n_sites, sizeof(*f->sites), compare_sites);
	return 0;
}

/* --- the query --- */

int hl_freed_by_check(struct hl_model *m, const struct hl_query *q)
{
	struct hl_query_plan plan;
	int err = hl_model_require(m, HL_NEEDS_FREE_STACKS, "this");

	if (!err)
		err = hl_query_bind(q, m);
	if (!err)
		err = hl_query_plan(m, q, &plan);
	return err ? err : hl_query_plan_blocks(m, q);
}

int hl_freed_by(struct hl_freed_by *f, struct hl_model *m, const struct hl_query *q)
{
	struct pair_counter c = {.m = m};
	const struct hl_block_sink sink = {
		.begin = begin_count, .block = count_block, .with_frees = true, .arg = &c};
	int err = hl_freed_by_check(m, q);

	*f = (struct hl_freed_by){0};
	if (err)
		return err;
	c.site_of = malloc(((size_t)m->n_nodes + 1) * sizeof(*c.site_of));
	if (!c.site_of)
		return hl_model_fail(m, -ENOMEM);
	memset(c.site_of, 0xff, ((size_t)m->n_nodes + 1) * sizeof(*c.site_of));
	err = hl_query_blocks(m, q, &sink, &f->answer);
	if (!err) {
		err = build_rows(&c, f);
		if (err)
			hl_model_fail(m, err);
	}
	free(c.site_of);
	hl_pair_map_fini(&c.by_pair);
	hl_vec_free(&c.pairs);
	if (err)
		hl_freed_by_fini(f);
	return err;
}

void hl_freed_by_fini(struct hl_freed_by *f)
{
	free(f->sites);
	free(f->freeings);
	*f = (struct hl_freed_by){0};
}
