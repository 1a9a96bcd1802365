/* SPDX-License-Identifier: Apache-2.0 */
/* debug_log.c - see debug_log.h. One write per line, nothing is kept open. */
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fmt.h"
#include "record/arch/syscall.h"
#include "record/session/debug_log.h"
#include "record/session/recorder.h"

#define WHAT_MAX 160u

uint32_t hl_debug_log_level;
static char log_file[HL_LOG_PATH_MAX];

void hl_debug_log_begin(uint32_t level, const char *path)
{
	size_t len = strnlen(path, sizeof(log_file) - 1);

	memcpy(log_file, path, len);
	log_file[len] = '\0';
	hl_debug_log_level = level;
}

/* A closed stderr or a file size limit must not kill the program. */
void hl_debug_log_write(long fd, const struct iovec *line, size_t n)
{
	uint64_t pipe = UINT64_C(1) << (SIGPIPE - 1), large = UINT64_C(1) << (SIGXFSZ - 1);
	uint64_t both = pipe | large, before, pending = 0, ours = 0;
	struct timespec none = {0};
	long err;

	hl_sys4(SYS_rt_sigprocmask, SIG_BLOCK, &both, &before, sizeof(before));
	hl_sys2(SYS_rt_sigpending, &pending, sizeof(pending));
	err = hl_sys3(SYS_writev, fd, line, n);
	if (err == -EPIPE)
		ours = pipe & ~pending;
	if (err == -EFBIG)
		ours = large & ~pending;
	if (ours)
		hl_sys4(SYS_rt_sigtimedwait, &ours, NULL, &none, sizeof(ours));
	hl_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
}

static bool is_regular(long fd)
{
	struct statx st;

	return hl_sys5(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) == 0 &&
	       S_ISREG(st.stx_mode);
}

/* Opens the file that the collector created, if it still exists. */
static long open_log_file(void)
{
	long fd = hl_sys4(SYS_openat, AT_FDCWD, log_file,
		O_WRONLY | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0);

	if (fd < 0 || is_regular(fd))
		return fd;
	hl_sys1(SYS_close, fd);
	return -EEXIST;
}

static char *append_text(char *at, const char *text)
{
	size_t n = strnlen(text, WHAT_MAX);

	memcpy(at, text, n);
	return at + n;
}

static char *append_number(char *at, uint64_t n)
{
	return at + hl_fmt_u64(at, n);
}

/* "heaplapse: SECONDS.MILLISECONDS PID TID INF recorder: what number" */
static size_t make_line(char *line, enum hl_level level, const char *what, uint64_t number)
{
	struct timespec now = {0};
	char *at = append_text(line, "heaplapse: ");

	hl_sys2(SYS_clock_gettime, CLOCK_REALTIME, &now);
	at = append_number(at, (uint64_t)now.tv_sec);
	*at++ = '.';
	for (long unit = 100000000; unit >= 1000000; unit /= 10)
		*at++ = (char)('0' + now.tv_nsec / unit % 10);
	*at++ = ' ';
	at = append_number(at, (uint64_t)hl_sys0(SYS_getpid));
	*at++ = ' ';
	at = append_number(at, (uint64_t)hl_sys0(SYS_gettid));
	*at++ = ' ';
	at = append_text(at, hl_level_mark(level));
	at = append_text(at, " recorder: ");
	at = append_text(at, what);
	*at++ = ' ';
	at = append_number(at, number);
	*at++ = '\n';
	return (size_t)(at - line);
}

hl_cold hl_noinline void hl_debug_log_line(enum hl_level level, const char *what, uint64_t number)
{
	char line[WHAT_MAX + 140];
	struct iovec all = {.iov_base = line};
	long fd;

	if (hl_rec.no_syscalls)
		return;
	fd = log_file[0] ? open_log_file() : 2;
	if (fd < 0)
		return;
	all.iov_len = make_line(line, level, what, number);
	hl_debug_log_write(fd, &all, 1);
	if (log_file[0])
		hl_sys1(SYS_close, fd);
}
