/*
 * module.c - a module's files, tables and cached answers; see module_internal.h.
 *
 * Files stay open as long as the module lives: names point into them.
 */
#include "symbol/module_internal.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

void hl_module_free(struct hl_symbols_module *m)
{
	hl_cache_fini(&m->cache);
	hl_dwarf_close(m->dwarf);
	hl_elf_names_fini(&m->symbols);
	hl_image_close(&m->debug);
	hl_image_close(&m->named);
	hl_image_close(&m->image);
	hl_vec_free(&m->frames.v);
	hl_strbuf_fini(&m->note);
	hl_strbuf_fini(&m->advice);
	free(m->path);
	free(m->build_id);
	free(m);
}

/* Is the module's file the one that was recorded? HL_SYMBOLS_NOTHING: it is, for all we know. */
static enum hl_symbols_state judge_image(struct hl_symbols_module *m)
{
	const uint8_t *id = NULL;
	size_t len = hl_image_build_id(&m->image, &id);

	if (len != m->build_id_len || (len && memcmp(id, m->build_id, len) != 0))
		return HL_SYMBOLS_REBUILT;
	/* Without ids there is only time to tell them apart by. A sysroot is a copy: the times of
	 * its inodes are those of the copying. */
	if (len == 0 && m->since_ns &&
		hl_image_is_newer(&m->image, m->since_ns, !m->finder->sysroot))
		return HL_SYMBOLS_CHANGED;
	return HL_SYMBOLS_NOTHING;
}

static bool has_dwarf(const struct hl_image *img)
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
	/* Where a relative path leads depends on where the program stood: only an id, or the user,
	 * can tell the file. */
	if (hl_finder_carried(m->finder, HL_SYMBOLS_FILE_MODULE, m->path, id, len, &m->image) ==
		0) {
		m->file_state = HL_SYMBOLS_NOTHING;
	} else if (m->path[0] == '/' && hl_finder_image(m->finder, m->path, &m->image) == 0) {
		m->file_state = judge_image(m);
		if (m->file_state != HL_SYMBOLS_NOTHING)
			hl_image_close(&m->image);
	}
	hl_finder_named(m->finder, m->path, id, len, &m->named);
	if (has_dwarf(&m->named) || has_dwarf(&m->image))
		return;
	/* Without the file its debug file may still be somewhere; only an id can tell. */
	if (!m->image.elf && len == 0)
		return;
	if (hl_finder_debug(m->finder, &m->image, id, len, &m->debug) != 0)
		hl_finder_fetch(m->finder, m->path, id, len, &m->debug);
}

/* The tables of one file: DWARF if there is none yet, and its symbols. 0 or -ENOMEM. */
static int add_tables(struct hl_symbols_module *m, const struct hl_image *img)
{
	int err;

	if (!img->elf)
		return 0;
	if (!m->dwarf) {
		err = hl_dwarf_open(&m->dwarf, img, m->finder);
		if (err == -ENOMEM)
			return err;
	}
	return hl_elf_symbols(img, &m->symbols);
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
	hl_elf_symbols_ready(&m->symbols);
	m->state = m->file_state;
	if (m->dwarf)
		m->state = HL_SYMBOLS_FULL;
	else if (m->symbols.functions.v.len)
		m->state = HL_SYMBOLS_NAMES;
	return err;
}

/* Names without DWARF hold until someone installs it. */
static void try_cache(struct hl_symbols_module *m)
{
	m->cache_tried = true;
	if (!m->cache_dir || m->build_id_len == 0)
		return;
	hl_cache_load(&m->cache, m->cache_dir, m->build_id, m->build_id_len);
	if (!hl_cache_loaded(&m->cache))
		return;
	if (m->cache.disk.state != HL_SYMBOLS_FULL) {
		open_files(m);
		if (has_dwarf(&m->named) || has_dwarf(&m->image) || has_dwarf(&m->debug)) {
			hl_cache_forget(&m->cache);
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
		try_cache(m);
	return hl_cache_loaded(&m->cache) && hl_cache_get(&m->cache, offset, &m->frames, err);
}

void hl_module_learn(struct hl_symbols_module *m, uint64_t offset)
{
	if (m->cache_dir && m->build_id_len && m->tables_opened && m->state <= HL_SYMBOLS_NOTHING)
		hl_cache_put(&m->cache, offset, &m->frames);
}

bool hl_module_save(struct hl_symbols_module *m)
{
	if (!m->cache_dir || !m->tables_opened || m->state > HL_SYMBOLS_NOTHING ||
		(m->dwarf && hl_dwarf_partial(m->dwarf)))
		return false;
	m->cache.state = m->state;
	return hl_cache_save(&m->cache, m->cache_dir, m->build_id, m->build_id_len);
}
