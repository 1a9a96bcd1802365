/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_table.c - reads line tables; see line_table_internal.h.
 *
 * A cursor never passes its end: a read beyond it returns 0 and marks the cursor as bad. Loops
 * check the mark, so each ends after at most as many steps as the section has bytes.
 */
#include "symbol/dwarf/line_table_internal.h"

#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

/* The header of a table, and the state of its line number program. */
struct program {
	const struct hl_line_sections *sections;
	struct hl_line_table *table;
	struct cursor c;
	HL_VEC(const char *) dirs;
	uint16_t version;
	uint8_t offset_size, address_size;
	uint8_t min_length, max_ops, line_range, opcode_base;
	int8_t line_base;
	uint8_t lengths[256]; /* number of operands of standard opcodes */
	uint64_t addr, op_index, file, line;
};

static uint64_t read_fixed(struct cursor *c, size_t size)
{
	uint64_t value = 0;

	if (c->bad || size > (size_t)(c->end - c->p)) {
		c->bad = true;
		return 0;
	}
	memcpy(&value, c->p, size);
	c->p += size;
	return value;
}

static uint8_t read_byte(struct cursor *c)
{
	return (uint8_t)read_fixed(c, 1);
}

static void skip_bytes(struct cursor *c, uint64_t n)
{
	if (c->bad || n > (uint64_t)(c->end - c->p))
		c->bad = true;
	else if (n)
		c->p += n; /* a missing section has begin == NULL, and NULL + n is undefined */
}

static uint64_t read_leb(struct cursor *c, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = read_byte(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && (byte & 0x40))
		value |= UINT64_MAX << shift;
	return value;
}

static uint64_t read_uleb(struct cursor *c)
{
	return read_leb(c, false);
}

static const char *read_string(struct cursor *c)
{
	const uint8_t *from = c->p, *zero = NULL;

	if (!c->bad && from < c->end)
		zero = memchr(from, 0, (size_t)(c->end - from));
	if (!zero) {
		c->bad = true;
		return "";
	}
	c->p = zero + 1;
	return (const char *)from;
}

/* The string at an offset of a section, or NULL. */
static const char *string_at(const struct hl_line_bytes *section, uint64_t offset)
{
	struct cursor c = {section->begin, section->end, false};
	const char *s;

	skip_bytes(&c, offset);
	s = read_string(&c);
	return c.bad ? NULL : s;
}

/* The value of an attribute of a directory or file (DWARF 5). */
struct attribute {
	const char *string;
	uint64_t number;
};

static struct attribute read_attribute(struct program *p, uint64_t form)
{
	struct cursor *c = &p->c;

	switch (form) {
	case DW_FORM_string:
		return (struct attribute){.string = read_string(c)};
	case DW_FORM_line_strp:
		return (struct attribute){
			.string = string_at(&p->sections->line_str, read_fixed(c, p->offset_size))};
	case DW_FORM_strp:
		return (struct attribute){
			.string = string_at(&p->sections->str, read_fixed(c, p->offset_size))};
	case DW_FORM_udata:
		return (struct attribute){.number = read_uleb(c)};
	case DW_FORM_data1:
		return (struct attribute){.number = read_fixed(c, 1)};
	case DW_FORM_data2:
		return (struct attribute){.number = read_fixed(c, 2)};
	case DW_FORM_data4:
		return (struct attribute){.number = read_fixed(c, 4)};
	case DW_FORM_data8:
		return (struct attribute){.number = read_fixed(c, 8)};
	case DW_FORM_data16:
		skip_bytes(c, 16);
		break;
	case DW_FORM_block:
		skip_bytes(c, read_uleb(c));
		break;
	default:
		c->bad = true; /* the end of the attribute is not known */
	}
	return (struct attribute){0};
}

static int add_file(struct program *p, const char *name, uint64_t dir)
{
	struct hl_line_file f = {.name = name};

	if (dir < p->dirs.len)
		f.dir = p->dirs.data[dir];
	return hl_vec_push(&p->table->files, f);
}

/* Reads a list of directories or files (DWARF 5), which begins with the forms of its attributes. */
static int read_entries(struct program *p, bool are_files)
{
	struct cursor *c = &p->c, forms;
	uint8_t n_forms = read_byte(c);
	uint64_t n;
	int err = 0;

	forms = *c;
	for (unsigned i = 0; i < 2u * n_forms; i++)
		read_uleb(c);
	n = read_uleb(c);
	for (uint64_t i = 0; i < n && n_forms && !err; i++) {
		struct cursor form = forms;
		const char *name = NULL;
		uint64_t dir = 0;

		for (unsigned k = 0; k < n_forms; k++) {
			uint64_t type = read_uleb(&form);
			struct attribute a = read_attribute(p, read_uleb(&form));

			if (type == DW_LNCT_path)
				name = a.string;
			else if (type == DW_LNCT_directory_index)
				dir = a.number;
		}
		if (c->bad)
			break;
		err = are_files ? add_file(p, name, dir) : hl_vec_push(&p->dirs, name);
	}
	return err;
}

/* Reads name, directory, time and size; false at the end of the list. */
static bool read_old_file(struct program *p, int *err)
{
	const char *name = read_string(&p->c);
	uint64_t dir = read_uleb(&p->c);

	if (p->c.bad || !name[0])
		return false;
	read_uleb(&p->c);
	read_uleb(&p->c);
	*err = add_file(p, name, dir);
	return !*err;
}

/* Reads the two lists of versions before DWARF 5. Directory 0 is the unit's own; there is no file
 * 0. */
static int read_old_lists(struct program *p)
{
	const char *dir = NULL;
	int err = hl_vec_push(&p->dirs, NULL);

	while (!err && (dir = read_string(&p->c)) && dir[0])
		err = hl_vec_push(&p->dirs, dir);
	if (!err)
		err = add_file(p, NULL, 0);
	while (!err && p->c.p < p->c.end && p->c.p[0]) {
		if (!read_old_file(p, &err))
			break;
	}
	return err;
}

static void limit_cursor(struct cursor *c, uint64_t size)
{
	if (c->bad || size > (uint64_t)(c->end - c->p))
		c->bad = true;
	else
		c->end = c->p + size;
}

/* Reads the header up to the list of directories; false if the table is not usable. *body is the
 * start of the program. */
static bool read_header(struct program *p, const uint8_t **body)
{
	struct cursor *c = &p->c;
	uint64_t size = read_fixed(c, 4);

	p->offset_size = size == UINT32_MAX ? 8 : 4;
	limit_cursor(c, size == UINT32_MAX ? read_fixed(c, 8) : size);
	p->version = (uint16_t)read_fixed(c, 2);
	p->address_size = p->sections->address_size;
	if (p->version >= 5) {
		p->address_size = read_byte(c);
		skip_bytes(c, 1); /* size of segment selectors */
	}
	size = read_fixed(c, p->offset_size);
	if (c->bad || size > (uint64_t)(c->end - c->p))
		return false;
	*body = c->p + size;
	p->min_length = read_byte(c);
	p->max_ops = p->version >= 4 ? read_byte(c) : 1;
	skip_bytes(c, 1); /* default_is_stmt */
	p->line_base = (int8_t)read_byte(c);
	p->line_range = read_byte(c);
	p->opcode_base = read_byte(c);
	for (unsigned i = 1; i < p->opcode_base; i++)
		p->lengths[i] = read_byte(c);
	return !c->bad && p->version >= 2 && p->version <= 5 && p->line_range && p->opcode_base &&
	       (p->address_size == 4 || p->address_size == 8);
}

static int add_row(struct program *p, bool end)
{
	struct hl_line_row row = {.addr = p->addr,
		.file = p->file <= UINT32_MAX ? (uint32_t)p->file : UINT32_MAX,
		.line = p->line <= INT_MAX ? (uint32_t)p->line & INT_MAX : 0,
		.end = end,
		.order = (uint32_t)p->table->rows.len};

	return hl_vec_push(&p->table->rows, row);
}

static void reset_state(struct program *p)
{
	p->addr = p->op_index = 0;
	p->file = p->line = 1;
}

/* Advances by a number of operations; on VLIW machines an instruction has several. */
static void advance_pc(struct program *p, uint64_t operations)
{
	if (p->max_ops <= 1) {
		p->addr += p->min_length * operations;
		return;
	}
	operations += p->op_index;
	p->addr += p->min_length * (operations / p->max_ops);
	p->op_index = operations % p->max_ops;
}

static int run_special(struct program *p, uint8_t opcode)
{
	unsigned adjusted = (unsigned)opcode - p->opcode_base;

	advance_pc(p, adjusted / p->line_range);
	p->line += (uint64_t)(int64_t)p->line_base + adjusted % p->line_range;
	return add_row(p, false);
}

static int run_extended(struct program *p)
{
	uint64_t size = read_uleb(&p->c);
	struct cursor c = p->c;
	const char *name;
	int err = 0;

	skip_bytes(&p->c, size);
	if (p->c.bad || size == 0)
		return 0;
	c.end = p->c.p;
	switch (read_byte(&c)) {
	case DW_LNE_end_sequence:
		err = add_row(p, true);
		reset_state(p);
		break;
	case DW_LNE_set_address:
		p->addr = read_fixed(&c, p->address_size);
		p->op_index = 0;
		break;
	case DW_LNE_define_file:
		name = read_string(&c);
		err = add_file(p, c.bad ? NULL : name, read_uleb(&c));
		break;
	}
	return err;
}

static int run_standard(struct program *p, uint8_t opcode)
{
	switch (opcode) {
	case DW_LNS_copy:
		return add_row(p, false);
	case DW_LNS_advance_pc:
		advance_pc(p, read_uleb(&p->c));
		break;
	case DW_LNS_advance_line:
		p->line += read_leb(&p->c, true);
		break;
	case DW_LNS_set_file:
		p->file = read_uleb(&p->c);
		break;
	case DW_LNS_const_add_pc:
		advance_pc(p, (255u - p->opcode_base) / p->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		p->addr += read_fixed(&p->c, 2);
		p->op_index = 0;
		break;
	default:
		for (unsigned i = 0; i < p->lengths[opcode]; i++)
			read_uleb(&p->c);
	}
	return 0;
}

static int run_program(struct program *p)
{
	int err = 0;

	reset_state(p);
	while (!err && !p->c.bad && p->c.p < p->c.end) {
		uint8_t opcode = read_byte(&p->c);

		if (opcode >= p->opcode_base)
			err = run_special(p, opcode);
		else if (opcode == 0)
			err = run_extended(p);
		else
			err = run_standard(p, opcode);
	}
	return err;
}

/* By address. If one sequence ends where the next begins, the end comes first. */
static int compare_rows(const void *a, const void *b)
{
	const struct hl_line_row *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->end != y->end)
		return x->end ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void sort_rows(struct hl_line_table *t)
{
	for (size_t i = 1; i < t->rows.len; i++) {
		if (compare_rows(&t->rows.data[i - 1], &t->rows.data[i]) > 0) {
			qsort(t->rows.data, t->rows.len, sizeof(t->rows.data[0]), compare_rows);
			break;
		}
	}
	/* Some compilers omit the last end of sequence. */
	if (t->rows.len)
		t->rows.data[t->rows.len - 1].end = true;
}

int hl_line_table_read(struct hl_line_table *t, const struct hl_line_sections *s, uint64_t offset)
{
	struct program p = {
		.sections = s, .table = t, .c = {.p = s->line.begin, .end = s->line.end}};
	const uint8_t *body;
	int err = 0;

	skip_bytes(&p.c, offset);
	if (read_header(&p, &body)) {
		if (p.version >= 5) {
			err = read_entries(&p, false);
			if (!err)
				err = read_entries(&p, true);
		} else {
			err = read_old_lists(&p);
		}
		p.c.p = body;
		p.c.bad = false;
		if (!err)
			err = run_program(&p);
		sort_rows(t);
	}
	hl_vec_free(&p.dirs);
	if (err)
		hl_line_table_fini(t);
	return err;
}

void hl_line_table_fini(struct hl_line_table *t)
{
	hl_vec_free(&t->rows);
	hl_vec_free(&t->files);
}

const struct hl_line_row *hl_line_table_find(const struct hl_line_table *t, uint64_t addr)
{
	size_t lo = 0, hi = t->rows.len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->rows.data[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || t->rows.data[lo - 1].end)
		return NULL;
	return &t->rows.data[lo - 1];
}
