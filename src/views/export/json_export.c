/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_export.c - every allocation with its stack in one JSON document: docs/export-json.md.
 *
 * The tables are first, then the allocations in the order of their frees, so that a reader needs
 * only the tables in memory. Each allocation is one line.
 */
#include <errno.h>
#include <stdlib.h>

#include "model/query/suppress.h"
#include "model/scan/realloc_chains.h"
#include "model/views/marks.h"
#include "model/views/mappings.h"
#include "model/tags/roles.h"
#include "util/vec.h"
#include "model/stack/stack_rules.h"
#include "views/export/export_internal.h"

struct writer {
	struct hl_export_job *x;
	struct hl_json j;
	struct hl_export_frames frames;
	bool comma;
	bool chains;
	uint8_t *needed; /* per node: 1 if it is a stack that is written, or a caller in one */
};

static void put_hex_id(struct hl_json *j, const uint8_t *id, uint32_t n)
{
	struct hl_strbuf b = {0};

	for (uint32_t i = 0; i < n; i++)
		hl_strbuf_printf(&b, "%02x", id[i]);
	hl_json_string(j, n > 0 ? hl_strbuf_str(&b) : NULL);
	hl_strbuf_fini(&b);
}

static void put_command(struct hl_json *j, const struct hl_meta *meta)
{
	const char *s = meta->command, *end = s ? s + meta->command_len : NULL;

	hl_json_key(j, "command");
	hl_json_begin_array(j);
	while (s < end) {
		struct hl_strbuf word = {0};

		hl_strbuf_add(&word, s, strnlen(s, (size_t)(end - s)));
		hl_json_string(j, hl_strbuf_str(&word));
		s += word.len + 1;
		hl_strbuf_fini(&word);
	}
	hl_json_end_array(j);
}

static void put_header(struct writer *w, const struct hl_answer *a)
{
	const struct hl_trace_info *info = hl_model_info(w->x->m);
	struct hl_json *j = &w->j;

	hl_json_key_u64(j, "schema", 1);
	hl_json_key_string(j, "format", "heaplapse-allocations");
	hl_json_key_string(j, "program", info->meta.program);
	put_command(j, &info->meta);
	hl_json_key_u64(j, "pid", info->meta.pid);
	hl_json_key_u64(j, "start_unix_ns", info->meta.start_unix_ns);
	hl_json_key_u64(j, "duration_ns", hl_model_end_ns(w->x->m));
	hl_json_key_u64(j, "samples", info->totals.samples);
	hl_json_key_string(j, "quantity", hl_quantity_name(a->quantity));
	hl_json_key_u64(j, "from_ns", a->from_ns);
	hl_json_key_u64(j, "to_ns", a->to_ns);
	if (w->x->query.with_base && hl_model_base(w->x->m)->is_late)
		hl_json_key_bool(j, "with_base", true);
}

static void put_id(struct hl_json *j, const char *key, uint32_t id, uint32_t none)
{
	hl_json_key(j, key);
	if (id == none)
		hl_json_string(j, NULL);
	else
		hl_json_u64(j, id);
}

static int put_threads(struct writer *w)
{
	struct hl_reader *r = hl_model_reader(w->x->m);
	uint32_t n = 0;
	int err = hl_reader_n_threads(r, &n);

	hl_json_key(&w->j, "threads");
	hl_json_begin_array(&w->j);
	for (uint32_t i = 0; i < n && !err; i++) {
		uint64_t tid = 0;

		hl_json_begin_object(&w->j);
		hl_json_key_u64(&w->j, "thread", i);
		hl_json_key_u64(&w->j, "tid", hl_reader_thread(r, i, &tid) ? 0 : tid);
		hl_json_key_string(&w->j, "name", hl_model_thread_name(w->x->m, i));
		hl_json_end_object(&w->j);
	}
	hl_json_end_array(&w->j);
	return err;
}

/* A parent is always before its children. */
static void put_tags(struct writer *w)
{
	struct hl_model *m = w->x->m;

	hl_json_key(&w->j, "tags");
	hl_json_begin_array(&w->j);
	for (uint32_t i = 0; i < hl_model_n_tags(m); i++) {
		hl_json_begin_object(&w->j);
		hl_json_key_u64(&w->j, "tag", i);
		put_id(&w->j, "parent", hl_model_tag_parent(m, i), HL_TAG_NONE);
		hl_json_key_string(&w->j, "name", hl_model_tag_name(m, i));
		hl_json_end_object(&w->j);
	}
	hl_json_end_array(&w->j);
	hl_json_key(&w->j, "pools");
	hl_json_begin_array(&w->j);
	for (uint32_t i = 0; i < hl_model_n_pools(m); i++) {
		hl_json_begin_object(&w->j);
		hl_json_key_u64(&w->j, "pool", i);
		hl_json_key_string(&w->j, "name", hl_model_pool_name(m, i));
		hl_json_end_object(&w->j);
	}
	hl_json_end_array(&w->j);
}

static int put_modules(struct writer *w)
{
	struct hl_reader *r = hl_model_reader(w->x->m);
	uint32_t n = 0;
	int err = hl_reader_n_modules(r, &n);

	hl_json_key(&w->j, "modules");
	hl_json_begin_array(&w->j);
	for (uint32_t i = 0; i < n && !err; i++) {
		struct hl_module module;

		if (hl_reader_module(r, i, &module))
			continue; /* lost: its frames show that */
		hl_json_begin_object(&w->j);
		hl_json_key_string(&w->j, "path", module.path);
		hl_json_key(&w->j, "build_id");
		put_hex_id(&w->j, module.build_id, module.build_id_len);
		hl_json_end_object(&w->j);
	}
	hl_json_end_array(&w->j);
	return err;
}

static int put_marks(struct writer *w)
{
	const struct hl_mark *marks;
	size_t n = 0;
	int err = hl_model_marks(w->x->m, &marks, &n);

	hl_json_key(&w->j, "marks");
	hl_json_begin_array(&w->j);
	for (size_t i = 0; i < n && !err; i++) {
		hl_json_begin_object(&w->j);
		hl_json_key_string(&w->j, "kind", marks[i].snapshot ? "snapshot" : "mark");
		hl_json_key_string(&w->j, "name", marks[i].name);
		hl_json_key_u64(&w->j, "time_ns", marks[i].time_ns);
		hl_json_end_object(&w->j);
	}
	hl_json_end_array(&w->j);
	return err;
}

static int put_stack(struct writer *w, uint32_t node)
{
	uint32_t parent = hl_model_parent(w->x->m, node), number, site;
	const struct hl_frame_ref *refs;
	size_t n = 0;
	int err = hl_model_node_frames(w->x->m, node, &refs, &n);

	fputs("\n", w->x->out);
	hl_json_begin_object(&w->j);
	hl_json_key_u64(&w->j, "stack", node);
	put_id(&w->j, "parent", parent, HL_NODE_NONE);
	hl_json_key(&w->j, "frames");
	hl_json_begin_array(&w->j);
	for (size_t i = 0; i < n && !err; i++) {
		err = hl_export_frame_number(&w->frames, refs[i].frame, &number);
		hl_json_u64(&w->j, number);
	}
	hl_json_end_array(&w->j);
	if (!err)
		err = hl_model_find_site(w->x->m, node, &site);
	if (!err)
		err = hl_export_frame_number(&w->frames, site, &number);
	if (!err)
		hl_json_key_u64(&w->j, "site", number);
	hl_json_end_object(&w->j);
	return err;
}

static int mark_mapping_stacks(void *arg, const struct hl_mapping *map)
{
	struct writer *w = arg;

	if (map->node != HL_NODE_NONE)
		w->needed[map->node] = 1;
	if (map->end_node != HL_NODE_NONE)
		w->needed[map->end_node] = 1;
	return 0;
}

/* The stacks of a block that the answer, which has sums, may not have. */
static int mark_block_stacks(void *arg, const struct hl_block *b)
{
	struct writer *w = arg;

	if (b->node != HL_NODE_NONE)
		w->needed[b->node] = 1;
	if (b->free_node != HL_NODE_NONE)
		w->needed[b->free_node] = 1;
	return 0;
}

/* Without recorded stacks of frees, only reallocs have them, and reallocs allocate too. So if all
 * blocks are selected, the answer already has these stacks. It has no blocks of a base. */
static bool may_miss_stacks(const struct writer *w)
{
	const struct hl_query *q = &w->x->query;

	return !q->pool &&
	       (hl_model_info(w->x->m)->meta.free_stacks || q->filter || q->suppressions ||
		       q->quantity != HL_QUANTITY_ALLOCATED || q->from.kind != HL_TIME_SPEC_NS ||
		       q->from.ns > 0 || q->to.kind != HL_TIME_SPEC_END ||
		       hl_model_base(w->x->m)->is_late);
}

/* Blocks of pools have no mappings. */
static bool has_mmaps(const struct writer *w)
{
	return hl_model_info(w->x->m)->meta.record_mmap && !w->x->query.pool;
}

/* Marks the stacks of allocations, frees and mappings, and all their callers. */
static int find_needed(struct writer *w, const struct hl_answer *a)
{
	struct hl_mappings maps = {
		.filter = w->x->query.filter, .on_mapping = mark_mapping_stacks, .arg = w};
	struct hl_lifetimes lifetimes = {.block = mark_block_stacks, .arg = w};
	int err;

	w->needed = hl_export_mark_needed_nodes(w->x->m, a);
	if (!w->needed)
		return -ENOMEM;
	err = may_miss_stacks(w) ? hl_export_lifetimes(w->x, &lifetimes) : 0;
	if (!err && has_mmaps(w))
		err = hl_model_mappings(w->x->m, &maps);
	for (uint32_t i = a->n_keys; i-- > 0;) {
		uint32_t parent = w->needed[i] ? hl_model_parent(w->x->m, i) : HL_NODE_NONE;

		if (parent != HL_NODE_NONE)
			w->needed[parent] = 1;
	}
	return err;
}

static int put_stacks(struct writer *w, const struct hl_answer *a)
{
	int err = find_needed(w, a);

	hl_json_key(&w->j, "stacks");
	hl_json_begin_array(&w->j);
	for (uint32_t i = 0; i < a->n_keys && !err; i++) {
		if (w->needed[i])
			err = put_stack(w, i);
	}
	hl_json_end_array(&w->j);
	return err;
}

static void put_frames(struct writer *w)
{
	hl_json_key(&w->j, "frames");
	hl_json_begin_array(&w->j);
	for (size_t i = 0; i < w->frames.list.len; i++) {
		const struct hl_frame *f = hl_model_frame(w->x->m, w->frames.list.data[i]);

		fputs("\n", w->x->out);
		hl_json_begin_object(&w->j);
		hl_json_key_string(&w->j, "function", f->function);
		hl_json_key_string(&w->j, "file", f->file);
		hl_json_key_u64(&w->j, "line", f->line);
		hl_json_key_string(&w->j, "module", f->module);
		hl_json_end_object(&w->j);
	}
	hl_json_end_array(&w->j);
}

static void put_number(struct hl_line *l, const char *key, uint64_t v, bool known)
{
	hl_line_str(l, key);
	if (known)
		hl_line_u64(l, v);
	else
		hl_line_str(l, "null");
}

static void put_chain(struct hl_line *l, const struct writer *w, const struct hl_block *b)
{
	struct hl_chain c = hl_chain_of(w->x->m, b);

	put_number(l, ",\"chain_length\":", c.length, w->chains);
	put_number(l, ",\"chain_position\":", c.position, w->chains);
	put_number(l, ",\"chain_first_size\":", c.first_size, w->chains);
	put_number(l, ",\"chain_last_size\":", c.last_size, w->chains);
	put_number(l, ",\"chain_lifetime_ns\":", c.free_ns - c.alloc_ns,
		w->chains && c.free_ns != UINT64_MAX);
}

static int put_block(void *arg, const struct hl_block *b)
{
	struct writer *w = arg;
	const char *call = hl_export_call(b);
	bool freed = b->free_ns != UINT64_MAX;
	struct hl_line l;

	l.len = 0;
	hl_line_str(&l, w->comma ? ",\n" : "\n");
	w->comma = true;
	put_number(&l, "{\"id\":", hl_export_id(w->x->m, b), true);
	put_number(&l, ",\"stack\":", b->node, b->node != HL_NODE_NONE);
	put_number(&l, ",\"thread\":", b->thread, true);
	put_number(&l, ",\"tag\":", b->tag, b->tag != HL_TAG_NONE);
	put_number(&l, ",\"pool\":", b->pool, b->pool != UINT32_MAX);
	hl_line_str(&l, call ? ",\"call\":\"" : ",\"call\":null");
	hl_line_str(&l, call ? call : "");
	put_number(&l, call ? "\",\"size\":" : ",\"size\":", b->size, true);
	hl_line_str(&l, ",\"address\":\"0x");
	hl_line_hex(&l, b->addr);
	put_number(&l, "\",\"allocated_ns\":", b->alloc_ns, true);
	put_number(&l, ",\"freed_ns\":", b->free_ns, freed);
	put_number(&l, ",\"freed_by\":", b->free_thread, freed);
	put_number(&l, ",\"freed_stack\":", b->free_node, freed && b->free_node != HL_NODE_NONE);
	put_number(&l, ",\"blocks\":", b->blocks, true);
	put_number(&l, ",\"bytes\":", b->bytes, true);
	put_chain(&l, w, b);
	hl_line_str(&l, "}");
	hl_line_write(&l, w->x->out);
	return ferror_unlocked(w->x->out) ? -EIO : 0;
}

/* Writes the sums of aggregated blocks, by stack. */
static void put_aggregated(struct writer *w, const struct hl_aggregated *aggregated)
{
	hl_json_key(&w->j, "sums");
	hl_json_begin_array(&w->j);
	for (size_t i = 0; i < aggregated->n; i++) {
		const struct hl_aggregated_row *r = &aggregated->rows[i];

		fputs("\n", w->x->out);
		hl_json_begin_object(&w->j);
		put_id(&w->j, "stack", r->node, HL_NODE_NONE);
		hl_json_key_u64(&w->j, "blocks", r->allocated.blocks);
		hl_json_key_u64(&w->j, "bytes", r->allocated.bytes);
		hl_json_key_u64(&w->j, "freed_blocks", r->allocated.blocks - r->live_at_end.blocks);
		hl_json_key_u64(&w->j, "freed_bytes", r->allocated.bytes - r->live_at_end.bytes);
		hl_json_end_object(&w->j);
	}
	hl_json_end_array(&w->j);
}

/* Writes what the suppressions left out of the allocations. */
static void put_suppressed(struct writer *w, const struct hl_suppressions *s)
{
	const struct hl_suppressed *taken = NULL;
	size_t n = 0;

	if (s)
		taken = hl_suppressions_counts(s, &n);
	hl_json_key(&w->j, "suppressed");
	hl_json_begin_array(&w->j);
	for (size_t i = 0; i < n; i++) {
		if (taken[i].value.blocks == 0)
			continue;
		hl_json_begin_object(&w->j);
		hl_json_key_string(&w->j, "pattern", taken[i].pattern);
		hl_json_key_u64(&w->j, "bytes", taken[i].value.bytes);
		hl_json_key_u64(&w->j, "blocks", taken[i].value.blocks);
		hl_json_end_object(&w->j);
	}
	hl_json_end_array(&w->j);
}

static void put_address(struct hl_json *j, const char *key, uint64_t v)
{
	struct hl_line l = {.text = "0x", .len = 2};

	hl_line_hex(&l, v);
	hl_line_put(&l, "", 1);
	hl_json_key_string(j, key, l.text);
}

static int put_mapping(void *arg, const struct hl_mapping *map)
{
	struct writer *w = arg;
	struct hl_json *j = &w->j;
	bool ended = map->unmapped_ns != UINT64_MAX;
	struct hl_mapping_text words;

	hl_mapping_text_init(&words, map);
	fputs("\n", w->x->out);
	hl_json_begin_object(j);
	hl_json_key_u64(j, "id", map->id);
	put_id(j, "stack", map->node, HL_NODE_NONE);
	hl_json_key_u64(j, "thread", map->thread);
	put_address(j, "address", map->addr);
	hl_json_key_u64(j, "size", map->size);
	hl_json_key_string(j, "protection", words.prot);
	hl_json_key_string(j, "flags", words.flags);
	hl_json_key_u64(j, "mapped_ns", map->mapped_ns);
	hl_json_key(j, "unmapped_ns");
	if (ended)
		hl_json_u64(j, map->unmapped_ns);
	else
		hl_json_string(j, NULL);
	put_id(j, "unmapped_by", ended ? map->end_thread : UINT32_MAX, UINT32_MAX);
	put_id(j, "unmap_stack", map->end_node, HL_NODE_NONE);
	hl_json_key_u64(j, "left_bytes", map->mapped_bytes);
	hl_json_key_u64(
		j, "partial_unmaps", map->partial_unmaps - (ended && map->partial_unmaps > 0));
	hl_json_key_u64(j, "remaps", map->remaps);
	put_address(j, "last_address", map->last_addr);
	hl_json_key_u64(j, "last_size", map->last_size);
	hl_json_key_bool(j, "replaced", map->replaced);
	hl_json_end_object(j);
	hl_mapping_text_fini(&words);
	return ferror_unlocked(w->x->out) ? -EIO : 0;
}

static int put_mmaps(struct writer *w)
{
	struct hl_mappings maps = {
		.filter = w->x->query.filter, .on_mapping = put_mapping, .arg = w};
	int err = 0;

	hl_json_key(&w->j, "mmaps");
	if (!has_mmaps(w)) {
		hl_json_string(&w->j, NULL);
		return 0;
	}
	hl_json_begin_array(&w->j);
	err = hl_model_mappings(w->x->m, &maps);
	hl_json_end_array(&w->j);
	return err;
}

static int put_allocations(struct writer *w)
{
	struct hl_lifetimes l = {.block = put_block, .arg = w};
	int err;

	w->chains = hl_export_chains(w->x);
	hl_json_key(&w->j, "allocations");
	hl_json_begin_array(&w->j);
	err = hl_export_lifetimes(w->x, &l);
	hl_json_end_array(&w->j);
	if (!err && w->x->aggregated) {
		put_aggregated(w, w->x->aggregated);
		hl_value_add(&l.allocated, &w->x->aggregated->allocated);
	}
	hl_json_key_u64(&w->j, "total_bytes", l.allocated.bytes);
	hl_json_key_u64(&w->j, "total_blocks", l.allocated.blocks);
	put_suppressed(w, w->x->query.suppressions);
	hl_json_key_u64(&w->j, "end_ns", l.end_ns);
	/* Written last, because lost parts are found only while reading. */
	hl_json_key_bool(&w->j, "complete", hl_model_is_complete(w->x->m) && !l.before_damage);
	return err;
}

int hl_export_json(struct hl_export_job *x)
{
	struct writer w = {.x = x};
	struct hl_answer a;
	int err = hl_export_query(x, HL_KEY_STACK, &a);

	if (!err)
		err = hl_model_find_wrappers(x->m); /* before a scan that finds sites */
	if (x->process)
		fputs(x->is_first ? "{\"schema\": 1, \"processes\": [\n" : ",\n", x->out);
	hl_json_init(&w.j, x->out);
	hl_json_begin_object(&w.j);
	if (!err) {
		put_header(&w, &a);
		err = put_threads(&w);
	}
	if (!err) {
		put_tags(&w);
		err = put_modules(&w);
	}
	if (!err)
		err = put_marks(&w);
	if (!err)
		err = put_stacks(&w, &a);
	if (!err) {
		put_frames(&w);
		err = put_mmaps(&w);
	}
	if (!err)
		err = put_allocations(&w);
	hl_json_end_object(&w.j);
	fputs(x->process && x->is_last ? "\n]}\n" : "\n", x->out);
	hl_export_frames_fini(&w.frames);
	free(w.needed);
	hl_answer_fini(&a);
	return err;
}
