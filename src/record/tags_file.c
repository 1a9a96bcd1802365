/*
 * tags_file.c - a report of tags to a file, from inside the program.
 *
 * No stdio and no malloc, and little stack: the calling thread may have a small one, so what is
 * large lies in static memory, which one thread has at a time. A file is written beside its place
 * and then renamed, so that a full disk leaves the one before; what goes wrong is said once.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fmt.h"
#include "record/arch/syscall.h"
#include "record/tags_file.h"
#include "tags/sink.h"

#define SUFFIX_BYTES 64 /* what is added to a path at most */

static struct {
	_Atomic uint32_t owner; /* the process that writes; a fork child's copy means nobody */
	_Atomic bool told;
	char room[4096];
	char place[HL_TAGS_PATH + SUFFIX_BYTES], part[HL_TAGS_PATH + SUFFIX_BYTES];
} file;

bool hl_tags_file_lock(void)
{
	uint32_t pid = (uint32_t)hl_sys0(SYS_getpid), owner = atomic_load(&file.owner);

	return owner != pid && atomic_compare_exchange_strong(&file.owner, &owner, pid);
}

void hl_tags_file_unlock(void)
{
	atomic_store(&file.owner, 0);
}

static int flush(struct hl_sink *s)
{
	int fd = *(int *)s->arg;

	for (size_t at = 0; at < s->len;) {
		long n = hl_sys3(SYS_write, fd, s->room + at, s->len - at);

		if (n < 0 && n != -EINTR)
			return (int)n;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int write_to(const char *path, int flags, const struct hl_tag_report *r, hl_tags_form form)
{
	long fd = hl_sys4(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC | flags, 0600), closed;
	int out = (int)fd, err;
	struct hl_sink s = {
		.room = file.room, .cap = sizeof(file.room), .flush = flush, .arg = &out};

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

/* A link is not followed: it may be another user's, or /dev/stdout, and renaming would replace it. */
static bool is_link(const char *path)
{
	struct statx st = {0};

	return hl_sys5(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) == 0 &&
	       S_ISLNK(st.stx_mode);
}

bool hl_tags_file_exists(const char *path)
{
	struct statx st = {0};

	return !is_special(path) &&
	       hl_sys5(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) == 0;
}

static int replace(const char *path, const struct hl_tag_report *r, hl_tags_form form)
{
	char *part = file.part;
	size_t len = strlen(path);
	int err;

	if (is_special(path))
		return write_to(path, 0, r, form);
	if (is_link(path))
		return -ELOOP;
	if (len + sizeof(".part") > sizeof(file.part))
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
	case ELOOP:
		return "it is a symbolic link to a plain file, which is not followed";
	case EFBIG:
		return "it would be larger than RLIMIT_FSIZE";
	case ENOMEM:
		return "memory is short";
	default:
		return "writing failed";
	}
}

/* A fork child writes beside its parent: its pid comes before the suffix. */
static int place_of(char *to, const char *path, uint32_t own_pid)
{
	uint32_t pid = (uint32_t)hl_sys0(SYS_getpid);
	size_t len = strlen(path), dot = len;
	char digits[24];
	size_t n;

	if (len + sizeof(digits) + 1 > sizeof(file.place))
		return -ENAMETOOLONG;
	if (pid == own_pid || is_special(path)) {
		memcpy(to, path, len + 1);
		return 0;
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
	return 0;
}

int hl_tags_file_write(
	const char *path, uint32_t own_pid, const struct hl_tag_report *r, hl_tags_form form)
{
	int err = place_of(file.place, path, own_pid);
	struct hushed h;

	if (!err) {
		hush(&h);
		err = replace(file.place, r, form);
		unhush(&h);
	}
	return err;
}

void hl_tags_file_complain(const char *path, int err)
{
	if (!atomic_exchange(&file.told, true))
		hl_life_message4("the tags' numbers are not written to ", path, ": ", reason(err));
}
