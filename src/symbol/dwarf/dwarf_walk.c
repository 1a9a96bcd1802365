/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_walk.c - one pass over the entries of a unit; see dwarf_walk_internal.h.
 *
 * The input may be malicious: every step is checked against the unit's end and moves forward. The
 * byte order is the machine's own, as everywhere where a trace is used with its files.
 */
#include "symbol/dwarf/dwarf_walk_internal.h"

#include <dwarf.h>
#include <stdbool.h>
#include <string.h>

#include "util/vec.h"

/* Compilers number abbreviations from 1; entries with larger codes end the walk. */
#define ABBREV_CODE_MAX (1 << 20)
/* In libdw, finding attribute n of an abbreviation takes n steps. */
#define ATTRIBUTES_MAX 1024
#define VARIABLE       UINT32_MAX
/* Larger than any attribute of fixed size. */
#define SIZE_BAD (UINT32_MAX - 1)

/* The layout of all entries with one abbreviation. */
struct shape {
	uint16_t tag; /* 0: no such code */
	bool children, code, open;
	uint32_t size;         /* of all attributes; VARIABLE: see forms */
	uint32_t sibling;      /* offset of DW_AT_sibling; VARIABLE: none */
	uint32_t sibling_size; /* 1, 2, 4 or 8 */
	uint32_t first, n;     /* its range in forms */
};

struct walker {
	HL_VEC(struct shape) shapes; /* by abbreviation code */
	HL_VEC(uint16_t) forms;
	uint8_t address_size, offset_size;
	Dwarf_Half version;
	const uint8_t *unit, *end; /* unit: the header; references are relative to it */
};

/* The size in bytes, VARIABLE, or SIZE_BAD for an unknown form. */
static uint32_t form_size(const struct walker *w, unsigned form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return w->address_size;
	case DW_FORM_ref_addr:
		return w->version < 3 ? w->address_size : w->offset_size;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return w->offset_size;
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
	case DW_FORM_block:
	case DW_FORM_exprloc:
	case DW_FORM_string:
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
	case DW_FORM_indirect:
		return VARIABLE;
	default:
		return SIZE_BAD;
	}
}

/* Scopes that may contain functions. */
static bool is_scope(unsigned tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return true;
	default:
		return false;
	}
}

static bool is_function(unsigned tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

static void add_attribute(struct shape *s, unsigned name, unsigned form, uint32_t size)
{
	if (name == DW_AT_low_pc || name == DW_AT_ranges)
		s->code = is_function(s->tag);
	if (name == DW_AT_sibling && s->size != VARIABLE && form != DW_FORM_ref_addr && size > 0 &&
		size <= 8) {
		s->sibling = s->size;
		s->sibling_size = size;
	}
	if (s->size != VARIABLE)
		s->size = size == VARIABLE ? VARIABLE : s->size + size;
}

/* -EBADMSG for unknown forms: the end of such an entry is not known. */
static int read_shape(struct walker *w, Dwarf_Abbrev *abbrev, struct shape *s)
{
	unsigned name, form;

	s->tag = (uint16_t)dwarf_getabbrevtag(abbrev);
	s->children = dwarf_abbrevhaschildren(abbrev);
	s->open = is_scope(s->tag);
	s->sibling = VARIABLE;
	s->first = (uint32_t)w->forms.len;
	for (size_t i = 0; dwarf_getabbrevattr(abbrev, i, &name, &form, NULL) == 0; i++) {
		uint32_t size = form_size(w, form);

		if (size == SIZE_BAD || i >= ATTRIBUTES_MAX)
			return -EBADMSG;
		add_attribute(s, name, form, size);
		if (hl_vec_push(&w->forms, (uint16_t)form))
			return -ENOMEM;
		s->n++;
	}
	return 0;
}

static int read_shapes(struct walker *w, Dwarf_Die *unit)
{
	Dwarf_Off at = 0;
	int err = 0;

	while (!err) {
		size_t len = 0;
		Dwarf_Abbrev *abbrev = dwarf_getabbrev(unit, at, &len);
		unsigned code;

		if (!abbrev || abbrev == DWARF_END_ABBREV || len == 0)
			break;
		at += len;
		code = dwarf_getabbrevcode(abbrev);
		if (code >= ABBREV_CODE_MAX)
			continue;
		if (hl_vec_reserve(&w->shapes, code + 1))
			return -ENOMEM;
		while (w->shapes.len <= code)
			w->shapes.data[w->shapes.len++] = (struct shape){0};
		err = read_shape(w, abbrev, &w->shapes.data[code]);
		if (err == -EBADMSG) {
			w->shapes.data[code].tag = 0;
			err = 0;
		}
	}
	return err;
}

static bool read_uleb(const struct walker *w, const uint8_t **p, uint64_t *value)
{
	unsigned shift = 0;

	for (*value = 0; *p < w->end; shift += 7) {
		uint8_t byte = *(*p)++;

		if (shift < 64)
			*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static bool skip_bytes(const struct walker *w, const uint8_t **p, uint64_t n)
{
	if (n > (uint64_t)(w->end - *p))
		return false;
	*p += n;
	return true;
}

/* Reads a value of 1, 2, 4 or 8 bytes. */
static bool read_fixed(const struct walker *w, const uint8_t **p, size_t size, uint64_t *value)
{
	const uint8_t *from = *p;

	*value = 0;
	if (!skip_bytes(w, p, size))
		return false;
	memcpy(value, from, size);
	return true;
}

static bool skip_string(const struct walker *w, const uint8_t **p)
{
	const uint8_t *zero = memchr(*p, 0, (size_t)(w->end - *p));

	if (zero)
		*p = zero + 1;
	return zero != NULL;
}

static bool skip_form(const struct walker *w, const uint8_t **p, uint64_t form)
{
	uint32_t size;
	uint64_t n;

	while (form == DW_FORM_indirect) {
		if (!read_uleb(w, p, &form))
			return false;
	}
	size = form <= UINT16_MAX ? form_size(w, (unsigned)form) : SIZE_BAD;
	if (size != VARIABLE)
		return size != SIZE_BAD && skip_bytes(w, p, size);
	switch (form) {
	case DW_FORM_string:
		return skip_string(w, p);
	case DW_FORM_block1:
		return read_fixed(w, p, 1, &n) && skip_bytes(w, p, n);
	case DW_FORM_block2:
		return read_fixed(w, p, 2, &n) && skip_bytes(w, p, n);
	case DW_FORM_block4:
		return read_fixed(w, p, 4, &n) && skip_bytes(w, p, n);
	case DW_FORM_block:
	case DW_FORM_exprloc:
		return read_uleb(w, p, &n) && skip_bytes(w, p, n);
	default:
		return read_uleb(w, p, &n);
	}
}

static bool skip_attributes(const struct walker *w, const struct shape *s, const uint8_t **p)
{
	if (s->size != VARIABLE)
		return skip_bytes(w, p, s->size);
	for (uint32_t i = 0; i < s->n; i++) {
		if (!skip_form(w, p, w->forms.data[s->first + i]))
			return false;
	}
	return true;
}

/* Skips the entry's children, if it has a sibling reference. */
static bool skip_children(const struct walker *w, const struct shape *s, const uint8_t **p)
{
	const uint8_t *at = *p;
	uint64_t to;

	if (s->sibling == VARIABLE || !skip_bytes(w, &at, s->sibling) ||
		!read_fixed(w, &at, s->sibling_size, &to) || to > (uint64_t)(w->end - w->unit) ||
		w->unit + to <= at)
		return false;
	*p = w->unit + to;
	return true;
}

static const struct shape *next_shape(const struct walker *w, const uint8_t **p, bool *null)
{
	uint64_t code;

	*null = false;
	if (!read_uleb(w, p, &code))
		return NULL;
	*null = code == 0;
	if (code == 0 || code >= w->shapes.len || w->shapes.data[code].tag == 0)
		return NULL;
	return &w->shapes.data[code];
}

static int walk_entries(const struct walker *w, Dwarf_Die *unit, hl_dwarf_visit *visit, void *user)
{
	const uint8_t *p = unit->addr;
	uint32_t depth = 0, skip_depth = UINT32_MAX; /* skipped from this depth on */
	int err = 0;

	do {
		Dwarf_Die die = {.addr = (void *)(uintptr_t)p, .cu = unit->cu};
		bool null, wanted;
		const struct shape *s = next_shape(w, &p, &null);

		if (null && depth > 0) {
			if (--depth < skip_depth)
				skip_depth = UINT32_MAX;
			continue;
		}
		if (!s)
			break;
		wanted = skip_depth == UINT32_MAX && (s->open || depth == 0);
		if (wanted && s->code)
			err = visit(user, &die, s->tag, depth);
		if (!wanted && s->children && skip_children(w, s, &p))
			continue;
		if (!skip_attributes(w, s, &p))
			break;
		if (s->children && ++depth && !wanted && skip_depth == UINT32_MAX)
			skip_depth = depth;
	} while (!err && depth > 0 && p < w->end);
	return err;
}

/* Finds the bytes of the unit. False if libdw does not confirm them. */
static bool find_extent(struct walker *w, Dwarf_Die *unit)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(unit->cu);
	Dwarf_Off at = dwarf_dieoffset(unit), header = dwarf_cuoffset(unit), next;
	Dwarf_Die last;

	/* The length in the header may be wrong; dwarf_offdie refuses offsets outside of the
	 * section. */
	if (dwarf_next_unit(dwarf, at - header, &next, NULL, NULL, NULL, NULL, NULL, NULL, NULL) !=
			0 ||
		next <= at || !dwarf_offdie(dwarf, next - 1, &last))
		return false;
	w->unit = (const uint8_t *)unit->addr - header;
	w->end = (const uint8_t *)unit->addr + (next - at);
	return dwarf_cu_die(unit->cu, &last, &w->version, NULL, &w->address_size, &w->offset_size,
		       NULL, NULL) != NULL;
}

int hl_dwarf_walk(Dwarf_Die *unit, hl_dwarf_visit *visit, void *user)
{
	struct walker w = {0};
	int err = 0;

	if (!find_extent(&w, unit))
		return 0;
	err = read_shapes(&w, unit);
	if (!err)
		err = walk_entries(&w, unit, visit, user);
	hl_vec_free(&w.shapes);
	hl_vec_free(&w.forms);
	return err;
}
