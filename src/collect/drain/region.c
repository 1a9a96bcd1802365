/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region.c - see region.h. Opens and closes the region of a program image, and adds and ends its
 * targets.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bits.h"
#include "collect/control/ctl.h"
#include "collect/target/exit_status.h"
#include "collect/descriptor_budget.h"
#include "collect/drain/region_internal.h"
#include "collect/control/steering.h"
#include "collect/output/durable.h"
#include "collect/output/write_queue.h"
#include "collect/target/takeover.h"
#include "collect/wait_set.h"
#include "ring/ring_clock.h"
#include "ring/ring_record.h"

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static int make_memfd(void)
{
	int fd = memfd_create("heaplapse", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, HL_REGION_BYTES) < 0) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

void hl_region_init_owner_mutex(struct hl_ring *ring)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&ring->owner_mutex, &attr);
	pthread_mutexattr_destroy(&attr);
}

/* A log that cannot be opened is ignored: recording does not depend on it. */
static void open_log(struct hl_region_reader *r)
{
	const struct hl_collect_settings *s = r->settings;

	(void)hl_log_file_open(&r->log, &s->log, &s->output, r->image.program, r->pid);
	r->region->log_level = (uint32_t)r->log.level;
	memcpy(r->region->log_path, r->log.path, sizeof(r->log.path));
	hl_log_file_write(&r->log, HL_LEVEL_INFO, "process %llu, %s, is recorded in mode %s%s",
		(unsigned long long)r->pid, r->image.program, hl_mode_name(s->mode),
		r->continued ? ", by another collector than before" : "");
}

static void init_region(struct hl_region *region, const struct hl_collect_settings *s)
{
	for (uint32_t i = 0; i < HL_RING_COUNT; i++)
		hl_region_init_owner_mutex(hl_region_ring(region, i));
	region->magic = HL_REGION_MAGIC;
	region->abi = HL_REGION_ABI;
	region->settings = s->flags;
	region->clock = s->clock;
	region->depth_inner = s->depth_inner;
	region->depth_outer = s->depth_outer;
	region->max_wait_ms = s->max_wait_ms;
	region->exit_wait_ms = s->exit_wait_ms;
	region->toggle_signals = s->toggle_signals;
	region->snapshot_signal = s->snapshot_signal;
	atomic_store(&region->heartbeat, 1);
	atomic_store(&region->collector_pid, (uint32_t)getpid());
}

void hl_region_send_ready(struct hl_region *region, uint32_t ready)
{
	atomic_store(&region->ready, ready);
	syscall(SYS_futex, &region->ready, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* 0 or -errno. */
static int map_region(struct hl_region_reader *r)
{
	void *region;

	/* If the file could shrink, an access would raise SIGBUS in the collector. */
	fcntl(r->memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	region = mmap(NULL, HL_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, r->memfd, 0);
	if (region == MAP_FAILED && errno == EPERM) {
		/* A collector that died has found it to be over (hl_region_is_over). */
		r->over = true;
		region = mmap(
			NULL, HL_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, r->memfd, 0);
	}
	if (region == MAP_FAILED)
		return -errno;
	r->region = region;
	return 0;
}

/* Takes over the region of a previous collector. Returns the number of its events on disk. */
static uint64_t adopt_region(struct hl_region_reader *r)
{
	uint64_t taken, durable;

	atomic_store(&r->region->collector_pid, (uint32_t)getpid());
	r->continued = true;
	for (uint32_t i = 0; i < HL_RING_COUNT; i++)
		atomic_fetch_add(&hl_region_ring(r->region, i)->epoch, 1);
	/* Events that are in no file and in no counter of one. If this collector dies too, its
	 * successor counts them again. */
	taken = atomic_load(&r->region->drained_events);
	durable = atomic_load(&r->region->durable_events);
	r->lost_before = taken > durable ? taken - durable : 0;
	return durable;
}

/* Reads what /proc has about the program. It waits for the collector, so it has not ended. */
static void read_program(struct hl_region_reader *r)
{
	r->pidfd = hl_fds_keep_optional((int)syscall(SYS_pidfd_open, (pid_t)r->pid, 0));
	hl_proc_image_read(&r->image, r->pid);
	hl_oom_watch(&r->oom, r->pid);
}

static void start_reading(struct hl_region_reader *r, bool fresh)
{
	struct stat st;

	hl_tsc_clock_init(&r->clock, r->settings->clock == HL_CLOCK_COUNTER);
	r->last_scan_stamp = hl_ring_now(r->region);
	r->inode = fstat(r->memfd, &st) == 0 ? st.st_ino : 0;
	r->region->inode = r->inode;
	r->ctl_fd = hl_fds_keep_optional(hl_ctl_listen(r->inode));
	hl_steering_begin(r, fresh);
	open_log(r);
}

/* The name of the trace must be known before the program runs another. */
static void reserve_trace(struct hl_region_reader *r)
{
	struct hl_write_queue *q = r->queue;

	hl_write_queue_reserve(q, r->image.program, r->pid);
	if (!q->session.joined)
		(void)hl_session_export(&q->session, &r->settings->output, r->region->session,
			sizeof(r->region->session));
}

int hl_region_open(struct hl_region_reader **out, int memfd, uint64_t pid, bool fresh,
	const struct hl_collect_settings *settings, struct hl_write_queue *queue)
{
	const bool started_by_library = fresh && memfd >= 0;
	struct hl_region_reader *r = calloc(1, sizeof(*r));
	uint64_t durable = 0;
	int err = -ENOMEM;

	if (!r) {
		close_fd(memfd);
		return err;
	}
	r->memfd = memfd < 0 ? make_memfd() : memfd;
	r->pid = pid;
	r->pidfd = r->ctl_fd = -1;
	r->settings = settings;
	r->queue = queue;
	r->heap = calloc(HL_RING_COUNT, sizeof(*r->heap));
	if (!r->heap)
		goto fail;
	err = r->memfd < 0 ? r->memfd : map_region(r);
	if (err)
		goto fail;
	read_program(r);
	if (fresh)
		init_region(r->region, settings);
	else
		durable = adopt_region(r);
	r->durable = hl_durable_new(r->memfd, durable);
	if (!r->durable) {
		err = -ENOMEM;
		goto fail;
	}
	start_reading(r, fresh);
	if (started_by_library && !(settings->flags & HL_SET_START_OFF))
		reserve_trace(r);
	hl_region_send_ready(r->region, 1);
	*out = r;
	return 0;
fail:
	hl_region_close(r);
	return err;
}

void hl_region_close(struct hl_region_reader *r)
{
	for (uint32_t i = 0; i < HL_RING_COUNT; i++)
		hl_vec_free(&r->views[i].words);
	if (r->region)
		munmap(r->region, HL_REGION_BYTES);
	close_fd(r->pidfd);
	close_fd(r->ctl_fd);
	hl_vec_free(&r->pids);
	hl_vec_free(&r->ended_serials);
	hl_vec_free(&r->targets);
	if (r->durable)
		hl_durable_close(r->durable);
	else
		close_fd(r->memfd);
	hl_durable_drop(r->durable);
	free(r->heap);
	free(r);
}

/* The kernel refuses F_SEAL_WRITE while any process maps the file for writing. Once it is sealed
 * only the collector reads it, and a private mapping is enough for the last scan. */
bool hl_region_is_over(struct hl_region_reader *r)
{
	bool over;

	if (r->over)
		return true;
	/* Our own mapping would prevent the seal. The address range stays reserved, because another
	 * thread may call mmap. */
	if (mmap(r->region, HL_REGION_BYTES, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return false;
	over = fcntl(r->memfd, F_ADD_SEALS, F_SEAL_WRITE) == 0;
	if (mmap(r->region, HL_REGION_BYTES, PROT_READ | PROT_WRITE,
		    (over ? MAP_PRIVATE : MAP_SHARED) | MAP_FIXED, r->memfd, 0) == MAP_FAILED)
		abort(); /* most of our state points into this range: no recovery is possible */
	r->over = over;
	return over;
}

struct hl_target *hl_region_find_target(struct hl_region_reader *r, uint32_t serial)
{
	for (size_t i = 0; i < r->targets.len; i++)
		if (r->targets.data[i]->serial == serial)
			return r->targets.data[i];
	return NULL;
}

/* Serials are assigned consecutively, but a hostile program may write any. The number of live
 * processes is limited by the rings, except for those whose exit status is still being
 * looked for. */
#define SERIAL_MAX (1u << 20)
#define PROCS_MAX  4096u

static uint64_t pid_of(const struct hl_region_reader *r, uint32_t serial)
{
	return serial < r->pids.len ? r->pids.data[serial] : 0;
}

static void note_pid(struct hl_region_reader *r, uint32_t serial, uint64_t pid)
{
	while (serial < SERIAL_MAX && r->pids.len <= serial)
		if (hl_vec_push(&r->pids, (uint64_t)0))
			return;
	if (serial < r->pids.len)
		r->pids.data[serial] = pid;
}

/* The trace of a process that waits at its exit has ended. Records that its other threads had begun
 * before may still arrive; they belong to no trace. */
static void mark_ended_serial(struct hl_region_reader *r, uint32_t serial)
{
	while (serial < SERIAL_MAX && r->ended_serials.len <= serial / 64)
		if (hl_vec_push(&r->ended_serials, (uint64_t)0))
			return;
	if (serial / 64 < r->ended_serials.len)
		r->ended_serials.data[serial / 64] |= UINT64_C(1) << serial % 64;
}

bool hl_region_is_ended_serial(const struct hl_region_reader *r, uint32_t serial)
{
	return serial / 64 < r->ended_serials.len &&
	       r->ended_serials.data[serial / 64] >> serial % 64 & 1;
}

static int open_pidfd(const struct hl_region_reader *r, uint32_t serial, uint64_t pid)
{
	if (serial == 0 && r->pidfd >= 0)
		return r->pidfd;
	return hl_fds_keep_optional((int)syscall(SYS_pidfd_open, (pid_t)pid, 0));
}

/* The pidfd of serial 0 belongs to the region. */
static void close_pidfd(const struct hl_region_reader *r, int fd)
{
	if (fd != r->pidfd)
		close_fd(fd);
}

/* A child in a pid namespace of its own knows itself by another pid than the collector does. */
static void translate_pid(
	const struct hl_region_reader *r, struct hl_target_settings *init, int *pidfd)
{
	uint64_t our_pid;

	if (!hl_exit_status_is_reused_pid(init->pid, r->memfd))
		return;
	our_pid = hl_exit_status_find_child(init->parent_pid, init->pid, r->memfd);
	close_pidfd(r, *pidfd);
	*pidfd = -1;
	init->pid_unknown = !our_pid;
	if (!our_pid)
		return;
	init->pid = our_pid;
	*pidfd = open_pidfd(r, init->serial, our_pid);
}

struct hl_target *hl_region_get_target(struct hl_region_reader *r, uint32_t serial, uint32_t tid,
	uint64_t stamp, uint32_t parent_serial)
{
	struct hl_target *p = hl_region_find_target(r, serial);
	struct hl_target_settings init = {
		.serial = serial,
		.pid = serial ? tid : r->pid,
		.start_stamp = stamp,
		.forked = serial != 0,
		.free_stacks = r->settings->flags & HL_SET_FREE_STACKS,
		.maps = r->settings->flags & HL_SET_MAPS,
		.continued = r->continued,
		.start_off = r->settings->flags & HL_SET_START_OFF,
		.steering = &r->steering,
		.filter = r->region,
		.parent_pid = r->image.parent_pid,
		.image = &r->image,
		.clock = &r->clock,
		.queue = r->queue,
		.memory_limit = r->settings->memory_limit,
		.dir_fd = r->settings->output.dir_fd,
		.durable = r->durable,
		.mode = r->steering.mode,
		.retain = &r->settings->retain,
		.log = &r->log,
	};
	int pidfd;

	if (p || hl_region_is_ended_serial(r, serial))
		return p;
	if (r->targets.len >= (r->settings->max_processes ? r->settings->max_processes : PROCS_MAX))
		return NULL;
	/* Before anything else: the process may be about to end. */
	pidfd = open_pidfd(r, serial, init.pid);
	if (serial) /* its parent may have ended */
		init.parent_pid = pid_of(r, parent_serial);
	if (!serial)
		init.start_stamp = hl_tsc_clock_extend(stamp, atomic_load(&r->region->start_stamp));
	if (serial)
		translate_pid(r, &init, &pidfd);
	init.pidfd = pidfd;
	p = hl_target_new(&init);
	if (!p || hl_vec_push(&r->targets, p)) {
		close_pidfd(r, pidfd);
		return NULL;
	}
	hl_log_file_write(&r->log, HL_LEVEL_DEBUG, "process %llu begins, serial %u%s",
		(unsigned long long)p->pid, serial, serial ? ", forked" : "");
	hl_wait_set_add(r->wait, pidfd, HL_WAIT_PROCESS);
	note_pid(r, serial, p->pid);
	hl_region_bump_heartbeat(r);
	r->made_trace |= serial == 0;
	if (r->continued)
		hl_takeover_modules(p);
	p->drain.dropped_events += r->lost_before;
	if (p->output)
		hl_trace_output_set_reported_lost(p->output, r->lost_before);
	r->lost_before = 0;
	return p;
}

void hl_region_attach_owner(struct hl_region_reader *r, struct hl_ring_view *v)
{
	const struct hl_ring *ring = hl_region_ring(r->region, (uint32_t)(v - r->views));
	const uint64_t *first = v->words.data + v->at;
	uint32_t serial = ring->serial, tid = ring->tid;
	uint32_t parent =
		(first[0] & 31) == HL_REC_PROCESS ? (uint32_t)(first[1] >> 32) : UINT32_MAX;

	v->target = hl_region_get_target(r, serial, tid, v->stamp, parent);
	v->ignored = hl_region_is_ended_serial(r, serial);
	if (v->target)
		v->stream = hl_target_ring_owner(v->target, tid);
}

/* A shared ring whose writer died while holding its lock would stay locked forever. */
static void unlock_shared_rings(struct hl_region_reader *r, const struct hl_target *p)
{
	for (uint32_t i = HL_RING_COUNT - HL_SHARED_RINGS; i < HL_RING_COUNT; i++) {
		struct hl_ring *ring = hl_region_ring(r->region, i);

		if (atomic_load(&ring->lock) >> 32 != (uint64_t)p->serial + 1)
			continue;
		__atomic_fetch_and(&ring->head, ~UINT64_C(1), __ATOMIC_RELAXED);
		atomic_store(&ring->lock, 0);
	}
}

static void log_end(
	const struct hl_region_reader *r, const struct hl_target *p, const struct hl_end *end)
{
	unsigned long long dropped = hl_target_counters(p).dropped_events;

	hl_log_file_write(&r->log, HL_LEVEL_INFO, "process %llu has ended: %s %d; %llu events",
		(unsigned long long)p->pid,
		end->kind == HL_END_EXIT     ? "status"
		: end->kind == HL_END_SIGNAL ? "signal"
		: end->kind == HL_END_EXEC   ? "exec"
					     : "lost",
		end->value, (unsigned long long)hl_writer_events(p->writer));
	if (dropped)
		hl_log_file_write(&r->log, HL_LEVEL_WARN, "process %llu: %llu events were dropped",
			(unsigned long long)p->pid, dropped);
}

void hl_region_end_process(
	struct hl_region_reader *r, struct hl_target *p, const struct hl_end *end)
{
	uint32_t high =
		hl_min_u32(atomic_load(&r->region->rings_used), HL_RING_COUNT - HL_SHARED_RINGS);

	/* A dead process will not commit anything more, and a record that is still busy will never
	 * be completed. A process that waits at its exit keeps its rings. */
	for (uint32_t i = 0; i < high; i++)
		if (r->views[i].target == p)
			r->views[i].dead |= p->exit.gone;
	for (uint32_t i = 0; i < high; i++) {
		struct hl_ring_view *v = &r->views[i];

		if (v->target == p)
			hl_region_count_drops(r, v, hl_region_ring(r->region, i));
	}
	if (p->exit.gone)
		unlock_shared_rings(r, p);
	else
		mark_ended_serial(r, p->serial);
	hl_region_count_unclaimed(r);
	hl_region_bump_heartbeat(r);
	hl_target_flush(p);
	log_end(r, p, end);
	for (uint32_t i = 0; i < HL_RING_COUNT; i++)
		if (r->views[i].target == p) {
			if (p->exit.gone && i < HL_RING_COUNT - HL_SHARED_RINGS &&
				r->views[i].at == r->views[i].words.len &&
				atomic_load(&hl_region_ring(r->region, i)->state) == HL_RING_OWNED)
				hl_region_recycle_ring(r, i);
			r->views[i].target = NULL;
			r->views[i].stream = NULL;
			r->views[i].ignored = !p->exit.gone;
		}
	hl_trace_output_set_ack(p->output, &p->exit.ack);
	for (size_t i = 0; i < r->targets.len; i++)
		if (r->targets.data[i] == p)
			r->targets.data[i] = r->targets.data[--r->targets.len];
	if (!p->exit.gone)
		hl_wait_set_remove(r->wait, p->pidfd);
	close_pidfd(r, p->pidfd);
	hl_target_end(p, end);
}
