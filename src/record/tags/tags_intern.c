/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tags_intern.c - names of scopes and threads, each stored once: equal names are one pointer.
 *
 * Names may have any length, and there may be any number of them. An entry is added to the head of
 * a bucket by compare-and-swap and never changes or goes away. Two threads that add one name at
 * once may both store it; lookups then find one of the two.
 */
#include <string.h>

#include "base/bits.h"
#include "base/hash.h"
#include "record/arch/arch.h"
#include "record/arch/syscall.h"
#include "record/tags/tags.h"

#define BUCKETS     (1u << 16)
#define NAMES_BYTES 4096u

struct entry {
	struct entry *next;
	uint64_t hash;
	size_t len;
	char text[];
};
typedef _Atomic(struct entry *) bucket_t;
static _Atomic(bucket_t *) buckets;

hl_cold void *hl_tags_map(size_t bytes)
{
	void *p = hl_rec.no_syscalls ? NULL : hl_arch_map(bytes);

	if (p)
		atomic_fetch_add(&hl_tags_head.own_bytes, bytes);
	return p;
}

static bucket_t *get_table(void)
{
	bucket_t *t = atomic_load_explicit(&buckets, memory_order_acquire), *other = NULL;

	if (hl_likely(t != NULL) || hl_rec.no_syscalls)
		return t;
	t = hl_arch_map(BUCKETS * sizeof(*t));
	if (t && !atomic_compare_exchange_strong(&buckets, &other, t)) {
		hl_arch_unmap(t, BUCKETS * sizeof(*t));
		return other;
	}
	return t;
}

static uint64_t hash_name(const char *name, size_t len)
{
	uint64_t h = len;

	for (; len >= 8; len -= 8, name += 8) {
		uint64_t word;

		memcpy(&word, name, 8);
		h = hl_hash_pair(h, word);
	}
	for (; len > 0; len--)
		h = (h ^ (unsigned char)*name++) * HL_HASH_K;
	return hl_hash_u64(h);
}

static struct entry *find_entry(struct entry *e, uint64_t hash, const char *name, size_t len)
{
	for (; e; e = e->next)
		if (e->hash == hash && e->len == len && !memcmp(e->text, name, len))
			return e;
	return NULL;
}

/* From the tree's memory for names; a long name gets a mapping of its own. */
static struct entry *new_entry(struct hl_tag_tree *t, size_t len)
{
	size_t bytes = hl_align_up(sizeof(struct entry) + len + 1, 16);
	struct entry *e;

	if (bytes > NAMES_BYTES / 4)
		return hl_tags_map(hl_align_up(bytes, 4096));
	if (bytes > t->names_left) {
		char *more = hl_tags_map(NAMES_BYTES);

		if (!more)
			return NULL;
		t->names = more;
		t->names_left = NAMES_BYTES;
	}
	e = (struct entry *)t->names;
	t->names += bytes;
	t->names_left -= bytes;
	return e;
}

const char *hl_tags_intern(struct hl_tag_tree *t, const char *name, size_t len)
{
	bucket_t *all = get_table(), *bucket;
	uint64_t hash = hash_name(name, len);
	struct entry *head, *e;

	if (!all)
		return NULL;
	bucket = &all[hash % BUCKETS];
	head = atomic_load_explicit(bucket, memory_order_acquire);
	e = find_entry(head, hash, name, len);
	if (e)
		return e->text;
	e = new_entry(t, len);
	if (!e)
		return NULL;
	e->hash = hash;
	e->len = len;
	memcpy(e->text, name, len);
	e->text[len] = '\0';
	do {
		struct entry *other = find_entry(head, hash, name, len);

		if (other)
			return other->text;
		e->next = head;
	} while (!atomic_compare_exchange_weak(bucket, &head, e));
	return e->text;
}

uint32_t hl_tags_name_len(const char *interned)
{
	return (uint32_t)((const struct entry *)(interned - offsetof(struct entry, text)))->len;
}
