/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tags_file.c - writes a report of tags to a file, from inside the program.
 *
 * No stdio, no malloc, and little stack, because the calling thread may have a small one: large
 * buffers are in static memory, which one thread uses at a time. A file is written under a
 * temporary name next to its final one and then renamed, so a full disk leaves the previous file
 * intact. An error is reported once.
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
#include "record/tags/tags_file.h"
#include "record/session/lifecycle.h"
#include "tags/text_sink.h"

#define SUFFIX_BYTES 64 /* the most that is appended to a path */

static struct {
	_Atomic uint32_t owner; /* pid of the process that holds the lock; a value copied into a
				   fork child counts as unlocked */
	_Atomic bool reported;
	char room[4096];
	char path[HL_TAGS_PATH_MAX + SUFFIX_BYTES], part[HL_TAGS_PATH_MAX + SUFFIX_BYTES];
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

static int flush_to_fd(struct hl_text_sink *s)
{
	int fd = *(int *)s->arg;

	for (size_t at = 0; at < s->len;) {
		long n = hl_sys3(SYS_write, fd, s->buf + at, s->len - at);

		if (n < 0 && n != -EINTR)
			return (int)n;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int write_report(
	const char *path, int flags, const struct hl_tag_report *r, hl_tags_format_fn form)
{
	long fd = hl_sys4(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC | flags, 0600), closed;
	int out = (int)fd, err;
	struct hl_text_sink s = {
		.buf = file.room, .cap = sizeof(file.room), .flush = flush_to_fd, .arg = &out};

	if (fd < 0)
		return (int)fd;
	form(&s, r);
	err = hl_text_sink_end(&s);
	closed = hl_sys1(SYS_close, fd);
	return err ? err : (int)closed;
}

/* True if there is something that is not a regular file: a pipe or a terminal. */
static bool is_special(const char *path)
{
	struct statx st = {0};

	return hl_sys5(SYS_statx, AT_FDCWD, path, 0, STATX_TYPE, &st) == 0 && !S_ISREG(st.stx_mode);
}

/* A link is not followed: it may be another user's, or /dev/stdout, and renaming would
 * replace it. */
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

static int replace_file(const char *path, const struct hl_tag_report *r, hl_tags_format_fn form)
{
	char *part = file.part;
	size_t len = strlen(path);
	int err;

	if (is_special(path))
		return write_report(path, 0, r, form);
	if (is_link(path))
		return -ELOOP;
	if (len + sizeof(".part") > sizeof(file.part))
		return -ENAMETOOLONG;
	memcpy(part, path, len);
	memcpy(part + len, ".part", 6);
	err = write_report(part, O_CREAT | O_TRUNC | O_NOFOLLOW, r, form);
	if (!err)
		err = (int)hl_sys4(SYS_renameat, AT_FDCWD, part, AT_FDCWD, path);
	if (err)
		hl_sys3(SYS_unlinkat, AT_FDCWD, part, 0);
	return err;
}

/* A file size limit and a pipe without a reader would raise signals, which must not reach the
 * program. */
struct blocked_signals {
	uint64_t mask, before, pending;
};

static void block_signals(struct blocked_signals *h)
{
	h->mask = UINT64_C(1) << (SIGPIPE - 1) | UINT64_C(1) << (SIGXFSZ - 1);
	h->pending = 0;
	hl_sys4(SYS_rt_sigprocmask, SIG_BLOCK, &h->mask, &h->before, sizeof(h->before));
	hl_sys2(SYS_rt_sigpending, &h->pending, sizeof(h->pending));
}

static void unblock_signals(struct blocked_signals *h)
{
	uint64_t now = 0, ours;
	struct timespec none = {0};

	hl_sys2(SYS_rt_sigpending, &now, sizeof(now));
	ours = now & h->mask & ~h->pending;
	for (int i = 0; i < 2 && ours; i++)
		hl_sys4(SYS_rt_sigtimedwait, &ours, NULL, &none, sizeof(ours));
	hl_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &h->before, NULL, sizeof(h->before));
}

static const char *error_text(int err)
{
	switch (-err) {
	case ENOSPC:
	case EDQUOT:
		return "the disk is full";
	case EACCES:
	case EPERM:
	case EROFS:
		return "permission denied";
	case ENOENT:
	case ENOTDIR:
		return "there is no such directory";
	case ELOOP:
		return "it is a symbolic link to a regular file, which is not followed";
	case EFBIG:
		return "it would be larger than RLIMIT_FSIZE";
	case ENOMEM:
		return "out of memory";
	default:
		return "writing failed";
	}
}

/* A fork child writes next to its parent's file: its pid is inserted before the suffix. */
static int choose_path(char *to, const char *path, uint32_t own_pid)
{
	uint32_t pid = (uint32_t)hl_sys0(SYS_getpid);
	size_t len = strlen(path), dot = len;
	char digits[24];
	size_t n;

	if (len + sizeof(digits) + 1 > sizeof(file.path))
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
	const char *path, uint32_t own_pid, const struct hl_tag_report *r, hl_tags_format_fn form)
{
	int err = choose_path(file.path, path, own_pid);
	struct blocked_signals h;

	if (!err) {
		block_signals(&h);
		err = replace_file(file.path, r, form);
		unblock_signals(&h);
	}
	return err;
}

void hl_tags_file_report_error(const char *path, int err)
{
	if (!atomic_exchange(&file.reported, true))
		hl_print_message4(
			"the counters of tags are not written to ", path, ": ", error_text(err));
}
