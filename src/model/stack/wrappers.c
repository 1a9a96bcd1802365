/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrappers.c - finds allocation wrappers; see wrappers.h.
 *
 * Each stack is followed from its innermost frame outwards, to the first function that is an
 * obstacle. All functions up to there, including the obstacle, count the stack as a good one. When
 * an obstacle turns out to be a wrapper, its stacks are followed further. So the whole search
 * follows each stack once, at most FRAMES_MAX frames far.
 *
 * A function that occurs several times in a stack is counted each time: all but its innermost
 * occurrence have it as an obstacle, so recursive functions are not wrappers. But a function with
 * the name of an allocator that calls itself, to try again or for a header, is one call.
 */
#include "model/stack/wrappers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "model/query/sums.h"

#define CALLERS_MIN  8 /* of a wrapper */
#define CALLERS_FEW  4 /* functions with fewer are no obstacle */
#define GOOD_PERCENT 95
/* A wrapper asks for one block: at least this share of its stacks have callers of their own. */
#define ALONE_PERCENT 90
/* More functions with few callers in a row are not the inside of a wrapper; of one that has no
 * name of an allocator, not more than HELPERS_FEW. */
#define HELPERS_MAX 6
#define HELPERS_FEW 2
/* A wrapper is not farther than this from the allocator. */
#define FRAMES_MAX  64
#define ROUNDS_MAX  32
#define NO_FUNCTION UINT32_MAX

/* Flags in of_frame: the frame is inlined; it belongs to the same call as the frame outside of it,
 * because the compiler split the function and inlined a part, or because an allocator called
 * itself. */
#define INLINED  (UINT32_C(1) << 30)
#define SAME     (UINT32_C(1) << 31)
#define FUNCTION (INLINED - 1)

struct function {
	uint32_t frame; /* one of its frames */
	uint32_t callers;
	uint64_t stacks, good; /* in how many stacks it occurs; in how many of them nothing is
				  between it and the allocator */
	uint64_t usual;        /* the most stacks with sizes of one class */
	uint64_t repeated;     /* of its stacks: those in which it called itself */
	uint64_t contexts;     /* the stacks outside of it */
	uint64_t inside;       /* in how many of its stacks a wrapper called it */
	enum hl_allocator_name name;
	bool own, transparent;
	bool named;  /* HL_NAME_ALLOCATOR */
	bool passes; /* all that is known of a wrapper but the number of its callers */
	bool wrapper;
};

/* A stack, and how far it has been followed. */
struct stack {
	uint32_t innermost;
	uint32_t node; /* the node that has been reached */
	uint32_t left; /* frames of the node that were not visited */
	uint16_t seen, helpers;
	uint16_t size_class;
	bool ended;
	bool detour; /* a helper has several callers and does not look like an allocator */
};

struct detector {
	struct hl_model *m;
	struct hl_sums *sums;
	uint32_t *n_stacks;          /* per node: the stacks that contain it */
	struct hl_frame_span *spans; /* per node: its functions in of_frame, outermost first */
	HL_VEC(uint32_t) of_frame;   /* functions, with flags */
	HL_VEC(struct function) functions;
	struct hl_pair_map by_name;  /* (name, module) -> function */
	struct hl_pair_map calls;    /* (function, caller) */
	struct hl_pair_map contexts; /* (function, node that called it) */
	struct hl_pair_map sizes;    /* (function, class of sizes) -> index in size_stacks */
	HL_VEC(uint64_t) size_stacks;
	HL_VEC(struct stack) stacks;
};

/* --- functions and callers --- */

static int find_function(struct detector *d, uint32_t frame, uint32_t *out)
{
	const struct hl_frame *f = hl_model_frame(d->m, frame);
	bool unknown = !f->entry && hl_frame_is_nameless(f), allocates = false;
	uintptr_t name = unknown ? 0 : (uintptr_t)hl_frame_function_name(f);
	uintptr_t module = (uintptr_t)f->module;
	struct function new = {.frame = frame};
	enum hl_frame_kind kind;
	int err;

	*out = hl_pair_map_get(&d->by_name, name, module);
	if (*out != HL_PAIR_MAP_NONE)
		return 0;
	kind = hl_model_frame_kind_by_rules(d->m, f, &allocates);
	new.wrapper = kind == HL_FRAME_WRAPPER;
	new.transparent = kind == HL_FRAME_PLUMBING &&allocates;
	new.own = kind == HL_FRAME_OWN && !unknown &&strcmp(f->function, "main") != 0;
	new.name = new.own ? hl_frame_allocator_name(f) : HL_NAME_OTHER;
	new.named = new.name == HL_NAME_ALLOCATOR;
	*out = (uint32_t)d->functions.len;
	err = hl_vec_push(&d->functions, new);
	return err ? err : hl_pair_map_put(&d->by_name, name, module, *out);
}

static int add_call(struct detector *d, uint32_t function, uint32_t caller)
{
	if (function == caller || caller == NO_FUNCTION ||
		hl_pair_map_get(&d->calls, function, caller) != HL_PAIR_MAP_NONE)
		return 0;
	d->functions.data[function].callers++;
	return hl_pair_map_put(&d->calls, function, caller, 0);
}

/* outer: the node that called the function. */
static int add_context(struct detector *d, uint32_t function, uint32_t outer)
{
	if (hl_pair_map_get(&d->contexts, function, outer) != HL_PAIR_MAP_NONE)
		return 0;
	d->functions.data[function].contexts++;
	return hl_pair_map_put(&d->contexts, function, outer, 0);
}

static uint32_t innermost_function(const struct detector *d, uint32_t node)
{
	const struct hl_frame_span *s = node == HL_NODE_NONE ? NULL : &d->spans[node];

	return s && s->n ? d->of_frame.data[s->first + s->n - 1] : NO_FUNCTION;
}

static int add_frame(struct detector *d, uint32_t node, struct hl_frame_ref ref, uint32_t *caller)
{
	uint32_t function, outer = *caller == NO_FUNCTION ? *caller : *caller & FUNCTION;
	int err = find_function(d, ref.frame, &function);

	if (err)
		return err;
	if (function >= FUNCTION)
		return -ENOMEM;
	if (function == outer && (ref.inlined || *caller & INLINED ||
					 d->functions.data[function].name >= HL_NAME_ALLOC)) {
		if (!ref.inlined && !(*caller & (SAME | INLINED)))
			d->functions.data[function].repeated += d->n_stacks[node];
		*caller = function | SAME;
	} else {
		d->functions.data[function].stacks += d->n_stacks[node];
		err = add_call(d, function, outer);
		if (!err)
			err = add_context(
				d, function, ref.inlined ? node : hl_model_parent(d->m, node));
		*caller = function;
	}
	*caller |= ref.inlined ? INLINED : 0;
	return err ? err : hl_vec_push(&d->of_frame, *caller);
}

/* The functions of a node, whose caller's are known. */
static int add_node(struct detector *d, uint32_t node)
{
	uint32_t caller = innermost_function(d, hl_model_parent(d->m, node));
	const struct hl_frame_ref *refs;
	size_t n;
	int err = hl_model_node_frames(d->m, node, &refs, &n);

	d->spans[node] = (struct hl_frame_span){(uint32_t)d->of_frame.len, err ? 0 : (uint32_t)n};
	for (size_t i = 0; i < n && !err; i++)
		err = add_frame(d, node, refs[i], &caller);
	return err;
}

/* Frames that are only read here are not frames of the answer. */
static int add_nodes(struct detector *d)
{
	struct hl_model *m = d->m;
	int err = 0;

	m->looks_ahead = true;
	hl_work_begin(&m->work, HL_WORK_SHORT, HL_WORK_NAMES);
	for (uint32_t i = 0; i < m->n_nodes && !err; i++) {
		err = hl_naming_tick(m, i, m->n_nodes);
		if (!err && d->n_stacks[i] > 0)
			err = add_node(d, i);
	}
	hl_work_end(&m->work, HL_WORK_SHORT);
	m->looks_ahead = false;
	return err;
}

/* --- stacks --- */

/* Sixteenths of an octave: estimates of one size are in one class. */
static uint16_t size_class(uint64_t bytes, uint64_t blocks)
{
	uint64_t size = bytes / blocks;
	unsigned octave = size ? 63u - (unsigned)__builtin_clzll(size) : 0;

	return (uint16_t)(octave < 4 ? size : octave * 16 + (size >> (octave - 4) & 15));
}

/* A parent has a smaller index than its children. */
static int find_stacks(struct detector *d)
{
	struct hl_position end = hl_position_at(d->m, UINT64_MAX);
	int err = hl_sums_at(d->m, &end, d->sums);

	if (err == -EBADMSG || err == -ENODATA || err == -ENOENT)
		return 0; /* damage: the answer, which may not need these sums, has no wrappers */
	for (uint32_t i = err ? 0 : d->m->n_nodes; i-- > 0 && !err;) {
		uint32_t parent;

		if (d->sums[i].alloc_blocks > 0) {
			struct stack s = {.innermost = i,
				.size_class = size_class(
					d->sums[i].alloc_bytes, d->sums[i].alloc_blocks)};

			d->n_stacks[i]++;
			err = hl_vec_push(&d->stacks, s);
		}
		parent = d->n_stacks[i] ? hl_model_parent(d->m, i) : HL_NODE_NONE;
		if (parent != HL_NODE_NONE)
			d->n_stacks[parent] += d->n_stacks[i];
	}
	return err;
}

static int count_good(struct detector *d, uint32_t function, uint16_t class)
{
	struct function *f = &d->functions.data[function];
	uint32_t at = hl_pair_map_get(&d->sizes, function, class);
	int err = 0;

	f->good++;
	if (at == HL_PAIR_MAP_NONE) {
		at = (uint32_t)d->size_stacks.len;
		err = hl_vec_push(&d->size_stacks, 0);
		if (!err)
			err = hl_pair_map_put(&d->sizes, function, class, at);
	}
	if (!err)
		f->usual = hl_max_u64(f->usual, ++d->size_stacks.data[at]);
	return err;
}

/* The function that the stack has reached; NO_FUNCTION at its outer end. */
static uint32_t current_function(const struct detector *d, struct stack *s)
{
	for (;;) {
		uint32_t at;

		while (s->left == 0) {
			s->node = hl_model_parent(d->m, s->node);
			if (s->node == HL_NODE_NONE)
				return NO_FUNCTION;
			s->left = d->spans[s->node].n;
		}
		at = d->of_frame.data[d->spans[s->node].first + s->left - 1];
		if (!(at & SAME))
			return at & FUNCTION;
		s->left--;
	}
}

/* Between a wrapper and the allocator, but not known to be a wrapper itself. */
static bool is_helper(const struct function *f)
{
	return f->own && !f->passes;
}

/* Follows a stack to its next obstacle. If it is there already, that is a wrapper now or still an
 * obstacle. */
static int follow_stack(struct detector *d, struct stack *s, bool resumed)
{
	int err = 0;

	while (!s->ended && !err) {
		uint32_t function = current_function(d, s);
		const struct function *f;

		s->ended = function == NO_FUNCTION || s->seen >= FRAMES_MAX;
		if (s->ended)
			break;
		f = &d->functions.data[function];
		s->ended = !f->own && !f->transparent && !f->wrapper;
		if (!s->ended && !resumed && f->own &&
			(f->named || (s->helpers <= HELPERS_FEW && !s->detour)))
			err = count_good(d, function, s->size_class);
		resumed = false;
		f = &d->functions.data[function];
		if (f->own && !f->passes &&
			(f->callers >= CALLERS_FEW || s->helpers >= HELPERS_MAX))
			break;
		s->detour =
			is_helper(f) && (s->detour || (f->callers > 1 && f->name == HL_NAME_OTHER));
		s->helpers = is_helper(f) ? s->helpers + 1 : 0;
		s->seen++;
		s->left--;
	}
	return err;
}

/* --- wrappers --- */

static bool is_good(const struct function *f)
{
	return f->own && f->good > 0 && f->good * 100 >= f->stacks * GOOD_PERCENT;
}

/* Do its callers want different things of it? */
static bool has_many_uses(const struct function *f)
{
	if (f->name == HL_NAME_ALLOCATOR && f->callers > 1)
		return true;
	if (f->contexts * 100 < (f->stacks - f->repeated) * ALONE_PERCENT)
		return false;
	if (f->name == HL_NAME_ALLOCATOR)
		return f->usual * 3 < f->good * 2;
	if (f->name == HL_NAME_ALLOC)
		return f->callers > 1 && f->usual * 3 < f->good * 2;
	return f->callers >= CALLERS_FEW && f->usual * 2 < f->good;
}

/* Returns whether more stacks can be followed now. */
static bool mark_wrappers(struct detector *d)
{
	bool any = false;

	for (size_t i = 0; i < d->functions.len; i++) {
		struct function *f = &d->functions.data[i];
		bool suits = has_many_uses(f);

		if (f->passes || !is_good(f) || !suits)
			continue;
		f->passes = any = true;
		f->wrapper = f->name >= HL_NAME_ALLOC || f->callers >= CALLERS_MIN;
	}
	return any;
}

static int search(struct detector *d)
{
	bool more = true;
	int err = 0;

	for (unsigned round = 0; round < ROUNDS_MAX && more && !err; round++) {
		for (size_t i = 0; i < d->stacks.len && !err; i++)
			err = follow_stack(d, &d->stacks.data[i], round > 0);
		more = !err && mark_wrappers(d);
	}
	return err;
}

/* Counts the functions between a wrapper and the allocator: _xmalloc of xmalloc. */
static void count_inside(struct detector *d, struct stack *s)
{
	uint32_t inside[HELPERS_MAX + 1];
	size_t n = 0;

	for (unsigned seen = 0; seen < FRAMES_MAX; seen++, s->left--) {
		uint32_t function = current_function(d, s);
		const struct function *f;

		if (function == NO_FUNCTION)
			return;
		f = &d->functions.data[function];
		if (f->wrapper) {
			while (n > 0)
				d->functions.data[inside[--n]].inside++;
		} else if (f->own && (f->passes || f->callers < CALLERS_FEW) && n < HELPERS_MAX) {
			inside[n++] = function;
		} else if (!f->transparent) {
			return;
		} else {
			n = 0;
		}
	}
}

static void restart_stacks(struct detector *d)
{
	for (size_t i = 0; i < d->stacks.len; i++) {
		struct stack *s = &d->stacks.data[i];

		s->node = s->innermost;
		s->left = d->spans[s->node].n;
	}
}

/* Functions that wrappers call for memory are wrappers, too. */
static void mark_insides(struct detector *d)
{
	restart_stacks(d);
	for (size_t i = 0; i < d->stacks.len; i++)
		count_inside(d, &d->stacks.data[i]);
	for (size_t i = 0; i < d->functions.len; i++) {
		struct function *f = &d->functions.data[i];

		f->wrapper |= f->inside > 0 && is_good(f) &&
			      (f->callers == 1 || f->name != HL_NAME_OTHER);
	}
}

static int compare_functions(const void *pa, const void *pb)
{
	const struct function *a = pa, *b = pb;

	if (a->callers != b->callers)
		return a->callers > b->callers ? -1 : 1;
	if (a->stacks != b->stacks)
		return a->stacks > b->stacks ? -1 : 1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static int store_wrappers(struct detector *d)
{
	int err = 0;

	if (d->functions.len > 1)
		qsort(d->functions.data, d->functions.len, sizeof(*d->functions.data),
			compare_functions);
	for (size_t i = 0; i < d->functions.len && !err; i++) {
		const struct function *f = &d->functions.data[i];

		if (f->wrapper && f->own)
			err = hl_model_add_wrapper(d->m, hl_model_frame(d->m, f->frame));
	}
	return err;
}

static int alloc_tables(struct detector *d)
{
	size_t n = (size_t)d->m->n_nodes + 1;

	d->sums = malloc(n * sizeof(*d->sums));
	d->n_stacks = calloc(n, sizeof(*d->n_stacks));
	d->spans = calloc(n, sizeof(*d->spans));
	return d->sums && d->n_stacks && d->spans ? 0 : -ENOMEM;
}

int hl_wrappers_detect(struct hl_model *m)
{
	struct detector d = {.m = m};
	int err = alloc_tables(&d);

	if (!err)
		err = find_stacks(&d);
	if (!err && d.stacks.len >= CALLERS_MIN)
		err = add_nodes(&d);
	if (!err) {
		restart_stacks(&d);
		err = search(&d);
	}
	if (!err) {
		mark_insides(&d);
		err = store_wrappers(&d);
	}
	free(d.sums);
	free(d.n_stacks);
	free(d.spans);
	hl_vec_free(&d.of_frame);
	hl_vec_free(&d.functions);
	hl_pair_map_fini(&d.by_name);
	hl_pair_map_fini(&d.calls);
	hl_pair_map_fini(&d.contexts);
	hl_pair_map_fini(&d.sizes);
	hl_vec_free(&d.size_stacks);
	hl_vec_free(&d.stacks);
	return err;
}
