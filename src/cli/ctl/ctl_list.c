/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_list.c - see ctl_list.h. A recorded process maps the region that it shares with its
 * collector, and the collector is asked for its status. Processes of other users cannot be
 * inspected and are not listed.
 */
#include "cli/ctl/ctl_list.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/ctl/ctl_client.h"
#include "cli/doctor/running_process.h"
#include "collect/target/proc_image.h"
#include "util/json_writer.h"
#include "util/safe_text.h"
#include "util/strbuf.h"
#include "util/vec.h"

#define TIMEOUT_MS 1000 /* a collector that is stopped must not hide the others */

struct recorded {
	uint64_t pid;
	char *program, *path;
	int err; /* 0: the rest is known; of hl_ctl_ask() or of the collector */
	uint32_t mode;
	bool paused, stopped;
	uint64_t start_unix_ns, events, file_bytes;
};

/* Its name is that of its trace: the one that it was called by (sh, not dash). The file may be
 * removed. "" if it cannot be read. NULL: no memory. */
static char *read_program(uint64_t pid)
{
	static struct hl_proc_image image;
	char *deleted;

	hl_proc_image_read(&image, pid);
	deleted = strstr(image.program, " (deleted)");
	if (deleted && !deleted[strlen(" (deleted)")])
		*deleted = '\0';
	return strdup(image.program);
}

static void ask(struct recorded *p, uint64_t inode)
{
	struct hl_ctl_request q = {.magic = HL_CTL_MAGIC,
		.version = HL_CTL_VERSION,
		.verb = HL_CTL_STATUS,
		.pid = p->pid};
	struct hl_ctl_answer a;

	p->err = hl_ctl_ask(inode, &q, &a, TIMEOUT_MS);
	if (p->err)
		return;
	p->err = a.error;
	p->mode = a.mode;
	p->paused = a.paused;
	p->stopped = a.stopped;
	p->start_unix_ns = a.start_unix_ns;
	p->events = a.events;
	p->file_bytes = a.file_bytes;
	free(p->path);
	p->path = strdup(a.path);
}

static void free_recorded(struct recorded *p)
{
	free(p->program);
	free(p->path);
}

struct recorded_list {
	HL_VEC(struct recorded) v;
};

/* The collector maps the region, too. */
static bool is_collector(uint64_t pid)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%" PRIu64 "/exe", pid);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	return hl_running_process_part(pid, path) != HL_PROCESS_OTHER;
}

/* Adds the process if it is recorded. 0 or -ENOMEM. */
static int add_process(struct recorded_list *list, uint64_t pid)
{
	struct recorded p = {.pid = pid};
	uint64_t inode;

	if (hl_running_process_region(pid, &inode) || is_collector(pid))
		return 0;
	p.program = read_program(pid);
	p.path = strdup("");
	ask(&p, inode);
	if (!p.program || !p.path || hl_vec_push(&list->v, p)) {
		free_recorded(&p);
		return -ENOMEM;
	}
	return 0;
}

/* Entries of /proc are in the order of their pids. */
static int find_all(struct recorded_list *list)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int err = d ? 0 : -errno;

	while (!err && (e = readdir(d)))
		if (hl_running_process_is_pid(e->d_name))
			err = add_process(list, strtoull(e->d_name, NULL, 10));
	if (d)
		closedir(d);
	return err;
}

static const char *error_text(const struct recorded *p)
{
	switch (-p->err) {
	case ESRCH:
		return "nothing recorded yet";
	case EACCES:
	case ECONNRESET:
		return "its collector belongs to another user";
	case ETIMEDOUT:
		return "its collector does not answer";
	case EPROTO:
		return "recorded by another version of heaplapse";
	}
	return "it has no collector here";
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void format_since(char *buf, size_t n, uint64_t unix_ns)
{
	time_t s = (time_t)(unix_ns / 1000000000);
	struct tm tm;

	snprintf(buf, n, "?");
	if (unix_ns && localtime_r(&s, &tm))
		strftime(buf, n, "%m-%d %H:%M:%S", &tm);
}

static void print_row(const struct recorded *p)
{
	char since[32], events[HL_TEXT_SIZE_MAX], bytes[HL_TEXT_SIZE_MAX];
	struct hl_strbuf program = {0}, path = {0};

	hl_text_escape(&program, base_name(p->program));
	hl_text_escape(&path, p->path);
	printf("%8" PRIu64 "  %-15s  ", p->pid, hl_strbuf_str(&program));
	format_since(since, sizeof(since), p->start_unix_ns);
	if (p->err)
		printf("%s\n", error_text(p));
	else
		printf("%-14s  %-6s  %12s  %s%s%s%s\n", since,
			p->stopped  ? "stopped"
			: p->paused ? "paused"
				    : hl_mode_name(p->mode),
			hl_text_count(events, p->events),
			p->path[0] ? hl_strbuf_str(&path) : "not written yet",
			p->path[0] ? " (" : "",
			p->path[0] ? hl_text_bytes(bytes, p->file_bytes) : "",
			p->path[0] ? ")" : "");
	hl_strbuf_fini(&program);
	hl_strbuf_fini(&path);
}

static void print_text(const struct recorded_list *list)
{
	if (!list->v.len) {
		hl_cli_info("no process of yours is being recorded now");
		return;
	}
	printf("%8s  %-15s  %-14s  %-6s  %12s  %s\n", "pid", "program", "since", "mode", "events",
		"trace");
	for (size_t i = 0; i < list->v.len; i++)
		print_row(&list->v.data[i]);
}

static void print_json(const struct recorded_list *list)
{
	struct hl_json j;

	hl_json_init(&j, stdout);
	hl_json_begin_object(&j);
	hl_json_key_u64(&j, "schema", 1);
	hl_json_key(&j, "processes");
	hl_json_begin_array(&j);
	for (size_t i = 0; i < list->v.len; i++) {
		const struct recorded *p = &list->v.data[i];

		hl_json_begin_object(&j);
		hl_json_key_u64(&j, "pid", p->pid);
		hl_json_key_string(&j, "program", p->program);
		hl_json_key_string(&j, "error", p->err ? error_text(p) : NULL);
		hl_json_key_string(&j, "mode", p->err ? NULL : hl_mode_name(p->mode));
		hl_json_key_bool(&j, "paused", p->paused);
		hl_json_key_bool(&j, "stopped", p->stopped);
		hl_json_key_u64(&j, "start_unix_ns", p->start_unix_ns);
		hl_json_key_u64(&j, "events", p->events);
		hl_json_key_string(&j, "file", p->path[0] ? p->path : NULL);
		hl_json_key_u64(&j, "file_bytes", p->file_bytes);
		hl_json_end_object(&j);
	}
	hl_json_end_array(&j);
	hl_json_end_object(&j);
	putchar('\n');
}

int hl_ctl_list(bool json)
{
	struct recorded_list list = {0};
	int err = find_all(&list);

	if (err)
		hl_cli_error("the processes cannot be listed: %s", strerror(-err));
	else if (json)
		print_json(&list);
	else
		print_text(&list);
	for (size_t i = 0; i < list.v.len; i++)
		free_recorded(&list.v.data[i]);
	hl_vec_free(&list.v);
	return err ? HL_EXIT_IO : HL_EXIT_OK;
}
