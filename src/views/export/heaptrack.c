/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heaptrack.c - recordings in the format of heaptrack, version 3: lines of hexadecimal numbers.
 *
 * Strings, addresses (i), stacks (t) and pairs of size and stack (a, called a kind here) are
 * numbered in the order of their lines and written before they are used. The readers of heaptrack
 * have these properties:
 *
 * They detect a temporary allocation by an allocation and a free of the same kind in two
 * consecutive lines. So if a block is freed right after the allocation of another block of its
 * kind, that allocation uses a second number of the kind. An allocation is written only when the
 * event after it is known.
 *
 * heaptrack_gui writes out of bounds unless the first allocations of all kinds are in the order of
 * their numbers, from 0 and without a gap. So no number is created for frees only. As a
 * consequence, if a filter removes the events between the allocation and the free of the only block
 * of a kind, the readers call the block temporary.
 *
 * They use kind 0 for "no allocation", so a free of kind 0 after another free counts as temporary.
 * Only the first block of all has kind 0. If it is the only block of its kind, its free is held
 * back until it can follow an allocation, at the latest until the end.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "util/pair_map.h"
#include "util/string_table.h"
#include "util/safe_text.h"
#include "util/vec.h"
#include "views/export/export_internal.h"

#define NS_PER_MS UINT64_C(1000000)
#define PAGE      4096
#define SECOND_ID (UINT64_C(1) << 32) /* in keys of kinds: the second number of a kind */

struct writer {
	struct hl_export_job *x;
	struct hl_lifetimes lifetimes;
	struct hl_string_table strings;
	struct hl_pair_map addresses; /* (module, offset) -> number of its i line */
	struct hl_pair_map kinds;     /* (size, node) -> number of its a line */
	uint32_t *stacks; /* number of the t line of each node; 0: none yet. The last entry is for
			     no stack */
	uint32_t n_addresses, n_stacks, n_kinds;
	HL_VEC(uint32_t) path;
	struct hl_event pending; /* an allocation that is not written yet, if is_pending is set */
	bool is_pending;
	bool is_held;        /* the free of the only block of kind 0 is held back */
	uint32_t last_kind;  /* kind of the previous line if that was an allocation, else 0, as
				readers do */
	uint64_t first_size; /* size and stack of the first block */
	uint32_t first_stack;
	uint64_t live, peak; /* bytes as readers count them */
	uint64_t ms;
	struct hl_rss_sample *rss;
	size_t n_rss, next_rss;
};

/* --- names --- */

/* Returns the number of a string, from 1; 0 for none. */
static int intern_string(struct writer *w, const char *s, uint32_t *id)
{
	size_t known = w->strings.len;
	struct hl_strbuf safe = {0};
	int err;

	*id = 0;
	if (!s || !s[0])
		return 0;
	hl_text_escape(&safe, s);
	err = hl_strbuf_error(&safe);
	if (!err)
		err = hl_string_table_add(&w->strings, hl_strbuf_str(&safe), id);
	if (!err && w->strings.len > known)
		fprintf(w->x->out, "s %zx %s\n", safe.len, hl_strbuf_str(&safe));
	hl_strbuf_fini(&safe);
	*id += 1;
	return err;
}

struct names {
	uint32_t function, file, line;
};

/* A function without a symbol is named by its offset in the file: heaptrack would show a run-time
 * address, which does not exist here. */
static int find_names(struct writer *w, const struct hl_frame *f, struct names *n)
{
	int err;

	*n = (struct names){.line = f->line};
	err = intern_string(w, f->function, &n->function);
	return err ? err : intern_string(w, f->file, &n->file);
}

/* Writes one address with all calls that are inlined there, innermost first. */
static int put_address(struct writer *w, uint32_t node, uint64_t address)
{
	const struct hl_frame_ref *refs;
	HL_VEC(struct names) names = {0};
	uint32_t module = 0;
	size_t n = 0;
	int err = hl_model_node_frames(w->x->m, node, &refs, &n);

	if (!err && n > 0)
		err = intern_string(w, hl_model_frame(w->x->m, refs[0].frame)->module, &module);
	for (size_t i = n; i-- > 0 && !err;) {
		struct names entry;

		err = find_names(w, hl_model_frame(w->x->m, refs[i].frame), &entry);
		if (!err)
			err = hl_vec_push(&names, entry);
	}
	if (!err) {
		fprintf(w->x->out, "i %" PRIx64 " %" PRIx32, address, module);
		for (size_t i = 0; i < names.len && names.data[0].function; i++)
			fprintf(w->x->out, " %" PRIx32 " %" PRIx32 " %" PRIx32,
				names.data[i].function, names.data[i].file, names.data[i].line);
		fputs("\n", w->x->out);
		w->n_addresses++;
	}
	hl_vec_free(&names);
	return err;
}

static int find_address(struct writer *w, uint32_t node, uint32_t *number)
{
	uint64_t key = UINT64_MAX, address = 0;
	struct hl_node def = {0};
	int err = 0;

	if (node != HL_NODE_NONE && hl_reader_node(hl_model_reader(w->x->m), node, &def) == 0) {
		key = def.module;
		address = hl_export_address(w->x->m, node);
	} else {
		def.offset = node; /* node not known, or no stack: a separate entry for each */
	}
	*number = hl_pair_map_get(&w->addresses, key, def.offset);
	if (*number != HL_PAIR_MAP_NONE)
		return 0;
	err = put_address(w, node, address);
	*number = w->n_addresses;
	return err ? err : hl_pair_map_put(&w->addresses, key, def.offset, *number);
}

/* --- stacks --- */

static uint32_t *stack_at(struct writer *w, uint32_t node)
{
	return &w->stacks[node == HL_NODE_NONE ? hl_model_n_nodes(w->x->m) : node];
}

/* Callers are written first. The loop is iterative because a stack may have a million frames. */
static int put_stack(struct writer *w, uint32_t node)
{
	uint32_t parent = 0, at = node;
	int err = 0;

	w->path.len = 0;
	do {
		err = hl_vec_push(&w->path, at);
		at = at == HL_NODE_NONE ? HL_NODE_NONE : hl_model_parent(w->x->m, at);
	} while (!err && at != HL_NODE_NONE && !*stack_at(w, at));
	if (at != HL_NODE_NONE)
		parent = *stack_at(w, at);
	while (w->path.len > 0 && !err) {
		uint32_t number;

		at = w->path.data[--w->path.len];
		err = find_address(w, at, &number);
		if (err)
			break;
		fprintf(w->x->out, "t %" PRIx32 " %" PRIx32 "\n", number, parent);
		parent = *stack_at(w, at) = ++w->n_stacks;
	}
	return err;
}

/* id_bit: 0 or SECOND_ID. */
static uint32_t lookup_kind(const struct writer *w, const struct hl_event *e, uint64_t id_bit)
{
	return hl_pair_map_get(&w->kinds, e->size, e->node | id_bit);
}

static int find_kind(struct writer *w, const struct hl_event *e, uint64_t id_bit, uint32_t *kind)
{
	int err = 0;

	*kind = lookup_kind(w, e, id_bit);
	if (*kind != HL_PAIR_MAP_NONE)
		return 0;
	if (!*stack_at(w, e->node))
		err = put_stack(w, e->node);
	if (err)
		return err;
	fprintf(w->x->out, "a %" PRIx64 " %" PRIx32 "\n", e->size, *stack_at(w, e->node));
	*kind = w->n_kinds++;
	return hl_pair_map_put(&w->kinds, e->size, e->node | id_bit, *kind);
}

/* --- events --- */

static void put_ms(struct writer *w, uint64_t ms)
{
	if (ms <= w->ms)
		return;
	w->ms = ms;
	fprintf(w->x->out, "c %" PRIx64 "\n", ms);
}

static void put_time(struct writer *w, uint64_t ns)
{
	while (w->next_rss < w->n_rss && w->rss[w->next_rss].time_ns <= ns) {
		const struct hl_rss_sample *s = &w->rss[w->next_rss++];

		put_ms(w, s->time_ns / NS_PER_MS);
		fprintf(w->x->out, "R %" PRIx64 "\n", s->rss_bytes / PAGE);
	}
	put_ms(w, ns / NS_PER_MS);
}

static void put_line(struct writer *w, const char *op, uint32_t kind)
{
	struct hl_line line;

	line.len = 0;
	hl_line_put(&line, op, 2);
	hl_line_hex(&line, kind);
	hl_line_put(&line, "\n", 1);
	hl_line_write(&line, w->x->out);
	w->last_kind = op[0] == '+' ? kind : 0;
}

static void put_event_time(struct writer *w, const struct hl_event *e)
{
	if (e->time_ns / NS_PER_MS > w->ms ||
		(w->next_rss < w->n_rss && w->rss[w->next_rss].time_ns <= e->time_ns))
		put_time(w, e->time_ns);
}

static void put_held(struct writer *w, uint32_t kind)
{
	put_line(w, "- ", kind);
	w->live -= w->first_size;
	w->is_held = false;
}

enum follower { OTHER, SAME_BLOCK, SAME_KIND };

static int put_pending(struct writer *w, enum follower next)
{
	const struct hl_event *e = &w->pending;
	uint32_t known = lookup_kind(w, e, 0), kind;
	int err;

	if (!w->is_pending)
		return 0;
	w->is_pending = false;
	if (known != HL_PAIR_MAP_NONE && (known == 0 || next == SAME_KIND))
		err = find_kind(w, e, SECOND_ID, &kind);
	else
		err = find_kind(w, e, 0, &kind);
	if (err)
		return err;
	put_event_time(w, e);
	if (kind == 0) {
		w->first_size = e->size;
		w->first_stack = *stack_at(w, e->node);
	}
	w->live += e->size;
	/* A correct peak is worth one temporary block too many. */
	if (w->is_held && w->live > w->peak)
		put_held(w, 0);
	if (w->live > w->peak)
		w->peak = w->live;
	put_line(w, "+ ", kind);
	if (w->is_held && next == OTHER)
		put_held(w, 0);
	return 0;
}

static int put_free(struct writer *w, const struct hl_event *e, enum follower relation)
{
	uint32_t kind, second = lookup_kind(w, e, SECOND_ID);
	int err = find_kind(w, e, 0, &kind);

	if (err)
		return err;
	put_event_time(w, e);
	if (relation == SAME_BLOCK)
		kind = second != HL_PAIR_MAP_NONE && w->last_kind == second ? second : kind;
	else if (kind == w->last_kind && second != HL_PAIR_MAP_NONE)
		kind = second;
	else if (kind == 0 && w->last_kind == 0) {
		w->is_held = true;
		return 0;
	}
	w->live -= e->size;
	put_line(w, "- ", kind);
	return 0;
}

static int put_event(void *arg, const struct hl_event *e)
{
	struct writer *w = arg;
	enum follower next = OTHER;
	int err;

	if (w->is_pending && e->op != HL_OP_ALLOC && e->size == w->pending.size &&
		e->node == w->pending.node)
		next = w->lifetimes.last_alloc == e->ordinal && !(e->flags & HL_EVENT_SPLIT)
			       ? SAME_BLOCK
			       : SAME_KIND;
	err = put_pending(w, next);
	if (!err && e->op == HL_OP_ALLOC) {
		w->pending = *e;
		w->is_pending = true;
	} else if (!err) {
		err = put_free(w, e, next);
	}
	return err ? err : ferror_unlocked(w->x->out) ? -EIO : 0;
}

/* No allocation follows, so a number for a free only can be created now. */
static int put_end(struct writer *w)
{
	int err = put_pending(w, OTHER);

	if (!err && w->is_held) {
		fprintf(w->x->out, "a %" PRIx64 " %" PRIx32 "\n", w->first_size, w->first_stack);
		put_held(w, w->n_kinds);
	}
	if (!err)
		put_time(w, w->lifetimes.end_ns);
	return err;
}

static void put_header(struct writer *w)
{
	struct hl_strbuf command = {0};

	hl_export_command(&command, &hl_model_info(w->x->m)->meta);
	fprintf(w->x->out, "v 10400 3\nX %s\nI %x 0\n", hl_strbuf_str(&command), PAGE);
	hl_strbuf_fini(&command);
}

int hl_export_heaptrack(struct hl_export_job *x)
{
	struct writer w = {.x = x};
	int err;

	w.lifetimes = (struct hl_lifetimes){
		.want = HL_WANT_TIME | HL_WANT_OTHERS, .event = put_event, .arg = &w};
	w.stacks = calloc((size_t)hl_model_n_nodes(x->m) + 1, sizeof(*w.stacks));
	err = w.stacks ? hl_reader_rss(hl_model_reader(x->m), &w.rss, &w.n_rss) : -ENOMEM;
	if (!err) {
		put_header(&w);
		err = hl_export_lifetimes(x, &w.lifetimes);
	}
	if (!err)
		err = put_end(&w);
	hl_string_table_fini(&w.strings);
	hl_pair_map_fini(&w.addresses);
	hl_pair_map_fini(&w.kinds);
	hl_vec_free(&w.path);
	free(w.stacks);
	free(w.rss);
	return err;
}
