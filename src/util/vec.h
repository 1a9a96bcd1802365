/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec.h - growing arrays. HL_VEC(type) declares one. It owns its memory until hl_vec_free.
 *
 * A zeroed vector is empty. The capacity doubles, so pushing n elements costs O(n).
 */
#ifndef HL_UTIL_VEC_H
#define HL_UTIL_VEC_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define HL_VEC(type)        \
	struct {            \
		type *data; \
		size_t len; \
		size_t cap; \
	}

/* Reserves memory for `need` elements of `size` bytes. Returns 0 or -ENOMEM. */
static inline int hl_vec_grow(void **data, size_t *cap, size_t need, size_t size)
{
	size_t n = *cap ? *cap : 16;
	void *p;

	if (need <= *cap)
		return 0;
	while (n < need)
		n *= 2;
	if (n > SIZE_MAX / size)
		return -ENOMEM;
	p = realloc(*data, n * size);
	if (!p)
		return -ENOMEM;
	*data = p;
	*cap = n;
	return 0;
}

#define hl_vec_reserve(v, need) \
	hl_vec_grow((void **)&(v)->data, &(v)->cap, (need), sizeof(*(v)->data))

/* Appends the value. Returns 0 or -ENOMEM. */
#define hl_vec_push(v, value) \
	(hl_vec_reserve((v), (v)->len + 1) ? -ENOMEM : ((v)->data[(v)->len++] = (value), 0))

#define hl_vec_free(v)                   \
	do {                             \
		free((v)->data);         \
		(v)->data = NULL;        \
		(v)->len = (v)->cap = 0; \
	} while (0)

#endif
