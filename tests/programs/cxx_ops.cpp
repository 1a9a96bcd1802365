/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cxx_ops.cpp - every form of operator new and delete; each call must be exactly one event.
 *
 *	cxx_ops REPEATS [portable]
 *
 * The library's operators call malloc, and other allocators have operators of their own; neither
 * may turn one call into two events. Sizes are multiples of the alignment: libstdc++ rounds other
 * sizes up, and a count below the recorder would see more bytes than requested. Every other block
 * is deleted, by a delete that belongs to its new (alternately plain and sized). portable: no
 * failing new, because mimalloc's operators abort instead of throwing.
 */
#include "truth.h"
#include <new>

namespace
{

enum {
	NEW,
	NEW_ARRAY,
	NEW_NOTHROW,
	NEW_ARRAY_NOTHROW,
	NEW_ALIGNED,
	NEW_ARRAY_ALIGNED,
	NEW_ALIGNED_NOTHROW,
	NEW_ARRAY_ALIGNED_NOTHROW,
	SITES,
};

const char *const names[SITES] = {
	"site_new",
	"site_new_array",
	"site_new_nothrow",
	"site_new_array_nothrow",
	"site_new_aligned",
	"site_new_array_aligned",
	"site_new_aligned_nothrow",
	"site_new_array_aligned_nothrow",
};

constexpr std::align_val_t align{64};
volatile size_t huge = SIZE_MAX / 2;

} // namespace

/* C linkage, so that a report shows these exact names. */
#define DEFINE_SITE(name, call)                     \
	extern "C" TRUTH_SITE void *name(size_t n); \
	extern "C" TRUTH_SITE void *name(size_t n)  \
	{                                           \
		void *p = call;                     \
                                                    \
		TRUTH_KEEP_FRAME();                 \
		return p;                           \
	}

DEFINE_SITE(site_new, ::operator new(n))
DEFINE_SITE(site_new_array, ::operator new[](n))
DEFINE_SITE(site_new_nothrow, ::operator new(n, std::nothrow))
DEFINE_SITE(site_new_array_nothrow, ::operator new[](n, std::nothrow))
DEFINE_SITE(site_new_aligned, ::operator new(n, align))
DEFINE_SITE(site_new_array_aligned, ::operator new[](n, align))
DEFINE_SITE(site_new_aligned_nothrow, ::operator new(n, align, std::nothrow))
DEFINE_SITE(site_new_array_aligned_nothrow, ::operator new[](n, align, std::nothrow))
/* Not sites: the exception's own memory is allocated below them. */
DEFINE_SITE(huge_new, ::operator new(n))
DEFINE_SITE(huge_new_nothrow, ::operator new(n, std::nothrow))

namespace
{

/* A new and the deletes that belong to it; the deletes are called in rotation. */
struct form {
	void *(*make)(size_t);
	void (*drop[3])(void *, size_t);
};

const form forms[SITES] = {
	{site_new, {[](void *p, size_t) { ::operator delete(p); },
			   [](void *p, size_t n) { ::operator delete(p, n); },
			   [](void *p, size_t) { ::operator delete(p, std::nothrow); }}},
	{site_new_array, {[](void *p, size_t) { ::operator delete[](p); },
				 [](void *p, size_t n) { ::operator delete[](p, n); },
				 [](void *p, size_t) { ::operator delete[](p, std::nothrow); }}},
	{site_new_nothrow, {[](void *p, size_t) { ::operator delete(p, std::nothrow); },
				   [](void *p, size_t) { ::operator delete(p); },
				   [](void *p, size_t n) { ::operator delete(p, n); }}},
	{site_new_array_nothrow, {[](void *p, size_t) { ::operator delete[](p, std::nothrow); },
					 [](void *p, size_t) { ::operator delete[](p); },
					 [](void *p, size_t n) { ::operator delete[](p, n); }}},
	{site_new_aligned,
		{[](void *p, size_t) { ::operator delete(p, align); },
			[](void *p, size_t n) { ::operator delete(p, n, align); },
			[](void *p, size_t) { ::operator delete(p, align, std::nothrow); }}},
	{site_new_array_aligned,
		{[](void *p, size_t) { ::operator delete[](p, align); },
			[](void *p, size_t n) { ::operator delete[](p, n, align); },
			[](void *p, size_t) { ::operator delete[](p, align, std::nothrow); }}},
	{site_new_aligned_nothrow,
		{[](void *p, size_t) { ::operator delete(p, align, std::nothrow); },
			[](void *p, size_t) { ::operator delete(p, align); },
			[](void *p, size_t n) { ::operator delete(p, n, align); }}},
	{site_new_array_aligned_nothrow,
		{[](void *p, size_t) { ::operator delete[](p, align, std::nothrow); },
			[](void *p, size_t) { ::operator delete[](p, align); },
			[](void *p, size_t n) { ::operator delete[](p, n, align); }}},
};

void use_form(unsigned site, unsigned round)
{
	size_t size = 64 * (1 + (round + site) % 5);
	void *p = forms[site].make(size);

	if (!p)
		abort();
	truth_alloc(site, size);
	if (round % 2)
		return;
	forms[site].drop[round / 2 % 3](p, size);
	truth_free(site, size);
}

/* A new that fails makes no event: the count below the recorder would see fewer. */
void fail_once()
{
	bool thrown = false;

	try {
		huge_new(huge);
	} catch (const std::bad_alloc &) {
		thrown = true;
	}
	if (!thrown || huge_new_nothrow(huge))
		abort();
	::operator delete(nullptr);
	::operator delete[](nullptr, align);
}

} // namespace

int main(int argc, char **argv)
{
	unsigned repeats = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 300;

	truth_open("cxx_ops", names, SITES);
	for (unsigned round = 0; round < repeats; round++) {
		for (unsigned site = 0; site < SITES; site++)
			use_form(site, round);
		if (argc < 3)
			fail_once();
	}
	truth_write();
	return 0;
}
