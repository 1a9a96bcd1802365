/*
 * tags.c - see tags.h.
 *
 * A program may have any number of tags, and a hostile one as many as it likes. Beyond the bounds
 * below a scope is counted as the one around it, and a role as its thread outside of any: what was
 * allocated is still all there.
 */
#include "collect/tags.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "collect/books.h"
#include "collect/proc.h"
#include "ring/record.h"

#define TAGS_MAX       (1u << 20) /* of a process, and of each of its threads */
#define NAME_BYTES_MAX ((size_t)64 << 20)
#define ROLES_MAX      (1u << 23)

void hl_feed_tags_fini(struct hl_feed_tags *t)
{
	hl_map_fini(&t->by_id);
	hl_vec_free(&t->said);
	hl_vec_free(&t->chain);
}

void hl_proc_tags_fini(struct hl_proc_tags *t)
{
	hl_strings_fini(&t->names);
	hl_map_fini(&t->by_path);
	hl_map_fini(&t->roles);
}

static int keep_name(struct hl_proc *p, const char *name, size_t len, uint32_t *id)
{
	char text[HL_TAG_NAME_MAX + 1];
	size_t before = p->tags.names.len;
	int err;

	len = strnlen(name, hl_min_u64(len, HL_TAG_NAME_MAX));
	if (p->tags.name_bytes > NAME_BYTES_MAX)
		len = 0;
	memcpy(text, name, len);
	text[len] = '\0';
	err = hl_strings_add(&p->tags.names, text, id);
	p->tags.name_bytes += !err && p->tags.names.len > before ? len : 0;
	return err;
}

static int say(struct hl_feed *f, uint32_t id, const struct hl_feed_tag *tag)
{
	struct hl_feed_tags *t = &f->tags;
	uint32_t at = hl_map_get(&t->by_id, id, 0);

	if (at != HL_MAP_NONE) {
		t->said.data[at] = *tag;
		return 0;
	}
	if (t->said.len >= TAGS_MAX)
		return 0;
	at = (uint32_t)t->said.len;
	return hl_vec_push(&t->said, *tag) || hl_map_put(&t->by_id, id, 0, at) ? -ENOMEM : 0;
}

void hl_tags_name(struct hl_feed *f, uint32_t id, uint32_t parent, const char *name, size_t len)
{
	struct hl_feed_tag tag = {.parent = parent, .tag = HL_TAG_NONE};

	if (keep_name(f->proc, name, len, &tag.name) || say(f, id, &tag))
		f->proc->out_of_memory = true;
}

/* The trace's tag of this name inside of that one; the outer one itself if there is no room. */
static int path_tag(struct hl_proc *p, uint32_t parent, uint32_t name, uint32_t *tag)
{
	const char *text = hl_strings_get(&p->tags.names, name);
	uint64_t outer = parent == HL_TAG_NONE ? 0 : (uint64_t)parent + 1;

	*tag = hl_map_get(&p->tags.by_path, outer, name);
	if (*tag != HL_MAP_NONE)
		return 0;
	*tag = parent;
	if (p->tags.n >= TAGS_MAX)
		return 0;
	*tag = p->tags.n++;
	(void)hl_writer_add_tag(p->writer, parent, text, strlen(text));
	return hl_map_put(&p->tags.by_path, outer, name, *tag);
}

/* The trace's tag for what the thread calls `id`; HL_TAG_NONE for what it has never named. */
static int resolve(struct hl_feed *f, uint32_t id, uint32_t *tag)
{
	struct hl_feed_tags *t = &f->tags;
	int err = 0;

	*tag = HL_TAG_NONE;
	t->chain.len = 0;
	while (id && !err) {
		uint32_t at = hl_map_get(&t->by_id, id, 0);

		if (at == HL_MAP_NONE || t->chain.len > t->said.len)
			break; /* never named, or its own ancestor */
		*tag = t->said.data[at].tag;
		if (*tag != HL_TAG_NONE)
			break;
		err = hl_vec_push(&t->chain, at);
		id = t->said.data[at].parent;
	}
	while (t->chain.len > 0 && !err) {
		struct hl_feed_tag *one = &t->said.data[t->chain.data[--t->chain.len]];

		err = path_tag(f->proc, *tag, one->name, tag);
		one->tag = *tag;
	}
	return err;
}

static int role_of(struct hl_proc *p, uint32_t thread, uint32_t tag, uint32_t *role)
{
	*role = hl_map_get(&p->tags.roles, thread, tag);
	if (*role != HL_MAP_NONE)
		return 0;
	*role = thread;
	if (p->n_roles >= ROLES_MAX)
		return 0;
	*role = p->n_roles++;
	(void)hl_writer_add_role(p->writer, thread, tag);
	return hl_map_put(&p->tags.roles, thread, tag, *role);
}

void hl_tags_enter(struct hl_feed *f, uint32_t id)
{
	uint32_t tag;
	int err = resolve(f, id, &tag);

	f->role = UINT32_MAX;
	if (!err && tag != HL_TAG_NONE)
		err = role_of(f->proc, hl_books_thread(f->proc, f), tag, &f->role);
	if (err)
		f->proc->out_of_memory = true;
}
