/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol.c - modules and their names; see symbol.h.
 */
#include "symbol/symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbol_module_internal.h"
#include "symbol/locate/debian_package_internal.h"
#include "symbol/perf_map_internal.h"
#include "util/code_name/code_name.h"
#include "util/pair_map.h"
#include "util/string_table.h"

struct hl_symbols {
	HL_VEC(struct hl_symbols_module *) modules;
	struct hl_string_table names; /* demangled */
	struct hl_pair_map demangled; /* address of a mangled name -> id in names */
	struct hl_pair_map shortened; /* address of a demangled name -> id in names */
	struct hl_locator locator;
	uint64_t pid, since_ns; /* the process whose JIT map is not read yet; pid 0: none */
	struct hl_perf_map jit;
	uint64_t advice_ns; /* remaining time budget for advice */
	char *ellipsis;     /* NULL: full names */
	char *cache_dir;    /* NULL: no cache */
};

#define ADVICE_NS UINT64_C(200000000)
/* Limit of the cache directory. */
#define CACHE_MAX (UINT64_C(512) << 20)

int hl_symbols_new(struct hl_symbols **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->advice_ns = ADVICE_NS;
	return 0;
}

int hl_symbols_configure(struct hl_symbols *s, const struct hl_symbols_config *c)
{
	hl_locator_fini(&s->locator);
	free(s->ellipsis);
	free(s->cache_dir);
	s->ellipsis = c->ellipsis ? strdup(c->ellipsis) : NULL;
	s->cache_dir = c->cache_dir && *c->cache_dir ? strdup(c->cache_dir) : NULL;
	if (c->ellipsis && !s->ellipsis)
		return -ENOMEM;
	return hl_locator_init(&s->locator, c);
}

void hl_symbols_free(struct hl_symbols *s)
{
	bool wrote = false;

	if (!s)
		return;
	for (size_t i = 0; i < s->modules.len; i++) {
		wrote |= hl_module_save(s->modules.data[i]);
		hl_module_free(s->modules.data[i]);
	}
	if (wrote)
		hl_symbol_cache_prune(s->cache_dir, CACHE_MAX);
	hl_vec_free(&s->modules);
	hl_string_table_fini(&s->names);
	hl_pair_map_fini(&s->demangled);
	hl_pair_map_fini(&s->shortened);
	hl_perf_map_fini(&s->jit);
	hl_locator_fini(&s->locator);
	free(s->ellipsis);
	free(s->cache_dir);
	free(s);
}

void hl_symbols_use_embedded(struct hl_symbols *s, hl_symbols_open_fn *open, void *arg)
{
	s->locator.embedded = (struct hl_embedded_source){open, arg};
}

static int report_file(const struct hl_elf_image *img, enum hl_symbols_file kind,
	hl_symbols_file_fn *fn, void *arg)
{
	const uint8_t *id = NULL;
	size_t len = img->elf ? hl_elf_image_build_id(img, &id) : 0;

	return img->elf ? fn(arg, kind, img->path, img->fd, id, len) : 0;
}

int hl_symbols_files(struct hl_symbols_module *m, hl_symbols_file_fn *fn, void *arg)
{
	int err = hl_module_open_tables(m);

	if (!err)
		err = report_file(&m->image, HL_SYMBOLS_FILE_MODULE, fn, arg);
	if (!err) /* whatever the user named, it has what the module's own file lacks */
		err = report_file(&m->named, HL_SYMBOLS_FILE_DEBUG, fn, arg);
	if (!err)
		err = report_file(&m->debug, HL_SYMBOLS_FILE_DEBUG, fn, arg);
	if (!err && m->dwarf)
		err = report_file(hl_dwarf_alt(m->dwarf), HL_SYMBOLS_FILE_SHARED, fn, arg);
	return err;
}

int hl_symbols_add(struct hl_symbols *s, const char *path, const uint8_t *build_id,
	size_t build_id_len, struct hl_symbols_module **out)
{
	struct hl_symbols_module *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->owner = s;
	m->locator = &s->locator;
	m->cache_dir = s->cache_dir;
	m->since_ns = s->since_ns;
	m->path = strdup(path);
	m->build_id = malloc(build_id_len + 1);
	if (!m->path || !m->build_id || hl_vec_push(&s->modules, m)) {
		hl_module_free(m);
		return -ENOMEM;
	}
	if (build_id_len)
		memcpy(m->build_id, build_id, build_id_len);
	m->build_id_len = build_id_len;
	*out = m;
	return 0;
}

enum hl_symbols_state hl_symbols_state(struct hl_symbols_module *m)
{
	if (!m->from_cache)
		hl_module_open_tables(m);
	return m->state;
}

/* A note if a part of the debug information is missing. */
static const char *dwarf_note(struct hl_symbols_module *m)
{
	const char *alt = m->dwarf ? hl_dwarf_missing_alt(m->dwarf) : NULL;

	if (alt && !m->note.len)
		hl_strbuf_printf(&m->note,
			"a part of its debug information is in %s, which does not exist: some "
			"names and inlined calls are missing",
			alt);
	return hl_strbuf_str(&m->note);
}

const char *hl_symbols_note(struct hl_symbols_module *m)
{
	switch (hl_symbols_state(m)) {
	case HL_SYMBOLS_FULL:
		return dwarf_note(m);
	case HL_SYMBOLS_NAMES:
		return "no debug information: exported symbols only, no line numbers";
	case HL_SYMBOLS_STRIPPED:
		return "stripped: no names";
	case HL_SYMBOLS_NO_FILE:
		if (!hl_module_is_file(m))
			return "";
		return m->path[0] == '/' ? "the file does not exist or is not readable"
					 : "the directory of this relative path is not known: no "
					   "names, unless --symbols names it";
	case HL_SYMBOLS_REBUILT:
		return "rebuilt since the recording: no names from it";
	case HL_SYMBOLS_CHANGED:
		return "changed since the recording (it has no build-id to check): no names from "
		       "it, unless --symbols names it";
	}
	return "";
}

/* Names the debug package of the module. False if it is not known. */
static bool advise_package(struct hl_symbols_module *m)
{
	char *package = NULL, *debug = NULL;
	bool known;

	if (!m->locator->sysroot) /* else it is another system's package */
		package =
			hl_debian_package_find(HL_DEBIAN_ADMIN_DIR, m->path, &m->owner->advice_ns);
	if (package)
		debug = hl_debian_package_debug(package);
	if (debug)
		hl_strbuf_printf(&m->advice, "apt install %s", debug);
	known = debug != NULL;
	free(package);
	free(debug);
	return known;
}

const char *hl_symbols_advice(struct hl_symbols_module *m)
{
	enum hl_symbols_state state = hl_symbols_state(m);

	if (m->advice.len || state == HL_SYMBOLS_FULL || !hl_module_is_file(m))
		return hl_strbuf_str(&m->advice);
	if ((state == HL_SYMBOLS_NAMES || state == HL_SYMBOLS_STRIPPED) && advise_package(m))
		return hl_strbuf_str(&m->advice);
	if (m->build_id_len) {
		hl_strbuf_puts(&m->advice, "build-id ");
		for (size_t i = 0; i < m->build_id_len; i++)
			hl_strbuf_printf(&m->advice, "%02x", m->build_id[i]);
	}
	return hl_strbuf_str(&m->advice);
}

/* Replaces a mangled name by a demangled one that s owns. */
static int demangle_name(struct hl_symbols *s, const char **name)
{
	uint32_t id = hl_pair_map_get(&s->demangled, (uintptr_t)*name, 0);
	char *text;
	int err;

	if (id == HL_PAIR_MAP_NONE) {
		text = hl_demangle(*name);
		err = hl_string_table_add(&s->names, text ? text : *name, &id);
		free(text);
		if (!err)
			err = hl_pair_map_put(&s->demangled, (uintptr_t)*name, 0, id);
		if (err)
			return err;
	}
	*name = hl_string_table_get(&s->names, id);
	return 0;
}

int hl_symbols_display_name(struct hl_symbols *s, const char *name, const char **shown)
{
	uint32_t id = hl_pair_map_get(&s->shortened, (uintptr_t)name, 0);
	struct hl_strbuf text = {0};
	int err = 0;

	*shown = name;
	if (!s->ellipsis)
		return 0;
	if (id == HL_PAIR_MAP_NONE) {
		hl_code_name_drop_lists(&text, name, s->ellipsis);
		err = hl_strbuf_error(&text);
		if (!err)
			err = hl_string_table_add(&s->names, hl_strbuf_str(&text), &id);
		hl_strbuf_fini(&text);
		if (!err)
			err = hl_pair_map_put(&s->shortened, (uintptr_t)name, 0, id);
		if (err)
			return err;
	}
	*shown = hl_string_table_get(&s->names, id);
	return 0;
}

/* Adds a frame from the symbol table, with file and line from DWARF if known. */
static int add_symbol_frame(struct hl_symbols_module *m, uint64_t addr)
{
	struct hl_symbol_frame f = {.function = hl_elf_names_find(&m->symbols, addr)};

	if (!f.function)
		return 0;
	if (m->dwarf)
		hl_dwarf_line(m->dwarf, addr, &f.file, &f.line);
	return hl_vec_push(&m->frames.v, f);
}

/*
 * C++ functions that other units cannot call have no linkage name in DWARF, only a bare name such
 * as "IniGrammer" for all constructors of all instances. The symbol table has the full name.
 */
static void complete_name(struct hl_symbols_module *m)
{
	const char *name;

	if (m->frames.v.len == 0 || m->frames.unqualified_start == 0)
		return;
	name = hl_elf_names_find_mangled(&m->symbols, m->frames.unqualified_start);
	if (name)
		m->frames.v.data[m->frames.v.len - 1].function = name;
}

/* Looks an offset up in the module's files, and completes and demangles the names. */
static int look_up_in_files(struct hl_symbols_module *m, uint64_t offset)
{
	int err = hl_module_open_tables(m);

	if (!err && m->dwarf)
		err = hl_dwarf_frames(m->dwarf, offset - 1, &m->frames);
	if (!err)
		complete_name(m);
	if (!err && m->frames.v.len == 0)
		err = add_symbol_frame(m, offset - 1);
	for (size_t i = 0; i < m->frames.v.len && !err; i++) {
		struct hl_symbol_frame *f = &m->frames.v.data[i];

		/* The name may be in a file that is missing; the function has a symbol too. */
		if (!f->inlined && !(f->function && f->function[0]))
			f->function = hl_elf_names_find(&m->symbols, offset - 1);
		if (f->function && f->function[0])
			err = demangle_name(m->owner, &f->function);
		else
			f->function = "[unnamed]";
	}
	if (!err && m->frames.v.len == 0)
		err = hl_module_find_bounds(m, offset - 1);
	if (!err)
		hl_module_learn(m, offset);
	return err;
}

int hl_symbols_frames(struct hl_symbols_module *m, uint64_t offset,
	const struct hl_symbol_frame **frames, size_t *n)
{
	int err = 0;

	m->frames.v.len = 0;
	m->frames.unqualified_start = 0;
	m->frames.start = m->frames.end = 0;
	*n = 0;
	if (offset == 0)
		return 0;
	if (!hl_module_cached(m, offset, &err))
		err = look_up_in_files(m, offset);
	for (size_t i = 0; i < m->frames.v.len && !err; i++) {
		struct hl_symbol_frame *f = &m->frames.v.data[i];

		err = hl_symbols_display_name(m->owner, f->function, &f->display_name);
	}
	*frames = m->frames.v.data;
	*n = err ? 0 : m->frames.v.len;
	return err;
}

bool hl_symbols_bounds(const struct hl_symbols_module *m, uint64_t *start, uint64_t *end)
{
	*start = m->frames.start;
	*end = m->frames.end;
	return m->frames.end > 0;
}

void hl_symbols_process(struct hl_symbols *s, uint64_t pid, uint64_t since_unix_ns)
{
	hl_perf_map_fini(&s->jit); /* of an earlier call */
	s->pid = pid;
	s->since_ns = since_unix_ns;
}

const char *hl_symbols_jit(struct hl_symbols *s, uint64_t pc)
{
	uint64_t pid = s->pid;

	s->pid = 0; /* the map is read only once */
	if (pid)
		hl_perf_map_load(&s->jit, s->locator.sysroot, pid, s->since_ns);
	return pc ? hl_perf_map_name(&s->jit, pc - 1) : NULL;
}
