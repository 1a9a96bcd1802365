/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opened_plugin.cpp - go() prints whose operators are called, by it and by the C++ library on its
 * behalf. With -DMARK="word" it has its own operators, which mark their blocks with the word.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

static int n_made;

#ifdef MARK
void *operator new(size_t n)
{
	char *p = static_cast<char *>(malloc(n + 16));

	n_made++;
	memcpy(p, MARK, sizeof(MARK));
	return p + 16;
}

void operator delete(void *p) noexcept
{
	char *q = static_cast<char *>(p) - 16;

	if (!p)
		return;
	if (memcmp(q, MARK, sizeof(MARK)) != 0) {
		puts("not mine");
		abort();
	}
	memset(q, 0, sizeof(MARK));
	free(q);
}

void operator delete(void *p, size_t) noexcept
{
	operator delete(p);
}
#endif

extern "C" void go()
{
	for (int i = 0; i < 5; i++)
		::operator delete(::operator new(1000 + i, std::nothrow));
	std::string s(100, 'x');
	for (int i = 0; i < 100; i++)
		s += "0123456789";
	std::vector<std::string> v(10, s);
	volatile size_t too_much = static_cast<size_t>(1) << 62;
#ifndef MARK
	try {
		(void)::operator new(too_much);
	} catch (std::bad_alloc &) {
		puts("bad_alloc");
	}
#endif
	printf("%zu bytes, %d by its own\n", v.size() * s.size(), n_made + 0 * (int)too_much);
}
