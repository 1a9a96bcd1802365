/* SPDX-License-Identifier: Apache-2.0 */
/* collector.c - see collector.h. The main loop is the first thread; nothing in it may block. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/bits.h"
#include "collect/collector_internal.h"
#include "collect/target/exit_status.h"

#define WATCHED_MAX 8u /* regions, and targets of one: to look at more of them takes too long */
#define OVER_NS     UINT64_C(20000000)   /* between checks whether a region is over */
#define LINGER_NS   UINT64_C(1000000000) /* after the last target */
#define TRIM_NS     UINT64_C(500000000)

/* Called only by the second thread. */
static void on_closed(void *arg, const struct hl_closed_trace *t)
{
	struct hl_collector *c = arg;
	struct hl_message message = {
		.kind = t->continued ? HL_MESSAGE_CONTINUED : HL_MESSAGE_CLOSED,
		.pid = (uint32_t)t->pid,
		.value = t->err,
		.unwritten_events = t->unwritten_events,
		.early_blocks = t->early_blocks};

	snprintf(message.text, sizeof(message.text), "%s", t->path);
	hl_message_queue_put(&c->outbox, &message, -1);
	if (c->start->on_trace && !t->err)
		c->start->on_trace(t->path, t->continued);
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

static void on_first(void *arg, const char *trace)
{
	struct hl_collector *c = arg;
	struct hl_message message = {.kind = HL_MESSAGE_NAMED};

	snprintf(message.text, sizeof(message.text), "%s", trace);
	hl_message_queue_put(&c->outbox, &message, -1);
}

static void on_no_session(void *arg, const char *trace, int err)
{
	struct hl_collector *c = arg;
	struct hl_message message = {.kind = HL_MESSAGE_NO_SESSION, .value = err};

	snprintf(message.text, sizeof(message.text), "%s", trace);
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
	(*out)->wait = &c->wait;
	hl_wait_set_add(&c->wait, (*out)->ctl_fd, HL_WAIT_CTL);
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

static void read_control(struct hl_collector *c, uint32_t ready)
{
	struct hl_message message;
	int fd, err;

	if (c->control_fd < 0)
		return;
	hl_message_queue_flush(&c->outbox, c->control_fd);
	if (!(ready & HL_WAIT_CONTROL))
		return;
	while ((err = hl_message_receive(c->control_fd, &message, &fd)) == 0) {
		if (fd >= 0)
			close(fd);
		if (message.kind == HL_MESSAGE_FIRST)
			hl_session_set_first(
				&c->queue.session, message.text, message.pid, message.value != 0);
		if (message.kind == HL_MESSAGE_ENDED) {
			on_wait_status(c, message.pid, message.value);
			c->settle_requested = true;
			c->settled_checks = 0;
		}
	}
	if (err != -EAGAIN) {
		hl_wait_set_remove(&c->wait, c->control_fd);
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
		hl_wait_set_remove(&c->wait, r->ctl_fd);
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

/* True if no process is starting or ending, and every process or request that may appear ends a
 * sleep. */
static bool is_watched(const struct hl_collector *c)
{
	if (c->wait.incomplete || c->connections.len || hl_ctl_is_waiting(&c->ctl) ||
		c->regions.len > WATCHED_MAX)
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

/* Samples are so rare that no burst of them fills a ring. */
static bool is_all_samples(const struct hl_collector *c)
{
	for (size_t i = 0; i < c->regions.len; i++)
		if (c->regions.data[i]->steering.mode != HL_MODE_SAMPLE ||
			c->regions.data[i]->steering.sample_bytes < HL_SAMPLE_BYTES)
			return false;
	return c->regions.len > 0;
}

/* The time until the next snapshot by clock. */
static uint64_t snapshot_due_ns(const struct hl_collector *c, uint64_t now)
{
	uint64_t due = HL_PACE_NEVER;

	for (size_t i = 0; i < c->regions.len; i++)
		for (size_t k = 0; k < c->regions.data[i]->targets.len; k++) {
			const struct hl_target *p = c->regions.data[i]->targets.data[k];

			/* No snapshots are taken of a target that is gone or begins just now. */
			if (!p->exit.gone && now > p->start_ns)
				due = hl_min_u64(
					due, hl_retain_due_ns(&p->retain, now - p->start_ns));
		}
	return due;
}

/* Scans the rings of all regions. */
static void scan_regions(struct hl_collector *c, uint64_t now, struct hl_pace_input *seen)
{
	for (size_t i = 0; i < c->regions.len; i++) {
		uint32_t fill = hl_region_scan(c->regions.data[i], now);

		seen->fullest = hl_max_u32(seen->fullest, fill);
		seen->crowded |= c->regions.data[i]->crowded;
		seen->copying |= c->regions.data[i]->copying;
	}
	if (seen->fullest)
		c->last_data_ns = now;
}

/* The descriptors that are ready. A wait has just looked at them; without one this does. */
static uint32_t take_ready(struct hl_collector *c)
{
	uint32_t ready = c->ready;

	if (!c->waited)
		ready |= hl_wait_set_wait(&c->wait, 0);
	c->ready = 0;
	return c->wait.incomplete ? HL_WAIT_ALL : ready;
}

/* Looks for processes and requests that appeared or ended. False: there is nothing left to do. */
static bool check(struct hl_collector *c, uint64_t now, struct hl_pace_input *seen)
{
	uint32_t ready = take_ready(c);

	c->last_check_ns = now;
	read_control(c, ready);
	hl_collector_serve_connections(c, ready & HL_WAIT_LISTENER, now);
	hl_ctl_serve(&c->ctl, c->regions.data, c->regions.len, ready & HL_WAIT_CTL,
		ready & HL_WAIT_CTL_CLIENT, now);
	seen->leaving = check_processes(c, now);
	check_regions(c, now);
	send_settled(c);
	close_regions(c);
	trim_memory(c, now);
	return !is_over(c, now);
}

/* Decides when the next scan and the next check are. */
static struct hl_pace next_pace(
	const struct hl_collector *c, uint64_t now, struct hl_pace_input *seen)
{
	seen->interval_ns = c->pace.interval_ns;
	seen->since_data_ns = now - c->last_data_ns;
	seen->due_ns = snapshot_due_ns(c, now);
	seen->has_regions = c->regions.len > 0;
	seen->has_targets = has_targets(c);
	seen->only_samples = is_all_samples(c);
	seen->requested = c->settle_requested || hl_ctl_has_request(&c->ctl);
	seen->queue_full = hl_write_queue_full(&c->queue);
	seen->watched = is_watched(c);
	return hl_pace_next(seen);
}

static void run_loop(struct hl_collector *c)
{
	for (;;) {
		uint64_t now = hl_mono_ns();
		struct hl_pace_input seen = {0};

		scan_regions(c, now, &seen);
		if (c->pace.check || seen.crowded || c->ready ||
			now - c->last_check_ns > c->pace.check_ns) {
			if (!check(c, now, &seen))
				return;
		}
		c->pace = next_pace(c, now, &seen);
		c->waited = c->pace.sleep_ns > 0;
		if (c->waited)
			c->ready |= hl_wait_set_wait(&c->wait, c->pace.sleep_ns);
	}
}

static void begin_waiting(struct hl_collector *c)
{
	hl_wait_set_init(&c->wait);
	c->ctl.wait = &c->wait;
	for (int i = 0; c->start->listener && i < HL_LISTEN_SOCKETS; i++)
		hl_wait_set_add(&c->wait, c->start->listener->fds[i], HL_WAIT_LISTENER);
	hl_wait_set_add(&c->wait, c->control_fd, HL_WAIT_CONTROL);
}

int hl_collector_run(const struct hl_collector_start *start)
{
	struct hl_collector c = {.start = start,
		.control_fd = start->control_fd,
		.pace = {.interval_ns = HL_PACE_FIRST_NS},
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
	c.queue.on_first = start->control_fd >= 0 ? on_first : NULL;
	c.queue.on_no_session = start->control_fd >= 0 ? on_no_session : NULL;
	c.queue.arg = &c;
	if (start->first_trace)
		hl_session_set_first(&c.queue.session, start->first_trace, start->first_pid, true);
	if (start->session)
		hl_session_join(&c.queue.session, start->settings.output.pattern, start->session);
	hl_message_queue_init(&c.outbox);
	err = hl_write_queue_start(&c.queue);
	if (err)
		return err;
	begin_waiting(&c);
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
	hl_wait_set_fini(&c.wait);
	hl_vec_free(&c.regions);
	hl_vec_free(&c.finished);
	hl_vec_free(&c.connections);
	if (c.announced_fd >= 0)
		close(c.announced_fd);
	return err;
}
