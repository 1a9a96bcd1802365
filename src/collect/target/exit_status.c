/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit_status.c - see exit_status.h. The collector is not the parent of its targets, so the status
 * comes from other sources: /proc while the dead process is not yet reaped, the pidfd afterwards
 * (Linux 6.15), and the program's own announcement of its exit.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/target/exit_status.h"
#include "util/procfs.h"

/* The part of the kernel's struct pidfd_info that is needed; the headers of Debian 12 do not have
 * it. */
struct pidfd_info {
	uint64_t mask, cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};
#define GET_INFO  _IOWR(0xff, 11, struct pidfd_info)
#define INFO_EXIT (1u << 3)

#define KERNEL_THREAD 0x00200000u /* PF_KTHREAD in /proc/PID/stat */

bool hl_exit_status_is_dead(int pidfd, uint64_t pid)
{
	struct pollfd fd = {.fd = pidfd, .events = POLLIN};

	if (pidfd >= 0)
		return poll(&fd, 1, 0) == 1;
	return kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

bool hl_exit_status_is_zombie(uint64_t pid)
{
	char text[2048], *at = hl_procfs_stat(pid, text, sizeof(text));

	return at && at[0] == 'Z';
}

void hl_exit_status_decode(int status, struct hl_end *end)
{
	if (WIFSIGNALED(status)) {
		end->kind = HL_END_SIGNAL;
		end->value = WTERMSIG(status);
	} else {
		end->kind = HL_END_EXIT;
		end->value = WEXITSTATUS(status);
	}
}

/* The exit code of a zombie: the last field of /proc/PID/stat. It is 0 when we may not read it. */
static bool read_zombie_status(const struct hl_target *p, int *status)
{
	char text[2048], *at = hl_procfs_stat(p->pid, text, sizeof(text));

	if (!at || at[0] != 'Z')
		return false;
	at = strrchr(text, ' ');
	*status = at ? atoi(at) : 0;
	return *status != 0 || p->match.has_exit; /* 0 is also what unprivileged readers get */
}

static struct hl_end announced_exit(const struct hl_target *p)
{
	return (struct hl_end){.kind = HL_END_EXIT, .value = p->match.exit_status & 0xff};
}

bool hl_exit_status_known(const struct hl_target *p, struct hl_end *end)
{
	struct pidfd_info info = {.mask = INFO_EXIT};
	int status;

	if (p->match.execing) {
		/* Whatever ended after that was another program. */
		end->kind = HL_END_EXEC;
		end->value = 0;
		return true;
	}
	if (p->exit.end_known) {
		*end = p->exit.end;
		return true;
	}
	if (p->match.has_exit && !p->exit.gone) {
		/* It waits at its exit, perhaps without its main thread, which is then a zombie. */
		*end = announced_exit(p);
		return true;
	}
	if (p->pidfd >= 0 && ioctl(p->pidfd, GET_INFO, &info) == 0 && (info.mask & INFO_EXIT)) {
		hl_exit_status_decode(info.exit_code, end);
		return true;
	}
	if (!p->pid_unknown && read_zombie_status(p, &status)) {
		hl_exit_status_decode(status, end);
		return true;
	}
	if (p->match.has_exit) {
		*end = announced_exit(p);
		return true;
	}
	end->kind = HL_END_LOST;
	end->value = 0;
	return false;
}

/* True if the process maps the file. *any: it maps anything at all. */
static bool maps_file(uint64_t pid, int memfd, bool *any)
{
	char line[512];
	struct stat st;
	bool found = false;
	FILE *f;

	*any = false;
	if (fstat(memfd, &st) < 0)
		return false;
	f = hl_procfs_fopen(pid, "maps");
	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f)) {
		unsigned long long inode;

		*any = true;
		found = sscanf(line, "%*s %*s %*s %*s %llu", &inode) == 1 && inode == st.st_ino &&
			strstr(line, "memfd:heaplapse");
	}
	fclose(f);
	return found;
}

bool hl_exit_status_has_execed(const struct hl_target *p, int memfd)
{
	bool any, found = maps_file(p->pid, memfd, &any);

	return any && !found; /* an exiting process maps nothing */
}

/* Low pids, as in namespaces, are outside those of kernel threads. */
static bool is_kernel_thread(uint64_t pid)
{
	char text[512], *at = hl_procfs_stat(pid, text, sizeof(text));
	unsigned flags = 0;

	/* state ppid pgrp session tty tpgid flags */
	return at && sscanf(at, "%*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       (flags & KERNEL_THREAD);
}

/* The pid of a process in its innermost namespace: the last number of the line. */
static uint64_t namespace_pid(uint64_t pid)
{
	FILE *f = hl_procfs_fopen(pid, "status");
	char line[512];
	uint64_t own = 0;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "NSpid:", 6)) {
			const char *last = strrchr(line, '\t');

			own = last ? strtoull(last, NULL, 10) : 0;
			break;
		}
	if (f)
		fclose(f);
	return own;
}

static uint64_t find_in_list(const char *path, uint64_t pid)
{
	FILE *f = fopen(path, "re");
	unsigned long long child;
	uint64_t found = 0;

	while (f && !found && fscanf(f, "%llu", &child) == 1)
		if (namespace_pid(child) == pid)
			found = child;
	if (f)
		fclose(f);
	return found;
}

uint64_t hl_exit_status_find_child(uint64_t parent, uint64_t pid, int memfd)
{
	char path[300];
	struct dirent *entry;
	uint64_t found = 0;
	DIR *tasks;
	bool any;

	snprintf(path, sizeof(path), "/proc/%llu/task", (unsigned long long)parent);
	tasks = parent ? opendir(path) : NULL;
	while (tasks && !found && (entry = readdir(tasks))) {
		snprintf(path, sizeof(path), "/proc/%llu/task/%.20s/children",
			(unsigned long long)parent, entry->d_name);
		found = find_in_list(path, pid);
	}
	if (tasks)
		closedir(tasks);
	return found && maps_file(found, memfd, &any) ? found : 0;
}

bool hl_exit_status_is_reused_pid(uint64_t pid, int memfd)
{
	bool any, found;

	errno = 0;
	found = maps_file(pid, memfd, &any);
	/* A process that we may not inspect is unlikely to be a child of a target. An exiting
	 * process maps nothing, and neither does a kernel thread. */
	return !found && (any || errno == EACCES || errno == EPERM || is_kernel_thread(pid));
}
