/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.c - fuzz target: a symbol file, ELF with DWARF. Any user may have placed such a file
 * where a module of a trace is looked for.
 *
 * Input: four offsets to look up (32 bits each), then the file. The mutator changes only the parts
 * that the reader reads: the headers, and the sections of symbols and debug information.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "trace/format/format_internal.h"
#include "symbol/symbol.h"

#define N_OFFSETS 4
#define HEAD      (N_OFFSETS * 4)

/* Finds a section that the reader reads, or returns an empty range. */
static void find_section(uint8_t *file, size_t size, unsigned r, size_t *at, size_t *len)
{
	Elf64_Ehdr e;
	Elf64_Shdr s;

	*len = 0;
	if (size < sizeof(e))
		return;
	memcpy(&e, file, sizeof(e));
	if (!e.e_shnum || e.e_shoff > size || size - e.e_shoff < e.e_shnum * sizeof(s))
		return;
	memcpy(&s, file + e.e_shoff + r % e.e_shnum * sizeof(s), sizeof(s));
	if (s.sh_type == SHT_NOBITS || s.sh_flags & SHF_EXECINSTR || s.sh_offset > size ||
		s.sh_size > size - s.sh_offset)
		return;
	*at = s.sh_offset;
	*len = s.sh_size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint8_t *file = data + HEAD;
	size_t len = 0, at = 0, n = size - HEAD;

	srand(seed);
	if (size < HEAD + sizeof(Elf64_Ehdr) || rand() % 16 == 0)
		return LLVMFuzzerMutate(data, size, max);
	for (int i = 0; i < 8 && !len; i++)
		find_section(file, n, (unsigned)rand(), &at, &len);
	switch (rand() % 8) {
	case 0: /* the section headers */
		at = hl_get64(file + offsetof(Elf64_Ehdr, e_shoff));
		len = at < n ? n - at : 0;
		break;
	case 1:
		at = 0;
		len = sizeof(Elf64_Ehdr);
		break;
	case 2: /* the offsets */
		LLVMFuzzerMutate(data, HEAD, HEAD);
		return size;
	}
	if (!len)
		return LLVMFuzzerMutate(data, size, max);
	LLVMFuzzerMutate(file + at, len, len);
	return size;
}

static void look_up_offsets(struct hl_symbols *s, const char *path, const uint8_t *offsets)
{
	const struct hl_symbol_frame *frames;
	struct hl_symbols_module *m;
	size_t n;

	FUZZ_MUST(hl_symbols_add(s, path, NULL, 0, &m) == 0);
	hl_symbols_state(m);
	for (int i = 0; i < N_OFFSETS; i++) {
		FUZZ_MUST(hl_symbols_frames(m, hl_get32(offsets + 4 * i), &frames, &n) == 0);
		for (size_t k = 0; k < n; k++)
			FUZZ_MUST(frames[k].function && frames[k].display_name);
	}
	FUZZ_MUST(hl_symbols_note(m));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hl_symbols *s;

	if (size < HEAD)
		return 0;
	FUZZ_MUST(hl_symbols_new(&s) == 0);
	FUZZ_MUST(hl_symbols_configure(s, &(struct hl_symbols_config){.ellipsis = "..."}) == 0);
	look_up_offsets(s, fuzz_file(data + HEAD, size - HEAD), data);
	hl_symbols_free(s);
	return 0;
}
