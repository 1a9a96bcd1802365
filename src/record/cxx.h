/*
 * cxx.h - the operators of C++, shared by what there is from the start (cxx.c) and by what comes
 * with plugins (cxx_late.c).
 */
#ifndef HL_RECORD_CXX_H
#define HL_RECORD_CXX_H

#include <stdbool.h>
#include <stdint.h>

enum hl_cxx_op {
	HL_OP_NEW,
	HL_OP_NEW_ARRAY,
	HL_OP_NEW_NOTHROW,
	HL_OP_NEW_ARRAY_NOTHROW,
	HL_OP_NEW_ALIGN,
	HL_OP_NEW_ARRAY_ALIGN,
	HL_OP_NEW_ALIGN_NOTHROW,
	HL_OP_NEW_ARRAY_ALIGN_NOTHROW,
	HL_OP_DEL,
	HL_OP_DEL_ARRAY,
	HL_OP_DEL_NOTHROW,
	HL_OP_DEL_ARRAY_NOTHROW,
	HL_OP_DEL_SIZED,
	HL_OP_DEL_ARRAY_SIZED,
	HL_OP_DEL_ALIGN,
	HL_OP_DEL_ARRAY_ALIGN,
	HL_OP_DEL_ALIGN_NOTHROW,
	HL_OP_DEL_ARRAY_ALIGN_NOTHROW,
	HL_OP_DEL_SIZED_ALIGN,
	HL_OP_DEL_ARRAY_SIZED_ALIGN,
	HL_OP_COUNT,
};

extern const char *const hl_cxx_symbols[HL_OP_COUNT];

/* Is it the language's own library that f lies in? */
bool hl_cxx_is_standard(uintptr_t f);
/* What f, one of the language's or an allocator's operators, calls is its own doing. */
void hl_cxx_know(void *f);

/* What an operator comes to; two words, so that nobody has to give an address for it. */
struct hl_cxx_real {
	void *f;        /* NULL: none */
	bool passed_on; /* not ours to record */
};

/* cxx_late.c: what a call from there means. */
struct hl_cxx_real hl_cxx_late(enum hl_cxx_op op, uintptr_t caller);

#endif
