/* SPDX-License-Identifier: Apache-2.0 */
/* collector.c - see collector.h. The main loop is the first thread; nothing in it may block. */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/bits.h"
#include "collect/collector_internal.h"
#include "collect/target/exit_status.h"

#define CHECK_NS        UINT64_C(5000000)  /* between checks for new and ended processes */
#define WATCHED_NS      UINT64_C(20000000) /* the same while poll would report them */
#define WATCHED_MAX     8u /* regions, and targets of one: all of these fit into one poll */
#define OVER_NS         UINT64_C(20000000)   /* between checks whether a region is over */
#define LINGER_NS       UINT64_C(1000000000) /* after the last target */
#define TRIM_NS         UINT64_C(500000000)
#define MIN_SLEEP_NS    20000u
#define MAX_SLEEP_NS    5000000u
#define IDLE_SLEEP_NS   20000000u /* after a second without data, or in modes with little data */
#define URGENT_SLEEP_NS 200000u   /* while `record` waits for an answer */
#define IDLE_NS         UINT64_C(1000000000)

/* Called only by the second thread. */
static void on_closed(
	void *arg, uint64_t pid, const char *path, int err, uint64_t unwritten, uint64_t early)
{
	struct hl_collector *c = arg;
	struct hl_message message = {.kind = HL_MESSAGE_CLOSED,
		.pid = (uint32_t)pid,
		.value = err,
		.unwritten_events = unwritten,
		.early_blocks = early};

	snprintf(message.text, sizeof(message.text), "%s", path);
	hl_message_queue_put(&c->outbox, &message, -1);
	if (c->start->on_trace && !err)
		c->start->on_trace(path);
}

static void on_snapshot(void *arg, const char *sentence)
{
	struct hl_collector *c = arg;
	struct hl_message message = {.kind = HL_MESSAGE_SNAPSHOT};

	if (c->start->on_snapshot) {
		c->start->on_snapshot(sentence);
		return;
	}
	snprintf(message.text, sizeof(message.text), "%s", sentence);
	hl_message_queue_put(&c->outbox, &message, -1);
}

static void on_no_log(void *arg, uint64_t pid, int err)
{
	struct hl_collector *c = arg;
	struct hl_message message = {.kind = HL_MESSAGE_NO_LOG, .pid = (uint32_t)pid, .value = err};

	hl_message_queue_put(&c->outbox, &message, -1);
}

int hl_collector_add_region(
	struct hl_collector *c, int memfd, uint64_t pid, bool fresh, struct hl_region_reader **out)
{
	int err = hl_region_open(out, memfd, pid, fresh, &c->start->settings, &c->queue);
	struct hl_message message = {.kind = HL_MESSAGE_REGION, .pid = (uint32_t)pid};

	if (err)
		return err;
	message.region = (*out)->inode;
	if (hl_vec_push(&c->regions, *out)) {
		hl_region_close(*out);
		return -ENOMEM;
	}
	if (c->control_fd >= 0 && fresh) {
		hl_message_queue_put(&c->outbox, &message, (*out)->memfd);
		hl_message_queue_flush(&c->outbox, c->control_fd);
	}
	return 0;
}

static void on_wait_status(struct hl_collector *c, uint64_t pid, int status)
{
	for (size_t i = 0; i < c->regions.len; i++)
		for (size_t k = 0; k < c->regions.data[i]->targets.len; k++) {
			struct hl_target *p = c->regions.data[i]->targets.data[k];

			if (p->pid == pid)
				hl_target_exit_set_status(p, status);
		}
}

static void read_control(struct hl_collector *c)
{
	struct hl_message message;
	int fd, err;

	if (c->control_fd < 0)
		return;
	hl_message_queue_flush(&c->outbox, c->control_fd);
	while ((err = hl_message_receive(c->control_fd, &message, &fd)) == 0) {
		if (fd >= 0)
			close(fd);
		if (message.kind == HL_MESSAGE_ENDED) {
			on_wait_status(c, message.pid, message.value);
			c->settle_requested = true;
			c->settled_checks = 0;
		}
	}
	if (err != -EAGAIN) {
		close(c->control_fd);
		c->control_fd = -1;
	}
}

/* True if the target's trace was ended. */
static bool try_end(struct hl_region_reader *r, struct hl_target *p, uint64_t now)
{
	struct hl_end end;

	if (!hl_target_exit_is_final(r, p, now, &end))
		return false;
	if (!p->exit.gone) /* it still maps the region: no need to check soon */
		r->last_over_check_ns = now;
	hl_region_end_process(r, p, &end);
	return true;
}

/* True if a target is leaving: its rings are scanned again at once. */
static bool check_processes(struct hl_collector *c, uint64_t now)
{
	bool leaving = false;

	for (size_t i = 0; i < c->regions.len; i++) {
		struct hl_region_reader *r = c->regions.data[i];

		for (size_t k = 0; k < r->targets.len;) {
			hl_target_exit_check(r, r->targets.data[k], now);
			if (try_end(r, r->targets.data[k], now)) {
				c->target_ended = true;
				continue;
			}
			leaving |= hl_target_exit_needs_scan(r->targets.data[k]);
			k++;
		}
	}
	return leaving;
}

/* A region whose targets have all ended may still be mapped by a child that has not allocated yet.
 * A region without any target may belong to a program that is still starting. */
static bool region_done(struct hl_region_reader *r, uint64_t now)
{
	if (r->targets.len || now - r->last_over_check_ns < OVER_NS)
		return false;
	if (!r->over)
		r->last_over_check_ns = now;
	if (atomic_load(&r->region->next_serial) == 0 && !hl_exit_status_is_dead(r->pidfd, r->pid))
		return false;
	/* A process may have written and died since the last scan: scan once more, now that the
	 * contents are final. */
	return hl_region_is_over(r) && r->final_scans++ > 0;
}

static void check_regions(struct hl_collector *c, uint64_t now)
{
	for (size_t i = 0; i < c->regions.len;) {
		struct hl_region_reader *r = c->regions.data[i];
		struct hl_message message = {.kind = HL_MESSAGE_OVER, .pid = (uint32_t)r->pid};

		if (!region_done(r, now)) {
			i++;
			continue;
		}
		message.value = r->made_trace;
		message.region = r->inode;
		if (c->control_fd >= 0)
			hl_message_queue_put(&c->outbox, &message, -1);
		if (hl_vec_push(&c->finished, r))
			hl_region_close(r);
		c->regions.data[i] = c->regions.data[--c->regions.len];
	}
}

/* Messages that `record` waits for are sent first: releasing memory takes milliseconds. */
static void close_regions(struct hl_collector *c)
{
	if (c->control_fd >= 0)
		hl_message_queue_flush(&c->outbox, c->control_fd);
	while (c->finished.len)
		hl_region_close(c->finished.data[--c->finished.len]);
}

/* malloc keeps freed memory. Returns the memory of ended targets to the kernel, after the second
 * thread has written the rest of their traces. */
static void trim_memory(struct hl_collector *c, uint64_t now)
{
	if (!c->target_ended || atomic_load(&c->queue.n) || now - c->last_trim_ns < TRIM_NS)
		return;
	malloc_trim(0);
	c->last_trim_ns = now;
	c->target_ended = false;
}

static bool is_over(struct hl_collector *c, uint64_t now)
{
	if (c->regions.len || c->connections.len) {
		c->idle_since_ns = now;
		return false;
	}
	if (!c->start->listener)
		return true;
	return c->control_fd < 0 && now - c->idle_since_ns > LINGER_NS;
}

static bool has_leaving_targets(const struct hl_collector *c)
{
	for (size_t i = 0; i < c->regions.len; i++)
		for (size_t k = 0; k < c->regions.data[i]->targets.len; k++)
			if (c->regions.data[i]->targets.data[k]->exit.gone)
				return true;
	return false;
}

static bool has_targets(const struct hl_collector *c)
{
	for (size_t i = 0; i < c->regions.len; i++)
		if (c->regions.data[i]->targets.len)
			return true;
	return false;
}

/* Children that ended together with the program must have their traces when `record` returns. */
static void send_settled(struct hl_collector *c)
{
	struct hl_message message = {.kind = HL_MESSAGE_SETTLED};

	if (!c->settle_requested)
		return;
	if (has_leaving_targets(c) || c->connections.len || atomic_load(&c->queue.n)) {
		c->settled_checks = 0;
		return;
	}
	/* A process that died just now is detected in the next check. */
	if (++c->settled_checks < 2)
		return;
	c->settle_requested = false;
	message.value = has_targets(c);
	hl_message_queue_put(&c->outbox, &message, -1);
}

/* True if no process is starting or ending, and all events to wait for can be polled. */
static bool is_watched(const struct hl_collector *c)
{
	if (c->connections.len || c->ctl.clients.len || c->regions.len > WATCHED_MAX)
		return false;
	for (size_t i = 0; i < c->regions.len; i++) {
		struct hl_region_reader *r = c->regions.data[i];

		if (!r->targets.len || r->targets.len > WATCHED_MAX)
			return false;
		for (size_t k = 0; k < r->targets.len; k++) {
			const struct hl_target *p = r->targets.data[k];

			if (p->pidfd < 0 || hl_target_exit_is_leaving(p) || p->pid_unknown ||
				!hl_target_exit_has_rings(r, p))
				return false;
		}
	}
	return true;
}

/* Sleeps until a process starts or ends, a request arrives, or the rings must be scanned again. */
static void wait_for_events(struct hl_collector *c)
{
	struct pollfd fds[HL_LISTEN_SOCKETS + 1 + 96];
	struct timespec ts = {.tv_nsec = c->sleep_ns};
	nfds_t n = 0;

	for (int i = 0; c->start->listener && i < HL_LISTEN_SOCKETS; i++)
		fds[n++] = (struct pollfd){.fd = c->start->listener->fds[i], .events = POLLIN};
	if (c->control_fd >= 0)
		fds[n++] = (struct pollfd){.fd = c->control_fd, .events = POLLIN};
	for (size_t i = 0; i < c->connections.len && n < HL_ARRAY_LEN(fds); i++)
		fds[n++] = (struct pollfd){.fd = c->connections.data[i].fd, .events = POLLIN};
	for (size_t i = 0; i < c->ctl.clients.len && n < HL_ARRAY_LEN(fds) / 2; i++)
		fds[n++] = (struct pollfd){.fd = c->ctl.clients.data[i].fd, .events = POLLIN};
	for (size_t i = 0; i < c->regions.len && n < HL_ARRAY_LEN(fds) * 3 / 4; i++)
		if (c->regions.data[i]->ctl_fd >= 0)
			fds[n++] =
				(struct pollfd){.fd = c->regions.data[i]->ctl_fd, .events = POLLIN};
	for (size_t i = 0; i < c->regions.len; i++)
		for (size_t k = 0; k < c->regions.data[i]->targets.len && n < HL_ARRAY_LEN(fds);
			k++) {
			const struct hl_target *p = c->regions.data[i]->targets.data[k];

			if (p->pidfd >= 0 && !p->exit.gone)
				fds[n++] = (struct pollfd){.fd = p->pidfd, .events = POLLIN};
		}
	if (ppoll(fds, n, &ts, NULL) > 0)
		c->last_check_ns = 0;
	c->check_ns = is_watched(c) ? WATCHED_NS : CHECK_NS;
}

/* Samples are so rare that no burst of them fills a ring. */
static bool is_all_samples(const struct hl_collector *c)
{
	for (size_t i = 0; i < c->regions.len; i++)
		if (c->regions.data[i]->steering.mode != HL_MODE_SAMPLE ||
			c->regions.data[i]->steering.sample_bytes < HL_SAMPLE_BYTES)
			return false;
	return c->regions.len > 0;
}

/* Aims at rings a quarter full at each scan: rare enough to leave the program alone, early enough
 * that they never fill up. */
static void adapt_sleep(struct hl_collector *c, uint32_t fullest, uint64_t now)
{
	uint32_t most;

	if (fullest)
		c->last_data_ns = now;
	most = !c->regions.len || now - c->last_data_ns > IDLE_NS || is_all_samples(c)
		       ? IDLE_SLEEP_NS
		       : MAX_SLEEP_NS;
	if (fullest > HL_FILL_ALL / 2)
		c->sleep_ns = 0;
	else if (fullest > HL_FILL_ALL / 4)
		c->sleep_ns /= 2;
	else if (fullest < HL_FILL_ALL / 8)
		c->sleep_ns = c->sleep_ns < MIN_SLEEP_NS ? MIN_SLEEP_NS : c->sleep_ns * 2;
	/* Without targets there are no rings to scan: new programs are polled for. */
	if (c->sleep_ns > most || !has_targets(c))
		c->sleep_ns = most;
}

static void run_loop(struct hl_collector *c)
{
	for (;;) {
		uint64_t now = hl_mono_ns();
		uint32_t fullest = 0;
		bool crowded = false;

		for (size_t i = 0; i < c->regions.len; i++) {
			uint32_t fill = hl_region_scan(c->regions.data[i], now);

			fullest = hl_max_u32(fullest, fill);
			crowded |= c->regions.data[i]->crowded;
		}
		if (crowded)
			c->last_check_ns = 0;
		if (now - c->last_check_ns > c->check_ns) {
			c->last_check_ns = now;
			read_control(c);
			hl_collector_serve_connections(c, now);
			hl_ctl_serve(&c->ctl, c->regions.data, c->regions.len, now);
			if (check_processes(c, now)) {
				c->last_check_ns = 0;
				c->sleep_ns = 0;
			}
			check_regions(c, now);
			send_settled(c);
			close_regions(c);
			trim_memory(c, now);
			if (is_over(c, now))
				return;
		}
		adapt_sleep(c, fullest, now);
		if (c->settle_requested || hl_ctl_has_request(&c->ctl)) {
			c->last_check_ns = 0;
			c->sleep_ns = c->sleep_ns < URGENT_SLEEP_NS ? c->sleep_ns : URGENT_SLEEP_NS;
		}
		if (hl_write_queue_full(&c->queue))
			c->sleep_ns = c->sleep_ns < 200000 ? 200000 : c->sleep_ns;
		c->check_ns = CHECK_NS;
		if (c->sleep_ns && !crowded)
			wait_for_events(c);
	}
}

int hl_collector_run(const struct hl_collector_start *start)
{
	struct hl_collector c = {.start = start,
		.control_fd = start->control_fd,
		.sleep_ns = MIN_SLEEP_NS,
		.announced_fd = -1};
	struct hl_region_reader *r;
	struct hl_tsc_clock first;
	int err;

	prctl(PR_SET_TIMERSLACK, 1000);
	/* Measuring the rate takes a while: do it now, while the program is still starting. */
	hl_tsc_clock_init(&first, false);
	c.queue.settings = &start->settings.output;
	c.queue.on_closed = on_closed;
	c.queue.on_snapshot = start->verbose ? on_snapshot : NULL;
	c.queue.on_no_log = start->control_fd >= 0 ? on_no_log : NULL;
	c.queue.arg = &c;
	hl_message_queue_init(&c.outbox);
	err = hl_write_queue_start(&c.queue);
	if (err)
		return err;
	c.idle_since_ns = hl_mono_ns();
	if (start->region_fd >= 0)
		err = hl_collector_add_region(&c, start->region_fd, start->region_pid, true, &r);
	for (size_t i = 0; !err && i < start->n_orphans; i++)
		err = hl_collector_add_region(
			&c, start->orphan_fds[i], start->orphan_pids[i], false, &r);
	if (!err)
		run_loop(&c);
	if (!err && start->listener)
		hl_listener_remove_dir(start->listener); /* if `record` could not */
	hl_write_queue_stop(&c.queue);
	if (c.control_fd >= 0)
		hl_message_queue_flush(&c.outbox, c.control_fd);
	hl_message_queue_fini(&c.outbox);
	hl_ctl_fini(&c.ctl);
	hl_vec_free(&c.regions);
	hl_vec_free(&c.finished);
	hl_vec_free(&c.connections);
	if (c.announced_fd >= 0)
		close(c.announced_fd);
	return err;
}
