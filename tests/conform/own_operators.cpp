/*
 * own_operators.cpp - operators new and delete of a program's own, as many programs have them: not
 * all forms, so that the library's others end in these. HEADER bytes before each block (0 or 64)
 * hide from malloc what the program gets.
 */
#include <new>
#include <stdint.h>
#include <stdlib.h>

static void *shifted(void *p)
{
	if (!p)
		throw std::bad_alloc();
	return static_cast<char *>(p) + HEADER;
}

static void drop(void *p)
{
	free(p ? static_cast<char *>(p) - HEADER : p);
}

void *operator new(size_t n)
{
	return shifted(malloc(n > SIZE_MAX - HEADER ? n : n + HEADER));
}

void operator delete(void *p) noexcept
{
	drop(p);
}

void operator delete(void *p, size_t) noexcept
{
	drop(p);
}

void *operator new(size_t n, std::align_val_t align)
{
	return shifted(aligned_alloc(static_cast<size_t>(align), n + HEADER));
}

void operator delete(void *p, std::align_val_t) noexcept
{
	drop(p);
}
