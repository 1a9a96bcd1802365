/*
 * process_follow.c - from heaplapse's own processes to the program that they are there for.
 *
 * Whoever starts `heaplapse record ./app &` has the pid of record at hand ($!), not the program's.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/process.h"
#include "util/procfs.h"

static enum hl_process_part part_of(uint64_t pid)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%" PRIu64 "/exe", pid);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	return hl_process_part(pid, path);
}

static uint64_t parent_of(uint64_t pid)
{
	char text[512], *stat = hl_procfs_stat(pid, text, sizeof(text));
	unsigned long long parent = 0;

	return stat && sscanf(stat, "%*c %llu", &parent) == 1 ? parent : 0;
}

/* record starts one program and one collector after another. */
static int child_of(uint64_t record, uint64_t *program)
{
	char name[64], text[4096], *at = text, *end;

	snprintf(name, sizeof(name), "task/%" PRIu64 "/children", record);
	if (!hl_procfs_read(record, name, text, sizeof(text)))
		return -ECHILD;
	for (;; at = end) {
		uint64_t pid = strtoull(at, &end, 10);

		if (end == at)
			return -ECHILD;
		if (part_of(pid) == HL_PROCESS_OTHER) {
			*program = pid;
			return 0;
		}
	}
}

int hl_process_follow(uint64_t pid, uint64_t *program)
{
	*program = pid;
	switch (part_of(pid)) {
	case HL_PROCESS_OTHER:
		return 0;
	case HL_PROCESS_RECORD:
		return child_of(pid, program);
	case HL_PROCESS_COLLECTOR:
		pid = parent_of(pid);
		return part_of(pid) == HL_PROCESS_RECORD ? child_of(pid, program) : -ECHILD;
	}
	return -ECHILD;
}
