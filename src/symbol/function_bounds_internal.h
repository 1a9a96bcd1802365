/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_bounds_internal.h - where the functions of a file begin and end, by its unwind tables.
 *
 * .eh_frame stays in a stripped file. Each of its entries (FDE) covers one function, or the part
 * that the compiler moved away (.cold), which counts as a function of its own.
 */
#ifndef HL_SYMBOL_FUNCTION_BOUNDS_INTERNAL_H
#define HL_SYMBOL_FUNCTION_BOUNDS_INTERNAL_H

#include "symbol/symbol_internal.h"

/* The content of .eh_frame. */
struct hl_eh_frame {
	const unsigned char *ident; /* e_ident of the file */
	const uint8_t *data;
	size_t len;
	uint64_t address; /* of the section */
};

/* Adds the range of each entry to *into. What is damaged is left out. Returns 0 or -ENOMEM. */
int hl_eh_frame_ranges(const struct hl_eh_frame *eh, struct hl_spans *into);
/* Adds the functions of an image and sorts *into. Without sections or tables there are none.
 * Returns 0 or -ENOMEM. */
int hl_function_bounds_read(const struct hl_elf_image *img, struct hl_spans *into);

#endif
