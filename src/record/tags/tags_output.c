/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tags_output.c - output of the counters from inside the program: to files, to a buffer, and as
 * answers to the program's own queries. At exit, at intervals, or when the program asks.
 *
 * No malloc: the memory of a report is mapped and unmapped.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#include "base/bits.h"
#include "base/fmt.h"
#include "heaplapse.h"
#include "record/arch/arch.h"
#include "record/arch/syscall.h"
#include "record/tags/tags.h"
#include "record/tags/tags_file.h"
#include "record/session/lifecycle.h"
#include "tags/tag_capture.h"
#include "tags/text_sink.h"

#define MAPPINGS 8
#define NS       UINT64_C(1000000000)

static struct {
	char json[HL_TAGS_PATH_MAX], dot[HL_TAGS_PATH_MAX], prefix[HL_TAGS_PATH_MAX];
	uint32_t pid;      /* of the program itself, not of its fork children */
	uint32_t json_pid; /* the same for json: the program that `record` started */
	bool json_new;     /* json must not exist when it is first written */
	_Atomic uint64_t interval_ns;
	_Atomic uint64_t due_ns;
	_Atomic uint32_t number;     /* of the next snapshot */
	_Atomic uint32_t in_handler; /* threads in our signal handler: the allocator may be in the
					middle of a call */
	struct mallinfo2 (*mallinfo2)(void);
} out;

/* The memory of one report. */
struct report_memory {
	void *at[MAPPINGS];
	size_t size[MAPPINGS];
	int n;
};

static void *map_more(void *arg, size_t bytes)
{
	struct report_memory *m = arg;
	size_t size = hl_align_up(bytes, 4096);
	void *p = m->n < MAPPINGS && !hl_rec.no_syscalls ? hl_arch_map(size) : NULL;

	if (!p)
		return NULL;
	m->at[m->n] = p;
	m->size[m->n++] = size;
	return p;
}

static void unmap_report(struct report_memory *m)
{
	while (m->n-- > 0)
		hl_arch_unmap(m->at[m->n], m->size[m->n]);
}

/* Word by word in order, as tag_counters.h requires. */
static int read_own(void *arg, uint64_t addr, void *to, size_t n)
{
	const char *from = (const char *)(uintptr_t)addr;
	char *at = to;

	for (; n >= 8 && !((uintptr_t)from & 7); n -= 8, from += 8, at += 8) {
		uint64_t word = __atomic_load_n((const uint64_t *)from, __ATOMIC_ACQUIRE);

		memcpy(at, &word, 8);
	}
	memcpy(at, from, n);
	return 0;
}

uint64_t hl_tags_heap_bytes(void)
{
	struct mallinfo2 m;

	if (!out.mallinfo2)
		return 0;
	m = out.mallinfo2();
	return m.uordblks + m.hblkhd;
}

static void read_allocator_stats(struct hl_tag_report *r)
{
	struct mallinfo2 m;

	if (!out.mallinfo2 || atomic_load(&out.in_handler))
		return;
	m = out.mallinfo2();
	r->allocator_known = true;
	r->used_bytes = m.uordblks;
	r->free_bytes = m.fordblks;
	r->mapped_bytes = m.hblkhd;
}

/* Returns the text after the digits. */
static const char *parse_u64(const char *s, uint64_t *n)
{
	for (*n = 0; *s >= '0' && *s <= '9'; s++)
		*n = *n * 10 + (uint64_t)(*s - '0');
	return s;
}

/* 0 or -errno; the values are set only on success. */
static int read_statm(uint64_t *vm_bytes, uint64_t *rss_bytes)
{
	uint64_t page = getauxval(AT_PAGESZ);
	const char *rest;
	char text[128];
	long fd = hl_sys4(SYS_openat, AT_FDCWD, "/proc/self/statm", O_RDONLY | O_CLOEXEC, 0), n;

	if (fd < 0)
		return -EIO;
	n = hl_sys3(SYS_read, fd, text, sizeof(text) - 1);
	hl_sys1(SYS_close, fd);
	if (n <= 0)
		return -EIO;
	text[n] = '\0';
	rest = parse_u64(text, vm_bytes);
	parse_u64(rest + (*rest == ' '), rss_bytes);
	*vm_bytes *= page;
	*rss_bytes *= page;
	return 0;
}

static int capture_report(struct hl_tag_report *r, struct report_memory *m)
{
	struct hl_tags_source source = {
		.read = read_own, .alloc = map_more, .arg = m, .in_place = true, .tries = 100000};
	struct timespec now = {0};
	int err;

	*r = (struct hl_tag_report){0};
	*m = (struct report_memory){0};
	if (hl_rec.no_syscalls)
		return -EPERM;
	err = hl_tags_capture(&source, (uintptr_t)&hl_tags_head, r);
	if (err)
		return err;
	hl_sys2(SYS_clock_gettime, CLOCK_REALTIME, &now);
	r->time_s = now.tv_sec;
	r->pid = (uint64_t)hl_sys0(SYS_getpid);
	(void)read_statm(&r->vm_bytes, &r->rss_bytes);
	read_allocator_stats(r);
	return 0;
}

static void put_text(struct hl_text_sink *s, const struct hl_tag_report *r)
{
	hl_tag_text(s, r, 0);
}

static bool ends_in(const char *path, const char *suffix)
{
	size_t n = strlen(path), k = strlen(suffix);

	return n >= k && !memcmp(path + n - k, suffix, k);
}

static hl_tags_format_fn choose_form(const char *path)
{
	return ends_in(path, ".dot") || ends_in(path, ".gv") ? hl_tag_dot
	       : ends_in(path, ".txt")                       ? put_text
							     : hl_tag_json;
}

/* The caller holds the lock. */
static int write_file(const char *path, uint32_t own_pid, hl_tags_format_fn form)
{
	struct hl_tag_report r;
	struct report_memory m;
	int err = capture_report(&r, &m);

	if (!err)
		err = hl_tags_file_write(path, own_pid, &r, form);
	unmap_report(&m);
	if (err && err != -ENODATA)
		hl_tags_file_report_error(path, err);
	return err;
}

/* Writes PREFIX.0000.json and PREFIX.0000.dot. The caller holds the lock, which protects `path`
 * too. */
static int write_numbered(uint32_t number)
{
	static char path[HL_TAGS_PATH_MAX + 32];
	size_t len = strlen(out.prefix);
	int err, second;

	memcpy(path, out.prefix, len);
	path[len++] = '.';
	for (uint32_t unit = 1000; unit > 1 && number < unit; unit /= 10)
		path[len++] = '0';
	len += hl_fmt_u64(path + len, number);
	memcpy(path + len, ".json", 6);
	err = write_file(path, out.pid, hl_tag_json);
	memcpy(path + len, ".dot", 5);
	second = write_file(path, out.pid, hl_tag_dot);
	return err ? err : second;
}

static int write_snapshot(void)
{
	int err;

	if (!hl_tags_file_lock())
		return -EBUSY;
	err = write_numbered(atomic_fetch_add(&out.number, 1));
	hl_tags_file_unlock();
	return err;
}

/* An existing file belongs to another program or to an earlier run: the pid is put into
 * the name. */
static void avoid_existing_json(void)
{
	if (out.json_new && hl_tags_file_exists(out.json)) {
		out.json_pid = 0;
		hl_print_message(out.json, "exists; the pid is added to the name");
	}
	out.json_new = false;
}

/* Writes to the files that the environment names; -ENOENT: it names none. */
static int write_stats(void)
{
	int err = -ENOENT, second = 0;

	if (!hl_tags_file_lock())
		return -EBUSY;
	avoid_existing_json();
	if (out.json[0])
		err = write_file(out.json, out.json_pid, hl_tag_json);
	if (out.dot[0])
		second = write_file(out.dot, out.pid, hl_tag_dot);
	hl_tags_file_unlock();
	return out.json[0] && err ? err : out.dot[0] ? second : err;
}

static uint64_t now_ns(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * NS + (uint64_t)now.tv_nsec;
}

static int snapshot_if_due(void)
{
	uint64_t due = atomic_load(&out.due_ns), now;

	if (!due || hl_rec.no_syscalls || !atomic_load(&hl_tags_head.running))
		return 0;
	now = now_ns();
	if (now < due || !atomic_compare_exchange_strong(
				 &out.due_ns, &due, now + atomic_load(&out.interval_ns)))
		return 0;
	return write_snapshot() ? -1 : 1;
}

hl_cold void hl_tags_snapshot_if_due(void)
{
	if (atomic_load_explicit(&out.due_ns, memory_order_relaxed))
		snapshot_if_due();
}

void hl_tags_snapshot(void)
{
	if (out.prefix[0] && atomic_load(&hl_tags_head.running))
		write_snapshot();
}

void hl_tags_snapshot_from_signal(void)
{
	atomic_fetch_add(&out.in_handler, 1);
	if (out.prefix[0])
		write_snapshot();
	else
		write_stats();
	atomic_fetch_sub(&out.in_handler, 1);
}

static void on_snapshot_signal(int number)
{
	hl_tags_snapshot_from_signal();
}

static void on_toggle_signal(int number)
{
	hl_tags_pause(!hl_tags_paused());
}

/* Parses USR1, SIGUSR2 or a number; 0: none of these. */
static int parse_signal(const char *word)
{
	uint64_t n;

	if (!strncmp(word, "SIG", 3))
		word += 3;
	if (!strcmp(word, "USR1"))
		return SIGUSR1;
	if (!strcmp(word, "USR2"))
		return SIGUSR2;
	return !*parse_u64(word, &n) && n > 0 && n <= 64 ? (int)n : 0;
}

/* Only if the signal has the default action. If the program sets an action later, it
 * replaces ours. */
static void install_handler(
	const char *word, void (*handler)(int), const char *wrong, const char *taken)
{
	int number = parse_signal(word);
	struct sigaction now, ours = {.sa_handler = handler, .sa_flags = SA_RESTART};

	if (number == 0 || sigaction(number, NULL, &now) != 0)
		hl_print_message(wrong, word);
	else if (now.sa_handler != SIG_DFL || sigaction(number, &ours, NULL) != 0)
		hl_print_message(taken, word);
}

/* Several signals are separated by commas. */
static void install_handlers(
	const char *list, void (*handler)(int), const char *wrong, const char *taken)
{
	while (list && *list) {
		const char *comma = strchr(list, ',');
		size_t len = comma ? (size_t)(comma - list) : strlen(list);
		char word[24] = "";

		memcpy(word, list, len < sizeof(word) ? len : sizeof(word) - 1);
		install_handler(word, handler, wrong, taken);
		list += len + (comma != NULL);
	}
}

void hl_tags_install_signals(const char *snapshot, const char *toggle)
{
	install_handlers(snapshot, on_snapshot_signal,
		"HEAPLAPSE_SNAPSHOT_SIGNAL is not USR1, USR2 or a number",
		"this signal is in use and not available for snapshots");
	install_handlers(toggle, on_toggle_signal,
		"HEAPLAPSE_TOGGLE_SIGNAL is not USR1, USR2 or a number",
		"this signal is in use and not available for pauses");
}

void hl_tags_at_exit(void)
{
	static bool done;

	/* A vfork child exits in our memory, but this process goes on. A fork child has its own
	 * wiped page. */
	if (done || hl_rec.no_syscalls || !atomic_load(&hl_tags_head.running) ||
		((uint32_t)hl_sys0(SYS_getpid) != hl_rec.pid && atomic_load(&hl_fork_page.ours)))
		return;
	done = true;
	write_stats();
}

/* "%p" is replaced by the pid, so that several programs with one variable have a file each; "%%" by
 * "%". True if the pid was inserted. */
static bool expand_pid(char *path)
{
	char digits[24];
	size_t n = hl_fmt_u64(digits, out.pid), len = strlen(path);
	bool found = false;

	for (size_t at = 0; at + 1 < len; at++) {
		bool pid = path[at + 1] == 'p';
		size_t by = pid ? n : 1;

		if (path[at] != '%' || (!pid && path[at + 1] != '%') || len + by > HL_TAGS_PATH_MAX)
			continue;
		memmove(path + at + by, path + at + 2, len - at - 1);
		memcpy(path + at, pid ? digits : "%", by);
		len = len + by - 2;
		at += by - 1;
		found |= pid;
	}
	return found;
}

/* Makes the path absolute, relative to the directory where the program was started. True if the pid
 * is in the name. */
static bool set_path(char *to, const char *path)
{
	size_t len = path ? strlen(path) : 0, dir = 0;

	if (len == 0)
		return false;
	if (path[0] != '/') {
		long n = hl_sys2(SYS_getcwd, to, HL_TAGS_PATH_MAX);

		dir = n > 1 ? (size_t)n - 1 : 0;
		to[dir++] = '/';
	}
	if (dir + len + 16 >= HL_TAGS_PATH_MAX) {
		to[0] = '\0';
		hl_print_message("this file name is too long for the counters of tags", path);
		return false;
	}
	memcpy(to + dir, path, len + 1);
	return expand_pid(to + dir);
}

/* 0: no snapshots at intervals. */
static void set_interval(uint64_t seconds)
{
	uint64_t ns = hl_min_u64(seconds, 1000000000) * NS;

	atomic_store(&out.interval_ns, ns);
	atomic_store(&out.due_ns, ns ? now_ns() + ns : 0);
}

void hl_tags_output_init(const struct hl_tags_settings *w)
{
	uint64_t seconds = 0, owner = 0;

	out.pid = out.json_pid = (uint32_t)hl_sys0(SYS_getpid);
	if (!set_path(out.json, w->stats_json) && w->stats_pid && !*parse_u64(w->stats_pid, &owner))
		out.json_pid = (uint32_t)owner;
	out.json_new = w->stats_new;
	set_path(out.dot, w->stats_dot);
	set_path(out.prefix, w->snapshot_prefix);
	if (!hl_next.foreign)
		out.mallinfo2 = (struct mallinfo2(*)(void))hl_next_find("mallinfo2");
	if (w->snapshot_interval && *parse_u64(w->snapshot_interval, &seconds)) {
		hl_print_message("HEAPLAPSE_SNAPSHOT_INTERVAL is not a number of seconds",
			w->snapshot_interval);
		seconds = 0;
	}
	if (out.prefix[0])
		set_interval(seconds);
	else if (seconds && !w->snapshot_prefix)
		hl_print_message("no snapshots are written",
			"HEAPLAPSE_SNAPSHOT_INTERVAL needs HEAPLAPSE_SNAPSHOT_PREFIX");
}

hl_export int heaplapse_impl_stats_write(const char *path);
hl_export int heaplapse_impl_stats_get(const char *path, struct heaplapse_stat *stat);
hl_export int heaplapse_impl_stats_get_sized(
	const char *path, struct heaplapse_stat *stat, size_t size);
hl_export int heaplapse_impl_memory_get(struct heaplapse_memory *memory, size_t size);
hl_export int heaplapse_impl_set_snapshot_interval(unsigned seconds);
hl_export size_t heaplapse_impl_stats_text(char *buf, size_t len);
hl_export int heaplapse_impl_snapshot_if_due(void);

/* heaplapse.h has one error code for two cases: the program is not recorded, or it is recorded in
 * another mode. */
static bool is_counting(void)
{
	return atomic_load(&hl_tags_head.running) != 0;
}

int heaplapse_impl_stats_write(const char *path)
{
	int err;

	if (!is_counting())
		return -ENOSYS;
	if (!path)
		return write_stats();
	if (!*path)
		return -EINVAL;
	if (!hl_tags_file_lock())
		return -EBUSY;
	err = write_file(path, (uint32_t)hl_sys0(SYS_getpid), choose_form(path));
	hl_tags_file_unlock();
	return err;
}

/* Copies the fields that the caller's header knows; fields that we do not know become zero. */
static void copy_sized(void *to, size_t size, const void *from, size_t ours)
{
	memcpy(to, from, hl_min_u64(size, ours));
	if (size > ours)
		memset((char *)to + ours, 0, size - ours);
}

int heaplapse_impl_stats_get_sized(const char *path, struct heaplapse_stat *stat, size_t size)
{
	struct heaplapse_stat all;
	struct hl_tag_report r;
	struct hl_tag_row sum;
	struct report_memory m;
	int err;

	if (!is_counting())
		return -ENOSYS;
	if (!path || !stat)
		return -EINVAL;
	err = capture_report(&r, &m);
	if (!err && !hl_tag_report_find(&r, path, &sum))
		err = -ENOENT;
	if (!err) {
		all = (struct heaplapse_stat){
			.self_allocated_bytes = sum.self.alloc_bytes,
			.self_allocated_blocks = sum.self.alloc_blocks,
			.self_freed_bytes = sum.self.free_bytes,
			.self_freed_blocks = sum.self.free_blocks,
			.total_allocated_bytes = sum.total.alloc_bytes,
			.total_allocated_blocks = sum.total.alloc_blocks,
			.total_freed_bytes = sum.total.free_bytes,
			.total_freed_blocks = sum.total.free_blocks,
			.entered = sum.entered,
			.malloc_calls = sum.calls[HL_TAG_MALLOC],
			.calloc_calls = sum.calls[HL_TAG_CALLOC],
			.realloc_calls = sum.calls[HL_TAG_REALLOC],
			.reallocarray_calls = sum.calls[HL_TAG_REALLOCARRAY],
			.posix_memalign_calls = sum.calls[HL_TAG_POSIX_MEMALIGN],
			.aligned_alloc_calls = sum.calls[HL_TAG_ALIGNED_ALLOC],
			.memalign_calls = sum.calls[HL_TAG_MEMALIGN],
			.new_calls = sum.calls[HL_TAG_NEW],
			.free_calls = sum.calls[HL_TAG_FREE],
			.delete_calls = sum.calls[HL_TAG_DELETE],
		};
		copy_sized(stat, size, &all, sizeof(all));
	}
	unmap_report(&m);
	return err;
}

/* For callers with a header that has no calls yet. */
int heaplapse_impl_stats_get(const char *path, struct heaplapse_stat *stat)
{
	return heaplapse_impl_stats_get_sized(
		path, stat, offsetof(struct heaplapse_stat, malloc_calls));
}

int heaplapse_impl_memory_get(struct heaplapse_memory *memory, size_t size)
{
	struct heaplapse_memory now;
	int err;

	if (!is_counting() && atomic_load(&hl_rec.phase) == HL_PHASE_OFF)
		return -ENOSYS;
	if (!memory)
		return -EINVAL;
	if (hl_rec.no_syscalls)
		return -EPERM;
	err = read_statm(&now.vm_bytes, &now.rss_bytes);
	if (!err)
		copy_sized(memory, size, &now, sizeof(now));
	return err;
}

int heaplapse_impl_set_snapshot_interval(unsigned seconds)
{
	if (!is_counting())
		return -ENOSYS;
	if (!out.prefix[0])
		return -ENOENT;
	set_interval(seconds);
	return 0;
}

/* As snprintf: returns the full length, whether or not it fits. */
size_t heaplapse_impl_stats_text(char *buf, size_t len)
{
	struct hl_text_sink s = {.buf = buf, .cap = buf && len ? len - 1 : 0};
	struct hl_tag_report r;
	struct report_memory m;

	if (capture_report(&r, &m) == 0)
		hl_tag_text(&s, &r, 0);
	if (buf && len)
		buf[s.len] = '\0';
	unmap_report(&m);
	return s.total;
}

/* 1: written, 0: not due yet, -1: it could not be written. */
int heaplapse_impl_snapshot_if_due(void)
{
	return snapshot_if_due();
}
