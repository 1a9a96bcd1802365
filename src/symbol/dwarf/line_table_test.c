/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_table_test.c - rows of an intact table equal those of libdw; damage ends a table but never
 * the program.
 *
 * The first input is the test program itself, the second a hand-written table of DWARF 3.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/dwarf/line_table_internal.h"

static struct hl_line_bytes find_section(Elf *elf, const char *wanted)
{
	Elf_Scn *scn = NULL;
	size_t names;

	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr head;
		Elf_Data *data;

		assert_non_null(gelf_getshdr(scn, &head));
		if (strcmp(elf_strptr(elf, names, head.sh_name), wanted) != 0)
			continue;
		data = elf_getdata(scn, NULL);
		assert_non_null(data);
		return (struct hl_line_bytes){data->d_buf, (uint8_t *)data->d_buf + data->d_size};
	}
	return (struct hl_line_bytes){0};
}

/* This program, its sections and the offset of its line table. */
struct own_program {
	int fd;
	Dwarf *dwarf;
	Dwarf_Die unit;
	struct hl_line_sections sections;
	uint64_t offset;
};

static void open_own_program(struct own_program *o)
{
	Dwarf_Attribute attr;
	Dwarf_CU *cu = NULL;
	Elf *elf;

	o->fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	o->dwarf = dwarf_begin(o->fd, DWARF_C_READ);
	if (!o->dwarf)
		skip(); /* built without -g */
	elf = dwarf_getelf(o->dwarf);
	o->sections = (struct hl_line_sections){find_section(elf, ".debug_line"),
		find_section(elf, ".debug_line_str"), find_section(elf, ".debug_str"),
		sizeof(void *)};
	assert_int_equal(dwarf_get_units(o->dwarf, cu, &cu, NULL, NULL, &o->unit, NULL), 0);
	assert_non_null(dwarf_attr(&o->unit, DW_AT_stmt_list, &attr));
	assert_int_equal(dwarf_formudata(&attr, &o->offset), 0);
}

static void close_own_program(struct own_program *o)
{
	dwarf_end(o->dwarf);
	close(o->fd);
}

static bool ends_with(const char *path, const char *name)
{
	size_t n = strlen(path), k = strlen(name);

	return n >= k && strcmp(path + n - k, name) == 0;
}

static void rows_equal_those_of_libdw(void **state)
{
	struct hl_line_table t = {0};
	struct own_program o;

	(void)state;
	open_own_program(&o);
	assert_int_equal(hl_line_table_read(&t, &o.sections, o.offset), 0);
	assert_true(t.rows.len > 100);
	for (size_t i = 0; i < t.rows.len; i++) {
		for (uint64_t addr = t.rows.data[i].addr - 1; addr <= t.rows.data[i].addr + 1;
			addr++) {
			const struct hl_line_row *row = hl_line_table_find(&t, addr);
			Dwarf_Line *line = dwarf_getsrc_die(&o.unit, addr);
			int n;

			assert_int_equal(row != NULL, line != NULL);
			if (!row)
				continue;
			assert_int_equal(dwarf_lineno(line, &n), 0);
			assert_int_equal(row->line, n);
			assert_true(row->file < t.files.len);
			assert_true(ends_with(
				dwarf_linesrc(line, NULL, NULL), t.files.data[row->file].name));
		}
	}
	hl_line_table_fini(&t);
	close_own_program(&o);
}

/* Two sequences, the second at lower addresses; the program defines a file. */
static const uint8_t by_hand[] = {0x59, 0, 0, 0, 3, 0, /* length, version */
	0x22, 0, 0, 0, 1, 1, 0xfb, 14, 10,  /* header: minimum 1, line base -5, range 14 */
	0, 1, 1, 1, 1, 0, 0, 0, 1,          /* operands of standard opcodes */
	'i', 'n', 'c', 0, 0,                /* directory 1 */
	'a', '.', 'c', 0, 0, 0, 0,          /* file 1, in the unit's directory */
	'b', '.', 'h', 0, 1, 0, 0, 0,       /* file 2, in directory 1 */
	0, 9, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, /* address 0x2000 */
	0x0f, 4, 2, 3, 9, 0x48,   /* line 1 + 0; file 2, line + 9; address + 4, line + 1 */
	2, 16, 0, 1, 1,           /* 0x2014 is the end */
	0, 6, 3, 'd', 0, 1, 0, 0, /* file 3, in directory 1 */
	0, 9, 2, 0, 0x10, 0, 0, 0, 0, 0, 0, 4, 3, /* address 0x1000, file 3 */
	1, 2, 1, 0, 1, 1};                        /* line 1; 0x1001 is the end */

static void expect_row(
	const struct hl_line_table *t, uint64_t addr, const char *name, unsigned line)
{
	const struct hl_line_row *row = hl_line_table_find(t, addr);

	assert_non_null(row);
	assert_string_equal(t->files.data[row->file].name, name);
	assert_int_equal(row->line, line);
}

static void a_table_of_dwarf_3_is_read(void **state)
{
	struct hl_line_sections s = {
		.line = {by_hand, by_hand + sizeof(by_hand)}, .address_size = 8};
	struct hl_line_table t = {0};

	(void)state;
	assert_int_equal(by_hand[0], sizeof(by_hand) - 4);
	assert_int_equal(hl_line_table_read(&t, &s, 0), 0);
	assert_int_equal(t.files.len, 4);
	assert_null(t.files.data[0].name);
	assert_null(t.files.data[1].dir);
	assert_string_equal(t.files.data[2].dir, "inc");
	assert_string_equal(t.files.data[3].dir, "inc");
	assert_null(hl_line_table_find(&t, 0xfff));
	expect_row(&t, 0x1000, "d", 1);
	assert_null(hl_line_table_find(&t, 0x1001));
	expect_row(&t, 0x2003, "a.c", 1);
	expect_row(&t, 0x2004, "b.h", 11);
	expect_row(&t, 0x2013, "b.h", 11);
	assert_null(hl_line_table_find(&t, 0x2014));
	hl_line_table_fini(&t);
}

static void read_copy(const uint8_t *bytes, size_t n)
{
	uint8_t *copy = malloc(n); /* exact size, so that a sanitizer detects overreads */
	struct hl_line_table t = {0};

	memcpy(copy, bytes, n);
	assert_int_equal(hl_line_table_read(&t,
				 &(struct hl_line_sections){.line = {copy, copy + n},
					 .line_str = {copy, copy + n},
					 .str = {copy, copy + n},
					 .address_size = 8},
				 0),
		0);
	for (size_t i = 0; i < t.files.len; i++)
		assert_true(!t.files.data[i].name || strlen(t.files.data[i].name) < n);
	hl_line_table_fini(&t);
	free(copy);
}

static void damage_everywhere(const uint8_t *bytes, size_t n)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	uint8_t *copy = malloc(n);

	for (size_t at = 0; at < n; at++) {
		read_copy(bytes, at + 1);
		for (size_t i = 0; i < sizeof(values); i++) {
			memcpy(copy, bytes, n);
			copy[at] = values[i];
			read_copy(copy, n);
		}
	}
	free(copy);
}

static void damage_is_survived(void **state)
{
	struct own_program o;
	size_t n;

	(void)state;
	damage_everywhere(by_hand, sizeof(by_hand));
	open_own_program(&o);
	n = (size_t)(o.sections.line.end - o.sections.line.begin);
	damage_everywhere(o.sections.line.begin, n < 600 ? n : 600);
	close_own_program(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_equal_those_of_libdw),
		cmocka_unit_test(a_table_of_dwarf_3_is_read),
		cmocka_unit_test(damage_is_survived),
	};

	elf_version(EV_CURRENT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
