/*
 * tags_out.c - what the counters say, from inside the program: to files, to a buffer, to the
 * program's own questions. At exit, when a time has passed, when the program asks.
 *
 * No stdio and no malloc: memory for a report is mapped and given back. A file is written beside
 * its place and then renamed, so that a full disk leaves the one before; what goes wrong is said
 * once.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/bits.h"
#include "base/fmt.h"
#include "heaplapse.h"
#include "record/arch/arch.h"
#include "record/arch/syscall.h"
#include "record/tags.h"
#include "tags/capture.h"
#include "tags/sink.h"

#define PATH_BYTES 4096
#define MAPPINGS   8
#define NS         UINT64_C(1000000000)

static struct {
	char json[PATH_BYTES], dot[PATH_BYTES], prefix[PATH_BYTES];
	uint32_t pid; /* of the program itself, not of its fork children */
	uint64_t interval_ns;
	_Atomic uint64_t due_ns;
	_Atomic uint32_t number; /* of the next snapshot */
	_Atomic uint32_t writing;
	_Atomic bool told;
	struct mallinfo2 (*mallinfo2)(void);
} out;

/* The memory of one report. */
struct memory {
	void *at[MAPPINGS];
	size_t size[MAPPINGS];
	int n;
};

static void *more(void *arg, size_t bytes)
{
	struct memory *m = arg;
	size_t size = hl_align_up(bytes, 4096);
	void *p = m->n < MAPPINGS && !hl_rec.no_syscalls ? hl_arch_map(size) : NULL;

	if (!p)
		return NULL;
	m->at[m->n] = p;
	m->size[m->n++] = size;
	return p;
}

static void give_back(struct memory *m)
{
	while (m->n-- > 0)
		hl_arch_unmap(m->at[m->n], m->size[m->n]);
}

/* Word by word in order, as layout.h wants it. */
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

uint64_t hl_tags_in_use(void)
{
	struct mallinfo2 m;

	if (!out.mallinfo2)
		return 0;
	m = out.mallinfo2();
	return m.uordblks + m.hblkhd;
}

static void ask_allocator(struct hl_tag_report *r)
{
	struct mallinfo2 m;

	if (!out.mallinfo2)
		return;
	m = out.mallinfo2();
	r->allocator_known = true;
	r->used_bytes = m.uordblks;
	r->free_bytes = m.fordblks;
	r->mapped_bytes = m.hblkhd;
}

static const char *parse(const char *s, uint64_t *n)
{
	for (*n = 0; *s >= '0' && *s <= '9'; s++)
		*n = *n * 10 + (uint64_t)(*s - '0');
	return *s ? s + 1 : s;
}

static void ask_kernel(struct hl_tag_report *r)
{
	char text[128];
	long fd = hl_sys4(SYS_openat, AT_FDCWD, "/proc/self/statm", O_RDONLY | O_CLOEXEC, 0), n;

	if (fd < 0)
		return;
	n = hl_sys3(SYS_read, fd, text, sizeof(text) - 1);
	hl_sys1(SYS_close, fd);
	text[n > 0 ? n : 0] = '\0';
	parse(parse(text, &r->vm_bytes), &r->rss_bytes);
	r->vm_bytes *= 4096;
	r->rss_bytes *= 4096;
}

static int capture(struct hl_tag_report *r, struct memory *m)
{
	struct hl_tags_source source = {
		.read = read_own, .more = more, .arg = m, .in_place = true, .tries = 100000};
	struct timespec now = {0};
	int err;

	*r = (struct hl_tag_report){0};
	*m = (struct memory){0};
	if (hl_rec.no_syscalls)
		return -EPERM;
	err = hl_tags_capture(&source, (uintptr_t)&hl_tags_head, r);
	if (err)
		return err;
	hl_sys2(SYS_clock_gettime, CLOCK_REALTIME, &now);
	r->time_s = now.tv_sec;
	r->pid = (uint64_t)hl_sys0(SYS_getpid);
	ask_kernel(r);
	ask_allocator(r);
	return 0;
}

struct file {
	int fd;
	char room[4096];
};

static int flush(struct hl_sink *s)
{
	struct file *f = s->arg;

	for (size_t at = 0; at < s->len;) {
		long n = hl_sys3(SYS_write, f->fd, s->room + at, s->len - at);

		if (n < 0 && n != -EINTR)
			return (int)n;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

typedef void (*form_fn)(struct hl_sink *s, const struct hl_tag_report *r);

static void put_text(struct hl_sink *s, const struct hl_tag_report *r)
{
	hl_tag_text(s, r, 0);
}

static bool ends_in(const char *path, const char *suffix)
{
	size_t n = strlen(path), k = strlen(suffix);

	return n >= k && !memcmp(path + n - k, suffix, k);
}

static form_fn form_of(const char *path)
{
	return ends_in(path, ".dot") || ends_in(path, ".gv") ? hl_tag_dot
	       : ends_in(path, ".txt")                       ? put_text
							     : hl_tag_json;
}

static int write_to(const char *path, int flags, const struct hl_tag_report *r, form_fn form)
{
	long fd = hl_sys4(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC | flags, 0600), closed;
	struct file f = {.fd = (int)fd};
	struct hl_sink s = {.room = f.room, .cap = sizeof(f.room), .flush = flush, .arg = &f};
	int err;

	if (fd < 0)
		return (int)fd;
	form(&s, r);
	err = hl_sink_end(&s);
	closed = hl_sys1(SYS_close, fd);
	return err ? err : (int)closed;
}

/* Is there something that is no plain file, a pipe or a terminal? */
static bool is_special(const char *path)
{
	struct statx st = {0};

	return hl_sys5(SYS_statx, AT_FDCWD, path, 0, STATX_TYPE, &st) == 0 && !S_ISREG(st.stx_mode);
}

static int replace(const char *path, const struct hl_tag_report *r, form_fn form)
{
	char part[PATH_BYTES + 8];
	size_t len = strlen(path);
	int err;

	if (is_special(path))
		return write_to(path, 0, r, form);
	if (len >= PATH_BYTES)
		return -ENAMETOOLONG;
	memcpy(part, path, len);
	memcpy(part + len, ".part", 6);
	err = write_to(part, O_CREAT | O_TRUNC | O_NOFOLLOW, r, form);
	if (!err)
		err = (int)hl_sys4(SYS_renameat, AT_FDCWD, part, AT_FDCWD, path);
	if (err)
		hl_sys3(SYS_unlinkat, AT_FDCWD, part, 0);
	return err;
}

/* A limit on file sizes and a pipe without a reader would be signals: the program's are not ours to
 * cause. */
struct hushed {
	uint64_t mask, before, pending;
};

static void hush(struct hushed *h)
{
	h->mask = UINT64_C(1) << (SIGPIPE - 1) | UINT64_C(1) << (SIGXFSZ - 1);
	h->pending = 0;
	hl_sys4(SYS_rt_sigprocmask, SIG_BLOCK, &h->mask, &h->before, sizeof(h->before));
	hl_sys2(SYS_rt_sigpending, &h->pending, sizeof(h->pending));
}

static void unhush(struct hushed *h)
{
	uint64_t now = 0, ours;
	struct timespec none = {0};

	hl_sys2(SYS_rt_sigpending, &now, sizeof(now));
	ours = now & h->mask & ~h->pending;
	for (int i = 0; i < 2 && ours; i++)
		hl_sys4(SYS_rt_sigtimedwait, &ours, NULL, &none, sizeof(ours));
	hl_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &h->before, NULL, sizeof(h->before));
}

static const char *reason(int err)
{
	switch (-err) {
	case ENOSPC:
	case EDQUOT:
		return "the disk is full";
	case EACCES:
	case EPERM:
	case EROFS:
		return "it may not be written there";
	case ENOENT:
	case ENOTDIR:
		return "there is no such folder";
	case EFBIG:
		return "it would be larger than RLIMIT_FSIZE";
	case ENOMEM:
		return "memory is short";
	default:
		return "writing failed";
	}
}

/* One thread at a time; another finds it busy and goes on. */
static int write_file(const char *path, form_fn form)
{
	struct hl_tag_report r;
	struct memory m = {0};
	struct hushed h;
	int err;

	if (atomic_exchange(&out.writing, 1))
		return -EBUSY;
	err = capture(&r, &m);
	if (!err) {
		hush(&h);
		err = replace(path, &r, form);
		unhush(&h);
	}
	give_back(&m);
	atomic_store(&out.writing, 0);
	if (err && err != -EBUSY && err != -ENODATA && !atomic_exchange(&out.told, true))
		hl_life_message4("the tags' numbers are not written to ", path, ": ", reason(err));
	return err;
}

/* A fork child writes beside its parent: its pid comes before the suffix. */
static void place_of(char *to, const char *path)
{
	uint32_t pid = (uint32_t)hl_sys0(SYS_getpid);
	size_t len = strlen(path), dot = len;
	char digits[24];
	size_t n;

	if (pid == out.pid || is_special(path)) {
		memcpy(to, path, len + 1);
		return;
	}
	for (size_t i = len; i > 0 && path[i - 1] != '/'; i--)
		if (path[i - 1] == '.') {
			dot = i - 1;
			break;
		}
	n = hl_fmt_u64(digits, pid);
	memcpy(to, path, dot);
	to[dot] = '.';
	memcpy(to + dot + 1, digits, n);
	memcpy(to + dot + 1 + n, path + dot, len - dot + 1);
}

static int write_placed(const char *path, form_fn form)
{
	char placed[PATH_BYTES + 32];

	place_of(placed, path);
	return write_file(placed, form);
}

/* PREFIX.0000.json and PREFIX.0000.dot */
static int write_snapshot(void)
{
	uint32_t number = atomic_fetch_add(&out.number, 1);
	char path[PATH_BYTES + 32];
	size_t len = strlen(out.prefix);
	int err, second;

	memcpy(path, out.prefix, len);
	path[len++] = '.';
	for (uint32_t unit = 1000; unit > 1 && number < unit; unit /= 10)
		path[len++] = '0';
	len += hl_fmt_u64(path + len, number);
	memcpy(path + len, ".json", 6);
	err = write_placed(path, hl_tag_json);
	memcpy(path + len, ".dot", 5);
	second = write_placed(path, hl_tag_dot);
	return err ? err : second;
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

	if (!due || hl_rec.no_syscalls)
		return 0;
	now = now_ns();
	if (now < due || !atomic_compare_exchange_strong(&out.due_ns, &due, now + out.interval_ns))
		return 0;
	return write_snapshot() ? -1 : 1;
}

hl_cold void hl_tags_tick(void)
{
	if (atomic_load_explicit(&out.due_ns, memory_order_relaxed))
		snapshot_if_due();
}

void hl_tags_snapshot(void)
{
	if (out.prefix[0] && atomic_load(&hl_tags_head.running))
		write_snapshot();
}

void hl_tags_at_exit(void)
{
	static bool done;

	/* A vfork child ends in our memory, but it is not our end. A fork child's page is wiped. */
	if (done || hl_rec.no_syscalls || !atomic_load(&hl_tags_head.running) ||
		((uint32_t)hl_sys0(SYS_getpid) != hl_rec.pid && atomic_load(&hl_alive.ours)))
		return;
	done = true;
	if (out.json[0])
		write_placed(out.json, hl_tag_json);
	if (out.dot[0])
		write_placed(out.dot, hl_tag_dot);
}

/* From where the program was started, wherever it goes later. */
static void take_path(char *to, const char *path)
{
	size_t len = path ? strlen(path) : 0, dir = 0;

	if (len == 0)
		return;
	if (path[0] != '/') {
		long n = hl_sys2(SYS_getcwd, to, PATH_BYTES);

		dir = n > 1 ? (size_t)n - 1 : 0;
		to[dir++] = '/';
	}
	if (dir + len + 16 >= PATH_BYTES) {
		to[0] = '\0';
		hl_life_message("this name is too long for the tags' numbers", path);
		return;
	}
	memcpy(to + dir, path, len + 1);
}

void hl_tags_out_init(const struct hl_tags_wishes *w)
{
	uint64_t seconds = 0;

	out.pid = (uint32_t)hl_sys0(SYS_getpid);
	take_path(out.json, w->stats_json);
	take_path(out.dot, w->stats_dot);
	take_path(out.prefix, w->snapshot_prefix);
	if (!hl_real.foreign)
		out.mallinfo2 = (struct mallinfo2(*)(void))hl_real_find("mallinfo2");
	if (w->snapshot_interval && *parse(w->snapshot_interval, &seconds)) {
		hl_life_message("HEAPLAPSE_SNAPSHOT_INTERVAL is not a number of seconds",
			w->snapshot_interval);
		seconds = 0;
	}
	out.interval_ns = hl_min_u64(seconds, 1000000000) * NS;
	if (out.interval_ns && out.prefix[0])
		atomic_store(&out.due_ns, now_ns() + out.interval_ns);
}

hl_export int heaplapse_impl_stats_write(const char *path);
hl_export int heaplapse_impl_stats_get(const char *path, struct heaplapse_stat *stat);
hl_export size_t heaplapse_impl_stats_text(char *buf, size_t len);
hl_export int heaplapse_impl_snapshot_if_due(void);

int heaplapse_impl_stats_write(const char *path)
{
	int err = -ENOENT, second;

	if (path && *path)
		return write_file(path, form_of(path));
	if (out.json[0])
		err = write_placed(out.json, hl_tag_json);
	if (out.dot[0]) {
		second = write_placed(out.dot, hl_tag_dot);
		err = err && err != -ENOENT ? err : second;
	}
	return err;
}

int heaplapse_impl_stats_get(const char *path, struct heaplapse_stat *stat)
{
	struct hl_tag_report r;
	struct hl_tag_row sum;
	struct memory m;
	int err = capture(&r, &m);

	if (!err && !hl_tag_report_find(&r, path, &sum))
		err = -ENOENT;
	if (!err)
		*stat = (struct heaplapse_stat){
			.self_allocated_bytes = sum.self.alloc_bytes,
			.self_allocated_blocks = sum.self.alloc_blocks,
			.self_freed_bytes = sum.self.free_bytes,
			.self_freed_blocks = sum.self.free_blocks,
			.total_allocated_bytes = sum.total.alloc_bytes,
			.total_allocated_blocks = sum.total.alloc_blocks,
			.total_freed_bytes = sum.total.free_bytes,
			.total_freed_blocks = sum.total.free_blocks,
			.entered = sum.entered,
		};
	give_back(&m);
	return err;
}

/* As snprintf: how long it is, whether or not it fits. */
size_t heaplapse_impl_stats_text(char *buf, size_t len)
{
	struct hl_sink s = {.room = buf, .cap = len ? len - 1 : 0};
	struct hl_tag_report r;
	struct memory m;

	if (capture(&r, &m) == 0)
		hl_tag_text(&s, &r, 0);
	if (len)
		buf[s.len] = '\0';
	give_back(&m);
	return s.total;
}

/* 1: written, 0: not yet, -1: it could not be written. */
int heaplapse_impl_snapshot_if_due(void)
{
	return snapshot_if_due();
}
