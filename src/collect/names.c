/*
 * names.c - see names.h.
 *
 * A thread has the name of the one that made it until it gets its own; that is no name of its, so
 * only what differs from the process's is kept. A thread that is gone before we look has none.
 */
#include "collect/names.h"

#include <stdio.h>
#include <string.h>

#include "collect/books.h"
#include "collect/proc.h"
#include "util/procfs.h"

#define LOOK_NS UINT64_C(5000000) /* at least, between two looks at all threads */

static size_t read_name(const struct hl_proc *p, uint32_t tid, char *text, size_t n)
{
	char file[48];
	size_t len;

	snprintf(file, sizeof(file), "task/%u/comm", tid);
	len = hl_procfs_read(p->pid, file, text, n);
	while (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
	return len;
}

static void look_at(struct hl_feed *f, const char *process, uint64_t stamp)
{
	struct hl_extra extra = {.kind = HL_EXTRA_THREAD_NAME, .node = HL_NODE_NONE};
	char name[sizeof(f->name)];
	size_t len = read_name(f->proc, f->tid, name, sizeof(name));

	if (len == 0 || strcmp(name, process) == 0 || strcmp(name, f->name) == 0)
		return;
	memcpy(f->name, name, sizeof(name));
	hl_books_extra(f->proc, f, &extra, name, (uint32_t)len, stamp);
}

void hl_names_due(struct hl_proc *p)
{
	p->has_named = p->names_due = true;
}

void hl_names_tick(struct hl_proc *p, uint64_t now_ns)
{
	char process[sizeof(((struct hl_feed *)0)->name)] = "";

	if (!p->names_due || now_ns - p->names_ns < LOOK_NS)
		return;
	p->names_due = false;
	p->names_ns = now_ns;
	if (p->nameless || !read_name(p, (uint32_t)p->pid, process, sizeof(process)))
		return;
	for (size_t i = 0; i < p->feeds.len; i++)
		look_at(p->feeds.data[i], process, p->last_stamp);
}

void hl_names_meet(struct hl_feed *f, uint64_t stamp)
{
	char process[sizeof(f->name)] = "";

	if (!f->proc->has_named || f->proc->nameless ||
		!read_name(f->proc, (uint32_t)f->proc->pid, process, sizeof(process)))
		return;
	look_at(f, process, stamp);
}
