/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof_import.c - heap profiles of pprof: profile.proto of github.com/google/pprof.
 *
 * A profile has sums for each stack: the allocated blocks, and those of them in use. Each sum
 * becomes one event that represents all its blocks. Freed blocks are allocated and freed first, in
 * pieces that are smaller than the bytes in use if possible: so live bytes have their maximum at
 * the end, which is the only moment that a profile knows. A profile has no order of events, and the
 * trace says so.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "import/pprof_import_internal.h"
#include "trace/totals.h"

#define DATA_MAX         (UINT64_C(1) << 30)
#define READ_SIZE        (UINT64_C(64) << 10)
#define SAMPLE_MAX       (UINT64_C(1) << 20)
#define PIECES_MAX       256u       /* limit for one sum */
#define PIECES_TOTAL_MAX (1u << 20) /* limit for all sums */

struct value {
	uint64_t blocks, bytes;
};

struct profile {
	struct pprof p;
	struct hl_pair_map nodes; /* (parent node + 1, location) -> node */
	uint32_t n_nodes, n_pieces;
	struct value allocated, live; /* totals */
	uint64_t n_inconsistent;      /* samples with contradictory values */
	uint64_t n_allocs, n_events;
	bool pending; /* `piece` is allocated and still has to be freed */
	struct hl_event piece;

	/* The current sample. */
	HL_VEC(uint64_t) stack, values;
	const uint8_t *at;
};

static int load_profile(struct pprof *p, const uint8_t *head, size_t n)
{
	size_t got = n;
	int err = hl_import_count_memory(p->im, n);

	if (!err && hl_vec_reserve(&p->data, READ_SIZE) < 0)
		err = -ENOMEM;
	if (!err)
		memcpy(p->data.data, head, n);
	p->data.len = n;
	while (!err && got > 0) {
		if (hl_vec_reserve(&p->data, p->data.len + READ_SIZE) < 0)
			return hl_import_fail(p->im, -ENOMEM, "out of memory");
		err = hl_import_input_read(&p->im->in, p->data.data + p->data.len, READ_SIZE, &got);
		if (err)
			return hl_import_input_failed(p->im, err);
		p->data.len += got;
		err = hl_import_tick(p->im);
		if (!err)
			err = hl_import_count_memory(p->im, 2 * got);
		if (!err && p->data.len > DATA_MAX)
			err = hl_import_fail(p->im, -EFBIG, "it is longer than 1 GiB");
	}
	if (!err && p->im->in.truncated)
		err = hl_import_fail(p->im, -EBADMSG,
			"it is truncated after %zu decompressed bytes", p->data.len);
	return err;
}

/* --- types of values --- */

static bool string_equals(const struct pprof *p, uint64_t string, const char *what)
{
	struct pprof_text s = hl_pprof_string(p, string);

	return s.len == strlen(what) && !memcmp(s.p, what, s.len);
}

static int find_values(struct pprof *p)
{
	/* Go's names, and the names of tcmalloc and jemalloc for memory in use. */
	static const struct {
		const char *name;
		enum pprof_value what;
	} known[] = {{"alloc_objects", PPROF_ALLOC_BLOCKS}, {"alloc_space", PPROF_ALLOC_BYTES},
		{"inuse_objects", PPROF_LIVE_BLOCKS}, {"inuse_space", PPROF_LIVE_BYTES},
		{"objects", PPROF_LIVE_BLOCKS}, {"space", PPROF_LIVE_BYTES}};
	struct pprof_text first = hl_pprof_string(p, p->types.len ? p->types.data[0] : 0);

	memset(p->value_at, 0xff, sizeof(p->value_at));
	for (uint32_t i = 0; i < p->types.len; i++)
		for (size_t k = 0; k < HL_ARRAY_LEN(known); k++) {
			bool bytes = known[k].what % 2;

			if (!string_equals(p, p->types.data[i], known[k].name))
				continue;
			if (!string_equals(p, p->units.data[i], bytes ? "bytes" : "count"))
				return hl_import_fail(p->im, -EBADMSG,
					"its %s is not in %s: convert it first", known[k].name,
					bytes ? "bytes" : "count");
			if (p->value_at[known[k].what] == UINT32_MAX)
				p->value_at[known[k].what] = i;
		}
	if (p->value_at[PPROF_ALLOC_BYTES] != UINT32_MAX ||
		p->value_at[PPROF_LIVE_BYTES] != UINT32_MAX)
		return 0;
	if (p->types.len == 0)
		return hl_import_fail(p->im, -EBADMSG,
			"it is neither a recording of heaptrack nor a profile of pprof");
	return hl_import_fail(p->im, -EBADMSG,
		"it is not a heap profile: its samples are \"%.*s\", but inuse_space, space or "
		"alloc_space is needed",
		(int)hl_min_u64(first.len, 60), first.p);
}

/* --- samples --- */

/* Appends a number, or several packed ones. */
static int append_numbers(struct profile *s, const struct hl_pb_field *f, bool stack)
{
	struct hl_pb m = hl_pb_submessage(f);
	uint64_t v = f->v;
	int err = 0;

	do {
		if (f->is_bytes && (m.p == m.end || !hl_pb_get_varint(&m, &v)))
			break;
		err = stack ? hl_vec_push(&s->stack, v) : hl_vec_push(&s->values, v);
	} while (f->is_bytes && !err);
	if (err)
		return hl_import_fail(s->p.im, -ENOMEM, "out of memory");
	return f->is_bytes && m.bad ? hl_pprof_fail(&s->p, f->p, "no numbers") : 0;
}

static int read_sample(struct profile *s, const struct hl_pb_field *f)
{
	struct hl_pb m = hl_pb_submessage(f);
	struct hl_pb_field in;
	int err = 0;

	s->stack.len = s->values.len = 0;
	s->at = f->p;
	if (f->len > SAMPLE_MAX)
		return hl_pprof_fail(&s->p, f->p, "a sample longer than 1 MiB");
	while (!err && hl_pb_next(&m, &in))
		if (in.number == 1 || in.number == 2)
			err = append_numbers(s, &in, in.number == 1);
	if (!err && m.bad)
		err = hl_pprof_fail(&s->p, f->p, "no sample");
	if (!err && s->values.len != s->p.types.len)
		err = hl_pprof_fail(&s->p, f->p,
			"a sample whose number of values differs from the number of types");
	for (size_t i = 0; !err && i < s->values.len; i++)
		if (s->values.data[i] >> 63)
			err = hl_pprof_fail(&s->p, f->p,
				"a negative value: it is the difference of two profiles, which is "
				"not supported");
	return err;
}

static uint64_t get_value(const struct profile *s, enum pprof_value what, uint64_t fallback)
{
	uint32_t at = s->p.value_at[what];

	return at == UINT32_MAX ? fallback : s->values.data[at];
}

/* Computes the blocks in use and the freed blocks of the current sample. *inconsistent: its values
 * contradict each other. */
static void split_sample(
	const struct profile *s, struct value *live, struct value *freed, bool *inconsistent)
{
	bool has_live = s->p.value_at[PPROF_LIVE_BYTES] != UINT32_MAX;
	bool has_all = s->p.value_at[PPROF_ALLOC_BYTES] != UINT32_MAX;
	struct value all;

	live->bytes = get_value(s, PPROF_LIVE_BYTES, 0);
	live->blocks = has_live ? get_value(s, PPROF_LIVE_BLOCKS, live->bytes > 0) : 0;
	all.bytes = get_value(s, PPROF_ALLOC_BYTES, live->bytes);
	all.blocks = has_all ? get_value(s, PPROF_ALLOC_BLOCKS, all.bytes > 0) : live->blocks;
	*inconsistent = all.bytes < live->bytes || all.blocks < live->blocks;
	freed->bytes = all.bytes > live->bytes ? all.bytes - live->bytes : 0;
	freed->blocks = all.blocks > live->blocks ? all.blocks - live->blocks : 0;
	/* bytes without a block: an event represents at least one block */
	*inconsistent |= (live->bytes && !live->blocks) || (freed->bytes && !freed->blocks);
	live->blocks += live->bytes && !live->blocks;
	freed->blocks += freed->bytes && !freed->blocks;
}

static int add_to_totals(struct profile *s)
{
	struct value live, freed;
	bool inconsistent;

	split_sample(s, &live, &freed, &inconsistent);
	s->n_inconsistent += inconsistent;
	if (__builtin_add_overflow(s->live.bytes, live.bytes, &s->live.bytes) ||
		__builtin_add_overflow(s->allocated.bytes, live.bytes, &s->allocated.bytes) ||
		__builtin_add_overflow(s->allocated.bytes, freed.bytes, &s->allocated.bytes) ||
		__builtin_add_overflow(s->allocated.blocks, live.blocks, &s->allocated.blocks) ||
		__builtin_add_overflow(s->allocated.blocks, freed.blocks, &s->allocated.blocks))
		return hl_pprof_fail(&s->p, s->at, "its sums are beyond 64 bits");
	return 0;
}

/* --- stacks --- */

/* Memory of a node, including that in the writer. */
#define NODE_BYTES (2 * (3 * sizeof(struct hl_pair_map_slot) + sizeof(struct hl_node_totals)))

static int add_node(struct profile *s, uint32_t parent, uint32_t location, uint32_t *node)
{
	const struct pprof_location *at = &s->p.locations.data[location];
	struct hl_node def = {parent, at->module, at->offset};
	int err;

	*node = hl_pair_map_get(&s->nodes, (uint32_t)(parent + 1), location);
	if (*node != HL_PAIR_MAP_NONE)
		return 0;
	err = hl_import_count_memory(s->p.im, NODE_BYTES);
	if (err)
		return err;
	*node = s->n_nodes++;
	err = hl_writer_add_node(s->p.im->writer, &def);
	if (!err)
		err = hl_pair_map_put(&s->nodes, (uint32_t)(parent + 1), location, *node);
	return err ? hl_import_write_failed(s->p.im, err) : 0;
}

/* The stack has the innermost location first. */
static int make_node(struct profile *s, uint32_t *node)
{
	int err = 0;

	*node = HL_NODE_NONE;
	for (size_t i = s->stack.len; i-- > 0 && !err;) {
		uint32_t location = hl_pair_map_get(&s->p.location_ids, s->stack.data[i], 0);

		if (location == HL_PAIR_MAP_NONE)
			return hl_pprof_fail(&s->p, s->at, "a sample with an undefined location");
		err = add_node(s, *node, location, node);
	}
	return err;
}

/* --- events --- */

static int add_event(struct profile *s, const struct hl_event *e)
{
	int err = hl_writer_add_event(s->p.im->writer, e);

	s->n_events++;
	return err ? hl_import_write_failed(s->p.im, err) : 0;
}

static int add_alloc(struct profile *s, uint32_t node, const struct value *v, struct hl_event *e)
{
	*e = (struct hl_event){.size = v->bytes / v->blocks,
		.blocks = v->blocks,
		.bytes = v->bytes,
		.ordinal = s->n_allocs++,
		.node = node,
		.free_node = HL_NODE_NONE,
		.op = HL_OP_ALLOC,
		.func = HL_FUNC_UNKNOWN};
	return add_event(s, e);
}

static int free_pending(struct profile *s)
{
	int err = 0;

	if (s->pending) {
		s->piece.op = HL_OP_FREE;
		err = add_event(s, &s->piece);
	}
	s->pending = false;
	return err;
}

/* Each piece is freed after the next one is allocated; otherwise all would count as temporary. */
static int add_freed_pieces(struct profile *s)
{
	uint64_t room = hl_max_u64(s->live.bytes / 2, 1), n;
	struct value live, freed, piece;
	struct hl_event e;
	uint32_t node = 0;
	bool inconsistent;
	int err;

	split_sample(s, &live, &freed, &inconsistent);
	if (!freed.blocks)
		return 0;
	n = hl_min_u64(hl_min_u64(freed.bytes / room + 1, freed.blocks), PIECES_MAX);
	n = s->n_pieces + n > PIECES_TOTAL_MAX ? 1 : n;
	err = make_node(s, &node);
	for (uint64_t i = 0; i < n && !err; i++) {
		piece.blocks = freed.blocks / n + (i < freed.blocks % n);
		piece.bytes = freed.bytes / n + (i < freed.bytes % n);
		err = add_alloc(s, node, &piece, &e);
		if (!err)
			err = free_pending(s);
		s->piece = e;
		s->pending = true;
	}
	s->n_pieces += (uint32_t)n;
	return err;
}

static int add_live_blocks(struct profile *s)
{
	struct value live, freed;
	struct hl_event e;
	uint32_t node = 0;
	bool inconsistent;
	int err = free_pending(s);

	split_sample(s, &live, &freed, &inconsistent);
	if (!live.blocks || err)
		return err;
	err = make_node(s, &node);
	return err ? err : add_alloc(s, node, &live, &e);
}

static int for_each_sample(struct profile *s, int (*fn)(struct profile *s))
{
	struct hl_pb m = hl_pprof_message(&s->p);
	struct hl_pb_field f;
	int err = 0;

	while (!err && hl_pb_next(&m, &f)) {
		if (f.number != PPROF_SAMPLE)
			continue;
		err = read_sample(s, &f);
		if (!err)
			err = fn(s);
	}
	return err;
}

/* --- the import --- */

static int begin_trace(struct profile *s)
{
	struct pprof *p = &s->p;
	struct pprof_text program = hl_pprof_program(p);
	char path[4096];
	struct hl_meta meta = {.program = path,
		.arch = "",
		.clock = "none",
		.mode = "imported",
		.allocator = "",
		.start_unix_ns = p->time_ns,
		.source = p->im->result->source,
		.unknown = HL_UNKNOWN_ADDRESSES | HL_UNKNOWN_THREADS | HL_UNKNOWN_CALLS |
			   HL_UNKNOWN_TIMES | HL_UNKNOWN_LIFETIMES | HL_UNKNOWN_ORDER};

	snprintf(path, sizeof(path), "%.*s", (int)hl_min_u64(program.len, sizeof(path) - 1),
		program.p);
	if ((p->value_at[PPROF_LIVE_BYTES] != UINT32_MAX &&
		    p->value_at[PPROF_LIVE_BLOCKS] == UINT32_MAX) ||
		(p->value_at[PPROF_ALLOC_BYTES] != UINT32_MAX &&
			p->value_at[PPROF_ALLOC_BLOCKS] == UINT32_MAX))
		meta.unknown |= HL_UNKNOWN_COUNTS;
	if (p->period > 1 && !(p->period >> 63))
		snprintf(p->im->result->source, sizeof(p->im->result->source),
			"pprof heap profile, one sample in %" PRIu64 " bytes", p->period);
	else
		snprintf(
			p->im->result->source, sizeof(p->im->result->source), "pprof heap profile");
	return hl_import_open_writer(p->im, &meta);
}

static void set_notes(struct profile *s)
{
	struct hl_import_result *r = s->p.im->result;

	if (s->n_inconsistent)
		snprintf(r->notes, sizeof(r->notes),
			"%" PRIu64
			" of its samples have more in use than was allocated, or bytes without "
			"blocks; their values were raised to the minimum that is consistent",
			s->n_inconsistent);
	else if (s->p.value_at[PPROF_LIVE_BYTES] == UINT32_MAX)
		snprintf(r->notes, sizeof(r->notes),
			"it has no data about memory in use: all blocks count as freed");
	r->events = s->n_events;
}

static int finish_trace(struct profile *s)
{
	struct hl_end end = {.kind = HL_END_STOPPED, .duration_ns = s->p.duration_ns};
	struct hl_counters none = {0};
	int err = free_pending(s);

	if (err)
		return err;
	if (end.duration_ns >> 62)
		end.duration_ns = 0;
	set_notes(s);
	err = hl_writer_end(s->p.im->writer, &end, &none);
	return err ? hl_import_write_failed(s->p.im, err) : 0;
}

int hl_import_pprof(struct hl_import *im, const uint8_t *head, size_t n)
{
	struct profile s = {.p = {.im = im}};
	int err = load_profile(&s.p, head, n);

	if (!err && hl_pprof_read_tables(&s.p) < 0) {
		err = -EBADMSG;
		if (s.p.types.len == 0)
			hl_import_fail(im, err,
				"it is neither a recording of heaptrack nor a profile of pprof");
	}
	if (!err)
		err = find_values(&s.p);
	if (!err)
		err = for_each_sample(&s, add_to_totals);
	if (!err)
		err = begin_trace(&s);
	if (!err)
		err = hl_pprof_write_tables(&s.p);
	if (!err)
		err = for_each_sample(&s, add_freed_pieces);
	if (!err)
		err = for_each_sample(&s, add_live_blocks);
	if (!err)
		err = finish_trace(&s);
	hl_vec_free(&s.p.data);
	hl_vec_free(&s.stack);
	hl_vec_free(&s.values);
	hl_pair_map_fini(&s.nodes);
	hl_pprof_tables_fini(&s.p);
	return err;
}
