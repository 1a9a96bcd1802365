/*
 * symbol.c - modules and what they tell; see symbol.h.
 *
 * A module's files stay open as long as it lives: names point into them.
 */
#include "symbol/symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/find_internal.h"
#include "util/map.h"
#include "util/strings.h"

struct hl_symbols {
	HL_VEC(struct hl_symbols_module *) modules;
	struct hl_strings names; /* demangled */
	struct hl_map demangled; /* address of a mangled name -> number in names */
	struct hl_map shortened; /* address of a demangled name -> number in names */
	struct hl_finder finder;
	char *ellipsis; /* NULL: full names */
};

struct hl_symbols_module {
	struct hl_symbols *owner;
	char *path;
	uint8_t *build_id;
	size_t build_id_len;
	bool opened;
	enum hl_symbols_state state;
	struct hl_image image, debug;
	struct hl_dwarf *dwarf;
	struct hl_spans symbols;
	struct hl_frames frames;
};

int hl_symbols_new(struct hl_symbols **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

int hl_symbols_configure(struct hl_symbols *s, const struct hl_symbols_config *c)
{
	hl_finder_fini(&s->finder);
	free(s->ellipsis);
	s->ellipsis = c->ellipsis ? strdup(c->ellipsis) : NULL;
	if (c->ellipsis && !s->ellipsis)
		return -ENOMEM;
	return hl_finder_init(&s->finder, c);
}

static void module_free(struct hl_symbols_module *m)
{
	hl_dwarf_close(m->dwarf);
	hl_spans_fini(&m->symbols);
	hl_image_close(&m->debug);
	hl_image_close(&m->image);
	hl_vec_free(&m->frames.v);
	free(m->path);
	free(m->build_id);
	free(m);
}

void hl_symbols_free(struct hl_symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->modules.len; i++)
		module_free(s->modules.data[i]);
	hl_vec_free(&s->modules);
	hl_strings_fini(&s->names);
	hl_map_fini(&s->demangled);
	hl_map_fini(&s->shortened);
	hl_finder_fini(&s->finder);
	free(s->ellipsis);
	free(s);
}

int hl_symbols_add(struct hl_symbols *s, const char *path, const uint8_t *build_id,
	size_t build_id_len, struct hl_symbols_module **out)
{
	struct hl_symbols_module *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->owner = s;
	m->path = strdup(path);
	m->build_id = malloc(build_id_len + 1);
	if (!m->path || !m->build_id || hl_vec_push(&s->modules, m)) {
		module_free(m);
		return -ENOMEM;
	}
	if (build_id_len)
		memcpy(m->build_id, build_id, build_id_len);
	m->build_id_len = build_id_len;
	*out = m;
	return 0;
}

static bool is_recorded_file(struct hl_symbols_module *m)
{
	const uint8_t *id = NULL;
	size_t len = hl_image_build_id(&m->image, &id);

	/* Without an id on either side there is nothing to tell them apart by. */
	return len == m->build_id_len && (len == 0 || memcmp(id, m->build_id, len) == 0);
}

/* Takes the debug file over: its DWARF if we have none yet, and its symbols. 0 or -ENOMEM. */
static int use_debug(struct hl_symbols_module *m, struct hl_image *debug)
{
	int err = hl_dwarf_open(&m->dwarf, debug, &m->owner->finder);

	if (err == 0 || err == -ENOENT)
		err = hl_elf_symbols(debug, &m->symbols);
	m->debug = *debug;
	return err == -ENOMEM ? err : 0;
}

/* DWARF from where it is nearest, ELF symbols from wherever they are. 0 or -ENOMEM. */
static int open_tables(struct hl_symbols_module *m)
{
	struct hl_finder *f = &m->owner->finder;
	const uint8_t *id = m->build_id;
	size_t len = m->build_id_len;
	struct hl_image debug = {0};
	int err = 0;

	if (hl_finder_named(f, m->path, id, len, &debug) == 0)
		err = use_debug(m, &debug);
	if (!err && !m->dwarf && m->image.elf)
		err = hl_dwarf_open(&m->dwarf, &m->image, f);
	if (err == -ENOMEM)
		return err;
	err = 0;
	if (!m->dwarf && !m->debug.elf &&
		(hl_finder_debug(f, &m->image, id, len, &debug) == 0 ||
			hl_finder_fetch(f, id, len, &debug) == 0))
		err = use_debug(m, &debug);
	if (!err && m->image.elf)
		err = hl_elf_symbols(&m->image, &m->symbols);
	hl_elf_symbols_ready(&m->symbols);
	return err;
}

/* 0 or -ENOMEM. */
static int open_module(struct hl_symbols_module *m)
{
	int err;

	if (m->opened)
		return 0;
	m->opened = true;
	m->state = HL_SYMBOLS_NO_FILE;
	/* "[vdso]" and the like, and paths that depend on where we stand. */
	if (m->path[0] != '/')
		return 0;
	if (hl_finder_image(&m->owner->finder, m->path, &m->image) == 0) {
		m->state = HL_SYMBOLS_NOTHING;
		if (!is_recorded_file(m)) {
			hl_image_close(&m->image);
			m->state = HL_SYMBOLS_REBUILT;
		}
	}
	/* Without the file its debug file may still be somewhere; only an id can tell. */
	if (!m->image.elf && m->build_id_len == 0)
		return 0;
	err = open_tables(m);
	if (m->dwarf)
		m->state = HL_SYMBOLS_FULL;
	else if (m->symbols.v.len)
		m->state = HL_SYMBOLS_NAMES;
	return err;
}

enum hl_symbols_state hl_symbols_state(struct hl_symbols_module *m)
{
	open_module(m);
	return m->state;
}

const char *hl_symbols_note(struct hl_symbols_module *m)
{
	switch (hl_symbols_state(m)) {
	case HL_SYMBOLS_FULL:
		return "";
	case HL_SYMBOLS_NAMES:
		return "no debug information: names only, no lines";
	case HL_SYMBOLS_NOTHING:
		return "stripped: no names";
	case HL_SYMBOLS_NO_FILE:
		return m->path[0] == '/' ? "the file is not there or not readable" : "";
	case HL_SYMBOLS_REBUILT:
		return "rebuilt since the recording: no names from it";
	}
	return "";
}

/* Replaces a mangled name by a demangled one that lives as long as s. */
static int demangle(struct hl_symbols *s, const char **name)
{
	uint32_t id = hl_map_get(&s->demangled, (uintptr_t)*name, 0);
	char *text;
	int err;

	if (id == HL_MAP_NONE) {
		text = hl_demangle(*name);
		err = hl_strings_add(&s->names, text ? text : *name, &id);
		free(text);
		if (!err)
			err = hl_map_put(&s->demangled, (uintptr_t)*name, 0, id);
		if (err)
			return err;
	}
	*name = hl_strings_get(&s->names, id);
	return 0;
}

/* Replaces a name by its short form; both live as long as s. */
static int shorten(struct hl_symbols *s, const char **name)
{
	uint32_t id = hl_map_get(&s->shortened, (uintptr_t)*name, 0);
	struct hl_strbuf text = {0};
	int err = 0;

	if (!s->ellipsis)
		return 0;
	if (id == HL_MAP_NONE) {
		hl_symbol_shorten(&text, *name, s->ellipsis);
		err = hl_strbuf_error(&text);
		if (!err)
			err = hl_strings_add(&s->names, hl_strbuf_str(&text), &id);
		hl_strbuf_fini(&text);
		if (!err)
			err = hl_map_put(&s->shortened, (uintptr_t)*name, 0, id);
		if (err)
			return err;
	}
	*name = hl_strings_get(&s->names, id);
	return 0;
}

/* A frame from the symbol table, with what DWARF says about the line. */
static int add_symbol_frame(struct hl_symbols_module *m, uint64_t addr)
{
	const struct hl_span *span = hl_spans_find(&m->symbols, addr);
	struct hl_symbol_frame f = {0};

	if (!span)
		return 0;
	f.function = (const char *)(uintptr_t)span->what;
	if (m->dwarf)
		hl_dwarf_line(m->dwarf, addr, &f.file, &f.line);
	return hl_vec_push(&m->frames.v, f);
}

int hl_symbols_frames(struct hl_symbols_module *m, uint64_t offset,
	const struct hl_symbol_frame **frames, size_t *n)
{
	int err = open_module(m);

	m->frames.v.len = 0;
	*n = 0;
	if (err || offset == 0)
		return err;
	if (m->dwarf)
		err = hl_dwarf_frames(m->dwarf, offset - 1, &m->frames);
	if (!err && m->frames.v.len == 0)
		err = add_symbol_frame(m, offset - 1);
	for (size_t i = 0; i < m->frames.v.len && !err; i++) {
		struct hl_symbol_frame *f = &m->frames.v.data[i];

		if (f->function && f->function[0])
			err = demangle(m->owner, &f->function);
		else
			f->function = "[unnamed]";
		if (!err)
			err = shorten(m->owner, &f->function);
	}
	*frames = m->frames.v.data;
	*n = err ? 0 : m->frames.v.len;
	return err;
}
