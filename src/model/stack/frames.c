/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames.c - from nodes of the recorded call tree to frames as they are shown.
 *
 * A node is one return address; with inlined calls it is several frames. Each (module, offset) is
 * symbolized once. Frames are interned: equal frames have the same id.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "model/model_internal.h"

#define STRING_NONE UINT32_MAX

static void free_known(struct hl_known_frames *k)
{
	hl_pair_map_fini(&k->site_ids);
	hl_vec_free(&k->sites);
	hl_vec_free(&k->refs);
	hl_vec_free(&k->frames);
	*k = (struct hl_known_frames){0};
}

static void free_frames(struct hl_model *m)
{
	hl_vec_free(&m->asked);
	hl_vec_free(&m->frames);
	hl_pair_map_fini(&m->frame_ids);
	hl_vec_free(&m->sites);
	hl_pair_map_fini(&m->site_ids);
	hl_vec_free(&m->refs);
	hl_model_kinds_fini(m);
}

void hl_model_frames_fini(struct hl_model *m)
{
	free_frames(m);
	free_known(&m->known);
	hl_string_table_fini(&m->strings);
}

/* The first time all frames become the known ones; from then on each lookup adds its own. */
static void move_to_known(struct hl_model *m)
{
	m->known.kept = true;
	m->known.site_ids = m->site_ids;
	m->known.sites.data = m->sites.data;
	m->known.sites.len = m->sites.len;
	m->known.sites.cap = m->sites.cap;
	m->known.refs.data = m->refs.data;
	m->known.refs.len = m->refs.len;
	m->known.refs.cap = m->refs.cap;
	m->known.frames.data = m->frames.data;
	m->known.frames.len = m->frames.len;
	m->known.frames.cap = m->frames.cap;
	memset(&m->site_ids, 0, sizeof(m->site_ids));
	memset(&m->sites, 0, sizeof(m->sites));
	memset(&m->refs, 0, sizeof(m->refs));
	memset(&m->frames, 0, sizeof(m->frames));
}

void hl_model_forget_frames(struct hl_model *m, bool names)
{
	const struct hl_stack_rules *rules = m->kinds.rules;

	if (names) {
		free_known(&m->known);
		memset(m->modules, 0, ((size_t)m->n_modules + 1) * sizeof(*m->modules));
	} else if (!m->known.kept) {
		move_to_known(m);
	}
	for (uint32_t i = 0; i < m->n_modules; i++)
		m->modules[i].noted = false;
	free_frames(m);
	m->kinds.rules = rules;
	memset(m->func_frames, 0, sizeof(m->func_frames));
}

struct hl_symbols *hl_model_symbols(struct hl_model *m)
{
	return m->symbols;
}

const struct hl_frame *hl_model_frame(const struct hl_model *m, uint32_t frame)
{
	return &m->frames.data[frame];
}

static uint64_t hash_text(const char *s, uint64_t seed)
{
	for (; s && *s; s++)
		seed = hl_hash_pair(seed, (unsigned char)*s);
	return seed;
}

int hl_frame_find_lookalike(struct hl_pair_map *seen, uint32_t list, const struct hl_frame *f,
	uint32_t number, uint32_t *first)
{
	const char *path = f->file ? f->file : f->module, *base = path ? strrchr(path, '/') : NULL;
	uint64_t name = hash_text(f->display_name, list);
	uint64_t place = hash_text(base ? base : path, f->file ? f->line : 0);

	/* A hash collision only causes two frames to be shown with full names unnecessarily. */
	*first = hl_pair_map_get(seen, name, place);
	if (*first != HL_PAIR_MAP_NONE)
		return 0;
	*first = number;
	return hl_pair_map_put(seen, name, place, number);
}

uint32_t hl_model_parent(struct hl_model *m, uint32_t node)
{
	struct hl_node n;

	if (hl_reader_node(m->reader, node, &n) != 0 || n.parent >= node)
		return HL_NODE_NONE;
	return n.parent;
}

static int string_id(struct hl_model *m, const char *s, uint32_t *id)
{
	*id = STRING_NONE;
	return s ? hl_string_table_add(&m->strings, s, id) : 0;
}

static int add_frame(
	struct hl_model *m, const struct hl_symbol_frame *f, uint32_t module, uint32_t *id)
{
	uint32_t function, shown, file;
	uint64_t a, b;
	int err = string_id(m, f->function, &function);

	if (!err)
		err = string_id(m, f->display_name, &shown);
	if (!err)
		err = string_id(m, f->file, &file);
	if (err)
		return err;
	a = (uint64_t)function << 32 | file;
	b = (uint64_t)f->line << 32 | module;
	*id = hl_pair_map_get(&m->frame_ids, a, b);
	if (*id == HL_PAIR_MAP_NONE) {
		struct hl_frame frame = {
			.function = hl_string_table_get(&m->strings, function),
			.display_name = hl_string_table_get(&m->strings, shown),
			.file = file == STRING_NONE ? NULL : hl_string_table_get(&m->strings, file),
			.module = module == STRING_NONE ? NULL
							: hl_string_table_get(&m->strings, module),
			.line = f->line,
		};

		*id = (uint32_t)m->frames.len;
		err = hl_vec_push(&m->frames, frame);
		if (!err)
			err = hl_pair_map_put(&m->frame_ids, a, b, *id);
	}
	return err;
}

/* Appends a frame to the refs of the site that is under construction. */
static int add_ref(struct hl_model *m, const struct hl_symbol_frame *f, uint32_t module)
{
	struct hl_frame_ref ref = {.inlined = f->inlined};
	int err = add_frame(m, f, module, &ref.frame);

	return err ? err : hl_vec_push(&m->refs, ref);
}

int hl_model_group_frame(struct hl_model *m, const char *name, const char *shown, uint32_t *frame)
{
	struct hl_symbol_frame f = {.function = name, .display_name = shown};
	int err = add_frame(m, &f, STRING_NONE, frame);

	if (!err)
		m->frames.data[*frame].group = true;
	return err;
}

/* No code has this line. */
#define FOLD_LINE UINT32_MAX

int hl_model_fold_frame(struct hl_model *m, const char *name, uint32_t outer, uint32_t *frame)
{
	struct hl_symbol_frame f = {.function = name, .display_name = name, .line = FOLD_LINE};
	int err = add_frame(m, &f, STRING_NONE, frame);

	if (!err) {
		m->frames.data[*frame].fold = true;
		m->frames.data[*frame].run_of = outer;
		m->frames.data[*frame].line = 0;
	}
	return err;
}

static int add_nameless(struct hl_model *m, const char *text, uint32_t module)
{
	struct hl_symbol_frame f = {.function = text, .display_name = text};

	return add_ref(m, &f, module);
}

/* Code whose function has bounds, but no name. */
static int add_bounded(
	struct hl_model *m, const char *text, uint32_t module, uint64_t start, uint64_t end)
{
	int err = add_nameless(m, text, module);
	uint32_t entry;
	char name[32];

	snprintf(name, sizeof(name), "0x%" PRIx64, start);
	if (!err)
		err = string_id(m, name, &entry);
	if (!err) {
		struct hl_frame *f = &m->frames.data[m->refs.data[m->refs.len - 1].frame];

		f->entry = hl_string_table_get(&m->strings, entry);
		f->start = start;
		f->end = end;
	}
	return err;
}

static int load_module(struct hl_model *m, uint32_t id, struct hl_model_module **out)
{
	struct hl_model_module *mod = &m->modules[id];
	struct hl_module def;
	int err;

	*out = mod;
	if (mod->asked)
		return 0;
	mod->asked = true;
	err = hl_reader_module(m->reader, id, &def);
	if (err == -EBADMSG) {
		mod->lost = true;
		return 0;
	}
	if (!err)
		err = string_id(m, def.path, &mod->path);
	if (!err)
		err = hl_symbols_add(
			m->symbols, def.path, def.build_id, def.build_id_len, &mod->symbols);
	return err;
}

/* Notes a module once its names are part of an answer. */
static int note_module(struct hl_model *m, uint64_t id)
{
	struct hl_model_module *mod = id < m->n_modules ? &m->modules[id] : NULL;

	if (m->looks_ahead || !mod || !mod->asked || mod->lost || mod->noted)
		return 0;
	mod->noted = true;
	return hl_vec_push(&m->asked, (uint32_t)id);
}

static int add_symbols(struct hl_model *m, uint32_t module, uint64_t offset)
{
	const struct hl_symbol_frame *frames;
	struct hl_model_module *mod;
	uint64_t start, end;
	char text[32];
	size_t n;
	int err;

	if (module >= m->n_modules)
		return add_nameless(m, "[lost]", STRING_NONE);
	err = load_module(m, module, &mod);
	if (err)
		return err;
	if (mod->lost)
		return add_nameless(m, "[lost]", STRING_NONE);
	/* Symbol files do not apply to anonymized names. */
	n = 0;
	if (!(m->info->meta.slice.flags & HL_SLICE_NAMES))
		err = hl_symbols_frames(mod->symbols, offset, &frames, &n);
	if (err)
		return err;
	if (n == 0) {
		snprintf(text, sizeof(text), "0x%" PRIx64, offset);
		return hl_symbols_bounds(mod->symbols, &start, &end)
			       ? add_bounded(m, text, mod->path, start, end)
			       : add_nameless(m, text, mod->path);
	}
	while (n-- > 0 && !err) /* frames: innermost first; refs: outermost first */
		err = add_ref(m, &frames[n], mod->path);
	return err;
}

/* Adds the frames that the trace itself stores for this address; -ENOENT: it has no names for this
 * module. Symbol files are not used. */
static int add_names_from_trace(struct hl_model *m, uint32_t module, uint64_t offset)
{
	const struct hl_name_frame *frames;
	uint32_t path = STRING_NONE;
	struct hl_module def;
	char text[32];
	size_t n;
	int err = hl_reader_names(m->reader, module, offset, &frames, &n);

	if (err)
		return err;
	if (module != HL_MODULE_NONE && hl_reader_module(m->reader, module, &def) == 0)
		err = string_id(m, def.path, &path);
	snprintf(text, sizeof(text), "0x%" PRIx64, offset);
	if (n == 0 && !err)
		return add_nameless(m, text, path);
	for (size_t i = 0; i < n && !err; i++) {
		bool named = frames[i].function[0];
		struct hl_symbol_frame f = {.function = named ? frames[i].function : text,
			.file = frames[i].file,
			.line = frames[i].line,
			.inlined = frames[i].inlined};

		f.display_name = f.function;
		if (named)
			err = hl_symbols_display_name(m->symbols, f.function, &f.display_name);
		if (!err)
			err = add_ref(m, &f, path);
	}
	return err;
}

static int make_site(struct hl_model *m, uint32_t module, uint64_t offset)
{
	const char *name;
	char text[48];
	int err;

	if (module == HL_MODULE_NONE && offset == HL_OFFSET_REMOVED_FRAMES)
		return add_nameless(m, "[...]", STRING_NONE);
	err = add_names_from_trace(m, module, offset);
	if (err != -ENOENT)
		return err;
	if (module != HL_MODULE_NONE)
		return add_symbols(m, module, offset);
	name = NULL;
	if (!(m->info->meta.slice.flags & HL_SLICE_NAMES))
		name = hl_symbols_jit(m->symbols, offset);
	if (name)
		return add_nameless(m, name, STRING_NONE);
	snprintf(text, sizeof(text), "[jit 0x%" PRIx64 "]", offset);
	return add_nameless(m, text, STRING_NONE);
}

/* Code outside of modules is not among them: the names of a JIT change. */
static int use_known(struct hl_model *m, const struct hl_frame_span *site)
{
	int err = 0;

	for (uint32_t i = 0; i < site->n && !err; i++) {
		struct hl_frame_ref ref = m->known.refs.data[site->first + i];
		const struct hl_frame *frame = &m->known.frames.data[ref.frame];
		struct hl_symbol_frame f = {.function = frame->function,
			.display_name = frame->display_name,
			.file = frame->file,
			.line = frame->line,
			.inlined = ref.inlined};
		uint32_t module;

		err = string_id(m, frame->module, &module);
		if (!err)
			err = add_ref(m, &f, module);
	}
	return err;
}

/* Adds the site at the end of `refs`. Equal frames of different sites are stored twice. */
static int add_known(struct hl_model *m, uint64_t module, uint64_t offset, size_t first)
{
	struct hl_known_frames *k = &m->known;
	struct hl_frame_span site = {(uint32_t)k->refs.len, (uint32_t)(m->refs.len - first)};
	int err = hl_pair_map_put(&k->site_ids, module, offset, (uint32_t)k->sites.len);

	if (!err)
		err = hl_vec_push(&k->sites, site);
	for (size_t i = first; i < m->refs.len && !err; i++) {
		struct hl_frame_ref ref = m->refs.data[i];

		err = hl_vec_push(&k->frames, m->frames.data[ref.frame]);
		ref.frame = (uint32_t)k->frames.len - 1;
		if (!err)
			err = hl_vec_push(&k->refs, ref);
	}
	return err;
}

static int find_known_or_make(struct hl_model *m, uint32_t module, uint64_t offset)
{
	uint32_t id = HL_PAIR_MAP_NONE;
	size_t first = m->refs.len;
	int err;

	if (!m->known.kept || module == HL_MODULE_NONE)
		return make_site(m, module, offset);
	id = hl_pair_map_get(&m->known.site_ids, module, offset);
	if (id != HL_PAIR_MAP_NONE)
		return use_known(m, &m->known.sites.data[id]);
	err = make_site(m, module, offset);
	return err ? err : add_known(m, module, offset, first);
}

/* Module ids fit in 32 bits, so no module has these keys. */
#define LOST_KEY     UINT64_MAX
#define NO_STACK_KEY (UINT64_MAX - 1)

static int find_site(struct hl_model *m, uint64_t key, uint64_t offset, struct hl_frame_span *site)
{
	uint32_t id = hl_pair_map_get(&m->site_ids, key, offset);
	int err;

	if (id != HL_PAIR_MAP_NONE) {
		*site = m->sites.data[id];
		return 0;
	}
	err = hl_work_tick(&m->work, 0, 0); /* a module's symbols may take long to read */
	if (err)
		return err;
	site->first = (uint32_t)m->refs.len;
	if (key == LOST_KEY || key == NO_STACK_KEY)
		err = add_nameless(m, key == LOST_KEY ? "[lost]" : "[no stack]", STRING_NONE);
	else
		err = find_known_or_make(m, (uint32_t)key, offset);
	if (err)
		return err;
	site->n = (uint32_t)m->refs.len - site->first;
	id = (uint32_t)m->sites.len;
	err = hl_vec_push(&m->sites, *site);
	return err ? err : hl_pair_map_put(&m->site_ids, key, offset, id);
}

int hl_model_node_frames(
	struct hl_model *m, uint32_t node, const struct hl_frame_ref **refs, size_t *n)
{
	uint64_t key = NO_STACK_KEY;
	struct hl_node def = {0};
	struct hl_frame_span site;
	int err = 0;

	if (node != HL_NODE_NONE) {
		err = hl_reader_node(m->reader, node, &def);
		if (err && err != -EBADMSG)
			return hl_model_fail(m, err);
		key = err ? LOST_KEY : def.module;
	}
	err = find_site(m, key, key == LOST_KEY ? 0 : def.offset, &site);
	if (!err)
		err = note_module(m, key);
	if (err)
		return hl_model_fail(m, err);
	*refs = m->refs.data + site.first;
	*n = site.n;
	return 0;
}

size_t hl_model_n_module_notes(const struct hl_model *m)
{
	return m->asked.len;
}

void hl_model_module_note(struct hl_model *m, size_t i, const char **path, const char **note)
{
	const struct hl_model_module *mod = &m->modules[m->asked.data[i]];

	*path = hl_string_table_get(&m->strings, mod->path);
	*note = m->info->meta.slice.flags & HL_SLICE_NAMES ? "" : hl_symbols_note(mod->symbols);
}

int hl_model_count_nameless(struct hl_model *m, size_t *frames, size_t *nameless)
{
	struct hl_pair_map by_path = {0}; /* keyed by pointer: strings are interned */
	int err = 0;

	*frames = 0;
	for (uint32_t i = 0; i < m->asked.len && !err; i++) {
		const char *path =
			hl_string_table_get(&m->strings, m->modules[m->asked.data[i]].path);

		nameless[i] = 0;
		err = hl_pair_map_put(&by_path, (uintptr_t)path, 0, i);
	}
	for (size_t i = 0; i < m->frames.len && !err; i++) {
		const struct hl_frame *f = &m->frames.data[i];
		uint32_t at = f->module ? hl_pair_map_get(&by_path, (uintptr_t)f->module, 0)
					: HL_PAIR_MAP_NONE;

		if (at == HL_PAIR_MAP_NONE)
			continue;
		++*frames;
		nameless[at] += strncmp(f->function, "0x", 2) == 0;
	}
	hl_pair_map_fini(&by_path);
	return err;
}

const char *hl_model_advice(struct hl_model *m, size_t i)
{
	return m->info->meta.slice.flags & HL_SLICE_NAMES
		       ? ""
		       : hl_symbols_advice(m->modules[m->asked.data[i]].symbols);
}
