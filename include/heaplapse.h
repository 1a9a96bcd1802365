/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heaplapse.h - the interface of a program to the heap profiler that records it.
 *
 *   heaplapse_mark("login done");      a named moment in the trace
 *   heaplapse_snapshot("after load");  a named moment to compare with others
 *   heaplapse_start(); heaplapse_stop();   record only a part of the run (see `record --start=off`)
 *   heaplapse_pause(); heaplapse_resume();   the same, but frees are recorded in between
 *   heaplapse_alloc("arena", p, n); heaplapse_free("arena", p);   memory of the program's own pools
 *
 *   HEAPLAPSE_SCOPE("render");         count memory for scope "render" until the end of the block
 *   HEAPLAPSE_FUNCTION_SCOPE();        the same, named after the function
 *   heaplapse_tag_push(name); heaplapse_tag_pop();    the same with explicit calls and any name
 *   heaplapse_tags_disable(); heaplapse_tags_enable();   do not count this thread in between
 *   heaplapse_thread_name("worker");   show the scopes of this thread under this name
 *   heaplapse_stats_write(NULL);       write the counters of all scopes to a file
 *   heaplapse_stats_get("main/render", &stat);        the counters of one scope; "*" is any thread
 *   heaplapse_stats_text(buf, size);   the counters of all scopes as text
 *   heaplapse_snapshot_if_due();       write a numbered file if the interval has passed
 *   heaplapse_set_snapshot_interval(60);   set that interval, in seconds
 *   heaplapse_memory_get(&memory);     resident memory and address space of the process
 *
 * Scopes nest, and each thread has its own. A scope is identified by its path: the same name
 * entered inside two different scopes makes two scopes. docs/commands/tags.md explains how to read
 * the counters. A program that is linked with the library (-lheaplapse) always counts and needs
 * nothing else; see there too.
 *
 * Include this header and call the functions; nothing has to be linked. If the program is not
 * recorded, a call costs a load and a branch. While recording is stopped, nothing is recorded, not
 * even marks. The functions can be called from C and C++ and from any thread, but not from a signal
 * handler before a first call has returned. Each source file finds the functions with dlsym at its
 * first call: weak symbols would stay zero in programs that are not position-independent.
 */
#ifndef HEAPLAPSE_H
#define HEAPLAPSE_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Nothing else here refers to the library, and the linker option --as-needed drops a library that
 * nothing refers to. This directive names a symbol of the library without using it: a program
 * linked with -lheaplapse keeps the library, and a program that is not linked with it has nothing
 * to resolve. Code for shared libraries does not get the directive: every program linked with such
 * a library would then need the symbol.
 */
#if !defined(__PIC__) || defined(__PIE__)
__asm__(".globl heaplapse_impl_tag_enter");
#endif

/* The cached pointer: 0 is not looked up yet, 1 is not recorded, anything else is the function. */
#define HEAPLAPSE_FIND_OR_(cache, type, name, leave)                      \
	static void *cache;                                               \
	void *heaplapse_f_ = __atomic_load_n(&cache, __ATOMIC_ACQUIRE);   \
	if (__builtin_expect(heaplapse_f_ == (void *)1, 1))               \
		leave;                                                    \
	if (!heaplapse_f_) {                                              \
		heaplapse_f_ = dlsym(RTLD_DEFAULT, name);                 \
		if (!heaplapse_f_)                                        \
			heaplapse_f_ = (void *)1;                         \
		__atomic_store_n(&cache, heaplapse_f_, __ATOMIC_RELEASE); \
		if (heaplapse_f_ == (void *)1)                            \
			leave;                                            \
	}                                                                 \
	type heaplapse_call_ = __extension__(type) heaplapse_f_
#define HEAPLAPSE_FIND_(cache, type, name) HEAPLAPSE_FIND_OR_(cache, type, name, return )
#define HEAPLAPSE_API_                     static inline __attribute__((unused))

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

/*
 * Announces a block that the program allocates from its own pool `pool`. Call heaplapse_alloc after
 * the pool has allocated ptr and heaplapse_free before the pool takes it back. Such blocks are not
 * in the totals of the heap, because the memory of the pool itself already is.
 */
static inline __attribute__((unused)) void heaplapse_alloc(
	const char *pool, const void *ptr, __SIZE_TYPE__ size)
{
	HEAPLAPSE_FIND_(found, heaplapse_alloc_fn_, "heaplapse_impl_alloc");
	heaplapse_call_(pool, ptr, size);
}

/* The pool has reallocated `old` to `ptr` with this size. Either may be NULL. */
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

/* Until heaplapse_resume(), allocations are not recorded but frees are, so live memory stays exact
 * for blocks that were recorded before. Forked children inherit the pause. In mode tags it is the
 * same as heaplapse_stop(). */
static inline __attribute__((unused)) void heaplapse_pause(void)
{
	HEAPLAPSE_FIND_(found, heaplapse_plain_fn_, "heaplapse_impl_pause");
	heaplapse_call_();
}

/* Ends heaplapse_pause(), not heaplapse_stop(). `heaplapse ctl PID resume` ends both. */
static inline __attribute__((unused)) void heaplapse_resume(void)
{
	HEAPLAPSE_FIND_(found, heaplapse_plain_fn_, "heaplapse_impl_resume");
	heaplapse_call_();
}

/* The counters of one scope, or of the same scope summed over all threads. Bytes are the sizes that
 * the allocator provides, malloc_usable_size(). self: in the scope itself. total: including all
 * scopes entered in it. A free is charged to the scope that frees, with HEAPLAPSE_TAGS=owner to the
 * scope that allocated. */
struct heaplapse_stat {
	uint64_t self_allocated_bytes, self_allocated_blocks;
	uint64_t self_freed_bytes, self_freed_blocks;
	uint64_t total_allocated_bytes, total_allocated_blocks;
	uint64_t total_freed_bytes, total_freed_blocks;
	uint64_t entered;
	/* Calls in the scope itself, by function. memalign includes valloc and pvalloc; new and
	 * delete include new[] and delete[]. Frees are charged as above. All are 0 with an older
	 * library. */
	uint64_t malloc_calls, calloc_calls, realloc_calls, reallocarray_calls;
	uint64_t posix_memalign_calls, aligned_alloc_calls, memalign_calls, new_calls;
	uint64_t free_calls, delete_calls;
};

/* Memory of the whole process in bytes, as the kernel reports it. */
struct heaplapse_memory {
	uint64_t rss_bytes; /* resident in memory */
	uint64_t vm_bytes;  /* address space in use */
};

typedef void *(*heaplapse_enter_fn_)(const char *, const void **);
typedef void (*heaplapse_leave_fn_)(void *);
typedef void (*heaplapse_switch_fn_)(int);
typedef int (*heaplapse_write_fn_)(const char *);
typedef int (*heaplapse_get_fn_)(const char *, struct heaplapse_stat *);
typedef int (*heaplapse_get_sized_fn_)(const char *, struct heaplapse_stat *, size_t);
typedef int (*heaplapse_memory_fn_)(struct heaplapse_memory *, size_t);
typedef int (*heaplapse_interval_fn_)(unsigned);
typedef size_t (*heaplapse_text_fn_)(char *, size_t);
typedef int (*heaplapse_due_fn_)(void);

/* For the macros below. kept: a variable of the call site that caches the interned name. */
HEAPLAPSE_API_ void *heaplapse_scope_begin_(const char *name, const void **kept)
{
	HEAPLAPSE_FIND_OR_(found, heaplapse_enter_fn_, "heaplapse_impl_tag_enter", return NULL);
	return heaplapse_call_(name, kept);
}

HEAPLAPSE_API_ void heaplapse_scope_end_(void **scope)
{
	HEAPLAPSE_FIND_(found, heaplapse_leave_fn_, "heaplapse_impl_tag_leave");
	heaplapse_call_(*scope);
}

/* The name is copied. */
HEAPLAPSE_API_ void heaplapse_tag_push(const char *name)
{
	heaplapse_scope_begin_(name, NULL);
}

/* A pop without a push is counted and has no other effect. */
HEAPLAPSE_API_ void heaplapse_tag_pop(void)
{
	HEAPLAPSE_FIND_(found, heaplapse_plain_fn_, "heaplapse_impl_tag_pop");
	heaplapse_call_();
}

/* Apply to the calling thread and nest: two calls of disable need two calls of enable. */
HEAPLAPSE_API_ void heaplapse_tags_disable(void)
{
	HEAPLAPSE_FIND_(found, heaplapse_switch_fn_, "heaplapse_impl_tags_enable");
	heaplapse_call_(0);
}

HEAPLAPSE_API_ void heaplapse_tags_enable(void)
{
	HEAPLAPSE_FIND_(found, heaplapse_switch_fn_, "heaplapse_impl_tags_enable");
	heaplapse_call_(1);
}

/* Best called before the first scope of the thread. The kernel's name of the thread does not
 * change. */
HEAPLAPSE_API_ void heaplapse_thread_name(const char *name)
{
	HEAPLAPSE_FIND_(found, heaplapse_label_fn_, "heaplapse_impl_thread_name");
	heaplapse_call_(name);
}

/* Writes the counters of all scopes to `path`. The suffix selects the format: .dot or .gv is
 * Graphviz, .txt is text, all others are JSON. NULL: write to HEAPLAPSE_STATS_JSON and
 * HEAPLAPSE_STATS_DOT. Returns 0 or -errno. -ENOSYS: nothing is counted (not recorded, or not in
 * mode tags). -ENOENT: path is NULL and neither variable is set, or the directory does not exist.
 * -EINVAL: path is "". -EBUSY: another call in this program is writing. Any other error is from
 * writing the file, and the first one is also printed to stderr. On an error the old file is
 * unchanged: a file is never partly written. */
HEAPLAPSE_API_ int heaplapse_stats_write(const char *path)
{
	HEAPLAPSE_FIND_OR_(found, heaplapse_write_fn_, "heaplapse_impl_stats_write", return -38);
	return heaplapse_call_(path);
}

/* For the function below: fallback for a library from before the call counters. */
HEAPLAPSE_API_ int heaplapse_stats_get_short_(const char *path, struct heaplapse_stat *stat)
{
	HEAPLAPSE_FIND_OR_(found, heaplapse_get_fn_, "heaplapse_impl_stats_get", return -38);
	int heaplapse_err_ = heaplapse_call_(path, stat);
	if (heaplapse_err_ == 0)
		stat->malloc_calls = stat->calloc_calls = stat->realloc_calls =
			stat->reallocarray_calls = stat->posix_memalign_calls =
				stat->aligned_alloc_calls = stat->memalign_calls = stat->new_calls =
					stat->free_calls = stat->delete_calls = 0;
	return heaplapse_err_;
}

/* Reads the counters of the scope "THREAD/SCOPE/SCOPE". Threads with the same name are added up;
 * "*" is all threads. Returns 0, or -ENOENT: no such scope, -ENOSYS: nothing is counted, -EINVAL:
 * an argument is NULL. On an error *stat is unchanged. */
HEAPLAPSE_API_ int heaplapse_stats_get(const char *path, struct heaplapse_stat *stat)
{
	HEAPLAPSE_FIND_OR_(found, heaplapse_get_sized_fn_, "heaplapse_impl_stats_get_sized",
		return heaplapse_stats_get_short_(path, stat));
	return heaplapse_call_(path, stat, sizeof(*stat));
}

/* Reads the current memory of the process, in every mode. Returns 0, or -ENOSYS: the program is not
 * recorded, -EINVAL: NULL, -EPERM: a sandbox forbids the system call, -EIO: /proc cannot be read.
 * On an error *memory is unchanged. */
HEAPLAPSE_API_ int heaplapse_memory_get(struct heaplapse_memory *memory)
{
	HEAPLAPSE_FIND_OR_(found, heaplapse_memory_fn_, "heaplapse_impl_memory_get", return -38);
	return heaplapse_call_(memory, sizeof(*memory));
}

/* Writes the counters of all scopes as text to buf, which may be NULL. Returns the length of the
 * whole text, as snprintf does; at most size - 1 bytes of it are in buf. If nothing is counted: 0
 * and "". */
HEAPLAPSE_API_ size_t heaplapse_stats_text(char *buf, size_t size)
{
	HEAPLAPSE_FIND_OR_(found, heaplapse_text_fn_, "heaplapse_impl_stats_text",
		return (buf && size ? (void)(*buf = 0) : (void)0, (size_t)0));
	return heaplapse_call_(buf, size);
}

/* Writes HEAPLAPSE_SNAPSHOT_PREFIX.0000.json and .dot every HEAPLAPSE_SNAPSHOT_INTERVAL seconds,
 * with a running number; both variables must be set. Returns 1: written, 0: not due yet or nothing
 * is counted, -1: a file could not be written. */
HEAPLAPSE_API_ int heaplapse_snapshot_if_due(void)
{
	HEAPLAPSE_FIND_OR_(found, heaplapse_due_fn_, "heaplapse_impl_snapshot_if_due", return 0);
	return heaplapse_call_();
}

/* Replaces HEAPLAPSE_SNAPSHOT_INTERVAL: from now on a numbered file is written every `seconds`
 * seconds; 0 disables files by time. Returns 0, or -ENOSYS: nothing is counted, -ENOENT:
 * HEAPLAPSE_SNAPSHOT_PREFIX is not set. */
HEAPLAPSE_API_ int heaplapse_set_snapshot_interval(unsigned seconds)
{
	HEAPLAPSE_FIND_OR_(
		found, heaplapse_interval_fn_, "heaplapse_impl_set_snapshot_interval", return -38);
	return heaplapse_call_(seconds);
}

#ifdef __cplusplus
}

namespace heaplapse
{
/* A scope from construction to destruction, which must be in the same thread. */
class scope
{
      public:
	explicit scope(const char *name) : node_(heaplapse_scope_begin_(name, NULL))
	{
	}
	scope(const char *name, const void **kept) : node_(heaplapse_scope_begin_(name, kept))
	{
	}
	~scope()
	{
		heaplapse_scope_end_(&node_);
	}

      private:
	scope(const scope &);
	scope &operator=(const scope &);
	void *node_;
};
} // namespace heaplapse
#define HEAPLAPSE_SCOPE_OF_(kept, object, name) \
	static const void *kept;                \
	const ::heaplapse::scope object(name, &kept)
#define HEAPLAPSE_FUNCTION_NAME_ __PRETTY_FUNCTION__
#else
#define HEAPLAPSE_SCOPE_OF_(kept, object, name)                               \
	static const void *kept;                                              \
	void *object __attribute__((cleanup(heaplapse_scope_end_), unused)) = \
		heaplapse_scope_begin_(name, &kept)
#define HEAPLAPSE_FUNCTION_NAME_ __func__
#endif

#define HEAPLAPSE_JOIN_2_(a, b) a##b
#define HEAPLAPSE_JOIN_(a, b)   HEAPLAPSE_JOIN_2_(a, b)
#define HEAPLAPSE_SCOPE_AT_(name)                                          \
	HEAPLAPSE_SCOPE_OF_(HEAPLAPSE_JOIN_(heaplapse_kept_, __COUNTER__), \
		HEAPLAPSE_JOIN_(heaplapse_scope_, __COUNTER__), name)

/* Enter a scope until the end of the enclosing block. The name must be a literal, because each call
 * site looks it up only once. */
#define HEAPLAPSE_SCOPE(name)      HEAPLAPSE_SCOPE_AT_("" name "")
#define HEAPLAPSE_FUNCTION_SCOPE() HEAPLAPSE_SCOPE_AT_(HEAPLAPSE_FUNCTION_NAME_)

#endif
