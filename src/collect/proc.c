/*
 * proc.c - parses records into pending events, and keeps a process's threads, modules and stacks.
 * The books themselves, from pending to emitted, are in books.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/bits.h"
#include "collect/books.h"
#include "collect/names.h"
#include "collect/proc.h"
#include "collect/record.h"
#include "collect/steer.h"
#include "ring/record.h"

static uint64_t unix_of_mono(uint64_t mono)
{
	struct timespec ts;
	uint64_t now = hl_mono_ns();

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec - (now - mono);
}

static struct hl_output *make_output(const struct hl_proc *p, const struct hl_proc_birth *b)
{
	return hl_output_new(b->queue,
		&(struct hl_meta){
			.program = b->image->program,
			.command = b->image->command,
			.command_len = b->image->command_len,
			.arch = "x86_64",
			.clock = p->ticks->counter ? "counter" : "tsc",
			.mode = hl_mode_name(b->steering ? b->steering->mode : HL_MODE_TRACE),
			.allocator = "",
			.start_unix_ns = unix_of_mono(p->start_ns),
			.pid = p->pid,
			.parent_pid = b->parent_pid,
			.free_stacks = b->free_stacks,
			.maps = b->maps,
			.forked = b->forked,
			.continued = b->continued,
			.start_off = b->start_off,
			.zeroed = b->keep->zero_memory,
		},
		p->start_ns, b->durable, !b->nameless, b->log);
}

static int on_node(void *arg, const struct hl_node *node)
{
	struct hl_proc *p = arg;

	(void)hl_writer_add_node(p->writer, node); /* the writer keeps its errors */
	return 0;
}

struct hl_proc *hl_proc_new(const struct hl_proc_birth *b)
{
	struct hl_proc *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->serial = b->serial;
	p->pid = b->pid;
	p->pidfd = -1;
	p->forked = b->forked;
	p->nameless = b->nameless;
	hl_steer_meet(p, b);
	p->ticks = b->ticks;
	p->start_ns = b->ticks->counter ? hl_mono_ns() : hl_ticks_ns(b->ticks, b->start_stamp);
	if (hl_keep_init(&p->keep, b->mode, b->keep) || hl_calltree_init(&p->tree, on_node, p) ||
		hl_live_init(&p->live, b->memory_limit, b->dir_fd))
		goto fail;
	p->output = make_output(p, b);
	if (p->output) {
		p->writer = hl_output_writer(p->output);
		return p;
	}
fail:
	hl_calltree_fini(&p->tree);
	hl_live_fini(&p->live);
	free(p);
	return NULL;
}

static struct hl_feed *find_feed(const struct hl_proc *p, uint32_t tid, uint32_t aside)
{
	for (size_t i = p->feeds.len; i > 0; i--) /* of several with this tid the last lives */
		if (p->feeds.data[i - 1]->tid == tid && p->feeds.data[i - 1]->aside == aside)
			return p->feeds.data[i - 1];
	return NULL;
}

struct hl_feed *hl_feed_other(const struct hl_feed *f)
{
	struct hl_feed *other = NULL;

	for (size_t i = f->proc->feeds.len; i > 0; i--) {
		struct hl_feed *g = f->proc->feeds.data[i - 1];

		/* Of an owner of this tid before us nothing is ours. */
		if (g == f || g->tid != f->tid || (!g->aside && !f->aside))
			continue;
		if (g->thread != UINT32_MAX)
			return g;
		other = other ? other : g;
	}
	return other;
}

static struct hl_feed *new_feed(struct hl_proc *p, uint32_t tid, uint32_t aside)
{
	struct hl_feed *f = calloc(1, sizeof(*f));

	if (!f || hl_vec_push(&p->feeds, f)) {
		free(f);
		return NULL;
	}
	f->proc = p;
	f->tid = tid;
	f->aside = aside;
	f->thread = f->role = UINT32_MAX;
	f->again = UINT64_MAX;
	return f;
}

struct hl_feed *hl_proc_owner(struct hl_proc *p, uint32_t tid)
{
	return new_feed(p, tid, 0);
}

struct hl_feed *hl_proc_aside(struct hl_proc *p, uint32_t tid, uint32_t ring)
{
	struct hl_feed *f = find_feed(p, tid, ring);

	return f ? f : new_feed(p, tid, ring);
}

static void free_feed(struct hl_feed *f)
{
	hl_vec_free(&f->path);
	hl_vec_free(&f->parts);
	hl_vec_free(&f->pcs);
	hl_vec_free(&f->ways);
	hl_feed_tags_fini(&f->tags);
	free(f);
}

void hl_feed_done(struct hl_feed *f)
{
	struct hl_proc *p = f->proc;

	hl_proc_settle(p);
	for (size_t i = 0; i < p->parked.len; i++)
		if (p->parked.data[i].feed == f)
			return; /* an event of it is still waiting */
	for (size_t i = 0; i < p->moves.len;)
		if (p->moves.data[i].feed == f)
			p->moves.data[i] = p->moves.data[--p->moves.len]; /* its block stays live */
		else
			i++;
	for (size_t i = 0; i < p->feeds.len; i++)
		if (p->feeds.data[i] == f) {
			p->feeds.data[i] = p->feeds.data[--p->feeds.len];
			break;
		}
	free_feed(f);
}

void hl_feed_forget_asides(const struct hl_feed *owner)
{
	struct hl_proc *p = owner->proc;

	for (size_t i = p->feeds.len; i > 0; i--)
		if (i <= p->feeds.len && p->feeds.data[i - 1]->tid == owner->tid &&
			p->feeds.data[i - 1]->aside)
			hl_feed_done(p->feeds.data[i - 1]);
}

/* Frames that the program told a collector before us, or that were lost: only that there are some
 * is known. All of them are one step. */
static int fill_gap(struct hl_feed *f, uint32_t kept)
{
	uint64_t cut = HL_OFFSET_CUT;
	struct hl_step from = f->path.len ? f->path.data[f->path.len - 1] : HL_STEP_ROOT, step;

	if (hl_vec_reserve(&f->path, kept) || hl_vec_reserve(&f->pcs, kept) ||
		hl_calltree_follow(&f->proc->tree, from, &cut, 1, &step))
		return -ENOMEM;
	while (f->path.len < kept) {
		f->pcs.data[f->path.len] = cut;
		f->path.data[f->path.len++] = step;
	}
	return 0;
}

/* The modules have changed since: the outermost frames again, which are what is there now. */
static hl_cold int refresh_path(struct hl_feed *f, uint32_t kept)
{
	struct hl_step was = HL_STEP_ROOT, from = HL_STEP_ROOT;

	f->path.len = hl_min_u64(f->path.len, kept);
	for (size_t i = 0; i < f->path.len; i++) {
		struct hl_step *s = &f->path.data[i], old = *s;
		bool gap = i > 0 && old.hash == was.hash; /* see above */

		if (!gap && hl_calltree_follow(&f->proc->tree, from, &f->pcs.data[i], 1, s))
			return -ENOMEM;
		if (gap)
			*s = from;
		was = old;
		from = *s;
	}
	f->epoch = f->proc->tree.epoch;
	return 0;
}

/* The node of the stack «kept, then these pcs», the new path of the feed. HL_NODE_NONE: out of
 * memory. */
static uint32_t follow_path(struct hl_feed *f, uint32_t kept, const uint64_t *pcs, uint32_t n)
{
	size_t parts = f->parts.len, fresh = parts + n;
	struct hl_step from = HL_STEP_ROOT;
	uint64_t *to;

	if (hl_unlikely(f->epoch != f->proc->tree.epoch) && refresh_path(f, kept))
		goto lost;
	/* A part of the last stack, or all of it: nothing is new. */
	if (fresh == 0 && kept > 0 && kept <= f->path.len) {
		f->path.len = kept;
		return hl_calltree_node(&f->proc->tree, &f->path.data[kept - 1]);
	}
	if (kept > f->path.len && fill_gap(f, kept))
		goto lost;
	if (hl_vec_reserve(&f->path, kept + fresh + 1) || hl_vec_reserve(&f->pcs, kept + fresh + 1))
		goto lost;
	/* Innermost first in the records, parts before the event: so from the back of both. */
	to = f->pcs.data + kept;
	for (size_t i = 0; i < n; i++)
		to[i] = pcs[n - 1 - i];
	for (size_t i = 0; i < parts; i++)
		to[n + i] = f->parts.data[parts - 1 - i];
	f->parts.len = 0;
	if (kept)
		from = f->path.data[kept - 1];
	if (hl_calltree_follow(&f->proc->tree, from, to, fresh, f->path.data + kept))
		goto lost;
	f->path.len = kept + fresh;
	return f->path.len ? f->path.data[f->path.len - 1].node : HL_NODE_NONE;
lost:
	f->path.len = 0;
	f->proc->out_of_memory = true;
	return HL_NODE_NONE;
}

static uint32_t follow(struct hl_feed *f, uint32_t kept, const uint64_t *pcs, uint32_t n)
{
	f->again_node = follow_path(f, kept, pcs, n);
	/* what is longer than a stack word can say is never the same as one */
	f->again = f->path.len ? (uint64_t)f->path.len << 8 : UINT64_MAX;
	return f->again_node;
}

static hl_noinline bool reach_way(struct hl_feed *f, uint64_t number)
{
	uint64_t len = 256;

	if (number >= HL_WAY_NUMBERS)
		return false;
	while (len <= number)
		len *= 2;
	if (hl_vec_reserve(&f->ways, len)) {
		f->proc->out_of_memory = true;
		return false;
	}
	while (f->ways.len < len)
		f->ways.data[f->ways.len++] = HL_NODE_NONE;
	return true;
}

static void name_way(struct hl_feed *f, uint64_t number)
{
	if (hl_likely(number < f->ways.len || reach_way(f, number)))
		f->ways.data[number] =
			f->path.len ? f->path.data[f->path.len - 1].node : HL_NODE_NONE;
}

/* A number that was told to a collector before us: only that there is a stack is known. */
static hl_cold uint32_t unknown_way(struct hl_feed *f)
{
	uint64_t cut = HL_OFFSET_CUT;
	struct hl_step step;

	if (hl_calltree_follow(&f->proc->tree, HL_STEP_ROOT, &cut, 1, &step))
		return HL_NODE_NONE;
	return step.node;
}

static uint32_t way_of(struct hl_feed *f, uint32_t number)
{
	if (hl_likely(number < f->ways.len && f->ways.data[number] != HL_NODE_NONE))
		return f->ways.data[number];
	return unknown_way(f);
}

uint32_t hl_feed_stack(struct hl_feed *f, uint64_t stack, const uint64_t *after, uint64_t *size)
{
	*size = stack & HL_SIZE_BIG;
	if (*size == HL_SIZE_BIG)
		*size = *after++;
	if (stack & HL_STACK_WAY)
		return way_of(f, hl_stack_kept(stack));
	return follow(f, hl_stack_kept(stack), after, hl_stack_new(stack));
}

uint32_t hl_feed_stack_named(struct hl_feed *f, const uint64_t *words, uint64_t *size)
{
	uint32_t node = hl_feed_stack(f, words[2], words + 4, size);

	name_way(f, words[3]);
	return node;
}

static void add_part(struct hl_feed *f, uint64_t stack, const uint64_t *pcs)
{
	uint32_t n = hl_stack_new(stack);

	f->again = UINT64_MAX;
	if (stack & HL_STACK_FIRST)
		f->parts.len = 0;
	if (f->parts.len > 1u << 20 || hl_vec_reserve(&f->parts, f->parts.len + n)) {
		f->proc->out_of_memory = true;
		return;
	}
	if (n)
		memcpy(f->parts.data + f->parts.len, pcs, n * sizeof(*pcs));
	f->parts.len += n;
}

/* The same file is the same module, wherever and whenever it is loaded. */
static int module_id(
	struct hl_proc *p, const char *path, const uint8_t *id, uint32_t id_len, uint32_t *out)
{
	size_t path_len = strlen(path) + 1;
	struct hl_module *m;

	for (uint32_t i = 0; i < p->modules.len; i++) {
		m = p->modules.data[i];
		if (m->build_id_len == id_len && !memcmp(m->build_id, id, id_len) &&
			!strcmp(m->path, path)) {
			*out = i;
			return 0;
		}
	}
	m = malloc(sizeof(*m) + id_len + path_len);
	if (!m)
		return -ENOMEM;
	m->build_id = memcpy(m + 1, id, id_len);
	m->build_id_len = id_len;
	m->path = memcpy((char *)(m + 1) + id_len, path, path_len);
	if (hl_vec_push(&p->modules, m)) {
		free(m);
		return -ENOMEM;
	}
	(void)hl_output_add_module(p->output, m);
	*out = (uint32_t)p->modules.len - 1;
	return 0;
}

void hl_proc_module(struct hl_proc *p, struct hl_range range, const char *path, const uint8_t *id,
	uint32_t id_len)
{
	if (range.end <= range.start)
		return;
	if (module_id(p, path, id, id_len, &range.module) || hl_calltree_map(&p->tree, &range))
		p->out_of_memory = true;
}

static void module_record(struct hl_proc *p, const uint64_t *words)
{
	uint32_t id_len = (words[4] >> 8) & 0xff, name_len = (words[4] >> 16) & 0xffff;
	struct hl_range range = {.start = words[1], .end = words[2], .bias = words[3]};
	char path[HL_NAME_MAX + 1];

	memcpy(path, words + 5 + (id_len + 7) / 8, name_len);
	path[name_len] = '\0';
	hl_proc_module(p, range, path, (const uint8_t *)(words + 5), id_len);
}

static void mark_record(struct hl_feed *f, const uint64_t *words, uint64_t stamp)
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

	if (kind == HL_MARK_OTHERS_NAME)
		hl_names_due(f->proc);
	if (kind == HL_MARK_PAUSE || kind == HL_MARK_RESUME)
		hl_steer_note_pause(f, kind == HL_MARK_PAUSE, stamp);
	if (kind == HL_MARK_SIGNAL) {
		extra.value = HL_SNAPSHOT_SIGNAL;
		kind = HL_MARK_SNAPSHOT;
	}
	if (kind >= HL_ARRAY_LEN(kinds))
		return;
	extra.kind = kinds[kind];
	if (kind == HL_MARK_START || kind == HL_MARK_STOP)
		hl_steer_note_start(f->proc, kind == HL_MARK_START);
	hl_books_extra(f->proc, f, &extra, len ? (const char *)(words + 2) : NULL, len, stamp);
}

static void map_record(struct hl_feed *f, const uint64_t *words, uint64_t stamp)
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

	extra.node = hl_feed_stack(f, words[2] & ~HL_SIZE_BIG, words + 6, &unused);
	hl_books_extra(f->proc, f, &extra, NULL, 0, stamp);
}

static void pool_record(struct hl_feed *f, const uint64_t *words, uint64_t stamp)
{
	uint64_t size;
	uint32_t node;

	switch (words[0] & 31) {
	case HL_REC_POOL_NAME:
		hl_pools_name(f, words, stamp);
		break;
	case HL_REC_POOL_ALLOC:
		node = hl_feed_stack(f, words[2], words + 4, &size);
		hl_pools_alloc(f, words[1], size, words[3], node, stamp);
		break;
	default:
		hl_pools_free(f, words[1], words[2], stamp);
	}
}

/*
 * No allocator gives out such an address, but a hostile program may say so, and the table of blocks
 * must not be asked about it. What is left of the event, if anything.
 */
static bool mend_addresses(struct hl_pending *e)
{
	if (e->type != HL_REC_MOVE_END)
		return hl_live_is_address(e->addr);
	if (!hl_live_is_address(e->addr))
		e->addr = 0;
	if (hl_live_is_address(e->old))
		return true;
	e->type = HL_REC_ALLOC;
	return e->addr;
}

/* A sample is an allocation that stands for others. */
static void read_sample(struct hl_feed *f, struct hl_pending *e, const uint64_t *words)
{
	bool moves = e->type == HL_REC_SAMPLE_MOVE;

	e->old = moves ? words[3] : 0;
	e->rate = f->proc->steering ? hl_steer_rate(f->proc->steering, words[3 + moves]) : 0;
	e->node = hl_feed_stack(f, words[2], words + 4 + moves, &e->size);
	e->type = moves ? HL_REC_MOVE_END : HL_REC_ALLOC;
}

/* Heap events wait in a batch, so that their slots in the live table are fetched ahead. */
static void heap_record(struct hl_feed *f, const uint64_t *words, uint64_t stamp)
{
	struct hl_proc *p = f->proc;
	struct hl_pending *e = &p->pending[p->n_pending];

	*e = (struct hl_pending){.stamp = stamp,
		.feed = f,
		.type = words[0] & 31,
		.func = (words[0] >> 5) & 31,
		.addr = words[1],
		.role = hl_feed_role(f),
		.node = HL_NODE_NONE};
	if (hl_unlikely(e->type == HL_REC_SAMPLE || e->type == HL_REC_SAMPLE_MOVE))
		read_sample(f, e, words);
	else if (e->type == HL_REC_ALLOC || e->type == HL_REC_FREE_STACK)
		e->node = hl_feed_stack(f, words[2], words + 3, &e->size);
	else if (e->type == HL_REC_ALLOC_WAY) {
		e->type = HL_REC_ALLOC;
		e->node = hl_feed_stack_named(f, words, &e->size);
	} else if (e->type == HL_REC_MOVE_END) {
		e->old = words[3];
		e->node = hl_feed_stack(f, words[2], words + 4, &e->size);
	}
	if (hl_unlikely(!hl_live_is_address(e->addr) || e->type == HL_REC_MOVE_END) &&
		!mend_addresses(e)) {
		p->counters.dropped_events++;
		return;
	}
	e->home = hl_live_line(&p->live, e->addr);
	hl_fetch(e->home);
	if (++p->n_pending == HL_PENDING_MAX)
		hl_proc_settle(p);
}

/* Of the hooks that were timed, for all of them. A hostile program may say any number. */
static uint64_t hook_ns(const struct hl_proc *p, uint64_t ticks)
{
	double ns = (double)ticks * p->ticks->ns_per_tick * HL_TIMED_EVERY;

	return ns < (double)INT64_MAX ? (uint64_t)ns : INT64_MAX;
}

void hl_proc_record(
	struct hl_proc *p, struct hl_feed *f, const uint64_t *words, uint32_t n, uint64_t stamp)
{
	if (f == p->execing)
		p->execing = NULL; /* it is still here */
	switch (words[0] & 31) {
	case HL_REC_EXEC:
		p->execing = f;
		break;
	case HL_REC_STACK:
		add_part(f, words[1], words + 2);
		break;
	case HL_REC_WAY:
		name_way(f, words[1]);
		break;
	case HL_REC_MODULE:
		module_record(p, words);
		break;
	case HL_REC_MARK:
		hl_proc_settle(p);
		mark_record(f, words, stamp);
		break;
	case HL_REC_MAP:
	case HL_REC_UNMAP:
	case HL_REC_REMAP:
		hl_proc_settle(p);
		map_record(f, words, stamp);
		break;
	case HL_REC_EXIT:
		p->has_exit = true;
		p->exit_status = (int32_t)words[1];
		p->cost = (struct hl_cost){
			words[2], words[3], words[4], words[5], words[6], 0, hook_ns(p, words[7])};
		break;
	case HL_REC_POOL_NAME:
	case HL_REC_POOL_ALLOC:
	case HL_REC_POOL_FREE:
		hl_proc_settle(p);
		pool_record(f, words, stamp);
		break;
	case HL_REC_TAG_NAME:
		hl_tags_name(f, (uint32_t)words[1], (uint32_t)(words[1] >> 32),
			(const char *)(words + 3), words[2]);
		break;
	case HL_REC_TAG:
		hl_tags_enter(f, (uint32_t)words[1]);
		break;
	case HL_REC_SWITCH:
		f->role = UINT32_MAX;
		f->parts.len = 0; /* of an event that never came */
		break;
	case HL_REC_PROCESS:
		break; /* region.c has read it */
	default:
		heap_record(f, words, stamp);
	}
}

void hl_proc_end(struct hl_proc *p, const struct hl_end *end)
{
	hl_books_end(p, end);
	for (size_t i = 0; i < p->feeds.len; i++)
		free_feed(p->feeds.data[i]);
	for (size_t i = 0; i < p->modules.len; i++)
		free(p->modules.data[i]);
	hl_vec_free(&p->feeds);
	hl_vec_free(&p->modules);
	hl_vec_free(&p->moves);
	hl_vec_free(&p->parked);
	hl_keep_fini(&p->keep);
	hl_calltree_fini(&p->tree);
	hl_live_fini(&p->live);
	hl_proc_tags_fini(&p->tags);
	hl_pools_fini(&p->pools);
	free(p);
}
