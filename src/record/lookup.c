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
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash;
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
	const ElfW(Dyn) *dyn = NULL;

	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dyn = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
	for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
		if (dyn->d_tag == DT_SYMTAB)
			t->symbols = at(object, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_STRTAB)
			t->strings = at(object, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_GNU_HASH)
			t->hash = at(object, dyn->d_un.d_ptr);
	}
	return t->symbols && t->strings && t->hash;
}

static bool is_function(const ElfW(Sym) * symbol)
{
	return symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
	       (symbol->st_info & 15) == STT_FUNC && symbol->st_info >> 4 != STB_LOCAL;
}

static void *find_in(const struct dl_phdr_info *object, const struct search *s)
{
	struct tables t = {0};
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
