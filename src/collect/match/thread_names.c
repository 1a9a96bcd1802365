/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_names.c - see thread_names.h.
 *
 * A new thread inherits the name of its creator until it gets its own. An inherited name is of no
 * use, so only names that differ from that of the process are kept. A thread that has ended before
 * the read has no name.
 */
#include "collect/match/thread_names.h"

#include <stdio.h>
#include <string.h>

#include "collect/match/match.h"
#include "collect/match/target_process.h"
#include "util/procfs.h"

#define READ_INTERVAL_NS UINT64_C(5000000) /* minimum time between two reads of all threads */

static size_t read_name(const struct hl_target *p, uint32_t tid, char *text, size_t n)
{
	char file[48];
	size_t len;

	snprintf(file, sizeof(file), "task/%u/comm", tid);
	len = hl_procfs_read(p->pid, file, text, n);
	while (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
	return len;
}

static void update_name(struct hl_thread_stream *f, const char *process, uint64_t stamp)
{
	struct hl_extra extra = {.kind = HL_EXTRA_THREAD_NAME, .node = HL_NODE_NONE};
	char name[sizeof(f->name)];
	size_t len = read_name(f->target, f->tid, name, sizeof(name));

	if (len == 0 || strcmp(name, process) == 0 || strcmp(name, f->name) == 0)
		return;
	memcpy(f->name, name, sizeof(name));
	hl_match_extra(f->target, f, &extra, name, (uint32_t)len, stamp);
}

void hl_thread_names_due(struct hl_target *p)
{
	p->match.track_names = p->match.names_due = true;
}

void hl_thread_names_tick(struct hl_target *p, uint64_t now_ns)
{
	char process[sizeof(((struct hl_thread_stream *)0)->name)] = "";

	if (!p->match.names_due || now_ns - p->match.names_read_ns < READ_INTERVAL_NS)
		return;
	p->match.names_due = false;
	p->match.names_read_ns = now_ns;
	if (p->pid_unknown || !read_name(p, (uint32_t)p->pid, process, sizeof(process)))
		return;
	for (size_t i = 0; i < p->match.streams.len; i++)
		update_name(p->match.streams.data[i], process, p->match.last_stamp);
}

void hl_thread_names_add(struct hl_thread_stream *f, uint64_t stamp)
{
	char process[sizeof(f->name)] = "";

	if (!f->target->match.track_names || f->target->pid_unknown ||
		!read_name(f->target, (uint32_t)f->target->pid, process, sizeof(process)))
		return;
	update_name(f, process, stamp);
}
