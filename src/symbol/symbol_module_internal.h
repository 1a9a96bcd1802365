/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_module_internal.h - one module: its files, its tables, its cached addresses.
 *
 * Each of three steps is done when it is first needed: load the cache, open the files, read the
 * tables.
 */
#ifndef HL_SYMBOL_SYMBOL_MODULE_INTERNAL_H
#define HL_SYMBOL_SYMBOL_MODULE_INTERNAL_H

#include "symbol/symbol_cache_internal.h"
#include "symbol/locate/locate_internal.h"

struct hl_symbols_module {
	struct hl_symbols *owner;
	struct hl_locator *locator; /* owned by `owner` */
	const char *cache_dir;      /* owned by `owner`; NULL: no cache */
	char *path;
	uint8_t *build_id;
	size_t build_id_len;
	uint64_t since_ns; /* start of the recording; 0: not known */

	bool cache_tried, files_opened, tables_opened;
	bool from_cache;                  /* the cache is loaded and no table was needed so far */
	enum hl_symbols_state file_state; /* state before any table is read */
	enum hl_symbols_state state;
	struct hl_elf_image image, named, debug;
	struct hl_dwarf *dwarf;
	struct hl_elf_names symbols;
	struct hl_spans bounds; /* of functions */
	bool bounds_read;
	struct hl_frames frames; /* of the last lookup */
	struct hl_symbol_cache cache;
	struct hl_strbuf note, advice;
};

void hl_module_free(struct hl_symbols_module *m);
/* True if the cache has the offset; the frames are then in m->frames. */
bool hl_module_cached(struct hl_symbols_module *m, uint64_t offset, int *err);
/* Sets state, dwarf and symbols from the module's files. Returns 0 or -ENOMEM. */
int hl_module_open_tables(struct hl_symbols_module *m);
/* Sets the bounds in m->frames for code without a name. Returns 0 or -ENOMEM. */
int hl_module_find_bounds(struct hl_symbols_module *m, uint64_t addr);
/* Adds the frames in m->frames to the cache, if they are final. */
void hl_module_learn(struct hl_symbols_module *m, uint64_t offset);
/* Writes the learned entries; true if a file was written. */
bool hl_module_save(struct hl_symbols_module *m);

/* False for "[vdso]" and other names in brackets. */
static inline bool hl_module_is_file(const struct hl_symbols_module *m)
{
	return m->path[0] && m->path[0] != '[';
}

#endif
