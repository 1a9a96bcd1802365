/* SPDX-License-Identifier: Apache-2.0 */
/* collector_link.c - see collector_link.h. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/record/collector_link.h"
#include "cli/record/record_output.h"
#include "trace/format/session_row.h"
#include "util/safe_text.h"

/* Runs in the collector's own process. A replacement gets all regions that we hold. */
static int run_collector(struct record_session *s, int control_fd)
{
	enum { OWN_FDS = 3 + HL_LISTEN_SOCKETS };
	struct hl_collector_start start = {.settings = s->o->collect,
		.listener = &s->listener,
		.control_fd = control_fd,
		.region_fd = -1,
		.verbose = s->o->verbose && !s->o->quiet};
	size_t n = s->held_regions.len;
	int *keep = calloc(n + OWN_FDS, sizeof(*keep)), *fds = keep ? keep + OWN_FDS : NULL;
	uint64_t *pids = calloc(n + 1, sizeof(*pids));

	if (!keep || !pids)
		return -ENOMEM;
	keep[0] = control_fd;
	keep[1] = s->o->collect.output.dir_fd;
	keep[2] = hl_log_to_stderr(s->o) ? STDERR_FILENO : control_fd;
	memcpy(keep + 3, s->listener.fds, sizeof(s->listener.fds));
	for (size_t i = 0; i < n; i++) {
		fds[i] = s->held_regions.data[i].fd;
		pids[i] = s->held_regions.data[i].pid;
	}
	hl_collector_detach(keep, n + OWN_FDS);
	/* A replacement must not overwrite the traces of its predecessor. */
	start.settings.output.overwrite &= s->restarts == 0;
	start.first_trace = s->restarts > 0 ? s->first_trace : NULL;
	start.first_pid = s->o->gdb ? 0 : (uint64_t)s->child;
	start.orphan_fds = fds;
	start.orphan_pids = pids;
	start.n_orphans = n;
	return hl_collector_run(&start);
}

int hl_collector_link_start(struct record_session *s)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	s->collector = fork();
	if (s->collector < 0)
		return -errno;
	if (s->collector == 0) {
		close(pair[0]); /* the limit of open files may be low */
		close(s->signal_fd);
		_exit(run_collector(s, pair[1]) < 0 ? 1 : 0);
	}
	close(pair[1]);
	if (s->control_fd >= 0)
		close(s->control_fd);
	s->control_fd = pair[0];
	return 0;
}

void hl_collector_link_send_first(const struct record_session *s)
{
	/* gdb is the child, and is not recorded. A pattern that names each process needs no other
	 * name. */
	struct hl_message first = {
		.kind = HL_MESSAGE_FIRST, .pid = s->o->gdb ? 0 : (uint32_t)s->child};

	if (!s->o->gdb && !s->o->collect.output.own_names)
		snprintf(first.text, sizeof(first.text), "%s", s->first_trace);
	(void)hl_message_send(s->control_fd, &first, -1);
}

static void release_region(struct record_session *s, uint64_t inode)
{
	for (size_t i = 0; i < s->held_regions.len; i++)
		if (s->held_regions.data[i].inode == inode) {
			close(s->held_regions.data[i].fd);
			s->held_regions.data[i] = s->held_regions.data[--s->held_regions.len];
			return;
		}
}

static void print_incomplete(const struct hl_message *closed)
{
	char n[HL_TEXT_SIZE_MAX];

	if (!closed->text[0]) { /* not even the file could be created */
		hl_cli_error("process %u has no trace: %s; its %s event%s are missing%s",
			closed->pid, strerror(-closed->value),
			hl_text_count(n, closed->unwritten_events),
			closed->unwritten_events == 1 ? "" : "s",
			hl_record_error_advice(closed->value));
		return;
	}
	hl_cli_error("the trace %s is incomplete: %s; its last %s event%s are missing",
		closed->text, strerror(-closed->value), hl_text_count(n, closed->unwritten_events),
		closed->unwritten_events == 1 ? "" : "s");
}

/* The trace is correct but larger than necessary. The message explains why. */
static void print_early_writes(const struct record_session *s, const struct hl_message *closed)
{
	char n[HL_TEXT_SIZE_MAX], max[HL_TEXT_SIZE_MAX];

	if (closed->early_blocks && !s->o->quiet)
		hl_cli_info("%s: %s block%s written early because the --pending queue (%s events) "
			    "was full; a larger --pending makes the trace smaller",
			closed->text, hl_text_count(n, closed->early_blocks),
			closed->early_blocks == 1 ? " was" : "s were",
			hl_text_count(max, s->o->collect.retain.pending_max));
}

static void add_trace_to_embed(struct record_session *s, const char *path)
{
	char *copy = strdup(path);

	if (!copy || hl_vec_push(&s->traces, copy)) {
		free(copy);
		hl_cli_error("%s: no files embedded: out of memory", path);
	}
}

static void on_closed(struct record_session *s, const struct hl_message *closed)
{
	if (closed->value)
		print_incomplete(closed);
	else if (s->o->embed && closed->text[0])
		add_trace_to_embed(s, closed->text);
	print_early_writes(s, closed);
}

void hl_collector_link_read(struct record_session *s)
{
	struct hl_message message;
	int fd;

	while (hl_message_receive(s->control_fd, &message, &fd) == 0) {
		bool ours = s->o->gdb || message.pid == (uint32_t)s->child;

		switch (message.kind) {
		case HL_MESSAGE_REGION:
			s->regions += ours;
			if (fd >= 0 &&
				hl_vec_push(&s->held_regions,
					((struct held_region){fd, message.pid, message.region})))
				close(fd);
			fd = -1;
			break;
		case HL_MESSAGE_CLOSED:
			s->closed += ours;
			s->all_closed++;
			if (ours)
				memcpy(s->last_path, message.text, sizeof(s->last_path));
			on_closed(s, &message);
			break;
		case HL_MESSAGE_CONTINUED:
			s->earlier_files += ours;
			on_closed(s, &message);
			break;
		case HL_MESSAGE_SNAPSHOT:
			hl_cli_info("%s", message.text);
			break;
		case HL_MESSAGE_NAMED:
			memcpy(s->first_trace, message.text, sizeof(s->first_trace));
			break;
		case HL_MESSAGE_NO_SESSION:
			hl_cli_error("%s" HL_SESSION_SUFFIX " cannot be used: %s; the traces of "
				     "other processes are beside %s or are not listed",
				message.text, hl_record_session_error(message.value), message.text);
			break;
		case HL_MESSAGE_NO_LOG:
			hl_cli_error("--churn-log: cannot write %s for process %u: %s",
				s->o->collect.output.churn_log, message.pid,
				hl_churn_log_error_text(message.value));
			break;
		case HL_MESSAGE_SETTLED:
			s->all_written = true;
			s->processes_run = message.value != 0;
			break;
		case HL_MESSAGE_OVER:
			/* value 0: the region has made no trace, so no HL_MESSAGE_CLOSED of it will
			 * come. */
			s->regions -= ours && !message.value;
			release_region(s, message.region);
			break;
		}
		if (fd >= 0)
			close(fd);
	}
}

void hl_collector_link_replace(struct record_session *s)
{
	char how[64];
	int status;

	if (waitpid(s->collector, &status, WNOHANG) != s->collector)
		return;
	hl_collector_link_read(s);
	s->closed = 0;
	s->regions = 0;
	for (size_t i = 0; i < s->held_regions.len; i++)
		s->regions += s->o->gdb || s->held_regions.data[i].pid == (uint64_t)s->child;
	snprintf(how, sizeof(how),
		WIFSIGNALED(status) ? "was killed by signal %d" : "ended with status %d",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	if (s->restarts++ >= 3 || hl_collector_link_start(s) < 0) {
		hl_cli_error("the collector %s and cannot be replaced; recording stops here", how);
		s->collector = -1;
		close(s->control_fd);
		s->control_fd = -1;
		return;
	}
	hl_cli_error("the collector %s and was replaced; later events are in a new file", how);
}

void hl_collector_link_finish(struct record_session *s, int status)
{
	struct hl_message message = {
		.kind = HL_MESSAGE_ENDED, .pid = (uint32_t)s->child, .value = status};

	hl_message_send(s->control_fd, &message, -1);
	hl_collector_link_read(s);
	while (s->collector > 0 && (s->closed < s->regions || !s->all_written)) {
		struct pollfd fd = {.fd = s->control_fd, .events = POLLIN};

		poll(&fd, 1, 500);
		hl_collector_link_read(s);
		if (fd.revents & (POLLHUP | POLLERR)) {
			hl_collector_link_replace(s);
			hl_message_send(s->control_fd, &message, -1);
		}
	}
}
