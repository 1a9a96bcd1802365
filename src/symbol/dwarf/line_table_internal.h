/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_table_internal.h - the line table of a unit (.debug_line, DWARF 2 to 5): the source line of
 * an address, and the names of the source files.
 *
 * libdw has a reader too. Its version in Debian 13 reads beyond the section and dereferences NULL
 * if the table is damaged, and debug files may come from untrusted sources. Here every byte is
 * checked against the end of its section. A damaged table has the rows up to the damage.
 */
#ifndef HL_SYMBOL_DWARF_LINE_TABLE_INTERNAL_H
#define HL_SYMBOL_DWARF_LINE_TABLE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/vec.h"

struct hl_line_bytes {
	const uint8_t *begin, *end;
};

/* The sections that a table is read from. They must outlive it. */
struct hl_line_sections {
	struct hl_line_bytes line, line_str, str;
	uint8_t address_size; /* of the unit; tables before DWARF 5 do not have it */
};

struct hl_line_row {
	uint64_t addr;
	uint32_t file;
	uint32_t line : 31;
	uint32_t end : 1; /* first address after a sequence of rows */
	uint32_t order;   /* position in the table */
};

/* Pointers into the sections, NULL if not known. `dir` may be relative to the unit's directory;
 * NULL is that directory itself. */
struct hl_line_file {
	const char *dir, *name;
	const char *path; /* set by the user of the table */
};

struct hl_line_table {
	HL_VEC(struct hl_line_row) rows;   /* sorted by address */
	HL_VEC(struct hl_line_file) files; /* indexed as in rows and DW_AT_call_file */
};

/* Reads the table at this offset of `line` into *t, which must be zeroed. Returns 0 or -ENOMEM; a
 * table that cannot be read is empty. */
int hl_line_table_read(struct hl_line_table *t, const struct hl_line_sections *s, uint64_t offset);
void hl_line_table_fini(struct hl_line_table *t);

/* The row of addr, or NULL. */
const struct hl_line_row *hl_line_table_find(const struct hl_line_table *t, uint64_t addr);

#endif
