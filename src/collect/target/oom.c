/* SPDX-License-Identifier: Apache-2.0 */
/* oom.c - see oom.h. Both versions of cgroups have such a file, with different names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "collect/target/oom.h"
#include "util/procfs.h"

/* The line of the group in /proc/PID/cgroup: "4:memory:/path", or "0::/path". */
static const struct {
	const char *line, *root, *file;
} versions[] = {
	{":memory:", "/sys/fs/cgroup/memory", "memory.oom_control"},
	{"0::", "/sys/fs/cgroup", "memory.events"},
};

static bool read_count(const char *path, uint64_t *n)
{
	FILE *f = fopen(path, "re");
	char line[256];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		if (!strncmp(line, "oom_kill ", 9)) {
			*n = strtoull(line + 9, NULL, 10);
			found = true;
		}
	if (f)
		fclose(f);
	return found;
}

/* In a container the group may be mounted at the root, whatever its path in /proc is. */
static bool try_group(struct hl_oom *o, size_t version, const char *group)
{
	int n = snprintf(o->path, sizeof(o->path), "%s%s/%s", versions[version].root, group,
		versions[version].file);

	return n > 0 && (size_t)n < sizeof(o->path) && read_count(o->path, &o->initial_count);
}

static bool try_line(struct hl_oom *o, const char *line)
{
	for (size_t i = 0; i < HL_ARRAY_LEN(versions); i++) {
		const char *at = strstr(line, versions[i].line);

		if (at && (try_group(o, i, at + strlen(versions[i].line)) || try_group(o, i, "")))
			return true;
	}
	return false;
}

void hl_oom_watch(struct hl_oom *o, uint64_t pid)
{
	FILE *f = hl_procfs_fopen(pid, "cgroup");
	char line[1024];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		found = try_line(o, line);
	}
	if (f)
		fclose(f);
	if (!found)
		o->path[0] = '\0';
}

bool hl_oom_has_killed(const struct hl_oom *o)
{
	uint64_t now;

	return o->path[0] && read_count(o->path, &now) && now > o->initial_count;
}
