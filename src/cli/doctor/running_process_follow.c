/* SPDX-License-Identifier: Apache-2.0 */
/*
 * running_process_follow.c - from heaplapse's own processes to the program that they record.
 *
 * After `heaplapse record ./app &` a shell has the pid of record ($!), not the pid of the program.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/doctor/running_process.h"
#include "util/procfs.h"

static enum hl_running_process_part find_part(uint64_t pid)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%" PRIu64 "/exe", pid);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	return hl_running_process_part(pid, path);
}

static uint64_t find_parent(uint64_t pid)
{
	char text[512], *stat = hl_procfs_stat(pid, text, sizeof(text));
	unsigned long long parent = 0;

	return stat && sscanf(stat, "%*c %llu", &parent) == 1 ? parent : 0;
}

/* Finds the program among the children of record, which has one program and one collector at a
 * time. */
static int find_program(uint64_t record, uint64_t *program)
{
	char name[64], text[4096], *at = text, *end;

	snprintf(name, sizeof(name), "task/%" PRIu64 "/children", record);
	if (!hl_procfs_read(record, name, text, sizeof(text)))
		return -ECHILD;
	for (;; at = end) {
		uint64_t pid = strtoull(at, &end, 10);

		if (end == at)
			return -ECHILD;
		if (find_part(pid) == HL_PROCESS_OTHER) {
			*program = pid;
			return 0;
		}
	}
}

int hl_running_process_follow(uint64_t pid, uint64_t *program)
{
	*program = pid;
	switch (find_part(pid)) {
	case HL_PROCESS_OTHER:
		return 0;
	case HL_PROCESS_RECORD:
		return find_program(pid, program);
	case HL_PROCESS_COLLECTOR:
		pid = find_parent(pid);
		return find_part(pid) == HL_PROCESS_RECORD ? find_program(pid, program) : -ECHILD;
	}
	return -ECHILD;
}
