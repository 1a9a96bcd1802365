/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roles.c - see roles.h.
 */
#include "model/tags/roles.h"

#include <inttypes.h>

#include "model/model_internal.h"

/* A path is for readers and patterns, so its length is limited: a hostile file may nest a million
 * tags. */
#define PATH_NAMES 256u

struct hl_role hl_model_role(const struct hl_model *m, uint32_t role)
{
	return m ? hl_role_at(m, role) : (struct hl_role){role, HL_TAG_NONE};
}

uint32_t hl_model_n_tags(const struct hl_model *m)
{
	return m->n_tags;
}

uint32_t hl_model_tag_parent(struct hl_model *m, uint32_t tag)
{
	struct hl_tag t;

	return hl_reader_tag(m->reader, tag, &t) == 0 ? t.parent : HL_TAG_NONE;
}

const char *hl_model_tag_name(struct hl_model *m, uint32_t tag)
{
	struct hl_tag t;

	return hl_reader_tag(m->reader, tag, &t) == 0 ? t.name : "[lost]";
}

void hl_model_put_tag(struct hl_model *m, uint32_t tag, struct hl_strbuf *to)
{
	uint32_t path[PATH_NAMES];
	size_t n = 0;

	for (; tag != HL_TAG_NONE && n < PATH_NAMES; tag = hl_model_tag_parent(m, tag))
		path[n++] = tag;
	if (tag != HL_TAG_NONE)
		hl_strbuf_puts(to, ".../");
	while (n-- > 0) {
		hl_strbuf_puts(to, hl_model_tag_name(m, path[n]));
		if (n > 0)
			hl_strbuf_puts(to, "/");
	}
}

const char *hl_model_thread_name(struct hl_model *m, uint32_t thread)
{
	const struct hl_mark *marks;
	size_t n;

	if (hl_model_marks(m, &marks, &n) || thread >= m->thread_names.len)
		return NULL;
	return m->thread_names.data[thread];
}

void hl_model_put_thread(struct hl_model *m, uint32_t thread, struct hl_strbuf *to)
{
	const char *name = hl_model_thread_name(m, thread);
	uint64_t tid;

	hl_strbuf_printf(to, "thread %" PRIu32, thread);
	if (name)
		hl_strbuf_printf(to, " %s", name);
	if (hl_reader_thread(m->reader, thread, &tid) == 0)
		hl_strbuf_printf(to, " (tid %" PRIu64 ")", tid);
}

uint32_t hl_model_n_pools(struct hl_model *m)
{
	const struct hl_mark *marks;
	size_t n;

	return hl_model_marks(m, &marks, &n) ? 0 : (uint32_t)m->pools.len;
}

const char *hl_model_pool_name(struct hl_model *m, uint32_t pool)
{
	const char *name = pool < hl_model_n_pools(m) ? m->pools.data[pool] : NULL;

	return name ? name : "[lost]";
}

bool hl_model_is_pooled(struct hl_model *m, const struct hl_pattern *pool, const struct hl_extra *x)
{
	if (x->kind != HL_EXTRA_POOL_ALLOC && x->kind != HL_EXTRA_POOL_FREE)
		return false;
	return (x->value & ~HL_POOL_PARTED) < HL_POOLS_MAX &&
	       hl_pattern_matches(pool, hl_model_pool_name(m, (uint32_t)x->value));
}
