/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_bounds.c - reads the ranges of .eh_frame; see function_bounds_internal.h.
 *
 * Each entry is read once, so the time and the memory are bounded by the size of the section. An
 * FDE refers backwards to the CIE that has the encoding of its addresses.
 */
#include "symbol/function_bounds_internal.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "util/pair_map.h"

/* The largest programs have less. */
#define EH_FRAME_MAX (UINT64_C(64) << 20)
#define PLTS_MAX     4 /* .plt, .plt.got, .plt.sec */

/* Bytes that are left to read. */
struct input {
	const uint8_t *at;
	size_t left;
	bool big_endian, is_64;
};

static bool read_uint(struct input *in, size_t size, uint64_t *v)
{
	*v = 0;
	if (size > in->left)
		return false;
	for (size_t i = 0; i < size; i++)
		*v |= (uint64_t)in->at[i] << 8 * (in->big_endian ? size - 1 - i : i);
	in->at += size;
	in->left -= size;
	return true;
}

/* The low half of an encoding: the size of a number, and whether it has a sign. LEB128 numbers are
 * not used for addresses. */
static bool read_encoded(struct input *in, uint8_t encoding, uint64_t *v)
{
	static const uint8_t sizes[8] = {
		[DW_EH_PE_udata2] = 2, [DW_EH_PE_udata4] = 4, [DW_EH_PE_udata8] = 8};
	bool absptr = (encoding & 15) == DW_EH_PE_absptr;
	size_t size = absptr ? (in->is_64 ? 8 : 4) : sizes[encoding & 7];

	if (size == 0 || !read_uint(in, size, v))
		return false;
	if (encoding & DW_EH_PE_signed && size < 8 && *v >> (8 * size - 1))
		*v |= UINT64_MAX << 8 * size;
	return true;
}

/* The encoding of addresses in the FDEs of a CIE. False: it is not known. */
static bool find_encoding(const Dwarf_CIE *cie, struct input in, uint8_t *encoding)
{
	const char *a = cie->augmentation;
	uint64_t v;

	*encoding = DW_EH_PE_absptr;
	if (!a || !*a)
		return true;
	if (*a != 'z' || !cie->augmentation_data)
		return false;
	in.at = cie->augmentation_data;
	in.left = cie->augmentation_data_size;
	while (*++a) {
		if (*a == 'R') {
			bool ok = read_uint(&in, 1, &v);

			*encoding = (uint8_t)v;
			return ok;
		}
		if (*a == 'L' && !read_uint(&in, 1, &v))
			return false;
		if (*a == 'P' && (!read_uint(&in, 1, &v) || !read_encoded(&in, (uint8_t)v, &v)))
			return false;
		if (!strchr("LPSB", *a))
			return false;
	}
	return true;
}

struct scan {
	const struct hl_eh_frame *eh;
	struct input input;           /* byte order and size of addresses */
	struct hl_pair_map encodings; /* offset of a CIE -> encoding */
	struct hl_spans *into;
};

static int add_cie(struct scan *s, uint64_t offset, const Dwarf_CIE *cie)
{
	uint8_t encoding;

	return find_encoding(cie, s->input, &encoding)
		       ? hl_pair_map_put(&s->encodings, offset, 0, encoding)
		       : 0;
}

static int add_fde(struct scan *s, const Dwarf_FDE *fde)
{
	uint32_t encoding = hl_pair_map_get(&s->encodings, fde->CIE_pointer, 0);
	struct input in = s->input;
	uint64_t start, size;

	if (encoding == HL_PAIR_MAP_NONE || fde->end < fde->start)
		return 0;
	in.at = fde->start;
	in.left = (size_t)(fde->end - fde->start);
	if (!read_encoded(&in, (uint8_t)encoding, &start) ||
		!read_encoded(&in, encoding & 7, &size))
		return 0;
	if ((encoding & 0xf0) == DW_EH_PE_pcrel)
		start += s->eh->address + (uint64_t)(fde->start - s->eh->data);
	else if ((encoding & 0xf0) != DW_EH_PE_absptr)
		return 0;
	if (!s->input.is_64)
		start &= UINT32_MAX;
	/* Address 0: the linker removed the function. */
	if (start == 0 || size == 0 || size > INT64_MAX || start > INT64_MAX)
		return 0;
	return hl_spans_add(s->into, start, start + size, 0, 0);
}

int hl_eh_frame_ranges(const struct hl_eh_frame *eh, struct hl_spans *into)
{
	struct scan s = {.eh = eh,
		.input = {.big_endian = eh->ident[EI_DATA] == ELFDATA2MSB,
			.is_64 = eh->ident[EI_CLASS] == ELFCLASS64},
		.into = into};
	Elf_Data data = {
		.d_buf = (void *)(uintptr_t)eh->data, .d_size = eh->len, .d_version = EV_CURRENT};
	Dwarf_Off at = 0, next = 0;
	int err = 0;

	for (; !err && at < eh->len; at = next) {
		Dwarf_CFI_Entry e;
		int bad = dwarf_next_cfi(eh->ident, &data, true, at, &next, &e);

		if (bad > 0 || next <= at)
			break;
		if (bad == 0)
			err = dwarf_cfi_cie_p(&e) ? add_cie(&s, at, &e.cie) : add_fde(&s, &e.fde);
	}
	hl_pair_map_fini(&s.encodings);
	return err;
}

static int read_section(const struct hl_elf_image *img, Elf_Scn *scn, struct hl_spans *into)
{
	struct hl_eh_frame eh = {.ident = (const unsigned char *)elf_getident(img->elf, NULL)};
	GElf_Shdr shdr;
	Elf_Data *data;

	if (!eh.ident || !gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS ||
		shdr.sh_flags & SHF_COMPRESSED || shdr.sh_size > EH_FRAME_MAX)
		return 0;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf)
		return 0;
	eh.address = shdr.sh_addr;
	eh.data = data->d_buf;
	eh.len = data->d_size;
	return hl_eh_frame_ranges(&eh, into);
}

/* One entry covers all stubs of a PLT. They are many functions, whose bounds are not known. */
static void remove_plt(struct hl_spans *s, const GElf_Shdr *plt)
{
	size_t n = 0;

	for (size_t i = 0; i < s->v.len; i++) {
		if (s->v.data[i].lo - plt->sh_addr >= plt->sh_size)
			s->v.data[n++] = s->v.data[i];
	}
	s->v.len = n;
}

int hl_function_bounds_read(const struct hl_elf_image *img, struct hl_spans *into)
{
	Elf_Scn *scn = NULL, *eh_frame = NULL;
	GElf_Shdr shdr, plts[PLTS_MAX];
	size_t names, n_plts = 0;
	int err = 0;

	if (elf_getshdrstrndx(img->elf, &names) != 0)
		return 0;
	while ((scn = elf_nextscn(img->elf, scn)) != NULL) {
		const char *name =
			gelf_getshdr(scn, &shdr) ? elf_strptr(img->elf, names, shdr.sh_name) : NULL;

		if (name && strncmp(name, ".plt", 4) == 0 && n_plts < PLTS_MAX)
			plts[n_plts++] = shdr;
		else if (name && !eh_frame && strcmp(name, ".eh_frame") == 0)
			eh_frame = scn;
	}
	if (eh_frame)
		err = read_section(img, eh_frame, into);
	while (n_plts > 0 && !err)
		remove_plt(into, &plts[--n_plts]);
	hl_spans_sort(into);
	return err;
}
