/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c - gives up rights, then allocates: 1500 blocks of 1000 bytes before, 1500 of 2000
 * after, all freed. Any system call that is not on its list kills it.
 *
 *	sandbox strict|kill|errno|trap|libseccomp|tsc|probe|threads|fork|exec
 *
 * strict, tsc: the cycle counter traps, too. probe: tests for filters by a call that fails.
 * threads: 40 of them, one after the other, behind a filter, each with 100 blocks of 3000 bytes.
 * fork: a child behind the filter allocates the 2000s. exec: this program again, as "leaf", behind
 * a filter. Prints nothing.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static volatile sig_atomic_t trapped;

static void allocate_blocks(int n, size_t size)
{
	for (int i = 0; i < n / 10; i++) {
		void *blocks[10];

		for (int k = 0; k < 10; k++)
			blocks[k] = malloc(size);
		for (int k = 0; k < 10; k++)
			free(blocks[k]);
	}
}

/*
 * System calls that libc needs for the heap, threads, fork and exit. None that reads ids or the
 * time.
 */
static const int allowed[] = {SYS_write, SYS_exit, SYS_exit_group, SYS_brk, SYS_mmap, SYS_munmap,
	SYS_mprotect, SYS_madvise, SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_clone, SYS_clone3,
	SYS_futex, SYS_set_robust_list, SYS_rseq, SYS_wait4, SYS_execve, SYS_openat, SYS_read,
	SYS_close, SYS_pread64, SYS_newfstatat, SYS_fstat, SYS_access, SYS_arch_prctl,
	SYS_set_tid_address, SYS_prlimit64, SYS_getrandom, SYS_rt_sigaction, SYS_prctl,
	SYS_seccomp};

static int install_filter(unsigned action, int by_syscall)
{
	struct sock_filter code[LENGTH(allowed) + 3];
	struct sock_fprog program = {.filter = code};
	unsigned n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < LENGTH(allowed); i++)
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			(unsigned)allowed[i], (unsigned char)(LENGTH(allowed) - i), 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	if (by_syscall)
		return (int)syscall(
			SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void count_trap(int sig)
{
	trapped++;
}

static void *run_thread(void *arg)
{
	allocate_blocks(100, 3000);
	return arg;
}

static int with_threads(void)
{
	if (install_filter(SECCOMP_RET_KILL_PROCESS, 1))
		return 98;
	for (int i = 0; i < 40; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, run_thread, NULL) || pthread_join(t, NULL))
			return 97;
	}
	return 45;
}

static int with_fork(void)
{
	int status;
	pid_t pid;

	if (install_filter(SECCOMP_RET_KILL_PROCESS, 0))
		return 98;
	pid = fork();
	if (pid == 0) {
		allocate_blocks(1500, 2000);
		_exit(46);
	}
	if (waitpid(pid, &status, 0) != pid)
		return 97;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 96;
}

static int with_exec(char *self)
{
	char *argv[] = {self, (char *)"leaf", NULL};

	if (install_filter(SECCOMP_RET_KILL_PROCESS, 0))
		return 98;
	execv(self, argv);
	return 97;
}

static int run_restricted(const char *way)
{
	if (!strcmp(way, "strict"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
	if (!strcmp(way, "kill"))
		return install_filter(SECCOMP_RET_KILL_PROCESS, 0);
	if (!strcmp(way, "libseccomp"))
		return install_filter(SECCOMP_RET_KILL_PROCESS, 1);
	if (!strcmp(way, "errno"))
		return install_filter(SECCOMP_RET_ERRNO | EPERM, 0);
	if (!strcmp(way, "trap"))
		return install_filter(SECCOMP_RET_TRAP, 0);
	if (!strcmp(way, "tsc"))
		return prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	if (!strcmp(way, "probe"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) == -1 &&
				       errno == EFAULT
			       ? 0
			       : -1;
	return -1;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = count_trap};

	allocate_blocks(1500, !strcmp(argv[1], "leaf") ? 4000 : 1000);
	if (!strcmp(argv[1], "leaf"))
		return 47;
	sigaction(SIGSYS, &action, NULL);
	if (!strcmp(argv[1], "threads"))
		return with_threads();
	if (!strcmp(argv[1], "fork"))
		return with_fork();
	if (!strcmp(argv[1], "exec"))
		return with_exec(argv[0]);
	if (run_restricted(argv[1]))
		return 99;
	allocate_blocks(1500, 2000);
	syscall(!strcmp(argv[1], "strict") ? SYS_exit : SYS_exit_group, trapped ? 95 : 44);
	return 0;
}
