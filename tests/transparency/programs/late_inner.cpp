/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_inner.cpp - the C++ library below a plugin: it already allocates in its constructor, before
 * the loader has finished. OWN: with operators of its own and without libstdc++; no other operators
 * may free their blocks.
 */
#include <new>
#include <stdlib.h>

#ifdef OWN
struct header {
	long mark[2];
};

void *operator new(size_t n)
{
	header *h = static_cast<header *>(malloc(n + sizeof(header)));

	if (!h)
		abort();
	h->mark[0] = OWN;
	return h + 1;
}

void operator delete(void *p) noexcept
{
	header *h = static_cast<header *>(p) - 1;

	if (h->mark[0] != OWN)
		abort();
	free(h);
}

void operator delete(void *p, size_t) noexcept
{
	operator delete(p);
}
#endif

static void *volatile early = ::operator new(SIZE);
static struct at_end {
	~at_end()
	{
		::operator delete(::operator new(SIZE));
	}
} at_end;

extern "C" int inner_work()
{
	for (int i = 0; i < 10; i++)
		::operator delete(::operator new(SIZE));
	::operator delete(early);
	return 0;
}
