/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conform_cxx.cpp - checks the requirements of C++ on operator new and delete, and on code that
 * uses them.
 *
 *	conform_cxx [CASE...]
 *
 * See conform.h for the output. Failing allocations run in a child process: some allocators abort
 * where C++ requires an exception.
 */
#include "conform.h"
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace
{

volatile size_t huge = SIZE_MAX / 2, zero = 0;
constexpr size_t LARGE = 4096;

bool is_aligned(const void *p, size_t align)
{
	return (reinterpret_cast<uintptr_t>(p) & (align - 1)) == 0;
}

/* A new and the deletes that may free its blocks. */
struct form {
	void *(*make)(size_t, std::align_val_t);
	void (*drop[3])(void *, size_t, std::align_val_t);
};
using al = std::align_val_t;

const form plain[] = {
	{[](size_t n, al) { return ::operator new(n); },
		{[](void *p, size_t, al) { ::operator delete(p); },
			[](void *p, size_t n, al) { ::operator delete(p, n); },
			[](void *p, size_t, al) { ::operator delete(p, std::nothrow); }}},
	{[](size_t n, al) { return ::operator new[](n); },
		{[](void *p, size_t, al) { ::operator delete[](p); },
			[](void *p, size_t n, al) { ::operator delete[](p, n); },
			[](void *p, size_t, al) { ::operator delete[](p, std::nothrow); }}},
	{[](size_t n, al) { return ::operator new(n, std::nothrow); },
		{[](void *p, size_t, al) { ::operator delete(p); },
			[](void *p, size_t n, al) { ::operator delete(p, n); },
			[](void *p, size_t, al) { ::operator delete(p, std::nothrow); }}},
	{[](size_t n, al) { return ::operator new[](n, std::nothrow); },
		{[](void *p, size_t, al) { ::operator delete[](p); },
			[](void *p, size_t n, al) { ::operator delete[](p, n); },
			[](void *p, size_t, al) { ::operator delete[](p, std::nothrow); }}},
};

const form aligned[] = {
	{[](size_t n, al a) { return ::operator new(n, a); },
		{[](void *p, size_t, al a) { ::operator delete(p, a); },
			[](void *p, size_t n, al a) { ::operator delete(p, n, a); },
			[](void *p, size_t, al a) { ::operator delete(p, a, std::nothrow); }}},
	{[](size_t n, al a) { return ::operator new[](n, a); },
		{[](void *p, size_t, al a) { ::operator delete[](p, a); },
			[](void *p, size_t n, al a) { ::operator delete[](p, n, a); },
			[](void *p, size_t, al a) { ::operator delete[](p, a, std::nothrow); }}},
	{[](size_t n, al a) { return ::operator new(n, a, std::nothrow); },
		{[](void *p, size_t, al a) { ::operator delete(p, a); },
			[](void *p, size_t n, al a) { ::operator delete(p, n, a); },
			[](void *p, size_t, al a) { ::operator delete(p, a, std::nothrow); }}},
	{[](size_t n, al a) { return ::operator new[](n, a, std::nothrow); },
		{[](void *p, size_t, al a) { ::operator delete[](p, a); },
			[](void *p, size_t n, al a) { ::operator delete[](p, n, a); },
			[](void *p, size_t, al a) { ::operator delete[](p, a, std::nothrow); }}},
};

const char *case_plain()
{
	for (const form &f : plain)
		for (size_t n = 0; n < 3000; n += 7) {
			void *p = f.make(n, al{1});

			CHECK(p);
			CHECK(n < 16 || is_aligned(p, __STDCPP_DEFAULT_NEW_ALIGNMENT__));
			memset(p, 0x3c, n);
			f.drop[n % 3](p, n, al{1});
		}
	return nullptr;
}

const char *case_aligned()
{
	for (const form &f : aligned)
		for (size_t align = 32; align <= 65536; align *= 2)
			for (size_t n = 1; n < 4 * align; n += align / 2 + 1) {
				void *p = f.make(n, al{align});

				CHECK(p);
				CHECK(is_aligned(p, align));
				memset(p, 0x3c, n);
				f.drop[n % 3](p, n, al{align});
			}
	return nullptr;
}

const char *case_zero()
{
	for (const form &f : plain) {
		void *p = f.make(zero, al{1}), *q = f.make(zero, al{1});

		CHECK(p && q && p != q);
		f.drop[0](p, 0, al{1});
		f.drop[0](q, 0, al{1});
	}
	return nullptr;
}

const char *case_delete_null()
{
	for (const form &f : plain)
		for (auto drop : f.drop)
			drop(nullptr, 8, al{1});
	for (const form &f : aligned)
		for (auto drop : f.drop)
			drop(nullptr, 64, al{64});
	return nullptr;
}

const char *case_delete_keeps_errno()
{
	for (const form &f : plain)
		for (auto drop : f.drop) {
			void *p = f.make(3 << 20, al{1});

			errno = 77;
			drop(p, 3 << 20, al{1});
			CHECK(errno == 77);
		}
	return nullptr;
}

template <int N, bool Aligned> const char *throws()
{
	const form &f = Aligned ? aligned[N] : plain[N];
	int thrown = 0;

	for (int i = 0; i < 50; i++)
		try {
			CHECK(!f.make(huge, al{64}));
		} catch (const std::bad_alloc &) {
			thrown++;
		}
	fact("%d thrown", thrown);
	return nullptr;
}

int handler_calls;

void count_calls()
{
	if (++handler_calls == 3)
		std::set_new_handler(nullptr);
	delete[] new char[100]; /* a handler may allocate */
}

const char *case_new_handler()
{
	handler_calls = 0;
	std::set_new_handler(count_calls);
	try {
		::operator delete(::operator new(huge));
		return "huge memory";
	} catch (const std::bad_alloc &) {
	}
	fact("called %d times", handler_calls);
	handler_calls = 0;
	std::set_new_handler(count_calls);
	CHECK(!::operator new(huge, std::nothrow));
	fact("called %d times", handler_calls);
	return nullptr;
}

void throw_from_handler()
{
	throw std::bad_alloc();
}

const char *case_handler_throws()
{
	std::set_new_handler(throw_from_handler);
	for (int i = 0; i < 100; i++) {
		try {
			::operator delete(::operator new(huge));
			return "huge memory";
		} catch (const std::bad_alloc &) {
		}
		CHECK(!::operator new(huge, std::nothrow));
	}
	std::set_new_handler(nullptr);
	return nullptr;
}

const char *case_array_length()
{
	volatile long minus = -1;

	for (int i = 0; i < 20; i++)
		try {
			delete[] new long[static_cast<size_t>(minus)];
			return "an array of minus one";
		} catch (const std::bad_alloc &) {
		}
	return nullptr;
}

/* The constructor throws: the language frees the memory. */
struct thrower {
	explicit thrower(int i)
	{
		if (i)
			throw std::string(100, 'x');
	}
	char room[500];
};

const char *case_constructor_throws()
{
	for (int i = 0; i < 500; i++)
		try {
			delete new thrower(1);
			return "no exception";
		} catch (const std::string &text) {
			CHECK(text.size() == 100);
		}
	return nullptr;
}

struct alignas(LARGE) large {
	char bytes[LARGE];
};

/* A class's own operators, and the global ones they call. */
struct own {
	static void *operator new(size_t n)
	{
		made++;
		return ::operator new(n);
	}
	static void operator delete(void *p)
	{
		made--;
		::operator delete(p);
	}
	static int made;
	char bytes[200];
};
int own::made;

const char *case_classes()
{
	for (int i = 0; i < 100; i++) {
		auto one = std::make_unique<large>();
		auto many = std::make_unique<large[]>(3);
		auto shared = std::make_shared<large>();
		auto mine = std::make_unique<own>();

		CHECK(is_aligned(one.get(), LARGE) && is_aligned(many.get(), LARGE));
		CHECK(is_aligned(shared.get(), LARGE));
		CHECK(own::made == 1);
	}
	CHECK(own::made == 0);
	return nullptr;
}

const char *case_containers()
{
	std::map<int, std::string> map;
	std::vector<std::string> strings;
	std::pmr::monotonic_buffer_resource pool;
	std::pmr::vector<std::pmr::string> pooled(&pool);

	for (int i = 0; i < 3000; i++) {
		map[i * 7919 % 3001] = std::string(static_cast<size_t>(i % 200), 'm');
		strings.emplace_back(std::to_string(i) + std::string(30, '.'));
		pooled.emplace_back("a string that does not fit into its own room");
		if (i % 3 == 0)
			map.erase(map.begin());
	}
	fact("%zu, %zu, %zu", map.size(), strings.size(), pooled.size());
	CHECK(strings[2999] == "2999" + std::string(30, '.'));
	return nullptr;
}

struct at_thread_end {
	std::string *text = new std::string(1000, 't');
	~at_thread_end()
	{
		delete new std::string(*text);
		delete text;
	}
};
thread_local at_thread_end local;

const char *case_threads()
{
	std::vector<std::thread> threads;
	std::vector<std::unique_ptr<std::string>> made(8);

	for (size_t i = 0; i < made.size(); i++)
		threads.emplace_back([&made, i] {
			for (int k = 0; k < 2000; k++)
				made[i] =
					std::make_unique<std::string>(local.text->size() + i, 'a');
		});
	for (auto &thread : threads)
		thread.join();
	for (size_t i = 0; i < made.size(); i++)
		CHECK(made[i]->size() == 1000 + i);
	return nullptr;
}

const conform_case cases[] = {
	CONFORM_CASE("operators without alignment", case_plain),
	CONFORM_CASE("operators with alignment", case_aligned),
	CONFORM_CASE("zero sizes are distinct", case_zero),
	CONFORM_CASE("delete of a null pointer", case_delete_null),
	CONFORM_CASE("delete keeps errno", case_delete_keeps_errno),
	CONFORM_APART("new that fails", (throws<0, false>)),
	CONFORM_APART("new[] that fails", (throws<1, false>)),
	CONFORM_APART("new nothrow that fails", (throws<2, false>)),
	CONFORM_APART("new[] nothrow that fails", (throws<3, false>)),
	CONFORM_APART("aligned new that fails", (throws<0, true>)),
	CONFORM_APART("aligned new[] that fails", (throws<1, true>)),
	CONFORM_APART("aligned new nothrow that fails", (throws<2, true>)),
	CONFORM_APART("aligned new[] nothrow that fails", (throws<3, true>)),
	CONFORM_APART("a new handler", case_new_handler),
	CONFORM_APART("a new handler that throws", case_handler_throws),
	CONFORM_APART("an array length that cannot be", case_array_length),
	CONFORM_CASE("a constructor that throws", case_constructor_throws),
	CONFORM_CASE("classes: aligned, shared, with operators of their own", case_classes),
	CONFORM_CASE("containers", case_containers),
	CONFORM_CASE("threads and what they leave", case_threads),
};

} // namespace

int main(int argc, char **argv)
{
	return conform_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
