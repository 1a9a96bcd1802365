/*
 * cfi.h - what the unwind table says about one pc, reduced to the registers that a port's rules
 * know. Whatever does not fit this shape is OTHER, and is left to the interpreter of whole rows.
 */
#ifndef HL_RECORD_ARCH_CFI_H
#define HL_RECORD_ARCH_CFI_H

#include <stdbool.h>
#include <stdint.h>

enum hl_cfi_where {
	HL_CFI_KEPT,   /* the register still holds its caller's value */
	HL_CFI_UNDEF,  /* the value is gone; for the pc: the end of the stack */
	HL_CFI_AT_CFA, /* saved at CFA + off */
	HL_CFI_AT_REG, /* saved at reg + off; for the CFA: its value is the word there */
	HL_CFI_REG,    /* only for the CFA: its value is reg + off */
	HL_CFI_OTHER,
};

struct hl_cfi_place {
	enum hl_cfi_where where;
	unsigned reg;
	int64_t off;
};

struct hl_cfi_shape {
	struct hl_cfi_place cfa, pc, sp, fp;
	bool signal_frame;
};

#endif
