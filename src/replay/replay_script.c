/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_script.c - see replay_script.h.
 */
#include "replay/replay_script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NO_MEMORY "needs more memory than is available"
#define DAMAGED   "is damaged: export it again"
#define CUT       "is truncated: export it again"
#define UNREAD    "cannot be read"

/* Larger sizes and times are invalid; sums of them must not overflow. */
#define SIZE_LIMIT (UINT64_C(1) << 48)
#define TIME_LIMIT (UINT64_C(1) << 50)

struct slot {
	uint64_t size; /* plus 1; 0: empty */
	uint32_t thread, steps;
};

struct cursor {
	const uint8_t *p, *end;
	uint64_t at, us;
	uint32_t thread, last_slot;
};

struct check {
	struct hl_replay_script *s;
	struct slot *slots;
	uint32_t *cursor_of;     /* thread -> index of its cursor in this chunk, plus 1 */
	uint32_t n_threads_seen; /* number of threads seen so far */
	uint32_t next_thread;
	struct hl_replay_end sums;
	uint64_t live_bytes;

	/* the current chunk */
	struct hl_replay_chunk head;
	uint32_t number;
	uint8_t *bytes;
	struct cursor *cursors;
	uint64_t us;
};

void *hl_replay_alloc_pages(size_t bytes)
{
	void *p = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static int read_at(int fd, void *to, size_t n, uint64_t at)
{
	uint8_t *p = to;

	while (n > 0) {
		ssize_t got = pread(fd, p, n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -ENODATA;
		p += got;
		n -= (size_t)got;
		at += (uint64_t)got;
	}
	return 0;
}

/* --- steps --- */

static bool count_alloc(struct check *c, struct slot *slot, uint64_t size)
{
	if (size >= SIZE_LIMIT)
		return false;
	slot->size = size + 1;
	c->sums.allocations++;
	c->sums.bytes += size;
	c->live_bytes += size;
	if (c->live_bytes > c->sums.peak_bytes)
		c->sums.peak_bytes = c->live_bytes;
	return true;
}

static void count_free(struct check *c, struct slot *slot)
{
	c->live_bytes -= slot->size - 1;
	slot->size = 0;
	c->sums.frees++;
}

/* Notes an operation of a thread. Threads are numbered in the order of their first operation. */
static bool note_thread(struct check *c, uint32_t thread)
{
	struct hl_replay_script_thread *t = &c->s->threads[thread];

	if (thread > c->n_threads_seen)
		return false;
	if (thread == c->n_threads_seen) {
		c->n_threads_seen++;
		t->first_op = c->sums.n_ops;
		t->first_chunk = c->number;
	}
	t->last_op = c->sums.n_ops;
	t->last_chunk = c->number;
	return true;
}

static bool check_op(struct check *c, struct cursor *at, const struct hl_replay_step *step)
{
	struct slot *slot;
	bool is_full, is_other_thread;

	if (step->slot >= c->s->end.n_slots || !note_thread(c, at->thread))
		return false;
	slot = &c->slots[step->slot];
	is_full = slot->size > 0;
	is_other_thread = slot->steps > 0 && slot->thread != at->thread;
	if (is_full != (step->op == HL_REPLAY_FREE || step->op == HL_REPLAY_REALLOC) ||
		is_other_thread != (step->other_thread > 0) ||
		(is_other_thread && step->slot_steps != slot->steps))
		return false;
	if (is_full)
		count_free(c, slot);
	if (step->op != HL_REPLAY_FREE && !count_alloc(c, slot, step->size))
		return false;
	slot->thread = at->thread;
	slot->steps++;
	at->last_slot = step->slot;
	at->at = ++c->sums.n_ops;
	return true;
}

static bool check_run(struct check *c, struct cursor *at, const struct hl_replay_step *step)
{
	if (step->gap != c->sums.n_ops - at->at || step->us > TIME_LIMIT)
		return false;
	at->at += step->gap;
	at->us += step->us;
	if (at->us < c->us || at->us > TIME_LIMIT)
		return false;
	c->us = at->us;
	return true;
}

/* Checks one turn, from its RUN to its PASS. */
static bool check_turn(struct check *c, struct cursor *at, uint64_t ops_end)
{
	bool begun = false;

	for (;;) {
		struct hl_replay_step step = {0};

		at->p = hl_replay_get(at->p, at->end, &step, at->last_slot);
		if (!at->p || (!begun && step.op != HL_REPLAY_RUN))
			return false;
		begun = true;
		if (step.op == HL_REPLAY_PASS) {
			c->next_thread = step.thread;
			return true;
		}
		if (step.op == HL_REPLAY_RUN ? !check_run(c, at, &step)
					     : c->sums.n_ops == ops_end || !check_op(c, at, &step))
			return false;
	}
}

/* --- chunks --- */

static bool make_cursors(struct check *c, uint64_t base)
{
	const uint8_t *p = c->bytes + c->head.n_streams * sizeof(struct hl_replay_stream);
	const uint8_t *end = c->bytes + c->head.bytes;

	for (uint32_t i = 0; i < c->head.n_streams; i++) {
		struct hl_replay_stream stream;

		memcpy(&stream, c->bytes + i * sizeof(stream), sizeof(stream));
		if (stream.thread >= c->s->end.n_threads || c->cursor_of[stream.thread] ||
			stream.bytes > (size_t)(end - p))
			return false;
		c->cursor_of[stream.thread] = i + 1;
		c->cursors[i] = (struct cursor){.p = p,
			.end = p + stream.bytes,
			.at = base,
			.us = c->head.time_us,
			.thread = stream.thread};
		p += stream.bytes;
		if (stream.bytes > c->s->buffer_bytes)
			c->s->buffer_bytes = stream.bytes;
	}
	return p == end;
}

static bool check_turns(struct check *c)
{
	uint64_t base = c->sums.n_ops, ops_end = base + c->head.n_ops;

	if (c->head.time_us < c->us || c->head.time_us > TIME_LIMIT ||
		(c->number > 0 && c->next_thread != c->head.first) || !make_cursors(c, base))
		return false;
	c->next_thread = c->head.first;
	while (c->sums.n_ops < ops_end) {
		uint32_t to = c->next_thread;

		if (to >= c->s->end.n_threads || !c->cursor_of[to] ||
			!check_turn(c, &c->cursors[c->cursor_of[to] - 1], ops_end))
			return false;
	}
	for (uint32_t i = 0; i < c->head.n_streams; i++) {
		if (c->cursors[i].p != c->cursors[i].end)
			return false;
		c->cursor_of[c->cursors[i].thread] = 0;
	}
	return true;
}

static const char *check_chunk(struct check *c, uint64_t *at)
{
	uint64_t end = c->s->file_bytes - sizeof(struct hl_replay_end);
	size_t table;

	if (end - *at < sizeof(c->head))
		return DAMAGED;
	if (read_at(c->s->fd, &c->head, sizeof(c->head), *at))
		return UNREAD;
	*at += sizeof(c->head);
	table = c->head.n_streams * sizeof(struct hl_replay_stream);
	if (c->head.bytes > HL_REPLAY_CHUNK_MAX || c->head.bytes > end - *at ||
		c->head.n_ops == 0 || c->head.n_ops > HL_REPLAY_CHUNK_OPS ||
		c->head.n_streams > c->head.n_ops || table > c->head.bytes)
		return DAMAGED;
	if (read_at(c->s->fd, c->bytes, c->head.bytes, *at))
		return UNREAD;
	if (hl_replay_checksum(HL_REPLAY_CHECKSUM_START, c->bytes, c->head.bytes) != c->head.sum)
		return DAMAGED;
	c->s->chunks[c->number] = (struct hl_replay_script_chunk){.at = *at,
		.base = c->sums.n_ops,
		.time_us = c->head.time_us,
		.n_streams = c->head.n_streams};
	if (table > c->s->buffer_bytes)
		c->s->buffer_bytes = table;
	*at += c->head.bytes;
	return check_turns(c) ? NULL : DAMAGED;
}

static const char *check_chunks(struct check *c)
{
	uint64_t at = sizeof(struct hl_replay_head);
	const struct hl_replay_end *end = &c->s->end;
	const char *error = NULL;

	for (c->number = 0; c->number < end->n_chunks && !error; c->number++)
		error = check_chunk(c, &at);
	if (error)
		return error;
	c->sums.n_chunks = end->n_chunks;
	c->sums.n_threads = c->n_threads_seen;
	c->sums.n_slots = end->n_slots;
	memcpy(c->sums.magic, HL_REPLAY_END_MAGIC, sizeof(c->sums.magic));
	if (at != c->s->file_bytes - sizeof(*end) || memcmp(&c->sums, end, sizeof(*end)) != 0)
		return DAMAGED;
	return NULL;
}

/* --- lanes --- */

/* Threads are in the order of their first operations. */
static const char *assign_lanes(struct hl_replay_script *s)
{
	uint32_t last[HL_REPLAY_SCRIPT_LANES_MAX]; /* the last thread of each lane */

	for (uint32_t i = 0; i < s->end.n_threads; i++) {
		struct hl_replay_script_thread *t = &s->threads[i];
		uint32_t lane = 0;

		while (lane < s->n_lanes && s->threads[last[lane]].last_op > t->first_op)
			lane++;
		if (lane == HL_REPLAY_SCRIPT_LANES_MAX)
			return "has more than 4096 threads at the same time";
		if (lane == s->n_lanes)
			s->lane_first[s->n_lanes++] = i;
		else
			s->threads[last[lane]].next = i;
		last[lane] = i;
		t->lane = lane;
		t->next = HL_REPLAY_SCRIPT_NONE;
	}
	return NULL;
}

/* --- file --- */

static const char *read_header_and_end(struct hl_replay_script *s, const char *path)
{
	struct hl_replay_head head;
	struct stat st;

	s->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0 || fstat(s->fd, &st) < 0)
		return strerrordesc_np(errno);
	if (!S_ISREG(st.st_mode))
		return "is not a file";
	s->file_bytes = (uint64_t)st.st_size;
	if (s->file_bytes < sizeof(head) || read_at(s->fd, &head, sizeof(head), 0) ||
		memcmp(head.magic, HL_REPLAY_MAGIC, sizeof(head.magic)) != 0)
		return "is not a replay script; write one with heaplapse export -f replay";
	if (head.version != HL_REPLAY_VERSION)
		return "has another version: export it again with the heaplapse that this program "
		       "came with";
	if (s->file_bytes < sizeof(head) + sizeof(s->end) ||
		read_at(s->fd, &s->end, sizeof(s->end), s->file_bytes - sizeof(s->end)) ||
		memcmp(s->end.magic, HL_REPLAY_END_MAGIC, sizeof(s->end.magic)) != 0)
		return CUT;
	/* An operation takes at least two bytes. */
	if (s->end.n_ops > s->file_bytes / 2 || s->end.n_slots > s->end.n_ops ||
		s->end.n_threads > s->end.n_ops || s->end.n_chunks > s->end.n_ops ||
		s->end.n_ops >= HL_REPLAY_SCRIPT_NONE * UINT64_C(1024) ||
		s->end.n_slots >= HL_REPLAY_SCRIPT_NONE ||
		s->end.n_threads >= HL_REPLAY_SCRIPT_NONE ||
		s->end.n_chunks >= HL_REPLAY_SCRIPT_NONE)
		return DAMAGED;
	return NULL;
}

static const char *check_all(struct hl_replay_script *s)
{
	struct check c = {.s = s};
	size_t slots = s->end.n_slots * sizeof(*c.slots),
	       cursor_of_bytes = s->end.n_threads * sizeof(*c.cursor_of),
	       cursors = HL_REPLAY_CHUNK_OPS * sizeof(*c.cursors);
	const char *error = NO_MEMORY;

	c.slots = hl_replay_alloc_pages(slots + sizeof(*c.slots));
	c.cursor_of = hl_replay_alloc_pages(cursor_of_bytes + 1);
	c.bytes = hl_replay_alloc_pages(HL_REPLAY_CHUNK_MAX);
	c.cursors = hl_replay_alloc_pages(cursors);
	if (c.slots && c.cursor_of && c.bytes && c.cursors)
		error = check_chunks(&c);
	if (c.slots)
		munmap(c.slots, slots + sizeof(*c.slots));
	if (c.cursor_of)
		munmap(c.cursor_of, cursor_of_bytes + 1);
	if (c.bytes)
		munmap(c.bytes, HL_REPLAY_CHUNK_MAX);
	if (c.cursors)
		munmap(c.cursors, cursors);
	return error;
}

const char *hl_replay_script_open(struct hl_replay_script *s, const char *path)
{
	const char *error;

	memset(s, 0, sizeof(*s));
	error = read_header_and_end(s, path);
	if (error)
		return error;
	s->chunks = hl_replay_alloc_pages(s->end.n_chunks * sizeof(*s->chunks));
	s->threads = hl_replay_alloc_pages(s->end.n_threads * sizeof(*s->threads));
	s->lane_first = hl_replay_alloc_pages(HL_REPLAY_SCRIPT_LANES_MAX * sizeof(*s->lane_first));
	if (!s->chunks || !s->threads || !s->lane_first)
		return NO_MEMORY;
	error = check_all(s);
	return error ? error : assign_lanes(s);
}

int64_t hl_replay_script_load(
	const struct hl_replay_script *s, uint32_t chunk, uint32_t thread, uint8_t *buffer)
{
	const struct hl_replay_script_chunk *c = &s->chunks[chunk];
	size_t table = c->n_streams * sizeof(struct hl_replay_stream);
	uint64_t at = c->at + table;
	int err = read_at(s->fd, buffer, table, c->at);

	for (uint32_t i = 0; i < c->n_streams && !err; i++) {
		struct hl_replay_stream stream;

		memcpy(&stream, buffer + i * sizeof(stream), sizeof(stream));
		if (stream.thread != thread) {
			at += stream.bytes;
			continue;
		}
		if (stream.bytes > s->buffer_bytes)
			return -EBADMSG; /* the file has changed since it was checked */
		err = read_at(s->fd, buffer, stream.bytes, at);
		return err ? err : (int64_t)stream.bytes;
	}
	return err;
}
