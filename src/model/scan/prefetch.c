/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prefetch.c - see prefetch.h.
 *
 * A prefetched query that fails is dropped without an error. It runs again when it is really made,
 * and reports its error then.
 */
#include "model/scan/prefetch.h"

#include <errno.h>

#include "model/model_internal.h"

/* The memory limit of all consumers of one scan together. A query that does not fit gets a scan of
 * its own. */
#define SHARED_MEMORY_MAX (UINT64_C(128) << 20)

void hl_prefetch_add(struct hl_prefetch *q)
{
	if (hl_vec_push(&q->m->prefetches, q))
		q->kind->free(q);
}

static void remove_at(struct hl_model *m, size_t i)
{
	m->prefetches.data[i] = m->prefetches.data[--m->prefetches.len];
}

static bool add_memory(const struct hl_prefetch *q, uint64_t *memory)
{
	for (size_t i = 0; i < 2 && q->consumers[i]; i++)
		*memory += q->consumers[i]->memory;
	return *memory <= SHARED_MEMORY_MAX;
}

void hl_prefetch_join(struct hl_model *m, struct hl_scan_consumer **all, size_t *n, size_t max)
{
	uint64_t memory = 0;

	for (size_t i = 0; i < *n; i++)
		memory += all[i]->memory;
	for (size_t i = 0; i < m->prefetches.len;) {
		struct hl_prefetch *q = m->prefetches.data[i];
		uint64_t total = memory;

		if (!q->joined && (*n + 2 > max || q->kind->start(q) || !q->consumers[0] ||
					  !add_memory(q, &total))) {
			remove_at(m, i);
			q->kind->free(q);
			continue;
		}
		for (size_t k = 0; k < 2 && q->consumers[k] && !q->joined; k++) {
			q->consumers[k]->is_prefetched = true;
			all[(*n)++] = q->consumers[k];
		}
		q->joined = true;
		memory = total;
		i++;
	}
	m->error[0] = 0; /* these errors are of queries that no caller has made yet */
}

static bool is_complete(const struct hl_prefetch *q)
{
	for (size_t i = 0; i < 2 && q->consumers[i]; i++) {
		if (q->consumers[i]->state != HL_SCAN_DONE)
			return false;
	}
	return q->joined;
}

/* Removes the prefetched query that equals `q` from the list and returns it; the caller owns it.
 * NULL if there is none. */
static struct hl_prefetch *take_prefetched(struct hl_model *m, const struct hl_prefetch *q)
{
	for (size_t i = 0; i < m->prefetches.len; i++) {
		struct hl_prefetch *e = m->prefetches.data[i];

		if (e->kind != q->kind || !q->kind->same(e, q))
			continue;
		remove_at(m, i);
		return e;
	}
	return NULL;
}

int hl_prefetch_run(struct hl_prefetch **q)
{
	struct hl_model *m = (*q)->m;
	struct hl_prefetch *other = take_prefetched(m, *q);
	int err;

	if (other && is_complete(other)) {
		(*q)->kind->free(*q);
		*q = other;
		return 0;
	}
	if (other)
		other->kind->free(other);
	m->error[0] = 0;
	err = (*q)->kind->start(*q);
	if (!err && (*q)->consumers[0])
		err = hl_scan(m, (*q)->consumers[0], (*q)->consumers[1]);
	if (err && !m->error[0])
		hl_model_fail(m, err);
	return err;
}

void hl_prefetch_fini(struct hl_model *m)
{
	for (size_t i = 0; i < m->prefetches.len; i++)
		m->prefetches.data[i]->kind->free(m->prefetches.data[i]);
	hl_vec_free(&m->prefetches);
}
