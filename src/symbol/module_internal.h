/*
 * module_internal.h - one module: its files, its tables, its cached answers.
 *
 * Three steps, each when it is first needed: the cache; which files there are; their tables.
 */
#ifndef HL_SYMBOL_MODULE_INTERNAL_H
#define HL_SYMBOL_MODULE_INTERNAL_H

#include "symbol/cache_internal.h"
#include "symbol/find_internal.h"

struct hl_symbols_module {
	struct hl_symbols *owner;
	struct hl_finder *finder; /* the owner's */
	const char *cache_dir;    /* the owner's; NULL: nothing is kept */
	char *path;
	uint8_t *build_id;
	size_t build_id_len;
	uint64_t since_ns; /* when the recording began; 0: not known */

	bool cache_tried, files_opened, tables_opened;
	bool from_cache;                  /* no table was needed so far */
	enum hl_symbols_state file_state; /* before any table is read */
	enum hl_symbols_state state;
	struct hl_image image, named, debug;
	struct hl_dwarf *dwarf;
	struct hl_elf_names symbols;
	struct hl_frames frames; /* of the last answer */
	struct hl_cache cache;
	struct hl_strbuf note, advice;
};

void hl_module_free(struct hl_symbols_module *m);
/* True if the cache had the answer, which is then in m->frames. */
bool hl_module_cached(struct hl_symbols_module *m, uint64_t offset, int *err);
/* Afterwards state, dwarf and symbols are what the files give. 0 or -ENOMEM. */
int hl_module_open_tables(struct hl_symbols_module *m);
/* Keeps the answer in m->frames for later runs, if it is one that will hold. */
void hl_module_learn(struct hl_symbols_module *m, uint64_t offset);
/* Writes what was learned; true if there was something. */
bool hl_module_save(struct hl_symbols_module *m);

/* "[vdso]" and the like are none. */
static inline bool hl_module_is_file(const struct hl_symbols_module *m)
{
	return m->path[0] && m->path[0] != '[';
}

#endif
