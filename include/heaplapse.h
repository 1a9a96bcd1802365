/*
 * heaplapse.h - what a program may tell the heap profiler that watches it.
 *
 *   heaplapse_mark("login done");      a named moment in the trace
 *   heaplapse_snapshot("after load");  a named moment to compare with others
 *   heaplapse_start(); heaplapse_stop();   record only a part of the run (see `record --start=off`)
 *   heaplapse_pause(); heaplapse_resume();   the same, but frees are recorded in between
 *   heaplapse_alloc("arena", p, n); heaplapse_free("arena", p);   memory of the program's own pools
 *
 *   HEAPLAPSE_SCOPE("render");         until the end of the block memory is counted for «render»
 *   HEAPLAPSE_FUNCTION_SCOPE();        the same, named after the function
 *   heaplapse_tag_push(name); heaplapse_tag_pop();    the same by hand, with a name of any origin
 *   heaplapse_tags_disable(); heaplapse_tags_enable();   this thread is not counted in between
 *   heaplapse_thread_name("worker");   this thread's scopes stand under that name
 *   heaplapse_stats_write(NULL);       the numbers of all scopes, to a file
 *   heaplapse_stats_get("main/render", &stat);        of one scope; "*" is any thread
 *   heaplapse_stats_text(buf, size);   as a text
 *   heaplapse_snapshot_if_due();       a numbered file, when its time has come
 *   heaplapse_set_snapshot_interval(60);   that time, in seconds
 *   heaplapse_memory_get(&memory);     resident memory and address space of the process
 *
 * Scopes nest, each thread has its own. A scope entered in a scope is another than the same name
 * elsewhere. docs/commands/tags.md tells how to look at them. A program that is linked to the
 * library (-lheaplapse) counts always, without anything else; see there too.
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
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Nothing else here refers to the library, and --as-needed drops a library that nothing refers to.
 * This names a symbol of it and uses it nowhere: a program linked with -lheaplapse keeps the
 * library, one that is not linked to it has nothing to resolve. Not in code for shared libraries:
 * whoever links those would have to have the symbol.
 */
#if !defined(__PIC__) || defined(__PIE__)
__asm__(".globl heaplapse_impl_tag_enter");
#endif

/* 0: not looked for yet; 1: nobody records us; else the function. */
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

/* Until heaplapse_resume() allocations are not recorded, frees still are, so live memory stays
 * exact for what was recorded before. Children that are forked inherit the pause. In mode tags it
 * is the same as heaplapse_stop(). */
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

/* What a scope has done, or the same scope in all threads together. Bytes are those that the
 * allocator has given, malloc_usable_size(). self: in the scope itself; total: with those entered
 * in it. A free is charged to the scope that frees, with HEAPLAPSE_TAGS=owner to the one that
 * allocated. */
struct heaplapse_stat {
	uint64_t self_allocated_bytes, self_allocated_blocks;
	uint64_t self_freed_bytes, self_freed_blocks;
	uint64_t total_allocated_bytes, total_allocated_blocks;
	uint64_t total_freed_bytes, total_freed_blocks;
	uint64_t entered;
	/* Calls in the scope itself, by function. memalign: also valloc and pvalloc; new and
	 * delete: also new[] and delete[]. Frees are charged as above. 0 with an older library. */
	uint64_t malloc_calls, calloc_calls, realloc_calls, reallocarray_calls;
	uint64_t posix_memalign_calls, aligned_alloc_calls, memalign_calls, new_calls;
	uint64_t free_calls, delete_calls;
};

/* Of the whole process, in bytes, as the kernel has it. */
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

/* For the macros below. kept: where this place in the program keeps what became of its name. */
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

/* A pop too many is counted and does nothing. */
HEAPLAPSE_API_ void heaplapse_tag_pop(void)
{
	HEAPLAPSE_FIND_(found, heaplapse_plain_fn_, "heaplapse_impl_tag_pop");
	heaplapse_call_();
}

/* Of the calling thread. Disabled twice, it must be enabled twice. */
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

/* Best before the thread's first scope. The kernel's name of it stays. */
HEAPLAPSE_API_ void heaplapse_thread_name(const char *name)
{
	HEAPLAPSE_FIND_(found, heaplapse_label_fn_, "heaplapse_impl_thread_name");
	heaplapse_call_(name);
}

/* By suffix: .dot or .gv for graphviz, .txt to read, else JSON. NULL: to HEAPLAPSE_STATS_JSON and
 * HEAPLAPSE_STATS_DOT. 0, or -errno: -ENOSYS, nobody counts (not recorded, or not in mode tags);
 * -ENOENT, path is NULL and neither is set, or there is no such folder; -EINVAL, path is "";
 * -EBUSY, another call of this program is writing; else why it could not be written, which is said
 * on stderr the first time. The file is whole or as it was. */
HEAPLAPSE_API_ int heaplapse_stats_write(const char *path)
{
	HEAPLAPSE_FIND_OR_(found, heaplapse_write_fn_, "heaplapse_impl_stats_write", return -38);
	return heaplapse_call_(path);
}

/* For the function below: a library that does not know the number of calls yet. */
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

/* "THREAD/SCOPE/SCOPE"; several threads of a name are added up, "*" is all threads. 0; -ENOENT: no
 * such scope; -ENOSYS: nobody counts; -EINVAL: one of the two is NULL. Then *stat is as it was. */
HEAPLAPSE_API_ int heaplapse_stats_get(const char *path, struct heaplapse_stat *stat)
{
	HEAPLAPSE_FIND_OR_(found, heaplapse_get_sized_fn_, "heaplapse_impl_stats_get_sized",
		return heaplapse_stats_get_short_(path, stat));
	return heaplapse_call_(path, stat, sizeof(*stat));
}

/* The memory of the process now, in every mode. 0; -ENOSYS: the program is not recorded; -EINVAL:
 * NULL; -EPERM: a sandbox forbids asking; -EIO: /proc cannot be read. Then *memory is as it was. */
HEAPLAPSE_API_ int heaplapse_memory_get(struct heaplapse_memory *memory)
{
	HEAPLAPSE_FIND_OR_(found, heaplapse_memory_fn_, "heaplapse_impl_memory_get", return -38);
	return heaplapse_call_(memory, sizeof(*memory));
}

/* Returns its length, as snprintf does: at most size - 1 bytes of it are in buf, which may be NULL;
 * 0 and "" when nobody counts. */
HEAPLAPSE_API_ size_t heaplapse_stats_text(char *buf, size_t size)
{
	HEAPLAPSE_FIND_OR_(found, heaplapse_text_fn_, "heaplapse_impl_stats_text",
		return (buf && size ? (void)(*buf = 0) : (void)0, (size_t)0));
	return heaplapse_call_(buf, size);
}

/* HEAPLAPSE_SNAPSHOT_PREFIX.0000.json and .dot, every HEAPLAPSE_SNAPSHOT_INTERVAL seconds, of which
 * both must be set. 1: written; 0: not yet, or nobody counts; -1: it could not be. */
HEAPLAPSE_API_ int heaplapse_snapshot_if_due(void)
{
	HEAPLAPSE_FIND_OR_(found, heaplapse_due_fn_, "heaplapse_impl_snapshot_if_due", return 0);
	return heaplapse_call_();
}

/* From now on a numbered file every so many seconds, in place of HEAPLAPSE_SNAPSHOT_INTERVAL; 0:
 * none by time. 0; -ENOSYS: nobody counts; -ENOENT: HEAPLAPSE_SNAPSHOT_PREFIX is not set. */
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
/* From its construction to its destruction, in one thread. */
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

/* To the end of the block. The name must be a literal: it is looked up once for each place. */
#define HEAPLAPSE_SCOPE(name)      HEAPLAPSE_SCOPE_AT_("" name "")
#define HEAPLAPSE_FUNCTION_SCOPE() HEAPLAPSE_SCOPE_AT_(HEAPLAPSE_FUNCTION_NAME_)

#endif
