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
	uint64_t kind, value, duration, stops, modes, pauses;
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
	if (cur.p < cur.end) /* older files do not have this number */
		n.counters.early_blocks = hl_column_cursor_varint(&cur);
	if (cur.bad || kind > HL_END_CONTINUED || load_cost(r, &c) < 0 ||
		hl_read_aggregated(r, &c, &n.totals, &n.aggregated) < 0 ||
		hl_read_lifetimes(r, &c, &n) < 0 || hl_read_left_out(r, &c) < 0)
		return hl_mark_bad(r, r->end_row);
	r->info.end = (struct hl_end){
		.kind = (uint8_t)kind,
		.value = (int32_t)hl_unzigzag(value),
		.duration_ns = duration,
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

/* State of adding up chunks: the sums, and bitmaps of the nodes and threads already counted. */
struct readable_sums {
	struct hl_trace_info *info;
	const struct hl_tables *tables;
	uint8_t *nodes, *threads;
	size_t n_nodes, n_threads;
	bool seen_is_complete; /* false: earlier ones are unknown, so no new ones are counted */
};

static bool mark_seen(uint8_t *bits, size_t n, uint32_t id)
{
	uint8_t bit = (uint8_t)(1u << id % 8);

	if (id >= n || bits[id / 8] & bit)
		return false;
	bits[id / 8] |= bit;
	return true;
}

static void add_events(struct readable_sums *a, const struct hl_chunk_events *c)
{
	struct hl_trace_info *info = a->info;

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
			mark_seen(a->threads, a->n_threads, hl_first_role(a->tables, e->thread));
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

static int add_chunks(struct hl_reader *r, struct readable_sums *a, size_t from)
{
	struct hl_chunk_events c = {0};
	struct hl_decode_ahead ahead;
	unsigned want = HL_WANT_ALL;
	int err = 0;

	hl_decode_ahead_init(&ahead, r);
	for (size_t i = from; i < r->chunks.len && !err; i++) {
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
		add_events(a, &c);
		r->info.end.duration_ns = info->t1_ns;
	}
	hl_decode_ahead_fini(&ahead);
	hl_chunk_events_free(&c);
	if (err == -EBADMSG) {
		r->stopped = true;
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
static bool load_seen(struct hl_reader *r, size_t key, const struct hl_process_numbers *n,
	struct readable_sums *a)
{
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

static int sum_readable(struct hl_reader *r)
{
	struct readable_sums a = {.info = &r->info, .tables = &r->tables, .seen_is_complete = true};
	struct hl_process_numbers n;
	size_t key = find_last_totals(r, &n), from = 0;
	int err = hl_tables_read(r);

	if (err)
		return err;
	err = -ENOMEM;
	for (size_t i = 0; i < r->chunks.len; i++) {
		if (r->chunk_rows.data[i] == HL_NO_ROW || i < r->n_base_chunks)
			continue;
		uint64_t aux = r->rows.data[r->chunk_rows.data[i]].head.aux;

		a.n_nodes = hl_max_u64(a.n_nodes, (uint32_t)aux);
		a.n_threads = hl_max_u64(a.n_threads, aux >> 32);
	}
	a.n_nodes = hl_max_u64(a.n_nodes, r->tables.n_nodes);
	a.n_threads = hl_max_u64(a.n_threads, r->tables.n_threads);
	a.n_nodes = hl_min_u64(a.n_nodes, hl_nodes_limit(r->data_bytes));
	a.n_threads = hl_min_u64(a.n_threads, hl_threads_limit(r->data_bytes));
	a.nodes = calloc(1, a.n_nodes / 8 + 1);
	a.threads = calloc(1, a.n_threads / 8 + 1);
	if (!a.nodes || !a.threads)
		goto out;
	r->info.has_lifetimes = !r->info.meta.base.is_late;
	if (key != HL_NO_ROW) {
		from = r->keys.data[key].chunk;
		r->info.totals = n.totals;
		r->info.has_lifetimes = n.has_lifetimes;
		r->info.aggregated = n.aggregated;
		r->info.counters = n.counters;
		r->info.threads = n.threads;
		r->info.end.duration_ns = r->keys.data[key].time_ns;
		if (from < r->chunks.len)
			a.seen_is_complete = load_seen(r, key, &n, &a);
	}
	err = add_chunks(r, &a, from);
out:
	free(a.nodes);
	free(a.threads);
	return err;
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
		r->info.end = (struct hl_end){.kind = r->running ? HL_END_RUNNING : HL_END_LOST};
		err = sum_readable(r);
		if (err)
			return err;
	}
	r->info_ready = true;
	hl_describe_damage(r);
	return 0;
}
