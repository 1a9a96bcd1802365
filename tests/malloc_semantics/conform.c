/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conform.c - checks the requirements of C, POSIX and the libc manuals on malloc and its family.
 *
 *	conform [CASE...]
 *
 * See conform.h for the output. Values that a compiler could evaluate are volatile.
 */
#include "conform.h"
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <regex.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <wchar.h>

#define MARK      77 /* an errno that no function sets */
#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static volatile size_t zero = 0, too_large[] = {SIZE_MAX, SIZE_MAX - 4096, SIZE_MAX / 2 + 1,
					 (size_t)PTRDIFF_MAX};

static uint32_t seed = 1;

static uint32_t next_random(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 8;
}

/* Mostly small, sometimes above the mmap threshold. */
static size_t random_size(void)
{
	return next_random() % 50 ? next_random() % 2000 : next_random() % 400000;
}

static bool is_aligned(const void *p, size_t align)
{
	return ((uintptr_t)p & (align - 1)) == 0;
}

/* The alignment of the strictest type that fits into a block of this size. */
static size_t natural_alignment(size_t size)
{
	size_t align = _Alignof(max_align_t);

	while (align > size && align > 1)
		align /= 2;
	return align;
}

static bool holds_byte(const unsigned char *p, unsigned char value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != value)
			return false;
	return true;
}

/* --- success --- */

static const char *case_malloc(void)
{
	for (int i = 0; i < 20000; i++) {
		size_t n = random_size();
		void *p = malloc(n);

		CHECK(p || n == 0);
		CHECK(is_aligned(p, natural_alignment(n)));
		memset(p, 0xa5, n);
		free(p);
	}
	return NULL;
}

#define BLOCKS 512

/* Blocks filled to the last usable byte do not overlap. */
static const char *case_usable(void)
{
	static unsigned char *blocks[BLOCKS];
	static size_t usable[BLOCKS];

	CHECK(malloc_usable_size(NULL) == 0);
	for (unsigned round = 0; round < 40 * BLOCKS; round++) {
		unsigned i = next_random() % BLOCKS;
		size_t n = random_size();

		CHECK(holds_byte(blocks[i], (unsigned char)i, usable[i]));
		free(blocks[i]);
		blocks[i] = malloc(n);
		CHECK(blocks[i]);
		usable[i] = malloc_usable_size(blocks[i]);
		CHECK(usable[i] >= n);
		memset(blocks[i], (unsigned char)i, usable[i]);
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		CHECK(holds_byte(blocks[i], (unsigned char)i, usable[i]));
		free(blocks[i]);
	}
	return NULL;
}

/*
 * The usable size beyond the requested one: a recorder that adds a header would change it. The
 * minimum of sixteen blocks is used: a block that reuses the memory of another may get a few
 * unusable bytes more, and the memory freed before depends on threads.
 */
static const char *case_usable_sizes(void)
{
	for (size_t n = 1; n < 300000; n = n * 3 + 1) {
		void *blocks[16];
		size_t least = SIZE_MAX;

		for (size_t i = 0; i < 16; i++) {
			blocks[i] = malloc(n);
			CHECK(blocks[i]);
			if (malloc_usable_size(blocks[i]) < least)
				least = malloc_usable_size(blocks[i]);
		}
		fact("%zu:%zu", n, least);
		for (size_t i = 0; i < 16; i++)
			free(blocks[i]);
	}
	return NULL;
}

static const char *case_calloc(void)
{
	for (int i = 0; i < 5000; i++) {
		size_t n = random_size(), width = 1 + next_random() % 3;
		unsigned char *p = malloc(n * width), *q;

		memset(p, 0xff, n * width);
		free(p); /* probably reused by the next allocation */
		q = calloc(n, width);
		CHECK(q || n == 0);
		CHECK(is_aligned(q, natural_alignment(n * width)));
		CHECK(holds_byte(q, 0, n * width));
		free(q);
	}
	return NULL;
}

static const char *case_realloc(void)
{
	for (int i = 0; i < 2000; i++) {
		size_t n = 1 + random_size(), m = 1 + random_size(), least = n < m ? n : m;
		unsigned char *p = realloc(NULL, n), *q;

		CHECK(p);
		memset(p, 0x5a, n);
		q = realloc(p, m);
		CHECK(q);
		CHECK(is_aligned(q, natural_alignment(m)));
		CHECK(holds_byte(q, 0x5a, least));
		CHECK(malloc_usable_size(q) >= m);
		memset(q, 1, malloc_usable_size(q));
		free(q);
	}
	return NULL;
}

static const char *case_reallocarray(void)
{
	unsigned char *p = reallocarray(NULL, 100, 3);

	CHECK(p);
	memset(p, 9, 300);
	p = reallocarray(p, 1000, 7);
	CHECK(p && holds_byte(p, 9, 300));
	CHECK(malloc_usable_size(p) >= 7000);
	free(p);
	return NULL;
}

typedef void *(*aligned_fn)(size_t, size_t);

static const char *try_aligned(aligned_fn make)
{
	for (size_t align = sizeof(void *); align <= 1u << 20; align *= 2)
		for (size_t n = align; n <= 4 * align && n < 1u << 22; n += align) {
			unsigned char *p = make(align, n);

			CHECK(p);
			if (!is_aligned(p, align)) /* mimalloc's are not aligned, from 1 MiB on */
				fact("%zu are not aligned to %zu", n, align);
			CHECK(malloc_usable_size(p) >= n);
			memset(p, 0x33, malloc_usable_size(p));
			free(p);
		}
	return NULL;
}

static void *by_posix_memalign(size_t align, size_t n)
{
	void *p = NULL;

	return posix_memalign(&p, align, n) ? NULL : p;
}

static const char *case_aligned_alloc(void)
{
	return try_aligned(aligned_alloc);
}

static const char *case_memalign(void)
{
	return try_aligned(memalign);
}

static const char *case_posix_memalign(void)
{
	return try_aligned(by_posix_memalign);
}

/* Alignment and content of an aligned block after realloc. */
static const char *case_realloc_aligned(void)
{
	for (size_t align = 32; align <= 65536; align *= 2) {
		unsigned char *p = aligned_alloc(align, 3 * align);

		CHECK(p);
		memset(p, 7, 3 * align);
		p = realloc(p, 6 * align);
		CHECK(p && holds_byte(p, 7, 3 * align));
		p = realloc(p, align / 2);
		CHECK(p && holds_byte(p, 7, align / 2));
		free(p);
	}
	return NULL;
}

static const char *case_valloc(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t n = 1; n < 100000; n += 7777) {
		unsigned char *p = valloc(n);

		CHECK(p && is_aligned(p, page));
		CHECK(malloc_usable_size(p) >= n);
		memset(p, 1, malloc_usable_size(p));
		free(p);
	}
	return NULL;
}

static const char *case_pvalloc(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t n = 1; n < 100000; n += 7777) {
		unsigned char *p = pvalloc(n);

		CHECK(p && is_aligned(p, page));
		memset(p, 1, (n + page - 1) / page * page);
		free(p);
	}
	return NULL;
}

/* --- zero --- */

static const char *case_zero_sizes(void)
{
	void *p[] = {malloc(zero), calloc(zero, 8), calloc(8, zero), realloc(NULL, zero),
		reallocarray(NULL, zero, 8), aligned_alloc(64, zero), memalign(64, zero),
		by_posix_memalign(64, zero), valloc(zero)};

	for (size_t i = 0; i < LENGTH(p); i++) {
		fact("%s", p[i] ? "a block" : "NULL");
		for (size_t k = 0; k < i; k++)
			CHECK(!p[i] || p[i] != p[k]);
	}
	for (size_t i = 0; i < LENGTH(p); i++)
		free(p[i]);
	return NULL;
}

static const char *case_realloc_to_zero(void)
{
	void *p = malloc(100), *q;

	errno = MARK;
	q = realloc(p, zero);
	fact("%s, errno %d", q ? "a block" : "NULL", errno);
	free(q);
	p = malloc(100);
	errno = MARK;
	q = reallocarray(p, zero, 4);
	fact("%s, errno %d", q ? "a block" : "NULL", errno);
	free(q);
	return NULL;
}

static const char *case_free_null(void)
{
	errno = MARK;
	free(NULL);
	CHECK(errno == MARK);
	return NULL;
}

/* --- failures --- */

static const char *case_malloc_too_large(void)
{
	for (size_t i = 0; i < LENGTH(too_large); i++) {
		errno = 0;
		CHECK(!malloc(too_large[i]));
		fact("errno %d", errno);
	}
	return NULL;
}

static const char *case_calloc_overflow(void)
{
	static const size_t pairs[][2] = {{SIZE_MAX / 2 + 1, 2}, {2, SIZE_MAX / 2 + 1},
		{SIZE_MAX, SIZE_MAX}, {SIZE_MAX, 2}, {(size_t)1 << 32, (size_t)1 << 32},
		{((size_t)1 << 32) + 1, (size_t)1 << 32}, {SIZE_MAX, 1}, {1, SIZE_MAX}};

	for (size_t i = 0; i < LENGTH(pairs); i++) {
		errno = 0;
		CHECK(!calloc(pairs[i][0], pairs[i][1]));
		fact("errno %d", errno);
	}
	return NULL;
}

/* The block is unchanged and still owned by the program. */
static const char *case_realloc_fails(void)
{
	for (size_t n = 8; n < 1000000; n *= 5) {
		unsigned char *p = malloc(n);

		memset(p, 0x77, n);
		for (size_t i = 0; i < LENGTH(too_large); i++) {
			errno = 0;
			CHECK(!realloc(p, too_large[i]));
			fact("%d", errno);
			CHECK(holds_byte(p, 0x77, n));
		}
		free(p);
	}
	errno = 0;
	CHECK(!realloc(NULL, too_large[0]));
	fact("%d", errno);
	return NULL;
}

static const char *case_reallocarray_overflow(void)
{
	volatile size_t many = SIZE_MAX / 3;
	unsigned char *p = malloc(64);

	memset(p, 0x66, 64);
	errno = 0;
	CHECK(!reallocarray(p, many, 4));
	fact("errno %d", errno);
	errno = 0;
	CHECK(!reallocarray(NULL, many, 4));
	fact("errno %d", errno);
	errno = 0;
	CHECK(!reallocarray(p, many, 2)); /* no overflow, only too large */
	fact("errno %d", errno);
	CHECK(holds_byte(p, 0x66, 64));
	free(p);
	return NULL;
}

static const char *case_posix_memalign_einval(void)
{
	static const size_t bad[] = {0, 1, 2, 3, 4, 7, 9, 12, 24, 4095, SIZE_MAX};
	void *const before = &seed;

	for (size_t i = 0; i < LENGTH(bad); i++) {
		void *p = before;
		int err;

		errno = MARK;
		err = posix_memalign(&p, bad[i], 100);
		if (err == 0) { /* jemalloc and others allow small ones */
			fact("%zu is allowed", bad[i]);
			free(p);
			continue;
		}
		CHECK(err == EINVAL);
		CHECK(p == before);
		fact("errno %d", errno);
	}
	return NULL;
}

static const char *case_posix_memalign_enomem(void)
{
	for (size_t i = 0; i < LENGTH(too_large); i++) {
		void *p = &seed;

		errno = MARK;
		CHECK(posix_memalign(&p, 64, too_large[i]) == ENOMEM);
		CHECK(p == &seed);
		fact("errno %d", errno);
	}
	return NULL;
}

static const char *case_aligned_too_large(void)
{
	for (size_t i = 0; i < LENGTH(too_large); i++) {
		errno = 0;
		CHECK(!aligned_alloc(64, too_large[i]));
		fact("errno %d", errno);
		errno = 0;
		CHECK(!memalign(4096, too_large[i]));
		fact("errno %d", errno);
		errno = 0;
		CHECK(!valloc(too_large[i]));
		fact("errno %d", errno);
	}
	return NULL;
}

static const char *case_pvalloc_too_large(void)
{
	for (size_t i = 0; i < LENGTH(too_large); i++) {
		errno = 0;
		CHECK(!pvalloc(too_large[i]));
		fact("errno %d", errno);
	}
	return NULL;
}

/* Undefined or unspecified: the behaviour must not change under the recorder. */
static const char *case_odd_alignments(void)
{
	volatile size_t odd[] = {0, 1, 3, 24, 100};

	for (size_t i = 0; i < LENGTH(odd); i++) {
		void *p, *q;

		errno = MARK;
		p = memalign(odd[i], 100);
		fact("%zu: %s errno %d", odd[i], p ? "a block" : "NULL", errno);
		errno = MARK;
		q = aligned_alloc(odd[i], 100);
		fact("%s errno %d", q ? "a block" : "NULL", errno);
		free(p);
		free(q);
	}
	return NULL;
}

/* --- errno --- */

static const char *case_errno_of_success(void)
{
	static const size_t sizes[] = {1, 100, 5000, 100000, 1u << 20, 1u << 25};

	for (size_t i = 0; i < LENGTH(sizes); i++) {
		void *p;

		errno = MARK;
		p = malloc(sizes[i]);
		p = realloc(p, sizes[i] * 2);
		free(p);
		p = calloc(1, sizes[i]);
		free(p);
		p = memalign(4096, sizes[i]);
		fact("%d", errno);
		free(p);
	}
	return NULL;
}

static const char *case_free_keeps_errno(void)
{
	for (int i = 0; i < 5000; i++) {
		void *p = malloc(i % 100 ? random_size() : 3u << 20);

		errno = MARK + i;
		free(p);
		CHECK(errno == MARK + i);
	}
	return NULL;
}

/* --- threads and processes --- */

#define STORM_THREADS 6

static _Atomic int storm_stop, storm_wrong;

/* Writes its size into every block, to detect memory that two threads were given at once. */
static void *churn_blocks(void *arg)
{
	size_t *blocks[64] = {NULL};
	uint32_t state = (uint32_t)(uintptr_t)arg * 7919 + 1, round = 0;

	while (!storm_stop && (round++ < 30000 || !arg)) {
		state = state * 1664525 + 1013904223;
		unsigned i = state >> 26;
		size_t n = 16 + (state >> 8) % 3000;

		if (blocks[i]) {
			size_t *b = blocks[i];

			if (b[0] != (n = b[0]) || b[n / sizeof(size_t) - 1] != n + (size_t)arg)
				storm_wrong = 1;
			free(b);
			blocks[i] = NULL;
			continue;
		}
		n = (n / 8 + 2) * 8;
		blocks[i] = malloc(n);
		if (!blocks[i]) {
			storm_wrong = 2;
			continue;
		}
		blocks[i][0] = n;
		blocks[i][n / sizeof(size_t) - 1] = n + (size_t)arg;
	}
	for (unsigned i = 0; i < LENGTH(blocks); i++)
		free(blocks[i]);
	return NULL;
}

static const char *case_threads(void)
{
	pthread_t threads[STORM_THREADS];

	storm_stop = storm_wrong = 0;
	for (size_t i = 0; i < LENGTH(threads); i++)
		CHECK(!pthread_create(&threads[i], NULL, churn_blocks, (void *)(i + 1)));
	for (size_t i = 0; i < LENGTH(threads); i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(storm_wrong == 0);
	return NULL;
}

#define HANDED 20000

static void *_Atomic handed[64];
static _Atomic int handing;

static void *take_and_free(void *arg)
{
	for (;;) {
		bool last = !handing;

		for (unsigned i = 0; i < LENGTH(handed); i++) {
			size_t *p =
				__atomic_exchange_n((void **)&handed[i], NULL, __ATOMIC_ACQ_REL);

			if (p && p[0] != malloc_usable_size(p))
				storm_wrong = 3;
			free(p);
		}
		if (last)
			return NULL;
	}
}

/* One thread allocates, others free. */
static const char *case_free_elsewhere(void)
{
	pthread_t threads[2];

	handing = 1;
	storm_wrong = 0;
	for (size_t i = 0; i < LENGTH(threads); i++)
		CHECK(!pthread_create(&threads[i], NULL, take_and_free, NULL));
	for (int i = 0; i < HANDED; i++) {
		size_t *p = malloc(16 + random_size());

		CHECK(p);
		p[0] = malloc_usable_size(p);
		free(__atomic_exchange_n(
			(void **)&handed[i % LENGTH(handed)], p, __ATOMIC_ACQ_REL));
	}
	handing = 0;
	for (size_t i = 0; i < LENGTH(threads); i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(storm_wrong == 0);
	return NULL;
}

static void *leave_blocks(void *arg)
{
	void **blocks = arg;

	for (int i = 0; i < 100; i++)
		blocks[i] = memset(malloc(200 + (size_t)i), i, 200 + (size_t)i);
	return NULL;
}

/* Blocks outlive the thread that allocated them. */
static const char *case_blocks_outlive_threads(void)
{
	static void *blocks[100];

	for (int round = 0; round < 50; round++) {
		pthread_t thread;

		CHECK(!pthread_create(&thread, NULL, leave_blocks, blocks));
		CHECK(!pthread_join(thread, NULL));
		for (unsigned i = 0; i < LENGTH(blocks); i++) {
			CHECK(holds_byte(blocks[i], (unsigned char)i, 200 + i));
			blocks[i] = realloc(blocks[i], 1000);
			CHECK(holds_byte(blocks[i], (unsigned char)i, 200 + i));
			free(blocks[i]);
		}
	}
	return NULL;
}

/* POSIX allows little in a fork child of a multithreaded program; glibc allows malloc. */
static void work_as_child(void)
{
	void *blocks[50];

	alarm(20);
	for (int round = 0; round < 20; round++) {
		for (unsigned i = 0; i < LENGTH(blocks); i++) {
			blocks[i] = malloc(1 + (i * 97 + (unsigned)round * 31) % 5000);
			if (!blocks[i])
				_exit(1);
			memset(blocks[i], 1, malloc_usable_size(blocks[i]));
		}
		for (unsigned i = 0; i < LENGTH(blocks); i++)
			free(blocks[i]);
	}
	_exit(0);
}

static const char *case_fork_in_a_storm(void)
{
	pthread_t threads[4];
	int bad = 0;

	storm_stop = storm_wrong = 0;
	for (size_t i = 0; i < LENGTH(threads); i++)
		CHECK(!pthread_create(&threads[i], NULL, churn_blocks, NULL));
	for (int i = 0; i < 60; i++) {
		int status = -1;
		pid_t pid = fork();

		if (pid == 0)
			work_as_child();
		bad += waitpid(pid, &status, 0) != pid || status != 0;
	}
	storm_stop = 1;
	for (size_t i = 0; i < LENGTH(threads); i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(bad == 0);
	CHECK(storm_wrong == 0);
	return NULL;
}

static void *work_until_cancelled(void *arg)
{
	for (;;) {
		free(malloc(random_size()));
		pthread_testcancel();
	}
	return arg;
}

static void *work_a_little(void *arg)
{
	free(malloc(100));
	atomic_fetch_add((_Atomic int *)arg, 1);
	return NULL;
}

/*
 * Threads that cannot be created, detached threads, and threads that are cancelled while they
 * allocate.
 */
static const char *case_threads_that_fail(void)
{
	static _Atomic int done;
	pthread_attr_t attr;
	pthread_t thread;
	void *result;

	CHECK(!pthread_attr_init(&attr));
	CHECK(!pthread_attr_setstacksize(&attr, (size_t)1 << 46));
	fact("%s", strerror(pthread_create(&thread, &attr, work_a_little, &done)));
	CHECK(!pthread_attr_setstacksize(&attr, 1 << 16));
	CHECK(!pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
	for (int i = 0; i < 20; i++)
		CHECK(!pthread_create(&thread, &attr, work_a_little, &done));
	while (done < 20)
		usleep(1000);
	for (int i = 0; i < 20; i++) {
		CHECK(!pthread_create(&thread, NULL, work_until_cancelled, NULL));
		usleep(500);
		CHECK(!pthread_cancel(thread));
		CHECK(!pthread_join(thread, &result));
		CHECK(result == PTHREAD_CANCELED);
	}
	pthread_attr_destroy(&attr);
	return NULL;
}

static void *end_the_process(void *main_thread)
{
	pthread_join(*(pthread_t *)main_thread, NULL);
	for (int i = 0; i < 1000; i++)
		free(malloc(random_size()));
	_exit(0);
}

/* The main thread exits, the process continues. */
static const char *case_main_leaves(void)
{
	static pthread_t us;
	pthread_t thread;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		us = pthread_self();
		if (pthread_create(&thread, NULL, end_the_process, &us))
			_exit(1);
		pthread_exit(NULL);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	return NULL;
}

static void *_Atomic at_fork;

static void allocate_at_fork(void)
{
	free(atomic_exchange(&at_fork, malloc(300)));
}

static volatile sig_atomic_t handler_status = -1;

static void fork_in_handler(int sig)
{
	int status;
	pid_t pid = fork();

	(void)sig;
	if (pid == 0)
		work_as_child();
	handler_status = waitpid(pid, &status, 0) == pid ? status : -2;
}

/* atfork handlers that allocate, and a fork in a signal handler. */
static const char *case_fork_handlers(void)
{
	int status;
	pid_t pid;

	CHECK(!pthread_atfork(allocate_at_fork, allocate_at_fork, allocate_at_fork));
	for (int i = 0; i < 20; i++) {
		pid = fork();
		if (pid == 0)
			work_as_child();
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
	signal(SIGUSR1, fork_in_handler);
	raise(SIGUSR1);
	CHECK(handler_status == 0);
	return NULL;
}

/* A child frees and resizes blocks of its parent. */
static const char *case_fork_child_frees(void)
{
	void *blocks[200];
	int status;
	pid_t pid;

	for (unsigned i = 0; i < LENGTH(blocks); i++)
		blocks[i] = memset(malloc(i + 1), (int)i, i + 1);
	pid = fork();
	if (pid == 0) {
		for (unsigned i = 0; i < LENGTH(blocks); i++) {
			blocks[i] = realloc(blocks[i], 2 * (i + 1));
			if (!holds_byte(blocks[i], (unsigned char)i, i + 1))
				_exit(1);
			free(blocks[i]);
		}
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(status == 0);
	for (unsigned i = 0; i < LENGTH(blocks); i++) {
		CHECK(holds_byte(blocks[i], (unsigned char)i, i + 1));
		free(blocks[i]);
	}
	return NULL;
}

/* --- a full address space (in a child) --- */

static const char *case_no_room(void)
{
	struct rlimit limit = {1u << 30, 1u << 30};
	unsigned char *kept, *p;
	void *chain = NULL;

	kept = malloc(100000);
	memset(kept, 0x42, 100000);
	CHECK(!setrlimit(RLIMIT_AS, &limit));
	for (size_t n = 64u << 20; n > 4096; n /= 2)
		while ((p = malloc(n))) {
			*(void **)(void *)p = chain;
			chain = p;
		}
	errno = 0;
	CHECK(!malloc(64u << 20) && errno == ENOMEM);
	errno = 0;
	CHECK(!calloc(64, 1u << 20) && errno == ENOMEM);
	errno = 0;
	CHECK(!realloc(kept, 64u << 20) && errno == ENOMEM);
	CHECK(holds_byte(kept, 0x42, 100000));
	while (chain) {
		void *next = *(void **)chain;

		errno = MARK;
		free(chain);
		CHECK(errno == MARK);
		chain = next;
	}
	kept = realloc(kept, 8u << 20);
	CHECK(kept && holds_byte(kept, 0x42, 100000));
	free(kept);
	return NULL;
}

/* --- blocks that libc makes --- */

static const char *case_strdup(void)
{
	char *p = strdup("hello"), *q = strndup("hello, world", 5);
	wchar_t *w = wcsdup(L"wide");

	CHECK(!strcmp(p, "hello") && !strcmp(q, "hello") && !wcscmp(w, L"wide"));
	p = realloc(p, 1000);
	CHECK(!strcmp(p, "hello"));
	free(p);
	free(q);
	free(w);
	return NULL;
}

static const char *case_getline(void)
{
	FILE *file = tmpfile();
	char *line = malloc(1); /* first the program's block, then libc's */
	size_t size = 1;

	CHECK(file);
	for (int i = 0; i < 2000; i++)
		fprintf(file, "%*d\n", i + 1, i);
	rewind(file);
	for (int i = 0; i < 2000; i++) {
		CHECK(getline(&line, &size, file) == i + 2);
		CHECK(size >= (size_t)i + 3 && malloc_usable_size(line) >= size);
		CHECK(atoi(line) == i);
	}
	free(line);
	line = NULL;
	size = 0;
	rewind(file);
	CHECK(getdelim(&line, &size, '9', file) > 0);
	free(line);
	fclose(file);
	return NULL;
}

static const char *case_printing(void)
{
	char *p = NULL;
	size_t n = 0;
	FILE *file;

	CHECK(asprintf(&p, "%0500d", 7) == 500 && p[499] == '7');
	free(p);
	file = open_memstream(&p, &n);
	CHECK(file);
	for (int i = 0; i < 5000; i++)
		fputs("0123456789", file);
	CHECK(!fclose(file) && n == 50000 && strlen(p) == n);
	p = realloc(p, 100);
	free(p);
	return NULL;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static const char *case_paths(void)
{
	struct dirent **names;
	char *p = realpath("/usr/../usr/bin/env", NULL), *cwd = getcwd(NULL, 0);
	int n = scandir("/proc/self/ns", &names, NULL, by_name);

	CHECK(p && cwd && n > 0);
	fact("%s", p);
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
	free(p);
	free(cwd);
	return NULL;
}

static const char *case_regex(void)
{
	regmatch_t match[3];
	regex_t regex;

	for (int i = 0; i < 5; i++) {
		CHECK(!regcomp(&regex, "(a+|b+)*c(.*)d", REG_EXTENDED));
		CHECK(!regexec(&regex, "xxaabbabaczzzd", 3, match, 0));
		fact("%d", (int)match[2].rm_so);
		regfree(&regex);
	}
	return NULL;
}

static const char *case_popen(void)
{
	char text[100] = "";
	FILE *file = popen("echo in a child", "r");

	CHECK(file && fgets(text, sizeof(text), file));
	CHECK(pclose(file) == 0);
	fact("%.*s", (int)strcspn(text, "\n"), text);
	return NULL;
}

static const char *case_environment(void)
{
	for (int i = 0; i < 200; i++) {
		char name[32], value[64];

		snprintf(name, sizeof(name), "CONFORM_%d", i);
		snprintf(value, sizeof(value), "%050d", i);
		CHECK(!setenv(name, value, 1));
		CHECK(!strcmp(getenv(name), value));
	}
	for (int i = 0; i < 200; i++) {
		char name[32];

		snprintf(name, sizeof(name), "CONFORM_%d", i);
		CHECK(!unsetenv(name));
	}
	return NULL;
}

/* --- the rest of malloc.h --- */

/*
 * The very first case. libc's own statistics are as without a recorder: a recorder takes nothing
 * from this heap.
 */
static const char *case_untouched(void)
{
	struct mallinfo2 info = mallinfo2();

	fact("arena %zu, in use %zu, free %zu in %zu blocks, %zu mapped", info.arena, info.uordblks,
		info.fordblks, info.ordblks, info.hblks);
	return NULL;
}

static const char *case_mallinfo(void)
{
	struct mallinfo2 before = mallinfo2(), after;
	void *p = malloc(50000);

	after = mallinfo2();
	/* The rest of a free chunk that is too small for one of its own, 16 bytes, stays in the
	 * block. Whether there is such a rest depends on the frees of earlier threads. */
	fact("%zu more for 50000", (after.uordblks - before.uordblks) & ~(size_t)31);
	free(p);
	fact("mallopt %d", mallopt(M_MMAP_THRESHOLD, 100000));
	malloc_trim(0);
	return NULL;
}

static const char *case_malloc_info(void)
{
	char *text = NULL;
	size_t n = 0;
	FILE *file = open_memstream(&text, &n);

	CHECK(file);
	CHECK(!malloc_info(0, file));
	CHECK(!fclose(file));
	CHECK(!strncmp(text, "<malloc", 7) && strstr(text, "</malloc>"));
	free(text);
	return NULL;
}

/* glibc prints the error and aborts: the same message from the same place. */
static const char *case_double_free(void)
{
	char text[200] = "";
	int fds[2], status;
	pid_t pid;

	CHECK(!pipe(fds));
	pid = fork();
	if (pid == 0) {
		void *volatile p = malloc(100);

		dup2(fds[1], 2);
		alarm(20);
		free(p);
		free(p);
		_exit(3);
	}
	close(fds[1]);
	CHECK(read(fds[0], text, sizeof(text) - 1) >= 0);
	close(fds[0]);
	CHECK(waitpid(pid, &status, 0) == pid);
	fact("status %d, %.*s", status & 0xff7f, (int)strcspn(text, "\n"), text);
	return NULL;
}

/*
 * MALLOC_PERTURB_ or its tunable fills blocks, and nothing between the program and glibc does.
 * Before that the blocks do not consist of one repeated byte, whatever ran before.
 */
static const char *case_perturb(void)
{
	enum { N = 16, SIZE = 600 };
	unsigned char *p[N];
	int n_filled = 0;

	for (int i = 0; i < N; i++) {
		p[i] = malloc(SIZE);
		for (int k = 0; k < SIZE; k++)
			p[i][k] = (unsigned char)k;
	}
	for (int i = 0; i < N; i++)
		free(p[i]);
	for (int i = 0; i < N; i++) {
		p[i] = malloc(SIZE);
		n_filled += holds_byte(p[i], p[i][0], SIZE) && p[i][0];
	}
	for (int i = 0; i < N; i++)
		free(p[i]);
	fact("%s", n_filled == N ? "filled" : "as it comes");
	return NULL;
}

static const struct conform_case cases[] = {
	CONFORM_CASE("an untouched heap", case_untouched),
	CONFORM_CASE("malloc: aligned and writable", case_malloc),
	CONFORM_CASE("every usable byte can be written", case_usable),
	CONFORM_CASE("usable sizes", case_usable_sizes),
	CONFORM_CASE("calloc: zeroed and aligned", case_calloc),
	CONFORM_CASE("realloc keeps what fits", case_realloc),
	CONFORM_CASE("reallocarray keeps what fits", case_reallocarray),
	CONFORM_CASE("aligned_alloc", case_aligned_alloc),
	CONFORM_CASE("memalign", case_memalign),
	CONFORM_CASE("posix_memalign", case_posix_memalign),
	CONFORM_CASE("realloc of aligned blocks", case_realloc_aligned),
	CONFORM_CASE("valloc", case_valloc),
	CONFORM_APART("pvalloc", case_pvalloc),
	CONFORM_CASE("zero sizes", case_zero_sizes),
	CONFORM_CASE("realloc to zero", case_realloc_to_zero),
	CONFORM_CASE("free(NULL)", case_free_null),
	CONFORM_CASE("malloc too large", case_malloc_too_large),
	CONFORM_CASE("calloc overflows", case_calloc_overflow),
	CONFORM_CASE("a failed realloc leaves the block", case_realloc_fails),
	CONFORM_CASE("reallocarray overflows", case_reallocarray_overflow),
	CONFORM_CASE("posix_memalign: EINVAL", case_posix_memalign_einval),
	CONFORM_CASE("posix_memalign: ENOMEM", case_posix_memalign_enomem),
	CONFORM_CASE("aligned ones too large", case_aligned_too_large),
	CONFORM_APART("pvalloc too large", case_pvalloc_too_large),
	CONFORM_APART("odd alignments", case_odd_alignments),
	CONFORM_CASE("errno after success", case_errno_of_success),
	CONFORM_CASE("free keeps errno", case_free_keeps_errno),
	CONFORM_CASE("threads get different blocks", case_threads),
	CONFORM_CASE("free in another thread", case_free_elsewhere),
	CONFORM_CASE("blocks outlive their threads", case_blocks_outlive_threads),
	CONFORM_CASE("threads that fail, detached and cancelled", case_threads_that_fail),
	CONFORM_CASE("main leaves by pthread_exit", case_main_leaves),
	CONFORM_APART("fork in a storm", case_fork_in_a_storm),
	CONFORM_APART("fork in handlers, handlers of fork", case_fork_handlers),
	CONFORM_CASE("a fork child frees its parent's blocks", case_fork_child_frees),
	CONFORM_APART("no room", case_no_room),
	CONFORM_CASE("strdup, strndup, wcsdup", case_strdup),
	CONFORM_CASE("getline and getdelim", case_getline),
	CONFORM_CASE("asprintf and open_memstream", case_printing),
	CONFORM_CASE("realpath, getcwd, scandir", case_paths),
	CONFORM_CASE("regcomp", case_regex),
	CONFORM_CASE("popen", case_popen),
	CONFORM_CASE("setenv", case_environment),
	CONFORM_CASE("mallinfo2, mallopt, malloc_trim", case_mallinfo),
	CONFORM_APART("malloc_info", case_malloc_info),
	CONFORM_APART("double free", case_double_free),
	CONFORM_CASE("perturbed blocks", case_perturb),
};

int main(int argc, char **argv)
{
	return conform_main(cases, LENGTH(cases), argc, argv);
}
