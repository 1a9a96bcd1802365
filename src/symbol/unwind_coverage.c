/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_coverage.c - how much of a file's code its unwind tables cover; see symbol.h.
 *
 * Symbols say where functions are. Without symbols nothing is known, and nothing is reported as
 * missing.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>

#include "symbol/symbol.h"

/* The most complete symbol table; NULL: there is none. */
static Elf_Scn *find_symbol_table(Elf *elf)
{
	Elf_Scn *scn = NULL, *dynamic = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &shdr))
			continue;
		if (shdr.sh_type == SHT_SYMTAB)
			return scn;
		if (shdr.sh_type == SHT_DYNSYM)
			dynamic = scn;
	}
	return dynamic;
}

static bool has_frame(Dwarf_CFI *cfi, uint64_t addr)
{
	Dwarf_Frame *frame = NULL;
	bool has = dwarf_cfi_addrframe(cfi, addr, &frame) == 0;

	free(frame);
	return has;
}

static void count_functions(Elf_Scn *table, Dwarf_CFI *cfi, struct hl_unwind_coverage *u)
{
	Elf_Data *data = elf_getdata(table, NULL);
	GElf_Sym sym;

	for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
		if (GELF_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF ||
			sym.st_size == 0)
			continue;
		u->functions++;
		u->bytes += sym.st_size;
		if (has_frame(cfi, sym.st_value))
			continue;
		u->uncovered_functions++;
		u->uncovered_bytes += sym.st_size;
	}
}

bool hl_symbols_unwind_coverage(int fd, struct hl_unwind_coverage *u)
{
	Elf *elf;
	Elf_Scn *table;
	Dwarf_CFI *cfi;

	*u = (struct hl_unwind_coverage){0};
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	table = elf ? find_symbol_table(elf) : NULL;
	cfi = table ? dwarf_getcfi_elf(elf) : NULL;
	if (cfi) {
		count_functions(table, cfi, u);
		dwarf_cfi_end(cfi);
	}
	elf_end(elf);
	return u->functions > 0;
}
