/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums_check.c - compares the sums in a file with its events; see hl_sums_check in sums.h.
 *
 * Wrong sums in a file with valid checksums mean that it was forged or that heaplapse has a bug.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"
#include "model/query/sums.h"
#include "util/radix_sort.h"

/* Keyframes are compared node by node. A forged file may have very many keyframes and nodes; then
 * only some are compared. */
#define COMPARE_MAX (UINT64_C(1) << 28)

struct sums_check {
	struct hl_model *m;
	struct hl_sums *sums, *rest, *key; /* n_nodes + 1 each; rest: events minus summary */
	struct hl_sums *withheld;          /* the same; NULL: all blocks are in events */
	struct hl_chunk_events events;
	struct hl_summary summary;
	HL_VEC(struct hl_radix_item) base; /* the addresses of the base's blocks */
	uint64_t compared;
	bool differs;
};

static void add_sums(struct hl_sums *to, const struct hl_sums *s)
{
	to->alloc_blocks += s->alloc_blocks;
	to->alloc_bytes += s->alloc_bytes;
	to->free_blocks += s->free_blocks;
	to->free_bytes += s->free_bytes;
}

static void subtract_sums(struct hl_sums *from, const struct hl_sums *s)
{
	from->alloc_blocks -= s->alloc_blocks;
	from->alloc_bytes -= s->alloc_bytes;
	from->free_blocks -= s->free_blocks;
	from->free_bytes -= s->free_bytes;
}

/* Sets to zero. Returns whether they were zero. */
static bool clear_sums(struct hl_sums *s)
{
	static const struct hl_sums none;
	bool was = memcmp(s, &none, sizeof(none)) == 0;

	*s = none;
	return was;
}

static size_t node_index(const struct sums_check *k, uint32_t node)
{
	return node < k->m->n_nodes ? node : k->m->n_nodes;
}

static int check_chunk(struct sums_check *k, size_t chunk)
{
	struct hl_reader *r = k->m->reader;
	int has = hl_reader_summary(r, chunk, &k->summary);
	int err = hl_reader_decode_some(r, chunk, HL_WANT_ALL, &k->events);

	if (err || (has && has != -ENOENT && has != -EBADMSG))
		return err ? err : has;
	for (size_t i = 0; i < k->events.n_events; i++) {
		const struct hl_event *e = &k->events.events[i];
		struct hl_sums one = {0};

		if (e->op == HL_OP_ALLOC)
			one = (struct hl_sums){.alloc_blocks = e->blocks, .alloc_bytes = e->bytes};
		else
			one = (struct hl_sums){.free_blocks = e->blocks, .free_bytes = e->bytes};
		add_sums(&k->sums[node_index(k, e->node)], &one);
		if (!has)
			add_sums(&k->rest[node_index(k, e->node)], &one);
	}
	if (has)
		return 0;
	for (size_t i = 0; i < k->summary.n; i++)
		subtract_sums(
			&k->rest[node_index(k, k->summary.rows[i].node)], &k->summary.rows[i].sums);
	for (size_t i = 0; i < k->events.n_events; i++)
		k->differs |= !clear_sums(&k->rest[node_index(k, k->events.events[i].node)]);
	for (size_t i = 0; i < k->summary.n; i++)
		k->differs |= !clear_sums(&k->rest[node_index(k, k->summary.rows[i].node)]);
	return 0;
}

/* The sums of a keyframe that should be in the events before it. */
static int load_keyframe_sums(struct sums_check *k, size_t key)
{
	size_t n = k->m->n_nodes;
	int err = hl_sums_of_keyframe(k->m, key, k->key);

	if (err || !k->withheld)
		return err;
	err = hl_reader_load_aggregated(k->m->reader, key, k->withheld, NULL, n);
	for (size_t i = 0; i < n && !err; i++)
		subtract_sums(&k->key[i], &k->withheld[i]);
	k->key[n] = k->sums[n]; /* aggregated blocks without a stack are not known */
	return err;
}

static int add_base_addresses(struct sums_check *k)
{
	for (size_t i = 0; i < k->events.n_events; i++)
		if (hl_vec_push(&k->base,
			    ((struct hl_radix_item){.key = k->events.events[i].addr})) < 0)
			return -ENOMEM;
	return 0;
}

/* Two live blocks cannot have one address, unless addresses are not known. */
static int check_addresses(struct sums_check *k)
{
	size_t n = k->base.len;
	struct hl_radix_item *spare = calloc(n + 1, sizeof(*spare));

	if (!spare)
		return -ENOMEM;
	if (n > 0)
		hl_radix_sort(k->base.data, spare, n);
	for (size_t i = 1; i < n && !(k->m->info->meta.unknown & HL_UNKNOWN_ADDRESSES); i++)
		k->differs |= k->base.data[i].key == k->base.data[i - 1].key;
	free(spare);
	hl_vec_free(&k->base);
	return 0;
}

/*
 * The base of a trace that begins late: its blocks are all that was live. The sums of the run
 * continue from those of its keyframe.
 */
static int check_base(struct sums_check *k, size_t key)
{
	size_t n = (size_t)k->m->n_nodes + 1;
	int err = check_addresses(k);

	if (!err)
		err = load_keyframe_sums(k, key);
	for (size_t i = 0; i < n && !err; i++)
		k->differs |= hl_sums_live_bytes(&k->key[i]) != hl_sums_live_bytes(&k->sums[i]) ||
			      hl_sums_live_blocks(&k->key[i]) != hl_sums_live_blocks(&k->sums[i]);
	if (!err)
		memcpy(k->sums, k->key, n * sizeof(*k->sums));
	return err;
}

/* The keyframes before this chunk. */
static int check_keyframes(struct sums_check *k, size_t chunk, size_t *next)
{
	struct hl_reader *r = k->m->reader;
	size_t n = hl_reader_n_keyframes(r), len = (size_t)k->m->n_nodes + 1;
	int err = 0;

	for (; *next < n && hl_reader_keyframe(r, *next)->chunk <= chunk && !err; (*next)++) {
		if (*next == hl_reader_base_keyframe(r)) {
			err = check_base(k, *next);
			continue;
		}
		if (hl_reader_keyframe(r, *next)->lost ||
			(k->compared > COMPARE_MAX && *next + 1 < n))
			continue;
		k->compared += len;
		err = load_keyframe_sums(k, *next);
		if (!err)
			k->differs |= memcmp(k->key, k->sums, len * sizeof(*k->key)) != 0;
		err = err == -EBADMSG ? 0 : err; /* damage is reported elsewhere */
	}
	return err;
}

static void check_end(struct sums_check *k)
{
	struct hl_sums all = {0};

	for (size_t i = 0; i <= k->m->n_nodes; i++)
		add_sums(&all, &k->sums[i]);
	add_sums(&all, &k->m->info->aggregated);
	if (k->m->info->has_end)
		k->differs |= memcmp(&all, &k->m->info->totals.sums, sizeof(all)) != 0;
}

static int check_all(struct sums_check *k)
{
	struct hl_reader *r = k->m->reader;
	size_t n = hl_reader_n_chunks(r), next = 0;
	int err = 0;

	hl_work_begin(&k->m->work, HL_WORK_PASS, HL_WORK_READING);
	for (size_t i = 0; i < n && !err && !k->differs; i++) {
		err = hl_work_tick(&k->m->work, i, n);
		if (!err)
			err = check_keyframes(k, i, &next);
		if (!err && hl_chunk_is_lost(k->m, i))
			err = -EBADMSG;
		if (!err)
			err = check_chunk(k, i);
		if (!err && i < k->m->n_base_chunks)
			err = add_base_addresses(k);
	}
	hl_work_end(&k->m->work, HL_WORK_PASS);
	if (!err)
		err = check_keyframes(k, n, &next);
	if (!err)
		check_end(k);
	return err == -EBADMSG ? 0 : err; /* after a loss nothing can be compared */
}

int hl_sums_check(struct hl_model *m)
{
	size_t n = (size_t)m->n_nodes + 1;
	struct sums_check k = {.m = m,
		.sums = calloc(n, sizeof(*k.sums)),
		.rest = calloc(n, sizeof(*k.rest)),
		.key = calloc(n, sizeof(*k.key))};
	bool withholds = hl_model_has_aggregated(m);
	int err = 0;

	if (withholds)
		k.withheld = calloc(n, sizeof(*k.withheld));
	if (!k.sums || !k.rest || !k.key || (withholds && !k.withheld))
		err = -ENOMEM;
	if (!err)
		err = check_all(&k);

	if (k.differs)
		hl_reader_report_contradiction(m->reader);
	free(k.sums);
	free(k.rest);
	free(k.key);
	free(k.withheld);
	hl_vec_free(&k.base);
	hl_summary_free(&k.summary);
	hl_chunk_events_free(&k.events);
	return err ? hl_model_fail(m, err) : 0;
}
