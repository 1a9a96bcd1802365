/*
 * tags.h - who did it, by name: threads, the scopes that they were in, and pools of the program's
 * own.
 */
#ifndef HL_MODEL_TAGS_H
#define HL_MODEL_TAGS_H

#include "model/model.h"
#include "model/pattern.h"
#include "util/strbuf.h"

/* What an event or an extra calls its thread, as a thread and a tag. m == NULL: without scopes. */
struct hl_role hl_model_role(const struct hl_model *m, uint32_t role);
/* The tag that a block belongs to: that of its allocation, whoever frees it. */
static inline uint32_t hl_model_owner_tag(const struct hl_model *m, const struct hl_event *e)
{
	return hl_model_role(m, hl_event_owner(e)).tag;
}

uint32_t hl_model_n_tags(const struct hl_model *m);
/* HL_TAG_NONE for an outermost or a lost one. Always less than `tag`: climbing ends. */
uint32_t hl_model_tag_parent(struct hl_model *m, uint32_t tag);
/* The name alone; "[lost]" if its definition is. It lives as long as the model. */
const char *hl_model_tag_name(struct hl_model *m, uint32_t tag);
/* "render/mesh" onto the text; of a very deep one the innermost names, behind ".../". */
void hl_model_put_tag(struct hl_model *m, uint32_t tag, struct hl_strbuf *to);

/* The last name of a thread that is known; NULL: none, or an error. Decodes the chunks that have
 * extras, once. */
const char *hl_model_thread_name(struct hl_model *m, uint32_t thread);
/* "thread 1 decoder (tid 4711)" onto the text. */
void hl_model_put_thread(struct hl_model *m, uint32_t thread, struct hl_strbuf *to);

/* Pools are numbered from 0; as for names of threads. */
uint32_t hl_model_n_pools(struct hl_model *m);
/* "[lost]" if its definition is. */
const char *hl_model_pool_name(struct hl_model *m, uint32_t pool);
/* Is it the allocation or the free of a block of a pool with such a name? */
bool hl_model_is_pooled(
	struct hl_model *m, const struct hl_pattern *pool, const struct hl_extra *x);

#endif
