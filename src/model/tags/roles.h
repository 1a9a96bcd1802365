/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roles.h - names of threads, of the scopes that they were in, and of the program's own pools.
 */
#ifndef HL_MODEL_TAGS_ROLES_H
#define HL_MODEL_TAGS_ROLES_H

#include "model/model.h"
#include "model/query/pattern.h"
#include "util/strbuf.h"

/* The thread and the tag of the role in an event or side event. m == NULL: without scopes. */
struct hl_role hl_model_role(const struct hl_model *m, uint32_t role);
/* The tag that a block belongs to: that of its allocation, whichever thread frees it. */
static inline uint32_t hl_model_owner_tag(const struct hl_model *m, const struct hl_event *e)
{
	return hl_model_role(m, hl_event_alloc_role(e)).tag;
}

uint32_t hl_model_n_tags(const struct hl_model *m);
/* HL_TAG_NONE for an outermost or a lost tag. Always less than `tag`, so that loops over parents
 * end. */
uint32_t hl_model_tag_parent(struct hl_model *m, uint32_t tag);
/* The name alone; "[lost]" if its definition is lost. Valid as long as the model. */
const char *hl_model_tag_name(struct hl_model *m, uint32_t tag);
/* Appends "render/mesh". Of a very deep path only the innermost names, after ".../". */
void hl_model_put_tag(struct hl_model *m, uint32_t tag, struct hl_strbuf *to);

/* The last known name of a thread; NULL: none, or an error. The first call decodes the chunks that
 * have side events. */
const char *hl_model_thread_name(struct hl_model *m, uint32_t thread);
/* Appends "thread 1 decoder (tid 4711)". */
void hl_model_put_thread(struct hl_model *m, uint32_t thread, struct hl_strbuf *to);

/* Pools are numbered from 0. The first call decodes as hl_model_thread_name does. */
uint32_t hl_model_n_pools(struct hl_model *m);
/* "[lost]" if its definition is lost. */
const char *hl_model_pool_name(struct hl_model *m, uint32_t pool);
/* Is it the allocation or the free of a block of a pool with such a name? */
bool hl_model_is_pooled(
	struct hl_model *m, const struct hl_pattern *pool, const struct hl_extra *x);

#endif
