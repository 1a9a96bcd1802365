/*
 * heaplapse.h - what a program may tell the heap profiler that watches it.
 *
 *   heaplapse_mark("login done");      a named moment in the trace
 *   heaplapse_snapshot("after load");  a named moment to compare with others
 *   heaplapse_start(); heaplapse_stop();   record only a part of the run (see `record --start=off`)
 *   HEAPLAPSE_SCOPE("render");         what is allocated up to the end of this block is render's
 *   heaplapse_thread_name("decoder");  this thread's name in reports
 *   heaplapse_alloc("arena", p, n); heaplapse_free("arena", p);   memory of the program's own pools
 *
 * While recording is stopped nothing is recorded, marks neither. Include it and call; there is
 * nothing to link. When the program is not recorded a call costs a load and a branch. From C and
 * C++, from any thread; not from signal handlers before the first call has returned. The functions
 * are found with dlsym at the first call of each source file: weak symbols would stay zero in
 * programs that are not position-independent.
 */
#ifndef HEAPLAPSE_H
#define HEAPLAPSE_H

#include <dlfcn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0: not looked for yet; 1: nobody records us; else the function. */
#define HEAPLAPSE_FIND_(cache, type, name)                                \
	static void *cache;                                               \
	void *heaplapse_f_ = __atomic_load_n(&cache, __ATOMIC_ACQUIRE);   \
	if (__builtin_expect(heaplapse_f_ == (void *)1, 1))               \
		return;                                                   \
	if (!heaplapse_f_) {                                              \
		heaplapse_f_ = dlsym(RTLD_DEFAULT, name);                 \
		if (!heaplapse_f_)                                        \
			heaplapse_f_ = (void *)1;                         \
		__atomic_store_n(&cache, heaplapse_f_, __ATOMIC_RELEASE); \
		if (heaplapse_f_ == (void *)1)                            \
			return;                                           \
	}                                                                 \
	type heaplapse_call_ = __extension__(type) heaplapse_f_

typedef void (*heaplapse_label_fn_)(const char *);
typedef void (*heaplapse_plain_fn_)(void);
typedef void (*heaplapse_alloc_fn_)(const char *, const void *, __SIZE_TYPE__);
typedef void (*heaplapse_realloc_fn_)(const char *, const void *, const void *, __SIZE_TYPE__);
typedef void (*heaplapse_free_fn_)(const char *, const void *);

static inline __attribute__((unused)) void heaplapse_mark(const char *label)
{
	HEAPLAPSE_FIND_(found, heaplapse_label_fn_, "heaplapse_impl_mark");
	heaplapse_call_(label);
}

static inline __attribute__((unused)) void heaplapse_snapshot(const char *label)
{
	HEAPLAPSE_FIND_(found, heaplapse_label_fn_, "heaplapse_impl_snapshot");
	heaplapse_call_(label);
}

/* The calling thread's name in reports; what the kernel calls it stays as it is. */
static inline __attribute__((unused)) void heaplapse_thread_name(const char *name)
{
	HEAPLAPSE_FIND_(found, heaplapse_label_fn_, "heaplapse_impl_thread_name");
	heaplapse_call_(name);
}

/*
 * Memory that the program gives out itself, from a pool of this name: said after ptr is given out,
 * and before it is taken back. It is in no total of the heap, where the pool's own memory is.
 */
static inline __attribute__((unused)) void heaplapse_alloc(
	const char *pool, const void *ptr, __SIZE_TYPE__ size)
{
	HEAPLAPSE_FIND_(found, heaplapse_alloc_fn_, "heaplapse_impl_alloc");
	heaplapse_call_(pool, ptr, size);
}

/* ptr, of this size, is what old has become; either may be NULL. */
static inline __attribute__((unused)) void heaplapse_realloc(
	const char *pool, const void *old, const void *ptr, __SIZE_TYPE__ size)
{
	HEAPLAPSE_FIND_(found, heaplapse_realloc_fn_, "heaplapse_impl_realloc");
	heaplapse_call_(pool, old, ptr, size);
}

static inline __attribute__((unused)) void heaplapse_free(const char *pool, const void *ptr)
{
	HEAPLAPSE_FIND_(found, heaplapse_free_fn_, "heaplapse_impl_free");
	heaplapse_call_(pool, ptr);
}

static inline __attribute__((unused)) void heaplapse_start(void)
{
	HEAPLAPSE_FIND_(found, heaplapse_plain_fn_, "heaplapse_impl_start");
	heaplapse_call_();
}

static inline __attribute__((unused)) void heaplapse_stop(void)
{
	HEAPLAPSE_FIND_(found, heaplapse_plain_fn_, "heaplapse_impl_stop");
	heaplapse_call_();
}

static inline __attribute__((unused)) void heaplapse_tag_push(const char *name)
{
	HEAPLAPSE_FIND_(found, heaplapse_label_fn_, "heaplapse_impl_tag_push");
	heaplapse_call_(name);
}

static inline __attribute__((unused)) void heaplapse_tag_pop(void)
{
	HEAPLAPSE_FIND_(found, heaplapse_plain_fn_, "heaplapse_impl_tag_pop");
	heaplapse_call_();
}

static inline __attribute__((unused)) void heaplapse_scope_end_(char *scope)
{
	(void)scope;
	heaplapse_tag_pop();
}

/* What is allocated from here to the end of the block belongs to `name`. */
#define HEAPLAPSE_PASTE2_(a, b) a##b
#define HEAPLAPSE_PASTE_(a, b)  HEAPLAPSE_PASTE2_(a, b)
#define HEAPLAPSE_SCOPE(name)                                                         \
	__attribute__((cleanup(heaplapse_scope_end_), unused)) char HEAPLAPSE_PASTE_( \
		heaplapse_scope_, __LINE__) = (heaplapse_tag_push(name), 0)

#ifdef __cplusplus
}
#endif

#endif
