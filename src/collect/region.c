/*
 * region.c - see region.h.
 *
 * A scan: take a stamp T; make every CPU's earlier stores visible; read each ring's position and
 * copy out what is committed. A ring that was not busy then cannot commit a stamp below T later; a
 * busy one may, so its bound stays where it was until it moves. Below the smallest bound the order
 * is final: those records go to the books, merged by stamp. What comes later below it is emitted
 * at once and counted as late.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/bits.h"
#include "collect/books.h"
#include "collect/ctl.h"
#include "collect/ending.h"
#include "collect/fds.h"
#include "collect/names.h"
#include "collect/record.h"
#include "collect/region.h"
#include "collect/steer.h"
#include "collect/takeover.h"
#include "ring/clock.h"
#include "ring/record.h"
#include "util/lines.h"

#define STAGE_WORDS     (512u * 1024)        /* at most, of one ring, waiting for their turn */
#define IDLE_BUSY_NS    UINT64_C(1000000000) /* busy this long without a change: its thread sleeps */
#define ADJUST_NS       UINT64_C(100000000)
#define MET_MAX         32u     /* ended processes that one scan meets */
#define UNREGISTERED_NS 1000000 /* without membarrier: this much distrust of T */

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

/* Held by the ring's owner for life; the kernel marks it when the owner is gone. */
static void init_life(struct hl_ring *ring)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&ring->life, &attr);
	pthread_mutexattr_destroy(&attr);
}

/* A log that cannot be made is none: what is recorded does not depend on it. */
static void begin_log(struct hl_region_reader *r)
{
	const struct hl_collect_settings *s = r->settings;

	(void)hl_logfile_open(&r->log, &s->log, &s->output, r->image.program, r->pid);
	r->region->log_level = (uint32_t)r->log.level;
	memcpy(r->region->log_path, r->log.path, sizeof(r->log.path));
	hl_logfile_say(&r->log, HL_LEVEL_INFO, "process %llu, %s, is recorded in mode %s%s",
		(unsigned long long)r->pid, r->image.program, hl_mode_name(s->mode),
		r->continued ? ", by another collector than before" : "");
}

static void init_region(struct hl_region *region, const struct hl_collect_settings *s)
{
	for (uint32_t i = 0; i < HL_RING_COUNT; i++)
		init_life(hl_region_ring(region, i));
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

void hl_region_answer(struct hl_region *region, uint32_t ready)
{
	atomic_store(&region->ready, ready);
	syscall(SYS_futex, &region->ready, FUTEX_WAKE, 1, NULL, NULL, 0);
}

int hl_region_open(struct hl_region_reader **out, int memfd, uint64_t pid, bool fresh,
	const struct hl_collect_settings *settings, struct hl_queue *queue)
{
	struct hl_region_reader *r = calloc(1, sizeof(*r));
	uint64_t taken, durable = 0;
	int err = -ENOMEM;
	struct stat st;

	if (!r)
		goto fail;
	r->heap = calloc(HL_RING_COUNT, sizeof(*r->heap));
	if (!r->heap)
		goto fail;
	if (memfd < 0)
		memfd = make_memfd();
	if (memfd < 0) {
		err = memfd;
		goto fail;
	}
	/* A shrinking file would be a SIGBUS for us. */
	fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	r->memfd = memfd;
	r->region = mmap(NULL, HL_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (r->region == MAP_FAILED) {
		err = -errno;
		goto fail;
	}
	r->pid = pid;
	r->pidfd = hl_fds_optional((int)syscall(SYS_pidfd_open, (pid_t)pid, 0));
	r->settings = settings;
	r->queue = queue;
	hl_image_read(&r->image, pid);
	hl_oom_watch(&r->oom, pid);
	if (fresh) {
		init_region(r->region, settings);
	} else {
		atomic_store(&r->region->collector_pid, (uint32_t)getpid());
		r->continued = true;
		for (uint32_t i = 0; i < HL_RING_COUNT; i++)
			atomic_fetch_add(&hl_region_ring(r->region, i)->epoch, 1);
		/* All that no file has or speaks of: if we die too, our successor counts it again.
		 */
		taken = atomic_load(&r->region->taken_events);
		durable = atomic_load(&r->region->durable_events);
		r->lost_before = taken > durable ? taken - durable : 0;
	}
	r->durable = hl_durable_new(memfd, durable);
	if (!r->durable) {
		err = -ENOMEM;
		goto fail;
	}
	hl_ticks_init(&r->ticks, settings->clock == HL_CLOCK_COUNTER);
	r->last_t = hl_ring_now(r->region);
	r->inode = fstat(memfd, &st) == 0 ? st.st_ino : 0;
	r->region->inode = r->inode;
	r->ctl_fd = hl_fds_optional(hl_ctl_listen(r->inode));
	hl_steer_begin(r, fresh);
	begin_log(r);
	hl_region_answer(r->region, 1);
	*out = r;
	return 0;
fail:
	if (memfd >= 0)
		close(memfd);
	if (r) {
		hl_durable_drop(r->durable);
		free(r->heap);
	}
	free(r);
	return err;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void hl_region_close(struct hl_region_reader *r)
{
	for (uint32_t i = 0; i < HL_RING_COUNT; i++)
		hl_vec_free(&r->views[i].words);
	munmap(r->region, HL_REGION_BYTES);
	close_fd(r->pidfd);
	close_fd(r->ctl_fd);
	hl_vec_free(&r->pids);
	hl_vec_free(&r->left);
	hl_vec_free(&r->procs);
	hl_durable_close(r->durable);
	hl_durable_drop(r->durable);
	free(r->heap);
	free(r);
}

/*
 * A kernel that will not let the file be sealed against writing says that someone still maps it.
 * When it does, what is left is ours alone: a private map is enough for the last look.
 */
bool hl_region_is_over(struct hl_region_reader *r)
{
	bool over;

	if (r->over)
		return true;
	/* Our own map would be in the way; the range stays ours, another thread may be mapping. */
	if (mmap(r->region, HL_REGION_BYTES, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return false;
	over = fcntl(r->memfd, F_ADD_SEALS, F_SEAL_WRITE) == 0;
	if (mmap(r->region, HL_REGION_BYTES, PROT_READ | PROT_WRITE,
		    (over ? MAP_PRIVATE : MAP_SHARED) | MAP_FIXED, r->memfd, 0) == MAP_FAILED)
		abort(); /* half of what we keep points into this range: there is no going on */
	r->over = over;
	return over;
}

/* Also between things that are short but may be many at once: hundreds of children that come, or
 * go. */
static void beat(struct hl_region_reader *r)
{
	atomic_fetch_add_explicit(&r->region->heartbeat, 1, memory_order_relaxed);
}

static struct hl_proc *find_proc(struct hl_region_reader *r, uint32_t serial)
{
	for (size_t i = 0; i < r->procs.len; i++)
		if (r->procs.data[i]->serial == serial)
			return r->procs.data[i];
	return NULL;
}

/* Serials are given out one by one, but a hostile program may say any; and no more processes live
 * at once than there are rings, but for those whose end is still looked for. */
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

/* Processes that wait at their exit have no trace any more. What their other threads had begun to
 * record before that may still come; it belongs to no trace. */
static void note_left(struct hl_region_reader *r, uint32_t serial)
{
	while (serial < SERIAL_MAX && r->left.len <= serial / 64)
		if (hl_vec_push(&r->left, (uint64_t)0))
			return;
	if (serial / 64 < r->left.len)
		r->left.data[serial / 64] |= UINT64_C(1) << serial % 64;
}

static bool has_left(const struct hl_region_reader *r, uint32_t serial)
{
	return serial / 64 < r->left.len && r->left.data[serial / 64] >> serial % 64 & 1;
}

static int open_pidfd(const struct hl_region_reader *r, uint32_t serial, uint64_t pid)
{
	if (serial == 0 && r->pidfd >= 0)
		return r->pidfd;
	return hl_fds_optional((int)syscall(SYS_pidfd_open, (pid_t)pid, 0));
}

/* The image's own pidfd is the region's. */
static void close_pidfd(const struct hl_region_reader *r, int fd)
{
	if (fd != r->pidfd)
		close_fd(fd);
}

/* In a pid namespace of its own a child knows itself by another pid than we do. */
static void find_pid(const struct hl_region_reader *r, struct hl_proc_birth *birth, int *pidfd)
{
	uint64_t ours;

	if (!hl_ending_is_stranger(birth->pid, r->memfd))
		return;
	ours = hl_ending_find_child(birth->parent_pid, birth->pid, r->memfd);
	close_pidfd(r, *pidfd);
	*pidfd = -1;
	birth->nameless = !ours;
	if (!ours)
		return;
	birth->pid = ours;
	*pidfd = open_pidfd(r, birth->serial, ours);
}

/* The first thread of a fork child is its only one: its tid is the child's pid. */
static struct hl_proc *get_proc(struct hl_region_reader *r, uint32_t serial, uint32_t tid,
	uint64_t stamp, uint32_t parent_serial)
{
	struct hl_proc *p = find_proc(r, serial);
	struct hl_proc_birth birth = {
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
		.ticks = &r->ticks,
		.queue = r->queue,
		.memory_limit = r->settings->memory_limit,
		.dir_fd = r->settings->output.dir_fd,
		.durable = r->durable,
		.mode = r->steering.mode,
		.keep = &r->settings->keep,
		.log = &r->log,
	};
	int pidfd;

	if (p || has_left(r, serial))
		return p;
	if (r->procs.len >= (r->settings->max_processes ? r->settings->max_processes : PROCS_MAX))
		return NULL;
	/* Before all else: it may be about to die. */
	pidfd = open_pidfd(r, serial, birth.pid);
	if (serial) /* its parent may have ended */
		birth.parent_pid = pid_of(r, parent_serial);
	if (!serial)
		birth.start_stamp = hl_ticks_extend(stamp, atomic_load(&r->region->start_stamp));
	if (serial)
		find_pid(r, &birth, &pidfd);
	p = hl_proc_new(&birth);
	if (!p || hl_vec_push(&r->procs, p)) {
		close_pidfd(r, pidfd);
		return NULL;
	}
	p->pidfd = pidfd;
	hl_logfile_say(&r->log, HL_LEVEL_DEBUG, "process %llu begins, serial %u%s",
		(unsigned long long)p->pid, serial, serial ? ", forked" : "");
	note_pid(r, serial, p->pid);
	beat(r);
	r->made_trace |= serial == 0;
	if (r->continued)
		hl_takeover_modules(p);
	p->counters.dropped_events += r->lost_before;
	if (p->output)
		hl_output_tells(p->output, r->lost_before);
	r->lost_before = 0;
	return p;
}

/* What lies in [from, to) of the ring was copied: the program writes there next. */
static void let_go(const uint64_t *data, uint64_t size, uint64_t from, uint64_t to)
{
	const char *bytes = (const char *)data;
	uint64_t first = from & ~UINT64_C(63); /* the line that was not yet full the last time */
	uint64_t at = first % size, head = hl_min_u64(to - first, size - at);

	hl_lines_let_go(bytes + at, head);
	hl_lines_let_go(bytes, to - first - head);
}

/*
 * Copies what lies in [tail, pos) of the ring behind what the view has, and checks every record:
 * from here on lengths can be trusted.
 */
static void copy_out(struct hl_region_reader *r, struct hl_ring_view *v, uint32_t index,
	uint64_t tail, uint64_t pos)
{
	const uint64_t *data = hl_region_data(r->region, index);
	uint64_t size = hl_ring_bytes(index) / 8;
	uint64_t n = (pos - tail) / 8, first = (tail / 8) % size,
		 head = hl_min_u64(n, size - first);
	uint64_t *to, whole, events = 0;

	if (v->at == v->words.len)
		v->at = v->words.len = 0;
	if (hl_vec_reserve(&v->words, v->words.len + n))
		return;
	to = v->words.data + v->words.len;
	memcpy(to, data + first, head * 8);
	memcpy(to + head, data, (n - head) * 8);
	let_go(data, size * 8, tail, pos);
	whole = hl_records_whole(to, n, &events);
	if (whole < n && !v->corrupt)
		hl_logfile_say(&r->log, HL_LEVEL_ERROR,
			"ring %u holds what is no record: the rest of it is lost", index);
	v->corrupt |= whole < n; /* nothing behind that can be found again */
	v->words.len += whole;
	atomic_fetch_add_explicit(&r->region->taken_events, events, memory_order_relaxed);
}

static bool owner_died(struct hl_ring *ring)
{
	return __atomic_load_n(&ring->life.__data.__lock, __ATOMIC_ACQUIRE) & FUTEX_OWNER_DIED;
}

static void wake(struct hl_ring *ring)
{
	if (atomic_exchange(&ring->waiting, 0))
		syscall(SYS_futex, &ring->waiting, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Nothing with a smaller stamp will come from this ring: T, or where it stood while it is busy. */
static void move_bound(
	struct hl_ring_view *v, uint64_t w, uint64_t t, uint64_t last_t, uint64_t now_ns)
{
	if (!(w & 1))
		v->bound = t;
	else if (!v->busy || w != v->last_w) {
		v->bound = hl_max_u64(v->bound, last_t);
		v->busy_since_ns = now_ns;
	} else if (now_ns - v->busy_since_ns > IDLE_BUSY_NS)
		v->bound = t;
	v->busy = w & 1;
	v->last_w = w;
}

/* The stamp of the record that is next to be merged. */
static void load_stamp(struct hl_region_reader *r, struct hl_ring_view *v)
{
	v->stamp = hl_ticks_stamp(v->words.data[v->at], v->stamp, r->last_t, r->ticks.counter);
}

static void new_owner(
	struct hl_region_reader *r, struct hl_ring_view *v, struct hl_ring *ring, uint32_t claim)
{
	hl_logfile_say(&r->log, HL_LEVEL_DEBUG, "ring %u has a new owner, thread %u of serial %u",
		(uint32_t)(v - r->views), ring->tid, ring->serial);
	v->claim = claim;
	v->proc = NULL;
	v->feed = NULL;
	v->dead = v->corrupt = v->told_corrupt = v->busy = v->ignored = false;
	v->bound = 0;
	v->stamp = 0;
	v->last_w = UINT64_MAX;
}

/* Who writes here is known when the first record is. */
static void meet_owner(struct hl_region_reader *r, struct hl_ring_view *v)
{
	const struct hl_ring *ring = hl_region_ring(r->region, (uint32_t)(v - r->views));
	const uint64_t *first = v->words.data + v->at;
	uint32_t serial = ring->serial, tid = ring->tid;
	uint32_t parent =
		(first[0] & 31) == HL_REC_PROCESS ? (uint32_t)(first[1] >> 32) : UINT32_MAX;

	v->proc = get_proc(r, serial, tid, v->stamp, parent);
	v->ignored = has_left(r, serial);
	if (v->proc)
		v->feed = hl_proc_owner(v->proc, tid);
}

/*
 * Is the process known, or does its first thread speak here? Another thread of a fork child may be
 * read in the scan before the one that reads the first, whose tid is the child's pid. Its turn
 * comes after the first's.
 */
static bool is_introduced(struct hl_region_reader *r, const struct hl_ring_view *v)
{
	uint32_t serial = hl_region_ring(r->region, (uint32_t)(v - r->views))->serial;

	return serial == 0 || (v->words.data[v->at] & 31) == HL_REC_PROCESS ||
	       find_proc(r, serial) != NULL;
}

/*
 * Does the program itself, serial 0, wait to be met in the merge? It may have ended already. A child
 * that lives is then met after it: traces get their names in the order in which processes are met.
 */
static bool first_waits(struct hl_region_reader *r, const struct hl_ring_view *but)
{
	for (uint32_t i = 0; i < HL_OWN_RINGS && !r->made_trace; i++) {
		const struct hl_ring_view *v = &r->views[i];

		if (v != but && v->at < v->words.len && !v->feed &&
			hl_region_ring(r->region, i)->serial == 0)
			return true;
	}
	return false;
}

/* How full it was, in 1/HL_FILL_ALL; 0: empty. */
static uint32_t scan_ring(struct hl_region_reader *r, uint32_t i, uint64_t t, uint64_t now_ns)
{
	struct hl_ring *ring = hl_region_ring(r->region, i);
	struct hl_ring_view *v = &r->views[i];
	bool shared = i >= HL_RING_COUNT - HL_SHARED_RINGS;
	uint64_t w, pos, tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint32_t fill = 0;

	if (!shared && atomic_load_explicit(&ring->state, memory_order_acquire) != HL_RING_OWNED)
		return 0;
	if (!shared && v->claim != atomic_load(&ring->claim))
		new_owner(r, v, ring, atomic_load(&ring->claim));
	if (v->words.len - v->at > STAGE_WORDS)
		return 0; /* the books are behind: let the program wait */
	if (!shared && !v->dead)
		v->dead = owner_died(ring); /* before the position is read: then it is final */
	w = __atomic_load_n(&ring->w, __ATOMIC_ACQUIRE);
	pos = w & ~UINT64_C(1);
	if (pos - tail > hl_ring_bytes(i) || (pos | tail) % 8)
		v->corrupt = true;
	if (!v->corrupt && pos != tail)
		copy_out(r, v, i, tail, pos);
	if (pos != tail) {
		fill = 1 + (uint32_t)(hl_min_u64(pos - tail, hl_ring_bytes(i)) * HL_FILL_ALL /
				      hl_ring_bytes(i));
		atomic_store_explicit(&ring->tail, pos, memory_order_release);
		wake(ring);
	}
	move_bound(v, v->dead ? pos : w, t, r->last_t, now_ns);
	if (v->at < v->words.len) {
		load_stamp(r, v);
		/* A living process is met at once: it may be about to end. */
		if (!shared && !v->feed && !v->dead && is_introduced(r, v) && !first_waits(r, v))
			meet_owner(r, v);
	}
	return fill;
}

/* What the ended thread said in shared rings goes too, unless some of it is still to be merged. */
static void forget_aside(struct hl_region_reader *r, const struct hl_feed *owner)
{
	const uint32_t first = HL_RING_COUNT - HL_SHARED_RINGS;

	for (uint32_t i = first; i < HL_RING_COUNT; i++)
		if (r->views[i].at < r->views[i].words.len)
			return;
	for (uint32_t i = first; i < HL_RING_COUNT; i++) {
		const struct hl_feed *f = r->views[i].feed;

		if (f && f->proc == owner->proc && f->tid == owner->tid)
			r->views[i].feed = NULL;
	}
	hl_feed_forget_asides(owner);
}

/* The ring of an ended thread, once everything in it has been emitted, is free for the next. */
static void recycle(struct hl_region_reader *r, uint32_t i)
{
	struct hl_ring *ring = hl_region_ring(r->region, i);
	struct hl_ring_view *v = &r->views[i];

	if (v->feed) {
		forget_aside(r, v->feed);
		hl_feed_done(v->feed);
	}
	v->feed = NULL;
	v->proc = NULL;
	init_life(ring);
	__atomic_fetch_and(&ring->w, ~UINT64_C(1), __ATOMIC_RELAXED);
	atomic_store_explicit(&ring->state, HL_RING_FREE, memory_order_release);
}

static void count_drops(struct hl_region_reader *r, struct hl_ring_view *v, struct hl_ring *ring)
{
	uint64_t dropped = atomic_load_explicit(&ring->dropped, memory_order_relaxed);
	uint64_t n = dropped - v->dropped + (v->corrupt && !v->told_corrupt);
	struct hl_extra extra = {.kind = HL_EXTRA_DROPPED, .value = n, .node = HL_NODE_NONE};

	if (!n || !v->proc || !v->feed)
		return;
	v->dropped = dropped;
	v->told_corrupt = v->corrupt;
	v->proc->counters.dropped_events += n;
	hl_proc_settle(v->proc);
	hl_books_extra(v->proc, v->feed, &extra, NULL, 0, r->last_t);
}

/* What found no ring at all may be any process's: the first one's books say so. */
static void count_unclaimed(struct hl_region_reader *r)
{
	uint64_t n = atomic_load_explicit(&r->region->unclaimed_drops, memory_order_relaxed);

	if (n == r->unclaimed || !r->procs.len)
		return;
	r->procs.data[0]->counters.dropped_events += n - r->unclaimed;
	r->unclaimed = n;
}

/* Shared rings say whose records follow. One with an owner has no say in that: its view's feed
 * would be freed as another's. */
static void switch_feed(struct hl_region_reader *r, struct hl_ring_view *v, uint64_t who)
{
	if (v < r->views + HL_RING_COUNT - HL_SHARED_RINGS)
		return;
	v->proc = get_proc(r, (uint32_t)(who >> 32), (uint32_t)who, v->stamp, UINT32_MAX);
	v->ignored = has_left(r, (uint32_t)(who >> 32));
	v->feed = v->proc ? hl_proc_aside(v->proc, (uint32_t)who, (uint32_t)(v - r->views)) : NULL;
}

/* A parent's word on a child that may have been gone before we could look. */
static void told_by_parent(struct hl_region_reader *r, uint64_t word)
{
	for (size_t i = 0; i < r->procs.len; i++) {
		struct hl_proc *p = r->procs.data[i];

		if (p->serial == 0 || p->pid != (uint32_t)word || p->told_end)
			continue;
		hl_ending_from_status((int)(word >> 32), &p->end);
		p->told_end = true;
	}
}

/* The process waits for its trace. If it has none, it does not wait for nothing. */
static void note_leaving(struct hl_region_reader *r, const struct hl_ring_view *v)
{
	struct hl_ack ack = {(uint32_t)(v - r->views), v->claim};

	if (v->proc)
		v->proc->ack = ack;
	else
		(void)hl_ack_give(r->memfd, &ack);
}

static void emit_one(struct hl_region_reader *r, struct hl_ring_view *v)
{
	const uint64_t *words = v->words.data + v->at;
	uint32_t len = hl_record_length(words, v->words.len - v->at);

	if ((words[0] & 31) == HL_REC_SWITCH)
		switch_feed(r, v, words[1]);
	if ((words[0] & 31) == HL_REC_REAPED)
		told_by_parent(r, words[1]);
	if ((words[0] & 31) == HL_REC_EXIT && words[1] & HL_EXIT_WAITS)
		note_leaving(r, v);
	if ((words[0] & 31) == HL_REC_MARK && (words[1] & 0xff) == HL_MARK_TOGGLE)
		hl_steer_pause(r, !r->steering.paused);
	if (v->feed) {
		struct hl_proc *p = v->proc;

		if (v->stamp < p->last_stamp && hl_record_events(words))
			p->counters.late_events++;
		p->last_stamp = hl_max_u64(p->last_stamp, v->stamp);
		hl_proc_record(p, v->feed, words, len, v->stamp);
	} else if (!v->ignored && r->procs.len && hl_record_events(words)) {
		r->procs.data[0]->counters.dropped_events++; /* nobody's: so nowhere else */
	}
	v->at += len;
	if (v->at < v->words.len)
		load_stamp(r, v);
}

/* The records of a view whose turn it is: those below `before`, or fewer. */
static void emit_some(struct hl_region_reader *r, struct hl_ring_view *v, uint64_t before)
{
	struct hl_cursor c = {.at = v->words.data + v->at,
		.end = v->words.data + v->words.len,
		.stamp = v->stamp,
		.near = r->last_t};

	if (hl_likely(v->feed != NULL))
		hl_proc_records(v->proc, v->feed, &c, before);
	if (c.at == v->words.data + v->at) {
		emit_one(r, v);
		return;
	}
	v->at = (size_t)(c.at - v->words.data);
	v->stamp = c.stamp;
}

/* A binary heap of views by stamp, the smallest on top. */
static void sift_down(struct hl_ring_view **heap, size_t n, size_t i)
{
	for (;;) {
		size_t child = 2 * i + 1;
		struct hl_ring_view *t = heap[i];

		if (child >= n)
			return;
		if (child + 1 < n && heap[child + 1]->stamp < heap[child]->stamp)
			child++;
		if (heap[child]->stamp >= t->stamp)
			return;
		heap[i] = heap[child];
		heap[child] = t;
		i = child;
	}
}

/* A run from the top may go on below this, before another view has its turn. */
static uint64_t runner_up(struct hl_ring_view **heap, size_t n)
{
	uint64_t s = n > 1 ? heap[1]->stamp + 1 : UINT64_MAX;

	return n > 2 ? hl_min_u64(s, heap[2]->stamp + 1) : s;
}

/*
 * The owner of a ring, at its first record. A burst of short children is met in batches: those that
 * have ended are written and forgotten before more are met, so that memory is for few at a time.
 * False: this is enough for one scan.
 */
static bool meet_in_turn(struct hl_region_reader *r, struct hl_ring_view *v)
{
	size_t before = r->procs.len;

	if (r->met >= MET_MAX) {
		r->crowded = true;
		return false;
	}
	meet_owner(r, v);
	r->met += r->procs.len > before;
	return true;
}

static void merge(struct hl_region_reader *r, uint64_t limit)
{
	size_t n = 0;

	r->met = 0;
	r->crowded = false;
	for (uint32_t i = 0; i < HL_RING_COUNT; i++)
		if (r->views[i].at < r->views[i].words.len)
			r->heap[n++] = &r->views[i];
	for (size_t i = n / 2; i > 0; i--)
		sift_down(r->heap, n, i - 1);
	while (n && r->heap[0]->stamp < limit && !hl_queue_full(r->queue)) {
		struct hl_ring_view *v = r->heap[0];
		uint64_t before = hl_min_u64(runner_up(r->heap, n), limit);

		if (hl_unlikely(!v->feed) && v < r->views + HL_RING_COUNT - HL_SHARED_RINGS &&
			!meet_in_turn(r, v))
			break;
		do
			emit_some(r, v, before);
		while (v->at < v->words.len && v->stamp < before && !hl_queue_full(r->queue));
		if (v->at == v->words.len)
			r->heap[0] = r->heap[--n];
		sift_down(r->heap, n, 0);
	}
}

static uint32_t scan_rings(
	struct hl_region_reader *r, uint64_t t, uint64_t now_ns, uint32_t *fullest)
{
	uint32_t high = atomic_load(&r->region->high);
	uint32_t own = HL_RING_COUNT - HL_SHARED_RINGS;

	if (high > own)
		high = own;
	for (uint32_t i = 0; i < high; i++)
		*fullest = hl_max_u32(*fullest, scan_ring(r, i, t, now_ns));
	for (uint32_t i = own; atomic_load(&r->region->shared_used) && i < HL_RING_COUNT; i++)
		*fullest = hl_max_u32(*fullest, scan_ring(r, i, t, now_ns));
	return high;
}

static uint64_t lowest_bound(struct hl_region_reader *r, uint32_t high)
{
	uint64_t low = UINT64_MAX;

	for (uint32_t i = 0; i < HL_RING_COUNT; i++) {
		const struct hl_ring_view *v = &r->views[i];
		bool shared = i >= HL_RING_COUNT - HL_SHARED_RINGS;

		if (!shared && i >= high)
			continue;
		if (shared ? atomic_load(&r->region->shared_used) != 0
			   : atomic_load(&hl_region_ring(r->region, i)->state) == HL_RING_OWNED &&
					!v->dead)
			low = hl_min_u64(low, v->bound);
	}
	return low;
}

static void after_merge(struct hl_region_reader *r, uint32_t high, uint64_t now_ns)
{
	for (size_t i = 0; i < r->procs.len; i++) {
		hl_proc_settle(r->procs.data[i]);
		if (r->procs.data[i]->gone) /* /proc has nothing more to tell */
			continue;
		hl_names_tick(r->procs.data[i], now_ns);
		hl_output_tick(r->procs.data[i]->output, now_ns);
		if (now_ns > r->procs.data[i]->start_ns)
			hl_keep_tick(r->procs.data[i], now_ns - r->procs.data[i]->start_ns);
	}
	for (uint32_t i = 0; i < high; i++) {
		struct hl_ring_view *v = &r->views[i];
		struct hl_ring *ring = hl_region_ring(r->region, i);

		count_drops(r, v, ring);
		if (v->dead && v->at == v->words.len &&
			atomic_load(&ring->state) == HL_RING_OWNED &&
			v->claim == atomic_load(&ring->claim))
			recycle(r, i);
	}
	for (uint32_t i = HL_RING_COUNT - HL_SHARED_RINGS; i < HL_RING_COUNT; i++)
		count_drops(r, &r->views[i], hl_region_ring(r->region, i));
	count_unclaimed(r);
}

/*
 * Nobody but the first ring has ever had an owner. A thread claims its ring before it takes its
 * first stamp, so if this holds after a look at the first ring, nothing in it can have to wait for
 * another.
 */
static bool one_ring(struct hl_region_reader *r)
{
	return atomic_load(&r->region->high) <= 1 && !atomic_load(&r->region->shared_used);
}

/* Every CPU's stores before this moment are visible after it. How far back T must go if not. */
static uint64_t settle_memory(struct hl_region_reader *r)
{
	if (atomic_load(&r->region->registered) &&
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0) == 0)
		return 0;
	return r->ticks.counter ? 0 : (uint64_t)(UNREGISTERED_NS / r->ticks.ns_per_tick);
}

uint32_t hl_region_scan(struct hl_region_reader *r, uint64_t now_ns)
{
	uint64_t t = hl_ring_now(r->region), limit;
	uint32_t fullest = 0;
	bool alone = one_ring(r); /* no order to find: the program need not be interrupted */
	uint32_t high;

	if (!alone)
		t -= settle_memory(r);
	if (now_ns - r->last_adjust_ns > ADJUST_NS) {
		hl_ticks_adjust(&r->ticks);
		r->last_adjust_ns = now_ns;
	}
	for (size_t i = 0; i < r->procs.len; i++)
		r->procs.data[i]->scan_ns = now_ns;
	high = scan_rings(r, t, now_ns, &fullest);
	limit = alone && one_ring(r) ? UINT64_MAX : lowest_bound(r, high);
	merge(r, limit);
	after_merge(r, high, now_ns);
	r->last_t = t;
	hl_steer_scanned(r, limit >= t && !hl_queue_full(r->queue) && !r->crowded);
	atomic_store_explicit(&r->region->now, t & HL_STAMP_MASK, memory_order_relaxed);
	beat(r);
	return fullest;
}

/* A shared ring whose writer died in the middle would be nobody's for ever. */
static void free_shared(struct hl_region_reader *r, const struct hl_proc *p)
{
	for (uint32_t i = HL_RING_COUNT - HL_SHARED_RINGS; i < HL_RING_COUNT; i++) {
		struct hl_ring *ring = hl_region_ring(r->region, i);

		if (atomic_load(&ring->lock) >> 32 != (uint64_t)p->serial + 1)
			continue;
		__atomic_fetch_and(&ring->w, ~UINT64_C(1), __ATOMIC_RELAXED);
		atomic_store(&ring->lock, 0);
	}
}

static void log_end(
	const struct hl_region_reader *r, const struct hl_proc *p, const struct hl_end *end)
{
	hl_logfile_say(&r->log, HL_LEVEL_INFO, "process %llu has ended: %s %d; %llu events",
		(unsigned long long)p->pid,
		end->kind == HL_END_EXIT     ? "status"
		: end->kind == HL_END_SIGNAL ? "signal"
		: end->kind == HL_END_EXEC   ? "exec"
					     : "lost",
		end->value, (unsigned long long)hl_writer_events(p->writer));
	if (p->counters.dropped_events)
		hl_logfile_say(&r->log, HL_LEVEL_WARN, "process %llu: %llu events were dropped",
			(unsigned long long)p->pid, (unsigned long long)p->counters.dropped_events);
}

void hl_region_end_process(struct hl_region_reader *r, struct hl_proc *p, const struct hl_end *end)
{
	uint32_t high = hl_min_u32(atomic_load(&r->region->high), HL_RING_COUNT - HL_SHARED_RINGS);

	/* The process is dead: all it committed is there, and nothing busy will be finished. Or it
	 * waits at its exit, and its rings stay its own. */
	for (uint32_t i = 0; i < high; i++)
		if (r->views[i].proc == p)
			r->views[i].dead |= p->gone;
	for (uint32_t i = 0; i < high; i++) {
		struct hl_ring_view *v = &r->views[i];

		if (v->proc == p)
			count_drops(r, v, hl_region_ring(r->region, i));
	}
	if (p->gone)
		free_shared(r, p);
	else
		note_left(r, p->serial);
	count_unclaimed(r);
	beat(r);
	hl_proc_settle(p);
	log_end(r, p, end);
	for (uint32_t i = 0; i < HL_RING_COUNT; i++)
		if (r->views[i].proc == p) {
			if (p->gone && i < HL_RING_COUNT - HL_SHARED_RINGS &&
				r->views[i].at == r->views[i].words.len &&
				atomic_load(&hl_region_ring(r->region, i)->state) == HL_RING_OWNED)
				recycle(r, i);
			r->views[i].proc = NULL;
			r->views[i].feed = NULL;
			r->views[i].ignored = !p->gone;
		}
	hl_output_await(p->output, &p->ack);
	for (size_t i = 0; i < r->procs.len; i++)
		if (r->procs.data[i] == p)
			r->procs.data[i] = r->procs.data[--r->procs.len];
	close_pidfd(r, p->pidfd);
	hl_proc_end(p, end);
}
