/*
 * calls.c - which function of the malloc family each stack called.
 *
 * Events know it, sums do not. A return address nearly always stands behind the call of one
 * function, so what one allocation from there called is taken for all, and a few chunks from all
 * over the trace name nearly every stack. Chunk summaries tell which are worth it. The search ends
 * after a small part of the file has been read: a name is not worth reading it all. What an answer
 * had to read anyway comes first, and is a part of that.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "model/query.h"
#include "model/tree.h"
#include "trace/dump.h"

#define LEAST_READ (UINT64_C(256) << 10)
#define PART_READ  50 /* of the file, as a divisor */

struct search {
	struct hl_model *m;
	HL_VEC(uint32_t) missing; /* nodes */
	uint8_t *wanted;          /* per node: it is among the missing */
	struct hl_chunk_events events;
	struct hl_summary summary;
};

/* Takes out of the missing what is known by now. */
static void sift(struct search *s)
{
	struct hl_model *m = s->m;
	size_t kept = 0;

	for (size_t i = 0; i < s->missing.len; i++) {
		uint32_t node = s->missing.data[i], func = HL_MAP_NONE;
		struct hl_node def;

		if (!m->funcs[node] && hl_reader_node(m->reader, node, &def) == 0)
			func = hl_map_get(&m->calls, def.module, def.offset);
		if (func != HL_MAP_NONE)
			m->funcs[node] = (uint8_t)(func + 1);
		s->wanted[node] = !m->funcs[node];
		if (s->wanted[node])
			s->missing.data[kept++] = node;
	}
	s->missing.len = kept;
}

/* Has the chunk an allocation of a stack that is looked for? Without a summary: maybe. */
static int worth_it(struct search *s, size_t chunk, bool *worth)
{
	int err = hl_reader_summary(s->m->reader, chunk, &s->summary);

	*worth = err == -ENOENT || err == -EBADMSG;
	if (*worth)
		return 0;
	for (size_t i = 0; i < s->summary.n && !err && !*worth; i++) {
		const struct hl_summary_row *r = &s->summary.rows[i];

		*worth = r->sums.alloc_blocks > 0 && r->node < s->m->n_nodes && s->wanted[r->node];
	}
	return err;
}

static int take_events(struct hl_model *m, const struct hl_chunk_events *c)
{
	int err = 0;

	for (size_t i = 0; i < c->n_events && !err; i++) {
		const struct hl_event *e = &c->events[i];
		struct hl_node def;

		if (e->op != HL_OP_ALLOC || e->node >= m->n_nodes || m->funcs[e->node])
			continue;
		m->funcs[e->node] = (uint8_t)(e->func + 1);
		if (hl_reader_node(m->reader, e->node, &def) == 0 &&
			hl_map_get(&m->calls, def.module, def.offset) == HL_MAP_NONE)
			err = hl_map_put(&m->calls, def.module, def.offset, e->func);
	}
	return err;
}

static int take_chunk(struct search *s, size_t chunk)
{
	struct hl_model *m = s->m;
	int err = hl_reader_decode(m->reader, chunk, &s->events);

	if (err == -EBADMSG) {
		hl_model_mark_bad(m, &m->bad_chunks[chunk]);
		return 0;
	}
	if (!err)
		err = take_events(m, &s->events);
	sift(s);
	return err;
}

/* The most that is read for names. */
static uint64_t most_read(const struct hl_model *m)
{
	return hl_max_u64(LEAST_READ, m->info->file_bytes / PART_READ);
}

static int make_funcs(struct hl_model *m)
{
	if (!m->funcs)
		m->funcs = calloc((size_t)m->n_nodes + 1, 1);
	return m->funcs ? 0 : -ENOMEM;
}

int hl_model_note_calls(struct hl_model *m, const struct hl_chunk_events *c, uint64_t bytes)
{
	if (bytes == 0 || m->calls_noted >= most_read(m) ||
		m->info->meta.unknown & HL_UNKNOWN_CALLS)
		return 0;
	m->calls_noted += bytes;
	return make_funcs(m) < 0 ? -ENOMEM : take_events(m, c);
}

static size_t common_divisor(size_t a, size_t b)
{
	while (b) {
		size_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Chunks from all over the trace, each at most once, while there is room for one like the last. */
static int search(struct search *s)
{
	struct hl_reader *r = s->m->reader;
	uint64_t most = most_read(s->m),
		 limit = hl_reader_bytes_read(r) + most - hl_min_u64(most, s->m->calls_noted);
	size_t n = hl_reader_n_chunks(r), step = n * 618 / 1000 + 1, at = 0;
	uint64_t read = hl_reader_bytes_read(r), last = 0;
	int err = 0;

	while (n > 0 && common_divisor(n, step) != 1)
		step++;
	for (size_t i = 0; i < n && s->missing.len > 0 && !err; i++, at = (at + step) % n) {
		bool worth = false;

		if (read + last > limit)
			break;
		if (hl_chunk_is_lost(s->m, at))
			continue;
		err = worth_it(s, at, &worth);
		if (!err && worth)
			err = take_chunk(s, at);
		last = hl_reader_bytes_read(r) - read;
		read += last;
	}
	return err;
}

/* Of what is in no event the last keyframe knows one call for each stack. */
static int take_keyframe(struct search *s)
{
	struct hl_model *m = s->m;
	size_t key = hl_key_before(m, UINT64_MAX, SIZE_MAX);
	struct hl_sums *held;
	uint8_t *called;
	int err = 0;

	if (key == SIZE_MAX || !hl_model_withholds(m))
		return 0;
	held = malloc(((size_t)m->n_nodes + 1) * sizeof(*held));
	called = malloc((size_t)m->n_nodes + 1);
	if (!held || !called)
		err = -ENOMEM;
	else if (hl_reader_load_withheld(m->reader, key, held, called, m->n_nodes) == 0)
		for (uint32_t i = 0; i < m->n_nodes; i++)
			if (!m->funcs[i] && called[i] <= HL_FUNC_COUNT)
				m->funcs[i] = called[i];
	free(held);
	free(called);
	return err;
}

int hl_model_find_calls(struct hl_model *m, const struct hl_answer *a)
{
	struct search s = {.m = m};
	int err = 0;

	if (m->info->meta.unknown & HL_UNKNOWN_CALLS)
		return 0;
	s.wanted = calloc((size_t)m->n_nodes + 1, 1);
	if (make_funcs(m) < 0 || !s.wanted)
		err = -ENOMEM;
	if (!err)
		err = take_keyframe(&s);
	for (uint32_t i = 0; i < a->n_keys && !err; i++) {
		if (a->values[i].blocks && a->pool)
			m->funcs[i] = HL_FUNC_POOL + 1;
		else if (a->values[i].blocks && !m->funcs[i])
			err = hl_vec_push(&s.missing, i);
	}
	if (!err) {
		sift(&s);
		err = search(&s);
	}
	free(s.wanted);
	hl_vec_free(&s.missing);
	hl_chunk_events_free(&s.events);
	hl_summary_free(&s.summary);
	return err;
}

const char *hl_call_name(unsigned func)
{
	switch (func) {
	case HL_FUNC_NEW:
		return "operator new";
	case HL_FUNC_NEW_ARRAY:
		return "operator new[]";
	case HL_FUNC_DELETE:
		return "operator delete";
	case HL_FUNC_DELETE_ARRAY:
		return "operator delete[]";
	default:
		return hl_func_name(func);
	}
}

int hl_model_call_frame(struct hl_model *m, uint32_t node, uint32_t *frame)
{
	unsigned func = node < m->n_nodes && m->funcs ? m->funcs[node] : 0;

	*frame = HL_NODE_NONE;
	if (node >= m->n_nodes || m->info->meta.unknown & HL_UNKNOWN_CALLS)
		return 0;
	/* The last place is for what was not found. */
	func = func == 0 || func > HL_FUNC_COUNT ? HL_FUNC_COUNT : func - 1;
	if (!m->func_frames[func]) {
		const char *name =
			func == HL_FUNC_COUNT ? "[call not looked up]" : hl_call_name(func);
		struct hl_frame f = {.function = name, .shown = name};
		int err = hl_vec_push(&m->frames, f);

		if (err)
			return err;
		m->func_frames[func] = (uint32_t)m->frames.len;
	}
	*frame = m->func_frames[func] - 1;
	return 0;
}
