/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle.c - how recording begins, how a fork child becomes a process of its own, how recording
 * ends.
 *
 * Only our mappings stay in the program: no thread, no descriptor, no signal handler unless the
 * user chose a signal. If the program cannot be recorded, one message on stderr says so, and the
 * program runs on.
 */
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "record/arch/syscall.h"
#include "record/session/debug_log.h"
#include "record/interpose/next.h"
#include "record/session/recorder.h"
#include "record/emit/backpressure.h"
#include "record/emit/emit.h"
#include "record/hooks/cxx.h"
#include "record/hooks/exec.h"
#include "record/hooks/exit.h"
#include "record/hooks/mmap.h"
#include "record/hooks/seccomp.h"
#include "record/hooks/thread_name.h"
#include "record/hooks/waitpid.h"
#include "record/interpose/exec_probe.h"
#include "record/interpose/preload_order.h"
#include "record/session/address_space.h"
#include "record/session/connect.h"
#include "record/session/lifecycle.h"
#include "record/session/modules.h"
#include "record/session/program_filter.h"
#include "record/session/session_variable.h"
#include "record/session/spawn.h"
#include "record/session/thread.h"
#include "record/hooks/signals.h"
#include "record/tags/tags.h"
#include "ring/ring_record.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

extern char **__environ;

static bool quiet;

/* Our constructor may run before libc has set up environ: use the vector that the kernel passed. */
static const char *env_get(char **envp, const char *name)
{
	size_t len = strlen(name);

	for (; envp && *envp; envp++)
		if (!strncmp(*envp, name, len) && (*envp)[len] == '=')
			return *envp + len + 1;
	return NULL;
}

#define PIECES 32u

/* The number of bytes up to the next control character. */
static size_t plain_length(const char *s)
{
	size_t n = 0;

	while ((unsigned char)s[n] >= 0x20 && s[n] != 0x7f)
		n++;
	return n;
}

/* Adds a word in pieces. It may contain a file name: each control character becomes a "?". */
static size_t add_word(struct iovec *line, size_t n, const char *word)
{
	while (*word && n + 2 < PIECES) {
		size_t plain = plain_length(word);

		line[n++] = (struct iovec){(void *)(uintptr_t)word, plain};
		word += plain;
		if (*word) {
			line[n++] = (struct iovec){(void *)(uintptr_t) "?", 1};
			word++;
		}
	}
	return n;
}

/* Writes one line by one write. */
static void write_line(const char *const *words, size_t n_words)
{
	struct iovec line[PIECES];
	size_t n = 0;

	for (size_t i = 0; i < n_words; i++)
		n = add_word(line, n, words[i]);
	line[n++] = (struct iovec){(void *)(uintptr_t) "\n", 1};
	hl_debug_log_write(2, line, n);
}

void hl_print_message4(const char *a, const char *b, const char *c, const char *d)
{
	const char *const words[] = {"heaplapse: ", a, b, c, d};

	if (!quiet)
		write_line(words, HL_ARRAY_LEN(words));
}

void hl_print_message3(const char *a, const char *b, const char *c)
{
	hl_print_message4(a, b, c, "");
}

void hl_print_message(const char *a, const char *b)
{
	hl_print_message3(a, b && *b ? ": " : "", b ? b : "");
}

/* Uses write alone, because any other call may be forbidden; hardly any program runs
 * without write. */
static void refuse_sandboxed(void)
{
	static const char line[] = "heaplapse: this program is not recorded: it was started in a "
				   "sandbox (seccomp) that may not allow it\n";

	hl_lifecycle_disable(NULL);
	if (!quiet)
		hl_sys3(SYS_write, 2, line, sizeof(line) - 1);
}

void hl_lifecycle_disable(const char *why)
{
	atomic_store(&hl_fork_page.on, 0);
	atomic_store(&hl_rec.phase, HL_PHASE_OFF);
	if (why) {
		hl_debug_log(HL_LEVEL_ERROR, why, 0);
		hl_print_message("this program is not recorded", why);
	}
}

static const char *map_region(int memfd)
{
	uint32_t rings = hl_address_space_rings(), bytes = hl_region_bytes(rings);
	long p = -ENOMEM;

	if (rings)
		p = hl_sys6(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (p < 0 && p > -4096)
		return "no room for the rings in the address space (is RLIMIT_AS set?)";
	hl_rec.region = (struct hl_region *)p;
	hl_rec.rings = rings;
	/* Neither locked nor huge: only rings in use should take memory. */
	hl_sys3(SYS_madvise, p, bytes, MADV_NOHUGEPAGE);
	return NULL;
}

/* A program that is not recorded may need the address space itself. */
static void unmap_region(void)
{
	hl_rec.control = &hl_control_record_all;
	hl_exec_probe_end();
	if (hl_rec.region)
		hl_sys2(SYS_munmap, hl_rec.region, hl_region_bytes(hl_rec.rings));
	hl_rec.region = NULL;
}

static const char *check_region(void)
{
	const struct hl_region *r = hl_rec.region;

	if (atomic_load(&r->ready) != 1)
		return r->message[0] ? r->message : "the collector did not answer within 2 s";
	if (r->magic != HL_REGION_MAGIC || r->abi != HL_REGION_ABI)
		return "libheaplapse.so and heaplapse have different versions";
	return NULL;
}

static void take_settings(void)
{
	const struct hl_region *r = hl_rec.region;

	hl_rec.settings = r->settings;
	hl_rec.depth_inner = r->depth_inner;
	hl_rec.depth_outer = r->depth_outer;
	hl_rec.max_wait_ms = r->max_wait_ms;
	hl_rec.exit_wait_ms = r->exit_wait_ms;
	hl_rec.stamp_mode = r->clock == HL_CLOCK_COUNTER ? HL_STAMP_COUNTER : HL_STAMP_TSC;
	hl_rec.control = &r->control;
	hl_debug_log_begin(r->log_level, r->log_path);
}

static void at_exit(int status, void *arg)
{
	hl_exit_emit_status(status);
}

static void watch_exit(void)
{
	on_exit(at_exit, NULL);
	hl_exit_watch_quick_exit();
}

static void begin_recording(void)
{
	struct hl_region *r = hl_rec.region;

	take_settings();
	if (hl_sys3(SYS_madvise, &hl_fork_page, sizeof(hl_fork_page), MADV_WIPEONFORK) < 0) {
		hl_lifecycle_disable(
			"this kernel cannot mark memory for fork (Linux 4.14 or newer is needed)");
		return;
	}
	if (hl_sys2(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0) == 0)
		atomic_store(&r->registered, 1);
	atomic_store(&r->start_stamp, hl_thread_first_stamp());
	hl_rec.serial = atomic_fetch_add(&r->next_serial, 1);
	hl_rec.pid = (uint32_t)hl_sys0(SYS_getpid);
	hl_tls.busy = true;
	if (hl_unwind_init(hl_modules_on_found) == 0 && hl_thread_adopt_early()) {
		struct hl_thread *t = hl_tls.thread;
		uint64_t process = (uint64_t)hl_rec.pid | (uint64_t)UINT32_MAX << 32;

		hl_unwind_open_tables();
		atomic_store(&hl_fork_page.ours, 1);
		atomic_store(&hl_rec.phase, HL_PHASE_ON);
		hl_emit_state(t, HL_REC_PROCESS, &process, 1, NULL, 0);
		if (hl_rec.settings & HL_SET_START_OFF)
			atomic_store(&hl_rec.phase, HL_PHASE_STOPPED);
		else
			hl_fork_page_start();
	} else {
		hl_lifecycle_disable("out of memory (is RLIMIT_AS set?)");
	}
	hl_tls.busy = false;
}

/* Under `heaplapse record`: its collector provides the region. */
static const char *join_collector(const char *address)
{
	int memfd = -1, announced = -1, err = hl_connect(address, &memfd, &announced);
	const char *why;

	if (err == -ECONNREFUSED || err == -ENOENT || err == -EACCES)
		return "its collector has ended, or is in another network namespace and its socket "
		       "is in no directory that is reachable here";
	if (err < 0)
		return "the collector could not be reached";
	why = map_region(memfd);
	hl_sys1(SYS_close, memfd);
	hl_exec_probe_begin(announced);
	if (announced >= 0)
		hl_sys1(SYS_close, announced);
	return why ? why : check_region();
}

#define READY_CHECKS 100 /* of 20 ms each: a collector that dies does not wake us */

static void wait_until_ready(void)
{
	struct timespec look = {.tv_nsec = 20000000};

	for (int i = 0; i < READY_CHECKS && !atomic_load(&hl_rec.region->ready); i++)
		hl_sys4(SYS_futex, &hl_rec.region->ready, FUTEX_WAIT, 0, &look);
}

/*
 * Makes the memfd as large as the region. RLIMIT_FSIZE applies to it, and exceeding it raises a
 * signal that kills the program. So the soft limit is raised meanwhile; a hard limit is respected.
 */
static bool set_memfd_size(long memfd)
{
	struct rlimit old, wide;
	bool done = false;

	if (hl_sys4(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &old) < 0 ||
		old.rlim_max < HL_REGION_BYTES)
		return false;
	wide = (struct rlimit){old.rlim_max, old.rlim_max};
	if (old.rlim_cur < HL_REGION_BYTES &&
		hl_sys4(SYS_prlimit64, 0, RLIMIT_FSIZE, &wide, NULL) < 0)
		return false;
	done = hl_sys2(SYS_ftruncate, memfd, HL_REGION_BYTES) == 0;
	if (old.rlim_cur < HL_REGION_BYTES)
		hl_sys4(SYS_prlimit64, 0, RLIMIT_FSIZE, &old, NULL);
	return done;
}

/* True if a collector started by us may open as many files as it needs. */
static bool has_enough_files(void)
{
	struct rlimit l;

	return hl_sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &l) < 0 || l.rlim_max >= HL_FILES_MIN;
}

/* Bare LD_PRELOAD: creates the region and starts a collector on it. */
static const char *start_collector(char **envp)
{
	long memfd, pid;
	const char *why;
	int err;

	if (!has_enough_files())
		return "the collector needs 16 open files; raise the hard limit of open files "
		       "(ulimit -H -n)";
	memfd = hl_sys2(SYS_memfd_create, "heaplapse", 3 /* CLOEXEC | ALLOW_SEALING */);
	if (memfd == -EMFILE)
		return "it has no free descriptor; raise its limit of open files (ulimit -n)";
	if (memfd < 0)
		return "no memfd";
	if (!set_memfd_size(memfd))
		why = "no memory for the rings (is RLIMIT_FSIZE set?)";
	else
		why = map_region((int)memfd);
	if (!why) {
		err = hl_spawn_collector(envp, (int)memfd, &pid);
		if (err == -EBUSY)
			why = "as PID 1 or subreaper it would see the collector as a child; use "
			      "`heaplapse record`";
		else if (err < 0)
			why = "the collector (the program `heaplapse`, beside libheaplapse.so or "
			      "in its ../bin) could not be started";
		else
			wait_until_ready();
	}
	hl_sys1(SYS_close, memfd);
	hl_exec_probe_begin(-1);
	return why ? why : check_region();
}

/* Sets up the output of tags, and the scope that frees are charged to. */
static void prepare_tags(char **envp)
{
	struct hl_tags_settings settings = {env_get(envp, "HEAPLAPSE_STATS_JSON"),
		env_get(envp, "HEAPLAPSE_STATS_DOT"), env_get(envp, "HEAPLAPSE_SNAPSHOT_PREFIX"),
		env_get(envp, "HEAPLAPSE_SNAPSHOT_INTERVAL"), env_get(envp, "HEAPLAPSE_STATS_PID"),
		false};
	const char *mode = env_get(envp, "HEAPLAPSE_MODE");

	/* Under `record` that variable is used by `record`, which sets the other one. */
	if (!settings.stats_json && !hl_rec.region && mode && !strcmp(mode, "tags")) {
		settings.stats_json = env_get(envp, "HEAPLAPSE_OUTPUT");
		settings.stats_new = !env_get(envp, "HEAPLAPSE_OVERWRITE");
	}
	hl_tags_output_init(&settings);
	if (!hl_tags_set_charge(env_get(envp, "HEAPLAPSE_TAGS")))
		hl_print_message(
			"HEAPLAPSE_TAGS is not freeing or owner", env_get(envp, "HEAPLAPSE_TAGS"));
}

/* Begins counting by tags without a collector, if requested; then nothing is recorded. */
static bool begin_tags_standalone(char **envp)
{
	const char *start_when = env_get(envp, "HEAPLAPSE_START"), *why;

	if (!hl_tags_standalone_requested(
		    env_get(envp, "HEAPLAPSE_MODE"), env_get(envp, "LD_PRELOAD")))
		return false;
	prepare_tags(envp);
	why = hl_tags_begin_standalone();
	if (why) {
		hl_lifecycle_disable(why);
		return true;
	}
	if (start_when && !strcmp(start_when, "off"))
		hl_tags_pause(true);
	hl_tags_install_signals(env_get(envp, "HEAPLAPSE_SNAPSHOT_SIGNAL"),
		env_get(envp, "HEAPLAPSE_TOGGLE_SIGNAL"));
	if (env_get(envp, "LD_PRELOAD")) /* children inherit it */
		hl_exec_probe_begin(-1);
	watch_exit();
	return true;
}

/* --no-follow-exec. A constructor before ours may have replaced the environment by a copy. */
static void strip_environment(char **envp)
{
	hl_exec_probe_strip_env(envp);
	if (__environ != envp)
		hl_exec_probe_strip_env(__environ);
}

static bool is_set(const char *value)
{
	return value && *value && strcmp(value, "0") != 0;
}

__attribute__((constructor)) static void init_recorder(int argc, char **argv, char **envp)
{
	const char *address = env_get(envp, "HEAPLAPSE_SOCKET"),
		   *q = env_get(envp, "HEAPLAPSE_QUIET");
	const char *why;

	quiet = is_set(q);
	hl_next_resolve();
	hl_exec_resolve();
	hl_exit_resolve();
	hl_mmap_resolve();
	hl_cxx_resolve();
	hl_seccomp_resolve();
	hl_waitpid_resolve();
	hl_thread_name_resolve();
	hl_signals_resolve();
	if (getauxval(AT_SECURE)) {
		hl_lifecycle_disable(NULL);
		return;
	}
	if (hl_next.shadowed) {
		hl_preload_order_refuse(env_get(envp, "LD_PRELOAD"));
		return;
	}
	if (hl_seccomp_is_inherited(address)) {
		refuse_sandboxed();
		return;
	}
	if (!hl_program_filter_wants(
		    env_get(envp, "HEAPLAPSE_ONLY"), env_get(envp, "HEAPLAPSE_SKIP"))) {
		hl_lifecycle_disable(NULL);
		return;
	}
	if (!address && begin_tags_standalone(envp)) {
		if (is_set(env_get(envp, "HEAPLAPSE_NO_FOLLOW_EXEC")))
			strip_environment(envp);
		return;
	}
	why = address ? join_collector(address) : start_collector(envp);
	if (why)
		hl_lifecycle_disable(why); /* before unmap_region(): it may be in the region */
	else
		begin_recording();
	if (atomic_load(&hl_rec.phase) == HL_PHASE_OFF) {
		unmap_region();
		return;
	}
	if (!address && !(hl_rec.settings & HL_SET_NO_EXEC))
		hl_session_variable_set(hl_rec.region->session);
	hl_signals_begin();
	prepare_tags(envp);
	if (hl_rec.settings & HL_SET_NO_EXEC)
		strip_environment(envp);
	hl_tags_begin_with_region(hl_rec.region);
	if (hl_rec.settings & HL_SET_START_OFF)
		hl_tags_pause(true);
	hl_debug_log(HL_LEVEL_INFO, "recording begins, settings", hl_rec.settings);
	watch_exit();
}

/* The first event of a fork child; the wiped fork page led here. The child shares only the region
 * with its parent. With a new serial it is a process of its own to the collector. */
hl_cold void hl_lifecycle_fork_child(void)
{
	uint32_t parent = hl_rec.serial;
	struct hl_thread *t;
	uint64_t process;

	hl_tls.thread = NULL;
	if (hl_rec.settings & HL_SET_NO_FORK) {
		atomic_store(&hl_rec.phase, HL_PHASE_OFF);
		return;
	}
	hl_rec.serial = atomic_fetch_add(&hl_rec.region->next_serial, 1);
	atomic_store(&hl_fork_page.ours, 1);
	atomic_store(&hl_rec.one_thread, false); /* a child has one thread */
	atomic_store(&hl_rec.many_threads, false);
	t = hl_tls.thread = hl_wait_for_ring(hl_thread_claim());
	if (!t || t->shared) {
		hl_lifecycle_disable("no ring is free for this child process");
		return;
	}
	/* If system calls are forbidden, the tid of its only thread is used. */
	hl_rec.pid = hl_rec.no_syscalls ? t->tid : (uint32_t)hl_sys0(SYS_getpid);
	process = (uint64_t)hl_rec.pid | (uint64_t)parent << 32;
	hl_emit_state(t, HL_REC_PROCESS, &process, 1, NULL, 0);
	hl_modules_announce_all(t);
	hl_fork_page_start();
	if (atomic_load(&hl_rec.paused)) /* the child is paused like its parent */
		hl_emit_mark(HL_MARK_PAUSE, NULL);
	hl_debug_log(HL_LEVEL_INFO, "a fork child is recorded, serial", hl_rec.serial);
}
