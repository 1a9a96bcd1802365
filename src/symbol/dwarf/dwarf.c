/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf.c - functions, lines and inlined calls from DWARF.
 *
 * libdw's dwarf_getscopes walks a whole unit for each query (a millisecond on libpython). Here the
 * tree of a unit is walked once, when it is first needed, into a table of ranges. Names are read
 * only for entries that a query finds. Units are found by their own ranges and not by
 * .debug_aranges, which clang and rustc omit.
 */
#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/dwarf/dwarf_walk_internal.h"
#include "symbol/locate/locate_internal.h"
#include "symbol/dwarf/line_table_internal.h"
#include "util/strbuf.h"
#include "util/string_table.h"

#define INLINE_DEPTH_MAX 256

struct bounds {
	const char *begin, *end;
};

struct unit {
	Dwarf_Die cu;   /* has the line table */
	Dwarf_Die root; /* has the tree: the same unit, or the one in a .dwo file */
	bool walked, has_lines;
	struct hl_line_table lines;
	struct hl_line_table split_files; /* of `root`, if that is another unit; has no rows */
	struct hl_spans scopes;           /* payload: offset of the entry << 1 | inlined */
};

struct hl_dwarf {
	Dwarf *dwarf;
	struct hl_elf_image alt_image;
	Dwarf *alt;
	HL_VEC(struct unit) units;
	struct hl_spans by_range;     /* payload: index in units */
	struct hl_string_table paths; /* completed paths of source files */
	bool partial;
	const char *missing_alt;
};

static int add_ranges(Dwarf_Die *die, uint32_t depth, uint64_t payload, struct hl_spans *into)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;
	int err = 0;

	while (!err && (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
		/* The linker stores 0 (or 1) for code that it removed. */
		if (lo > 1)
			err = hl_spans_add(into, lo, hi, depth, payload);
	}
	return err;
}

static int find_units(struct hl_dwarf *d)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die die;
	int err = 0;

	while (!err && dwarf_get_units(d->dwarf, cu, &cu, &version, &type, &die, NULL) == 0) {
		struct unit u = {.cu = die, .root = die};

		if (type == DW_UT_type || type == DW_UT_partial || type == DW_UT_split_type)
			continue;
		/* ld redirects references from removed code to the copy that it kept, so several
		 * units may claim one function. The first unit gets it, as in other tools. */
		err = add_ranges(
			&die, UINT32_MAX - (uint32_t)d->units.len, d->units.len, &d->by_range);
		if (!err)
			err = hl_vec_push(&d->units, u);
	}
	hl_spans_sort(&d->by_range);
	return err;
}

/* Sections that are not needed here, such as locations of variables and macros. libdw would
 * decompress all sections that it knows. */
static bool is_unneeded_section(const char *name)
{
	static const char *const names[] = {".debug_loc", ".debug_loclists", ".debug_macro",
		".debug_macinfo", ".debug_frame", ".debug_aranges", ".debug_pubnames"};

	for (size_t i = 0; i < HL_ARRAY_LEN(names); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

/* Hides a section from libdw. Changes only the header in memory, never the file. */
static void hide_section(Elf_Scn *scn, GElf_Shdr *shdr)
{
	shdr->sh_type = SHT_NOBITS;
	gelf_update_shdr(scn, shdr);
}

/* libdw 0.188 reads beyond the end of a string table whose last string is not terminated. */
static bool strings_are_terminated(Elf_Scn *scn, const GElf_Shdr *shdr)
{
	Elf_Data *data;

	if ((shdr->sh_flags & SHF_COMPRESSED) && elf_compress(scn, 0, 0) < 0)
		return false;
	data = elf_getdata(scn, NULL);
	return !data || data->d_size == 0 ||
	       (data->d_buf && ((const char *)data->d_buf)[data->d_size - 1] == 0);
}

/* NULL if there is no DWARF data, or none that is safe for libdw. */
static Dwarf *open_dwarf(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		GElf_Shdr shdr;
		const char *name;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, shdr.sh_name);
		if (!name)
			continue;
		if (is_unneeded_section(name))
			hide_section(scn, &shdr);
		else if ((strcmp(name, ".debug_line_str") == 0 ||
				 strcmp(name, ".debug_str") == 0) &&
			 !strings_are_terminated(scn, &shdr))
			return NULL;
	}
	return dwarf_begin_elf(elf, DWARF_C_READ, NULL);
}

/* The dwz file is found here and not by libdw, which would open any file that the link names, and
 * could block. */
static int open_alt(struct hl_dwarf *d, const struct hl_elf_image *img, struct hl_locator *locator)
{
	int err = hl_locator_dwz(locator, img, d->dwarf, &d->alt_image);
	const void *id;

	if (err == -ENODATA || err == -ENOMEM)
		return err == -ENOMEM ? err : 0;
	if (!err)
		d->alt = open_dwarf(d->alt_image.elf);
	d->partial = !d->alt;
	if (!d->alt && dwelf_dwarf_gnu_debugaltlink(d->dwarf, &d->missing_alt, &id) <= 0)
		d->missing_alt = NULL;
	/* -1 is libdw's own marker for a file that was not found. */
	dwarf_setalt(d->dwarf, d->alt ? d->alt : (Dwarf *)-1);
	return 0;
}

int hl_dwarf_open(struct hl_dwarf **out, const struct hl_elf_image *img, struct hl_locator *locator)
{
	struct hl_dwarf *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	d->dwarf = open_dwarf(img->elf);
	if (!d->dwarf) {
		free(d);
		return -ENOENT;
	}
	err = open_alt(d, img, locator);
	if (!err)
		err = find_units(d);
	if (!err && d->by_range.v.len == 0)
		err = -ENOENT;
	if (err) {
		hl_dwarf_close(d);
		return err;
	}
	*out = d;
	return 0;
}

void hl_dwarf_close(struct hl_dwarf *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->units.len; i++) {
		hl_spans_fini(&d->units.data[i].scopes);
		hl_line_table_fini(&d->units.data[i].lines);
		hl_line_table_fini(&d->units.data[i].split_files);
	}
	hl_vec_free(&d->units);
	hl_spans_fini(&d->by_range);
	hl_string_table_fini(&d->paths);
	dwarf_end(d->dwarf);
	if (d->alt)
		dwarf_end(d->alt);
	hl_elf_image_close(&d->alt_image);
	free(d);
}

bool hl_dwarf_partial(const struct hl_dwarf *d)
{
	return d->partial;
}

const struct hl_elf_image *hl_dwarf_alt(const struct hl_dwarf *d)
{
	return &d->alt_image;
}

const char *hl_dwarf_missing_alt(const struct hl_dwarf *d)
{
	return d->missing_alt;
}

static int add_scope(void *user, Dwarf_Die *die, unsigned tag, uint32_t depth)
{
	struct unit *u = user;

	return add_ranges(die, depth,
		dwarf_dieoffset(die) << 1 | (tag == DW_TAG_inlined_subroutine), &u->scopes);
}

/* .debug_NAME, .zdebug_NAME or .debug_NAME.dwo, where line tables use section NAME. */
static struct hl_line_bytes *line_section(struct hl_line_sections *s, const char *name)
{
	const struct {
		const char *name;
		struct hl_line_bytes *section;
	} known[] = {{"line", &s->line}, {"line_str", &s->line_str}, {"str", &s->str}};
	size_t len;

	name = name ? strstr(name, "debug_") : NULL;
	if (!name)
		return NULL;
	name += strlen("debug_");
	len = strcspn(name, ".");
	for (size_t i = 0; i < HL_ARRAY_LEN(known); i++) {
		if (strlen(known[i].name) == len && memcmp(name, known[i].name, len) == 0)
			return known[i].section;
	}
	return NULL;
}

/* libdw has decompressed the sections. */
static void find_line_sections(Elf *elf, struct hl_line_sections *s)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		struct hl_line_bytes *into;
		GElf_Shdr shdr;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		into = line_section(s, elf_strptr(elf, names, shdr.sh_name));
		data = into ? elf_getdata(scn, NULL) : NULL;
		if (data && data->d_buf)
			*into = (struct hl_line_bytes){
				data->d_buf, (const uint8_t *)data->d_buf + data->d_size};
	}
}

static int read_lines(Dwarf_Die *unit, struct hl_line_table *t)
{
	struct hl_line_sections s = {0};
	Dwarf_Attribute attr;
	Dwarf_Word offset;
	Dwarf_Die die;

	if (!dwarf_cu_die(unit->cu, &die, NULL, NULL, &s.address_size, NULL, NULL, NULL) ||
		!dwarf_attr(unit, DW_AT_stmt_list, &attr) || dwarf_formudata(&attr, &offset) != 0)
		return 0;
	find_line_sections(dwarf_getelf(dwarf_cu_getdwarf(unit->cu)), &s);
	return hl_line_table_read(t, &s, offset);
}

/* Done at the first query. The tree of a split unit is in its .dwo file. */
static int walk_unit(struct hl_dwarf *d, struct unit *u)
{
	Dwarf_Half version;
	Dwarf_Die split;
	uint8_t type;
	int err;

	if (u->walked)
		return 0;
	u->walked = true;
	if (dwarf_cu_info(u->cu.cu, &version, &type, NULL, NULL, NULL, NULL, NULL) == 0 &&
		type == DW_UT_skeleton) {
		if (dwarf_cu_info(u->cu.cu, &version, &type, NULL, &split, NULL, NULL, NULL) == 0 &&
			dwarf_tag(&split) != DW_TAG_invalid)
			u->root = split;
		else
			d->partial = true;
	}
	err = hl_dwarf_walk(&u->root, add_scope, u);
	if (!err && u->root.cu != u->cu.cu)
		err = read_lines(&u->root, &u->split_files);
	hl_spans_sort(&u->scopes);
	return err;
}

static struct unit *find_unit(struct hl_dwarf *d, uint64_t addr)
{
	const struct hl_span *span = hl_spans_find(&d->by_range, addr);

	return span ? &d->units.data[span->payload] : NULL;
}

/* The contents of a section that may contain strings; empty for other sections. */
static struct bounds string_section(Elf *elf, Elf_Scn *scn, size_t names)
{
	GElf_Shdr shdr;
	const char *name;
	Elf_Data *data;

	if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
		return (struct bounds){0};
	name = elf_strptr(elf, names, shdr.sh_name);
	data = name && strstr(name, "debug_") ? elf_getdata(scn, NULL) : NULL;
	if (!data || !data->d_buf)
		return (struct bounds){0};
	return (struct bounds){data->d_buf, (const char *)data->d_buf + data->d_size};
}

/* libdw does not check that a string of a damaged file begins and ends inside its section. Returns
 * NULL for a string that does not. */
static const char *check_string(Dwarf_Die *die, const char *s)
{
	Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(die->cu));
	Elf_Scn *scn = NULL;
	bool at_end = false;
	size_t names;

	if (!s || elf_getshdrstrndx(elf, &names) < 0)
		return s;
	while ((scn = elf_nextscn(elf, scn))) {
		struct bounds b = string_section(elf, scn, names);

		if (b.begin && s >= b.begin && s < b.end)
			return memchr(s, 0, (size_t)(b.end - s)) ? s : NULL;
		at_end |= b.begin && s == b.end;
	}
	return at_end ? NULL : s;
}

/* The joined path, which d owns, or `name` itself if there is nothing to join. NULL: out of
 * memory. */
static const char *join_path(struct hl_dwarf *d, const char *dir, const char *name)
{
	struct hl_strbuf path = {0};
	const char *joined = NULL;
	uint32_t id;

	if (!dir || name[0] == '/')
		return name;
	hl_strbuf_printf(&path, "%s/%s", dir, name);
	if (hl_strbuf_error(&path) == 0 &&
		hl_string_table_add(&d->paths, hl_strbuf_str(&path), &id) == 0)
		joined = hl_string_table_get(&d->paths, id);
	hl_strbuf_fini(&path);
	return joined;
}

/* The path of a source file. The name is relative to its directory, and that to the unit's. */
static const char *file_path(
	struct hl_dwarf *d, struct unit *u, struct hl_line_table *t, uint64_t number)
{
	struct hl_line_file *f = number < t->files.len ? &t->files.data[number] : NULL;
	Dwarf_Attribute a;
	const char *dir;

	if (!f || !f->name)
		return NULL;
	if (f->path)
		return f->path;
	dir = dwarf_attr(&u->cu, DW_AT_comp_dir, &a) ? check_string(&u->cu, dwarf_formstring(&a))
						     : NULL;
	f->path = join_path(d, f->dir, f->name);
	if (f->path)
		f->path = join_path(d, dir, f->path);
	return f->path;
}

static void find_line(
	struct hl_dwarf *d, struct unit *u, uint64_t addr, const char **file, uint32_t *line)
{
	const struct hl_line_row *row;

	if (!u->has_lines)
		u->has_lines = read_lines(&u->cu, &u->lines) == 0;
	row = hl_line_table_find(&u->lines, addr);
	*file = row ? file_path(d, u, &u->lines, row->file) : NULL;
	*line = row ? row->line : 0;
}

static uint64_t read_number(Dwarf_Die *die, unsigned attr)
{
	Dwarf_Attribute a;
	Dwarf_Word v;

	if (!dwarf_attr(die, attr, &a) || dwarf_formudata(&a, &v) != 0)
		return 0;
	return v;
}

/* File and line of the call of an inlined function. */
static void get_call_site(
	struct hl_dwarf *d, struct unit *u, Dwarf_Die *die, const char **file, uint32_t *line)
{
	uint64_t n = read_number(die, DW_AT_call_line), f = read_number(die, DW_AT_call_file);

	*line = n <= UINT32_MAX ? (uint32_t)n : 0;
	*file = dwarf_hasattr(die, DW_AT_call_file)
			? file_path(d, u, u->split_files.files.len ? &u->split_files : &u->lines, f)
			: NULL;
}

/* A static function has no linkage name; then *bare is set and its plain name is returned. */
static const char *get_name(Dwarf_Die *die, bool *bare)
{
	Dwarf_Attribute a;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &a) ||
		dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a))
		name = check_string(die, dwarf_formstring(&a));
	*bare = !name;
	return name ? name : check_string(die, dwarf_diename(die));
}

int hl_dwarf_frames(struct hl_dwarf *d, uint64_t addr, struct hl_frames *into)
{
	struct unit *u = find_unit(d, addr);
	const struct hl_span *span;
	const char *file;
	uint32_t line;
	bool bare;
	int err;

	into->unqualified_start = 0;
	if (!u)
		return 0;
	err = walk_unit(d, u);
	if (err)
		return err;
	find_line(d, u, addr, &file, &line);
	span = hl_spans_find(&u->scopes, addr);
	for (size_t n = 0; span && n < INLINE_DEPTH_MAX && !err; n++) {
		struct hl_symbol_frame f = {
			.file = file, .line = line, .inlined = span->payload & 1};
		Dwarf_Die die;

		if (!dwarf_offdie(dwarf_cu_getdwarf(u->root.cu), span->payload >> 1, &die))
			break;
		f.function = get_name(&die, &bare);
		err = hl_vec_push(&into->v, f);
		into->unqualified_start = bare && !f.inlined ? span->lo : 0;
		if (!f.inlined)
			break; /* a real function: entries around it are only scopes */
		get_call_site(d, u, &die, &file, &line);
		span = hl_spans_outer(&u->scopes, span, addr);
	}
	return err;
}

void hl_dwarf_line(struct hl_dwarf *d, uint64_t addr, const char **file, uint32_t *line)
{
	struct unit *u = find_unit(d, addr);

	*file = NULL;
	*line = 0;
	if (u)
		find_line(d, u, addr, file, line);
}
