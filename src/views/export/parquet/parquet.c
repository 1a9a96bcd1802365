/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet.c - allocations, stacks and frames as Parquet tables: docs/export-parquet.md.
 *
 * A Parquet file has one table, so there are up to three files. The stacks table has the stacks of
 * all exported allocations, the frames table the frames of these stacks. Both are known only after
 * all allocations have been read, so these are read even if they are not written.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model/scan/realloc_chains.h"
#include "model/tags/roles.h"
#include "model/stack/stack_rules.h"
#include "views/export/export_internal.h"
#include "views/export/parquet/parquet_file.h"

const char *const hl_export_parquet_tables[] = {"allocations", "stacks", "frames", NULL};
enum { ALLOCATIONS, STACKS, FRAMES };

enum {
	A_ID,
	A_STACK,
	A_THREAD,
	A_CALL,
	A_SIZE,
	A_ADDRESS,
	A_ALLOCATED,
	A_FREED,
	A_FREED_BY,
	A_FREED_BEFORE,
	A_BLOCKS,
	A_BYTES,
	A_THREAD_NAME,
	A_TAG,
	A_POOL,
	A_FUNCTION,
	A_FILE,
	A_LINE,
	A_MODULE,
	A_FREED_STACK,
	A_CHAIN_LENGTH,
	A_CHAIN_POSITION,
	A_CHAIN_FIRST,
	A_CHAIN_LAST,
	A_CHAIN_LIFE,
	A_COUNT
};
static const struct hl_parquet_column allocation_columns[A_COUNT] = {
	[A_ID] = {"id", HL_PARQUET_I64, .increasing = true},
	[A_STACK] = {"stack", HL_PARQUET_I32, .optional = true},
	[A_THREAD] = {"thread", HL_PARQUET_I32},
	[A_CALL] = {"call", HL_PARQUET_TEXT, .optional = true},
	[A_SIZE] = {"size", HL_PARQUET_I64},
	[A_ADDRESS] = {"address", HL_PARQUET_I64},
	[A_ALLOCATED] = {"allocated_ns", HL_PARQUET_I64, .increasing = true},
	[A_FREED] = {"freed_ns", HL_PARQUET_I64, .optional = true, .increasing = true},
	[A_FREED_BY] = {"freed_by", HL_PARQUET_I32, .optional = true},
	[A_FREED_BEFORE] = {"freed_before", HL_PARQUET_I64, .optional = true, .increasing = true},
	[A_BLOCKS] = {"blocks", HL_PARQUET_I64},
	[A_BYTES] = {"bytes", HL_PARQUET_I64},
	[A_THREAD_NAME] = {"thread_name", HL_PARQUET_TEXT, .optional = true},
	[A_TAG] = {"tag", HL_PARQUET_TEXT, .optional = true},
	[A_POOL] = {"pool", HL_PARQUET_TEXT, .optional = true},
	[A_FUNCTION] = {"function", HL_PARQUET_TEXT},
	[A_FILE] = {"file", HL_PARQUET_TEXT, .optional = true},
	[A_LINE] = {"line", HL_PARQUET_I32, .optional = true},
	[A_MODULE] = {"module", HL_PARQUET_TEXT, .optional = true},
	[A_FREED_STACK] = {"freed_stack", HL_PARQUET_I32, .optional = true},
	[A_CHAIN_LENGTH] = {"chain_length", HL_PARQUET_I32, .optional = true},
	[A_CHAIN_POSITION] = {"chain_position", HL_PARQUET_I32, .optional = true},
	[A_CHAIN_FIRST] = {"chain_first_size", HL_PARQUET_I64, .optional = true},
	[A_CHAIN_LAST] = {"chain_last_size", HL_PARQUET_I64, .optional = true},
	[A_CHAIN_LIFE] = {"chain_lifetime_ns", HL_PARQUET_I64, .optional = true},
};

enum { S_STACK, S_DEPTH, S_FRAME, S_INLINED, S_COUNT };
static const struct hl_parquet_column stack_columns[S_COUNT] = {
	[S_STACK] = {"stack", HL_PARQUET_I32},
	[S_DEPTH] = {"depth", HL_PARQUET_I32},
	[S_FRAME] = {"frame", HL_PARQUET_I32},
	[S_INLINED] = {"inlined", HL_PARQUET_BOOL},
};

enum { F_FRAME, F_FUNCTION, F_FILE, F_LINE, F_MODULE, F_COUNT };
static const struct hl_parquet_column frame_columns[F_COUNT] = {
	[F_FRAME] = {"frame", HL_PARQUET_I32},
	[F_FUNCTION] = {"function", HL_PARQUET_TEXT},
	[F_FILE] = {"file", HL_PARQUET_TEXT, .optional = true},
	[F_LINE] = {"line", HL_PARQUET_I32, .optional = true},
	[F_MODULE] = {"module", HL_PARQUET_TEXT, .optional = true},
};

/* The site of a stack, as column values. */
struct site {
	bool is_built;
	uint32_t line;
	int64_t function, file, module;
};

/* A frame of a node, for all stacks through it. */
struct node_frame {
	uint32_t frame;
	bool inlined;
};

struct writer {
	struct hl_export_job *x;
	struct hl_parquet *tables[HL_EXPORT_TABLES]; /* NULL: not wanted */
	struct site *sites;                          /* per node, and one for no stack */
	int64_t calls[HL_FUNC_COUNT];
	HL_VEC(int64_t) threads, tags, pools; /* names, by number */
	bool chains;                          /* realloc chains are known */
	uint64_t next_ordinal;                /* ordinal after the newest allocation read so far */
	uint8_t *seen; /* per node: bit 0: an allocation or free has this stack; bit 1: it is a
			  caller in such a stack */
	uint32_t n_nodes;
	HL_VEC(struct node_frame) node_frames; /* outermost first */
	uint32_t *first_frame; /* per node, and one more: index of its first entry in node_frames */
	struct hl_export_frames frames;
};

/* --- allocations --- */

static int fill_site(struct hl_parquet *p, const struct hl_frame *f, struct site *s)
{
	int err = hl_parquet_text(p, f->function, &s->function);

	if (!err)
		err = hl_parquet_text(p, f->file, &s->file);
	if (!err)
		err = hl_parquet_text(p, f->module, &s->module);
	s->line = f->line;
	s->is_built = !err;
	return err;
}

static int build_site(struct writer *w, uint32_t node, struct site *s)
{
	uint32_t frame;
	int err = hl_model_find_site(w->x->m, node, &frame);

	if (err)
		return err;
	return fill_site(w->tables[ALLOCATIONS], hl_model_frame(w->x->m, frame), s);
}

/* Only a malformed trace can have values this large. */
static int64_t clamp(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static int64_t value_or_null(uint64_t v, bool is_known)
{
	return is_known ? clamp(v) : HL_PARQUET_NULL;
}

static int64_t name_or_null(const int64_t *names, size_t n, uint32_t i)
{
	return i < n ? names[i] : HL_PARQUET_NULL;
}

/* Times may be equal and then do not give the order of events; the ordinal does. */
static int count_event(void *arg, const struct hl_event *e)
{
	struct writer *w = arg;

	if (e->op == HL_OP_ALLOC && !w->x->query.pool)
		w->next_ordinal = hl_reader_run_ordinal(hl_model_reader(w->x->m), e->ordinal) + 1;
	else if (e->op == HL_OP_ALLOC)
		w->next_ordinal = e->ordinal + 1;
	return 0;
}

static int put_block(void *arg, const struct hl_block *b)
{
	struct writer *w = arg;
	bool freed = b->free_ns != UINT64_MAX, stack = b->node != HL_NODE_NONE;
	struct site *s = &w->sites[stack ? b->node : w->n_nodes];
	struct hl_chain c = hl_chain_of(w->x->m, b);
	int err = 0;

	if (stack)
		w->seen[b->node] = 1;
	if (freed && b->free_node != HL_NODE_NONE)
		w->seen[b->free_node] = 1;
	if (!w->tables[ALLOCATIONS])
		return 0;
	if (!s->is_built)
		err = build_site(w, b->node, s);
	if (err)
		return err;
	return hl_parquet_row(w->tables[ALLOCATIONS],
		(const int64_t[A_COUNT]){
			[A_ID] = (int64_t)hl_export_id(w->x->m, b),
			[A_STACK] = value_or_null(b->node, stack),
			[A_THREAD] = b->thread,
			[A_CALL] = hl_export_call(b) ? w->calls[b->func] : HL_PARQUET_NULL,
			[A_SIZE] = clamp(b->size),
			[A_ADDRESS] = (int64_t)b->addr,
			[A_ALLOCATED] = clamp(b->alloc_ns),
			[A_FREED] = value_or_null(b->free_ns, freed),
			[A_FREED_BY] = value_or_null(b->free_thread, freed),
			[A_FREED_BEFORE] = value_or_null(w->next_ordinal, freed),
			[A_BLOCKS] = clamp(b->blocks),
			[A_BYTES] = clamp(b->bytes),
			[A_THREAD_NAME] = name_or_null(w->threads.data, w->threads.len, b->thread),
			[A_TAG] = name_or_null(w->tags.data, w->tags.len, b->tag),
			[A_POOL] = name_or_null(w->pools.data, w->pools.len, b->pool),
			[A_FUNCTION] = s->function,
			[A_FILE] = s->file,
			[A_LINE] = value_or_null(s->line, s->line > 0),
			[A_MODULE] = s->module,
			[A_FREED_STACK] =
				value_or_null(b->free_node, freed && b->free_node != HL_NODE_NONE),
			[A_CHAIN_LENGTH] = value_or_null(c.length, w->chains),
			[A_CHAIN_POSITION] = value_or_null(c.position, w->chains),
			[A_CHAIN_FIRST] = value_or_null(c.first_size, w->chains),
			[A_CHAIN_LAST] = value_or_null(c.last_size, w->chains),
			[A_CHAIN_LIFE] = value_or_null(
				c.free_ns - c.alloc_ns, w->chains && c.free_ns != UINT64_MAX),
		});
}

/* An empty name is null. */
static int add_name(struct writer *w, const char *name, int64_t *to)
{
	return hl_parquet_text(w->tables[ALLOCATIONS], name && name[0] ? name : NULL, to);
}

static int add_tags(struct writer *w)
{
	struct hl_strbuf b = {0};
	int64_t name;
	int err = 0;

	for (uint32_t i = 0; i < hl_model_n_tags(w->x->m) && !err; i++) {
		hl_strbuf_reset(&b);
		hl_model_put_tag(w->x->m, i, &b);
		err = hl_strbuf_error(&b) ? -ENOMEM : add_name(w, hl_strbuf_str(&b), &name);
		if (!err)
			err = hl_vec_push(&w->tags, name);
	}
	hl_strbuf_fini(&b);
	return err;
}

static int add_names(struct writer *w)
{
	struct hl_model *m = w->x->m;
	uint32_t n_threads = 0;
	int64_t name;
	int err = hl_reader_n_threads(hl_model_reader(m), &n_threads);

	for (unsigned i = 0; i < HL_FUNC_COUNT && !err; i++)
		err = add_name(w, hl_called_function_name(i), &w->calls[i]);
	for (uint32_t i = 0; i < n_threads && !err; i++) {
		err = add_name(w, hl_model_thread_name(m, i), &name);
		if (!err)
			err = hl_vec_push(&w->threads, name);
	}
	for (uint32_t i = 0; i < hl_model_n_pools(m) && !err; i++) {
		err = add_name(w, hl_model_pool_name(m, i), &name);
		if (!err)
			err = hl_vec_push(&w->pools, name);
	}
	return err ? err : add_tags(w);
}

static int put_allocations(struct writer *w)
{
	struct hl_lifetimes l = {.event = count_event, .block = put_block, .arg = w};
	int err = w->tables[ALLOCATIONS] ? add_names(w) : 0;

	w->chains = !err && w->tables[ALLOCATIONS] && hl_export_chains(w->x);
	return err ? err : hl_export_lifetimes(w->x, &l);
}

/* --- stacks --- */

/* Marks the callers of all stacks. Callers have lower numbers. */
static void mark_callers(struct writer *w)
{
	for (uint32_t i = w->n_nodes; i-- > 0;) {
		uint32_t parent = w->seen[i] ? hl_model_parent(w->x->m, i) : HL_NODE_NONE;

		if (parent != HL_NODE_NONE)
			w->seen[parent] |= 2;
	}
}

static int collect_frames(struct writer *w, uint32_t node)
{
	const struct hl_frame_ref *refs;
	size_t n = 0;
	int err = hl_model_node_frames(w->x->m, node, &refs, &n);

	for (size_t i = 0; i < n && !err; i++) {
		struct node_frame s = {.inlined = refs[i].inlined};

		err = hl_export_frame_number(&w->frames, refs[i].frame, &s.frame);
		if (!err)
			err = hl_vec_push(&w->node_frames, s);
	}
	return err;
}

static int collect_all_frames(struct writer *w)
{
	int err = 0;

	mark_callers(w);
	w->first_frame = calloc((size_t)w->n_nodes + 1, sizeof(*w->first_frame));
	if (!w->first_frame)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->n_nodes && !err; i++) {
		w->first_frame[i] = (uint32_t)w->node_frames.len;
		if (w->seen[i])
			err = collect_frames(w, i);
	}
	w->first_frame[w->n_nodes] = (uint32_t)w->node_frames.len;
	return err;
}

/* Innermost frame first. */
static int put_stack(struct writer *w, uint32_t stack)
{
	int64_t row[S_COUNT] = {[S_STACK] = stack};
	int err = 0;

	for (uint32_t node = stack; node != HL_NODE_NONE && !err;
		node = hl_model_parent(w->x->m, node)) {
		for (uint32_t i = w->first_frame[node + 1]; i-- > w->first_frame[node] && !err;) {
			row[S_FRAME] = w->node_frames.data[i].frame;
			row[S_INLINED] = w->node_frames.data[i].inlined;
			err = hl_parquet_row(w->tables[STACKS], row);
			row[S_DEPTH]++;
		}
	}
	return err;
}

static int put_stacks(struct writer *w)
{
	int err = 0;

	for (uint32_t i = 0; i < w->n_nodes && !err; i++) {
		if (w->seen[i] & 1)
			err = put_stack(w, i);
	}
	return err;
}

/* --- frames --- */

static int put_frames(struct writer *w)
{
	struct hl_parquet *p = w->tables[FRAMES];
	int err = 0;

	for (size_t i = 0; i < w->frames.list.len && !err; i++) {
		struct site s;

		err = fill_site(p, hl_model_frame(w->x->m, w->frames.list.data[i]), &s);
		if (!err)
			err = hl_parquet_row(
				p, (const int64_t[F_COUNT]){
					   [F_FRAME] = (int64_t)i,
					   [F_FUNCTION] = s.function,
					   [F_FILE] = s.file,
					   [F_LINE] = value_or_null(s.line, s.line > 0),
					   [F_MODULE] = s.module,
				   });
	}
	return err;
}

/* --- files --- */

static void put_number_note(struct hl_parquet *p, const char *key, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	hl_parquet_add_metadata(p, key, text);
}

static void put_notes(struct hl_export_job *x, struct hl_parquet *p)
{
	const struct hl_meta *meta = &hl_model_info(x->m)->meta;
	struct hl_strbuf command = {0};

	hl_export_command(&command, meta);
	hl_parquet_add_metadata(p, "heaplapse.schema", "1");
	hl_parquet_add_metadata(p, "heaplapse.program", meta->program);
	hl_parquet_add_metadata(p, "heaplapse.command", hl_strbuf_str(&command));
	put_number_note(p, "heaplapse.pid", meta->pid);
	put_number_note(p, "heaplapse.start_unix_ns", meta->start_unix_ns);
	put_number_note(p, "heaplapse.duration_ns", hl_model_end_ns(x->m));
	hl_parquet_add_metadata(
		p, "heaplapse.complete", hl_model_is_complete(x->m) ? "true" : "false");
	put_number_note(p, "heaplapse.samples", hl_model_info(x->m)->totals.samples);
	hl_parquet_add_metadata(p, "heaplapse.quantity", hl_quantity_name(x->query.quantity));
	put_number_note(p, "heaplapse.end_ns", x->to_ns);
	hl_strbuf_fini(&command);
}

static int open_tables(struct writer *w)
{
	static const struct {
		const struct hl_parquet_column *columns;
		unsigned n;
	} tables[] = {
		{allocation_columns, A_COUNT}, {stack_columns, S_COUNT}, {frame_columns, F_COUNT}};

	for (unsigned i = 0; i < HL_EXPORT_TABLES; i++) {
		if (!w->x->tables[i])
			continue;
		w->tables[i] = hl_parquet_new(w->x->tables[i], tables[i].columns, tables[i].n);
		if (!w->tables[i])
			return -ENOMEM;
	}
	w->n_nodes = hl_model_n_nodes(w->x->m);
	w->sites = calloc((size_t)w->n_nodes + 1, sizeof(*w->sites));
	w->seen = calloc((size_t)w->n_nodes + 1, 1);
	return w->sites && w->seen ? 0 : -ENOMEM;
}

static int write_tables(struct writer *w)
{
	int err = put_allocations(w);

	if (!err && (w->tables[STACKS] || w->tables[FRAMES]))
		err = collect_all_frames(w);
	if (!err && w->tables[STACKS])
		err = put_stacks(w);
	if (!err && w->tables[FRAMES])
		err = put_frames(w);
	for (unsigned i = 0; i < HL_EXPORT_TABLES && !err; i++) {
		if (!w->tables[i])
			continue;
		put_notes(w->x, w->tables[i]);
		err = hl_parquet_finish(w->tables[i]);
	}
	return err;
}

int hl_export_parquet(struct hl_export_job *x)
{
	struct writer w = {.x = x};
	int err = open_tables(&w);

	if (!err)
		err = hl_model_find_wrappers(x->m); /* before a scan that finds sites */
	if (!err)
		err = write_tables(&w);
	for (unsigned i = 0; i < HL_EXPORT_TABLES; i++)
		hl_parquet_free(w.tables[i]);
	free(w.sites);
	free(w.seen);
	free(w.first_frame);
	hl_vec_free(&w.threads);
	hl_vec_free(&w.tags);
	hl_vec_free(&w.pools);
	hl_vec_free(&w.node_frames);
	hl_export_frames_fini(&w.frames);
	return err;
}
