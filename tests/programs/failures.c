/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failures.c - calls that fail make no event, and unusual calls make exactly one.
 *
 *	failures REPEATS
 *
 * Each site makes one such call REPEATS times; its counts are the expected values for the trace.
 */
#include "truth.h"
#include <errno.h>
#include <malloc.h>

enum {
	KEPT, /* blocks that a failed realloc must not change */
	GONE, /* blocks that realloc(p, 0) frees */
	MALLOC_ZERO,
	CALLOC_ZERO,
	REALLOC_ZERO, /* realloc(NULL, 0) is a malloc(0) */
	MALLOC_HUGE,  /* from here on: no event at all */
	CALLOC_OVERFLOW,
	REALLOC_HUGE,
	REALLOCARRAY_OVERFLOW,
	MEMALIGN_INVALID,
	MEMALIGN_HUGE,
	ALIGNED_HUGE,
	FREE_NULL,
	REALLOC_TO_ZERO,
	SITES,
};

static const char *const names[SITES] = {
	"site_kept",
	"site_gone",
	"site_malloc_zero",
	"site_calloc_zero",
	"site_realloc_zero",
	"site_malloc_huge",
	"site_calloc_overflow",
	"site_realloc_huge",
	"site_reallocarray_overflow",
	"site_memalign_invalid",
	"site_memalign_huge",
	"site_aligned_huge",
	"site_free_null",
	"site_realloc_to_zero",
};

/* Volatile, so that a compiler cannot evaluate them. */
static volatile size_t huge = SIZE_MAX / 2, zero = 0, three = 3;

#define KEPT_SIZE 100
#define GONE_SIZE 60

#define DEFINE_SITE(name, call)            \
	static TRUTH_SITE void *name(void) \
	{                                  \
		void *p = call;            \
                                           \
		TRUTH_KEEP_FRAME();        \
		return p;                  \
	}

DEFINE_SITE(site_kept, malloc(KEPT_SIZE))
DEFINE_SITE(site_gone, malloc(GONE_SIZE))
DEFINE_SITE(site_malloc_zero, malloc(zero))
DEFINE_SITE(site_calloc_zero, calloc(zero, 8))
DEFINE_SITE(site_realloc_zero, realloc(NULL, zero))
DEFINE_SITE(site_malloc_huge, malloc(huge))
DEFINE_SITE(site_calloc_overflow, calloc(huge, three))
DEFINE_SITE(site_reallocarray_overflow, reallocarray(NULL, huge, three))
DEFINE_SITE(site_aligned_huge, aligned_alloc(64, huge))

static TRUTH_SITE void *site_realloc_huge(void *p)
{
	p = realloc(p, huge);
	TRUTH_KEEP_FRAME();
	return p;
}

static TRUTH_SITE void *site_realloc_to_zero(void *p)
{
	p = realloc(p, zero);
	TRUTH_KEEP_FRAME();
	return p;
}

static TRUTH_SITE int site_memalign_invalid(void)
{
	void *p = NULL;
	int err = posix_memalign(&p, three, 64);

	TRUTH_KEEP_FRAME();
	return p ? -1 : err;
}

static TRUTH_SITE int site_memalign_huge(void)
{
	void *p = NULL;
	int err = posix_memalign(&p, 64, huge);

	TRUTH_KEEP_FRAME();
	return p ? -1 : err;
}

static TRUTH_SITE void site_free_null(void)
{
	free(NULL);
	TRUTH_KEEP_FRAME();
}

/* The program must see the same results as without a recorder, including errno. */
#define EXPECT(x)                                                            \
	do {                                                                 \
		if (!(x)) {                                                  \
			(void)!write(2, "not so: " #x "\n", 9 + sizeof(#x)); \
			_exit(1);                                            \
		}                                                            \
	} while (0)

static void fail_once(void *kept)
{
	errno = 0;
	EXPECT(!site_malloc_huge() && errno == ENOMEM);
	errno = 0;
	EXPECT(!site_calloc_overflow() && errno == ENOMEM);
	errno = 0;
	EXPECT(!site_realloc_huge(kept) && errno == ENOMEM);
	errno = 0;
	EXPECT(!site_reallocarray_overflow() && errno == ENOMEM);
	errno = 0;
	EXPECT(!site_aligned_huge() && errno == ENOMEM);
	EXPECT(site_memalign_invalid() == EINVAL);
	EXPECT(site_memalign_huge() == ENOMEM);
	errno = EILSEQ;
	site_free_null();
	EXPECT(errno == EILSEQ);
}

static void odd_once(void)
{
	void *kept = site_kept();

	truth_alloc(KEPT, KEPT_SIZE);
	memset(kept, 0x5a, KEPT_SIZE);
	fail_once(kept);
	for (int i = 0; i < KEPT_SIZE; i++)
		EXPECT(((unsigned char *)kept)[i] == 0x5a);

	EXPECT(!site_realloc_to_zero(site_gone()));
	truth_alloc(GONE, GONE_SIZE);
	truth_free(GONE, GONE_SIZE);

	EXPECT(site_malloc_zero());
	truth_alloc(MALLOC_ZERO, 0);
	EXPECT(site_calloc_zero());
	truth_alloc(CALLOC_ZERO, 0);
	EXPECT(site_realloc_zero());
	truth_alloc(REALLOC_ZERO, 0);
}

int main(int argc, char **argv)
{
	unsigned repeats = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 100;

	truth_open("failures", names, SITES);
	truth.peak_kind = "exact";
	for (unsigned i = 0; i < repeats; i++)
		odd_once();
	truth_write();
	return 0;
}
