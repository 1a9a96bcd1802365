/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_find.c - finds the .eh_frame entry of a pc, by the search table or, without one, by reading
 * all entries. A damaged table yields no entry; it never causes a read outside its segment.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/bits.h"
#include "record/unwind/cfi_internal.h"

#define ENCODING_OMIT       0xff /* DW_EH_PE_omit */
#define ENCODING_SEARCHABLE 0x3b /* datarel | sdata4: what every linker writes */

/* The program headers of the ELF header at `base`. They are in its first page. */
static bool read_elf_header(uintptr_t base, struct hl_segments *s)
{
	const ElfW(Ehdr) *eh = (const ElfW(Ehdr) *)base;

	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 || eh->e_phentsize != sizeof(ElfW(Phdr)) ||
		eh->e_phoff + eh->e_phnum * sizeof(ElfW(Phdr)) > HL_PAGE)
		return false;
	s->first = (const ElfW(Phdr) *)(base + eh->e_phoff);
	s->count = eh->e_phnum;
	return true;
}

/*
 * _dl_find_object() reports where an object is mapped, but for an object with holes only the
 * segment that contains the pc. The headers of the main program come from the kernel; those of a
 * library are at its bias.
 */
bool hl_object_segments(const struct hl_object *o, struct hl_segments *s)
{
	if (!o->module.name[0]) {
		s->first = (const ElfW(Phdr) *)getauxval(AT_PHDR);
		s->count = getauxval(AT_PHNUM);
		return s->first != NULL;
	}
	if (read_elf_header(o->module.start, s))
		return true;
	return o->module.bias && hl_walk_probe(o->module.bias) &&
	       read_elf_header(o->module.bias, s);
}

/*
 * Extends the range of the module to all its segments, and bounds the tables by the segment that
 * contains them: there can be holes between segments.
 */
static bool apply_segments(struct hl_object *o, const struct hl_segments *s)
{
	uintptr_t start = UINTPTR_MAX, end = 0, bias = o->module.bias;

	o->low = o->high = 0;
	for (size_t i = 0; i < s->count; i++) {
		const ElfW(Phdr) *ph = &s->first[i];
		uintptr_t low = bias + ph->p_vaddr, high = low + ph->p_filesz;

		if (ph->p_type != PT_LOAD || high < low)
			continue;
		start = hl_min_u64(start, low & ~(HL_PAGE - 1));
		end = hl_max_u64(end, low + ph->p_memsz);
		if ((ph->p_flags & PF_R) && o->header >= low && o->header < high) {
			o->low = low;
			o->high = high;
		}
	}
	if (start > o->module.start || end < o->module.start)
		return false; /* headers of another object */
	o->module.start = start;
	o->module.end = hl_max_u64(end, o->module.end);
	return true;
}

bool hl_object_find(uintptr_t pc, struct hl_object *o)
{
	struct dl_find_object found;
	struct hl_segments s;

	if (_dl_find_object((void *)pc, &found) != 0)
		return false;
	o->module = (struct hl_unwind_module){
		.start = (uintptr_t)found.dlfo_map_start,
		.end = (uintptr_t)found.dlfo_map_end,
		.bias = found.dlfo_link_map->l_addr,
		.name = found.dlfo_link_map->l_name,
	};
	o->map = found.dlfo_link_map;
	o->shift = 0;
	if (!o->module.name)
		o->module.name = "";
	o->module.is_vdso =
		strlen(o->module.name) > 10 && memcmp(o->module.name, "linux-vdso", 10) == 0;
	o->header = (uintptr_t)found.dlfo_eh_frame;
	if (!hl_object_segments(o, &s) || !apply_segments(o, &s)) {
		o->low = o->module.start;
		o->high = o->module.end;
	}
	if (o->header < o->low || o->header >= o->high)
		o->header = 0;
	hl_tables_use_view(o);
	return true;
}

uintptr_t hl_cfi_pointer(const struct hl_object *o, struct hl_byte_reader *b, uint8_t encoding)
{
	uintptr_t pc = hl_byte_reader_pointer(b, encoding, o->header);

	/* Relative pointers have moved with the table. */
	return encoding & 0x70 ? pc : pc - o->shift;
}

/* Opens a CIE or FDE: reads its length and returns a cursor over the rest. */
static struct hl_byte_reader open_record(struct hl_byte_reader *b)
{
	struct hl_byte_reader r = *b;
	uint64_t length = hl_byte_reader_fixed(&r, 4);

	if (length == 0xffffffff)
		length = hl_byte_reader_fixed(&r, 8);
	*b = r;
	hl_byte_reader_skip(b, length);
	if (b->bad || length == 0)
		r.bad = true;
	else
		r.end = b->p;
	return r;
}

static bool read_augmentation(struct hl_byte_reader *r, const char *aug, struct hl_cfi_entry *e)
{
	struct hl_byte_reader data;
	uint64_t length = hl_byte_reader_uleb(r);

	data = *r;
	hl_byte_reader_skip(r, length);
	if (r->bad)
		return false;
	data.end = r->p;
	e->augmented = true;
	for (aug++; *aug; aug++) {
		if (*aug == 'R') {
			e->encoding = (uint8_t)hl_byte_reader_fixed(&data, 1);
		} else if (*aug == 'P') {
			uint8_t enc = (uint8_t)hl_byte_reader_fixed(&data, 1);

			if ((enc & 0x70) == 0x50)
				return false;
			hl_byte_reader_pointer(&data, enc & 0x0f, 0);
		} else if (*aug == 'L') {
			hl_byte_reader_fixed(&data, 1);
		} else if (*aug == 'S') {
			e->signal_frame = true;
		} else {
			break; /* unknown, but the length gives the start of the instructions */
		}
	}
	return !data.bad;
}

static bool read_cie(const struct hl_object *o, const uint8_t *at, struct hl_cfi_entry *e)
{
	struct hl_byte_reader b = {.p = at, .end = (const uint8_t *)o->high}, r;
	const char *aug;
	unsigned version;

	hl_tables_touch(o, (uintptr_t)at);
	r = open_record(&b);
	if (hl_byte_reader_fixed(&r, 4) != 0)
		return false;
	version = (unsigned)hl_byte_reader_fixed(&r, 1);
	aug = (const char *)r.p;
	while (hl_byte_reader_fixed(&r, 1))
		;
	if (r.bad || (version != 1 && version != 3))
		return false;
	e->code_align = hl_byte_reader_uleb(&r);
	e->data_align = hl_byte_reader_sleb(&r);
	e->pc_register = version == 1 ? hl_byte_reader_fixed(&r, 1) : hl_byte_reader_uleb(&r);
	e->encoding = 0;
	e->augmented = e->signal_frame = false;
	if (*aug == 'z') {
		if (!read_augmentation(&r, aug, e))
			return false;
	} else if (*aug) {
		return false; /* data of unknown length before the instructions */
	}
	e->common = r;
	return !r.bad && e->pc_register == HL_ARCH_DW_PC;
}

/* Reads the record at b. True: it is an FDE and was understood. b moves past it in any case. */
static bool read_fde(const struct hl_object *o, struct hl_byte_reader *b, struct hl_cfi_entry *e)
{
	struct hl_byte_reader r;
	const uint8_t *at;
	uint64_t back;

	hl_tables_touch(o, (uintptr_t)b->p);
	r = open_record(b);
	at = r.p;
	back = hl_byte_reader_fixed(&r, 4);
	if (r.bad || back == 0 || back > (uint64_t)((uintptr_t)at - o->low))
		return false;
	hl_tables_touch(o, (uintptr_t)r.end - 1);
	if (!read_cie(o, at - back, e))
		return false;
	e->begin = hl_cfi_pointer(o, &r, e->encoding);
	e->end = e->begin + hl_byte_reader_pointer(&r, e->encoding & 0x0f, 0);
	if (e->augmented)
		hl_byte_reader_skip(&r, hl_byte_reader_uleb(&r));
	e->own = r;
	return !r.bad && e->begin < e->end;
}

static bool contains_pc(const struct hl_cfi_entry *e, uintptr_t pc)
{
	return pc >= e->begin && pc < e->end;
}

/* A word of the search table; each entry has two, first pc and FDE. */
static uintptr_t table_word(const struct hl_object *o, const uint8_t *table, uint64_t index)
{
	const uint8_t *at = table + index * 4;
	int32_t v;

	hl_tables_touch(o, (uintptr_t)at);
	memcpy(&v, at, 4);
	return o->header + (uintptr_t)(intptr_t)v;
}

/* The table is sorted by first pc; the last entry that is not above pc is the only candidate. */
static bool search_table(const struct hl_object *o, struct hl_byte_reader *table, uint64_t count,
	uintptr_t pc, struct hl_cfi_entry *e)
{
	uint64_t lo = 0, hi = count;
	struct hl_byte_reader b = {.end = (const uint8_t *)o->high};
	uintptr_t fde;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (table_word(o, table->p, mid * 2) <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return false;
	fde = table_word(o, table->p, (lo - 1) * 2 + 1);
	if (fde < o->low || fde >= o->high)
		return false;
	b.p = (const uint8_t *)fde;
	return read_fde(o, &b, e) && contains_pc(e, pc);
}

static bool scan_entries(
	const struct hl_object *o, uintptr_t frames, uintptr_t pc, struct hl_cfi_entry *e)
{
	struct hl_byte_reader b = {.p = (const uint8_t *)frames, .end = (const uint8_t *)o->high};

	if (frames < o->low || frames >= o->high)
		return false;
	while (!b.bad) {
		const uint8_t *at = b.p;

		if (read_fde(o, &b, e) && contains_pc(e, pc))
			return true;
		if (b.p < at + 8)
			break; /* the zero length that ends the section */
	}
	return false;
}

bool hl_cfi_find(const struct hl_object *o, uintptr_t pc, struct hl_cfi_entry *e)
{
	struct hl_byte_reader b = {
		.p = (const uint8_t *)o->header, .end = (const uint8_t *)o->high};
	uint8_t version, frames_enc, count_enc, table_enc;
	uintptr_t frames = 0, count;

	if (!o->header)
		return false;
	hl_tables_touch(o, o->header);
	pc -= o->shift;
	version = (uint8_t)hl_byte_reader_fixed(&b, 1);
	frames_enc = (uint8_t)hl_byte_reader_fixed(&b, 1);
	count_enc = (uint8_t)hl_byte_reader_fixed(&b, 1);
	table_enc = (uint8_t)hl_byte_reader_fixed(&b, 1);
	if (b.bad || version != 1)
		return false;
	if (frames_enc != ENCODING_OMIT)
		frames = hl_byte_reader_pointer(&b, frames_enc, o->header);
	if (count_enc != ENCODING_OMIT && table_enc == ENCODING_SEARCHABLE) {
		count = hl_byte_reader_pointer(&b, count_enc, o->header);
		if (!b.bad && count <= (size_t)(b.end - b.p) / 8)
			return search_table(o, &b, count, pc, e);
	}
	return scan_entries(o, frames, pc, e);
}

bool hl_cfi_starts_function(const struct hl_object *o, uintptr_t pc)
{
	struct hl_cfi_entry e;

	return hl_cfi_find(o, pc, &e) && e.begin == pc - o->shift;
}
