/*
 * freed_by.c - see freed_by.h.
 *
 * Blocks are counted by pairs of sites. A stack's site takes names, so it is found once for each
 * stack.
 */
#include "model/freed_by.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/group.h"
#include "model/model_internal.h"
#include "model/stream.h"
#include "model/suppress.h"

#define NO_SITE UINT32_MAX

struct pair {
	uint32_t site;
	struct hl_freeing freeing;
};

struct counting {
	struct hl_model *m;
	const struct hl_query *q;
	uint32_t *site_of; /* per node and one for none: its frame; NO_SITE: not looked for yet */
	struct hl_map by_pair;
	HL_VEC(struct pair) pairs;
};

const char *hl_ending_name(enum hl_ending e)
{
	static const char *const names[] = {"free", "realloc", "unseen", "none"};

	return names[e];
}

static int site_of(struct counting *c, uint32_t node, uint32_t *frame)
{
	uint32_t *known = &c->site_of[node < c->m->n_nodes ? node : c->m->n_nodes];
	int err = 0;

	if (*known == NO_SITE)
		err = hl_model_site(c->m, node < c->m->n_nodes ? node : HL_NODE_NONE, known);
	*frame = *known;
	return err;
}

static enum hl_ending ending_of(const struct hl_block *b)
{
	if (b->death_ns == UINT64_MAX)
		return HL_ENDING_NONE;
	if (b->free_func == HL_FUNC_IMPLICIT)
		return HL_ENDING_UNSEEN;
	return b->moved ? HL_ENDING_REALLOC : HL_ENDING_FREE;
}

static int find_pair(struct counting *c, const struct hl_block *b, struct pair **pair)
{
	struct pair p = {.freeing = {.ending = ending_of(b), .frame = HL_NODE_NONE}};
	uint64_t by;
	uint32_t at;
	int err = site_of(c, b->node, &p.site);

	if (!err && p.freeing.ending <= HL_ENDING_REALLOC)
		err = site_of(c, b->free_node, &p.freeing.frame);
	if (err)
		return err;
	by = (uint64_t)p.freeing.ending << 32 | p.freeing.frame;
	at = hl_map_get(&c->by_pair, p.site, by);
	if (at == HL_MAP_NONE) {
		at = (uint32_t)c->pairs.len;
		err = hl_vec_push(&c->pairs, p);
		if (!err)
			err = hl_map_put(&c->by_pair, p.site, by, at);
	}
	*pair = err ? NULL : &c->pairs.data[at];
	return err;
}

static void begin(void *arg)
{
	struct counting *c = arg;

	if (c->q->suppressions)
		hl_suppressions_reset(c->q->suppressions);
	for (size_t i = 0; i < c->pairs.len; i++)
		c->pairs.data[i].freeing.value = (struct hl_value){0};
}

static int take(void *arg, const struct hl_block *b)
{
	struct counting *c = arg;
	struct hl_value one = hl_block_value(c->m, b);
	struct pair *pair;
	bool taken = false;
	int err = 0;

	if (!hl_query_counts(c->q, b))
		return 0;
	if (c->q->suppressions)
		err = hl_suppressions_take(
			c->q->suppressions, c->m, b->node, b->func, &one, &taken);
	if (err || taken)
		return err;
	err = find_pair(c, b, &pair);
	if (!err)
		hl_value_add(&pair->freeing.value, &one);
	return err;
}

/* --- in order --- */

static int by_value(const struct hl_value *a, const struct hl_value *b)
{
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->blocks > b->blocks ? -1 : a->blocks < b->blocks;
}

static int by_site(const void *pa, const void *pb)
{
	const struct pair *a = pa, *b = pb;
	int order = (a->site > b->site) - (a->site < b->site);

	if (!order)
		order = by_value(&a->freeing.value, &b->freeing.value);
	if (!order)
		order = (int)a->freeing.ending - (int)b->freeing.ending;
	return order ? order
		     : (a->freeing.frame > b->freeing.frame) -
			       (a->freeing.frame < b->freeing.frame);
}

static int by_size(const void *pa, const void *pb)
{
	const struct hl_freed_site *a = pa, *b = pb;
	int order = by_value(&a->value, &b->value);

	return order ? order : (a->frame > b->frame) - (a->frame < b->frame);
}

static int make_rows(struct counting *c, struct hl_freed_by *f)
{
	f->sites = calloc(c->pairs.len + 1, sizeof(*f->sites));
	f->freeings = calloc(c->pairs.len + 1, sizeof(*f->freeings));
	if (!f->sites || !f->freeings)
		return -ENOMEM;
	if (c->pairs.len > 0)
		qsort(c->pairs.data, c->pairs.len, sizeof(*c->pairs.data), by_site);
	for (size_t i = 0; i < c->pairs.len; i++) {
		const struct pair *p = &c->pairs.data[i];

		if (p->freeing.value.blocks == 0)
			continue; /* of a reading that began again */
		if (f->n_sites == 0 || f->sites[f->n_sites - 1].frame != p->site)
			f->sites[f->n_sites++] =
				(struct hl_freed_site){.frame = p->site, .first = f->n_freeings};
		f->sites[f->n_sites - 1].n++;
		f->freeings[f->n_freeings++] = p->freeing;
		hl_value_add(&f->sites[f->n_sites - 1].value, &p->freeing.value);
		hl_value_add(&f->answer.total, &p->freeing.value);
	}
	if (f->n_sites > 0)
		qsort(f->sites, f->n_sites, sizeof(*f->sites), by_size);
	return 0;
}

/* --- the whole --- */

static int check(struct hl_model *m, const struct hl_query *q)
{
	int err = hl_query_bind(q, m);

	if (!err && !m->info->meta.free_stacks && hl_model_is_imported(m)) {
		snprintf(m->error, sizeof(m->error),
			"who freed blocks is not in this trace: it was imported from %.200s, which "
			"does not say it",
			m->info->meta.source);
		return -ENODATA;
	}
	if (!err && !m->info->meta.free_stacks) {
		snprintf(m->error, sizeof(m->error),
			"who freed blocks is not in this trace: record the program with "
			"heaplapse record --free-stacks");
		return -ENODATA;
	}
	if (!err)
		err = hl_query_check(m, q);
	return err ? err : hl_query_check_lives(m, q);
}

static int read_all(struct counting *c, struct hl_freed_by *f)
{
	const struct hl_query *q = c->q;
	bool live = q->quantity == HL_QUANTITY_LIVE;
	struct hl_stream s = {.filter = q->filter,
		.to = hl_query_to(c->m, &q->to),
		.older = live,
		.to_end = true,
		.func = q->suppressions && hl_suppressions_need_calls(q->suppressions),
		.begin = begin,
		.block = take,
		.arg = c};
	int err;

	s.from = live ? s.to : hl_query_from(c->m, &q->from);
	err = hl_stream_blocks(c->m, &s);
	f->answer.quantity = q->quantity;
	f->answer.from_ns = live ? s.to.time_ns : s.from.time_ns;
	f->answer.to_ns = s.to.time_ns;
	f->answer.asked_ns = hl_when_ns(&q->to, c->m);
	f->answer.moved = s.to.moved || (!live && s.from.moved);
	return err;
}

int hl_freed_by(struct hl_freed_by *f, struct hl_model *m, const struct hl_query *q)
{
	struct counting c = {.m = m, .q = q};
	int err = check(m, q);

	*f = (struct hl_freed_by){0};
	if (err)
		return err;
	c.site_of = malloc(((size_t)m->n_nodes + 1) * sizeof(*c.site_of));
	if (!c.site_of)
		return hl_model_fail(m, -ENOMEM);
	memset(c.site_of, 0xff, ((size_t)m->n_nodes + 1) * sizeof(*c.site_of));
	err = read_all(&c, f);
	if (!err) {
		err = make_rows(&c, f);
		if (err)
			hl_model_fail(m, err);
	}
	free(c.site_of);
	hl_map_fini(&c.by_pair);
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
