/*
 * rest.c - see rest.h.
 */
#include "model/rest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/model_internal.h"

int hl_rest_check(struct hl_model *m, const struct hl_query *q)
{
	bool all = q->quantity == HL_QUANTITY_ALLOCATED && q->from.kind == HL_WHEN_NS &&
		   q->from.ns == 0 && q->to.kind == HL_WHEN_END;
	bool end = q->quantity == HL_QUANTITY_LIVE && q->to.kind == HL_WHEN_END;

	if ((all || end) && q->key == HL_KEY_STACK && hl_query_sums_suffice(m, q))
		return 0;
	return hl_model_no_events(m, "this");
}

/* Into one of the values of each row, which is so far into it. */
static int ask(struct hl_rest *r, struct hl_model *m, const struct hl_query *q, size_t at)
{
	struct hl_answer a;
	int err = hl_model_query(m, q, &a);

	for (uint32_t i = 0; i <= r->n_nodes && !err; i++)
		*(struct hl_value *)((char *)&r->all[i] + at) = a.values[i];
	if (!err)
		hl_answer_fini(&a);
	return err;
}

/* What is left at the end is most then, and at no time before. */
static void ask_no_more(struct hl_rest *r, struct hl_model *m)
{
	for (uint32_t i = 0; i <= r->n_nodes; i++)
		r->all[i].left = r->all[i].at_peak = r->all[i].allocated;
	r->peak_ns = hl_model_end_ns(m);
}

int hl_rest_begin(struct hl_rest *r, struct hl_model *m, const struct hl_query *q)
{
	struct hl_query left = {.filter = q->filter, .to = {.kind = HL_WHEN_END}};
	struct hl_query peak = {.filter = q->filter, .to = {.kind = HL_WHEN_PEAK}};
	int err;

	*r = (struct hl_rest){.n_nodes = m->n_nodes, .peak_ns = m->info->totals.peak_time_ns};
	r->all = calloc((size_t)r->n_nodes + 1, sizeof(*r->all));
	r->kept = calloc((size_t)r->n_nodes + 1, sizeof(*r->kept));
	if (!r->all || !r->kept)
		return hl_model_fail(m, -ENOMEM);
	err = ask(r, m, q, offsetof(struct hl_rest_row, allocated));
	if (!err && q->quantity == HL_QUANTITY_LIVE) {
		ask_no_more(r, m);
		return 0;
	}
	if (!err)
		err = ask(r, m, &left, offsetof(struct hl_rest_row, left));
	return err ? err : ask(r, m, &peak, offsetof(struct hl_rest_row, at_peak));
}

void hl_rest_restart(struct hl_rest *r)
{
	memset(r->kept, 0, ((size_t)r->n_nodes + 1) * sizeof(*r->kept));
	free(r->rows);
	r->rows = NULL;
	r->n = 0;
	r->allocated = r->left = (struct hl_value){0};
}

static void add_sums(struct hl_value *v, const struct hl_event *e)
{
	v->bytes += e->bytes;
	v->blocks += e->blocks;
}

void hl_rest_take(struct hl_rest *r, const struct hl_event *e)
{
	struct hl_rest_row *k = &r->kept[hl_min_u32(e->node, r->n_nodes)];

	if (e->op == HL_OP_ALLOC) {
		add_sums(&k->allocated, e);
		add_sums(&k->left, e);
	} else {
		k->left.bytes -= e->bytes;
		k->left.blocks -= e->blocks;
	}
	if (e->time_ns <= r->peak_ns)
		k->at_peak = k->left;
}

/* The time of the peak may be that of several events: no more than there was is taken away. */
static struct hl_value less(const struct hl_value *all, const struct hl_value *kept)
{
	return (struct hl_value){.bytes = all->bytes - hl_min_u64(all->bytes, kept->bytes),
		.blocks = all->blocks - hl_min_u64(all->blocks, kept->blocks)};
}

int hl_rest_end(struct hl_rest *r)
{
	r->rows = calloc((size_t)r->n_nodes + 1, sizeof(*r->rows));
	if (!r->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i <= r->n_nodes; i++) {
		const struct hl_rest_row *all = &r->all[i], *kept = &r->kept[i];
		struct hl_rest_row row = {.node = i < r->n_nodes ? i : HL_NODE_NONE,
			.allocated = less(&all->allocated, &kept->allocated),
			.left = less(&all->left, &kept->left),
			.at_peak = less(&all->at_peak, &kept->at_peak)};

		if (row.allocated.blocks == 0)
			continue;
		r->rows[r->n++] = row;
		hl_value_add(&r->allocated, &row.allocated);
		hl_value_add(&r->left, &row.left);
	}
	return 0;
}

void hl_rest_fini(struct hl_rest *r)
{
	free(r->rows);
	free(r->all);
	free(r->kept);
	memset(r, 0, sizeof(*r));
}

int hl_rest_frame(struct hl_model *m, uint32_t *frame)
{
	static const char name[] = "[in sums only: lifetimes are not known]";

	return hl_model_group_frame(m, name, name, frame);
}
