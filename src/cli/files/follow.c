/* SPDX-License-Identifier: Apache-2.0 */
/* follow.c - see follow.h. */
#include "cli/files/follow.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/ctl/ctl_client.h"
#include "util/mono_clock.h"
#include "util/strbuf.h"
#include "util/work/work.h"

#define LOW_PRIORITY    10
#define LOOK_NS         UINT64_C(100000000)  /* between two looks for something new */
#define LINK_RETRY_NS   UINT64_C(5000000000) /* a program may not be recorded yet */
#define NEXT_WAIT_LOOKS 30                   /* a new collector takes over within 3 s */

static atomic_bool interrupted;

static void on_interrupt(int sig)
{
	atomic_store(&interrupted, true);
}

bool hl_follow_is_interrupted(void)
{
	return atomic_load(&interrupted);
}

static void catch_interrupt(void)
{
	/* Without SA_RESTART, so that it ends a sleep. */
	const struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGINT, &action, NULL);
}

/* --- the connection to the collector --- */

static void unlink_collector(struct hl_follow *f)
{
	if (f->link_fd >= 0)
		close(f->link_fd);
	f->link_fd = -1;
}

/* Without a connection everything works, but count and cull have fewer keyframes. */
static void link_collector(struct hl_follow *f)
{
	uint64_t now = hl_mono_ns();

	if (f->link_fd >= 0 || !hl_model_is_running(f->m) ||
		(f->linked_ns && now - f->linked_ns < LINK_RETRY_NS))
		return;
	f->linked_ns = now;
	f->link_fd = hl_ctl_follow(hl_model_info(f->m)->meta.pid);
}

/* Sleeps. The end of the collector ends the sleep. */
static void sleep_linked(struct hl_follow *f, uint64_t ns)
{
	struct pollfd p = {.fd = f->link_fd, .events = POLLIN};
	struct timespec ts = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
	struct hl_ctl_answer answer;

	if (ppoll(&p, 1, &ts, NULL) <= 0)
		return;
	if (recv(f->link_fd, &answer, sizeof(answer), MSG_DONTWAIT) <= 0)
		unlink_collector(f);
}

/* --- the trace --- */

static int set_model(struct hl_follow *f, struct hl_model *m, const char *path)
{
	char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	free(f->path);
	f->path = copy;
	f->m = m;
	hl_model_work(m)->cancel = &interrupted;
	unlink_collector(f);
	f->linked_ns = 0;
	f->began_ns = hl_mono_ns();
	link_collector(f);
	return 0;
}

int hl_follow_open(struct hl_follow *f, const struct hl_session_choice *c)
{
	struct hl_model *m;
	int status;

	*f = (struct hl_follow){.link_fd = -1};
	status = hl_trace_file_open_path(c->files[0], &m);
	if (status)
		return status;
	catch_interrupt();
	(void)setpriority(PRIO_PROCESS, 0, LOW_PRIORITY);
	f->operand = strdup(c->session ? c->session->first : c->files[0]);
	if (f->operand && set_model(f, m, c->files[0]) == 0)
		return 0;
	hl_cli_error("%s", strerror(ENOMEM));
	hl_model_close(m);
	hl_follow_fini(f);
	return HL_EXIT_IO;
}

void hl_follow_fini(struct hl_follow *f)
{
	unlink_collector(f);
	free(f->path);
	free(f->operand);
	f->path = f->operand = NULL;
}

bool hl_follow_is_over(const struct hl_follow *f)
{
	return !hl_model_is_running(f->m);
}

int hl_follow_wait(struct hl_follow *f, uint64_t period_ns)
{
	bool changed = false;

	while (!changed) {
		uint64_t now = hl_mono_ns(), due = f->began_ns + period_ns;
		int err;

		link_collector(f);
		sleep_linked(f, due > now + LOOK_NS ? due - now : LOOK_NS);
		if (hl_follow_is_interrupted())
			return 0;
		err = hl_model_refresh(f->m, &changed);
		if (err) {
			hl_cli_set_subject(f->path);
			hl_cli_error("%s", hl_model_error(f->m));
			hl_cli_set_subject(NULL);
			return -1;
		}
	}
	f->began_ns = hl_mono_ns();
	return 1;
}

/* --- the file that continues it --- */

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The file behind `path` in the order of its process; NULL: none. */
static const struct hl_session_file *find_next(const struct hl_session_list *s, const char *path)
{
	for (size_t i = 0; i < s->processes.len; i++) {
		const struct hl_session_process *p = &s->processes.data[i];

		for (size_t k = 0; k + 1 < p->n_files; k++)
			if (is_same_file(s->files.data[s->order.data[p->in_order + k]].path, path))
				return &s->files.data[s->order.data[p->in_order + k + 1]];
	}
	return NULL;
}

bool hl_follow_is_continued(const struct hl_follow *f)
{
	const struct hl_trace_info *i = hl_model_info(f->m);

	if (i->end.kind == HL_END_LOST)
		return i->meta.pid && kill((pid_t)i->meta.pid, 0) == 0;
	return i->end.kind == HL_END_CONTINUED || i->end.kind == HL_END_EXEC;
}

static const char *describe_end(const struct hl_follow *f)
{
	switch (hl_model_info(f->m)->end.kind) {
	case HL_END_CONTINUED:
		return "was closed by ctl rotate";
	case HL_END_EXEC:
		return "ends by exec";
	}
	return "has lost its collector";
}

/* 1: opened; 0: not there yet; -errno */
static int open_next(struct hl_follow *f, const char *why)
{
	const struct hl_session_file *next = NULL;
	struct hl_session_list *s = NULL;
	struct hl_reader_refusal refusal;
	struct hl_model *m, *old = f->m;
	int err = hl_session_list_open(&s, f->operand);

	if (!err)
		err = hl_session_list_read(s);
	if (!err)
		next = find_next(s, f->path);
	if (next && hl_trace_file_open_model(next->path, &m, &refusal) == 0) {
		hl_cli_info("%s %s: following %s", f->path, why, next->path);
		err = set_model(f, m, next->path);
		hl_model_close(err ? m : old);
	} else {
		next = NULL;
	}
	hl_session_list_free(s);
	return err == -ENOMEM ? err : next != NULL;
}

int hl_follow_next(struct hl_follow *f)
{
	const char *why = describe_end(f);
	int found = 0;

	for (unsigned i = 0; i < NEXT_WAIT_LOOKS && !found && !hl_follow_is_interrupted(); i++) {
		if (i > 0)
			sleep_linked(f, LOOK_NS);
		found = open_next(f, why);
	}
	if (found <= 0 && !hl_follow_is_interrupted())
		hl_cli_info("%s %s, and no file that continues it was found", f->path, why);
	return found > 0;
}
