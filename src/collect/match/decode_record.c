/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_record.c - see decode_record.h. Decodes records into pending events, and keeps the stacks
 * of thread streams. Pending events are matched in match.c.
 */
#include <errno.h>
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "collect/match/decode_record.h"
#include "collect/match/live_table_inline.h"
#include "collect/match/match.h"
#include "collect/match/thread_names.h"
#include "collect/control/steering.h"
#include "ring/ring_record.h"

/* Adds frames that were sent to a previous collector, or lost: it is only known that they exist.
 * All of them share one step. */
static int add_unknown_frames(struct hl_thread_stream *f, uint32_t shared)
{
	uint64_t cut = HL_OFFSET_REMOVED_FRAMES;
	struct hl_path_step from = f->path.len ? f->path.data[f->path.len - 1] : HL_PATH_STEP_ROOT,
			    step;

	if (hl_vec_reserve(&f->path, shared) || hl_vec_reserve(&f->path_pcs, shared) ||
		hl_calltree_follow(&f->target->match.tree, from, &cut, 1, &step))
		return -ENOMEM;
	while (f->path.len < shared) {
		f->path_pcs.data[f->path.len] = cut;
		f->path.data[f->path.len++] = step;
	}
	return 0;
}

/* The modules have changed: resolves the shared frames again, by the modules that are loaded
 * now. */
static hl_cold int refresh_path(struct hl_thread_stream *f, uint32_t shared)
{
	struct hl_path_step was = HL_PATH_STEP_ROOT, from = HL_PATH_STEP_ROOT;

	f->path.len = hl_min_u64(f->path.len, shared);
	for (size_t i = 0; i < f->path.len; i++) {
		struct hl_path_step *s = &f->path.data[i], old = *s;
		bool gap = i > 0 && old.hash == was.hash; /* frames of add_unknown_frames() */

		if (!gap && hl_calltree_follow(
				    &f->target->match.tree, from, &f->path_pcs.data[i], 1, s))
			return -ENOMEM;
		if (gap)
			*s = from;
		was = old;
		from = *s;
	}
	f->epoch = f->target->match.tree.epoch;
	return 0;
}

/* Sets the stream's path to its first `shared` frames, the partial pcs and these pcs. Returns the
 * node. HL_NODE_NONE: out of memory. */
static uint32_t follow_path(
	struct hl_thread_stream *f, uint32_t shared, const uint64_t *pcs, uint32_t n)
{
	size_t n_partial = f->partial_pcs.len, n_new = n_partial + n;
	struct hl_path_step from = HL_PATH_STEP_ROOT;
	uint64_t *to;

	if (hl_unlikely(f->epoch != f->target->match.tree.epoch) && refresh_path(f, shared))
		goto lost;
	/* A prefix of the last stack, or all of it: no new frames. */
	if (n_new == 0 && shared > 0 && shared <= f->path.len) {
		f->path.len = shared;
		return hl_calltree_node(&f->target->match.tree, &f->path.data[shared - 1]);
	}
	if (shared > f->path.len && add_unknown_frames(f, shared))
		goto lost;
	if (hl_vec_reserve(&f->path, shared + n_new + 1) ||
		hl_vec_reserve(&f->path_pcs, shared + n_new + 1))
		goto lost;
	/* Records have the innermost frame first, and parts precede the event: copy both in
	 * reverse. */
	to = f->path_pcs.data + shared;
	for (size_t i = 0; i < n; i++)
		to[i] = pcs[n - 1 - i];
	for (size_t i = 0; i < n_partial; i++)
		to[n + i] = f->partial_pcs.data[n_partial - 1 - i];
	f->partial_pcs.len = 0;
	if (shared)
		from = f->path.data[shared - 1];
	if (hl_calltree_follow(&f->target->match.tree, from, to, n_new, f->path.data + shared))
		goto lost;
	f->path.len = shared + n_new;
	return f->path.len ? f->path.data[f->path.len - 1].node : HL_NODE_NONE;
lost:
	f->path.len = 0;
	f->target->match.out_of_memory = true;
	return HL_NODE_NONE;
}

static uint32_t follow_stack(
	struct hl_thread_stream *f, uint32_t shared, const uint64_t *pcs, uint32_t n)
{
	f->last_node = follow_path(f, shared, pcs, n);
	/* a path that is longer than a stack word can express never equals one */
	f->last_stack_word = f->path.len ? (uint64_t)f->path.len << 8 : UINT64_MAX;
	return f->last_node;
}

static hl_noinline bool grow_stack_nodes(struct hl_thread_stream *f, uint64_t id)
{
	uint64_t len = 256;

	if (id >= HL_RING_STACK_IDS)
		return false;
	while (len <= id)
		len *= 2;
	if (hl_vec_reserve(&f->stack_nodes, len)) {
		f->target->match.out_of_memory = true;
		return false;
	}
	while (f->stack_nodes.len < len)
		f->stack_nodes.data[f->stack_nodes.len++] = HL_NODE_NONE;
	return true;
}

static void assign_stack_id(struct hl_thread_stream *f, uint64_t id)
{
	if (hl_likely(id < f->stack_nodes.len || grow_stack_nodes(f, id)))
		f->stack_nodes.data[id] =
			f->path.len ? f->path.data[f->path.len - 1].node : HL_NODE_NONE;
}

/* An id that was announced to a previous collector: the stack itself is not known. */
static hl_cold uint32_t unknown_stack_node(struct hl_thread_stream *f)
{
	uint64_t cut = HL_OFFSET_REMOVED_FRAMES;
	struct hl_path_step step;

	if (hl_calltree_follow(&f->target->match.tree, HL_PATH_STEP_ROOT, &cut, 1, &step))
		return HL_NODE_NONE;
	return step.node;
}

static uint32_t node_of_stack_id(struct hl_thread_stream *f, uint32_t id)
{
	if (hl_likely(id < f->stack_nodes.len && f->stack_nodes.data[id] != HL_NODE_NONE))
		return f->stack_nodes.data[id];
	return unknown_stack_node(f);
}

uint32_t hl_thread_stream_read_stack(
	struct hl_thread_stream *f, uint64_t stack, const uint64_t *after, uint64_t *size)
{
	*size = stack & HL_SIZE_BIG;
	if (*size == HL_SIZE_BIG)
		*size = *after++;
	if (stack & HL_STACK_HAS_ID)
		return node_of_stack_id(f, hl_stack_shared_or_id(stack));
	return follow_stack(f, hl_stack_shared_or_id(stack), after, hl_stack_n_pcs(stack));
}

uint32_t hl_thread_stream_stack_with_id(
	struct hl_thread_stream *f, const uint64_t *words, uint64_t *size)
{
	uint32_t node = hl_thread_stream_read_stack(f, words[2], words + 4, size);

	assign_stack_id(f, words[3]);
	return node;
}

static void add_partial_pcs(struct hl_thread_stream *f, uint64_t stack, const uint64_t *pcs)
{
	uint32_t n = hl_stack_n_pcs(stack);

	f->last_stack_word = UINT64_MAX;
	if (stack & HL_STACK_FIRST_PART)
		f->partial_pcs.len = 0;
	if (f->partial_pcs.len > 1u << 20 ||
		hl_vec_reserve(&f->partial_pcs, f->partial_pcs.len + n)) {
		f->target->match.out_of_memory = true;
		return;
	}
	if (n)
		memcpy(f->partial_pcs.data + f->partial_pcs.len, pcs, n * sizeof(*pcs));
	f->partial_pcs.len += n;
}

static void on_module_record(struct hl_target *p, const uint64_t *words)
{
	uint32_t id_len = (words[4] >> 8) & 0xff, name_len = (words[4] >> 16) & 0xffff;
	struct hl_module_range range = {.start = words[1], .end = words[2], .bias = words[3]};
	char path[HL_NAME_MAX + 1];

	memcpy(path, words + 5 + (id_len + 7) / 8, name_len);
	path[name_len] = '\0';
	hl_target_add_module(p, range, path, (const uint8_t *)(words + 5), id_len);
}

static void on_mark_record(struct hl_thread_stream *f, const uint64_t *words, uint64_t stamp)
{
	static const uint8_t kinds[] = {
		[HL_MARK_MARK] = HL_EXTRA_MARK,
		[HL_MARK_SNAPSHOT] = HL_EXTRA_SNAPSHOT,
		[HL_MARK_START] = HL_EXTRA_START,
		[HL_MARK_STOP] = HL_EXTRA_STOP,
		[HL_MARK_THREAD_NAME] = HL_EXTRA_THREAD_NAME,
	};
	uint32_t kind = words[1] & 0xff, len = (words[1] >> 8) & 0xffff;
	struct hl_extra extra = {.node = HL_NODE_NONE};

	if (kind == HL_MARK_OTHER_THREAD_NAME)
		hl_thread_names_due(f->target);
	if (kind == HL_MARK_PAUSE || kind == HL_MARK_RESUME)
		hl_steering_on_pause(f, kind == HL_MARK_PAUSE, stamp);
	if (kind == HL_MARK_SIGNAL) {
		extra.value = HL_SNAPSHOT_SIGNAL;
		kind = HL_MARK_SNAPSHOT;
	}
	if (kind >= HL_ARRAY_LEN(kinds))
		return;
	extra.kind = kinds[kind];
	if (kind == HL_MARK_START || kind == HL_MARK_STOP)
		hl_steering_on_start(f->target, kind == HL_MARK_START);
	hl_match_extra(f->target, f, &extra, len ? (const char *)(words + 2) : NULL, len, stamp);
}

static void on_map_record(struct hl_thread_stream *f, const uint64_t *words, uint64_t stamp)
{
	uint32_t type = words[0] & 31;
	uint64_t unused;
	struct hl_extra extra = {
		.kind = type == HL_REC_MAP     ? HL_EXTRA_MMAP
			: type == HL_REC_UNMAP ? HL_EXTRA_MUNMAP
					       : HL_EXTRA_MREMAP,
		.addr = words[1],
		.size = words[3],
		.value = words[4],
		.value2 = words[5],
	};

	extra.node = hl_thread_stream_read_stack(f, words[2] & ~HL_SIZE_BIG, words + 6, &unused);
	hl_match_extra(f->target, f, &extra, NULL, 0, stamp);
}

static void on_pool_record(struct hl_thread_stream *f, const uint64_t *words, uint64_t stamp)
{
	uint64_t size;
	uint32_t node;

	switch (words[0] & 31) {
	case HL_REC_POOL_NAME:
		hl_pool_blocks_name(f, words, stamp);
		break;
	case HL_REC_POOL_ALLOC:
		node = hl_thread_stream_read_stack(f, words[2], words + 4, &size);
		hl_pool_blocks_alloc(f, words[1], size, words[3], node, stamp);
		break;
	default:
		hl_pool_blocks_free(f, words[1], words[2], stamp);
	}
}

/* Removes invalid addresses from an event. No allocator returns such an address, but a hostile
 * program may record one, and the live table must not be searched for it. False: nothing is left of
 * the event. */
static bool sanitize_addresses(struct hl_decoded_event *e)
{
	if (e->type != HL_REC_MOVE_END)
		return hl_live_is_valid_address(e->addr);
	if (!hl_live_is_valid_address(e->addr))
		e->addr = 0;
	if (hl_live_is_valid_address(e->old_addr))
		return true;
	e->type = HL_REC_ALLOC;
	return e->addr;
}

/* A sample is an allocation with a weight. */
static void decode_sample(
	struct hl_thread_stream *f, struct hl_decoded_event *e, const uint64_t *words)
{
	bool moves = e->type == HL_REC_SAMPLE_MOVE;

	e->old_addr = moves ? words[3] : 0;
	e->rate_id = f->target->control.steering
			     ? hl_steering_rate(f->target->control.steering, words[3 + moves])
			     : 0;
	e->node = hl_thread_stream_read_stack(f, words[2], words + 4 + moves, &e->size);
	e->type = moves ? HL_REC_MOVE_END : HL_REC_ALLOC;
}

/* Heap events wait in a batch, so that their index lines are prefetched. */
static void on_heap_record(struct hl_thread_stream *f, const uint64_t *words, uint64_t stamp)
{
	struct hl_target *p = f->target;
	struct hl_decoded_event *e = &p->match.pending[p->match.n_pending];

	*e = (struct hl_decoded_event){.stamp = stamp,
		.stream = f,
		.type = words[0] & 31,
		.func = (words[0] >> 5) & 31,
		.addr = words[1],
		.role = hl_thread_stream_role(f),
		.node = HL_NODE_NONE};
	if (hl_unlikely(e->type == HL_REC_SAMPLE || e->type == HL_REC_SAMPLE_MOVE))
		decode_sample(f, e, words);
	else if (e->type == HL_REC_ALLOC || e->type == HL_REC_FREE_STACK)
		e->node = hl_thread_stream_read_stack(f, words[2], words + 3, &e->size);
	else if (e->type == HL_REC_ALLOC_STACK_ID) {
		e->type = HL_REC_ALLOC;
		e->node = hl_thread_stream_stack_with_id(f, words, &e->size);
	} else if (e->type == HL_REC_MOVE_END) {
		e->old_addr = words[3];
		e->node = hl_thread_stream_read_stack(f, words[2], words + 4, &e->size);
	}
	if (hl_unlikely(!hl_live_is_valid_address(e->addr) || e->type == HL_REC_MOVE_END) &&
		!sanitize_addresses(e)) {
		p->match.counters.dropped_events++;
		return;
	}
	e->home_line = hl_live_home_line(&p->match.live, e->addr);
	hl_prefetch_write(e->home_line);
	if (++p->match.n_pending == HL_BATCH_MAX)
		hl_target_flush(p);
}

/* Extrapolates from the hooks that were timed to all hooks. A hostile program may send any
 * number. */
static uint64_t hook_ns(const struct hl_target *p, uint64_t ticks)
{
	double ns = (double)ticks * p->clock->ns_per_tick * HL_HOOK_TIMER_EVERY;

	return ns < (double)INT64_MAX ? (uint64_t)ns : INT64_MAX;
}

void hl_target_process_record(struct hl_target *p, struct hl_thread_stream *f,
	const uint64_t *words, uint32_t n, uint64_t stamp)
{
	if (f == p->match.execing)
		p->match.execing = NULL; /* the exec failed */
	switch (words[0] & 31) {
	case HL_REC_EXEC:
		p->match.execing = f;
		break;
	case HL_REC_STACK:
		add_partial_pcs(f, words[1], words + 2);
		break;
	case HL_REC_STACK_ID:
		assign_stack_id(f, words[1]);
		break;
	case HL_REC_MODULE:
		on_module_record(p, words);
		break;
	case HL_REC_MARK:
		hl_target_flush(p);
		on_mark_record(f, words, stamp);
		break;
	case HL_REC_MAP:
	case HL_REC_UNMAP:
	case HL_REC_REMAP:
		hl_target_flush(p);
		on_map_record(f, words, stamp);
		break;
	case HL_REC_EXIT:
		p->match.has_exit = true;
		p->match.exit_status = (int32_t)words[1];
		p->match.cost = (struct hl_cost){
			words[2], words[3], words[4], words[5], words[6], 0, hook_ns(p, words[7])};
		break;
	case HL_REC_POOL_NAME:
	case HL_REC_POOL_ALLOC:
	case HL_REC_POOL_FREE:
		hl_target_flush(p);
		on_pool_record(f, words, stamp);
		break;
	case HL_REC_TAG_NAME:
		hl_tag_paths_name(f, (uint32_t)words[1], (uint32_t)(words[1] >> 32),
			(const char *)(words + 3), words[2]);
		break;
	case HL_REC_TAG:
		hl_tag_paths_enter(f, (uint32_t)words[1]);
		break;
	case HL_REC_SWITCH:
		f->role = UINT32_MAX;
		f->partial_pcs.len = 0; /* of an event that was never recorded */
		break;
	case HL_REC_PROCESS:
		break; /* processed by region.c */
	default:
		on_heap_record(f, words, stamp);
	}
}
