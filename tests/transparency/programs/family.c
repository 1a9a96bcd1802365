/* SPDX-License-Identifier: Apache-2.0 */
/*
 * family.c - creates children in the way that its argument names. Every process allocates blocks of
 * a distinct size, which identifies its trace: the first 100 of 1000 bytes, its child 200 of 2000,
 * a grandchild 300 of 3000. A child also frees 10 blocks of its parent. No stdio.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heaplapse.h"

extern char **environ;
static void *inherited[10];
static char *self;

static void allocate_blocks(int n, size_t size)
{
	for (int i = 0; i < n; i++) {
		void *p = malloc(size);

		if (i < 10)
			inherited[i] = p;
		else
			free(p);
	}
}

static void free_inherited(void)
{
	for (int i = 0; i < 10; i++)
		free(inherited[i]);
}

static void run_child(void)
{
	free_inherited();
	allocate_blocks(200, 2000);
}

static int wait_for_status(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int with_fork(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		run_child();
		exit(21);
	}
	return wait_for_status(pid);
}

static int with_raw_fork(void)
{
	pid_t pid = (pid_t)syscall(SYS_fork);

	if (pid == 0) {
		run_child();
		_exit(22);
	}
	return wait_for_status(pid);
}

static int with_raw_clone(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0) {
		run_child();
		_exit(23);
	}
	return wait_for_status(pid);
}

static int run_cloned(void *arg)
{
	run_child();
	usleep(100000); /* glibc ends it by its own system call: the collector must have seen it
			   before */
	return 24;
}

static int with_clone(void)
{
	char *stack = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	return wait_for_status(clone(run_cloned, stack + (1 << 20), SIGCHLD, NULL));
}

static void on_new_stack(void)
{
	_exit(32);
}

/*
 * The child returns from the call on a new stack that holds the return address: the frame of a
 * function in between would have to be on it, too.
 */
static int with_raw_stack(void)
{
	static void *stack[8192];

	stack[8190] = (void *)on_new_stack;
	return wait_for_status((pid_t)syscall(
		SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, &stack[8190], NULL, NULL, NULL));
}

static int with_vfork(void)
{
	volatile pid_t pid = vfork();

	if (pid == 0) {
		allocate_blocks(5, 50); /* in the parent's memory: these are the parent's events */
		execl(self, self, "leaf", (char *)NULL);
		_exit(127);
	}
	return wait_for_status(pid);
}

static int with_vfork_exit(void)
{
	volatile pid_t pid = vfork();

	if (pid == 0)
		_exit(25);
	if (wait_for_status(pid) != 25)
		return 1;
	kill(getpid(), SIGKILL); /* not an exit with 25 */
	return 0;
}

static int with_spawn(void)
{
	char *argv[] = {self, (char *)(uintptr_t) "leaf", NULL};
	pid_t pid;

	if (posix_spawn(&pid, self, NULL, NULL, argv, environ))
		return 1;
	return wait_for_status(pid);
}

/* posix_spawn and posix_spawnp of another program; returns its status. */
static int with_spawn_of(char *program, int search)
{
	char *argv[] = {program, NULL};
	pid_t pid;

	if ((search ? posix_spawnp : posix_spawn)(&pid, program, NULL, NULL, argv, environ))
		return 1;
	return wait_for_status(pid);
}

/* By each function of the exec family, in a child of vfork; the last program does not exist. */
static int with_execs_of(char *program)
{
	char *words[] = {program, NULL}, *slash = strrchr(program, '/');
	int fd = open(program, O_RDONLY | O_CLOEXEC), sum = 0;

	for (int way = 0; way < 9; way++) {
		pid_t pid = vfork();

		if (pid == 0) {
			switch (way) {
			case 0:
				execve(program, words, environ);
				break;
			case 1:
				execv(program, words);
				break;
			case 2:
				execvp(slash + 1, words);
				break;
			case 3:
				execvpe(slash + 1, words, environ);
				break;
			case 4:
				fexecve(fd, words, environ);
				break;
			case 5:
				execveat(AT_FDCWD, program, words, environ, 0);
				break;
			case 6:
				execl(program, program, (char *)NULL);
				break;
			case 7:
				execlp(slash + 1, program, (char *)NULL);
				break;
			case 8:
				execv("./no-such-program", words);
				break;
			}
			_exit(50);
		}
		sum += wait_for_status(pid);
	}
	return sum;
}

static int reap(int way, pid_t pid)
{
	siginfo_t info = {0};
	int status = 0;

	switch (way) {
	case 0:
		return wait(&status) == pid ? WTERMSIG(status) : -1;
	case 1:
		return waitpid(pid, &status, 0) == pid ? WTERMSIG(status) : -1;
	case 2:
		return wait3(&status, 0, NULL) == pid ? WTERMSIG(status) : -1;
	case 3:
		return wait4(pid, NULL, 0, NULL) == pid ? SIGKILL : -1;
	default:
		return waitid(P_PID, (id_t)pid, &info, WEXITED) == 0 ? info.si_status : -1;
	}
}

/* 50 children that die at once and are reaped at once, by each function in turn. */
static int with_killed(void)
{
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			allocate_blocks(200, 2000);
			kill(getpid(), SIGKILL);
		}
		if (reap(i % 5, pid) != SIGKILL)
			return 1;
	}
	return 35;
}

static int with_system(void)
{
	char command[4096];

	snprintf(command, sizeof(command), "%s leaf", self);
	return WEXITSTATUS(system(command));
}

static int with_popen(void)
{
	char command[4096];

	snprintf(command, sizeof(command), "%s leaf", self);
	return WEXITSTATUS(pclose(popen(command, "r")));
}

static int with_grandchild(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		run_child();
		pid = fork();
		if (pid == 0) {
			allocate_blocks(300, 3000);
			_exit(33);
		}
		exit(wait_for_status(pid) == 33 ? 31 : 1);
	}
	return wait_for_status(pid);
}

static void *allocate_for_ever(void *arg)
{
	for (;;)
		free(malloc(70));
	return NULL;
}

static void *fork_in_thread(void *arg)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			allocate_blocks(200, 2000);
			_exit(0);
		}
		if (wait_for_status(pid) != 0)
			exit(1);
	}
	return NULL;
}

static int with_threads(void)
{
	pthread_t t, busy[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&busy[i], NULL, allocate_for_ever, NULL);
	pthread_create(&t, NULL, fork_in_thread, NULL);
	pthread_join(t, NULL);
	_exit(26);
}

/*
 * Recording is off during the fork: the child, which starts it, must not write to the parent's
 * rings.
 */
static int with_start(void)
{
	pid_t pid;

	heaplapse_stop();
	pid = fork();
	if (pid == 0) {
		heaplapse_start();
		run_child();
		_exit(27);
	}
	wait_for_status(pid);
	heaplapse_start();
	allocate_blocks(20, 1500);
	return 27;
}

static int with_signal(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		run_child();
		usleep(100000);
		abort();
	}
	return wait_for_status(pid);
}

static void daemonize(const char *flag)
{
	if (fork() != 0)
		_exit(0);
	setsid();
	if (fork() != 0)
		_exit(0);
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	run_child();
	while (access(flag, F_OK) != 0)
		usleep(10000);
	allocate_blocks(300, 3000);
	_exit(28);
}

static int with_daemon(const char *flag)
{
	pid_t pid = fork();

	if (pid == 0)
		daemonize(flag);
	return wait_for_status(pid);
}

static int with_reexec(const char *count)
{
	char less[16];

	if (atoi(count) == 0)
		return 29;
	snprintf(less, sizeof(less), "%d", atoi(count) - 1);
	execl("/proc/self/exe", self, "reexec", less, (char *)NULL);
	return 1;
}

static int with_exec_fails(void)
{
	char *none[] = {self, NULL};

	if (execv("/none/such", none) != -1 || errno != ENOENT)
		return 1;
	if (execl("/", "x", (char *)NULL) != -1 || errno != EACCES)
		return 2;
	return 34;
}

/* Executes a shell that prints its arguments, by the named function. */
static int with_words(const char *way)
{
	char script[] = "echo \"$1|$2|WORD=$WORD\"", sh[] = "sh", c[] = "-c", one[] = "one",
	     two[] = "two words";
	char word[] = "WORD=here", path[] = "PATH=/usr/bin:/bin", preload[4096] = "LD_PRELOAD=";
	char *argv[] = {sh, c, script, sh, one, two, NULL}, *envp[] = {word, path, preload, NULL};

	strncat(preload, getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "", sizeof(preload) - 20);
	setenv("WORD", "here", 1);
	if (!strcmp(way, "execve"))
		execve("/bin/sh", argv, envp);
	if (!strcmp(way, "execv"))
		execv("/bin/sh", argv);
	if (!strcmp(way, "execvp"))
		execvp("sh", argv);
	if (!strcmp(way, "execvpe"))
		execvpe("sh", argv, envp);
	if (!strcmp(way, "fexecve"))
		fexecve(open("/bin/sh", O_RDONLY | O_CLOEXEC), argv, envp);
	if (!strcmp(way, "execveat"))
		execveat(AT_FDCWD, "/bin/sh", argv, envp, 0);
	if (!strcmp(way, "execl"))
		execl("/bin/sh", sh, c, script, sh, one, two, (char *)NULL);
	if (!strcmp(way, "execlp"))
		execlp("sh", sh, c, script, sh, one, two, (char *)NULL);
	if (!strcmp(way, "execle"))
		execle("/bin/sh", sh, c, script, sh, one, two, (char *)NULL, envp);
	return 98;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} ways[] = {{"fork", with_fork}, {"raw-fork", with_raw_fork}, {"raw-clone", with_raw_clone},
		{"clone", with_clone}, {"raw-stack", with_raw_stack}, {"vfork", with_vfork},
		{"vfork-exit", with_vfork_exit}, {"spawn", with_spawn}, {"system", with_system},
		{"popen", with_popen}, {"grandchild", with_grandchild}, {"threads", with_threads},
		{"start", with_start}, {"signal", with_signal}, {"killed", with_killed},
		{"exec-fails", with_exec_fails}};

	self = argv[0];
	if (!strcmp(argv[1], "leaf")) {
		allocate_blocks(200, 2000);
		return 20;
	}
	allocate_blocks(100, 1000);
	if (!strcmp(argv[1], "daemon"))
		return with_daemon(argv[2]);
	if (!strncmp(argv[1], "spawn-of", 8))
		return with_spawn_of(argv[2], argv[1][8] == 'p');
	if (!strcmp(argv[1], "execs-of"))
		return with_execs_of(argv[2]);
	if (!strcmp(argv[1], "words"))
		return with_words(argv[2]);
	if (!strcmp(argv[1], "reexec"))
		return with_reexec(argv[2]);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argv[1], ways[i].name))
			return ways[i].run();
	return 99;
}
