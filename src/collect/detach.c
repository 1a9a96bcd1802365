/* SPDX-License-Identifier: Apache-2.0 */
/* detach.c - separates the collector from the process that started it; see collector.h. */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/bits.h"
#include "collect/collector.h"

static bool is_kept(int fd, const int *keep, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (keep[i] == fd)
			return true;
	return false;
}

#define FDS_CHECKED 1024

/* Closes all other descriptors: no process may wait for the end of a pipe that the collector holds
 * open. Inherited descriptors are closed. Those that were opened in this process (by a library:
 * libunwind has a pipe) become /dev/null: their numbers must not be reused, because the owner may
 * close them later. */
static void close_other_fds(int null, const int *keep, size_t n_keep)
{
	unsigned first = FDS_CHECKED;

	for (int fd = 3; fd < FDS_CHECKED; fd++) {
		int flags = is_kept(fd, keep, n_keep) || fd == null ? -1 : fcntl(fd, F_GETFD);

		if (flags >= 0 && flags & FD_CLOEXEC)
			dup3(null, fd, O_CLOEXEC);
		else if (flags >= 0)
			close(fd);
	}
	for (size_t i = 0; i < n_keep; i++)
		first = hl_max_u32(first, (unsigned)keep[i] + 1);
	for (unsigned fd = FDS_CHECKED; fd < first; fd++)
		if (!is_kept((int)fd, keep, n_keep))
			close((int)fd);
	syscall(SYS_close_range, first, ~0u, 0);
}

void hl_collector_detach(const int *keep, size_t n_keep)
{
	static const int ignored_signals[] = {SIGINT, SIGHUP, SIGQUIT, SIGTERM, SIGTSTP, SIGPIPE,
		SIGXCPU, SIGXFSZ, SIGTTOU, SIGTTIN};
	static const int limits[] = {
		RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_CPU, RLIMIT_STACK};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (size_t i = 0; i < HL_ARRAY_LEN(ignored_signals); i++)
		signal(ignored_signals[i], SIG_IGN);
	for (size_t i = 0; i < HL_ARRAY_LEN(limits); i++) {
		struct rlimit l;

		if (getrlimit((__rlimit_resource_t)limits[i], &l) == 0) {
			l.rlim_cur = l.rlim_max;
			setrlimit((__rlimit_resource_t)limits[i], &l);
		}
	}
	setsid();
	for (int fd = 0; fd < 3; fd++)
		if (!is_kept(fd, keep, n_keep))
			dup2(null, fd);
	close_other_fds(null, keep, n_keep);
	if (null > 2)
		close(null);
	prctl(PR_SET_DUMPABLE, 0);
	umask(077);
	if (chdir("/") < 0)
		return;
}
