/* SPDX-License-Identifier: Apache-2.0 */
/*
 * background.c - work of the server between requests, in a thread of its own.
 *
 * It makes the index of long traces in small steps, so that a request waits for one step at most.
 * While clients look at a running trace it is connected to the trace's collector as a follower; the
 * collector writes keyframes for it. After a while without requests the connection is closed.
 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "model/query/key_index.h"
#include "util/mono_clock.h"
#include "views/web/web_internal.h"

/* Chunks of a step; some 5 ms. A trace with fewer needs no index. */
#define STEP_CHUNKS  8
#define INDEX_CHUNKS 64

#define PAUSE_NS     UINT64_C(2000000)   /* between two steps: requests have their turn */
#define LOOK_NS      UINT64_C(250000000) /* while something may have to be done */
#define FORGET_NS    UINT64_C(5000000000)
#define RATE_NS      UINT64_C(1000000000)
#define RECONNECT_NS UINT64_C(5000000000)

void hl_web_trace_look(struct hl_web *w, struct hl_web_trace *t)
{
	uint64_t now = hl_mono_ns();
	bool was_idle = now - atomic_exchange(&t->looked_ns, now) > FORGET_NS;

	if (!was_idle)
		return;
	pthread_mutex_lock(&w->lock);
	pthread_cond_signal(&w->looked);
	pthread_mutex_unlock(&w->lock);
}

static bool is_looked_at(const struct hl_web_trace *t, uint64_t now)
{
	uint64_t looked = atomic_load(&t->looked_ns);

	return looked && (looked > now || now - looked < FORGET_NS);
}

/* --- the index --- */

/* Returns whether there is more to do. */
static bool extend_index(struct hl_web_trace *t)
{
	size_t left = 0;

	if (hl_reader_n_chunks(hl_model_reader(t->cheap.m)) > INDEX_CHUNKS)
		hl_key_index_extend(t->cheap.m, STEP_CHUNKS, &left);
	return left > 0;
}

/* --- rates --- */

void hl_web_trace_note_totals(struct hl_web_trace *t)
{
	struct hl_web_totals now = hl_web_totals_of(t->cheap.m);

	/* Nothing is noted yet, or another file has the path now. */
	if (t->rate_to.at_ns == 0 || now.allocations < t->rate_to.allocations) {
		t->rate_from = t->rate_to = now;
		return;
	}
	if (now.at_ns - t->rate_to.at_ns < RATE_NS)
		return;
	t->rate_from = t->rate_to;
	t->rate_to = now;
}

/* --- the connection to the collector --- */

static void disconnect(struct hl_web_trace *t)
{
	if (t->link_fd >= 0)
		close(t->link_fd);
	t->link_fd = -1;
}

/* The collector answers once; after that data means that it has ended. */
static void check_link(struct hl_web_trace *t)
{
	char answer[64];

	if (t->link_fd >= 0 &&
		recv(t->link_fd, answer, sizeof(answer), MSG_DONTWAIT | MSG_TRUNC) == 0)
		disconnect(t);
}

/* pid: of the running program; 0: it does not run, or no client looks. */
static void keep_link(struct hl_web *w, struct hl_web_trace *t, uint64_t pid, uint64_t now)
{
	check_link(t);
	if (!pid || pid != t->link_pid)
		disconnect(t);
	if (!pid || t->link_fd >= 0 || !w->options->follow ||
		(t->link_pid == pid && now - t->linked_ns < RECONNECT_NS))
		return;
	t->link_pid = pid;
	t->linked_ns = now;
	t->link_fd = w->options->follow(w->options->arg, pid);
}

/* --- the thread --- */

static bool care_for(struct hl_web *w, struct hl_web_trace *t, bool *looked)
{
	uint64_t now = hl_mono_ns(), pid = 0;
	bool more = false, here = is_looked_at(t, now);
	int err = here ? hl_web_trace_try_enter(w, t) : -EBUSY;

	*looked |= here;
	if (err == -EBUSY && here)
		return false; /* a request uses it: the next round */
	if (!err) {
		more = extend_index(t);
		hl_web_trace_note_totals(t);
		if (hl_model_is_running(t->cheap.m))
			pid = hl_model_info(t->cheap.m)->meta.pid;
	}
	if (here)
		hl_web_trace_leave(t);
	keep_link(w, t, pid, now);
	return more;
}

/* ns 0: until a client looks. */
static void rest(struct hl_web *w, uint64_t ns)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)ns;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&w->lock);
	if (atomic_load(&w->stopping))
		;
	else if (ns)
		pthread_cond_timedwait(&w->looked, &w->lock, &until);
	else
		pthread_cond_wait(&w->looked, &w->lock);
	pthread_mutex_unlock(&w->lock);
}

static void *run_background(void *arg)
{
	struct hl_web *w = arg;

	while (!atomic_load(&w->stopping)) {
		bool more = false, looked = false;

		for (size_t i = 0; i < w->n_traces && !atomic_load(&w->stopping); i++)
			more |= care_for(w, &w->traces[i], &looked);
		rest(w, more ? PAUSE_NS : LOOK_NS * looked);
	}
	return NULL;
}

int hl_web_background_start(struct hl_web *w)
{
	int err = pthread_create(&w->background, NULL, run_background, w);

	w->has_background = !err;
	return -err;
}

void hl_web_background_stop(struct hl_web *w)
{
	pthread_mutex_lock(&w->lock);
	atomic_store(&w->stopping, true);
	pthread_cond_broadcast(&w->looked);
	pthread_mutex_unlock(&w->lock);
	if (w->has_background)
		pthread_join(w->background, NULL);
	w->has_background = false;
	for (size_t i = 0; i < w->n_traces; i++)
		disconnect(&w->traces[i]);
}
