/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.c - the named moments of a recording; see marks.h.
 */
#include "model/views/marks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/mode.h"
#include "model/model_internal.h"
#include "model/tags/roles.h"

/* A chunk of marks compresses to almost nothing, so a small file may have very many. A program that
 * sets a thousand per second reaches this limit after 17 minutes. */
#define MARKS_MAX      (1u << 20)
#define MARK_NAMES_MAX (UINT64_C(32) << 20) /* bytes of all names together */

static int fail_too_many_marks(struct hl_model *m)
{
	snprintf(m->error, sizeof(m->error),
		"the trace has more than %u marks and snapshots, or names that are too long; use a "
		"time instead, for example --at 50%%",
		MARKS_MAX);
	return -E2BIG;
}

/* allocs: the number of allocations of the chunk before this side event. */
static int add_mark(struct hl_model *m, size_t chunk, const struct hl_chunk_events *c, size_t x,
	uint64_t allocs)
{
	const struct hl_extra *extra = &c->extras[x];
	struct hl_mark mark = {.time_ns = extra->time_ns,
		.ordinal = hl_reader_chunk(m->reader, chunk)->first_ordinal + allocs,
		.chunk = chunk,
		.event = c->extras_at[x],
		.snapshot = extra->kind == HL_EXTRA_SNAPSHOT,
		.cause = (uint32_t)hl_min_u64(extra->value, UINT32_MAX)};
	uint32_t name;
	int err;

	if (extra->kind != HL_EXTRA_MARK && extra->kind != HL_EXTRA_SNAPSHOT)
		return 0;
	m->mark_bytes += extra->text ? strlen(extra->text) : 0;
	if (m->marks.len >= MARKS_MAX || m->mark_bytes > MARK_NAMES_MAX)
		return fail_too_many_marks(m);
	err = hl_string_table_add(&m->strings, extra->text ? extra->text : "", &name);
	if (err)
		return err;
	mark.name = hl_string_table_get(&m->strings, name);
	err = hl_vec_push(&m->marks, mark);
	if (!err && mark.snapshot)
		err = hl_vec_push(&m->snapshots, (uint32_t)m->marks.len - 1);
	return err;
}

/* A later name replaces an earlier one. */
static int add_name(struct hl_model *m, hl_model_names *to, uint32_t number, const char *text)
{
	uint32_t name;
	int err = hl_string_table_add(&m->strings, text, &name);

	while (!err && to->len <= number)
		err = hl_vec_push(to, NULL);
	if (!err)
		to->data[number] = hl_string_table_get(&m->strings, name);
	return err;
}

static int add_mode_change(struct hl_model *m, const struct hl_extra *x)
{
	struct hl_mode_change last = {.mode = hl_mode_from_name(m->info->meta.mode)}, c;

	if (x->kind != HL_EXTRA_MODE && x->kind != HL_EXTRA_START && x->kind != HL_EXTRA_STOP)
		return 0;
	if (m->modes.len)
		last = m->modes.data[m->modes.len - 1];
	c = last;
	c.time_ns = x->time_ns;
	if (x->kind == HL_EXTRA_MODE) {
		c.mode = (uint32_t)(x->value & HL_CONTROL_MODE);
		c.paused = x->value & HL_CONTROL_PAUSED;
		c.sample_bytes = c.mode == HL_MODE_SAMPLE ? x->value2 : 0;
	} else {
		c.stopped = x->kind == HL_EXTRA_STOP;
	}
	return hl_vec_push(&m->modes, c);
}

static int add_side_event(struct hl_model *m, size_t chunk, const struct hl_chunk_events *c,
	size_t i, uint64_t allocs)
{
	const struct hl_extra *x = &c->extras[i];
	int err;

	if (x->kind == HL_EXTRA_THREAD_NAME && x->text)
		return add_name(m, &m->thread_names, hl_model_role(m, x->thread).thread, x->text);
	if (x->kind == HL_EXTRA_POOL && x->text && x->value < HL_POOLS_MAX)
		return add_name(m, &m->pools, (uint32_t)x->value, x->text);
	err = add_mark(m, chunk, c, i, allocs);
	return err ? err : add_mode_change(m, x);
}

/* Side events are in the order of events, so one pass over the events serves all of them. */
static int add_marks(struct hl_model *m, size_t chunk, const struct hl_chunk_events *c)
{
	uint64_t allocs = 0;
	size_t i = 0;
	int err = 0;

	for (size_t x = 0; x < c->n_extras && !err; x++) {
		for (; i < c->extras_at[x] && i < c->n_events; i++)
			allocs += c->events[i].op == HL_OP_ALLOC;
		err = add_side_event(m, chunk, c, x, allocs);
	}
	return err;
}

static int load_marks(struct hl_model *m)
{
	struct hl_chunk_events c = {0};
	size_t n = hl_reader_n_chunks(m->reader);
	int err = 0;

	hl_work_begin(&m->work, HL_WORK_PASS, HL_WORK_READING);
	for (size_t i = m->marks_chunk; i < n && !err; i++) {
		if (hl_chunk_is_lost(m, i) || hl_reader_chunk(m->reader, i)->n_extras == 0)
			continue;
		err = hl_work_tick(&m->work, i, n);
		if (!err)
			err = hl_reader_decode(m->reader, i, &c);
		if (err == -EBADMSG) {
			hl_model_mark_bad(m, &m->bad_chunks[i]);
			err = 0;
			continue;
		}
		if (!err)
			err = add_marks(m, i, &c);
	}
	hl_work_end(&m->work, HL_WORK_PASS);
	hl_chunk_events_free(&c);
	m->marks_chunk = n;
	return err;
}

void hl_model_marks_fini(struct hl_model *m)
{
	hl_vec_free(&m->marks);
	hl_vec_free(&m->modes);
	hl_vec_free(&m->snapshots);
	hl_vec_free(&m->thread_names);
	hl_vec_free(&m->pools);
	m->mark_bytes = 0;
	m->marks_chunk = 0;
	m->marks_loaded = false;
}

int hl_model_marks(struct hl_model *m, const struct hl_mark **marks, size_t *n)
{
	int err = m->marks_loaded ? 0 : load_marks(m);

	*marks = NULL;
	*n = 0;
	if (err) {
		hl_model_marks_fini(m);
		return hl_model_fail(m, err);
	}
	m->marks_loaded = true;
	*marks = m->marks.data;
	*n = m->marks.len;
	return 0;
}

int hl_model_modes(struct hl_model *m, const struct hl_mode_change **modes, size_t *n)
{
	const struct hl_mark *marks = NULL;
	int err = hl_model_marks(m, &marks, n);

	*modes = m->modes.data;
	*n = m->modes.len;
	return err;
}

const struct hl_mark *hl_model_find_mark(struct hl_model *m, const char *name)
{
	const struct hl_mark *marks = NULL;
	size_t n = 0;

	if (hl_model_marks(m, &marks, &n))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(marks[i].name, name) == 0)
			return &marks[i];
	}
	return NULL;
}

size_t hl_model_n_snapshots(struct hl_model *m)
{
	const struct hl_mark *marks = NULL;
	size_t n = 0;

	return hl_model_marks(m, &marks, &n) ? 0 : m->snapshots.len;
}

uint32_t hl_model_interval(struct hl_model *m, uint64_t ordinal)
{
	size_t lo = 0, hi = m->snapshots.len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->marks.data[m->snapshots.data[mid]].ordinal <= ordinal)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (uint32_t)lo;
}

struct hl_position hl_position_mark_aggregated(struct hl_model *m, const struct hl_mark *mark)
{
	struct hl_position p = hl_position_at(m, mark->time_ns);

	if (!hl_reader_chunk(m->reader, mark->chunk)->disjoint && p.cut != HL_CUT_KEY)
		return hl_position_mark(mark);
	return p;
}

struct hl_position hl_position_mark(const struct hl_mark *mark)
{
	return (struct hl_position){.chunk = mark->chunk,
		.cut = HL_CUT_EVENTS,
		.limit = mark->event,
		.time_ns = mark->time_ns,
		.is_exact = true};
}
