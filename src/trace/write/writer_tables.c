/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer_tables.c - META, TABLE, RSS, MAPS and END chunks: everything that is neither an event nor
 * a keyframe.
 */
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "trace/write/writer_internal.h"

int hl_byte_buffer_values(hl_byte_buffer *b, const uint64_t *v, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = hl_byte_buffer_varint(b, v[i]);
	return err;
}

static void put_text_column(struct hl_writer *w, uint16_t id, const char *s, size_t len, size_t max)
{
	hl_seal_column(&w->sealer, id, s, hl_min_u64(len, max));
}

int hl_write_meta(struct hl_writer *w, const struct hl_meta *m)
{
	const uint64_t numbers[] = {HL_FORMAT_VERSION, m->start_unix_ns, m->pid, m->parent_pid,
		(uint64_t)m->free_stacks | (uint64_t)m->record_mmap << 1 |
			(uint64_t)m->forked << 2 | (uint64_t)m->taken_over << 3 |
			(uint64_t)m->started_off << 4 | (uint64_t)m->zeroed << 5 |
			(uint64_t)m->python_malloc << 6 | (uint64_t)m->php_malloc << 7};
	const struct {
		uint16_t id;
		const char *text;
	} strings[] = {
		{HL_COL_PROGRAM, m->program},
		{HL_COL_ARCH, m->arch},
		{HL_COL_CLOCK, m->clock},
		{HL_COL_MODE, m->mode},
		{HL_COL_ALLOCATOR, m->allocator},
		{HL_COL_SOURCE, m->source},
	};

	w->sealer.scratch.len = 0;
	if (hl_byte_buffer_values(&w->sealer.scratch, numbers, HL_ARRAY_LEN(numbers)) < 0)
		return -ENOMEM;
	hl_writer_begin(w, HL_CHUNK_META);
	hl_seal_column(&w->sealer, HL_COL_NUMBERS, w->sealer.scratch.data, w->sealer.scratch.len);
	for (size_t i = 0; i < HL_ARRAY_LEN(strings); i++)
		if (strings[i].text)
			put_text_column(w, strings[i].id, strings[i].text, strlen(strings[i].text),
				HL_TEXT_MAX);
	if (m->command)
		put_text_column(w, HL_COL_COMMAND, m->command, m->command_len, 8 * HL_TEXT_MAX);
	if (m->slice.flags && hl_write_slice_info(w, &m->slice) < 0)
		return -ENOMEM;
	if (m->base.is_late && hl_write_base_info(w) < 0)
		return -ENOMEM;
	w->sealer.scratch.len = 0;
	if (m->unknown && hl_byte_buffer_varint(&w->sealer.scratch, m->unknown) < 0)
		return -ENOMEM;
	hl_seal_column(&w->sealer, HL_COL_UNKNOWN, w->sealer.scratch.data, w->sealer.scratch.len);
	return hl_writer_put(w);
}

/* ---- TABLE ---- */

static size_t get_tables_len(const struct hl_pending_tables *t)
{
	return t->modules.len + t->node_parent.len + t->node_module.len + t->node_offset.len +
	       t->threads.len + t->tags.len + t->roles.len;
}

void hl_pending_tables_fini(struct hl_pending_tables *t)
{
	hl_vec_free(&t->modules);
	hl_vec_free(&t->node_parent);
	hl_vec_free(&t->node_module);
	hl_vec_free(&t->node_offset);
	hl_vec_free(&t->threads);
	hl_vec_free(&t->tags);
	hl_vec_free(&t->roles);
}

int hl_write_tables(struct hl_writer *w)
{
	struct hl_pending_tables *t = &w->tables;
	const uint64_t numbers[] = {t->first_module, w->n_modules - t->first_module, t->first_node,
		w->n_nodes - t->first_node, t->first_thread, w->n_threads - t->first_thread,
		t->first_tag, w->n_tags - t->first_tag};
	size_t n_numbers = HL_ARRAY_LEN(numbers) - (w->n_tags ? 0 : 2);

	if (get_tables_len(t) == 0)
		return 0;
	w->sealer.scratch.len = 0;
	if (hl_byte_buffer_values(&w->sealer.scratch, numbers, n_numbers) < 0)
		return -ENOMEM;
	hl_writer_begin(w, HL_CHUNK_TABLE);
	hl_seal_column(&w->sealer, HL_COL_NUMBERS, w->sealer.scratch.data, w->sealer.scratch.len);
	hl_seal_column(&w->sealer, HL_COL_MODULES, t->modules.data, t->modules.len);
	hl_seal_column(&w->sealer, HL_COL_NODE_PARENT, t->node_parent.data, t->node_parent.len);
	hl_seal_column(&w->sealer, HL_COL_NODE_MODULE, t->node_module.data, t->node_module.len);
	hl_seal_column(&w->sealer, HL_COL_NODE_OFFSET, t->node_offset.data, t->node_offset.len);
	hl_seal_column(&w->sealer, HL_COL_THREADS, t->threads.data, t->threads.len);
	hl_seal_column(&w->sealer, HL_COL_TAGS, t->tags.data, t->tags.len);
	hl_seal_column(&w->sealer, HL_COL_ROLES, t->roles.data, t->roles.len);
	t->modules.len = t->node_parent.len = t->node_module.len = t->node_offset.len = 0;
	t->threads.len = t->tags.len = t->roles.len = 0;
	t->first_module = w->n_modules;
	t->first_node = w->n_nodes;
	t->first_thread = t->last_role = w->n_threads;
	t->first_tag = w->n_tags;
	memset(t->last_offset, 0, sizeof(t->last_offset));
	return hl_writer_put(w);
}

/* Called before anything is added: writes the TABLE chunk if `need` more bytes do not fit. */
static int reserve_table(struct hl_writer *w, size_t need)
{
	if (w->error)
		return w->error;
	if (get_tables_len(&w->tables) + need + HL_NUMBERS_MAX * 10 > HL_RAW_MAX)
		w->error = hl_write_tables(w);
	return w->error;
}

int hl_writer_add_module(struct hl_writer *w, const struct hl_module *m)
{
	hl_byte_buffer *b = &w->tables.modules;
	size_t path = hl_min_u64(strlen(m->path), HL_TEXT_MAX);
	size_t id = hl_min_u64(m->build_id_len, 255);

	if (reserve_table(w, path + id + 32) < 0)
		return w->error;
	if (w->n_modules == HL_MODULES_MAX)
		return w->error = -EOVERFLOW;
	if (hl_byte_buffer_varint(b, path) < 0 || hl_byte_buffer_put(b, m->path, path) < 0 ||
		hl_byte_buffer_varint(b, id) < 0 || hl_byte_buffer_put(b, m->build_id, id) < 0)
		return w->error = -ENOMEM;
	w->n_modules++;
	return 0;
}

int hl_writer_add_node(struct hl_writer *w, const struct hl_node *n)
{
	struct hl_pending_tables *t = &w->tables;
	uint64_t *last = &t->last_offset[n->module & 63];

	if (reserve_table(w, 64) < 0)
		return w->error;
	if (n->parent != HL_NODE_NONE && n->parent >= w->n_nodes)
		return w->error = -EINVAL;
	if (n->module != HL_MODULE_NONE && n->module >= w->n_modules)
		return w->error = -EINVAL;
	if (w->n_nodes == HL_NODES_MAX)
		return w->error = -EOVERFLOW;
	if (hl_byte_buffer_varint(
		    &t->node_parent, n->parent == HL_NODE_NONE ? 0 : w->n_nodes - n->parent) < 0 ||
		hl_byte_buffer_varint(&t->node_module, (uint32_t)(n->module + 1)) < 0 ||
		hl_byte_buffer_varint(&t->node_offset, hl_zigzag((int64_t)(n->offset - *last))) <
			0 ||
		hl_byte_buffer_put(&w->node_state, "", 1) < 0)
		return w->error = -ENOMEM;
	*last = n->offset;
	w->n_nodes++;
	return 0;
}

int hl_writer_add_thread(struct hl_writer *w, uint64_t tid)
{
	if (reserve_table(w, 16) < 0)
		return w->error;
	if (w->n_threads == HL_THREADS_MAX)
		return w->error = -EOVERFLOW;
	if (hl_byte_buffer_varint(&w->tables.threads, tid) < 0 ||
		hl_byte_buffer_put(&w->thread_state, "", 1) < 0 ||
		hl_vec_push(&w->role_threads, w->n_threads) < 0)
		return w->error = -ENOMEM;
	w->n_threads++;
	return 0;
}

int hl_writer_add_tag(struct hl_writer *w, uint32_t parent, const char *name, size_t len)
{
	hl_byte_buffer *b = &w->tables.tags;

	len = hl_min_u64(len, HL_TEXT_MAX);
	if (reserve_table(w, len + 32) < 0)
		return w->error;
	if (parent != HL_TAG_NONE && parent >= w->n_tags)
		return w->error = -EINVAL;
	if (w->n_tags == HL_TAGS_MAX)
		return w->error = -EOVERFLOW;
	if (hl_byte_buffer_varint(b, parent == HL_TAG_NONE ? 0 : w->n_tags - parent) < 0 ||
		hl_byte_buffer_varint(b, len) < 0 || hl_byte_buffer_put(b, name, len) < 0)
		return w->error = -ENOMEM;
	w->n_tags++;
	return 0;
}

/* The role's entry among the threads is 0: it has no thread id of its own. */
int hl_writer_add_role(struct hl_writer *w, uint32_t thread, uint32_t tag)
{
	struct hl_pending_tables *t = &w->tables;
	uint32_t role = w->n_threads;

	if (reserve_table(w, 64) < 0)
		return w->error;
	if (thread >= role || w->role_threads.data[thread] != thread || tag >= w->n_tags)
		return w->error = -EINVAL;
	if (hl_writer_add_thread(w, 0) < 0)
		return w->error;
	w->role_threads.data[role] = thread;
	if (hl_byte_buffer_varint(&t->roles, role - t->last_role) < 0 ||
		hl_byte_buffer_varint(&t->roles, role - thread) < 0 ||
		hl_byte_buffer_varint(&t->roles, tag) < 0)
		return w->error = -ENOMEM;
	t->last_role = role;
	return 0;
}

/* ---- RSS ---- */

int hl_write_rss(struct hl_writer *w)
{
	hl_byte_buffer *b = &w->sealer.scratch;
	uint64_t time = 0, bytes = 0;
	size_t split;
	int err = 0;

	if (w->rss.len == 0)
		return 0;
	b->len = 0;
	for (size_t i = 0; i < w->rss.len && !err; i++) {
		uint64_t t = w->rss.data[i].time_ns / HL_TIME_UNIT_NS;

		err = hl_byte_buffer_varint(b, hl_zigzag((int64_t)(t - time)));
		time = t;
	}
	split = b->len;
	for (size_t i = 0; i < w->rss.len && !err; i++) {
		err = hl_byte_buffer_varint(
			b, hl_zigzag((int64_t)(w->rss.data[i].rss_bytes - bytes)));
		bytes = w->rss.data[i].rss_bytes;
	}
	if (err)
		return err;
	hl_writer_begin(w, HL_CHUNK_RSS);
	hl_seal_column(&w->sealer, HL_COL_RSS_TIME, b->data, split);
	hl_seal_column(&w->sealer, HL_COL_RSS_BYTES, b->data + split, b->len - split);
	w->sealer.chunk.head.n_rows = (uint32_t)w->rss.len;
	w->rss.len = 0;
	return hl_writer_put(w);
}

int hl_writer_add_rss(struct hl_writer *w, const struct hl_rss_sample *sample)
{
	if (w->error)
		return w->error;
	if (hl_vec_push(&w->rss, *sample) < 0)
		return w->error = -ENOMEM;
	if (w->rss.len == HL_RSS_ROWS)
		w->error = hl_write_rss(w);
	return w->error;
}

/* ---- MAPS ---- */

static int write_map_part(struct hl_writer *w, const struct hl_map_parts *parts, size_t i)
{
	const struct hl_map_part *p = &parts->v.data[i];
	struct hl_sealer *s = &w->sealer;

	hl_writer_begin(w, HL_CHUNK_MAPS);
	hl_seal_column(s, HL_COL_NUMBERS, p->numbers.data, p->numbers.len);
	hl_seal_column(s, HL_COL_MAP_TEXTS, p->texts.data, p->texts.len);
	hl_seal_column(s, HL_COL_MAP_ROWS, p->rows.data, p->rows.len);
	s->chunk.is_stored = parts->n > HL_MAPS_FREE; /* for the limits of readers */
	s->chunk.head.flags = parts->full ? HL_CHUNK_FULL : 0;
	s->chunk.head.n_rows = p->n_rows;
	s->chunk.head.aux = i | (uint64_t)parts->v.len << 32;
	s->chunk.head.link = parts->full ? 0 : w->maps_seq;
	return hl_writer_put(w);
}

/* Readers accept only as many mappings as hl_map_work_limit allows. */
static bool leaves_out(struct hl_writer *w, const struct hl_map_parts *parts)
{
	uint64_t bytes = atomic_load_explicit(&w->status->bytes, memory_order_relaxed);

	w->maps_left_out &= !parts->full;
	w->maps_left_out |= w->maps_work + 2 * parts->n > hl_map_work_limit(bytes);
	if (w->maps_left_out) {
		hl_map_encoder_restart(&w->maps);
		return true;
	}
	w->maps_work += 2 * parts->n; /* a reader may count its rows, too */
	return false;
}

int hl_writer_put_maps(struct hl_writer *w, const struct hl_map_parts *parts)
{
	uint64_t seq = w->seq;

	if (leaves_out(w, parts))
		return w->error;
	for (size_t i = 0; i < parts->v.len && !w->error; i++)
		w->error = write_map_part(w, parts, i);
	w->maps_seq = seq;
	return w->error;
}

int hl_writer_add_maps(struct hl_writer *w, const struct hl_map_sample *sample)
{
	struct hl_map_parts parts;
	int err = w->error;

	if (!err)
		err = hl_map_encode(&w->maps, sample, &parts);
	if (err)
		return err;
	err = hl_writer_put_maps(w, &parts);
	hl_map_parts_fini(&parts);
	return err;
}

/* ---- END ---- */

int hl_put_totals(struct hl_writer *w, hl_byte_buffer *b, const struct hl_counters *c)
{
	const struct hl_totals *t = &w->totals;
	const uint64_t v[] = {t->sums.alloc_blocks, t->sums.alloc_bytes, t->sums.free_blocks,
		t->sums.free_bytes, t->implicit_frees, t->implicit_bytes, t->peak_bytes,
		t->peak_blocks, t->peak_time_ns, t->temporary, t->events, t->stacks,
		t->last_alloc_event, t->last_alloc_ordinal, w->active_threads, c->unknown_frees,
		c->implicit_frees, c->inherited_frees, c->late_events, c->dropped_events,
		w->n_modules, w->n_nodes, w->n_threads, c->unrecorded_frees, t->samples};

	return hl_byte_buffer_values(b, v, HL_ARRAY_LEN(v));
}

/* Up to the last class that has a block. */
int hl_lifetimes_column(struct hl_writer *w)
{
	const uint64_t *v = w->totals.lifetimes;
	size_t n = HL_LIFETIME_CLASSES_MAX;

	hl_totals_fold_lifetimes(&w->totals);
	while (n > 0 && v[n - 1] == 0)
		n--;
	w->sealer.scratch.len = 0;
	if (hl_byte_buffer_values(&w->sealer.scratch, v, n) < 0)
		return -ENOMEM;
	hl_seal_column(&w->sealer, HL_COL_LIFETIMES, w->sealer.scratch.data, w->sealer.scratch.len);
	return 0;
}

int hl_aggregated_column(struct hl_writer *w)
{
	const struct hl_sums *s = &w->aggregated_all;
	const uint64_t v[] = {s->alloc_blocks, s->alloc_bytes, s->free_blocks, s->free_bytes};

	if (s->alloc_blocks == 0)
		return 0;
	w->sealer.scratch.len = 0;
	if (hl_byte_buffer_values(&w->sealer.scratch, v, HL_ARRAY_LEN(v)) < 0)
		return -ENOMEM;
	hl_seal_column(&w->sealer, HL_COL_WITHHELD, w->sealer.scratch.data, w->sealer.scratch.len);
	return 0;
}

int hl_write_end(struct hl_writer *w, const struct hl_end *end, const struct hl_counters *counters)
{
	const uint64_t v[] = {end->kind, hl_zigzag(end->value + (end->oom ? HL_END_OOM : 0)),
		end->duration_ns, w->stops, w->mode_changes, w->pauses, counters->early_blocks,
		end->other_traces};
	const uint64_t cost[] = {w->cost.wait_ns, w->cost.unwinds, w->cost.frames_walked,
		w->cost.frames_verified, w->cost.rule_misses, w->cost.collector_ns,
		w->cost.hook_ns};

	w->sealer.scratch.len = 0;
	if (hl_put_totals(w, &w->sealer.scratch, counters) < 0 ||
		hl_byte_buffer_values(&w->sealer.scratch, v, HL_ARRAY_LEN(v)) < 0)
		return -ENOMEM;
	hl_writer_begin(w, HL_CHUNK_END);
	hl_seal_column(&w->sealer, HL_COL_NUMBERS, w->sealer.scratch.data, w->sealer.scratch.len);
	w->sealer.scratch.len = 0;
	if (hl_byte_buffer_values(&w->sealer.scratch, cost, HL_ARRAY_LEN(cost)) < 0)
		return -ENOMEM;
	hl_seal_column(&w->sealer, HL_COL_COST, w->sealer.scratch.data, w->sealer.scratch.len);
	if (hl_aggregated_column(w) < 0 || hl_lifetimes_column(w) < 0 ||
		(w->is_slice && hl_write_left_out(w) < 0))
		return -ENOMEM;
	return hl_writer_put(w);
}

void hl_writer_set_cost(struct hl_writer *w, const struct hl_cost *cost)
{
	w->cost = *cost;
}
