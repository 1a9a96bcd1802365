/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target_process.c - see target_process.h. Creates and ends targets, their thread streams and their
 * modules.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collect/match/match.h"
#include "collect/match/target_process.h"
#include "collect/control/steering.h"
#include "record/arch/cpu.h"

static uint64_t mono_to_unix(uint64_t mono)
{
	struct timespec ts;
	uint64_t now = hl_mono_ns();

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec - (now - mono);
}

static struct hl_trace_output *make_output(
	const struct hl_target *p, const struct hl_target_settings *b)
{
	return hl_trace_output_new(b->queue,
		&(struct hl_meta){
			.program = b->image->program,
			.command = b->image->command,
			.command_len = b->image->command_len,
			.arch = HL_ARCH_NAME,
			.clock = p->clock->counter ? "counter" : "tsc",
			.mode = hl_mode_name(b->steering ? b->steering->mode : HL_MODE_TRACE),
			.allocator = "",
			.start_unix_ns = mono_to_unix(p->start_ns),
			.pid = p->pid,
			.parent_pid = b->parent_pid,
			.free_stacks = b->free_stacks,
			.record_mmap = b->maps,
			.forked = b->forked,
			.taken_over = b->continued,
			.started_off = b->start_off,
			.zeroed = b->retain->zero_memory,
			.python_malloc = b->image->python_malloc,
			.php_malloc = b->image->php_malloc,
		},
		p->start_ns, b->durable, !b->pid_unknown, b->log);
}

static int on_node(void *arg, const struct hl_node *node)
{
	struct hl_target *p = arg;

	if (hl_calltree_nodes(&p->match.tree) >= HL_LIVE_NODE_MASK)
		return -ENOSPC;                    /* the live table has no room for its number */
	(void)hl_writer_add_node(p->writer, node); /* the writer remembers its errors */
	return 0;
}

struct hl_target *hl_target_new(const struct hl_target_settings *b)
{
	struct hl_target *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->serial = b->serial;
	p->pid = b->pid;
	p->pidfd = b->pidfd;
	p->forked = b->forked;
	p->pid_unknown = b->pid_unknown;
	hl_steering_add_target(p, b);
	p->clock = b->clock;
	p->start_ns = b->clock->counter ? hl_mono_ns() : hl_tsc_clock_ns(b->clock, b->start_stamp);
	if (hl_retain_init(&p->retain, b->mode, b->retain) ||
		hl_calltree_init(&p->match.tree, on_node, p) ||
		hl_live_init(&p->match.live, b->memory_limit, b->dir_fd))
		goto fail;
	p->output = make_output(p, b);
	if (p->output) {
		p->writer = hl_trace_output_writer(p->output);
		return p;
	}
fail:
	hl_calltree_fini(&p->match.tree);
	hl_live_fini(&p->match.live);
	free(p);
	return NULL;
}

static struct hl_thread_stream *find_stream(
	const struct hl_target *p, uint32_t tid, uint32_t shared_ring)
{
	/* Of several with this tid, the last one is alive. */
	for (size_t i = p->match.streams.len; i > 0; i--)
		if (p->match.streams.data[i - 1]->tid == tid &&
			p->match.streams.data[i - 1]->shared_ring == shared_ring)
			return p->match.streams.data[i - 1];
	return NULL;
}

struct hl_thread_stream *hl_thread_stream_sibling(const struct hl_thread_stream *f)
{
	struct hl_thread_stream *other = NULL;

	for (size_t i = f->target->match.streams.len; i > 0; i--) {
		struct hl_thread_stream *g = f->target->match.streams.data[i - 1];

		/* Two owned rings with one tid are of different threads: the tid was reused. */
		if (g == f || g->tid != f->tid || (!g->shared_ring && !f->shared_ring))
			continue;
		if (g->thread != UINT32_MAX)
			return g;
		other = other ? other : g;
	}
	return other;
}

static struct hl_thread_stream *new_stream(struct hl_target *p, uint32_t tid, uint32_t shared_ring)
{
	struct hl_thread_stream *f = calloc(1, sizeof(*f));

	if (!f || hl_vec_push(&p->match.streams, f)) {
		free(f);
		return NULL;
	}
	f->target = p;
	f->tid = tid;
	f->shared_ring = shared_ring;
	f->thread = f->role = UINT32_MAX;
	f->last_stack_word = UINT64_MAX;
	return f;
}

struct hl_thread_stream *hl_target_ring_owner(struct hl_target *p, uint32_t tid)
{
	return new_stream(p, tid, 0);
}

struct hl_thread_stream *hl_target_shared_stream(struct hl_target *p, uint32_t tid, uint32_t ring)
{
	struct hl_thread_stream *f = find_stream(p, tid, ring);

	return f ? f : new_stream(p, tid, ring);
}

static void free_stream(struct hl_thread_stream *f)
{
	hl_vec_free(&f->path);
	hl_vec_free(&f->partial_pcs);
	hl_vec_free(&f->path_pcs);
	hl_vec_free(&f->stack_nodes);
	hl_tag_ids_fini(&f->tags);
	free(f);
}

void hl_thread_stream_end(struct hl_thread_stream *f)
{
	struct hl_target *p = f->target;

	hl_target_flush(p);
	for (size_t i = 0; i < p->match.deferred.len; i++)
		if (p->match.deferred.data[i].stream == f)
			return; /* one of its events is still deferred */
	for (size_t i = 0; i < p->match.moves.len;)
		if (p->match.moves.data[i].stream == f)
			p->match.moves.data[i] =
				p->match.moves
					.data[--p->match.moves.len]; /* its block stays live */
		else
			i++;
	for (size_t i = 0; i < p->match.streams.len; i++)
		if (p->match.streams.data[i] == f) {
			p->match.streams.data[i] = p->match.streams.data[--p->match.streams.len];
			break;
		}
	free_stream(f);
}

void hl_thread_stream_end_shared(const struct hl_thread_stream *owner)
{
	struct hl_target *p = owner->target;

	for (size_t i = p->match.streams.len; i > 0; i--)
		if (i <= p->match.streams.len && p->match.streams.data[i - 1]->tid == owner->tid &&
			p->match.streams.data[i - 1]->shared_ring)
			hl_thread_stream_end(p->match.streams.data[i - 1]);
}

/* The same file is the same module, wherever and whenever it is loaded. */
static int module_id(
	struct hl_target *p, const char *path, const uint8_t *id, uint32_t id_len, uint32_t *out)
{
	size_t path_len = strlen(path) + 1;
	struct hl_module *m;

	for (uint32_t i = 0; i < p->match.modules.len; i++) {
		m = p->match.modules.data[i];
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
	if (hl_vec_push(&p->match.modules, m)) {
		free(m);
		return -ENOMEM;
	}
	(void)hl_trace_output_add_module(p->output, m);
	*out = (uint32_t)p->match.modules.len - 1;
	return 0;
}

void hl_target_add_module(struct hl_target *p, struct hl_module_range range, const char *path,
	const uint8_t *id, uint32_t id_len)
{
	if (range.end <= range.start)
		return;
	if (module_id(p, path, id, id_len, &range.module) ||
		hl_calltree_map(&p->match.tree, &range))
		p->match.out_of_memory = true;
}

uint32_t hl_target_add_role(struct hl_target *p, const struct hl_match_role *role)
{
	if (hl_vec_push(&p->match.roles, *role))
		p->match.out_of_memory = true;
	return p->match.n_roles++;
}

struct hl_counters hl_target_counters(const struct hl_target *p)
{
	struct hl_counters c = p->match.counters;

	c.dropped_events += p->drain.dropped_events;
	c.early_blocks = p->retain.early_blocks;
	return c;
}

void hl_target_end(struct hl_target *p, const struct hl_end *end)
{
	if (p->control.next_output)
		hl_trace_output_discard(p->control.next_output);
	hl_match_end(p, end);
	for (size_t i = 0; i < p->match.streams.len; i++)
		free_stream(p->match.streams.data[i]);
	for (size_t i = 0; i < p->match.modules.len; i++)
		free(p->match.modules.data[i]);
	hl_vec_free(&p->match.streams);
	hl_vec_free(&p->match.modules);
	hl_vec_free(&p->match.roles);
	hl_base_extras_fini(&p->match.base_extras);
	hl_vec_free(&p->match.moves);
	hl_vec_free(&p->match.deferred);
	hl_retain_fini(&p->retain);
	hl_calltree_fini(&p->match.tree);
	hl_live_fini(&p->match.live);
	hl_tag_paths_fini(&p->match.tags);
	hl_pool_blocks_fini(&p->match.pools);
	free(p);
}
