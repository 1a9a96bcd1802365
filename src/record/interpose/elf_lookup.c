/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_lookup.c - finds the definition of a symbol in the loaded objects without the loader.
 *
 * dlsym takes the loader's lock, which may be held by a thread that waits for this one, and it
 * cannot search an object that was loaded as a dependency of another. dl_iterate_phdr takes a lock
 * that is never held while code of the program runs. Only objects with a GNU hash table are
 * searched.
 */
#include <elf.h>
#include <link.h>
#include <string.h>

#include "record/interpose/elf_lookup.h"

struct search {
	const char *name;
	uint32_t hash;
	uintptr_t skip; /* an address in the object to be skipped: ours */
	uintptr_t skip_too;
	uintptr_t prefer; /* an address in the object whose definition is preferred to all others */
	bool before_skip; /* the object to skip was not reached yet: only later objects count */
	void *found;
};

struct tables {
	const ElfW(Dyn) * dynamic;
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash;
	const char *soname;
};

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

static bool contains_addr(const struct dl_phdr_info *object, uintptr_t addr)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &object->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && addr - object->dlpi_addr - ph->p_vaddr < ph->p_memsz)
			return true;
	}
	return false;
}

/* The loader replaces offsets by addresses, but not in the object that the kernel has mapped
 * (vDSO). */
static const void *relocate(const struct dl_phdr_info *object, uintptr_t value)
{
	return (const void *)(value < object->dlpi_addr ? value + object->dlpi_addr : value);
}

static bool find_tables(const struct dl_phdr_info *object, struct tables *t)
{
	const ElfW(Dyn) * dyn;
	uintptr_t soname = 0;

	*t = (struct tables){0};
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			t->dynamic =
				(const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
	for (dyn = t->dynamic; dyn && dyn->d_tag != DT_NULL; dyn++) {
		if (dyn->d_tag == DT_SYMTAB)
			t->symbols = relocate(object, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_STRTAB)
			t->strings = relocate(object, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_GNU_HASH)
			t->hash = relocate(object, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_SONAME)
			soname = dyn->d_un.d_val;
	}
	t->soname = soname && t->strings ? t->strings + soname : NULL;
	return t->symbols && t->strings && t->hash;
}

static bool is_function(const ElfW(Sym) * symbol)
{
	return symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
	       (symbol->st_info & 15) == STT_FUNC && symbol->st_info >> 4 != STB_LOCAL;
}

static void *find_in(const struct dl_phdr_info *object, const struct search *s)
{
	struct tables t;
	uint32_t buckets, first, bloom, i;
	const uint32_t *bucket;

	if (!find_tables(object, &t) || !t.hash[0])
		return NULL;
	buckets = t.hash[0];
	first = t.hash[1];
	bloom = t.hash[2];
	bucket = t.hash + 4 + bloom * (sizeof(uintptr_t) / 4);
	i = bucket[s->hash % buckets];
	if (i < first)
		return NULL;
	for (;; i++) {
		uint32_t h = bucket[buckets + (i - first)];

		if ((h | 1) == (s->hash | 1) && is_function(&t.symbols[i]) &&
			!strcmp(t.strings + t.symbols[i].st_name, s->name))
			return (void *)(object->dlpi_addr + t.symbols[i].st_value);
		if (h & 1)
			return NULL;
	}
}

static int search_object(struct dl_phdr_info *object, size_t size, void *arg)
{
	struct search *s = arg;
	bool preferred = s->prefer && contains_addr(object, s->prefer);
	void *f;

	if (contains_addr(object, s->skip))
		s->before_skip = false;
	if ((s->found && !preferred) || s->before_skip || contains_addr(object, s->skip) ||
		contains_addr(object, s->skip_too))
		return 0;
	f = find_in(object, s);
	if (f)
		s->found = f;
	return preferred && f;
}

void *hl_elf_lookup(const char *name, uintptr_t skip, uintptr_t prefer)
{
	struct search s = {.name = name, .hash = gnu_hash(name), .skip = skip, .prefer = prefer};

	dl_iterate_phdr(search_object, &s);
	return s.found;
}

void *hl_elf_lookup_except(const char *name, uintptr_t skip, uintptr_t skip_too)
{
	struct search s = {
		.name = name, .hash = gnu_hash(name), .skip = skip, .skip_too = skip_too};

	dl_iterate_phdr(search_object, &s);
	return s.found;
}

void *hl_elf_lookup_after(const char *name, uintptr_t skip)
{
	struct search s = {.name = name, .hash = gnu_hash(name), .skip = skip, .before_skip = true};

	dl_iterate_phdr(search_object, &s);
	return s.found;
}

/* --- the scope of an object loaded by dlopen --- */

/* Objects are identified by their index in the loader's list; later ones are not searched. */
#define OBJECTS_MAX 512u
#define NONE        OBJECTS_MAX

struct object_search {
	unsigned i; /* index of the object in the callback */
	unsigned wanted;
	uintptr_t addr;   /* or find the object that contains this address */
	const char *name; /* or find the object with this name, as in DT_NEEDED */
	struct dl_phdr_info object;
	unsigned found;
};

const char *hl_elf_lookup_file_name(const char *path)
{
	const char *slash;

	while ((slash = strchr(path, '/')))
		path = slash + 1;
	return path;
}

static bool is_named(const struct dl_phdr_info *object, const char *needed)
{
	struct tables t;

	find_tables(object, &t);
	return !strcmp(t.soname ? t.soname : hl_elf_lookup_file_name(object->dlpi_name),
		hl_elf_lookup_file_name(needed));
}

static int match_object(struct dl_phdr_info *object, size_t size, void *arg)
{
	struct object_search *p = arg;

	if (p->i == p->wanted || (p->addr && contains_addr(object, p->addr)) ||
		(p->name && is_named(object, p->name))) {
		p->object = *object;
		p->found = p->i;
		return 1;
	}
	return ++p->i == OBJECTS_MAX;
}

static unsigned find_object(struct object_search *p)
{
	p->i = 0;
	p->found = NONE;
	dl_iterate_phdr(match_object, p);
	return p->found;
}

/* Gets the i-th object. False: there are fewer. */
static bool get_object(unsigned i, struct dl_phdr_info *object)
{
	struct object_search p = {.wanted = i};

	if (find_object(&p) == NONE)
		return false;
	*object = p.object;
	return true;
}

static unsigned find_object_by_name(const char *name)
{
	return find_object(&(struct object_search){.wanted = NONE, .name = name});
}

static bool needs_object(unsigned i, unsigned other)
{
	struct dl_phdr_info object, needed;
	struct tables t;

	if (!get_object(i, &object) || !get_object(other, &needed))
		return false;
	find_tables(&object, &t);
	for (const ElfW(Dyn) *dyn = t.dynamic; dyn && t.strings && dyn->d_tag != DT_NULL; dyn++)
		if (dyn->d_tag == DT_NEEDED && is_named(&needed, t.strings + dyn->d_un.d_val))
			return true;
	return false;
}

/* The object that was opened: an object that needs this one and was loaded before it has brought it
 * along, and so on. */
static unsigned find_root(unsigned i)
{
	for (unsigned up = i; up-- > 0;)
		if (needs_object(up, i))
			i = up;
	return i;
}

struct scope {
	uint64_t seen[OBJECTS_MAX / 64];
	uint16_t queue[OBJECTS_MAX / 2];
	unsigned n;
};

static void add_to_scope(struct scope *s, unsigned i)
{
	if (i == NONE || s->n == OBJECTS_MAX / 2 || s->seen[i / 64] >> (i % 64) & 1)
		return;
	s->seen[i / 64] |= UINT64_C(1) << (i % 64);
	s->queue[s->n++] = (uint16_t)i;
}

void *hl_elf_lookup_in_scope(const char *name, uintptr_t skip, uintptr_t caller)
{
	struct search s = {.name = name, .hash = gnu_hash(name), .skip = skip};
	unsigned at = find_object(&(struct object_search){.wanted = NONE, .addr = caller});
	struct scope scope = {0};

	if (at == NONE)
		return hl_elf_lookup(name, skip, caller);
	add_to_scope(&scope, find_root(at));
	for (unsigned i = 0; i < scope.n; i++) {
		struct dl_phdr_info object;
		struct tables t;
		void *f;

		if (!get_object(scope.queue[i], &object))
			continue;
		f = contains_addr(&object, skip) ? NULL : find_in(&object, &s);
		if (f)
			return f;
		find_tables(&object, &t);
		for (const ElfW(Dyn) *dyn = t.dynamic; dyn && t.strings && dyn->d_tag != DT_NULL;
			dyn++)
			if (dyn->d_tag == DT_NEEDED)
				add_to_scope(
					&scope, find_object_by_name(t.strings + dyn->d_un.d_val));
	}
	return NULL;
}
