/*
 * cfi_find.c - from a pc to its entry in .eh_frame, by the search table or, without one, by reading
 * all entries. Damaged tables give no entry; they never make us read outside their segment.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/bits.h"
#include "record/unwind/cfi_internal.h"

#define NO_VALUE 0xff /* DW_EH_PE_omit */
#define SEARCHED 0x3b /* DW_EH_PE_datarel | DW_EH_PE_sdata4: what every linker writes */

/* The program headers behind an ELF header that lies at `base`, in its first page as always. */
static bool read_header(uintptr_t base, struct hl_segments *s)
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
 * The loader tells where an object is mapped, but of one with holes only the segment that holds
 * the pc. The main program's headers are known from the kernel; a library has them at its bias.
 */
bool hl_object_segments(const struct hl_object *o, struct hl_segments *s)
{
	if (!o->module.name[0]) {
		s->first = (const ElfW(Phdr) *)getauxval(AT_PHDR);
		s->count = getauxval(AT_PHNUM);
		return s->first != NULL;
	}
	if (read_header(o->module.start, s))
		return true;
	return o->module.bias && hl_walk_probe(o->module.bias) && read_header(o->module.bias, s);
}

/*
 * Widens the module's range to all its segments, and bounds the tables by the one that holds them:
 * between segments there can be holes.
 */
static bool take_segments(struct hl_object *o, const struct hl_segments *s)
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
		return false; /* the headers of something else */
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
	if (!hl_object_segments(o, &s) || !take_segments(o, &s)) {
		o->low = o->module.start;
		o->high = o->module.end;
	}
	if (o->header < o->low || o->header >= o->high)
		o->header = 0;
	hl_tables_use_view(o);
	return true;
}

uintptr_t hl_cfi_pointer(const struct hl_object *o, struct hl_bytes *b, uint8_t encoding)
{
	uintptr_t pc = hl_bytes_pointer(b, encoding, o->header);

	/* Relative ones have moved with the table. */
	return encoding & 0x70 ? pc : pc - o->shift;
}

/* A CIE or FDE: its length, and a cursor over what follows it. */
static struct hl_bytes open_record(struct hl_bytes *b)
{
	struct hl_bytes r = *b;
	uint64_t length = hl_bytes_fixed(&r, 4);

	if (length == 0xffffffff)
		length = hl_bytes_fixed(&r, 8);
	*b = r;
	hl_bytes_skip(b, length);
	if (b->bad || length == 0)
		r.bad = true;
	else
		r.end = b->p;
	return r;
}

static bool augment(struct hl_bytes *r, const char *aug, struct hl_cfi_entry *e)
{
	struct hl_bytes data;
	uint64_t length = hl_bytes_uleb(r);

	data = *r;
	hl_bytes_skip(r, length);
	if (r->bad)
		return false;
	data.end = r->p;
	e->augmented = true;
	for (aug++; *aug; aug++) {
		if (*aug == 'R') {
			e->encoding = (uint8_t)hl_bytes_fixed(&data, 1);
		} else if (*aug == 'P') {
			uint8_t enc = (uint8_t)hl_bytes_fixed(&data, 1);

			if ((enc & 0x70) == 0x50)
				return false;
			hl_bytes_pointer(&data, enc & 0x0f, 0);
		} else if (*aug == 'L') {
			hl_bytes_fixed(&data, 1);
		} else if (*aug == 'S') {
			e->signal_frame = true;
		} else {
			break; /* unknown, but the length told us where the program starts */
		}
	}
	return !data.bad;
}

static bool read_cie(const struct hl_object *o, const uint8_t *at, struct hl_cfi_entry *e)
{
	struct hl_bytes b = {.p = at, .end = (const uint8_t *)o->high}, r;
	const char *aug;
	unsigned version;

	hl_tables_touch(o, (uintptr_t)at);
	r = open_record(&b);
	if (hl_bytes_fixed(&r, 4) != 0)
		return false;
	version = (unsigned)hl_bytes_fixed(&r, 1);
	aug = (const char *)r.p;
	while (hl_bytes_fixed(&r, 1))
		;
	if (r.bad || (version != 1 && version != 3))
		return false;
	e->code_align = hl_bytes_uleb(&r);
	e->data_align = hl_bytes_sleb(&r);
	e->pc_register = version == 1 ? hl_bytes_fixed(&r, 1) : hl_bytes_uleb(&r);
	e->encoding = 0;
	e->augmented = e->signal_frame = false;
	if (*aug == 'z') {
		if (!augment(&r, aug, e))
			return false;
	} else if (*aug) {
		return false; /* data of unknown length before the program */
	}
	e->common = r;
	return !r.bad && e->pc_register == HL_ARCH_DW_PC;
}

/* The record at b, when it is an FDE that can be understood; b moves past it in any case. */
static bool read_fde(const struct hl_object *o, struct hl_bytes *b, struct hl_cfi_entry *e)
{
	struct hl_bytes r;
	const uint8_t *at;
	uint64_t back;

	hl_tables_touch(o, (uintptr_t)b->p);
	r = open_record(b);
	at = r.p;
	back = hl_bytes_fixed(&r, 4);
	if (r.bad || back == 0 || back > (uint64_t)((uintptr_t)at - o->low))
		return false;
	hl_tables_touch(o, (uintptr_t)r.end - 1);
	if (!read_cie(o, at - back, e))
		return false;
	e->begin = hl_cfi_pointer(o, &r, e->encoding);
	e->end = e->begin + hl_bytes_pointer(&r, e->encoding & 0x0f, 0);
	if (e->augmented)
		hl_bytes_skip(&r, hl_bytes_uleb(&r));
	e->own = r;
	return !r.bad && e->begin < e->end;
}

static bool holds(const struct hl_cfi_entry *e, uintptr_t pc)
{
	return pc >= e->begin && pc < e->end;
}

/* What the table says at index, two words a pc. */
static uintptr_t table_word(const struct hl_object *o, const uint8_t *table, uint64_t index)
{
	const uint8_t *at = table + index * 4;
	int32_t v;

	hl_tables_touch(o, (uintptr_t)at);
	memcpy(&v, at, 4);
	return o->header + (uintptr_t)(intptr_t)v;
}

/* The table is sorted by first pc; the last one that is not above pc is the only candidate. */
static bool search(const struct hl_object *o, struct hl_bytes *table, uint64_t count, uintptr_t pc,
	struct hl_cfi_entry *e)
{
	uint64_t lo = 0, hi = count;
	struct hl_bytes b = {.end = (const uint8_t *)o->high};
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
	return read_fde(o, &b, e) && holds(e, pc);
}

static bool scan(const struct hl_object *o, uintptr_t frames, uintptr_t pc, struct hl_cfi_entry *e)
{
	struct hl_bytes b = {.p = (const uint8_t *)frames, .end = (const uint8_t *)o->high};

	if (frames < o->low || frames >= o->high)
		return false;
	while (!b.bad) {
		const uint8_t *at = b.p;

		if (read_fde(o, &b, e) && holds(e, pc))
			return true;
		if (b.p < at + 8)
			break; /* the zero that ends the section */
	}
	return false;
}

bool hl_cfi_find(const struct hl_object *o, uintptr_t pc, struct hl_cfi_entry *e)
{
	struct hl_bytes b = {.p = (const uint8_t *)o->header, .end = (const uint8_t *)o->high};
	uint8_t version, frames_enc, count_enc, table_enc;
	uintptr_t frames = 0, count;

	if (!o->header)
		return false;
	hl_tables_touch(o, o->header);
	pc -= o->shift;
	version = (uint8_t)hl_bytes_fixed(&b, 1);
	frames_enc = (uint8_t)hl_bytes_fixed(&b, 1);
	count_enc = (uint8_t)hl_bytes_fixed(&b, 1);
	table_enc = (uint8_t)hl_bytes_fixed(&b, 1);
	if (b.bad || version != 1)
		return false;
	if (frames_enc != NO_VALUE)
		frames = hl_bytes_pointer(&b, frames_enc, o->header);
	if (count_enc != NO_VALUE && table_enc == SEARCHED) {
		count = hl_bytes_pointer(&b, count_enc, o->header);
		if (!b.bad && count <= (size_t)(b.end - b.p) / 8)
			return search(o, &b, count, pc, e);
	}
	return scan(o, frames, pc, e);
}

bool hl_cfi_starts(const struct hl_object *o, uintptr_t pc)
{
	struct hl_cfi_entry e;

	return hl_cfi_find(o, pc, &e) && e.begin == pc - o->shift;
}
