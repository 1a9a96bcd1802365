/* SPDX-License-Identifier: Apache-2.0 */
/*
 * called_function.c - which function of the malloc family each stack called.
 *
 * Events have it, sums do not. A return address nearly always follows a call of one function, so
 * the function of one allocation from there is used for all of them. A few chunks spread over the
 * trace name nearly every stack. Chunk summaries show which chunks are useful. The search ends
 * after a small part of the file has been read: a name does not justify reading all of it. Chunks
 * that an answer had to decode anyway are used first and count towards that limit.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "model/query/query.h"
#include "model/stack/tree.h"
#include "trace/read/event_text.h"

#define READ_MIN     (UINT64_C(256) << 10)
#define READ_DIVISOR 50 /* of the file size */

struct search {
	struct hl_model *m;
	HL_VEC(uint32_t) missing; /* nodes whose function is not known */
	uint8_t *wanted;          /* per node: it is in `missing` */
	struct hl_chunk_events events;
	struct hl_summary summary;
};

/* Removes from `missing` the nodes that are known now. */
static void remove_known(struct search *s)
{
	struct hl_model *m = s->m;
	size_t kept = 0;

	for (size_t i = 0; i < s->missing.len; i++) {
		uint32_t node = s->missing.data[i], func = HL_PAIR_MAP_NONE;
		struct hl_node def;

		if (!m->funcs[node] && hl_reader_node(m->reader, node, &def) == 0)
			func = hl_pair_map_get(&m->calls, def.module, def.offset);
		if (func != HL_PAIR_MAP_NONE)
			m->funcs[node] = (uint8_t)(func + 1);
		s->wanted[node] = !m->funcs[node];
		if (s->wanted[node])
			s->missing.data[kept++] = node;
	}
	s->missing.len = kept;
}

/* Has the chunk an allocation of a stack that is searched? A chunk without a summary may have
 * one. */
static int chunk_is_useful(struct search *s, size_t chunk, bool *useful)
{
	int err = hl_reader_summary(s->m->reader, chunk, &s->summary);

	*useful = err == -ENOENT || err == -EBADMSG;
	if (*useful)
		return 0;
	for (size_t i = 0; i < s->summary.n && !err && !*useful; i++) {
		const struct hl_summary_row *r = &s->summary.rows[i];

		*useful = r->sums.alloc_blocks > 0 && r->node < s->m->n_nodes && s->wanted[r->node];
	}
	return err;
}

static int learn_from_events(struct hl_model *m, const struct hl_chunk_events *c)
{
	int err = 0;

	for (size_t i = 0; i < c->n_events && !err; i++) {
		const struct hl_event *e = &c->events[i];
		struct hl_node def;

		if (e->op != HL_OP_ALLOC || e->node >= m->n_nodes || m->funcs[e->node])
			continue;
		m->funcs[e->node] = (uint8_t)(e->func + 1);
		if (hl_reader_node(m->reader, e->node, &def) == 0 &&
			hl_pair_map_get(&m->calls, def.module, def.offset) == HL_PAIR_MAP_NONE)
			err = hl_pair_map_put(&m->calls, def.module, def.offset, e->func);
	}
	return err;
}

static int learn_from_chunk(struct search *s, size_t chunk)
{
	struct hl_model *m = s->m;
	int err = hl_reader_decode(m->reader, chunk, &s->events);

	if (err == -EBADMSG) {
		hl_model_mark_bad(m, &m->bad_chunks[chunk]);
		return 0;
	}
	if (!err)
		err = learn_from_events(m, &s->events);
	remove_known(s);
	return err;
}

/* The limit of bytes to read for this purpose. */
static uint64_t read_limit(const struct hl_model *m)
{
	return hl_max_u64(READ_MIN, m->info->file_bytes / READ_DIVISOR);
}

static int alloc_funcs(struct hl_model *m)
{
	if (!m->funcs)
		m->funcs = calloc((size_t)m->n_nodes + 1, 1);
	return m->funcs ? 0 : -ENOMEM;
}

int hl_model_learn_called_functions(
	struct hl_model *m, const struct hl_chunk_events *c, uint64_t bytes)
{
	if (bytes == 0 || m->calls_noted >= read_limit(m) ||
		m->info->meta.unknown & HL_UNKNOWN_CALLS)
		return 0;
	m->calls_noted += bytes;
	return alloc_funcs(m) < 0 ? -ENOMEM : learn_from_events(m, c);
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

/* Decodes chunks spread over the trace, each at most once, until another chunk of the size of the
 * last one would exceed the limit. */
static int search_chunks(struct search *s)
{
	struct hl_reader *r = s->m->reader;
	uint64_t most = read_limit(s->m),
		 limit = hl_reader_bytes_read(r) + most - hl_min_u64(most, s->m->calls_noted);
	size_t n = hl_reader_n_chunks(r), step = n * 618 / 1000 + 1, at = 0;
	uint64_t read = hl_reader_bytes_read(r), last = 0;
	int err = 0;

	while (n > 0 && common_divisor(n, step) != 1)
		step++;
	for (size_t i = 0; i < n && s->missing.len > 0 && !err; i++, at = (at + step) % n) {
		bool useful = false;

		/* Without these calls the answer is the same, except for the names of the calls. */
		if (read + last > limit || hl_work_check(&s->m->work))
			break;
		if (hl_chunk_is_lost(s->m, at))
			continue;
		err = chunk_is_useful(s, at, &useful);
		if (!err && useful)
			err = learn_from_chunk(s, at);
		last = hl_reader_bytes_read(r) - read;
		read += last;
	}
	return err;
}

/* For stacks of aggregated blocks the last keyframe has one called function each. */
static int learn_from_keyframe(struct search *s)
{
	struct hl_model *m = s->m;
	size_t key = hl_key_before(m, UINT64_MAX, SIZE_MAX);
	struct hl_sums *stack_sums;
	uint8_t *called;
	int err = 0;

	if (key == SIZE_MAX || !hl_model_has_aggregated(m))
		return 0;
	stack_sums = malloc(((size_t)m->n_nodes + 1) * sizeof(*stack_sums));
	called = malloc((size_t)m->n_nodes + 1);
	if (!stack_sums || !called)
		err = -ENOMEM;
	else if (hl_reader_load_aggregated(m->reader, key, stack_sums, called, m->n_nodes) == 0)
		for (uint32_t i = 0; i < m->n_nodes; i++)
			if (!m->funcs[i] && called[i] <= HL_FUNC_COUNT)
				m->funcs[i] = called[i];
	free(stack_sums);
	free(called);
	return err;
}

int hl_model_find_called_functions(struct hl_model *m, const struct hl_answer *a)
{
	struct search s = {.m = m};
	int err = 0;

	if (m->info->meta.unknown & HL_UNKNOWN_CALLS)
		return 0;
	s.wanted = calloc((size_t)m->n_nodes + 1, 1);
	if (alloc_funcs(m) < 0 || !s.wanted)
		err = -ENOMEM;
	if (!err)
		err = learn_from_keyframe(&s);
	for (uint32_t i = 0; i < a->n_keys && !err; i++) {
		if (a->values[i].blocks && a->pool)
			m->funcs[i] = HL_FUNC_POOL + 1;
		else if (a->values[i].blocks && !m->funcs[i])
			err = hl_vec_push(&s.missing, i);
	}
	if (!err) {
		remove_known(&s);
		err = search_chunks(&s);
	}
	free(s.wanted);
	hl_vec_free(&s.missing);
	hl_chunk_events_free(&s.events);
	hl_summary_free(&s.summary);
	return err;
}

const char *hl_called_function_name(unsigned func)
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

int hl_model_called_function_frame(struct hl_model *m, uint32_t node, uint32_t *frame)
{
	unsigned func = node < m->n_nodes && m->funcs ? m->funcs[node] : 0;

	*frame = HL_NODE_NONE;
	if (node >= m->n_nodes || m->info->meta.unknown & HL_UNKNOWN_CALLS)
		return 0;
	/* The last slot is for functions that were not found. */
	func = func == 0 || func > HL_FUNC_COUNT ? HL_FUNC_COUNT : func - 1;
	if (!m->func_frames[func]) {
		const char *name = func == HL_FUNC_COUNT ? "[call not looked up]"
							 : hl_called_function_name(func);
		struct hl_frame f = {.function = name, .display_name = name};
		int err = hl_vec_push(&m->frames, f);

		if (err)
			return err;
		m->func_frames[func] = (uint32_t)m->frames.len;
	}
	*frame = m->func_frames[func] - 1;
	return 0;
}
