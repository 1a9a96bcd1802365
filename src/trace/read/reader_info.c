/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_info.c - data about the whole trace: META and END or, if END is missing, the sums of the
 * readable events; and the sentence about damage.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "trace/read/decode_ahead.h"
#include "trace/read/reader_internal.h"

/* ---- META ---- */

static int load_meta_string(struct hl_reader *r, struct hl_chunk *c, int i, uint32_t *len)
{
	struct hl_column_cursor cur;
	size_t n;

	if (hl_chunk_column(r, c, (uint16_t)(HL_COL_PROGRAM + i), &cur) == -EBADMSG)
		return -EBADMSG;
	n = (size_t)(cur.end - cur.p);
	free(r->meta_strings[i]);
	r->meta_strings[i] = malloc(n + 1);
	if (!r->meta_strings[i])
		return -ENOMEM;
	memcpy(r->meta_strings[i], cur.p, n);
	r->meta_strings[i][n] = '\0';
	*len = (uint32_t)n;
	return 0;
}

static int load_meta(struct hl_reader *r, size_t row)
{
	struct hl_meta *m = &r->info.meta;
	struct hl_column_cursor cur;
	struct hl_chunk c;
	uint64_t v[5];
	uint32_t len;
	int err = hl_load_chunk(r, row, &c);

	if (err)
		return err;
	err = hl_chunk_column(r, &c, HL_COL_NUMBERS, &cur);
	for (int i = 0; i < 5; i++)
		v[i] = hl_column_cursor_varint(&cur);
	if (err || cur.bad)
		return hl_mark_bad(r, row);
	for (int i = 0; i < HL_META_STRINGS && !err; i++) {
		err = load_meta_string(r, &c, i, &len);
		if (i == HL_COL_COMMAND - HL_COL_PROGRAM)
			m->command_len = len;
	}
	if (!err)
		err = hl_read_slice_info(r, &c);
	if (!err)
		err = hl_read_base_info(r, &c);
	if (!err && hl_chunk_column(r, &c, HL_COL_UNKNOWN, &cur) == -EBADMSG)
		err = -EBADMSG;
	if (err)
		return err == -EBADMSG ? hl_mark_bad(r, row) : err;
	m->unknown = cur.p < cur.end ? (uint32_t)hl_column_cursor_varint(&cur) & HL_UNKNOWN_ALL : 0;
	m->start_unix_ns = v[1];
	m->pid = v[2];
	m->parent_pid = v[3];
	m->free_stacks = v[4] & 1;
	m->record_mmap = v[4] >> 1 & 1;
	m->forked = v[4] >> 2 & 1;
	m->started_off = v[4] >> 4 & 1;
	m->taken_over = v[4] >> 3 & 1;
	m->zeroed = v[4] >> 5 & 1;
	m->python_malloc = v[4] >> 6 & 1;
	m->php_malloc = v[4] >> 7 & 1;
	return 0;
}

int hl_read_meta(struct hl_reader *r)
{
	struct hl_meta *m = &r->info.meta;
	int err = 0;

	for (size_t i = 0; i < r->rows.len; i++)
		if (r->rows.data[i].head.type == HL_CHUNK_META) {
			err = load_meta(r, i);
			break;
		}
	if (err == -ENOMEM)
		return err;
	for (int i = 0; i < HL_META_STRINGS; i++) {
		if (err || !r->meta_strings[i]) {
			free(r->meta_strings[i]);
			r->meta_strings[i] = strdup("");
		}
		if (!r->meta_strings[i])
			return -ENOMEM;
	}
	m->program = r->meta_strings[0];
	m->command = r->meta_strings[1];
	m->command_len = err ? 0 : m->command_len;
	m->arch = r->meta_strings[2];
	m->clock = r->meta_strings[3];
	m->mode = r->meta_strings[4];
	m->allocator = r->meta_strings[5];
	m->source = r->meta_strings[6];
	return 0;
}

/* ---- END, or its replacement ---- */

/* The column is optional, but if it is damaged, so is END. */
static int load_cost(struct hl_reader *r, struct hl_chunk *c)
{
	struct hl_cost *k = &r->info.cost;
	uint64_t *const fields[] = {&k->wait_ns, &k->unwinds, &k->frames_walked,
		&k->frames_verified, &k->rule_misses, &k->collector_ns, &k->hook_ns};
	struct hl_column_cursor cur;
	int err = hl_chunk_column(r, c, HL_COL_COST, &cur);

	if (err)
		return err == -ENOENT ? 0 : err;
	for (size_t i = 0; i < HL_ARRAY_LEN(fields) && cur.p < cur.end; i++)
		*fields[i] = hl_column_cursor_varint(&cur);
	return cur.bad ? -EBADMSG : 0;
}

static int load_end(struct hl_reader *r)
{
	struct hl_process_numbers n;
	struct hl_column_cursor cur;
	struct hl_chunk c;
	uint64_t kind, value, duration, stops, modes, pauses, other_traces = 0;
	int err = hl_load_chunk(r, r->end_row, &c);

	if (err)
		return err;
	if (hl_chunk_column(r, &c, HL_COL_NUMBERS, &cur) < 0 ||
		hl_read_process_numbers(&cur, &n) < 0)
		return hl_mark_bad(r, r->end_row);
	kind = hl_column_cursor_varint(&cur);
	value = hl_column_cursor_varint(&cur);
	duration = hl_column_cursor_varint(&cur);
	stops = hl_column_cursor_varint(&cur);
	modes = hl_column_cursor_varint(&cur);
	pauses = hl_column_cursor_varint(&cur);
	if (cur.p < cur.end) /* older files do not have these numbers */
		n.counters.early_blocks = hl_column_cursor_varint(&cur);
	if (cur.p < cur.end)
		other_traces = hl_column_cursor_varint(&cur);
	if (cur.bad || kind > HL_END_CONTINUED || load_cost(r, &c) < 0 ||
		hl_read_aggregated(r, &c, &n.totals, &n.aggregated) < 0 ||
		hl_read_lifetimes(r, &c, &n) < 0 || hl_read_left_out(r, &c) < 0)
		return hl_mark_bad(r, r->end_row);
	r->info.end = (struct hl_end){
		.kind = (uint8_t)kind,
		.value = (int32_t)hl_unzigzag(value),
		.duration_ns = duration,
		.other_traces = other_traces,
	};
	if (kind == HL_END_SIGNAL && r->info.end.value > HL_END_OOM) {
		r->info.end.value -= HL_END_OOM;
		r->info.end.oom = true;
	}
	r->info.stops = stops;
	r->info.mode_changes = modes;
	r->info.pauses = pauses;
	r->info.totals = n.totals;
	r->info.has_lifetimes = n.has_lifetimes;
	r->info.aggregated = n.aggregated;
	r->info.counters = n.counters;
	r->info.threads = n.threads;
	r->info.has_end = true;
	return 0;
}

void hl_readable_sums_fini(struct hl_readable_sums *s)
{
	free(s->nodes);
	free(s->threads);
	*s = (struct hl_readable_sums){0};
}

static bool mark_seen(uint8_t *bits, size_t n, uint32_t id)
{
	uint8_t bit = (uint8_t)(1u << id % 8);

	if (id >= n || bits[id / 8] & bit)
		return false;
	bits[id / 8] |= bit;
	return true;
}

static void add_events(struct hl_reader *r, const struct hl_chunk_events *c)
{
	struct hl_readable_sums *a = &r->sums;
	struct hl_trace_info *info = &r->info;

	for (size_t i = 0; i < c->n_events; i++) {
		const struct hl_event *e = &c->events[i];

		hl_totals_apply_process(&info->totals, e);
		if (e->op == HL_OP_FREE)
			info->totals.lifetimes[e->lifetime_class] += e->blocks;
		if (!a->seen_is_complete)
			continue;
		if (e->op == HL_OP_ALLOC)
			info->totals.stacks += mark_seen(a->nodes, a->n_nodes, e->node);
		info->threads +=
			mark_seen(a->threads, a->n_threads, hl_first_role(&r->tables, e->thread));
	}
	for (size_t i = 0; i < c->n_extras; i++) {
		const struct hl_extra *x = &c->extras[i];

		if (x->kind == HL_EXTRA_DROPPED)
			info->counters.dropped_events += x->value;
		else if (x->kind == HL_EXTRA_UNKNOWN_FREE && x->value == 1)
			info->counters.inherited_frees++;
		else if (x->kind == HL_EXTRA_UNKNOWN_FREE)
			info->counters.unknown_frees++;
	}
	info->counters.implicit_frees = info->totals.implicit_frees;
}

/* The number of heap events in the chunks that the totals cover. */
static uint64_t count_written_events(const struct hl_trace_info *i)
{
	return i->totals.events - i->aggregated.alloc_blocks - i->aggregated.free_blocks;
}

/* The keyframe that ends the base is not written yet. */
static bool is_base_awaited(const struct hl_reader *r)
{
	return r->running && r->info.meta.base.is_late && r->base_key == HL_NO_ROW;
}

static int add_chunks(struct hl_reader *r)
{
	struct hl_chunk_events c = {0};
	struct hl_decode_ahead ahead;
	unsigned want = HL_WANT_ALL;
	int err = 0;

	hl_decode_ahead_init(&ahead, r);
	for (size_t i = r->sums.next; i < r->chunks.len && !err; i++) {
		const struct hl_chunk_info *info = &r->chunks.data[i];

		if (info->disjoint) /* a disjoint chunk: only the next keyframe has all sums */
			break;
		if (!info->lost &&
			hl_reader_run_event(r, info->first_event) == count_written_events(&r->info))
			err = hl_decode_ahead_read(&ahead, i, r->chunks.len, &want, &c);
		else
			err = -EBADMSG;
		if (err)
			break;
		add_events(r, &c);
		r->sums.next = i + 1;
		r->info.end.duration_ns = info->t1_ns;
	}
	hl_decode_ahead_fini(&ahead);
	hl_chunk_events_free(&c);
	if (err == -EBADMSG) {
		r->stopped = !is_base_awaited(r);
		err = 0;
	}
	return err;
}

static uint64_t count_bits(const uint8_t *bits, size_t n)
{
	uint64_t count = 0;

	for (size_t i = 0; i < n / 8 + 1; i++)
		count += (uint64_t)__builtin_popcount(bits[i]);
	return count;
}

/* Loads the nodes and threads seen up to a keyframe. False if some of them are missing. */
static bool load_seen(struct hl_reader *r, size_t key, const struct hl_process_numbers *n)
{
	const struct hl_readable_sums *a = &r->sums;

	return hl_key_seen_ids(r, key, a->nodes, a->n_nodes, a->threads, a->n_threads) == 0 &&
	       count_bits(a->nodes, a->n_nodes) == n->totals.stacks &&
	       count_bits(a->threads, a->n_threads) == n->threads;
}

/* The last keyframe whose totals can be read. They are exact, regardless of lost chunks before
 * it. */
static size_t find_last_totals(struct hl_reader *r, struct hl_process_numbers *n)
{
	for (size_t i = r->keys.len; i-- > 0;)
		if (hl_key_load_totals(r, i, n) == 0)
			return i;
	return HL_NO_ROW;
}

/* Makes the bitmap large enough for n ids. */
static int grow_seen(uint8_t **bits, size_t *n, size_t want)
{
	size_t old = *n / 8 + 1, new = want / 8 + 1;
	uint8_t *p;

	if (*bits && want <= *n)
		return 0;
	p = realloc(*bits, new);
	if (!p)
		return -ENOMEM;
	memset(p + (*bits ? old : 0), 0, *bits ? new - old : new);
	*bits = p;
	*n = want;
	return 0;
}

static int grow_all_seen(struct hl_reader *r)
{
	struct hl_readable_sums *s = &r->sums;
	int err = grow_seen(&s->nodes, &s->n_nodes,
		hl_min_u64(r->tables.n_nodes, hl_nodes_limit(r->data_bytes)));

	return err ? err
		   : grow_seen(&s->threads, &s->n_threads,
			     hl_min_u64(r->tables.n_threads, hl_threads_limit(r->data_bytes)));
}

/* Begins again, at the last keyframe that can be used or at the start. */
static int begin_sums(struct hl_reader *r, size_t key, const struct hl_process_numbers *n)
{
	struct hl_readable_sums *s = &r->sums;
	int err;

	hl_readable_sums_fini(s);
	s->key = key;
	s->seen_is_complete = true;
	r->info.totals = (struct hl_totals){0};
	r->info.aggregated = (struct hl_sums){0};
	r->info.counters = (struct hl_counters){0};
	r->info.threads = 0;
	r->info.end.duration_ns = 0;
	r->info.has_lifetimes = !r->info.meta.base.is_late;
	err = grow_all_seen(r);
	if (err || key == HL_NO_ROW)
		return err;
	s->next = r->keys.data[key].chunk;
	r->info.totals = n->totals;
	r->info.has_lifetimes = n->has_lifetimes;
	r->info.aggregated = n->aggregated;
	r->info.counters = n->counters;
	r->info.threads = n->threads;
	r->info.end.duration_ns = r->keys.data[key].time_ns;
	return 0;
}

static int sum_readable(struct hl_reader *r)
{
	struct hl_readable_sums *s = &r->sums;
	bool has_key = s->begun && s->n_keys == r->keys.len;
	struct hl_process_numbers n = {0};
	size_t key = has_key ? s->key : find_last_totals(r, &n);
	int err = hl_tables_read(r);

	if (!err && s->begun && s->key == key)
		err = grow_all_seen(r);
	else if (!err)
		err = begin_sums(r, key, &n);
	if (err)
		return err;
	/* The ids seen before the keyframe are needed once there are chunks after it. */
	if (!s->begun && key != HL_NO_ROW && s->next < r->chunks.len)
		s->seen_is_complete = load_seen(r, key, &n);
	s->begun |= key == HL_NO_ROW || s->next < r->chunks.len;
	s->n_keys = r->keys.len;
	return add_chunks(r);
}

/* ---- damage ---- */

static void append_damage(struct hl_reader *r, const char *fmt, ...) hl_printf(2, 3);
static void append_damage(struct hl_reader *r, const char *fmt, ...)
{
	char *to = r->info.damage;
	size_t len = strlen(to), size = sizeof(r->info.damage);
	va_list ap;

	if (len > 0)
		len += (size_t)snprintf(to + len, size - len, "; ");
	if (len >= size)
		return;
	va_start(ap, fmt);
	vsnprintf(to + len, size - len, fmt, ap);
	va_end(ap);
}

void hl_describe_damage(struct hl_reader *r)
{
	struct hl_trace_info *i = &r->info;

	i->lost_chunks = r->lost_chunks;
	i->lost_events = r->lost_events;
	i->lost_events_exact = !r->lost_unknown;
	i->base_lost = i->meta.base.is_late && r->base_key == HL_NO_ROW && !r->running;
	i->damage[0] = '\0';
	if (r->lost_chunks > 0)
		append_damage(r, "%llu chunk%s with %s%llu events cannot be read",
			(unsigned long long)r->lost_chunks, r->lost_chunks == 1 ? "" : "s",
			r->lost_unknown ? "at least " : "", (unsigned long long)r->lost_events);
	if (r->tail_bytes > HL_CHUNK_LEN_MAX && !r->running)
		append_damage(r, "its last %llu bytes contain no chunk",
			(unsigned long long)r->tail_bytes);
	else if (r->tail_bytes > 0 && !r->running)
		append_damage(r, "the file ends in the middle of a chunk, after %llu bytes of it",
			(unsigned long long)r->tail_bytes);
	if (i->base_lost)
		append_damage(r, "its base is not complete: the totals of the run, and the blocks "
				 "that were live where the trace begins, are not known");
	else if (r->stopped)
		append_damage(r, "totals are those of the first %llu events",
			(unsigned long long)i->totals.events);
	if (r->summary_damaged)
		append_damage(r, "a chunk's summary is damaged");
	if (r->contradicts)
		append_damage(r, "its sums contradict its events");
	if (r->skipped_bytes > 0 && r->lost_chunks == 0 && !r->index_rebuilt && !r->running)
		append_damage(r, "%llu bytes between its chunks do not belong to this trace",
			(unsigned long long)r->skipped_bytes);
	if (r->junk_bytes > 0)
		append_damage(r, "%llu bytes after its end do not belong to this trace",
			(unsigned long long)r->junk_bytes);
	if (r->index_rebuilt)
		append_damage(
			r, "the index at its end was missing or damaged and has been rebuilt");
	if (r->head_damaged)
		append_damage(r, "its first 64 bytes are damaged");
	i->damaged = i->damage[0] != '\0';
	if (i->damaged && !i->base_lost)
		append_damage(r, "everything else is exact");
}

void hl_reader_report_contradiction(struct hl_reader *r)
{
	r->contradicts = true;
	hl_describe_damage(r);
}

int hl_reader_info(struct hl_reader *r, const struct hl_trace_info **info)
{
	int err;

	*info = &r->info;
	if (r->info_ready)
		return 0;
	r->info.file_bytes = r->file_bytes;
	r->info.n_event_chunks = r->chunks.len;
	r->info.n_keyframes = r->keys.len;
	for (size_t i = 0; i < r->rows.len; i++)
		r->info.n_map_samples += r->rows.data[i].head.type == HL_CHUNK_MAPS &&
					 !(uint32_t)r->rows.data[i].head.aux;
	if (r->end_row == HL_NO_ROW || load_end(r) < 0) {
		r->info.end.kind = r->running ? HL_END_RUNNING : HL_END_LOST;
		err = sum_readable(r);
		if (err)
			return err;
	}
	r->info_ready = true;
	hl_describe_damage(r);
	return 0;
}
