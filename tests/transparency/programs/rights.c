/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rights.c - changes its privileges or its environment, then allocates: 1500 blocks of 1000 bytes
 * before, 1500 of 2000 after, and 1500 of 3000 in a child. All are freed.
 *
 *	rights chroot|uid|mounts|users|pids|subreaper|dumpable|no-new-privs|mlockall
 *
 * Exits with 50, or with 77 if the change is not permitted. A subreaper must see only its own
 * children.
 */
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void allocate_blocks(size_t size)
{
	for (int i = 0; i < 150; i++) {
		void *blocks[10];

		for (int k = 0; k < 10; k++)
			blocks[k] = malloc(size);
		for (int k = 0; k < 10; k++)
			free(blocks[k]);
	}
}

static int change_rights(const char *way)
{
	struct rlimit little = {8 << 20, 8 << 20};

	if (!strcmp(way, "chroot"))
		return chroot(".") || chdir("/") || access("/bin", F_OK) == 0;
	if (!strcmp(way, "uid"))
		return setgroups(0, NULL) || setresgid(65534, 65534, 65534) ||
		       setresuid(65534, 65534, 65534);
	if (!strcmp(way, "mounts"))
		return unshare(CLONE_NEWNS);
	if (!strcmp(way, "users"))
		return unshare(CLONE_NEWUSER); /* only with one thread */
	if (!strcmp(way, "pids"))
		return unshare(CLONE_NEWPID);
	if (!strcmp(way, "subreaper"))
		return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (!strcmp(way, "dumpable"))
		return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (!strcmp(way, "no-new-privs"))
		return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!strcmp(way, "mlockall")) /* as root there is no limit; others may lock 8 MiB */
		return mlockall(MCL_FUTURE) || setrlimit(RLIMIT_MEMLOCK, &little);
	return -1;
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	allocate_blocks(1000);
	if (change_rights(argv[1]))
		return errno == EPERM ? 77 : 99;
	allocate_blocks(2000);
	pid = fork();
	if (pid == 0) {
		allocate_blocks(3000);
		usleep(100000); /* long enough to be observed */
		_exit(51);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 51)
		return 98;
	return waitpid(-1, &status, 0) == -1 && errno == ECHILD ? 50 : 97;
}
