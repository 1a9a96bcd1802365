/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_sampler.c - see map_sampler.h.
 *
 * The lock protects the list of sources and the fields that both threads use. It is never held
 * while /proc is read. A source that is being sampled when it is removed is freed by the thread.
 */
#include "collect/output/map_sampler.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "collect/descriptor_budget.h"
#include "collect/output/smaps.h"
#include "util/mono_clock.h"
#include "util/procfs.h"

#define THREAD_STACK (256u << 10)

struct hl_map_source {
	struct hl_map_sampler *sampler;
	struct hl_map_source *next;
	uint64_t pid, start_mono_ns;
	/* Protected by the lock. */
	uint64_t due_ns;   /* CLOCK_MONOTONIC */
	uint64_t first_ns; /* when the first sample was taken; 0: not yet */
	uint64_t last_ns;  /* CPU time of the last sample */
	int err;
	bool removed, busy, has_parts;
	bool finishing, finished; /* the last sample is requested; was taken or failed */
	struct hl_map_parts parts;
	/* Used by the sampler's thread. */
	int fd; /* of smaps; -1: not open. It belongs to the program, also after an exec */
	struct hl_map_encoder encoder;
};

struct hl_map_sampler {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct hl_map_source *sources;
	uint64_t rest_until_ns;
	bool stopping;
	struct hl_smaps smaps;
};

uint64_t hl_map_next_due(uint64_t age_ns, uint64_t began_ns, uint64_t ended_ns, uint64_t cpu_ns,
	uint64_t *rest_until)
{
	uint64_t interval = hl_max_u64(age_ns / HL_MAP_AGE_SHARE, HL_MAP_FIRST_NS);

	*rest_until = ended_ns + hl_min_u64(cpu_ns, UINT64_MAX / 2 / HL_MAP_REST) * HL_MAP_REST;
	return hl_max_u64(began_ns + hl_min_u64(interval, HL_MAP_INTERVAL_NS), *rest_until);
}

/* ---- the sampler's thread ---- */

static uint64_t thread_cpu_ns(void)
{
	struct timespec ts = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* An open file stays readable after setuid, and is that of this program: it is empty after an exec
 * and after the end. Without a descriptor to spare it is opened for each sample. */
static int read_smaps(struct hl_map_sampler *s, struct hl_map_source *m)
{
	int fd = m->fd, err;

	if (fd < 0)
		fd = hl_procfs_open(m->pid, "smaps");
	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	err = hl_smaps_read(&s->smaps, fd);
	if (m->fd < 0)
		m->fd = hl_fds_keep_optional(fd);
	return err;
}

static int take_sample(struct hl_map_sampler *s, struct hl_map_source *m, uint64_t began,
	struct hl_map_parts *parts)
{
	int err = read_smaps(s, m);
	uint64_t time = began > m->start_mono_ns ? began - m->start_mono_ns : 0;
	struct hl_map_sample sample = {.time_ns = time & ~(uint64_t)(HL_TIME_UNIT_NS - 1),
		.read_ns = hl_mono_ns() - began,
		.maps = s->smaps.maps.data,
		.n = s->smaps.maps.len};

	return err ? err : hl_map_encode(&m->encoder, &sample, parts);
}

static void free_source(struct hl_map_source *m)
{
	struct hl_map_source **at = &m->sampler->sources;

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	if (m->fd >= 0)
		close(m->fd);
	hl_map_parts_fini(&m->parts);
	hl_map_encoder_fini(&m->encoder);
	free(m);
}

/* When a source is to be sampled; UINT64_MAX: not until something changes. */
static uint64_t due_of(const struct hl_map_source *m)
{
	if (m->has_parts || m->finished)
		return UINT64_MAX;
	return m->finishing ? 0 : hl_max_u64(m->due_ns, m->sampler->rest_until_ns);
}

/* The source that is to be sampled first, and when. Frees those that were removed. NULL: none. */
static struct hl_map_source *next_source(struct hl_map_sampler *s, uint64_t *due)
{
	struct hl_map_source *first = NULL, *next;

	*due = UINT64_MAX;
	for (struct hl_map_source *m = s->sources; m; m = next) {
		next = m->next;
		if (m->removed) {
			free_source(m);
		} else if (due_of(m) < *due) {
			*due = due_of(m);
			first = m;
		}
	}
	return first;
}

/* Called with the lock, which is released while the sample is taken. */
static void sample(struct hl_map_sampler *s, struct hl_map_source *m)
{
	struct hl_map_parts parts = {0};
	bool last = m->finishing;
	uint64_t began = hl_mono_ns(), cpu = thread_cpu_ns(), now;
	int err;

	m->busy = true;
	pthread_mutex_unlock(&s->lock);
	err = take_sample(s, m, began, &parts);
	pthread_mutex_lock(&s->lock);
	cpu = thread_cpu_ns() - cpu;
	now = hl_mono_ns();
	m->busy = false;
	m->err = err;
	m->parts = parts;
	m->has_parts = !err;
	m->finished = last || err == -ESRCH;
	m->last_ns = cpu;
	m->first_ns = m->first_ns ? m->first_ns : began;
	m->due_ns = hl_map_next_due(began - m->first_ns, began, now, cpu, &s->rest_until_ns);
}

static void wait_until(struct hl_map_sampler *s, uint64_t due)
{
	struct timespec ts = {
		.tv_sec = (time_t)(due / 1000000000), .tv_nsec = (long)(due % 1000000000)};

	if (due == UINT64_MAX)
		pthread_cond_wait(&s->changed, &s->lock);
	else
		pthread_cond_timedwait(&s->changed, &s->lock, &ts);
}

static void *run_sampler(void *arg)
{
	struct hl_map_sampler *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->stopping) {
		uint64_t due;
		struct hl_map_source *m = next_source(s, &due);

		if (m && due <= hl_mono_ns())
			sample(s, m);
		else
			wait_until(s, due);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- the other thread ---- */

/* A wait is until a time of CLOCK_MONOTONIC. The stack is not as large as RLIMIT_STACK, which is
 * the program's. */
static int start_thread(struct hl_map_sampler *s)
{
	pthread_condattr_t cond;
	pthread_attr_t attr;
	int err = -pthread_condattr_init(&cond);

	if (err)
		return err;
	pthread_condattr_setclock(&cond, CLOCK_MONOTONIC);
	err = -pthread_cond_init(&s->changed, &cond);
	pthread_condattr_destroy(&cond);
	if (err)
		return err;
	err = -pthread_attr_init(&attr);
	if (err)
		return err;
	err = -pthread_attr_setstacksize(&attr, THREAD_STACK);
	if (!err)
		err = -pthread_create(&s->thread, &attr, run_sampler, s);
	pthread_attr_destroy(&attr);
	return err;
}

struct hl_map_sampler *hl_map_sampler_start(void)
{
	struct hl_map_sampler *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	if (!start_thread(s))
		return s;
	free(s);
	return NULL;
}

void hl_map_sampler_stop(struct hl_map_sampler *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	while (s->sources)
		free_source(s->sources);
	hl_smaps_fini(&s->smaps);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

struct hl_map_source *hl_map_sampler_add(
	struct hl_map_sampler *s, uint64_t pid, uint64_t start_mono_ns)
{
	struct hl_map_source *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->sampler = s;
	m->pid = pid;
	m->start_mono_ns = start_mono_ns;
	m->fd = -1;
	pthread_mutex_lock(&s->lock);
	m->next = s->sources;
	s->sources = m;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return m;
}

void hl_map_source_remove(struct hl_map_source *m)
{
	struct hl_map_sampler *s;

	if (!m)
		return;
	s = m->sampler;
	pthread_mutex_lock(&s->lock);
	m->removed = true;
	if (!m->busy)
		free_source(m);
	pthread_mutex_unlock(&s->lock);
}

bool hl_map_source_take(struct hl_map_source *m, struct hl_map_parts *parts)
{
	bool has;

	pthread_mutex_lock(&m->sampler->lock);
	has = m->has_parts;
	if (has) {
		*parts = m->parts;
		m->parts = (struct hl_map_parts){0};
		m->has_parts = false;
		pthread_cond_signal(&m->sampler->changed);
	}
	pthread_mutex_unlock(&m->sampler->lock);
	return has;
}

bool hl_map_source_finish(struct hl_map_source *m)
{
	bool done;

	pthread_mutex_lock(&m->sampler->lock);
	if (!m->finishing) {
		m->finishing = true;
		m->finished |= m->last_ns > HL_MAP_LAST_NS;
		pthread_cond_signal(&m->sampler->changed);
	}
	done = m->finished && !m->has_parts;
	pthread_mutex_unlock(&m->sampler->lock);
	return done;
}

int hl_map_source_error(struct hl_map_source *m)
{
	int err;

	pthread_mutex_lock(&m->sampler->lock);
	err = m->err;
	pthread_mutex_unlock(&m->sampler->lock);
	return err;
}
