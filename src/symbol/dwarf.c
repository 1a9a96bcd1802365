/*
 * dwarf.c - functions, lines and inlined calls from DWARF.
 *
 * libdw's own dwarf_getscopes walks a whole unit at each question (a millisecond on libpython).
 * Here a unit's tree is walked once, when it is first touched, into a table of ranges; names
 * are read only for entries that some question meets. Units are found by their own ranges and
 * not by .debug_aranges, which clang and rustc leave out.
 */
#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/dwarf_walk_internal.h"
#include "symbol/find_internal.h"
#include "util/strbuf.h"
#include "util/strings.h"

#define CHAIN_MAX 256

struct bounds {
	const char *begin, *end;
};

struct unit {
	Dwarf_Die cu;   /* has the line table */
	Dwarf_Die root; /* has the tree: the same, or the unit in a .dwo file */
	Dwarf_Files *files;
	size_t n_files;
	bool walked;
	struct hl_spans scopes; /* what: offset of the entry << 1 | inlined */
};

struct hl_dwarf {
	Dwarf *dwarf;
	struct hl_image alt_image;
	Dwarf *alt;
	HL_VEC(struct unit) units;
	struct hl_spans by_range; /* what: index in units */
	struct hl_strings paths;  /* files whose path had to be completed */
	bool partial;
	const char *missing_alt;
};

static int add_ranges(Dwarf_Die *die, uint32_t depth, uint64_t what, struct hl_spans *into)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;
	int err = 0;

	while (!err && (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
		/* The linker leaves 0 (or 1) where it threw the code away. */
		if (lo > 1)
			err = hl_spans_add(into, lo, hi, depth, what);
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
		/* ld points what it left out to what it kept: then several units claim one
		 * function. The first has it, as in other tools. */
		err = add_ranges(
			&die, UINT32_MAX - (uint32_t)d->units.len, d->units.len, &d->by_range);
		if (!err)
			err = hl_vec_push(&d->units, u);
	}
	hl_spans_sort(&d->by_range);
	return err;
}

/* Where variables are, what macros say: of no use here, and libdw unpacks all that it knows. */
static bool is_of_no_use(const char *name)
{
	static const char *const names[] = {".debug_loc", ".debug_loclists", ".debug_macro",
		".debug_macinfo", ".debug_frame", ".debug_aranges", ".debug_pubnames"};

	for (size_t i = 0; i < HL_ARRAY_LEN(names); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

/* Only in our memory, never in the file. */
static void hide(Elf_Scn *scn, GElf_Shdr *shdr)
{
	shdr->sh_type = SHT_NOBITS;
	gelf_update_shdr(scn, shdr);
}

/* libdw 0.188 reads over the end of a table of strings whose last one has none. */
static bool strings_end(Elf_Scn *scn, const GElf_Shdr *shdr)
{
	Elf_Data *data;

	if ((shdr->sh_flags & SHF_COMPRESSED) && elf_compress(scn, 0, 0) < 0)
		return false;
	data = elf_getdata(scn, NULL);
	return !data || data->d_size == 0 ||
	       (data->d_buf && ((const char *)data->d_buf)[data->d_size - 1] == 0);
}

/* NULL if there is no DWARF, or none that libdw can be given. */
static Dwarf *begin(Elf *elf)
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
		if (is_of_no_use(name))
			hide(scn, &shdr);
		else if ((strcmp(name, ".debug_line_str") == 0 ||
				 strcmp(name, ".debug_str") == 0) &&
			 !strings_end(scn, &shdr))
			return NULL;
	}
	return dwarf_begin_elf(elf, DWARF_C_READ, NULL);
}

/* Found here and not by libdw, which would open whatever the link names, and wait for it. */
static int set_alt(struct hl_dwarf *d, const struct hl_image *img, struct hl_finder *finder)
{
	int err = hl_finder_alt(finder, img, d->dwarf, &d->alt_image);
	const void *id;

	if (err == -ENODATA || err == -ENOMEM)
		return err == -ENOMEM ? err : 0;
	if (!err)
		d->alt = begin(d->alt_image.elf);
	d->partial = !d->alt;
	if (!d->alt && dwelf_dwarf_gnu_debugaltlink(d->dwarf, &d->missing_alt, &id) <= 0)
		d->missing_alt = NULL;
	/* -1 is libdw's own mark for "looked for, not there". */
	dwarf_setalt(d->dwarf, d->alt ? d->alt : (Dwarf *)-1);
	return 0;
}

int hl_dwarf_open(struct hl_dwarf **out, const struct hl_image *img, struct hl_finder *finder)
{
	struct hl_dwarf *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	d->dwarf = begin(img->elf);
	if (!d->dwarf) {
		free(d);
		return -ENOENT;
	}
	err = set_alt(d, img, finder);
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
	for (size_t i = 0; i < d->units.len; i++)
		hl_spans_fini(&d->units.data[i].scopes);
	hl_vec_free(&d->units);
	hl_spans_fini(&d->by_range);
	hl_strings_fini(&d->paths);
	dwarf_end(d->dwarf);
	if (d->alt)
		dwarf_end(d->alt);
	hl_image_close(&d->alt_image);
	free(d);
}

bool hl_dwarf_partial(const struct hl_dwarf *d)
{
	return d->partial;
}

const struct hl_image *hl_dwarf_alt(const struct hl_dwarf *d)
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

/* First touch: the tree of a split unit is in its .dwo file. */
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
	if (dwarf_getsrcfiles(&u->root, &u->files, &u->n_files) != 0)
		u->n_files = 0;
	hl_spans_sort(&u->scopes);
	return err;
}

static struct unit *unit_at(struct hl_dwarf *d, uint64_t addr)
{
	const struct hl_span *span = hl_spans_find(&d->by_range, addr);

	return span ? &d->units.data[span->what] : NULL;
}

/* The contents of a section that strings may lie in; empty: of none such. */
static struct bounds string_section(Elf *elf, Elf_Scn *scn, size_t names)
{
	GElf_Shdr head;
	const char *name;
	Elf_Data *data;

	if (!gelf_getshdr(scn, &head) || head.sh_type == SHT_NOBITS)
		return (struct bounds){0};
	name = elf_strptr(elf, names, head.sh_name);
	data = name && strstr(name, "debug_") ? elf_getdata(scn, NULL) : NULL;
	if (!data || !data->d_buf)
		return (struct bounds){0};
	return (struct bounds){data->d_buf, (const char *)data->d_buf + data->d_size};
}

/* libdw does not look whether a string of a damaged file ends in its section, or begins there.
 * NULL: it does not. */
static const char *whole_string(Dwarf_Die *die, const char *s)
{
	Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(die->cu));
	Elf_Scn *scn = NULL;
	bool behind = false;
	size_t names;

	if (!s || elf_getshdrstrndx(elf, &names) < 0)
		return s;
	while ((scn = elf_nextscn(elf, scn))) {
		struct bounds b = string_section(elf, scn, names);

		if (b.begin && s >= b.begin && s < b.end)
			return memchr(s, 0, (size_t)(b.end - s)) ? s : NULL;
		behind |= b.begin && s == b.end;
	}
	return behind ? NULL : s;
}

/* Paths may be relative to the folder of the compilation. */
static const char *full_path(struct hl_dwarf *d, struct unit *u, const char *file)
{
	struct hl_strbuf path = {0};
	Dwarf_Attribute a;
	const char *dir;
	uint32_t id;

	if (!file || file[0] == '/')
		return file;
	dir = dwarf_attr(&u->cu, DW_AT_comp_dir, &a) ? whole_string(&u->cu, dwarf_formstring(&a))
						     : NULL;
	if (!dir)
		return file;
	hl_strbuf_printf(&path, "%s/%s", dir, file);
	if (hl_strbuf_error(&path) == 0 &&
		hl_strings_add(&d->paths, hl_strbuf_str(&path), &id) == 0)
		file = hl_strings_get(&d->paths, id);
	hl_strbuf_fini(&path);
	return file;
}

static void line_at(
	struct hl_dwarf *d, struct unit *u, uint64_t addr, const char **file, uint32_t *line)
{
	Dwarf_Line *l = dwarf_getsrc_die(&u->cu, addr);
	int n;

	*file = full_path(d, u, l ? dwarf_linesrc(l, NULL, NULL) : NULL);
	*line = l && dwarf_lineno(l, &n) == 0 && n > 0 ? (uint32_t)n : 0;
}

static uint64_t number(Dwarf_Die *die, unsigned attr)
{
	Dwarf_Attribute a;
	Dwarf_Word v;

	if (!dwarf_attr(die, attr, &a) || dwarf_formudata(&a, &v) != 0)
		return 0;
	return v;
}

/* Where an inlined function was called from. */
static void call_site(
	struct hl_dwarf *d, struct unit *u, Dwarf_Die *die, const char **file, uint32_t *line)
{
	uint64_t n = number(die, DW_AT_call_line), f = number(die, DW_AT_call_file);

	*line = n <= UINT32_MAX ? (uint32_t)n : 0;
	*file = f < u->n_files && dwarf_hasattr(die, DW_AT_call_file)
			? full_path(d, u, dwarf_filesrc(u->files, f, NULL, NULL))
			: NULL;
}

/* A static function has no linkage name; then its own is the bare one. */
static const char *name_of(Dwarf_Die *die, bool *bare)
{
	Dwarf_Attribute a;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &a) ||
		dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a))
		name = whole_string(die, dwarf_formstring(&a));
	*bare = !name;
	return name ? name : whole_string(die, dwarf_diename(die));
}

int hl_dwarf_frames(struct hl_dwarf *d, uint64_t addr, struct hl_frames *into)
{
	struct unit *u = unit_at(d, addr);
	const struct hl_span *span;
	const char *file;
	uint32_t line;
	bool bare;
	int err;

	into->bare_at = 0;
	if (!u)
		return 0;
	err = walk_unit(d, u);
	if (err)
		return err;
	line_at(d, u, addr, &file, &line);
	span = hl_spans_find(&u->scopes, addr);
	for (size_t n = 0; span && n < CHAIN_MAX && !err; n++) {
		struct hl_symbol_frame f = {.file = file, .line = line, .inlined = span->what & 1};
		Dwarf_Die die;

		if (!dwarf_offdie(dwarf_cu_getdwarf(u->root.cu), span->what >> 1, &die))
			break;
		f.function = name_of(&die, &bare);
		err = hl_vec_push(&into->v, f);
		into->bare_at = bare && !f.inlined ? span->lo : 0;
		if (!f.inlined)
			break; /* a real function: what is around it is only scope */
		call_site(d, u, &die, &file, &line);
		span = hl_spans_outer(&u->scopes, span, addr);
	}
	return err;
}

void hl_dwarf_line(struct hl_dwarf *d, uint64_t addr, const char **file, uint32_t *line)
{
	struct unit *u = unit_at(d, addr);

	*file = NULL;
	*line = 0;
	if (u)
		line_at(d, u, addr, file, line);
}
