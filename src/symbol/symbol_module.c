/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_module.c - a module's files, tables and cached addresses; see symbol_module_internal.h.
 *
 * Files stay open as long as the module exists, because names point into them.
 */
#include "symbol/symbol_module_internal.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/function_bounds_internal.h"

void hl_module_free(struct hl_symbols_module *m)
{
	hl_symbol_cache_fini(&m->cache);
	hl_dwarf_close(m->dwarf);
	hl_elf_names_fini(&m->symbols);
	hl_spans_fini(&m->bounds);
	hl_elf_image_close(&m->debug);
	hl_elf_image_close(&m->named);
	hl_elf_image_close(&m->image);
	hl_vec_free(&m->frames.v);
	hl_strbuf_fini(&m->note);
	hl_strbuf_fini(&m->advice);
	free(m->path);
	free(m->build_id);
	free(m);
}

/* Is the module's file the one that was recorded? HL_SYMBOLS_STRIPPED: yes, as far as is known. */
static enum hl_symbols_state check_image(struct hl_symbols_module *m)
{
	const uint8_t *id = NULL;
	size_t len = hl_elf_image_build_id(&m->image, &id);

	if (len != m->build_id_len || (len && memcmp(id, m->build_id, len) != 0))
		return HL_SYMBOLS_REBUILT;
	/* Without build-ids only times distinguish two files. A sysroot is a copy, so the change
	 * times of its inodes are the time of copying and are not checked. */
	if (len == 0 && m->since_ns &&
		hl_elf_image_is_newer(&m->image, m->since_ns, !m->locator->sysroot))
		return HL_SYMBOLS_CHANGED;
	return HL_SYMBOLS_STRIPPED;
}

static bool has_dwarf(const struct hl_elf_image *img)
{
	size_t names;
	Elf_Scn *scn = NULL;

	if (!img->elf || elf_getshdrstrndx(img->elf, &names) != 0)
		return false;
	while ((scn = elf_nextscn(img->elf, scn)) != NULL) {
		GElf_Shdr shdr;
		const char *name;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(img->elf, names, shdr.sh_name);
		if (name && (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0))
			return true;
	}
	return false;
}

static void open_files(struct hl_symbols_module *m)
{
	const uint8_t *id = m->build_id;
	size_t len = m->build_id_len;

	if (m->files_opened)
		return;
	m->files_opened = true;
	m->file_state = HL_SYMBOLS_NO_FILE;
	if (!hl_module_is_file(m))
		return;
	/* A relative path depends on the program's working directory, so only a build-id or the
	 * user can identify the file. */
	if (hl_locator_embedded(m->locator, HL_SYMBOLS_FILE_MODULE, m->path, id, len, &m->image) ==
		0) {
		m->file_state = HL_SYMBOLS_STRIPPED;
	} else if (m->path[0] == '/' && hl_locator_image(m->locator, m->path, &m->image) == 0) {
		m->file_state = check_image(m);
		if (m->file_state != HL_SYMBOLS_STRIPPED)
			hl_elf_image_close(&m->image);
	}
	hl_locator_user_file(m->locator, m->path, id, len, &m->named);
	if (has_dwarf(&m->named) || has_dwarf(&m->image))
		return;
	/* If the file is missing, its debug file may still exist, but only a build-id identifies
	 * it. */
	if (!m->image.elf && len == 0)
		return;
	if (hl_locator_debug(m->locator, &m->image, id, len, &m->debug) != 0)
		hl_locator_fetch(m->locator, m->path, id, len, &m->debug);
}

/* Opens the tables of one file: DWARF if none is open yet, and symbols. Returns 0 or -ENOMEM. */
static int add_tables(struct hl_symbols_module *m, const struct hl_elf_image *img)
{
	int err;

	if (!img->elf)
		return 0;
	if (!m->dwarf) {
		err = hl_dwarf_open(&m->dwarf, img, m->locator);
		if (err == -ENOMEM)
			return err;
	}
	return hl_elf_names_add(img, &m->symbols);
}

int hl_module_open_tables(struct hl_symbols_module *m)
{
	int err;

	if (m->tables_opened)
		return 0;
	open_files(m);
	m->tables_opened = true;
	m->from_cache = false;
	err = add_tables(m, &m->named);
	if (!err)
		err = add_tables(m, &m->image);
	if (!err)
		err = add_tables(m, &m->debug);
	hl_elf_names_finish(&m->symbols);
	m->state = m->file_state;
	if (m->dwarf)
		m->state = HL_SYMBOLS_FULL;
	else if (m->symbols.functions.v.len)
		m->state = HL_SYMBOLS_NAMES;
	return err;
}

/* Only the program or library itself has the section; in its debug file it is empty. */
static int read_bounds(struct hl_symbols_module *m)
{
	const struct hl_elf_image *img = m->image.elf ? &m->image : &m->named;

	if (m->bounds_read)
		return 0;
	m->bounds_read = true;
	return img->elf ? hl_function_bounds_read(img, &m->bounds) : 0;
}

int hl_module_find_bounds(struct hl_symbols_module *m, uint64_t addr)
{
	const struct hl_span *s;
	int err = read_bounds(m);

	if (err)
		return err;
	s = hl_spans_find(&m->bounds, addr);
	m->frames.start = s ? s->lo : 0;
	m->frames.end = s ? s->hi : 0;
	return 0;
}

/* Cached names without DWARF are valid until debug information is installed. */
static void load_cache(struct hl_symbols_module *m)
{
	m->cache_tried = true;
	if (!m->cache_dir || m->build_id_len == 0)
		return;
	hl_symbol_cache_load(&m->cache, m->cache_dir, m->build_id, m->build_id_len);
	if (!hl_symbol_cache_loaded(&m->cache))
		return;
	if (m->cache.disk.state != HL_SYMBOLS_FULL) {
		open_files(m);
		if (has_dwarf(&m->named) || has_dwarf(&m->image) || has_dwarf(&m->debug)) {
			hl_symbol_cache_unload(&m->cache);
			return;
		}
	}
	m->state = (enum hl_symbols_state)m->cache.disk.state;
	m->from_cache = true;
}

bool hl_module_cached(struct hl_symbols_module *m, uint64_t offset, int *err)
{
	*err = 0;
	if (!m->cache_tried)
		load_cache(m);
	return hl_symbol_cache_loaded(&m->cache) &&
	       hl_symbol_cache_get(&m->cache, offset, &m->frames, err);
}

void hl_module_learn(struct hl_symbols_module *m, uint64_t offset)
{
	if (m->cache_dir && m->build_id_len && m->tables_opened && m->state <= HL_SYMBOLS_STRIPPED)
		hl_symbol_cache_put(&m->cache, offset, &m->frames);
}

bool hl_module_save(struct hl_symbols_module *m)
{
	if (!m->cache_dir || !m->tables_opened || m->state > HL_SYMBOLS_STRIPPED ||
		(m->dwarf && hl_dwarf_partial(m->dwarf)))
		return false;
	m->cache.state = m->state;
	return hl_symbol_cache_save(&m->cache, m->cache_dir, m->build_id, m->build_id_len);
}
