/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c - a preload that takes every allocation's stack in three ways and compares them:
 * incrementally, from scratch, and by libunwind. At exit it appends one line of counts, after the
 * first few differences, to the file named by UNWIND_CHECK. Programs that know their own call chain
 * export `unwind_truth`, which is compared as well. For tests only: it may print, lock and be slow.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/attr.h"
#include "record/unwind/unwind.h"
#include "truth.h"

#define DEPTH 8192
#define SHOWN 5

struct per_thread {
	struct hl_unwinder *u;
	uintptr_t inside; /* address in the outermost hook's frame; deeper calls are our own or a
			     handler's */
	uintptr_t full[DEPTH], other[DEPTH];
	uintptr_t nested[DEPTH];
	struct hl_unwind_counts last;
	volatile uint64_t entered;   /* nested calls: each may be interrupted by the next */
	volatile uint64_t overtaken; /* unwinds of handlers: they invalidate an earlier result */
};

struct list {
	uintptr_t *pcs;
	size_t n;
};

static _Thread_local struct per_thread *self __attribute__((tls_model("initial-exec")));
static _Atomic uint64_t traces, bad_inc, bad_other, bad_truth, judged, busy, frames, walked, misses,
	nested_traces, max_walked;
static _Atomic int shown;
static int (*unw)(void **, int);
static struct unwind_truth *truth;
static void *(*real_malloc)(size_t), *(*real_calloc)(size_t, size_t),
	*(*real_realloc)(void *, size_t);
static void (*real_free)(void *);
static const char *path;
static int every = 1; /* libunwind is used for one trace in `every` */
static _Atomic int ready;

static struct per_thread *get_thread(void)
{
	if (!self) {
		size_t size = sizeof(*self) + HL_UNWINDER_BYTES + 64;
		char *p = mmap(
			NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		uintptr_t after = ((uintptr_t)p + sizeof(*self) + 63) & ~(uintptr_t)63;

		if (p == MAP_FAILED)
			abort();
		((struct per_thread *)p)->u = hl_unwinder_init((void *)after, HL_UNWINDER_BYTES);
		self = (struct per_thread *)p;
	}
	return self;
}

static bool add_pc(void *arg, uintptr_t pc)
{
	struct list *l = arg;

	if (l->n == DEPTH)
		return false;
	l->pcs[l->n++] = pc;
	return true;
}

static void write_out(const char *text, size_t n)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0) {
		if (write(fd, text, n) < 0)
			abort();
		close(fd);
	}
}

static void show(const char *what, const uintptr_t *a, size_t na, const uintptr_t *b, size_t nb)
{
	static char text[65536];
	size_t n = 0, max = na > nb ? na : nb;

	if (!path || atomic_fetch_add(&shown, 1) >= SHOWN)
		return;
	n += (size_t)snprintf(text, sizeof(text), "difference %s depth %zu %zu\n", what, na, nb);
	for (size_t i = 0; i < max && n < sizeof(text) - 1024; i++) {
		Dl_info da = {0}, db = {0};
		uintptr_t pa = i < na ? a[i] : 0, pb = i < nb ? b[i] : 0;

		if (pa)
			dladdr((void *)(pa - 1), &da);
		if (pb)
			dladdr((void *)(pb - 1), &db);
		n += (size_t)snprintf(text + n, sizeof(text) - n,
			"%c %#lx %.40s+%#lx %.40s | %#lx %.40s %.40s\n", pa == pb ? ' ' : '*', pa,
			da.dli_fname ? da.dli_fname : "-",
			da.dli_fname ? pa - (uintptr_t)da.dli_fbase : 0,
			da.dli_sname ? da.dli_sname : "-", pb, db.dli_fname ? db.dli_fname : "-",
			db.dli_sname ? db.dli_sname : "-");
	}
	write_out(text, n);
}

/* hl_stack is outermost first, the full walk innermost first. */
static bool equals_walk(const struct hl_stack *s, const struct list *full)
{
	if (s->depth != full->n)
		return full->n == DEPTH && s->depth >= DEPTH;
	for (uint32_t i = 0; i < s->depth; i++) {
		if (s->pcs[s->depth - 1 - i] != full->pcs[i])
			return false;
	}
	return true;
}

/* libunwind starts in our own code, reports interrupted pcs unadjusted and may end with a 0. */
static void compare_other(
	struct per_thread *t, const struct hl_regs *start, const struct list *full)
{
	int n = unw((void **)t->other, DEPTH), from = 0;
	uintptr_t *o = t->other;

	while (from < n && o[from] != start->pc)
		from++;
	o += from;
	n -= from;
	if (n > 0 && o[n - 1] == 0)
		n--;
	if ((size_t)n != full->n && full->n != DEPTH && from + n < DEPTH)
		goto differ;
	for (size_t i = 0; i < (size_t)n && i < full->n; i++) {
		if (o[i] != full->pcs[i] && o[i] + 1 != full->pcs[i])
			goto differ;
	}
	return;
differ:
	atomic_fetch_add(&bad_other, 1);
	show("full | libunwind", full->pcs, full->n, o, n > 0 ? (size_t)n : 0);
}

static bool in_function(uintptr_t pc, const struct unwind_function *f)
{
	uintptr_t lo = (uintptr_t)f->lo, hi = (uintptr_t)f->hi;

	if (!hi && !hl_unwind_function_range(lo, &lo, &hi))
		return false;
	return pc > lo && pc <= hi;
}

static void compare_truth(const struct list *full)
{
	int depth = truth->depth;

	if (depth <= 0)
		return;
	atomic_fetch_add(&judged, 1);
	for (int i = 0; i < depth; i++) {
		const struct unwind_function *f = &truth->functions[depth - 1 - i];

		if ((size_t)i < full->n && in_function(full->pcs[i], f))
			continue;
		atomic_fetch_add(&bad_truth, 1);
		show("full | truth", full->pcs, full->n, (const uintptr_t *)&f->lo, 1);
		return;
	}
	if (truth->exact_depth && full->n != (size_t)depth) {
		atomic_fetch_add(&bad_truth, 1);
		show("full | truth's depth", full->pcs, full->n, NULL, 0);
	}
}

/* Counts and prints a difference: a count without its stacks is of little help. */
static void differ_inc(const char *what, const struct hl_stack *s, const struct list *full)
{
	static uintptr_t turned[DEPTH];
	uint32_t n = s->depth < DEPTH ? s->depth : DEPTH;

	for (uint32_t i = 0; i < n; i++)
		turned[i] = s->pcs[s->depth - 1 - i];
	atomic_fetch_add(&bad_inc, 1);
	show(what, full->pcs, full->n, turned, n);
}

/*
 * For calls from a handler that interrupted a hook, or from libunwind: checks everything except
 * libunwind, in an array that only nested calls use. A handler in the middle of this uses it too;
 * then the result is not checked.
 */
static void check_nested(struct per_thread *t, const struct hl_regs *start)
{
	struct list full = {.pcs = t->nested};
	uint64_t mark = ++t->entered;
	struct hl_stack s = {0};
	int err = hl_unwind(t->u, start, &s);

	t->overtaken += !err;
	hl_unwind_full(start, add_pc, &full);
	if (err == -EBUSY)
		atomic_fetch_add(&busy, 1);
	else if ((err || !equals_walk(&s, &full)) && mark == t->entered)
		differ_inc("nested full | inc", &s, &full);
	if (full.n < 2 && mark == t->entered)
		differ_inc("nested, full walk too short", &s, &full);
	atomic_fetch_add(&nested_traces, 1);
}

static void count(struct per_thread *t, const struct hl_stack *s)
{
	struct hl_unwind_counts now;
	uint64_t w, max = atomic_load(&max_walked);

	hl_unwinder_counts(t->u, &now);
	w = now.walked - t->last.walked;
	atomic_fetch_add(&walked, w);
	atomic_fetch_add(&misses, now.misses - t->last.misses);
	atomic_fetch_add(&frames, s->depth);
	t->last = now;
	while (w > max && !atomic_compare_exchange_weak(&max_walked, &max, w))
		;
}

static hl_noinline void check(const struct hl_regs *start)
{
	int saved = errno;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), outer;
	struct per_thread *t;
	struct list full;
	struct hl_stack s = {0};
	uint64_t nr, overtaken;
	int err;

	if (!ready)
		return;
	t = get_thread();
	outer = t->inside;
	if (outer && here < outer) {
		check_nested(t, start);
		errno = saved;
		return;
	}
	t->inside = here;
	errno = 12345;
	overtaken = t->overtaken;
	err = hl_unwind(t->u, start, &s);
	full = (struct list){.pcs = t->full};
	hl_unwind_full(start, add_pc, &full);
	if (errno != 12345)
		differ_inc("errno was changed", &s, &full);
	nr = atomic_fetch_add(&traces, 1);
	if (err == -EBUSY) {
		atomic_fetch_add(&busy, 1);
	} else if ((err || !equals_walk(&s, &full)) && overtaken == t->overtaken) {
		differ_inc("full | inc", &s, &full);
	} else {
		count(t, &s);
	}
	if (truth)
		compare_truth(&full);
	if (unw && nr % (uint64_t)every == 0)
		compare_other(t, start, &full);
	t->inside = outer;
	errno = saved;
}

/* Memory for dlsym, before the real functions are known. */
static char early[65536];
static size_t early_used;

static void *early_alloc(size_t n)
{
	void *p = early + early_used;

	early_used += (n + 15) & ~(size_t)15;
	return early_used <= sizeof(early) ? p : NULL;
}

/* Other constructors allocate before ours has run. */
static void resolve(void)
{
	static bool resolving;

	if (real_malloc || resolving)
		return;
	resolving = true;
	real_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	real_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
}

hl_export void *malloc(size_t n)
{
	struct hl_regs start;

	HL_ARCH_CAPTURE(&start);
	resolve();
	if (!real_malloc)
		return early_alloc(n);
	check(&start);
	return real_malloc(n);
}

hl_export void *calloc(size_t n, size_t size)
{
	struct hl_regs start;

	HL_ARCH_CAPTURE(&start);
	resolve();
	if (!real_calloc)
		return early_alloc(n * size);
	check(&start);
	return real_calloc(n, size);
}

hl_export void *realloc(void *p, size_t n)
{
	struct hl_regs start;
	void *q;

	HL_ARCH_CAPTURE(&start);
	if ((char *)p >= early && (char *)p < early + sizeof(early)) {
		q = malloc(n);
		return q ? memcpy(q, p, n < (size_t)(early + sizeof(early) - (char *)p) ? n : 0)
			 : NULL;
	}
	check(&start);
	return real_realloc ? real_realloc(p, n) : early_alloc(n);
}

hl_export void free(void *p)
{
	if (real_free && !((char *)p >= early && (char *)p < early + sizeof(early)))
		real_free(p);
}

/* Discards the rules of unloaded code. */
hl_export int dlclose(void *handle)
{
	static int (*real)(void *);
	int err;

	if (!real)
		real = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
	err = real(handle);
	hl_unwind_bump();
	return err;
}

static void in_child(void)
{
	_Atomic uint64_t *all[] = {&traces, &bad_inc, &bad_other, &bad_truth, &judged, &busy,
		&frames, &walked, &misses, &nested_traces};

	for (size_t i = 0; i < HL_ARRAY_LEN(all); i++)
		atomic_store(all[i], 0);
}

__attribute__((constructor)) static void begin(void)
{
	const char *lib = getenv("UNWIND_LIBUNWIND"), *n = getenv("UNWIND_EVERY");
	void *handle;

	resolve();
	path = getenv("UNWIND_CHECK");
	if (!path)
		return;
	if (n)
		every = atoi(n);
	hl_unwind_init(NULL);
	hl_unwind_open_tables();
	/* Not linked: it would replace the program's backtrace(). */
	handle = lib && *lib ? dlopen(lib, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (handle)
		unw = (int (*)(void **, int))dlsym(handle, "unw_backtrace");
	truth = dlsym(RTLD_DEFAULT, "unwind_truth");
	pthread_atfork(NULL, NULL, in_child);
	atomic_store(&ready, 1);
}

__attribute__((destructor)) static void end(void)
{
	char line[512];
	int n;

	if (!ready)
		return;
	ready = 0;
	n = snprintf(line, sizeof(line),
		"counts traces %lu inc %lu other %lu truth %lu judged %lu busy %lu nested %lu "
		"frames %lu walked %lu misses %lu max_walked %lu libunwind %d\n",
		traces, bad_inc, bad_other, bad_truth, judged, busy, nested_traces, frames, walked,
		misses, max_walked, unw != NULL);
	write_out(line, (size_t)n);
}
