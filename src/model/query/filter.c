/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c - evaluates filters; see filter.h. filter_parse.c makes the terms.
 */
#include "model/query/filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/scan/realloc_chains.h"
#include "model/query/filter_internal.h"
#include "model/query/query_plan.h"
#include "model/scan/lifetime_class.h"
#include "model/scan/stack_groups.h"
#include "model/model_internal.h"
#include "model/query/query.h"
#include "model/tags/roles.h"
#include "util/safe_text.h"

unsigned hl_filter_subjects(const struct hl_filter *f)
{
	unsigned all = 0;

	for (size_t i = 0; i < f->terms.len; i++) {
		const struct hl_filter_term *t = &f->terms.data[i];
		bool called = t->calls && t->subject != HL_FILTER_FREED_FUNCTION;

		all |= t->subject | (called ? HL_FILTER_FUNC : 0);
	}
	return all;
}

unsigned hl_filter_term_subjects(const struct hl_filter *f)
{
	unsigned all = 0;

	for (size_t i = 0; i < f->terms.len; i++)
		all |= f->terms.data[i].subject;
	return all;
}

const char *hl_filter_base_limit(const struct hl_filter *f, const struct hl_model *m)
{
	/* The last block of a chain, and its end, are not before the base. */
	unsigned limited = HL_FILTER_CHAIN & ~HL_FILTER_CHAIN_LAST;

	if (!f || !hl_model_base(m)->is_late)
		return NULL;
	if (!(hl_filter_subjects(f) & limited))
		return hl_filter_subjects(f) & HL_FILTER_GROUP_TIMES
			       ? "group-interval: and group-peak: do not know the blocks that were "
				 "freed before this trace begins; a recording that is not rotated "
				 "has all of them"
			       : NULL;
	return "realloc chains begin where this trace begins: chain-length:, chain-position:, "
	       "chain-first:, chain-life: and chain-alive: do not know the earlier blocks of a "
	       "chain; a recording that is not rotated has whole chains";
}

size_t hl_filter_term_offset(const struct hl_filter *f, unsigned subjects)
{
	for (size_t i = 0; i < f->terms.len; i++) {
		if (f->terms.data[i].subject & subjects)
			return f->terms.data[i].at;
	}
	return 0;
}

/* A range must be within the run and must not be reversed. */
static int check_times(const struct hl_filter_term *t, struct hl_model *m)
{
	uint64_t from = hl_time_spec_ns(&t->from, m), to = hl_time_spec_ns(&t->to, m);
	uint64_t end = hl_model_end_ns(m);
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX];

	if (from <= end && from <= to)
		return 0;
	snprintf(m->error, sizeof(m->error), "the time of the filter begins at %s, after %s (%s)",
		hl_text_duration(a, from), from > end ? "the end of the recording" : "its end",
		hl_text_duration(b, from > end ? end : to));
	return -ENOENT;
}

static int check_moment(const struct hl_filter_term *t, struct hl_model *m)
{
	const char *key = t->subject == HL_FILTER_ALIVE ? "alive" : "chain-alive";
	uint64_t at = hl_time_spec_ns(&t->to, m), end = hl_model_end_ns(m);
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX];

	if (at <= end || t->to.kind == HL_TIME_SPEC_END)
		return 0;
	snprintf(m->error, sizeof(m->error),
		"the filter's %s: is %s, after the end of the recording (%s); use %s:end for the "
		"end",
		key, hl_text_duration(a, at), hl_text_duration(b, end), key);
	return -ENOENT;
}

/* The position of this moment, if it is a position and not a time. If a loss hides it, only the
 * time is used. */
static int find_position(
	struct hl_model *m, const struct hl_time_spec *when, struct hl_filter_position *p)
{
	struct hl_position position;
	int err;

	p->known = false;
	if (when->kind != HL_TIME_SPEC_PEAK && when->kind != HL_TIME_SPEC_MARK)
		return 0;
	if (when->kind == HL_TIME_SPEC_PEAK && hl_model_peak_is_before_base(m))
		return 0;
	position = hl_query_to(m, when);
	err = hl_position_count(m, &position, &p->events, &p->allocs);
	p->known = err == 0;
	return err == -ENODATA ? 0 : err;
}

/* Loads the tables that the terms look up. */
static int load_tables(unsigned subjects, struct hl_model *m)
{
	int err = 0;

	if (subjects & HL_FILTER_FREED_STACK)
		err = hl_model_require(m, HL_NEEDS_FREE_STACKS, "this");
	if (!err && subjects & HL_FILTER_CHAIN)
		err = hl_model_load_chains(m);
	if (!err && subjects & (HL_FILTER_GROUP & ~HL_FILTER_GROUP_TIMES))
		err = hl_model_load_groups(m, HL_GROUPS_COUNTS);
	if (!err && subjects & HL_FILTER_GROUP_TIMES)
		err = hl_model_load_groups(m, HL_GROUPS_TIMES);
	return err;
}

int hl_filter_bind(struct hl_filter *f, struct hl_model *m)
{
	int failed = load_tables(hl_filter_subjects(f), m);

	if (failed)
		return failed;
	for (size_t i = 0; i < f->terms.len; i++) {
		struct hl_filter_term *t = &f->terms.data[i];
		int err;

		/* It may have been bound to another recording, with other stacks. */
		free(t->memo);
		t->memo = NULL;
		free(t->block_bits);
		t->block_bits = NULL;
		if (!(t->subject & (HL_FILTER_TIME | HL_FILTER_ALIVE | HL_FILTER_CHAIN_ALIVE |
					   HL_FILTER_GROUP_PEAK)))
			continue;
		err = hl_time_spec_check_mark(&t->from, m);
		if (!err)
			err = hl_time_spec_check_mark(&t->to, m);
		if (!err)
			err = t->subject & (HL_FILTER_TIME | HL_FILTER_GROUP_PEAK)
				      ? check_times(t, m)
				      : check_moment(t, m);
		if (!err && t->subject != HL_FILTER_GROUP_PEAK)
			err = find_position(m, &t->from, &t->from_pos);
		if (!err && t->subject != HL_FILTER_GROUP_PEAK)
			err = find_position(m, &t->to, &t->to_pos);
		if (err)
			return err;
		hl_filter_set_times(t, hl_time_spec_ns(&t->from, m), hl_time_spec_ns(&t->to, m));
	}
	return 0;
}

/* The event or block that terms are evaluated for. */
struct filter_input {
	const struct hl_block *block; /* for an event, time, thread and function are its own */
	uint8_t op;
	uint32_t free_node;
	bool is_event;
	bool is_extra;
	uint64_t before; /* for an event or side event: number of events before it */
	bool life_known;
	uint64_t life_ns;
};

static bool frame_matches(const struct hl_filter_term *t, const struct hl_frame *f)
{
	if (t->names == HL_FILTER_FUNCTION)
		return hl_pattern_matches(t->name, f->function) ||
		       hl_pattern_matches(t->name, f->entry);
	return hl_pattern_matches_path(t->name, t->names == HL_FILTER_FILE ? f->file : f->module);
}

/* Does the name of a frame of this node alone match? */
static int node_matches(
	struct hl_model *m, const struct hl_filter_term *t, uint32_t node, bool *has)
{
	const struct hl_frame_ref *refs;
	size_t n;
	int err = hl_model_node_frames(m, node, &refs, &n);

	*has = false;
	for (size_t i = 0; !err && i < n && !*has; i++)
		*has = frame_matches(t, hl_model_frame(m, refs[i].frame));
	return err;
}

/* A stack matches if its innermost node or the rest of the stack does. The result is cached for
 * each node. */
static int stack_matches(
	struct hl_filter *f, struct hl_filter_term *t, struct hl_model *m, uint32_t node, bool *has)
{
	int err = 0;

	*has = false;
	if (!m || node >= hl_model_n_nodes(m))
		return 0;
	if (!t->memo) {
		t->memo = calloc(hl_model_n_nodes(m), 1);
		if (!t->memo)
			return -ENOMEM;
	}
	f->chain.len = 0;
	for (; node != HL_NODE_NONE && !t->memo[node]; node = hl_model_parent(m, node)) {
		if (hl_vec_push(&f->chain, node))
			return -ENOMEM;
	}
	*has = node != HL_NODE_NONE && t->memo[node] == 2;
	while (f->chain.len > 0 && !err) {
		node = f->chain.data[--f->chain.len];
		if (!*has)
			err = node_matches(m, t, node, has);
		t->memo[node] = err ? 0 : *has ? 2 : 1;
	}
	return err;
}

/* Does the name of a thread, or the path of a tag, match? */
static int name_matches(
	const struct hl_filter_term *t, struct hl_model *m, uint32_t key, bool *fits)
{
	struct hl_strbuf path = {0};
	int err = 0;

	if (t->names == HL_FILTER_THREAD) {
		*fits = hl_pattern_matches(t->name, hl_model_thread_name(m, key));
		return 0;
	}
	hl_model_put_tag(m, key, &path);
	err = hl_strbuf_error(&path);
	*fits = !err && hl_pattern_matches(t->name, hl_strbuf_str(&path));
	hl_strbuf_fini(&path);
	return err;
}

/* The same, cached for each thread or tag. */
static int named_term_holds(struct hl_filter_term *t, struct hl_model *m, uint32_t key, bool *holds)
{
	int err = 0;

	*holds = false;
	if (!m)
		return 0;
	if (!t->memo) {
		if (t->names == HL_FILTER_TAG)
			t->n_memo = hl_model_n_tags(m);
		else
			err = hl_reader_n_threads(m->reader, &t->n_memo);
		t->memo = err ? NULL : calloc((size_t)t->n_memo + 1, 1);
		if (!t->memo)
			return err ? err : -ENOMEM;
	}
	if (key >= t->n_memo)
		return 0;
	if (!t->memo[key]) {
		err = name_matches(t, m, key, holds);
		t->memo[key] = err ? 0 : *holds ? 2 : 1;
	}
	*holds = t->memo[key] == 2;
	return err;
}

static bool in_range(const struct hl_filter_term *t, uint64_t n)
{
	return n >= t->lo && n <= t->hi;
}

/* A single address matches the block that contains it. A range matches blocks that begin in it. */
static bool addr_holds(
	const struct hl_filter_term *t, const struct hl_model *m, const struct hl_block *b)
{
	if (m && m->info->meta.unknown & HL_UNKNOWN_ADDRESSES)
		return false;
	if (t->lo != t->hi)
		return in_range(t, b->addr);
	return t->lo >= b->addr && t->lo - b->addr < (b->size ? b->size : 1);
}

static bool is_called(const struct hl_filter_term *t, const struct filter_input *x)
{
	return x->block->func < HL_FUNC_COUNT && t->calls >> x->block->func & 1;
}

static bool is_before(const struct filter_input *x, const struct hl_filter_position *p)
{
	if (x->is_extra)
		return x->before <= p->events; /* a mark at the position is on both sides */
	return x->is_event ? x->before < p->events : x->block->ordinal < p->allocs;
}

static bool is_after(const struct filter_input *x, const struct hl_filter_position *p)
{
	return x->is_extra ? x->before >= p->events : !is_before(x, p);
}

static bool time_holds(const struct hl_filter_term *t, const struct filter_input *x)
{
	return (t->from_pos.known ? is_after(x, &t->from_pos) : x->block->alloc_ns >= t->lo) &&
	       (t->to_pos.known ? is_before(x, &t->to_pos) : x->block->alloc_ns <= t->hi);
}

static bool alive_holds(const struct hl_filter_term *t, const struct filter_input *x)
{
	if (x->is_event || (t->to_pos.known ? is_after(x, &t->to_pos) : x->block->alloc_ns > t->hi))
		return false;
	if (t->to.kind == HL_TIME_SPEC_END)
		return x->block->free_ns == UINT64_MAX;
	return x->block->free_ns > t->hi;
}

static bool chain_holds(
	const struct hl_filter_term *t, const struct hl_model *m, const struct filter_input *x)
{
	struct hl_chain c = m ? hl_chain_of(m, x->block) : (struct hl_chain){0};

	switch (m ? t->subject : 0) {
	case HL_FILTER_CHAIN_LENGTH:
		return in_range(t, c.length);
	case HL_FILTER_CHAIN_POSITION:
		return t->last ? c.position == c.length : in_range(t, c.position);
	case HL_FILTER_CHAIN_FIRST:
		return in_range(t, c.first_size);
	case HL_FILTER_CHAIN_LAST:
		return in_range(t, c.last_size);
	case HL_FILTER_CHAIN_LIFETIME:
		return in_range(t, c.free_ns == UINT64_MAX ? UINT64_MAX : c.free_ns - c.alloc_ns);
	case HL_FILTER_CHAIN_ALIVE:
		return c.alloc_ns <= t->hi &&
		       (t->to.kind == HL_TIME_SPEC_END ? c.free_ns == UINT64_MAX
						       : c.free_ns > t->hi);
	}
	return false;
}

static bool depth_holds(const struct hl_filter_term *t, struct hl_model *m, uint32_t node)
{
	uint64_t depth = 0;

	if (!m)
		return false;
	for (; node < hl_model_n_nodes(m); node = hl_model_parent(m, node))
		depth++;
	return in_range(t, depth);
}

/* Is part / whole a share in the range? */
static bool share_holds(const struct hl_filter_term *t, uint64_t part, uint64_t whole)
{
	unsigned __int128 share = (unsigned __int128)part * 100000,
			  lo = (unsigned __int128)t->lo * whole,
			  hi = (unsigned __int128)t->hi * whole;

	if (whole == 0 || t->lo > t->hi)
		return false;
	return (t->excludes_from ? share > lo : share >= lo) &&
	       (t->hi > 100000 || (t->excludes_to ? share < hi : share <= hi));
}

static bool group_term_holds(const struct hl_filter_term *t, struct hl_model *m, uint32_t node)
{
	const struct hl_stack_group *g = m && m->groups ? hl_model_group_of(m, node) : NULL;
	uint64_t interval;

	if (!g)
		return false;
	switch (t->subject) {
	case HL_FILTER_GROUP_ALLOCATED:
		return in_range(t, g->blocks);
	case HL_FILTER_GROUP_LEAKED:
		return t->percent ? share_holds(t, g->leaked_blocks, g->blocks)
				  : in_range(t, g->leaked_blocks);
	case HL_FILTER_GROUP_INTERVAL:
		if (g->first_ns == UINT64_MAX)
			return false;
		interval = g->last_ns - g->first_ns;
		return t->percent ? share_holds(t, interval, hl_model_end_ns(m))
				  : in_range(t, interval);
	case HL_FILTER_GROUP_PEAK:
		return g->first_ns != UINT64_MAX && in_range(t, g->peak_ns);
	}
	return false;
}

/* Terms about the free do not hold for a block that is not freed. */
static int freed_holds(struct hl_filter *f, struct hl_filter_term *t, struct hl_model *m,
	const struct filter_input *x, bool *holds)
{
	const struct hl_block *b = x->block;

	*holds = false;
	if (x->is_event || b->free_ns == UINT64_MAX)
		return 0;
	if (t->subject == HL_FILTER_FREED_NODE)
		*holds = b->free_node != HL_NODE_NONE && in_range(t, b->free_node);
	else if (t->subject == HL_FILTER_FREED_THREAD && !t->name)
		*holds = in_range(t, b->free_thread);
	else if (t->subject == HL_FILTER_FREED_THREAD)
		return named_term_holds(t, m, b->free_thread, holds);
	else if (b->free_func < HL_FUNC_COUNT && t->calls >> b->free_func & 1)
		*holds = true;
	else
		return stack_matches(f, t, m, b->free_node, holds);
	return 0;
}

static int term_holds(struct hl_filter *f, struct hl_filter_term *t, struct hl_model *m,
	const struct filter_input *x, bool *holds)
{
	int err = 0;

	*holds = false;
	if (x->is_event && t->block_bits) {
		*holds = x->block->ordinal < t->n_block_bits &&
			 t->block_bits[x->block->ordinal / 8] >> x->block->ordinal % 8 & 1;
		return 0;
	}
	switch (t->subject) {
	case HL_FILTER_OP:
		*holds = x->is_event && in_range(t, x->op);
		break;
	case HL_FILTER_FUNC:
		*holds = is_called(t, x);
		break;
	case HL_FILTER_THREAD:
		if (t->name)
			return named_term_holds(t, m, x->block->thread, holds);
		*holds = in_range(t, x->block->thread);
		break;
	case HL_FILTER_TAG:
		return named_term_holds(t, m, x->block->tag, holds);
	case HL_FILTER_SIZE:
		*holds = in_range(t, x->block->size);
		break;
	case HL_FILTER_TIME:
		*holds = time_holds(t, x);
		break;
	case HL_FILTER_ADDR:
		*holds = addr_holds(t, m, x->block);
		break;
	case HL_FILTER_LIFETIME:
		*holds = x->life_known && in_range(t, x->life_ns);
		break;
	case HL_FILTER_ALIVE:
		*holds = alive_holds(t, x);
		break;
	case HL_FILTER_CHAIN_LENGTH:
	case HL_FILTER_CHAIN_POSITION:
	case HL_FILTER_CHAIN_FIRST:
	case HL_FILTER_CHAIN_LAST:
	case HL_FILTER_CHAIN_LIFETIME:
	case HL_FILTER_CHAIN_ALIVE:
		*holds = chain_holds(t, m, x);
		break;
	case HL_FILTER_DEPTH:
		*holds = depth_holds(t, m, x->block->node);
		break;
	case HL_FILTER_NODE:
		*holds = x->block->node != HL_NODE_NONE && in_range(t, x->block->node);
		break;
	case HL_FILTER_GROUP_ALLOCATED:
	case HL_FILTER_GROUP_LEAKED:
	case HL_FILTER_GROUP_INTERVAL:
	case HL_FILTER_GROUP_PEAK:
		*holds = group_term_holds(t, m, x->block->node);
		break;
	case HL_FILTER_FREED_FUNCTION:
	case HL_FILTER_FREED_FILE:
	case HL_FILTER_FREED_MODULE:
	case HL_FILTER_FREED_NODE:
	case HL_FILTER_FREED_THREAD:
		return freed_holds(f, t, m, x, holds);
	default:
		/* The called function counts as the innermost frame, although it is not in the
		 * stack. */
		*holds = is_called(t, x);
		if (!*holds)
			err = stack_matches(f, t, m, x->block->node, holds);
		if (!err && !*holds && x->is_event && x->op == HL_OP_FREE)
			err = stack_matches(f, t, m, x->free_node, holds);
	}
	return err;
}

/* Evaluates terms[*i] and the rest of its group, and moves *i after the group. */
static int group_holds(struct hl_filter *f, struct hl_model *m, const struct filter_input *x,
	size_t *i, bool *holds)
{
	const struct hl_filter_term *first = &f->terms.data[*i];
	bool any = false;
	int err = 0;

	for (; *i < f->terms.len && f->terms.data[*i].group == first->group && !err; ++*i) {
		bool one = false;

		if (!any)
			err = term_holds(f, &f->terms.data[*i], m, x, &one);
		any |= one;
	}
	*holds = any != first->negated;
	return err;
}

static int filter_holds(
	struct hl_filter *f, struct hl_model *m, const struct filter_input *x, bool *holds)
{
	size_t i = 0;
	int err = 0;

	*holds = true;
	while (i < f->terms.len && *holds && !err) {
		uint32_t clause = f->terms.data[i].clause;
		bool any = false, one;

		while (i < f->terms.len && f->terms.data[i].clause == clause && !err) {
			err = group_holds(f, m, x, &i, &one);
			any |= one;
		}
		*holds = any;
	}
	return err;
}

int hl_filter_event(struct hl_filter *f, struct hl_model *m, const struct hl_event *e,
	uint64_t before, bool *holds)
{
	const struct hl_block block = {.ordinal = e->ordinal,
		.addr = e->addr,
		.size = e->size,
		.blocks = e->blocks,
		.bytes = e->bytes,
		.alloc_ns = e->time_ns,
		.node = e->node,
		.thread = hl_model_role(m, e->thread).thread,
		.tag = hl_model_owner_tag(m, e),
		.pool = UINT32_MAX,
		.func = e->func};
	struct filter_input x = {.block = &block,
		.op = e->op,
		.free_node = e->free_node,
		.is_event = true,
		.before = before,
		.life_known = e->op == HL_OP_FREE};

	if (x.life_known)
		x.life_ns = e->alloc_ns <= e->time_ns ? e->time_ns - e->alloc_ns
						      : hl_lifetime_class_ns(e->lifetime_class);
	return filter_holds(f, m, &x, holds);
}

static struct filter_input input_of_block(const struct hl_block *b)
{
	struct filter_input x = {.block = b, .life_known = true, .life_ns = UINT64_MAX};

	if (b->free_ns != UINT64_MAX)
		x.life_ns = b->free_ns - b->alloc_ns;
	return x;
}

int hl_filter_block(struct hl_filter *f, struct hl_model *m, const struct hl_block *b, bool *holds)
{
	struct filter_input x = input_of_block(b);

	return filter_holds(f, m, &x, holds);
}

int hl_filter_term_of_block(struct hl_filter *f, struct hl_filter_term *t, struct hl_model *m,
	const struct hl_block *b, bool *holds)
{
	struct filter_input x = input_of_block(b);

	return term_holds(f, t, m, &x, holds);
}

int hl_filter_node(struct hl_filter *f, struct hl_model *m, uint32_t node, bool *holds)
{
	const struct hl_block block = {.node = node, .tag = HL_TAG_NONE, .func = HL_FUNC_COUNT};
	const struct filter_input x = {.block = &block};

	return filter_holds(f, m, &x, holds);
}

/* Evaluates a group, then its clause, then all clauses, as filter_holds. */
bool hl_filter_frame(const struct hl_filter *f, const struct hl_frame *frame)
{
	bool holds = true;
	size_t i = 0;

	while (i < f->terms.len && holds) {
		uint32_t clause = f->terms.data[i].clause;
		bool any = false;

		while (i < f->terms.len && f->terms.data[i].clause == clause) {
			const struct hl_filter_term *first = &f->terms.data[i];
			bool one = false;

			for (; i < f->terms.len && f->terms.data[i].group == first->group; i++)
				one |= frame_matches(&f->terms.data[i], frame);
			any |= one != first->negated;
		}
		holds = any;
	}
	return holds;
}

bool hl_filter_extra(
	struct hl_filter *f, struct hl_model *m, const struct hl_extra *x, uint64_t before)
{
	struct hl_block block = {.alloc_ns = x->time_ns,
		.thread = hl_model_role(m, x->thread).thread,
		.tag = HL_TAG_NONE};
	const struct filter_input input = {.block = &block, .is_extra = true, .before = before};
	bool holds = true;
	unsigned may = HL_FILTER_TIME | HL_FILTER_THREAD;

	if (x->kind == HL_EXTRA_MMAP || x->kind == HL_EXTRA_MUNMAP || x->kind == HL_EXTRA_MREMAP) {
		may |= HL_FILTER_SIZE | HL_FILTER_ADDR | HL_FILTER_FUNC |
		       (HL_FILTER_STACK & ~HL_FILTER_GROUP);
		block.addr = x->addr;
		block.size = x->size;
		block.node = x->node;
		block.func = x->kind == HL_EXTRA_MMAP     ? HL_FUNC_MMAP
			     : x->kind == HL_EXTRA_MUNMAP ? HL_FUNC_MUNMAP
							  : HL_FUNC_MREMAP;
	}
	if (hl_filter_subjects(f) & ~may)
		return false;
	return filter_holds(f, m, &input, &holds) == 0 && holds;
}
