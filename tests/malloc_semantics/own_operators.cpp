/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_operators.cpp - a program's own operators new and delete. Not all forms are defined, as in
 * many programs, so that the library's other forms call these. HEADER bytes before each block (0 or
 * 64) make the program's pointer differ from malloc's.
 */
#include <new>
#include <stdint.h>
#include <stdlib.h>

static void *add_header(void *p)
{
	if (!p)
		throw std::bad_alloc();
	return static_cast<char *>(p) + HEADER;
}

static void free_block(void *p)
{
	free(p ? static_cast<char *>(p) - HEADER : p);
}

void *operator new(size_t n)
{
	return add_header(malloc(n > SIZE_MAX - HEADER ? n : n + HEADER));
}

void operator delete(void *p) noexcept
{
	free_block(p);
}

void operator delete(void *p, size_t) noexcept
{
	free_block(p);
}

void *operator new(size_t n, std::align_val_t align)
{
	return add_header(aligned_alloc(static_cast<size_t>(align), n + HEADER));
}

void operator delete(void *p, std::align_val_t) noexcept
{
	free_block(p);
}
