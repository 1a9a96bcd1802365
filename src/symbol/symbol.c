/*
 * symbol.c - modules and what they tell; see symbol.h.
 */
#include "symbol/symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/module_internal.h"
#include "symbol/package_internal.h"
#include "symbol/perf_map_internal.h"
#include "util/map.h"
#include "util/strings.h"

struct hl_symbols {
	HL_VEC(struct hl_symbols_module *) modules;
	struct hl_strings names; /* demangled */
	struct hl_map demangled; /* address of a mangled name -> number in names */
	struct hl_map shortened; /* address of a demangled name -> number in names */
	struct hl_finder finder;
	uint64_t pid, since_ns; /* whose JIT; pid 0: nobody's */
	struct hl_perf_map jit;
	uint64_t advice_ns; /* that may still be spent on advice */
	char *ellipsis;     /* NULL: full names */
	char *cache_dir;    /* NULL: none */
};

#define ADVICE_NS UINT64_C(200000000)
/* Of all files of the cache together. */
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
	hl_finder_fini(&s->finder);
	free(s->ellipsis);
	free(s->cache_dir);
	s->ellipsis = c->ellipsis ? strdup(c->ellipsis) : NULL;
	s->cache_dir = c->cache_dir && *c->cache_dir ? strdup(c->cache_dir) : NULL;
	if (c->ellipsis && !s->ellipsis)
		return -ENOMEM;
	return hl_finder_init(&s->finder, c);
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
		hl_cache_prune(s->cache_dir, CACHE_MAX);
	hl_vec_free(&s->modules);
	hl_strings_fini(&s->names);
	hl_map_fini(&s->demangled);
	hl_map_fini(&s->shortened);
	hl_perf_map_fini(&s->jit);
	hl_finder_fini(&s->finder);
	free(s->ellipsis);
	free(s->cache_dir);
	free(s);
}

void hl_symbols_carry(struct hl_symbols *s, hl_symbols_open_fn *open, void *arg)
{
	s->finder.carrier = (struct hl_carrier){open, arg};
}

static int hand_over(
	const struct hl_image *img, enum hl_symbols_file kind, hl_symbols_file_fn *fn, void *arg)
{
	const uint8_t *id = NULL;
	size_t len = img->elf ? hl_image_build_id(img, &id) : 0;

	return img->elf ? fn(arg, kind, img->path, img->fd, id, len) : 0;
}

int hl_symbols_files(struct hl_symbols_module *m, hl_symbols_file_fn *fn, void *arg)
{
	int err = hl_module_open_tables(m);

	if (!err)
		err = hand_over(&m->image, HL_SYMBOLS_FILE_MODULE, fn, arg);
	if (!err) /* whatever it is, it has what the module's own file has not */
		err = hand_over(&m->named, HL_SYMBOLS_FILE_DEBUG, fn, arg);
	if (!err)
		err = hand_over(&m->debug, HL_SYMBOLS_FILE_DEBUG, fn, arg);
	if (!err && m->dwarf)
		err = hand_over(hl_dwarf_alt(m->dwarf), HL_SYMBOLS_FILE_SHARED, fn, arg);
	return err;
}

int hl_symbols_add(struct hl_symbols *s, const char *path, const uint8_t *build_id,
	size_t build_id_len, struct hl_symbols_module **out)
{
	struct hl_symbols_module *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->owner = s;
	m->finder = &s->finder;
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

/* Debug information that is there, but not all of it. */
static const char *note_on_dwarf(struct hl_symbols_module *m)
{
	const char *alt = m->dwarf ? hl_dwarf_missing_alt(m->dwarf) : NULL;

	if (alt && !m->note.len)
		hl_strbuf_printf(&m->note,
			"a part of its debug information is in %s, which is not there: some names "
			"and inlined calls are not known",
			alt);
	return hl_strbuf_str(&m->note);
}

const char *hl_symbols_note(struct hl_symbols_module *m)
{
	switch (hl_symbols_state(m)) {
	case HL_SYMBOLS_FULL:
		return note_on_dwarf(m);
	case HL_SYMBOLS_NAMES:
		return "no debug information: no lines, and only names that the file has";
	case HL_SYMBOLS_NOTHING:
		return "stripped: no names";
	case HL_SYMBOLS_NO_FILE:
		if (!hl_module_is_file(m))
			return "";
		return m->path[0] == '/' ? "the file is not there or not readable"
					 : "the folder of this path is not known: no names, unless "
					   "--symbols names it";
	case HL_SYMBOLS_REBUILT:
		return "rebuilt since the recording: no names from it";
	case HL_SYMBOLS_CHANGED:
		return "changed since the recording (it has no build-id to be sure): no names from "
		       "it, unless --symbols names it";
	}
	return "";
}

/* The debug package of the module, if it came with one. False if that is not known. */
static bool advise_package(struct hl_symbols_module *m)
{
	char *package = NULL, *debug = NULL;
	bool known;

	if (!m->finder->sysroot) /* else it is another system's */
		package = hl_package_find(m->path, &m->owner->advice_ns);
	if (package)
		debug = hl_package_debug(package);
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
	if ((state == HL_SYMBOLS_NAMES || state == HL_SYMBOLS_NOTHING) && advise_package(m))
		return hl_strbuf_str(&m->advice);
	if (m->build_id_len) {
		hl_strbuf_puts(&m->advice, "build-id ");
		for (size_t i = 0; i < m->build_id_len; i++)
			hl_strbuf_printf(&m->advice, "%02x", m->build_id[i]);
	}
	return hl_strbuf_str(&m->advice);
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

int hl_symbols_shown(struct hl_symbols *s, const char *name, const char **shown)
{
	uint32_t id = hl_map_get(&s->shortened, (uintptr_t)name, 0);
	struct hl_strbuf text = {0};
	int err = 0;

	*shown = name;
	if (!s->ellipsis)
		return 0;
	if (id == HL_MAP_NONE) {
		hl_symbol_shorten(&text, name, s->ellipsis);
		err = hl_strbuf_error(&text);
		if (!err)
			err = hl_strings_add(&s->names, hl_strbuf_str(&text), &id);
		hl_strbuf_fini(&text);
		if (!err)
			err = hl_map_put(&s->shortened, (uintptr_t)name, 0, id);
		if (err)
			return err;
	}
	*shown = hl_strings_get(&s->names, id);
	return 0;
}

/* A frame from the symbol table, with what DWARF says about the line. */
static int add_symbol_frame(struct hl_symbols_module *m, uint64_t addr)
{
	struct hl_symbol_frame f = {.function = hl_elf_name(&m->symbols, addr)};

	if (!f.function)
		return 0;
	if (m->dwarf)
		hl_dwarf_line(m->dwarf, addr, &f.file, &f.line);
	return hl_vec_push(&m->frames.v, f);
}

/*
 * C++ functions that other units cannot call have no linkage name in DWARF, and what is there is
 * "IniGrammer" for all constructors of all its instances. The symbol table has the whole.
 */
static void complete_name(struct hl_symbols_module *m)
{
	const char *name;

	if (m->frames.v.len == 0 || m->frames.bare_at == 0)
		return;
	name = hl_elf_mangled(&m->symbols, m->frames.bare_at);
	if (name)
		m->frames.v.data[m->frames.v.len - 1].function = name;
}

/* The frames as the files give them, with whole names. */
static int ask_files(struct hl_symbols_module *m, uint64_t offset)
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

		/* The name may stand in a file that is missing; the function has a symbol, too. */
		if (!f->inlined && !(f->function && f->function[0]))
			f->function = hl_elf_name(&m->symbols, offset - 1);
		if (f->function && f->function[0])
			err = demangle(m->owner, &f->function);
		else
			f->function = "[unnamed]";
	}
	if (!err)
		hl_module_learn(m, offset);
	return err;
}

int hl_symbols_frames(struct hl_symbols_module *m, uint64_t offset,
	const struct hl_symbol_frame **frames, size_t *n)
{
	int err = 0;

	m->frames.v.len = 0;
	m->frames.bare_at = 0;
	*n = 0;
	if (offset == 0)
		return 0;
	if (!hl_module_cached(m, offset, &err))
		err = ask_files(m, offset);
	for (size_t i = 0; i < m->frames.v.len && !err; i++) {
		struct hl_symbol_frame *f = &m->frames.v.data[i];

		err = hl_symbols_shown(m->owner, f->function, &f->shown);
	}
	*frames = m->frames.v.data;
	*n = err ? 0 : m->frames.v.len;
	return err;
}

void hl_symbols_process(struct hl_symbols *s, uint64_t pid, uint64_t since_unix_ns)
{
	s->pid = pid;
	s->since_ns = since_unix_ns;
}

const char *hl_symbols_jit(struct hl_symbols *s, uint64_t pc)
{
	uint64_t pid = s->pid;

	s->pid = 0; /* once is enough */
	if (pid)
		hl_perf_map_load(&s->jit, s->finder.sysroot, pid, s->since_ns);
	return pc ? hl_perf_map_name(&s->jit, pc - 1) : NULL;
}
