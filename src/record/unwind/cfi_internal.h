/*
 * cfi_internal.h - reading .eh_frame: from a pc to its table entry, to the row for that pc, to
 * register values. All reads of the tables lie inside the readable segment that holds them.
 */
#ifndef HL_RECORD_UNWIND_CFI_INTERNAL_H
#define HL_RECORD_UNWIND_CFI_INTERNAL_H

#include <link.h>

#include "record/arch/walk.h"
#include "record/unwind/unwind.h"

/* A cursor over bytes of a table. Once bad it stays so and reads as zeros. */
struct hl_bytes {
	const uint8_t *p, *end;
	bool bad;
};

uint64_t hl_bytes_fixed(struct hl_bytes *b, unsigned size);
uint64_t hl_bytes_uleb(struct hl_bytes *b);
int64_t hl_bytes_sleb(struct hl_bytes *b);
void hl_bytes_skip(struct hl_bytes *b, uint64_t n);
/* A pointer in one of the encodings of the LSB specification; data: what DATAREL means. */
uintptr_t hl_bytes_pointer(struct hl_bytes *b, uint8_t encoding, uintptr_t data);

/* The object that holds a pc. */
struct hl_object {
	struct hl_unwind_module module;
	const void *map;     /* the loader's own name for it */
	uintptr_t header;    /* .eh_frame_hdr, 0: none */
	uintptr_t low, high; /* the segment that holds it: all that may be read */
	/*
	 * The tables may lie elsewhere than the loader has put them (tables.c): a pc of the object
	 * is this much higher than where they say it is. The pcs of entries are as they say.
	 */
	uintptr_t shift;
};

struct hl_segments {
	const ElfW(Phdr) * first;
	size_t count;
};

/* One entry of .eh_frame with its CIE. */
struct hl_cfi_entry {
	uintptr_t begin, end;        /* the pcs it speaks of */
	struct hl_bytes common, own; /* the two programs */
	uint64_t code_align;
	int64_t data_align;
	uint64_t pc_register;
	uint8_t encoding;
	bool augmented, signal_frame;
};

enum hl_cfi_how {
	HL_ROW_SAME,
	HL_ROW_UNDEF,
	HL_ROW_OFFSET,
	HL_ROW_VAL_OFFSET,
	HL_ROW_REGISTER,
	HL_ROW_EXPR,
	HL_ROW_VAL_EXPR,
};

/*
 * The rule of every register at one pc. Small, for it lies on somebody's stack: a value is an
 * offset from the CFA, a register number, or where an expression (length first) lies after the
 * object's low.
 */
struct hl_cfi_row {
	int32_t value[HL_ARCH_REGISTERS];
	int32_t cfa_value;
	uint8_t how[HL_ARCH_REGISTERS];
	uint8_t cfa_how; /* HL_ROW_REGISTER: cfa_register + cfa_value; HL_ROW_EXPR */
	uint8_t cfa_register;
};

/* False when no loaded object holds pc. Takes no lock. */
bool hl_object_find(uintptr_t pc, struct hl_object *o);
/* False when the object has no entry for pc, or what is there is damaged. */
bool hl_cfi_find(const struct hl_object *o, uintptr_t pc, struct hl_cfi_entry *e);
/*
 * Does a function start at pc? No call returns there unless the table knows pc - 1 too: it was put
 * there by hand, as makecontext() does, and ends the stack.
 */
bool hl_cfi_starts(const struct hl_object *o, uintptr_t pc);
bool hl_cfi_row(const struct hl_object *o, const struct hl_cfi_entry *e, uintptr_t pc,
	struct hl_cfi_row *row);
struct hl_bytes hl_cfi_expr(const struct hl_object *o, int32_t at);
/* A pc, in one of the encodings. */
uintptr_t hl_cfi_pointer(const struct hl_object *o, struct hl_bytes *b, uint8_t encoding);
/* The program headers of an object that was found. */
bool hl_object_segments(const struct hl_object *o, struct hl_segments *s);

/* Once, by the first hook: which objects will never be unloaded. */
void hl_tables_note_objects(void);
/* Lets o read its tables where they cost nothing for long. */
void hl_tables_use_view(struct hl_object *o);
void hl_tables_touch_view(uintptr_t addr);
/* Before something at addr is read. */
hl_inline void hl_tables_touch(const struct hl_object *o, uintptr_t addr)
{
	if (o->shift && addr < o->high)
		hl_tables_touch_view(addr);
}

/*
 * Runs a DWARF expression. Words are read through w, or not at all when w is NULL. False when it
 * does what it may not, or what we do not know.
 */
bool hl_cfi_eval(struct hl_bytes expr, const uintptr_t regs[HL_ARCH_REGISTERS], struct hl_walk *w,
	const uintptr_t *initial, uintptr_t *result);

#endif
