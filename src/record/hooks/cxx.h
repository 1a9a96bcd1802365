/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cxx.h - the C++ operators new and delete: shared by cxx.c (operators that exist from the start)
 * and cxx_dlopen.c (operators that come with a plugin).
 */
#ifndef HL_RECORD_HOOKS_CXX_H
#define HL_RECORD_HOOKS_CXX_H

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

/* True if f is in the C++ standard library. */
bool hl_cxx_is_standard(uintptr_t f);
/* Marks f, an operator of the standard library or of an allocator: calls that it makes to our hooks
 * are internal and not events. */
void hl_cxx_add_internal(void *f);

/* The function that a call of an operator leads to. Returned by value in two registers, so it needs
 * no memory. */
struct hl_cxx_next {
	void *fn;          /* NULL: none */
	bool pass_through; /* call it and record nothing */
};

/* cxx_dlopen.c: the operator that a call from `caller` would be bound to without us. */
struct hl_cxx_next hl_cxx_find_in_scope(enum hl_cxx_op op, uintptr_t caller);

/* cxx_dlopen.c: code is being unloaded, perhaps with operators in it. */
void hl_cxx_forget(void);

/* Finds the next functions, before main. */
void hl_cxx_resolve(void);

#endif
