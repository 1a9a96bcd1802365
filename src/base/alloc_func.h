/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_func.h - numbers of the malloc family functions. Hooks, rings and traces use the same
 * numbers.
 */
#ifndef HL_BASE_ALLOC_FUNC_H
#define HL_BASE_ALLOC_FUNC_H

/* The function that the program called. Stored in traces: never renumber, only append. */
enum hl_func {
	HL_FUNC_MALLOC,
	HL_FUNC_CALLOC,
	HL_FUNC_REALLOC,
	HL_FUNC_REALLOCARRAY,
	HL_FUNC_POSIX_MEMALIGN,
	HL_FUNC_ALIGNED_ALLOC,
	HL_FUNC_MEMALIGN,
	HL_FUNC_VALLOC,
	HL_FUNC_PVALLOC,
	HL_FUNC_NEW,
	HL_FUNC_NEW_ARRAY,
	HL_FUNC_FREE,
	HL_FUNC_CFREE,
	HL_FUNC_FREE_SIZED,
	HL_FUNC_FREE_ALIGNED_SIZED,
	HL_FUNC_DELETE,
	HL_FUNC_DELETE_ARRAY,
	HL_FUNC_IMPLICIT, /* no free was seen, but the address was allocated again */
	HL_FUNC_MMAP,
	HL_FUNC_MUNMAP,
	HL_FUNC_MREMAP,
	HL_FUNC_POOL,    /* allocated from a pool of the program; not in any event */
	HL_FUNC_UNKNOWN, /* in imported traces: any of the above */
	HL_FUNC_COUNT,
};

#endif
