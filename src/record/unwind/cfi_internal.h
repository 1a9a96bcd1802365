/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_internal.h - reading .eh_frame: hl_object_find() finds the object of a pc, hl_cfi_find() its
 * table entry, hl_cfi_row() the row for that pc; slow_step.c computes register values from a row.
 * All reads of the tables are inside the readable segment that contains them.
 */
#ifndef HL_RECORD_UNWIND_CFI_INTERNAL_H
#define HL_RECORD_UNWIND_CFI_INTERNAL_H

#include <link.h>

#include "record/arch/walk.h"
#include "record/unwind/unwind.h"

/* A cursor over the bytes of a table. Once `bad` is set it stays set, and all reads return 0. */
struct hl_byte_reader {
	const uint8_t *p, *end;
	bool bad;
};

uint64_t hl_byte_reader_fixed(struct hl_byte_reader *b, unsigned size);
uint64_t hl_byte_reader_uleb(struct hl_byte_reader *b);
int64_t hl_byte_reader_sleb(struct hl_byte_reader *b);
void hl_byte_reader_skip(struct hl_byte_reader *b, uint64_t n);
/* Reads a pointer in one of the encodings of the LSB specification; data: the base of DATAREL. */
uintptr_t hl_byte_reader_pointer(struct hl_byte_reader *b, uint8_t encoding, uintptr_t data);

/* The loaded object that contains a pc. */
struct hl_object {
	struct hl_unwind_module module;
	const void *map;     /* its link_map, which identifies it */
	uintptr_t header;    /* address of .eh_frame_hdr; 0: none */
	uintptr_t low, high; /* its segment: only this memory may be read */
	/*
	 * The tables may be read at another address than where the loader mapped them (tables.c).
	 * Pcs in the tables and in hl_cfi_entry are lower than pcs of the object by this.
	 */
	uintptr_t shift;
};

struct hl_segments {
	const ElfW(Phdr) * first;
	size_t count;
};

/* One entry of .eh_frame (FDE) with its CIE. */
struct hl_cfi_entry {
	uintptr_t begin, end;              /* the pcs that it covers */
	struct hl_byte_reader common, own; /* instructions of the CIE and of the FDE */
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
 * The rules of all registers at one pc. Small, because it is on the stack of the program: a value
 * is an offset from the CFA, a register number, or the offset of an expression (length first) from
 * the object's `low`.
 */
struct hl_cfi_row {
	int32_t value[HL_ARCH_REGISTERS];
	int32_t cfa_value;
	uint8_t how[HL_ARCH_REGISTERS];
	uint8_t cfa_how; /* HL_ROW_REGISTER: cfa_register + cfa_value; HL_ROW_EXPR */
	uint8_t cfa_register;
};

/* Finds the object of pc. False: no loaded object contains pc. Takes no lock. */
bool hl_object_find(uintptr_t pc, struct hl_object *o);
/* Finds the table entry of pc. False: there is none, or it is damaged. */
bool hl_cfi_find(const struct hl_object *o, uintptr_t pc, struct hl_cfi_entry *e);
/*
 * Does a function start at pc? No call returns to such a pc unless the table also covers pc - 1. If
 * it does not, code such as makecontext() stored the address, and it ends the stack.
 */
bool hl_cfi_starts_function(const struct hl_object *o, uintptr_t pc);
bool hl_cfi_row(const struct hl_object *o, const struct hl_cfi_entry *e, uintptr_t pc,
	struct hl_cfi_row *row);
struct hl_byte_reader hl_cfi_expr(const struct hl_object *o, int32_t at);
/* Reads a pc in one of the pointer encodings, as an address of the tables. */
uintptr_t hl_cfi_pointer(const struct hl_object *o, struct hl_byte_reader *b, uint8_t encoding);
/* The program headers of an object. False: they were not found. */
bool hl_object_segments(const struct hl_object *o, struct hl_segments *s);

/* Called once, by the first hook: notes which objects will never be unloaded. */
void hl_tables_note_objects(void);
/* Makes o use the view of its tables, if there is one. */
void hl_tables_use_view(struct hl_object *o);
void hl_tables_touch_view(uintptr_t addr);
/* Must be called before memory at addr is read. */
hl_inline void hl_tables_touch(const struct hl_object *o, uintptr_t addr)
{
	if (o->shift && addr < o->high)
		hl_tables_touch_view(addr);
}

/*
 * Evaluates a DWARF expression. Memory is read through w, or not at all if w is NULL. False: the
 * expression reads forbidden memory, is damaged, or uses an unsupported operation.
 */
bool hl_cfi_eval(struct hl_byte_reader expr, const uintptr_t regs[HL_ARCH_REGISTERS],
	struct hl_walk *w, const uintptr_t *initial, uintptr_t *result);

#endif
