/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conform_count.cpp - counts how often each function of the malloc family was called.
 *
 *	conform_count REPEATS
 *
 * Every way to allocate uses a distinct size, so that events in a trace can be counted by size
 * alone (except for a header of 64 bytes). Prints "SIZE ALLOCATIONS FREES NAME" for each.
 */
#include "conform.h"
#include <malloc.h>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace
{

constexpr size_t FIRST = 7001, STEP = 200;
constexpr std::align_val_t align{64};
volatile size_t huge = SIZE_MAX / 2;

/* A way to allocate. It is called with its size; `frees` says whether it frees the block. */
struct allocation_way {
	const char *name;
	int frees;
	void (*go)(size_t n);
};

/* Calls that did not happen: new handlers, with operators that do not call them. */
int left_out;

template <typename Make, typename Drop> void pair(size_t n, Make make, Drop drop)
{
	void *p = make();

	memset(p, 1, n);
	drop(p);
}

void failed_realloc(size_t n)
{
	void *p = malloc(n);

	if (realloc(p, huge) || reallocarray(p, huge, 4))
		abort();
	free(p);
}

/* One of the two sizes is counted elsewhere. */
void grown(size_t n)
{
	void *p = malloc(n);

	p = realloc(p, 3 * n);
	p = realloc(p, 5 * n);
	free(p);
}

/* The exception's own malloc has another size, but new in a handler has this one. */
void in_handler(size_t n)
{
	try {
		throw 1;
	} catch (int) {
		::operator delete(::operator new(n));
	}
}

void call_new(size_t n)
{
	delete[] new (std::nothrow) char[n];
}

void new_handler_allocates(size_t n)
{
	static size_t size;
	size = n;
	left_out++;
	std::set_new_handler([] {
		left_out--;
		std::set_new_handler(nullptr);
		::operator delete(::operator new(size));
	});
	if (::operator new(huge, std::nothrow))
		abort();
	std::set_new_handler(nullptr);
}

/* A compiler may remove a new whose block is not used. */
void unique(size_t n)
{
	auto p = std::make_unique<char[]>(n);

	__asm__ volatile("" ::"r"(p.get()) : "memory");
}

const allocation_way ways[] = {
	{"malloc", 1,
		[](size_t n) {
			pair(
				n, [=] { return malloc(n); }, free);
		}},
	{"calloc", 1,
		[](size_t n) {
			pair(
				n, [=] { return calloc(n, 1); }, free);
		}},
	{"realloc of nothing", 1,
		[](size_t n) {
			pair(
				n, [=] { return realloc(nullptr, n); }, free);
		}},
	{"reallocarray of nothing", 1,
		[](size_t n) {
			pair(
				n, [=] { return reallocarray(nullptr, 1, n); }, free);
		}},
	{"realloc in steps", 1, grown},
	{"realloc from a byte", 1,
		[](size_t n) {
			pair(
				n, [=] { return realloc(malloc(1), n); }, free);
		}},
	{"reallocarray from a byte", 1,
		[](size_t n) {
			pair(
				n, [=] { return reallocarray(malloc(1), n, 1); }, free);
		}},
	{"a realloc that fails", 1, failed_realloc},
	{"realloc to nothing", 1, [](size_t n) { free(realloc(malloc(n), huge - huge)); }},
	{"aligned_alloc", 1,
		[](size_t n) {
			pair(
				n, [=] { return aligned_alloc(32, n); }, free);
		}},
	{"memalign", 1,
		[](size_t n) {
			pair(
				n, [=] { return memalign(256, n); }, free);
		}},
	{"valloc", 1,
		[](size_t n) {
			pair(
				n, [=] { return valloc(n); }, free);
		}},
	{"posix_memalign", 1,
		[](size_t n) {
			void *p = nullptr;

			if (!posix_memalign(&p, 128, n))
				free(p);
		}},
	/* jemalloc has none: its free cannot handle libc's block */
	{"pvalloc", 0, [](size_t n) { memset(pvalloc(n), 1, n); }},
	{"new", 1, [](size_t n) { ::operator delete(::operator new(n)); }},
	{"new, sized delete", 1, [](size_t n) { ::operator delete(::operator new(n), n); }},
	{"new, nothrow delete", 1,
		[](size_t n) { ::operator delete(::operator new(n), std::nothrow); }},
	{"new[]", 1, [](size_t n) { ::operator delete[](::operator new[](n)); }},
	{"new[], sized delete[]", 1, [](size_t n) { ::operator delete[](::operator new[](n), n); }},
	{"new[], nothrow delete[]", 1,
		[](size_t n) { ::operator delete[](::operator new[](n), std::nothrow); }},
	{"nothrow new", 1, [](size_t n) { ::operator delete(::operator new(n, std::nothrow)); }},
	{"nothrow new[]", 1,
		[](size_t n) { ::operator delete[](::operator new[](n, std::nothrow)); }},
	{"nothrow new[] of a type", 1, call_new},
	{"aligned new", 1, [](size_t n) { ::operator delete(::operator new(n, align), align); }},
	{"aligned new, sized delete", 1,
		[](size_t n) { ::operator delete(::operator new(n, align), n, align); }},
	{"aligned new[]", 1,
		[](size_t n) { ::operator delete[](::operator new[](n, align), align); }},
	{"aligned new[], sized delete[]", 1,
		[](size_t n) { ::operator delete[](::operator new[](n, align), n, align); }},
	{"aligned nothrow new", 1,
		[](size_t n) {
			::operator delete(
				::operator new(n, align, std::nothrow), align, std::nothrow);
		}},
	{"aligned nothrow new[]", 1,
		[](size_t n) {
			::operator delete[](
				::operator new[](n, align, std::nothrow), align, std::nothrow);
		}},
	{"new that is kept", 0, [](size_t n) { memset(::operator new(n), 1, n); }},
	{"new[] that is kept", 0, [](size_t n) { memset(::operator new[](n), 1, n); }},
	{"new in a catch", 1, in_handler},
	{"new in a new handler", 1, new_handler_allocates},
	{"std::string", 1, [](size_t n) { std::string(n - 1, 's').back() = 't'; }},
	{"std::vector", 1, [](size_t n) { std::vector<char>(n).back() = 1; }},
	{"std::make_unique", 1, unique},
	{"in a thread", 1, [](size_t n) { std::thread([n] { free(malloc(n)); }).join(); }},
	{"strdup", 1,
		[](size_t n) {
			static char text[20000];

			memset(text, 'x', n - 1);
			text[n - 1] = 0;
			free(strdup(text));
		}},
	{"asprintf and realloc", 1,
		[](size_t n) {
			char *p = nullptr;

			if (asprintf(&p, "%d", 1) > 0)
				free(realloc(p, n));
		}},
};

} // namespace

int main(int argc, char **argv)
{
	int repeats = argc > 1 ? atoi(argv[1]) : 10;
	size_t n = FIRST;

	for (const allocation_way &w : ways) {
		left_out = 0;
		for (int i = 0; i < repeats; i++)
			w.go(n);
		printf("%zu %d %d %s\n", n, repeats - left_out, (repeats - left_out) * w.frees,
			w.name);
		n += STEP;
	}
	return 0;
}
