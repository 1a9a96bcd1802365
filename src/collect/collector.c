/* collector.c - see collector.h. The main loop is the first thread; nothing in it may block. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/bits.h"
#include "collect/collector.h"
#include "collect/ctl.h"
#include "collect/ending.h"
#include "ring/announced.h"

#define CHECK_NS      UINT64_C(5000000)  /* who has come, who has gone */
#define WATCHED_NS    UINT64_C(20000000) /* the same while poll would tell */
#define WATCHED_MAX   8u /* regions, and processes of one: all of these fit into one poll */
#define GUESTS_MAX    256u
#define HELLO_NS      UINT64_C(5000000000)
#define STATUS_NS     UINT64_C(1000000000) /* how long to look for a status */
#define EXEC_NS       UINT64_C(20000000)
#define LINGER_NS     UINT64_C(1000000000) /* after the last target */
#define TRIM_NS       UINT64_C(500000000)
#define MIN_SLEEP_NS  20000u
#define MAX_SLEEP_NS  5000000u
#define IDLE_SLEEP_NS 20000000u /* when nothing has come for a second, or little ever does */
#define HASTE_NS      200000u   /* while `record` waits for us */
#define IDLE_NS       UINT64_C(1000000000)

struct guest {
	int fd;
	uint64_t since_ns;
	bool waits; /* it has said who it is, and there is no descriptor for its region */
	struct hl_hello hello;
};

struct collector {
	const struct hl_collector_start *start;
	struct hl_queue queue;
	HL_VEC(struct hl_region_reader *) regions;
	HL_VEC(struct guest) guests;
	struct hl_ctl_server ctl;
	int control_fd;
	struct hl_outbox outbox;                /* to control_fd */
	HL_VEC(struct hl_region_reader *) over; /* regions whose memory is still to be given back */
	uint64_t last_check_ns, quiet_since_ns, last_taken_ns, last_trim_ns;
	bool freed;        /* a process has ended since the last trim */
	uint64_t check_ns; /* how long a check is good for */
	uint32_t sleep_ns;
	bool settle_asked; /* `record` waits for the traces of what has ended */
	uint32_t settled_looks;
	int announced_fd; /* of ring/announced.h, for all programs; -1: not made yet */
};

/* Only the second thread calls this. */
static void on_closed(
	void *arg, uint64_t pid, const char *path, int err, uint64_t unwritten, uint64_t early)
{
	struct collector *c = arg;
	struct hl_note note = {.kind = HL_NOTE_CLOSED,
		.pid = (uint32_t)pid,
		.value = err,
		.events = unwritten,
		.early = early};

	snprintf(note.text, sizeof(note.text), "%s", path);
	hl_outbox_put(&c->outbox, &note, -1);
	if (c->start->on_trace && !err)
		c->start->on_trace(path);
}

static void on_snapshot(void *arg, const char *sentence)
{
	struct collector *c = arg;
	struct hl_note note = {.kind = HL_NOTE_SNAPSHOT};

	if (c->start->on_snapshot) {
		c->start->on_snapshot(sentence);
		return;
	}
	snprintf(note.text, sizeof(note.text), "%s", sentence);
	hl_outbox_put(&c->outbox, &note, -1);
}

static void on_no_log(void *arg, uint64_t pid, int err)
{
	struct collector *c = arg;
	struct hl_note note = {.kind = HL_NOTE_NO_LOG, .pid = (uint32_t)pid, .value = err};

	hl_outbox_put(&c->outbox, &note, -1);
}

static int add_region(
	struct collector *c, int memfd, uint64_t pid, bool fresh, struct hl_region_reader **out)
{
	int err = hl_region_open(out, memfd, pid, fresh, &c->start->settings, &c->queue);
	struct hl_note note = {.kind = HL_NOTE_REGION, .pid = (uint32_t)pid};

	if (err)
		return err;
	note.region = (*out)->inode;
	if (hl_vec_push(&c->regions, *out)) {
		hl_region_close(*out);
		return -ENOMEM;
	}
	if (c->control_fd >= 0 && fresh) {
		hl_outbox_put(&c->outbox, &note, (*out)->memfd);
		hl_outbox_flush(&c->outbox, c->control_fd);
	}
	return 0;
}

/* Root's programs may become anybody; other users' stay what they are. */
static bool is_one_of_us(int fd, struct ucred *who)
{
	socklen_t len = sizeof(*who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, who, &len) == 0 &&
	       (geteuid() == 0 || who->uid == geteuid());
}

/* 0, or -errno: then each program has a page of its own. */
static int make_announced(struct collector *c)
{
	int fd = memfd_create("heaplapse-announced", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, sizeof(struct hl_announced)) < 0) {
		int err = -errno;

		close(fd);
		return err;
	}
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	c->announced_fd = fd;
	return 0;
}

/* A program image that shows the nonce gets a region; anyone else is shown the door. 0, -EAGAIN
 * when descriptors are short, or another -errno. */
static int greet(struct collector *c, int fd, const struct hl_hello *hello, ssize_t n)
{
	struct ucred who;
	struct hl_region_reader *r;
	struct hl_note answer = {0};
	int err, fds[2];

	if (n != sizeof(*hello) || hello->magic != HL_HELLO_MAGIC || hello->abi != HL_REGION_ABI)
		return -EPROTO;
	if (memcmp(hello->nonce, c->start->listener->nonce, HL_NONCE_CHARS) != 0)
		return -EACCES;
	if (!is_one_of_us(fd, &who))
		return -EACCES;
	err = add_region(c, -1, (uint64_t)who.pid, true, &r);
	if (err)
		return err == -EMFILE || err == -ENFILE ? -EAGAIN : err;
	if (c->announced_fd < 0)
		make_announced(c);
	fds[0] = r->memfd;
	fds[1] = c->announced_fd;
	return hl_note_send_fds(fd, &answer, fds, fds[1] >= 0 ? 2 : 1);
}

/* An image that comes with the pid of one we know has taken its place. */
static void end_replaced(struct collector *c, uint64_t pid, const struct hl_region_reader *but)
{
	struct hl_end end = {.kind = HL_END_EXEC};

	for (size_t i = 0; i < c->regions.len; i++) {
		struct hl_region_reader *r = c->regions.data[i];

		for (size_t k = 0; r != but && k < r->procs.len; k++)
			if (r->procs.data[k]->pid == pid && !r->procs.data[k]->told_end) {
				r->procs.data[k]->told_end = true;
				r->procs.data[k]->end = end;
				r->procs.data[k]->gone = true;
			}
	}
}

/* A program says who it is at once. Who has been silent for longest makes room: however many come
 * to take up the places, they keep nobody out. */
static void make_place(struct collector *c)
{
	size_t oldest = 0;

	if (c->guests.len < GUESTS_MAX)
		return;
	for (size_t i = 1; i < c->guests.len; i++)
		if (c->guests.data[i].since_ns < c->guests.data[oldest].since_ns)
			oldest = i;
	close(c->guests.data[oldest].fd);
	c->guests.data[oldest] = c->guests.data[--c->guests.len];
}

static void hear_guests(struct collector *c, uint64_t now)
{
	for (size_t i = 0; i < c->guests.len;) {
		struct guest *g = &c->guests.data[i];
		ssize_t n = g->waits ? (ssize_t)sizeof(g->hello)
				     : recv(g->fd, &g->hello, sizeof(g->hello), MSG_DONTWAIT);
		int err = n > 0 ? greet(c, g->fd, &g->hello, n) : n < 0 ? -errno : -EPIPE;

		g->waits = n > 0;
		if (err == -EAGAIN && now - g->since_ns < HELLO_NS) {
			i++;
			continue;
		}
		if (!err) {
			const struct hl_region_reader *r = c->regions.data[c->regions.len - 1];

			end_replaced(c, r->pid, r);
		}
		close(g->fd);
		*g = c->guests.data[--c->guests.len];
	}
}

static void let_in(struct collector *c, int listen_fd, uint64_t now)
{
	unsigned many = 0;
	int fd;

	while ((fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		struct guest g = {.fd = fd, .since_ns = now};
		struct ucred who;

		/* The name of the socket can be seen by all: nobody else shall take up the places.
		 */
		make_place(c);
		if (!is_one_of_us(fd, &who) || hl_vec_push(&c->guests, g))
			close(fd);
		/* Before those that come now have pushed out who has spoken. */
		if (++many % (GUESTS_MAX / 2) == 0)
			hear_guests(c, now);
	}
}

static void serve_guests(struct collector *c, uint64_t now)
{
	for (int i = 0; c->start->listener && i < HL_LISTEN_SOCKETS; i++)
		if (c->start->listener->fds[i] >= 0)
			let_in(c, c->start->listener->fds[i], now);
	hear_guests(c, now);
}

static void told_end(struct collector *c, uint64_t pid, int status)
{
	for (size_t i = 0; i < c->regions.len; i++)
		for (size_t k = 0; k < c->regions.data[i]->procs.len; k++) {
			struct hl_proc *p = c->regions.data[i]->procs.data[k];

			if (p->pid == pid && !p->told_end) {
				hl_ending_from_status(status, &p->end);
				p->told_end = true;
			}
		}
}

static void read_control(struct collector *c)
{
	struct hl_note note;
	int fd, err;

	if (c->control_fd < 0)
		return;
	hl_outbox_flush(&c->outbox, c->control_fd);
	while ((err = hl_note_receive(c->control_fd, &note, &fd)) == 0) {
		if (fd >= 0)
			close(fd);
		if (note.kind == HL_NOTE_ENDED) {
			told_end(c, note.pid, note.value);
			c->settle_asked = true;
			c->settled_looks = 0;
		}
	}
	if (err != -EAGAIN) {
		close(c->control_fd);
		c->control_fd = -1;
	}
}

static bool has_rings(const struct hl_region_reader *r, const struct hl_proc *p)
{
	for (uint32_t i = 0; i < HL_RING_COUNT; i++)
		if (r->views[i].proc == p)
			return true;
	return false;
}

/* May records of the process follow in this ring? In a shared one anyone's may. */
static bool may_speak(const struct hl_region_reader *r, uint32_t i, const struct hl_proc *p)
{
	const struct hl_ring_view *v = &r->views[i];

	return v->proc == p || i >= HL_RING_COUNT - HL_SHARED_RINGS ||
	       (!v->proc && hl_region_ring(r->region, i)->serial == p->serial);
}

static bool is_drained(const struct hl_region_reader *r, const struct hl_proc *p)
{
	for (uint32_t i = 0; i < HL_RING_COUNT; i++)
		if (r->views[i].at < r->views[i].words.len && may_speak(r, i, p))
			return false;
	return true;
}

/* Marks a process as gone when it is dead or has become another program. */
static void look_after(struct hl_region_reader *r, struct hl_proc *p, uint64_t now)
{
	if (p->gone)
		return;
	if (p->nameless ? !has_rings(r, p) : hl_ending_is_dead(p->pidfd, p->pid)) {
		p->gone = true;
		p->gone_ns = now;
		return;
	}
	if (!p->ack.claim && !has_rings(r, p) && now - p->exec_check_ns > EXEC_NS) {
		p->exec_check_ns = now;
		if (p->pidfd < 0 && hl_ending_is_zombie(p->pid)) {
			p->gone = true;
			p->gone_ns = now;
		} else if (hl_ending_has_execed(p, r->memfd)) {
			p->gone = p->told_end = true;
			p->end = (struct hl_end){.kind = HL_END_EXEC};
		}
	}
}

/* Nothing more will come from it: it is gone, or waits at its exit for its trace. */
static bool is_leaving(const struct hl_proc *p)
{
	return p->gone || p->ack.claim;
}

/* True when the process's trace could be ended. */
static bool try_end(struct hl_region_reader *r, struct hl_proc *p, uint64_t now)
{
	struct hl_end end = {0};

	if (!is_leaving(p))
		return false;
	/* One more look after it is known to be gone, then all of it must be through the books. For
	 * one that waits, its own last record is the end. */
	if ((p->gone && ++p->last_looks <= 2) || !is_drained(r, p))
		return false;
	if (!hl_ending_known(p, &end) && now - p->gone_ns < STATUS_NS)
		return false;
	if (end.kind == HL_END_SIGNAL && end.value == SIGKILL)
		end.oom = hl_oom_struck(&r->oom);
	if (!p->end_mono_ns)
		p->end_mono_ns = p->gone_ns ? p->gone_ns : now;
	end.duration_ns = p->end_mono_ns > p->start_ns ? p->end_mono_ns - p->start_ns : 0;
	end.duration_ns &= ~(uint64_t)(HL_TIME_UNIT_NS - 1);
	if (!p->gone) /* it still maps the region: no use to ask at once */
		r->last_alone_check_ns = now;
	hl_region_end_process(r, p, &end);
	return true;
}

/* True when someone is leaving: what it has left behind is looked at again at once. */
static bool check_processes(struct collector *c, uint64_t now)
{
	bool leaving = false;

	for (size_t i = 0; i < c->regions.len; i++) {
		struct hl_region_reader *r = c->regions.data[i];

		for (size_t k = 0; k < r->procs.len;) {
			look_after(r, r->procs.data[k], now);
			if (try_end(r, r->procs.data[k], now)) {
				c->freed = true;
				continue;
			}
			leaving |= r->procs.data[k]->gone && r->procs.data[k]->last_looks <= 2;
			k++;
		}
	}
	return leaving;
}

/*
 * A region whose processes have all ended may still be mapped by a child that has not allocated
 * yet; one that nobody has begun to use, by a program that is still starting.
 */
static bool region_done(struct hl_region_reader *r, uint64_t now)
{
	if (r->procs.len || now - r->last_alone_check_ns < EXEC_NS)
		return false;
	if (!r->over)
		r->last_alone_check_ns = now;
	if (atomic_load(&r->region->next_serial) == 0 && !hl_ending_is_dead(r->pidfd, r->pid))
		return false;
	/* Somebody may have written and died since we looked: once more, on what is final now. */
	return hl_region_is_over(r) && r->last_scans++ > 0;
}

static void check_regions(struct collector *c, uint64_t now)
{
	for (size_t i = 0; i < c->regions.len;) {
		struct hl_region_reader *r = c->regions.data[i];
		struct hl_note note = {.kind = HL_NOTE_OVER, .pid = (uint32_t)r->pid};

		if (!region_done(r, now)) {
			i++;
			continue;
		}
		note.value = r->made_trace;
		note.region = r->inode;
		if (c->control_fd >= 0)
			hl_outbox_put(&c->outbox, &note, -1);
		if (hl_vec_push(&c->over, r))
			hl_region_close(r);
		c->regions.data[i] = c->regions.data[--c->regions.len];
	}
}

/* What `record` waits for goes first: giving memory back takes milliseconds. */
static void close_regions(struct collector *c)
{
	if (c->control_fd >= 0)
		hl_outbox_flush(&c->outbox, c->control_fd);
	while (c->over.len)
		hl_region_close(c->over.data[--c->over.len]);
}

/* malloc keeps what was freed. What a process leaves behind goes back to the kernel, when the
 * second thread has written the rest of it too. */
static void give_back_memory(struct collector *c, uint64_t now)
{
	if (!c->freed || atomic_load(&c->queue.n) || now - c->last_trim_ns < TRIM_NS)
		return;
	malloc_trim(0);
	c->last_trim_ns = now;
	c->freed = false;
}

static bool is_over(struct collector *c, uint64_t now)
{
	if (c->regions.len || c->guests.len) {
		c->quiet_since_ns = now;
		return false;
	}
	if (!c->start->listener)
		return true;
	return c->control_fd < 0 && now - c->quiet_since_ns > LINGER_NS;
}

static bool someone_leaves(const struct collector *c)
{
	for (size_t i = 0; i < c->regions.len; i++)
		for (size_t k = 0; k < c->regions.data[i]->procs.len; k++)
			if (c->regions.data[i]->procs.data[k]->gone)
				return true;
	return false;
}

static bool someone_lives(const struct collector *c)
{
	for (size_t i = 0; i < c->regions.len; i++)
		if (c->regions.data[i]->procs.len)
			return true;
	return false;
}

/* Children that ended with the program shall have their traces when `record` returns. */
static void tell_settled(struct collector *c)
{
	struct hl_note note = {.kind = HL_NOTE_SETTLED};

	if (!c->settle_asked)
		return;
	if (someone_leaves(c) || c->guests.len || atomic_load(&c->queue.n)) {
		c->settled_looks = 0;
		return;
	}
	if (++c->settled_looks < 2) /* who died just now is seen at the next look */
		return;
	c->settle_asked = false;
	note.value = someone_lives(c);
	hl_outbox_put(&c->outbox, &note, -1);
}

/* Nobody's coming or going is under way, and of each we have something to poll. */
static bool is_watched(const struct collector *c)
{
	if (c->guests.len || c->ctl.clients.len || c->regions.len > WATCHED_MAX)
		return false;
	for (size_t i = 0; i < c->regions.len; i++) {
		struct hl_region_reader *r = c->regions.data[i];

		if (!r->procs.len || r->procs.len > WATCHED_MAX)
			return false;
		for (size_t k = 0; k < r->procs.len; k++) {
			const struct hl_proc *p = r->procs.data[k];

			if (p->pidfd < 0 || is_leaving(p) || p->nameless || !has_rings(r, p))
				return false;
		}
	}
	return true;
}

/* Sleeps until something comes or goes, or the rings want to be looked at again. */
static void rest(struct collector *c)
{
	struct pollfd fds[HL_LISTEN_SOCKETS + 1 + 96];
	struct timespec ts = {.tv_nsec = c->sleep_ns};
	nfds_t n = 0;

	for (int i = 0; c->start->listener && i < HL_LISTEN_SOCKETS; i++)
		fds[n++] = (struct pollfd){.fd = c->start->listener->fds[i], .events = POLLIN};
	if (c->control_fd >= 0)
		fds[n++] = (struct pollfd){.fd = c->control_fd, .events = POLLIN};
	for (size_t i = 0; i < c->guests.len && n < HL_ARRAY_LEN(fds); i++)
		fds[n++] = (struct pollfd){.fd = c->guests.data[i].fd, .events = POLLIN};
	for (size_t i = 0; i < c->ctl.clients.len && n < HL_ARRAY_LEN(fds) / 2; i++)
		fds[n++] = (struct pollfd){.fd = c->ctl.clients.data[i].fd, .events = POLLIN};
	for (size_t i = 0; i < c->regions.len && n < HL_ARRAY_LEN(fds) * 3 / 4; i++)
		if (c->regions.data[i]->ctl_fd >= 0)
			fds[n++] =
				(struct pollfd){.fd = c->regions.data[i]->ctl_fd, .events = POLLIN};
	for (size_t i = 0; i < c->regions.len; i++)
		for (size_t k = 0; k < c->regions.data[i]->procs.len && n < HL_ARRAY_LEN(fds);
			k++) {
			const struct hl_proc *p = c->regions.data[i]->procs.data[k];

			if (p->pidfd >= 0 && !p->gone)
				fds[n++] = (struct pollfd){.fd = p->pidfd, .events = POLLIN};
		}
	if (ppoll(fds, n, &ts, NULL) > 0)
		c->last_check_ns = 0;
	c->check_ns = is_watched(c) ? WATCHED_NS : CHECK_NS;
}

/* Samples are so few that no burst of them fills a ring. */
static bool is_all_samples(const struct collector *c)
{
	for (size_t i = 0; i < c->regions.len; i++)
		if (c->regions.data[i]->steering.mode != HL_MODE_SAMPLE ||
			c->regions.data[i]->steering.sample_bytes < HL_SAMPLE_BYTES)
			return false;
	return c->regions.len > 0;
}

/* Rings a quarter full at each look: seldom enough to leave the program alone, in time to never
 * fill. */
static void adapt(struct collector *c, uint32_t fullest, uint64_t now)
{
	uint32_t most;

	if (fullest)
		c->last_taken_ns = now;
	most = !c->regions.len || now - c->last_taken_ns > IDLE_NS || is_all_samples(c)
		       ? IDLE_SLEEP_NS
		       : MAX_SLEEP_NS;
	if (fullest > HL_FILL_ALL / 2)
		c->sleep_ns = 0;
	else if (fullest > HL_FILL_ALL / 4)
		c->sleep_ns /= 2;
	else if (fullest < HL_FILL_ALL / 8)
		c->sleep_ns = c->sleep_ns < MIN_SLEEP_NS ? MIN_SLEEP_NS : c->sleep_ns * 2;
	if (c->sleep_ns > most || !someone_lives(c)) /* no rings: who comes is polled for */
		c->sleep_ns = most;
}

static void loop(struct collector *c)
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
			serve_guests(c, now);
			hl_ctl_serve(&c->ctl, c->regions.data, c->regions.len, now);
			if (check_processes(c, now)) {
				c->last_check_ns = 0;
				c->sleep_ns = 0;
			}
			check_regions(c, now);
			tell_settled(c);
			close_regions(c);
			give_back_memory(c, now);
			if (is_over(c, now))
				return;
		}
		adapt(c, fullest, now);
		if (c->settle_asked || hl_ctl_is_asked(&c->ctl)) {
			c->last_check_ns = 0;
			c->sleep_ns = c->sleep_ns < HASTE_NS ? c->sleep_ns : HASTE_NS;
		}
		if (hl_queue_full(&c->queue))
			c->sleep_ns = c->sleep_ns < 200000 ? 200000 : c->sleep_ns;
		c->check_ns = CHECK_NS;
		if (c->sleep_ns && !crowded)
			rest(c);
	}
}

int hl_collector_run(const struct hl_collector_start *start)
{
	struct collector c = {.start = start,
		.control_fd = start->control_fd,
		.sleep_ns = MIN_SLEEP_NS,
		.announced_fd = -1};
	struct hl_region_reader *r;
	struct hl_ticks first;
	int err;

	prctl(PR_SET_TIMERSLACK, 1000);
	/* The rate takes a while to measure: now, while the program is still starting. */
	hl_ticks_init(&first, false);
	c.queue.settings = &start->settings.output;
	c.queue.on_closed = on_closed;
	c.queue.on_snapshot = start->verbose ? on_snapshot : NULL;
	c.queue.on_no_log = start->control_fd >= 0 ? on_no_log : NULL;
	c.queue.arg = &c;
	hl_outbox_init(&c.outbox);
	err = hl_queue_start(&c.queue);
	if (err)
		return err;
	c.quiet_since_ns = hl_mono_ns();
	if (start->region_fd >= 0)
		err = add_region(&c, start->region_fd, start->region_pid, true, &r);
	for (size_t i = 0; !err && i < start->n_orphans; i++)
		err = add_region(&c, start->orphan_fds[i], start->orphan_pids[i], false, &r);
	if (!err)
		loop(&c);
	if (!err && start->listener)
		hl_listener_remove_folder(start->listener); /* if `record` could not */
	hl_queue_stop(&c.queue);
	if (c.control_fd >= 0)
		hl_outbox_flush(&c.outbox, c.control_fd);
	hl_outbox_fini(&c.outbox);
	hl_ctl_fini(&c.ctl);
	hl_vec_free(&c.regions);
	hl_vec_free(&c.over);
	hl_vec_free(&c.guests);
	if (c.announced_fd >= 0)
		close(c.announced_fd);
	return err;
}

static bool kept(int fd, const int *keep, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (keep[i] == fd)
			return true;
	return false;
}

#define FDS_LOOKED_AT 1024

/*
 * Nobody shall wait for an end that we hold open. What was inherited is closed. What was opened in
 * this process (a library's: libunwind has a pipe) becomes /dev/null: its number must not become
 * one of ours, for its owner may close it one day.
 */
static void let_go(int null, const int *keep, size_t n_keep)
{
	unsigned first = FDS_LOOKED_AT;

	for (int fd = 3; fd < FDS_LOOKED_AT; fd++) {
		int flags = kept(fd, keep, n_keep) || fd == null ? -1 : fcntl(fd, F_GETFD);

		if (flags >= 0 && flags & FD_CLOEXEC)
			dup3(null, fd, O_CLOEXEC);
		else if (flags >= 0)
			close(fd);
	}
	for (size_t i = 0; i < n_keep; i++)
		first = hl_max_u32(first, (unsigned)keep[i] + 1);
	for (unsigned fd = FDS_LOOKED_AT; fd < first; fd++)
		if (!kept((int)fd, keep, n_keep))
			close((int)fd);
	syscall(SYS_close_range, first, ~0u, 0);
}

void hl_collector_detach(const int *keep, size_t n_keep)
{
	static const int deaf[] = {SIGINT, SIGHUP, SIGQUIT, SIGTERM, SIGTSTP, SIGPIPE, SIGXCPU,
		SIGXFSZ, SIGTTOU, SIGTTIN};
	static const int limits[] = {
		RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_CPU, RLIMIT_STACK};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (size_t i = 0; i < HL_ARRAY_LEN(deaf); i++)
		signal(deaf[i], SIG_IGN);
	for (size_t i = 0; i < HL_ARRAY_LEN(limits); i++) {
		struct rlimit l;

		if (getrlimit((__rlimit_resource_t)limits[i], &l) == 0) {
			l.rlim_cur = l.rlim_max;
			setrlimit((__rlimit_resource_t)limits[i], &l);
		}
	}
	setsid();
	for (int fd = 0; fd < 3; fd++)
		if (!kept(fd, keep, n_keep))
			dup2(null, fd);
	let_go(null, keep, n_keep);
	if (null > 2)
		close(null);
	prctl(PR_SET_DUMPABLE, 0);
	umask(077);
	if (chdir("/") < 0)
		return;
}
