/* log.c - see log.h. One write a line, nothing kept open. */
#include <fcntl.h>
#include <string.h>

#include "base/fmt.h"
#include "record/arch/syscall.h"
#include "record/log.h"
#include "record/recorder.h"

static const char *file;

void hl_log_to(const char *path)
{
	file = path;
}

static char *add(char *at, const char *text)
{
	size_t n = strnlen(text, 100);

	memcpy(at, text, n);
	return at + n;
}

void hl_log(const char *what, uint64_t number)
{
	char line[200], *at = add(line, "heaplapse[");
	long fd;

	if (hl_rec.no_syscalls)
		return;
	fd = file ? hl_sys3(SYS_open, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : 2;
	at += hl_fmt_u64(at, (uint64_t)hl_sys0(SYS_gettid));
	at = add(at, "] ");
	at = add(at, what);
	*at++ = ' ';
	at += hl_fmt_u64(at, number);
	*at++ = '\n';
	if (fd < 0)
		return;
	hl_sys3(SYS_write, fd, line, at - line);
	if (file)
		hl_sys1(SYS_close, fd);
}
