/*
 * lookup.c - a symbol's definition in the objects that are loaded, without the loader's help.
 *
 * dlsym takes the loader's lock, which may be held by a thread that waits for ours, and it cannot
 * search an object that was loaded as the dependency of another. dl_iterate_phdr takes a lock that
 * nobody holds while running code of the program's. Only what has a GNU hash table is searched.
 */
#include <elf.h>
#include <link.h>
#include <string.h>

#include "record/lookup.h"

struct search {
	const char *name;
	uint32_t hash;
	uintptr_t skip; /* an address in the object that does not count: ours */
	uintptr_t skip_too;
	uintptr_t prefer; /* one in the object whose definition is taken before all others */
	bool waiting;     /* for the object to skip: only what comes after it counts */
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

static bool contains(const struct dl_phdr_info *object, uintptr_t addr)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &object->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && addr - object->dlpi_addr - ph->p_vaddr < ph->p_memsz)
			return true;
	}
	return false;
}

/* The loader writes addresses over the offsets, but not in what the kernel has mapped. */
static const void *at(const struct dl_phdr_info *object, uintptr_t value)
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
			t->symbols = at(object, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_STRTAB)
			t->strings = at(object, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_GNU_HASH)
			t->hash = at(object, dyn->d_un.d_ptr);
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

static int look(struct dl_phdr_info *object, size_t size, void *arg)
{
	struct search *s = arg;
	bool preferred = s->prefer && contains(object, s->prefer);
	void *f;

	if (contains(object, s->skip))
		s->waiting = false;
	if ((s->found && !preferred) || s->waiting || contains(object, s->skip) ||
		contains(object, s->skip_too))
		return 0;
	f = find_in(object, s);
	if (f)
		s->found = f;
	return preferred && f;
}

void *hl_lookup(const char *name, uintptr_t skip, uintptr_t prefer)
{
	struct search s = {.name = name, .hash = gnu_hash(name), .skip = skip, .prefer = prefer};

	dl_iterate_phdr(look, &s);
	return s.found;
}

void *hl_lookup_beyond(const char *name, uintptr_t skip, uintptr_t skip_too)
{
	struct search s = {
		.name = name, .hash = gnu_hash(name), .skip = skip, .skip_too = skip_too};

	dl_iterate_phdr(look, &s);
	return s.found;
}

void *hl_lookup_after(const char *name, uintptr_t skip)
{
	struct search s = {.name = name, .hash = gnu_hash(name), .skip = skip, .waiting = true};

	dl_iterate_phdr(look, &s);
	return s.found;
}

/* --- the scope of what came by dlopen --- */

/* Objects are told by their place in the list; more than these are not looked at. */
#define OBJECTS_MAX 512u
#define NONE        OBJECTS_MAX

struct place {
	unsigned i; /* the one that the callback is at */
	unsigned wanted;
	uintptr_t addr;   /* or the one that this lies in */
	const char *name; /* or the one of this name, as others need it */
	struct dl_phdr_info object;
	unsigned found;
};

const char *hl_lookup_file_name(const char *path)
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
	return !strcmp(t.soname ? t.soname : hl_lookup_file_name(object->dlpi_name),
		hl_lookup_file_name(needed));
}

static int look_for_place(struct dl_phdr_info *object, size_t size, void *arg)
{
	struct place *p = arg;

	if (p->i == p->wanted || (p->addr && contains(object, p->addr)) ||
		(p->name && is_named(object, p->name))) {
		p->object = *object;
		p->found = p->i;
		return 1;
	}
	return ++p->i == OBJECTS_MAX;
}

static unsigned find_place(struct place *p)
{
	p->i = 0;
	p->found = NONE;
	dl_iterate_phdr(look_for_place, p);
	return p->found;
}

/* The i-th of them; false: there are not so many. */
static bool object_at(unsigned i, struct dl_phdr_info *object)
{
	struct place p = {.wanted = i};

	if (find_place(&p) == NONE)
		return false;
	*object = p.object;
	return true;
}

static unsigned place_of_name(const char *name)
{
	return find_place(&(struct place){.wanted = NONE, .name = name});
}

static bool needs(unsigned i, unsigned other)
{
	struct dl_phdr_info object, needed;
	struct tables t;

	if (!object_at(i, &object) || !object_at(other, &needed))
		return false;
	find_tables(&object, &t);
	for (const ElfW(Dyn) *dyn = t.dynamic; dyn && t.strings && dyn->d_tag != DT_NULL; dyn++)
		if (dyn->d_tag == DT_NEEDED && is_named(&needed, t.strings + dyn->d_un.d_val))
			return true;
	return false;
}

/* What needs it and was loaded before it has brought it along, and so on: the one that was opened.
 */
static unsigned root_of(unsigned i)
{
	for (unsigned up = i; up-- > 0;)
		if (needs(up, i))
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

void *hl_lookup_in_scope(const char *name, uintptr_t skip, uintptr_t caller)
{
	struct search s = {.name = name, .hash = gnu_hash(name), .skip = skip};
	unsigned at = find_place(&(struct place){.wanted = NONE, .addr = caller});
	struct scope scope = {0};

	if (at == NONE)
		return hl_lookup(name, skip, caller);
	add_to_scope(&scope, root_of(at));
	for (unsigned i = 0; i < scope.n; i++) {
		struct dl_phdr_info object;
		struct tables t;
		void *f;

		if (!object_at(scope.queue[i], &object))
			continue;
		f = contains(&object, skip) ? NULL : find_in(&object, &s);
		if (f)
			return f;
		find_tables(&object, &t);
		for (const ElfW(Dyn) *dyn = t.dynamic; dyn && t.strings && dyn->d_tag != DT_NULL;
			dyn++)
			if (dyn->d_tag == DT_NEEDED)
				add_to_scope(&scope, place_of_name(t.strings + dyn->d_un.d_val));
	}
	return NULL;
}
