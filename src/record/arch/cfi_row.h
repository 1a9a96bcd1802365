/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_row.h - the unwind table row of one pc, reduced to the registers that rules use. Everything
 * else is HL_CFI_OTHER; then slow_step.c interprets the full row.
 */
#ifndef HL_RECORD_ARCH_CFI_ROW_H
#define HL_RECORD_ARCH_CFI_ROW_H

#include <stdbool.h>
#include <stdint.h>

enum hl_cfi_where {
	HL_CFI_UNCHANGED, /* the register has the caller's value */
	HL_CFI_UNDEF,     /* the value is lost; for the pc: the end of the stack */
	HL_CFI_AT_CFA,    /* saved at CFA + off */
	HL_CFI_AT_REG,    /* saved at reg + off; for the CFA: its value is the word at reg + off */
	HL_CFI_REG,       /* for the CFA only: its value is reg + off */
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
