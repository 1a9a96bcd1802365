/* SPDX-License-Identifier: Apache-2.0 */
/*
 * running_process.c - see running_process.h. Everything is read from /proc; nothing in the process
 * is changed or stopped. Data from the process itself (its rings, its environment) is untrusted and
 * only shown.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/doctor/running_process.h"
#include "cli/doctor/program.h"
#include "ring/region_layout.h"
#include "util/fd_io.h"
#include "util/procfs.h"
#include "util/safe_text.h"

#define TEXT_MAX          (1u << 20)
#define MIN_ADDRESS_SPACE (UINT64_C(16) << 20) /* address space for the rings and a memo */
#define HEARTBEAT_WAIT_NS 200000000            /* four periods of the collector's heartbeat */

bool hl_running_process_is_pid(const char *word)
{
	return *word && !word[strspn(word, "0123456789")];
}

/* Returns the whole text with a NUL appended; NULL if it cannot be read. The caller frees it. */
static char *read_text(uint64_t pid, const char *name, size_t *len)
{
	int fd = hl_procfs_open(pid, name);
	char *text = fd < 0 ? NULL : malloc(TEXT_MAX + 1);
	size_t at = 0;
	ssize_t n = 1;

	while (text && at < TEXT_MAX && (n = read(fd, text + at, TEXT_MAX - at)) > 0)
		at += (size_t)n;
	if (fd >= 0)
		close(fd);
	if (text)
		text[at] = '\0';
	if (len)
		*len = at;
	return text;
}

/* Returns the number after "\nNAME:" in /proc/PID/status. */
static uint64_t find_status_number(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return line ? strtoull(line + strlen(name), NULL, 10) : 0;
}

/* --- is it recorded? --- */

struct mappings {
	bool library, region;
	uint64_t at;    /* address of the region in the process */
	uint64_t inode; /* inode of its memfd */
};

static void find_recorder_mappings(const char *maps, struct mappings *mappings)
{
	const char *line = strstr(maps, "/memfd:heaplapse");

	mappings->library = strstr(maps, "/libheaplapse.so") != NULL;
	while (line && line > maps && line[-1] != '\n')
		line--;
	if (line) {
		unsigned long long inode = 0;

		mappings->at = strtoull(line, NULL, 16);
		mappings->region = true;
		if (sscanf(line, "%*s %*s %*s %*s %llu", &inode) == 1)
			mappings->inode = inode;
	}
}

int hl_running_process_region(uint64_t pid, uint64_t *inode)
{
	int fd = hl_procfs_open(pid, "maps");
	struct mappings mappings = {0};
	char *maps;

	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	close(fd);
	maps = read_text(pid, "maps", NULL);
	if (!maps || !*maps) { /* it has ended, or may not be read */
		free(maps);
		return -ESRCH;
	}
	find_recorder_mappings(maps, &mappings);
	free(maps);
	if (!mappings.region)
		return mappings.library ? -ENODATA : -ENOENT;
	*inode = mappings.inode;
	return 0;
}

struct rings {
	struct hl_region head;
	uint64_t dropped;
};

/* Copies the header and sums up the drops of the region that the process shares with its collector.
 * Returns 0 or -errno. */
static int read_rings(int mem, uint64_t at, struct rings *rings)
{
	struct hl_ring ring;

	if (hl_fd_read_at(mem, &rings->head, sizeof(rings->head), at))
		return -EIO;
	if (rings->head.magic != HL_REGION_MAGIC || rings->head.abi != HL_REGION_ABI)
		return -EPROTO;
	rings->dropped = atomic_load(&rings->head.no_ring_drops);
	for (uint32_t i = 0; i < HL_RING_COUNT; i++) {
		uint64_t offset = at + HL_REGION_CONTROL_OFFSET + i * sizeof(ring);

		if (hl_fd_read_at(mem, &ring, sizeof(ring), offset))
			return -EIO;
		rings->dropped += atomic_load(&ring.dropped);
	}
	return 0;
}

static void check_rings(struct hl_findings *f, int mem, uint64_t at)
{
	struct timespec delay = {.tv_nsec = HEARTBEAT_WAIT_NS};
	struct rings first, second;
	char taken[HL_TEXT_SIZE_MAX], written[HL_TEXT_SIZE_MAX], dropped[HL_TEXT_SIZE_MAX];
	uint64_t all, durable;
	uint32_t collector;
	int err = read_rings(mem, at, &first);

	nanosleep(&delay, NULL);
	if (!err)
		err = read_rings(mem, at, &second);
	if (err) {
		hl_findings_add(f, HL_VERDICT_NOTE, "recorder",
			err == -EPROTO ? "use the heaplapse that started it" : NULL,
			err == -EPROTO ? "it is recorded by another version of heaplapse"
				       : "it is recorded, but its rings cannot be read");
		return;
	}
	collector = atomic_load(&second.head.collector_pid);
	/* The collector keeps counting while we read, so durable_events, read later, may be larger
	 * than drained_events. */
	all = atomic_load(&second.head.drained_events);
	durable = atomic_load(&second.head.durable_events);
	durable = durable < all ? durable : all;
	if (atomic_load(&first.head.heartbeat) == atomic_load(&second.head.heartbeat))
		hl_findings_add(f, HL_VERDICT_PARTIAL, "collector",
			"check whether that process is stopped or has ended; without it recording "
			"stops and the program continues",
			"it is recorded by process %u, which does not respond", collector);
	else
		hl_findings_add(f, HL_VERDICT_OK, "collector", NULL,
			"it is recorded by process %u: %s events received, %s in the trace",
			collector, hl_text_count(taken, all), hl_text_count(written, durable));
	if (second.dropped)
		hl_findings_add(f, HL_VERDICT_PARTIAL, "drops",
			"write the trace to a faster disk, or record with a longer --max-wait",
			"%s events were dropped because a ring was full%s",
			hl_text_count(dropped, second.dropped),
			second.dropped > first.dropped ? "; more are being dropped" : "");
	else
		hl_findings_add(f, HL_VERDICT_OK, "drops", NULL, "no events were dropped so far");
}

/* Returns whether the command line equals the parent's: forked by the parent, without an exec
 * since. */
static bool has_cmdline_of_parent(uint64_t pid, const char *words, size_t len)
{
	char text[512], *at = hl_procfs_stat(pid, text, sizeof(text));
	uint64_t parent = at && at[0] && at[1] ? strtoull(at + 2, NULL, 10) : 0;
	size_t parent_len = 0;
	char *parent_words = parent ? read_text(parent, "cmdline", &parent_len) : NULL;
	bool equal = parent_words && parent_len == len && !memcmp(parent_words, words, len);

	free(parent_words);
	return equal;
}

enum hl_running_process_part hl_running_process_part(uint64_t pid, const char *program)
{
	size_t len = 0;
	char *words = read_text(pid, "cmdline", &len);
	const char *base = strrchr(program, '/'), *command;
	enum hl_running_process_part part = HL_PROCESS_OTHER;

	/* If the path of the image is not known, the first word of the command line is used. */
	base = !words ? "" : base ? base + 1 : *program ? program : words;
	if (base == words && strrchr(words, '/'))
		base = strrchr(words, '/') + 1;
	command = words && strlen(words) < len ? words + strlen(words) + 1 : "";
	if (!strcmp(base, "heaplapse") && !strcmp(command, "collect"))
		part = HL_PROCESS_COLLECTOR;
	else if (!strcmp(base, "heaplapse") && !strcmp(command, "record"))
		part = has_cmdline_of_parent(pid, words, len) ? HL_PROCESS_COLLECTOR
							      : HL_PROCESS_RECORD;
	free(words);
	return part;
}

static bool check_is_heaplapse(struct hl_findings *f, uint64_t pid, const char *program)
{
	enum hl_running_process_part part = hl_running_process_part(pid, program);

	if (part == HL_PROCESS_OTHER)
		return false;
	hl_findings_add(f, HL_VERDICT_FAILS, "process", "pass the pid of the recorded program",
		part == HL_PROCESS_COLLECTOR
			? "it is heaplapse: the collector of a recording, which writes the trace"
			: "it is heaplapse record, which waits for the program that it started");
	return true;
}

/* Returns true if the recorder is in the process, even if it is switched off. */
static bool check_recorder(struct hl_findings *f, uint64_t pid)
{
	char *maps = read_text(pid, "maps", NULL);
	const bool seen = maps && *maps;
	struct mappings mappings = {0};
	int mem;

	if (seen)
		find_recorder_mappings(maps, &mappings);
	free(maps);
	if (!mappings.library) {
		hl_findings_add(f, HL_VERDICT_FAILS, "recorder",
			"restart it with: heaplapse record COMMAND",
			seen ? "it is not recorded; attaching to a running process is not supported"
			     : "cannot inspect it; attaching to a running process is not "
			       "supported");
		return false;
	}
	if (!mappings.region) {
		hl_findings_add(f, HL_VERDICT_FAILS, "recorder",
			"restart it and read its stderr for the reason",
			"the recorder is loaded but switched off; it printed the reason when it "
			"started");
		return true;
	}
	mem = hl_procfs_open(pid, "mem");
	if (mem < 0) {
		hl_findings_add(f, HL_VERDICT_NOTE, "recorder", "run this as root",
			"it is recorded, but its rings cannot be inspected: %s", strerror(-mem));
		return true;
	}
	check_rings(f, mem, mappings.at);
	close(mem);
	return true;
}

/* --- would it be recorded if it were restarted? --- */

/* Returns the soft limit in a line of /proc/PID/limits; UINT64_MAX if there is none. */
static uint64_t find_soft_limit(const char *limits, const char *name)
{
	const char *line = strstr(limits, name);

	if (line)
		line += strlen(name) + strspn(line + strlen(name), " ");
	return line && isdigit((unsigned char)*line) ? strtoull(line, NULL, 10) : UINT64_MAX;
}

static void check_limits(struct hl_findings *f, uint64_t pid, const char *status)
{
	char *limits = read_text(pid, "limits", NULL);
	uint64_t space, size = find_status_number(status, "\nVmPeak:") << 10, files, open_files;
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX];

	if (!limits)
		return;
	space = find_soft_limit(limits, "Max address space");
	files = find_soft_limit(limits, "Max file size");
	open_files = find_soft_limit(limits, "Max open files");
	free(limits);
	if (space != UINT64_MAX && space - (size < space ? size : space) < MIN_ADDRESS_SPACE)
		hl_findings_add(f, HL_VERDICT_PARTIAL, "limits",
			"raise RLIMIT_AS by 64 MiB (ulimit -v)",
			"its address space is limited to %s, of which %s are used: too little is "
			"left for the recorder",
			hl_text_bytes(a, space), hl_text_bytes(b, size));
	else if (files < HL_REGION_BYTES || open_files < 8)
		hl_findings_add(f, HL_VERDICT_NOTE, "limits",
			"start it with heaplapse record, not by LD_PRELOAD alone",
			"its RLIMIT_FSIZE or RLIMIT_NOFILE is too small for the library to start a "
			"collector");
	else
		hl_findings_add(f, HL_VERDICT_OK, "limits", NULL,
			"limits of address space, file size and open files are sufficient");
}

static void check_sandbox(struct hl_findings *f, const char *status)
{
	switch (find_status_number(status, "\nSeccomp:")) {
	case 0:
		hl_findings_add(f, HL_VERDICT_OK, "sandbox", NULL, "it has no seccomp filter%s",
			find_status_number(status, "\nNoNewPrivs:")
				? ", only no_new_privs (not a problem)"
				: "");
		break;
	case 1:
		hl_findings_add(f, HL_VERDICT_NOTE, "sandbox", NULL,
			"it is in seccomp's strict mode: a full ring drops events instead of "
			"waiting (they are counted)");
		break;
	default:
		hl_findings_add(f, HL_VERDICT_NOTE, "sandbox",
			"if events are dropped: allow futex, nanosleep and membarrier",
			"it has a seccomp filter: the recorder needs system calls only for new "
			"threads and children");
	}
}

static bool is_same_namespace(uint64_t pid, const char *name)
{
	char theirs[64], ours[64];
	struct stat a, b;

	snprintf(theirs, sizeof(theirs), "/proc/%" PRIu64 "/ns/%s", pid, name);
	snprintf(ours, sizeof(ours), "/proc/self/ns/%s", name);
	return stat(theirs, &a) < 0 || stat(ours, &b) < 0 || a.st_ino == b.st_ino;
}

static void check_namespaces(struct hl_findings *f, uint64_t pid)
{
	static const char *const names[] = {"mnt", "net", "pid", "user"};
	char list[64] = "";

	for (size_t i = 0; i < HL_ARRAY_LEN(names); i++)
		if (!is_same_namespace(pid, names[i])) {
			strcat(list, *list ? ", " : "");
			strcat(list, names[i]);
		}
	if (*list)
		hl_findings_add(f, HL_VERDICT_NOTE, "namespaces",
			"run heaplapse record inside them; the library must be in that file system",
			"it is in its own namespaces (%s), like a container", list);
	else
		hl_findings_add(
			f, HL_VERDICT_OK, "namespaces", NULL, "the same as those of heaplapse");
}

static void check_preload(struct hl_findings *f, uint64_t pid)
{
	size_t len = 0;
	char *text = read_text(pid, "environ", &len);

	if (!text)
		return;
	for (size_t at = 0; at < len; at += strlen(text + at) + 1)
		if (!strncmp(text + at, "LD_PRELOAD=", 11) && text[at + 11])
			hl_findings_add(f, HL_VERDICT_OK, "LD_PRELOAD", NULL,
				"%.300s; record keeps it, after the recorder", text + at + 11);
	free(text);
}

static void check_rights(struct hl_findings *f, uint64_t pid)
{
	int mem = hl_procfs_open(pid, "mem");

	if (mem >= 0)
		close(mem);
	hl_findings_add(f, mem >= 0 ? HL_VERDICT_OK : HL_VERDICT_NOTE, "rights",
		mem >= 0 ? NULL : "run this as its user or as root",
		mem >= 0
			? "you have permission to inspect it (ptrace)"
			: "you have no permission to inspect it (ptrace); some checks are skipped");
}

/* Finds the path of the program. Returns false if it may not be read. */
static bool find_program_name(struct hl_findings *f, uint64_t pid, char *name, size_t n)
{
	char link[64];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/%" PRIu64 "/exe", pid);
	len = readlink(link, name, n - 1);
	name[len > 0 ? len : 0] = '\0';
	if (len > 0)
		hl_findings_add(f, HL_VERDICT_OK, "program", NULL, "%s", name);
	return len > 0;
}

/* Checks the program as if it were to be started. */
static void check_program(struct hl_findings *f, uint64_t pid, const char *name)
{
	struct target t;
	char link[64];

	snprintf(link, sizeof(link), "/proc/%" PRIu64 "/exe", pid);
	hl_program_check_file(link, name, &t);
	hl_program_examine(&t);
	for (size_t i = 0; i < t.findings.v.len; i++) {
		const struct hl_finding *finding = &t.findings.v.data[i];

		hl_findings_add(
			f, finding->verdict, finding->check, finding->remedy, "%s", finding->text);
	}
	hl_program_fini(&t);
}

int hl_running_process_check(struct hl_findings *f, const char *word)
{
	uint64_t pid = strtoull(word, NULL,
		10); /* with too many digits the result is UINT64_MAX, which is not a pid */
	char *status = read_text(pid, "status", NULL);
	const char *state = status ? strstr(status, "\nState:\t") : NULL;
	char name[PATH_MAX];
	bool named;

	if (!status || !state || state[8] == 'Z' || state[8] == 'X' ||
		!strstr(status, "\nVmSize:")) {
		hl_findings_add(f, HL_VERDICT_FAILS, "process",
			"pass the pid of a running program, or a program",
			!status || !state ? "there is no process %s"
					  : "process %s has ended or is a kernel thread",
			word);
		free(status);
		return -ESRCH;
	}
	named = find_program_name(f, pid, name, sizeof(name));
	if (check_is_heaplapse(f, pid, name)) {
		free(status);
		return -EINVAL;
	}
	if (check_recorder(f, pid)) {
		free(status);
		return 1;
	}
	if (named)
		check_program(f, pid, name);
	check_preload(f, pid);
	check_limits(f, pid, status);
	check_sandbox(f, status);
	check_namespaces(f, pid);
	check_rights(f, pid);
	free(status);
	return 0;
}
