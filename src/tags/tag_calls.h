/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tag_calls.h - the functions whose calls a tag counts. Some of the malloc family share a counter,
 * to keep a node small.
 */
#ifndef HL_TAGS_TAG_CALLS_H
#define HL_TAGS_TAG_CALLS_H

#include <stdint.h>

#include "base/alloc_func.h"

enum hl_tag_call {
	HL_TAG_MALLOC,
	HL_TAG_CALLOC,
	HL_TAG_REALLOC,
	HL_TAG_REALLOCARRAY,
	HL_TAG_POSIX_MEMALIGN,
	HL_TAG_ALIGNED_ALLOC,
	HL_TAG_MEMALIGN, /* and valloc, pvalloc */
	HL_TAG_NEW,      /* and new[] */
	HL_TAG_FREE,     /* and cfree, and the sized frees */
	HL_TAG_DELETE,   /* and delete[] */
	HL_TAG_CALLS,
};

/* Their names in every output, indexed by enum hl_tag_call. */
#define HL_TAG_CALL_NAMES                                                                         \
	{                                                                                         \
		"malloc", "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc", \
			"memalign", "new", "free", "delete"                                       \
	}

static inline enum hl_tag_call hl_tag_call(enum hl_func func)
{
	switch (func) {
	case HL_FUNC_CALLOC:
		return HL_TAG_CALLOC;
	case HL_FUNC_REALLOC:
		return HL_TAG_REALLOC;
	case HL_FUNC_REALLOCARRAY:
		return HL_TAG_REALLOCARRAY;
	case HL_FUNC_POSIX_MEMALIGN:
		return HL_TAG_POSIX_MEMALIGN;
	case HL_FUNC_ALIGNED_ALLOC:
		return HL_TAG_ALIGNED_ALLOC;
	case HL_FUNC_MEMALIGN:
	case HL_FUNC_VALLOC:
	case HL_FUNC_PVALLOC:
		return HL_TAG_MEMALIGN;
	case HL_FUNC_NEW:
	case HL_FUNC_NEW_ARRAY:
		return HL_TAG_NEW;
	case HL_FUNC_FREE:
	case HL_FUNC_CFREE:
	case HL_FUNC_FREE_SIZED:
	case HL_FUNC_FREE_ALIGNED_SIZED:
		return HL_TAG_FREE;
	case HL_FUNC_DELETE:
	case HL_FUNC_DELETE_ARRAY:
		return HL_TAG_DELETE;
	default:
		return HL_TAG_MALLOC;
	}
}

#endif
