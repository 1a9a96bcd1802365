/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_symbols.c - function names from ELF symbol tables, for code without DWARF.
 *
 * Several names may have the same address (malloc, __libc_malloc). Which one is used must not
 * depend on the order of the table: global before weak before local, then fewer underscores, then
 * the shorter name.
 *
 * Assembly also has labels that are not marked as functions (_dl_start_user). They are used only
 * where there is no function.
 */
#include <gelf.h>
#include <string.h>

#include "symbol/symbol_internal.h"

static unsigned bind_rank(unsigned bind)
{
	return bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 1 : 2;
}

/* Worse names get the lower depth: of equal ranges the search finds the deepest first. */
static uint32_t name_depth(const char *name, unsigned bind)
{
	size_t underscores = strspn(name, "_"), len = strlen(name);

	if (strchr(name, '@'))
		underscores += 4; /* a versioned alias in .symtab */
	underscores = underscores < 15 ? underscores : 15;
	len = len < 0xffff ? len : 0xffff;
	return (3 - bind_rank(bind)) << 20 | (uint32_t)(15 - underscores) << 16 |
	       (uint32_t)(0xffff - len);
}

static bool is_function(const GElf_Sym *sym)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	return sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS && sym->st_value != 0 &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC);
}

static bool is_label(const struct hl_elf_image *img, const GElf_Sym *sym, const char *name)
{
	Elf_Scn *scn;
	GElf_Shdr shdr;

	/* "$a", "$x.1": mapping symbols of ARM tools. ".L1": local labels of compilers. */
	if (GELF_ST_TYPE(sym->st_info) != STT_NOTYPE || sym->st_shndx == SHN_UNDEF ||
		sym->st_shndx >= SHN_LORESERVE || name[0] == '$' || name[0] == '.')
		return false;
	scn = elf_getscn(img->elf, sym->st_shndx);
	return scn && gelf_getshdr(scn, &shdr) && (shdr.sh_flags & SHF_EXECINSTR);
}

static int add_table(const struct hl_elf_image *img, Elf_Scn *scn, const GElf_Shdr *shdr, bool arm,
	struct hl_elf_names *into)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data && shdr->sh_entsize ? data->d_size / shdr->sh_entsize : 0;
	int err = 0;

	for (size_t i = 0; i < n && i < INT32_MAX && !err; i++) {
		GElf_Sym sym;
		const char *name;

		if (!gelf_getsym(data, (int)i, &sym))
			continue;
		name = elf_strptr(img->elf, shdr->sh_link, sym.st_name);
		if (!name || !*name || !(is_function(&sym) || is_label(img, &sym, name)))
			continue;
		if (arm)
			sym.st_value &= ~UINT64_C(1); /* bit 0 marks Thumb code */
		/* Hand-written assembly often has no size; hl_elf_names_finish sets one. */
		err = hl_spans_add(is_function(&sym) ? &into->functions : &into->labels,
			sym.st_value, sym.st_value + sym.st_size,
			name_depth(name, GELF_ST_BIND(sym.st_info)), (uint64_t)(uintptr_t)name);
	}
	return err;
}

int hl_elf_names_add(const struct hl_elf_image *img, struct hl_elf_names *into)
{
	Elf_Scn *scn = NULL;
	GElf_Ehdr ehdr;
	int err = 0;

	if (!gelf_getehdr(img->elf, &ehdr))
		return 0;
	while (!err && (scn = elf_nextscn(img->elf, scn)) != NULL) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) ||
			(shdr.sh_type != SHT_SYMTAB && shdr.sh_type != SHT_DYNSYM))
			continue;
		err = add_table(img, scn, &shdr, ehdr.e_machine == EM_ARM, into);
	}
	return err;
}

/* Symbols without a size extend to the next one, but at most 4096 bytes: code beyond is more likely
 * unnamed than part of the same function. */
static void set_missing_sizes(struct hl_spans *s)
{
	uint64_t next = UINT64_MAX;

	hl_spans_sort(s);
	for (size_t i = s->v.len; i-- > 0;) {
		struct hl_span *span = &s->v.data[i];

		if (span->hi == span->lo)
			span->hi = next - span->lo < 4096 ? next : span->lo + 4096;
		if (i > 0 && s->v.data[i - 1].lo != span->lo)
			next = span->lo;
	}
	hl_spans_sort(s);
}

void hl_elf_names_finish(struct hl_elf_names *names)
{
	set_missing_sizes(&names->functions);
	set_missing_sizes(&names->labels);
}

const char *hl_elf_names_find(const struct hl_elf_names *names, uint64_t addr)
{
	const struct hl_span *function = hl_spans_find(&names->functions, addr);
	const struct hl_span *label, *before;

	if (function)
		return (const char *)(uintptr_t)function->payload;
	label = hl_spans_find(&names->labels, addr);
	before = hl_spans_before(&names->functions, addr);
	/* A label before the last function does not name code after that function. */
	if (!label || (before && before->lo >= label->lo))
		return NULL;
	return (const char *)(uintptr_t)label->payload;
}

const char *hl_elf_names_find_mangled(const struct hl_elf_names *names, uint64_t start)
{
	const struct hl_span *function = hl_spans_find(&names->functions, start);
	const char *name;

	if (!function || function->lo != start)
		return NULL;
	name = (const char *)(uintptr_t)function->payload;
	return name[0] == '_' && name[1] == 'Z' ? name : NULL;
}

void hl_elf_names_fini(struct hl_elf_names *names)
{
	hl_spans_fini(&names->functions);
	hl_spans_fini(&names->labels);
}
