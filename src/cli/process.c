/*
 * process.c - see process.h. Everything is read from /proc; nothing in the process is changed or
 * stopped. What it says about itself (its rings, its environment) is not believed further than to
 * be shown.
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

#include "cli/process.h"
#include "cli/target.h"
#include "ring/layout.h"
#include "util/procfs.h"
#include "util/text.h"

#define TEXT_MAX    (1u << 20)
#define LITTLE_ROOM (UINT64_C(16) << 20) /* of address space, for the rings and a memo */
#define BEAT_NS     200000000            /* the collector's heart beats four times in this */

bool hl_process_is_pid(const char *word)
{
	return *word && !word[strspn(word, "0123456789")];
}

/* The whole text, ended by NUL; NULL when it may not be read. The caller frees it. */
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

/* The number behind "\nNAME:" in /proc/PID/status. */
static uint64_t number_of(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return line ? strtoull(line + strlen(name), NULL, 10) : 0;
}

/* --- recorded by us? --- */

struct found {
	bool library, region;
	uint64_t at;    /* of the region in its memory */
	uint64_t inode; /* of its memfd */
};

static void find_ours(const char *maps, struct found *found)
{
	const char *line = strstr(maps, "/memfd:heaplapse");

	found->library = strstr(maps, "/libheaplapse.so") != NULL;
	while (line && line > maps && line[-1] != '\n')
		line--;
	if (line) {
		unsigned long long inode = 0;

		found->at = strtoull(line, NULL, 16);
		found->region = true;
		if (sscanf(line, "%*s %*s %*s %*s %llu", &inode) == 1)
			found->inode = inode;
	}
}

int hl_process_region(uint64_t pid, uint64_t *inode)
{
	int fd = hl_procfs_open(pid, "maps");
	struct found found = {0};
	char *maps;

	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	close(fd);
	maps = read_text(pid, "maps", NULL);
	if (!maps || !*maps) { /* it has ended, or may not be read */
		free(maps);
		return -ESRCH;
	}
	find_ours(maps, &found);
	free(maps);
	if (!found.region)
		return found.library ? -ENODATA : -ENOENT;
	*inode = found.inode;
	return 0;
}

struct rings {
	struct hl_region head;
	uint64_t dropped;
};

/* A copy of what the process shares with its collector; -errno. */
static int read_rings(int mem, uint64_t at, struct rings *rings)
{
	struct hl_ring ring;

	if (pread(mem, &rings->head, sizeof(rings->head), (off_t)at) != sizeof(rings->head))
		return -EIO;
	if (rings->head.magic != HL_REGION_MAGIC || rings->head.abi != HL_REGION_ABI)
		return -EPROTO;
	rings->dropped = atomic_load(&rings->head.unclaimed_drops);
	for (uint32_t i = 0; i < HL_RING_COUNT; i++) {
		off_t place = (off_t)(at + HL_REGION_CONTROL_OFFSET + i * sizeof(ring));

		if (pread(mem, &ring, sizeof(ring), place) != sizeof(ring))
			return -EIO;
		rings->dropped += atomic_load(&ring.dropped);
	}
	return 0;
}

static void judge_rings(struct hl_findings *f, int mem, uint64_t at)
{
	struct timespec moment = {.tv_nsec = BEAT_NS};
	struct rings first, second;
	char taken[HL_TEXT_SIZE_MAX], written[HL_TEXT_SIZE_MAX], dropped[HL_TEXT_SIZE_MAX];
	uint64_t all, durable;
	uint32_t collector;
	int err = read_rings(mem, at, &first);

	nanosleep(&moment, NULL);
	if (!err)
		err = read_rings(mem, at, &second);
	if (err) {
		hl_findings_add(f, HL_VERDICT_NOTE, "recorder",
			err == -EPROTO ? "use the heaplapse that started it" : NULL,
			err == -EPROTO ? "it is recorded, by another version of heaplapse"
				       : "it is recorded, but its rings cannot be read");
		return;
	}
	collector = atomic_load(&second.head.collector_pid);
	/* The collector counts on while we read: the later number may be ahead of the earlier. */
	all = atomic_load(&second.head.taken_events);
	durable = atomic_load(&second.head.durable_events);
	durable = durable < all ? durable : all;
	if (atomic_load(&first.head.heartbeat) == atomic_load(&second.head.heartbeat))
		hl_findings_add(f, HL_VERDICT_PARTIAL, "collector",
			"see whether that process is stopped or gone; after its end recording "
			"stops, and the program runs on",
			"it is recorded by process %u, which gives no sign of life", collector);
	else
		hl_findings_add(f, HL_VERDICT_OK, "collector", NULL,
			"it is recorded by process %u: %s events taken, %s of them in the trace",
			collector, hl_text_count(taken, all), hl_text_count(written, durable));
	if (second.dropped)
		hl_findings_add(f, HL_VERDICT_PARTIAL, "drops",
			"give the trace a faster disk, or record with a longer --max-wait",
			"%s events found no room and were dropped%s",
			hl_text_count(dropped, second.dropped),
			second.dropped > first.dropped ? ", more every moment" : "");
	else
		hl_findings_add(f, HL_VERDICT_OK, "drops", NULL, "nothing was dropped so far");
}

/* Of the same words as its parent: forked by it, and nothing else was executed since. */
static bool is_like_parent(uint64_t pid, const char *words, size_t len)
{
	char text[512], *at = hl_procfs_stat(pid, text, sizeof(text));
	uint64_t parent = at && at[0] && at[1] ? strtoull(at + 2, NULL, 10) : 0;
	size_t parents = 0;
	char *others = parent ? read_text(parent, "cmdline", &parents) : NULL;
	bool like = others && parents == len && !memcmp(others, words, len);

	free(others);
	return like;
}

enum hl_process_part hl_process_part(uint64_t pid, const char *program)
{
	size_t len = 0;
	char *words = read_text(pid, "cmdline", &len);
	const char *base = strrchr(program, '/'), *command;
	enum hl_process_part part = HL_PROCESS_OTHER;

	/* Whose program may not be known goes by its first word. */
	base = !words ? "" : base ? base + 1 : *program ? program : words;
	if (base == words && strrchr(words, '/'))
		base = strrchr(words, '/') + 1;
	command = words && strlen(words) < len ? words + strlen(words) + 1 : "";
	if (!strcmp(base, "heaplapse") && !strcmp(command, "collect"))
		part = HL_PROCESS_COLLECTOR;
	else if (!strcmp(base, "heaplapse") && !strcmp(command, "record"))
		part = is_like_parent(pid, words, len) ? HL_PROCESS_COLLECTOR : HL_PROCESS_RECORD;
	free(words);
	return part;
}

static bool judge_ourselves(struct hl_findings *f, uint64_t pid, const char *program)
{
	enum hl_process_part part = hl_process_part(pid, program);

	if (part == HL_PROCESS_OTHER)
		return false;
	hl_findings_add(f, HL_VERDICT_FAILS, "process",
		"give the pid of the program that is recorded",
		part == HL_PROCESS_COLLECTOR
			? "it is heaplapse itself: the collector of a recording, which writes the "
			  "trace"
			: "it is heaplapse itself: record, which waits for the program that it has "
			  "started");
	return true;
}

/* True if it is recorded, or would be but for what is said. */
static bool judge_recorder(struct hl_findings *f, uint64_t pid)
{
	char *maps = read_text(pid, "maps", NULL);
	const bool seen = maps && *maps;
	struct found found = {0};
	int mem;

	if (seen)
		find_ours(maps, &found);
	free(maps);
	if (!found.library) {
		hl_findings_add(f, HL_VERDICT_FAILS, "recorder",
			"start it anew with: heaplapse record COMMAND",
			seen ? "it runs without the recorder, which cannot be put into a running "
			       "process"
			     : "it may not be looked at, and a running process cannot be joined");
		return false;
	}
	if (!found.region) {
		hl_findings_add(f, HL_VERDICT_FAILS, "recorder",
			"start it anew, and read its stderr for the reason",
			"the recorder is loaded but switched off; it has said why when it started");
		return true;
	}
	mem = hl_procfs_open(pid, "mem");
	if (mem < 0) {
		hl_findings_add(f, HL_VERDICT_NOTE, "recorder", "ask as root",
			"it is recorded, but how well cannot be seen: %s", strerror(-mem));
		return true;
	}
	judge_rings(f, mem, found.at);
	close(mem);
	return true;
}

/* --- would it be recorded if it were started anew? --- */

/* The soft limit in a line of /proc/PID/limits; UINT64_MAX: none. */
static uint64_t limit_of(const char *limits, const char *name)
{
	const char *line = strstr(limits, name);

	if (line)
		line += strlen(name) + strspn(line + strlen(name), " ");
	return line && isdigit((unsigned char)*line) ? strtoull(line, NULL, 10) : UINT64_MAX;
}

static void judge_limits(struct hl_findings *f, uint64_t pid, const char *status)
{
	char *limits = read_text(pid, "limits", NULL);
	uint64_t space, size = number_of(status, "\nVmPeak:") << 10, files, handles;
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX];

	if (!limits)
		return;
	space = limit_of(limits, "Max address space");
	files = limit_of(limits, "Max file size");
	handles = limit_of(limits, "Max open files");
	free(limits);
	if (space != UINT64_MAX && space - (size < space ? size : space) < LITTLE_ROOM)
		hl_findings_add(f, HL_VERDICT_PARTIAL, "limits",
			"raise RLIMIT_AS by 64 MiB (ulimit -v)",
			"its address space is limited to %s, of which it has used %s: there is "
			"little or no room for the recorder",
			hl_text_bytes(a, space), hl_text_bytes(b, size));
	else if (files < HL_REGION_BYTES || handles < 8)
		hl_findings_add(f, HL_VERDICT_NOTE, "limits",
			"start it with heaplapse record, not by LD_PRELOAD alone",
			"its RLIMIT_FSIZE or RLIMIT_NOFILE is small: the library cannot start a "
			"collector by itself under it");
	else
		hl_findings_add(f, HL_VERDICT_OK, "limits", NULL,
			"address space, file size and descriptors leave room for the recorder");
}

static void judge_sandbox(struct hl_findings *f, const char *status)
{
	switch (number_of(status, "\nSeccomp:")) {
	case 0:
		hl_findings_add(f, HL_VERDICT_OK, "sandbox", NULL, "it has no seccomp filter%s",
			number_of(status, "\nNoNewPrivs:") ? ", only no_new_privs, which is no "
							     "matter"
							   : "");
		break;
	case 1:
		hl_findings_add(f, HL_VERDICT_NOTE, "sandbox", NULL,
			"it is in seccomp's strict mode: a full ring drops events there instead of "
			"waiting (they are counted)");
		break;
	default:
		hl_findings_add(f, HL_VERDICT_NOTE, "sandbox",
			"if events are dropped: allow futex, nanosleep and membarrier",
			"it has a seccomp filter: what the recorder does after the start needs no "
			"system call, but a thread or a child that starts later may");
	}
}

static bool same_namespace(uint64_t pid, const char *name)
{
	char theirs[64], ours[64];
	struct stat a, b;

	snprintf(theirs, sizeof(theirs), "/proc/%" PRIu64 "/ns/%s", pid, name);
	snprintf(ours, sizeof(ours), "/proc/self/ns/%s", name);
	return stat(theirs, &a) < 0 || stat(ours, &b) < 0 || a.st_ino == b.st_ino;
}

static void judge_namespaces(struct hl_findings *f, uint64_t pid)
{
	static const char *const names[] = {"mnt", "net", "pid", "user"};
	char list[64] = "";

	for (size_t i = 0; i < HL_ARRAY_LEN(names); i++)
		if (!same_namespace(pid, names[i])) {
			strcat(list, *list ? ", " : "");
			strcat(list, names[i]);
		}
	if (*list)
		hl_findings_add(f, HL_VERDICT_NOTE, "namespaces",
			"run heaplapse record in there; the library must be in its file system",
			"it lives in namespaces of its own (%s), as containers do", list);
	else
		hl_findings_add(f, HL_VERDICT_OK, "namespaces", NULL, "the same as ours");
}

static void judge_preload(struct hl_findings *f, uint64_t pid)
{
	size_t len = 0;
	char *text = read_text(pid, "environ", &len);

	if (!text)
		return;
	for (size_t at = 0; at < len; at += strlen(text + at) + 1)
		if (!strncmp(text + at, "LD_PRELOAD=", 11) && text[at + 11])
			hl_findings_add(f, HL_VERDICT_OK, "LD_PRELOAD", NULL,
				"%.300s; record keeps it, behind the recorder", text + at + 11);
	free(text);
}

static void judge_rights(struct hl_findings *f, uint64_t pid)
{
	int mem = hl_procfs_open(pid, "mem");

	if (mem >= 0)
		close(mem);
	hl_findings_add(f, mem >= 0 ? HL_VERDICT_OK : HL_VERDICT_NOTE, "rights",
		mem >= 0 ? NULL : "ask as its user or as root",
		mem >= 0 ? "you may look into it (ptrace)"
			 : "you may not look into it (ptrace), so that not all is seen here");
}

/* What it runs; false: that may not be known. */
static bool name_program(struct hl_findings *f, uint64_t pid, char *name, size_t n)
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

/* The program, judged as if it were to be started. */
static void judge_program(struct hl_findings *f, uint64_t pid, const char *name)
{
	struct target t;
	char link[64];

	snprintf(link, sizeof(link), "/proc/%" PRIu64 "/exe", pid);
	hl_target_judge(link, name, &t);
	hl_target_examine(&t);
	for (size_t i = 0; i < t.findings.v.len; i++) {
		const struct hl_finding *one = &t.findings.v.data[i];

		hl_findings_add(f, one->verdict, one->check, one->remedy, "%s", one->what);
	}
	hl_target_fini(&t);
}

int hl_process_check(struct hl_findings *f, const char *word)
{
	uint64_t pid = strtoull(word, NULL, 10); /* too many digits: the largest, which none has */
	char *status = read_text(pid, "status", NULL);
	const char *state = status ? strstr(status, "\nState:\t") : NULL;
	char name[PATH_MAX];
	bool named;

	if (!status || !state || state[8] == 'Z' || state[8] == 'X' ||
		!strstr(status, "\nVmSize:")) {
		hl_findings_add(f, HL_VERDICT_FAILS, "process",
			"give the pid of a program that runs, or a program",
			!status || !state ? "there is no process %s"
					  : "process %s has ended, or is a thread of the kernel",
			word);
		free(status);
		return -ESRCH;
	}
	named = name_program(f, pid, name, sizeof(name));
	if (judge_ourselves(f, pid, name)) {
		free(status);
		return -EINVAL;
	}
	if (judge_recorder(f, pid)) {
		free(status);
		return 1;
	}
	if (named)
		judge_program(f, pid, name);
	judge_preload(f, pid);
	judge_limits(f, pid, status);
	judge_sandbox(f, status);
	judge_namespaces(f, pid);
	judge_rights(f, pid);
	free(status);
	return 0;
}
