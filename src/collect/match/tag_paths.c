/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tag_paths.c - see tag_paths.h.
 *
 * A program may have any number of tags, and a hostile one may try to exhaust memory. Beyond the
 * limits below a scope is counted as its parent, and a role as its thread without a tag. No
 * allocation is lost.
 */
#include "collect/match/tag_paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "collect/match/match.h"
#include "collect/match/target_process.h"
#include "ring/ring_record.h"

#define TAGS_MAX       (1u << 20) /* of a target, and of each of its threads */
#define NAME_BYTES_MAX ((size_t)64 << 20)
#define ROLES_MAX      (1u << 23)

void hl_tag_ids_fini(struct hl_tag_ids *t)
{
	hl_pair_map_fini(&t->by_id);
	hl_vec_free(&t->defs);
	hl_vec_free(&t->chain);
}

void hl_tag_paths_fini(struct hl_tag_paths *t)
{
	hl_string_table_fini(&t->names);
	hl_vec_free(&t->defined);
	hl_pair_map_fini(&t->by_path);
	hl_pair_map_fini(&t->roles);
}

static int intern_name(struct hl_target *p, const char *name, size_t len, uint32_t *id)
{
	char text[HL_TAG_NAME_MAX + 1];
	size_t before = p->match.tags.names.len;
	int err;

	len = strnlen(name, hl_min_u64(len, HL_TAG_NAME_MAX));
	if (p->match.tags.name_bytes > NAME_BYTES_MAX)
		len = 0;
	memcpy(text, name, len);
	text[len] = '\0';
	err = hl_string_table_add(&p->match.tags.names, text, id);
	p->match.tags.name_bytes += !err && p->match.tags.names.len > before ? len : 0;
	return err;
}

static int define_tag(struct hl_thread_stream *f, uint32_t id, const struct hl_tag_id *tag)
{
	struct hl_tag_ids *t = &f->tags;
	uint32_t at = hl_pair_map_get(&t->by_id, id, 0);

	if (at != HL_PAIR_MAP_NONE) {
		t->defs.data[at] = *tag;
		return 0;
	}
	if (t->defs.len >= TAGS_MAX)
		return 0;
	at = (uint32_t)t->defs.len;
	return hl_vec_push(&t->defs, *tag) || hl_pair_map_put(&t->by_id, id, 0, at) ? -ENOMEM : 0;
}

void hl_tag_paths_name(
	struct hl_thread_stream *f, uint32_t id, uint32_t parent, const char *name, size_t len)
{
	struct hl_tag_id tag = {.parent = parent, .tag = HL_TAG_NONE};

	if (intern_name(f->target, name, len, &tag.name) || define_tag(f, id, &tag))
		f->target->match.out_of_memory = true;
}

/* Finds or adds the trace's tag of this name below `parent`. At the limit it is `parent`. */
static int find_or_add_tag(struct hl_target *p, uint32_t parent, uint32_t name, uint32_t *tag)
{
	const char *text = hl_string_table_get(&p->match.tags.names, name);
	uint64_t outer = parent == HL_TAG_NONE ? 0 : (uint64_t)parent + 1;

	*tag = hl_pair_map_get(&p->match.tags.by_path, outer, name);
	if (*tag != HL_PAIR_MAP_NONE)
		return 0;
	*tag = parent;
	if (p->match.tags.n >= TAGS_MAX)
		return 0;
	if (hl_vec_push(&p->match.tags.defined, ((struct hl_tag_path){parent, name})))
		return -ENOMEM;
	*tag = p->match.tags.n++;
	(void)hl_writer_add_tag(p->writer, parent, text, strlen(text));
	return hl_pair_map_put(&p->match.tags.by_path, outer, name, *tag);
}

/* Finds the trace's tag for the thread's `id`; HL_TAG_NONE if it was never announced. */
static int resolve_tag(struct hl_thread_stream *f, uint32_t id, uint32_t *tag)
{
	struct hl_tag_ids *t = &f->tags;
	int err = 0;

	*tag = HL_TAG_NONE;
	t->chain.len = 0;
	while (id && !err) {
		uint32_t at = hl_pair_map_get(&t->by_id, id, 0);

		if (at == HL_PAIR_MAP_NONE || t->chain.len > t->defs.len)
			break; /* never announced, or its own ancestor */
		*tag = t->defs.data[at].tag;
		if (*tag != HL_TAG_NONE)
			break;
		err = hl_vec_push(&t->chain, at);
		id = t->defs.data[at].parent;
	}
	while (t->chain.len > 0 && !err) {
		struct hl_tag_id *def = &t->defs.data[t->chain.data[--t->chain.len]];

		err = find_or_add_tag(f->target, *tag, def->name, tag);
		def->tag = *tag;
	}
	return err;
}

static int find_or_add_role(struct hl_target *p, uint32_t thread, uint32_t tag, uint32_t *role)
{
	*role = hl_pair_map_get(&p->match.tags.roles, thread, tag);
	if (*role != HL_PAIR_MAP_NONE)
		return 0;
	*role = thread;
	if (p->match.n_roles >= ROLES_MAX)
		return 0;
	(void)hl_writer_add_role(p->writer, thread, tag);
	*role = hl_target_add_role(p, &(struct hl_match_role){.thread = thread, .tag = tag});
	return hl_pair_map_put(&p->match.tags.roles, thread, tag, *role);
}

void hl_tag_paths_enter(struct hl_thread_stream *f, uint32_t id)
{
	uint32_t tag;
	int err = resolve_tag(f, id, &tag);

	f->role = UINT32_MAX;
	if (!err && tag != HL_TAG_NONE)
		err = find_or_add_role(f->target, hl_match_thread(f->target, f), tag, &f->role);
	if (err)
		f->target->match.out_of_memory = true;
}
