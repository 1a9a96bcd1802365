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

#include "cli/machine.h"
#include "ring/clock.h"
#include "util/text.h"

#define LITTLE_SPACE (UINT64_C(64) << 20)
/* Of address space: the rings, and its second thread, its tables and what it packs. */
#define COLLECTOR_SPACE (HL_REGION_BYTES + (32u << 20))
#define LITTLE_ROOM     (UINT64_C(256) << 20) /* of address space: the rings, the memos, a program */

static void say(struct hl_findings *f, bool fine, enum hl_verdict otherwise, const char *check,
	const char *good, const char *bad, const char *remedy)
{
	hl_findings_add(f, fine ? HL_VERDICT_OK : otherwise, check, fine ? NULL : remedy, "%s",
		fine ? good : bad);
}

/* Our own file; without /proc the kernel's word on what was executed must do. */
static int find_self(char self[PATH_MAX])
{
	ssize_t len = readlink("/proc/self/exe", self, PATH_MAX - 1);
	const char *called = (const char *)(uintptr_t)getauxval(AT_EXECFN);

	if (len >= 0) {
		self[len] = '\0';
		return 0;
	}
	return called && realpath(called, self) ? 0 : -errno;
}

/* libheaplapse.so lies beside us in the build folder, in lib/ when installed. */
int hl_library_find(char *buf, size_t n, struct hl_findings *f)
{
	static const char *const places[] = {
		"", "../lib/x86_64-linux-gnu/", "../lib/", "../lib64/"};
	char self[PATH_MAX], *slash;
	int err = find_self(self);

	if (err) {
		hl_findings_add(f, HL_VERDICT_FAILS, "/proc", "mount /proc",
			"libheaplapse.so cannot be looked for without /proc");
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

/* The region as the collector makes it. 0 or -errno. */
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

/* 0 or -errno. */
static int try_space(void)
{
	void *space = mmap(NULL, COLLECTOR_SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (space == MAP_FAILED)
		return -errno;
	munmap(space, COLLECTOR_SPACE);
	return 0;
}

/* The collector goes to its hard limits, and dies of no signal for it: so do we here. */
static int try_at_hard_limits(int (*try)(void))
{
	static const __rlimit_resource_t limits[] = {RLIMIT_AS, RLIMIT_FSIZE};
	struct rlimit was[HL_ARRAY_LEN(limits)];
	void (*old)(int) = signal(SIGXFSZ, SIG_IGN);
	int err;

	for (size_t i = 0; i < HL_ARRAY_LEN(limits); i++) {
		struct rlimit wide;

		getrlimit(limits[i], &was[i]);
		wide = (struct rlimit){was[i].rlim_max, was[i].rlim_max};
		setrlimit(limits[i], &wide);
	}
	err = try();
	for (size_t i = 0; i < HL_ARRAY_LEN(limits); i++)
		setrlimit(limits[i], &was[i]);
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
			"%s of memory that two processes share cannot be had: %s",
			hl_text_bytes(size, HL_REGION_BYTES), strerror(-err));
		return err;
	}
	err = hl_machine_check_space();
	if (err)
		hl_findings_add(f, HL_VERDICT_FAILS, "memory",
			"raise the hard limit of address space (ulimit -H -v)",
			"the collector needs %s of address space, which cannot be had: %s",
			hl_text_bytes(size, COLLECTOR_SPACE), strerror(-err));
	return err;
}

int hl_machine_check_files(struct hl_findings *f)
{
	struct rlimit files;

	/* The collector raises its soft limit. */
	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max >= HL_FILES_LEAST)
		return 0;
	hl_findings_add(f, HL_VERDICT_FAILS, "limits",
		"raise the hard limit of open files (ulimit -H -n)",
		"no more than %u files may be open, and the collector needs %u",
		(unsigned)files.rlim_max, HL_FILES_LEAST);
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

	say(f, commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED), HL_VERDICT_PARTIAL,
		"membarrier", "threads can be read without stopping them",
		"the kernel has no membarrier: events of several threads may come in a wrong order "
		"(counted as late)",
		"allow the call, or use Linux 4.16 or newer");
	say(f, pidfd >= 0, HL_VERDICT_PARTIAL, "pidfd", "the ends of programs are seen (pidfd)",
		"there is no pidfd_open: how a child of the program ended may stay unknown",
		"allow the call, or use Linux 5.3 or newer");
	if (pidfd >= 0)
		close(pidfd);
}

/* Has the processor this flag, by /proc/cpuinfo? */
static bool cpu_has(const char *flag)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	static char line[8192]; /* there may be little stack */
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

	say(f, sound && cpu_has(" constant_tsc"), HL_VERDICT_NOTE, "clock",
		"the cycle counter is constant, and the kernel trusts it",
		sound ? "the cycle counter is used as the kernel uses it, but its rate may change: "
			"times may be inexact, the order is not"
		      : "the kernel does not trust the cycle counter: a shared counter orders the "
			"events, which costs more with many threads",
		"nothing needs to be done; --clock chooses");
}

static void check_limits(struct hl_findings *f)
{
	struct rlimit as, files;
	char size[HL_TEXT_SIZE_MAX];
	bool fine = hl_machine_check_files(f) == 0;

	if (getrlimit(RLIMIT_AS, &as) == 0 && as.rlim_cur < LITTLE_ROOM) {
		hl_findings_add(f, HL_VERDICT_PARTIAL, "limits", "raise it: ulimit -v unlimited",
			"the address space of programs is limited to %s, of which the recorder "
			"takes up to a quarter: one that comes near it fails earlier, or is not "
			"recorded",
			hl_text_bytes(size, as.rlim_cur));
		fine = false;
	}
	if (getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_max < LITTLE_SPACE) {
		hl_findings_add(f, HL_VERDICT_PARTIAL, "limits", "raise it: ulimit -H -f unlimited",
			"files are limited to %s, also the trace: it ends there",
			hl_text_bytes(size, files.rlim_max));
		fine = false;
	}
	if (fine)
		hl_findings_add(f, HL_VERDICT_OK, "limits", NULL,
			"neither address space, file sizes nor open files are limited too much");
}

static void check_environment(struct hl_findings *f, const struct record_options *o)
{
	const char *preload = getenv("LD_PRELOAD");

	if (o->env_problem)
		hl_findings_add(f, HL_VERDICT_FAILS, "environment", "correct or unset it", "%s",
			o->env_problem);
	if (preload && *preload)
		hl_findings_add(f, HL_VERDICT_OK, "LD_PRELOAD", NULL,
			"%s stays, behind the recorder", preload);
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

int hl_machine_folder(const struct record_options *o, const char *program)
{
	char path[PATH_MAX];
	int err = hl_output_name(path, sizeof(path), o->output, program, (uint64_t)getpid(),
		(uint64_t)time(NULL) * 1000000000, 1);

	return err ? err : hl_output_folder(&o->collect.output, path);
}

bool hl_machine_check_output(
	struct hl_findings *f, const struct record_options *o, const char *program)
{
	char why[HL_RECORD_SENTENCE], size[HL_TEXT_SIZE_MAX];
	int err = hl_output_check(&o->collect.output, program, (uint64_t)getpid());
	struct statvfs fs = {0};
	uint64_t space;
	int dir;

	if (err) {
		hl_record_no_output(why, sizeof(why), o, err, "-o");
		hl_findings_add(f, HL_VERDICT_FAILS, "output", NULL, "%s", why);
		return false;
	}
	dir = hl_machine_folder(o, program);
	space = dir >= 0 && fstatvfs(dir, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : 0;
	if (dir >= 0)
		close(dir);
	if (space < LITTLE_SPACE)
		hl_findings_add(f, HL_VERDICT_PARTIAL, "output",
			"make room, or choose another place with -o",
			"there is little space for a trace (%s): when it is full, the rest is "
			"dropped and counted",
			hl_text_bytes(size, space));
	else
		hl_findings_add(f, HL_VERDICT_OK, "output", NULL,
			"%s can be written, readable by you alone; %s are free", o->output,
			hl_text_bytes(size, space));
	return true;
}
