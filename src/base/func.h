/*
 * func.h - the functions of the malloc family, by number: the same in hooks, rings and traces.
 */
#ifndef HL_BASE_FUNC_H
#define HL_BASE_FUNC_H

/* The function the program called. Stored: never renumber, only append. */
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
	HL_FUNC_IMPLICIT, /* nobody freed it, but its address was handed out again */
	HL_FUNC_MMAP,
	HL_FUNC_MUNMAP,
	HL_FUNC_MREMAP,
	HL_FUNC_POOL, /* a pool of the program's own gave it out; in no event */
	HL_FUNC_COUNT,
};

#endif
