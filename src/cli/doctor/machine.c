/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - see machine.h. Each check does what recording will do, and undoes it. */
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cli/doctor/machine.h"
#include "cli/record/record_output.h"
#include "record/arch/cpu.h"
#include "ring/ring_clock.h"
#include "util/safe_text.h"

#define MIN_DISK_SPACE (UINT64_C(64) << 20)
/* Address space of the collector: the rings, its second thread, its tables and compression
 * buffers. */
#define COLLECTOR_SPACE (HL_REGION_BYTES + (32u << 20))
#define MIN_ADDRESS_SPACE \
	(UINT64_C(256) << 20) /* address space for the rings, the memos and a program */

static void add_check(struct hl_findings *f, bool fine, enum hl_verdict bad_verdict,
	const char *check, const char *good, const char *bad, const char *remedy)
{
	hl_findings_add(f, fine ? HL_VERDICT_OK : bad_verdict, check, fine ? NULL : remedy, "%s",
		fine ? good : bad);
}

/* Finds our own executable. Without /proc the path that the kernel passed at exec is used. */
static int find_self(char self[PATH_MAX])
{
	ssize_t len = readlink("/proc/self/exe", self, PATH_MAX - 1);
	const char *exec_path = (const char *)(uintptr_t)getauxval(AT_EXECFN);

	if (len >= 0) {
		self[len] = '\0';
		return 0;
	}
	return exec_path && realpath(exec_path, self) ? 0 : -errno;
}

/* libheaplapse.so is beside our executable in the build directory, in lib/ when installed. */
int hl_library_find(char *buf, size_t n, struct hl_findings *f)
{
	static const char *const places[] = {
		"", "../lib/" HL_ARCH_MULTIARCH "/", "../lib/", "../lib64/"};
	char self[PATH_MAX], *slash;
	int err = find_self(self);

	if (err) {
		hl_findings_add(f, HL_VERDICT_FAILS, "/proc", "mount /proc",
			"libheaplapse.so cannot be found without /proc");
		return err;
	}
	slash = strrchr(self, '/');
	slash[1] = '\0';
	for (size_t i = 0; i < HL_ARRAY_LEN(places); i++) {
		char tried[PATH_MAX + 64];

		snprintf(tried, sizeof(tried), "%s%slibheaplapse.so", self, places[i]);
		if (access(tried, R_OK) < 0 || !realpath(tried, buf))
			continue;
		if (!strpbrk(buf, ": "))
			return 0;
		hl_findings_add(f, HL_VERDICT_FAILS, "library", "install it elsewhere",
			"the loader cannot preload %s: its path has a space or colon", buf);
		return -EINVAL;
	}
	hl_findings_add(f, HL_VERDICT_FAILS, "library", "install it there",
		"libheaplapse.so is neither beside heaplapse nor in ../lib");
	return -ENOENT;
}

static void check_library(struct hl_findings *f)
{
	char path[PATH_MAX];

	if (hl_library_find(path, sizeof(path), f) == 0)
		hl_findings_add(f, HL_VERDICT_OK, "library", NULL, "%s", path);
}

static void check_kernel(struct hl_findings *f)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool wipes = page != MAP_FAILED && madvise(page, 4096, MADV_WIPEONFORK) == 0;
	struct utsname u;

	if (page != MAP_FAILED)
		munmap(page, 4096);
	if (uname(&u) < 0)
		return;
	hl_findings_add(f, wipes ? HL_VERDICT_OK : HL_VERDICT_FAILS, "kernel",
		wipes ? NULL : "use Linux 4.14 or newer", "Linux %s%s", u.release,
		wipes ? "" : " cannot mark memory for fork");
}

static void check_libc(struct hl_findings *f)
{
	const char *version = gnu_get_libc_version();
	int major = 0, minor = 0;
	bool fine = sscanf(version, "%d.%d", &major, &minor) == 2 &&
		    (major > 2 || (major == 2 && minor >= 35));

	hl_findings_add(f, fine ? HL_VERDICT_OK : HL_VERDICT_FAILS, "libc",
		fine ? NULL : "use glibc 2.35 or newer", "glibc %s", version);
}

/* Makes and maps a region as the collector does. Returns 0 or -errno. */
static int try_region(void)
{
	int fd = memfd_create("heaplapse", MFD_CLOEXEC | MFD_ALLOW_SEALING), err = 0;
	void *rings;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, HL_REGION_BYTES) < 0) {
		err = -errno;
	} else {
		rings = mmap(NULL, HL_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (rings == MAP_FAILED)
			err = -errno;
		else
			munmap(rings, HL_REGION_BYTES);
	}
	close(fd);
	return err;
}

/* Returns 0 or -errno. */
static int try_space(void)
{
	void *space = mmap(NULL, COLLECTOR_SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (space == MAP_FAILED)
		return -errno;
	munmap(space, COLLECTOR_SPACE);
	return 0;
}

/* The collector raises its limits to the hard limits and ignores SIGXFSZ. Tries the same here. */
static int try_at_hard_limits(int (*try)(void))
{
	static const __rlimit_resource_t limits[] = {RLIMIT_AS, RLIMIT_FSIZE};
	struct rlimit saved[HL_ARRAY_LEN(limits)];
	void (*old)(int) = signal(SIGXFSZ, SIG_IGN);
	int err;

	for (size_t i = 0; i < HL_ARRAY_LEN(limits); i++) {
		struct rlimit raised;

		getrlimit(limits[i], &saved[i]);
		raised = (struct rlimit){saved[i].rlim_max, saved[i].rlim_max};
		setrlimit(limits[i], &raised);
	}
	err = try();
	for (size_t i = 0; i < HL_ARRAY_LEN(limits); i++)
		setrlimit(limits[i], &saved[i]);
	signal(SIGXFSZ, old);
	return err;
}

int hl_machine_check_space(void)
{
	return try_at_hard_limits(try_space);
}

int hl_machine_check_rings(struct hl_findings *f)
{
	char size[HL_TEXT_SIZE_MAX];
	int err = try_at_hard_limits(try_region);

	if (err) {
		hl_findings_add(f, HL_VERDICT_FAILS, "memory",
			"raise the limits of memory and of file sizes (ulimit -v, ulimit -H -f)",
			"cannot share %s of memory between two processes: %s",
			hl_text_bytes(size, HL_REGION_BYTES), strerror(-err));
		return err;
	}
	err = hl_machine_check_space();
	if (err)
		hl_findings_add(f, HL_VERDICT_FAILS, "memory",
			"raise the hard limit of address space (ulimit -H -v)",
			"the collector cannot allocate %s of address space: %s",
			hl_text_bytes(size, COLLECTOR_SPACE), strerror(-err));
	return err;
}

int hl_machine_check_files(struct hl_findings *f)
{
	struct rlimit files;

	/* The collector raises its soft limit, so only the hard limit counts. */
	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max >= HL_FILES_MIN)
		return 0;
	hl_findings_add(f, HL_VERDICT_FAILS, "limits",
		"raise the hard limit of open files (ulimit -H -n)",
		"the limit of open files is %u; the collector needs %u", (unsigned)files.rlim_max,
		HL_FILES_MIN);
	return -EMFILE;
}

static void check_memory(struct hl_findings *f)
{
	char size[HL_TEXT_SIZE_MAX];

	if (hl_machine_check_rings(f) == 0)
		hl_findings_add(f, HL_VERDICT_OK, "memory", NULL,
			"%s can be shared between two processes (memfd)",
			hl_text_bytes(size, HL_REGION_BYTES));
}

static void check_calls(struct hl_findings *f)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	add_check(f, commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED),
		HL_VERDICT_PARTIAL, "membarrier", "threads can be read without stopping them",
		"the kernel has no membarrier: events of different threads may be out of order "
		"(counted as late)",
		"allow the call, or use Linux 4.16 or newer");
	add_check(f, pidfd >= 0, HL_VERDICT_PARTIAL, "pidfd",
		"the exit status of children is known (pidfd)",
		"there is no pidfd_open: the exit status of a child may be unknown",
		"allow the call, or use Linux 5.3 or newer");
	if (pidfd >= 0)
		close(pidfd);
}

/* Returns whether /proc/cpuinfo lists this flag. */
static bool has_cpu_flag(const char *flag)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	static char line[8192]; /* the stack may be small */
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = !strncmp(line, "flags", 5) && strstr(line, flag) != NULL;
	if (file)
		fclose(file);
	return found;
}

static void check_clock(struct hl_findings *f)
{
	bool sound = hl_ring_counter_is_sound();

	add_check(f, sound && has_cpu_flag(" constant_tsc"), HL_VERDICT_NOTE, "clock",
		"the cycle counter is constant, and the kernel trusts it",
		sound ? "the cycle counter is used, but its rate may change: times may be inexact, "
			"the order of events is exact"
		      : "the kernel does not trust the cycle counter: a shared counter orders "
			"events, which is slower with many threads",
		"no action needed; --clock selects another");
}

static void check_limits(struct hl_findings *f)
{
	struct rlimit as, files;
	char size[HL_TEXT_SIZE_MAX];
	bool fine = hl_machine_check_files(f) == 0;

	if (getrlimit(RLIMIT_AS, &as) == 0 && as.rlim_cur < MIN_ADDRESS_SPACE) {
		hl_findings_add(f, HL_VERDICT_PARTIAL, "limits", "raise it: ulimit -v unlimited",
			"the address space of programs is limited to %s, and the recorder takes up "
			"to a quarter of it: a program that needs more fails earlier or is not "
			"recorded",
			hl_text_bytes(size, as.rlim_cur));
		fine = false;
	}
	if (getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_max < MIN_DISK_SPACE) {
		hl_findings_add(f, HL_VERDICT_PARTIAL, "limits", "raise it: ulimit -H -f unlimited",
			"files are limited to %s: a larger trace is truncated",
			hl_text_bytes(size, files.rlim_max));
		fine = false;
	}
	if (fine)
		hl_findings_add(f, HL_VERDICT_OK, "limits", NULL,
			"limits of address space, file size and open files are sufficient");
}

static void check_environment(struct hl_findings *f, const struct record_options *o)
{
	const char *preload = getenv("LD_PRELOAD");

	if (o->env_problem)
		hl_findings_add(f, HL_VERDICT_FAILS, "environment", "correct or unset it", "%s",
			o->env_problem);
	if (preload && *preload)
		hl_findings_add(f, HL_VERDICT_OK, "LD_PRELOAD", NULL,
			"%s is kept, after the recorder", preload);
}

void hl_machine_check(struct hl_findings *f, const struct record_options *o)
{
	check_kernel(f);
	check_libc(f);
	check_library(f);
	check_memory(f);
	check_calls(f);
	check_clock(f);
	check_limits(f);
	check_environment(f, o);
}

int hl_machine_open_output_dir(const struct record_options *o, const char *program)
{
	char path[PATH_MAX];
	int err = hl_trace_output_name(path, sizeof(path), o->output, program, (uint64_t)getpid(),
		(uint64_t)time(NULL) * 1000000000, 1);

	return err ? err : hl_trace_output_dir(&o->collect.output, path);
}

bool hl_machine_check_output(
	struct hl_findings *f, const struct record_options *o, const char *program)
{
	char why[HL_RECORD_SENTENCE], size[HL_TEXT_SIZE_MAX];
	int err = hl_trace_output_check(&o->collect.output, program, (uint64_t)getpid(), NULL);
	struct statvfs fs = {0};
	uint64_t space;
	int dir;

	if (err) {
		hl_record_format_output_error(why, sizeof(why), o, err, "-o");
		hl_findings_add(f, HL_VERDICT_FAILS, "output", NULL, "%s", why);
		return false;
	}
	dir = hl_machine_open_output_dir(o, program);
	space = dir >= 0 && fstatvfs(dir, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : 0;
	if (dir >= 0)
		close(dir);
	if (space < MIN_DISK_SPACE)
		hl_findings_add(f, HL_VERDICT_PARTIAL, "output",
			"free some space, or choose another directory with -o",
			"little space for a trace (%s): when the disk is full, further events are "
			"dropped and counted",
			hl_text_bytes(size, space));
	else
		hl_findings_add(f, HL_VERDICT_OK, "output", NULL,
			"%s can be written and is readable only by you; %s free", o->output,
			hl_text_bytes(size, space));
	return true;
}
