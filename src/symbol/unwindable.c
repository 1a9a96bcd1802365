/*
 * unwindable.c - how much of a file's code its unwind tables cover, as far as symbols tell where
 * functions are; see symbol.h. Without symbols nothing is known, and nothing is said to be missing.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>

#include "symbol/symbol.h"

/* The table of symbols that knows the most; NULL: there is none. */
static Elf_Scn *best_table(Elf *elf)
{
	Elf_Scn *scn = NULL, *dynamic = NULL;
	GElf_Shdr head;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &head))
			continue;
		if (head.sh_type == SHT_SYMTAB)
			return scn;
		if (head.sh_type == SHT_DYNSYM)
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

static void count(Elf_Scn *table, Dwarf_CFI *cfi, struct hl_unwindable *u)
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
		u->bare_functions++;
		u->bare_bytes += sym.st_size;
	}
}

bool hl_symbols_unwindable(int fd, struct hl_unwindable *u)
{
	Elf *elf;
	Elf_Scn *table;
	Dwarf_CFI *cfi;

	*u = (struct hl_unwindable){0};
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	table = elf ? best_table(elf) : NULL;
	cfi = table ? dwarf_getcfi_elf(elf) : NULL;
	if (cfi) {
		count(table, cfi, u);
		dwarf_cfi_end(cfi);
	}
	elf_end(elf);
	return u->functions > 0;
}
