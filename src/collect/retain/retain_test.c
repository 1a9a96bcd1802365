/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retain_test.c - the same synthetic run recorded in every mode: all values from sums are equal,
 * blocks are written entirely or not at all, and all requested snapshots exist.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "collect/match/decode_record.h"
#include "collect/match/target_process.h"
#include "collect/output/durable.h"
#include "collect/output/write_queue.h"
#include "ring/ring_record.h"
#include "trace/read/reader.h"

#define SITES 40
#define SLOTS 512

struct run {
	struct hl_retain_settings settings;
	enum hl_mode mode;
	uint32_t n;           /* steps */
	uint64_t step_ns;     /* between events */
	uint32_t short_lived; /* of 1,000 blocks, how many are freed at once */
	uint32_t switch_every, snapshot_every;
	bool switch_short_lived; /* ... while a block is live that is freed at once */
	bool shrinks;            /* 256 blocks, one of which shrinks by a byte at each step */
	uint32_t tick_every, n_records; /* ticks advance by a lifetime between two records */
	uint64_t seed;
	void (*at_end)(struct run *); /* or NULL */

	struct hl_trace_output_settings output;
	struct hl_write_queue queue;
	struct hl_tsc_clock clock;
	char dir[64], path[128];
	struct hl_target *p;
	struct hl_thread_stream *f;
	uint64_t rng, now;
	struct {
		uint64_t addr, size;
		uint32_t site;
	} slots[SLOTS];
	uint64_t next_addr;
	struct hl_sums sites[SITES]; /* as the program itself counts */
	uint32_t n_snapshots;
	struct hl_sums at_snapshot[64]; /* of all sites, at the first snapshots */
	uint32_t max_queued;

	struct hl_reader *trace;
	const struct hl_trace_info *info;
	struct hl_node_totals *nodes;
	struct hl_sums *withheld;
	uint32_t n_nodes;
	off_t bytes;
};

static uint64_t random_below(struct run *r, uint64_t n)
{
	return hl_hash_u64(r->rng += HL_HASH_K) % n;
}

static void put_record(
	struct run *r, uint32_t type, uint32_t func, const uint64_t *words, uint32_t n)
{
	uint64_t all[8];

	r->now += r->step_ns;
	all[0] = hl_first_word(r->now, type, func);
	memcpy(all + 1, words, n * sizeof(*words));
	hl_target_process_record(r->p, r->f, all, n + 1, r->now);
	if (r->tick_every && ++r->n_records % r->tick_every == 0) {
		hl_target_flush(r->p);
		hl_retain_tick(r->p, hl_target_last_ns(r->p) + r->settings.lifetime_ns);
	}
	if (r->p->retain.n_queued > r->max_queued)
		r->max_queued = r->p->retain.n_queued;
}

static void alloc_block(struct run *r, uint32_t i, uint32_t site, uint64_t size)
{
	uint64_t addr = r->next_addr += 64;

	r->slots[i].addr = addr;
	r->slots[i].size = size;
	r->slots[i].site = site;
	r->sites[site].alloc_blocks++;
	r->sites[site].alloc_bytes += size;
	put_record(r, HL_REC_ALLOC, HL_FUNC_MALLOC,
		(uint64_t[]){addr, hl_stack_word(size, 1, 0), 0x400000 + site * 16}, 3);
}

static void count_free(struct run *r, uint32_t i)
{
	r->sites[r->slots[i].site].free_blocks++;
	r->sites[r->slots[i].site].free_bytes += r->slots[i].size;
}

static void free_block(struct run *r, uint32_t i)
{
	count_free(r, i);
	put_record(r, HL_REC_FREE, HL_FUNC_FREE, (uint64_t[]){r->slots[i].addr}, 1);
	r->slots[i].addr = 0;
}

static void realloc_block(struct run *r, uint32_t i, uint64_t size)
{
	uint64_t old = r->slots[i].addr, addr = r->next_addr += 64;
	uint32_t site = (uint32_t)random_below(r, SITES);

	put_record(r, HL_REC_MOVE_BEGIN, HL_FUNC_REALLOC, (uint64_t[]){old}, 1);
	count_free(r, i);
	r->slots[i].addr = addr;
	r->slots[i].size = size;
	r->slots[i].site = site;
	r->sites[site].alloc_blocks++;
	r->sites[site].alloc_bytes += size;
	put_record(r, HL_REC_MOVE_END, HL_FUNC_REALLOC,
		(uint64_t[]){addr, hl_stack_word(size, 1, 0), old, 0x400000 + site * 16}, 4);
}

static void take_snapshot(struct run *r)
{
	struct hl_sums *s = &r->at_snapshot[r->n_snapshots];

	hl_target_snapshot(r->p, "here", HL_SNAPSHOT_CTL);
	if (r->n_snapshots++ >= 64)
		return;
	for (int i = 0; i < SITES; i++) {
		s->alloc_blocks += r->sites[i].alloc_blocks;
		s->alloc_bytes += r->sites[i].alloc_bytes;
		s->free_blocks += r->sites[i].free_blocks;
		s->free_bytes += r->sites[i].free_bytes;
	}
}

static void play_step(struct run *r, uint32_t at)
{
	uint32_t i = (uint32_t)random_below(r, SLOTS), site = (uint32_t)random_below(r, SITES);
	uint64_t size = random_below(r, 5000);

	if (r->shrinks && r->slots[at % 256].addr) {
		realloc_block(r, at % 256, r->slots[at % 256].size - 1);
	} else if (r->shrinks) {
		alloc_block(r, at % 256, site, 100);
	} else if (random_below(r, 1000) < r->short_lived) {
		uint64_t addr;

		if (r->slots[SLOTS - 1].addr)
			free_block(r, SLOTS - 1);
		alloc_block(r, SLOTS - 1, site, size);
		addr = r->slots[SLOTS - 1].addr;
		if (r->switch_short_lived && at % r->switch_every == 0)
			hl_target_set_mode(r->p, (enum hl_mode)(at / r->switch_every % 3));
		if (random_below(r, 4) == 0)
			realloc_block(r, SLOTS - 1, size + 8);
		if (addr)
			free_block(r, SLOTS - 1);
	} else if (!r->slots[i].addr) {
		alloc_block(r, i, site, size);
	} else if (random_below(r, 3) == 0) {
		realloc_block(r, i, size);
	} else {
		free_block(r, i);
	}
	if (r->switch_every && !r->switch_short_lived &&
		at % r->switch_every == r->switch_every - 1)
		hl_target_set_mode(r->p, (enum hl_mode)random_below(r, 3));
	if (r->snapshot_every && at % r->snapshot_every == r->snapshot_every - 1)
		take_snapshot(r);
}

static void open_trace(struct run *r)
{
	struct hl_reader_refusal why;
	size_t last;
	int fd = open(r->path, O_RDONLY);

	r->bytes = lseek(fd, 0, SEEK_END);
	close(fd);
	assert_int_equal(hl_reader_open(&r->trace, r->path, &why), 0);
	assert_int_equal(hl_reader_info(r->trace, &r->info), 0);
	assert_int_equal(hl_reader_verify(r->trace, NULL), 0);
	assert_false(r->info->damaged);
	assert_int_equal(hl_reader_n_nodes(r->trace, &r->n_nodes), 0);
	r->nodes = calloc(r->n_nodes, sizeof(*r->nodes));
	r->withheld = calloc(r->n_nodes, sizeof(*r->withheld));
	last = hl_reader_n_keyframes(r->trace) - 1;
	assert_int_equal(hl_reader_load_keyframe(r->trace, last, r->nodes, r->n_nodes), 0);
	assert_int_equal(
		hl_reader_load_aggregated(r->trace, last, r->withheld, NULL, r->n_nodes), 0);
}

static void play_run(struct run *r)
{
	struct hl_proc_image image = {.program = "/made/up", .command = "", .parent_pid = 1};
	struct hl_end end = {.kind = HL_END_EXIT};
	struct hl_target_settings init = {.pid = (uint64_t)getpid(),
		.pidfd = -1,
		.image = &image,
		.clock = &r->clock,
		.queue = &r->queue,
		.memory_limit = SIZE_MAX,
		.dir_fd = -1,
		.durable = hl_durable_new(-1, 0),
		.pid_unknown = true,
		.mode = r->mode,
		.retain = &r->settings};

	strcpy(r->dir, "/tmp/heaplapse-keep-XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	r->output.pattern = "trace.hlt";
	r->output.dir_fd = open(r->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	r->queue.settings = &r->output;
	assert_int_equal(hl_write_queue_start(&r->queue), 0);
	r->clock = (struct hl_tsc_clock){.ns_per_tick = 1, .rate = INT64_C(1) << 32};
	r->rng = r->seed;
	r->next_addr = 0x100000;
	r->p = hl_target_new(&init);
	assert_non_null(r->p);
	r->f = hl_target_ring_owner(r->p, 7);
	for (uint32_t i = 0; i < r->n; i++)
		play_step(r, i);
	if (r->at_end)
		r->at_end(r);
	hl_target_end(r->p, &end);
	hl_write_queue_stop(&r->queue);
	hl_durable_drop(init.durable);
	snprintf(r->path, sizeof(r->path), "%s/trace.hlt", r->dir);
	open_trace(r);
}

static void cleanup(struct run *r)
{
	hl_reader_close(r->trace);
	free(r->nodes);
	free(r->withheld);
	unlink(r->path);
	close(r->output.dir_fd);
	rmdir(r->dir);
	memset(r, 0, sizeof(*r));
}

/* --- assertions --- */

static uint32_t site_of(struct run *r, uint32_t node)
{
	struct hl_node n;

	assert_int_equal(hl_reader_node(r->trace, node, &n), 0);
	return (uint32_t)(n.offset - 0x400000) / 16;
}

static void assert_same_sums(const struct hl_sums *a, const struct hl_sums *b)
{
	assert_int_equal(a->alloc_blocks, b->alloc_blocks);
	assert_int_equal(a->alloc_bytes, b->alloc_bytes);
	assert_int_equal(a->free_blocks, b->free_blocks);
	assert_int_equal(a->free_bytes, b->free_bytes);
}

static void assert_equals_program_counts(struct run *r)
{
	for (uint32_t i = 0; i < r->n_nodes; i++)
		assert_same_sums(&r->nodes[i].sums, &r->sites[site_of(r, i)]);
}

/* Totals, and for each stack all sums and the peak, equal those of a trace of every event. */
static void assert_equals_trace(struct run *r, struct run *full)
{
	const struct hl_totals *a = &r->info->totals, *b = &full->info->totals;

	assert_same_sums(&a->sums, &b->sums);
	assert_int_equal(a->peak_bytes, b->peak_bytes);
	assert_int_equal(a->peak_blocks, b->peak_blocks);
	assert_int_equal(a->peak_time_ns, b->peak_time_ns);
	assert_int_equal(a->temporary, b->temporary);
	assert_int_equal(a->events, b->events);
	assert_int_equal(a->stacks, b->stacks);
	assert_int_equal(r->n_nodes, full->n_nodes);
	for (uint32_t i = 0; i < r->n_nodes; i++) {
		assert_int_equal(r->nodes[i].peak_bytes, full->nodes[i].peak_bytes);
		assert_int_equal(r->nodes[i].peak_blocks, full->nodes[i].peak_blocks);
	}
}

/* Events and withheld blocks add up to all blocks; each free is of a block that was written. */
static void assert_whole_blocks(struct run *r, uint64_t least_life_ns)
{
	struct hl_sums *seen = calloc(r->n_nodes, sizeof(*seen));
	struct hl_chunk_events c = {0};
	uint64_t allocs = 0, last = 0;
	uint8_t *alive = calloc(r->info->totals.sums.alloc_blocks + 1, 1);

	for (size_t i = 0; i < hl_reader_n_chunks(r->trace); i++) {
		assert_int_equal(hl_reader_decode(r->trace, i, &c), 0);
		for (size_t k = 0; k < c.n_events; k++) {
			const struct hl_event *e = &c.events[k];

			assert_true(e->time_ns >= last);
			last = e->time_ns;
			if (e->op == HL_OP_ALLOC) {
				assert_int_equal(e->ordinal, allocs++);
				alive[e->ordinal] = 1;
				seen[e->node].alloc_blocks++;
				seen[e->node].alloc_bytes += e->size;
			} else {
				assert_true(e->ordinal < allocs && alive[e->ordinal]);
				alive[e->ordinal] = 0;
				seen[e->node].free_blocks++;
				seen[e->node].free_bytes += e->size;
				assert_true(e->lifetime_class >= hl_lifetime_class(least_life_ns));
			}
		}
	}
	for (uint32_t i = 0; i < r->n_nodes; i++) {
		seen[i].alloc_blocks += r->withheld[i].alloc_blocks;
		seen[i].alloc_bytes += r->withheld[i].alloc_bytes;
		seen[i].free_blocks += r->withheld[i].free_blocks;
		seen[i].free_bytes += r->withheld[i].free_bytes;
		assert_same_sums(&seen[i], &r->nodes[i].sums);
	}
	assert_int_equal(
		allocs + r->info->aggregated.alloc_blocks, r->info->totals.sums.alloc_blocks);
	hl_chunk_events_free(&c);
	free(seen);
	free(alive);
}

static const struct run base = {.n = 20000,
	.step_ns = 64000,
	.short_lived = 700,
	.seed = 1,
	.settings = {.lifetime_ns = 10000000}};

static void sums_are_the_same_in_every_mode(void **state)
{
	static const enum hl_mode modes[] = {HL_MODE_COUNT, HL_MODE_CULL};
	struct run full = base;

	play_run(&full);
	assert_equals_program_counts(&full);
	assert_int_equal(full.info->aggregated.alloc_blocks, 0);
	for (size_t i = 0; i < 2; i++) {
		struct run r = base;

		r.mode = modes[i];
		play_run(&r);
		assert_equals_program_counts(&r);
		assert_equals_trace(&r, &full);
		assert_whole_blocks(&r, modes[i] == HL_MODE_CULL ? 10000000 : 0);
		assert_true(r.info->aggregated.alloc_blocks > 10000);
		assert_true(r.bytes < full.bytes / 3);
		if (modes[i] == HL_MODE_CULL) { /* exactly the short-lived blocks */
			assert_int_equal(
				r.info->aggregated.alloc_blocks, r.info->aggregated.free_blocks);
			assert_int_equal(hl_reader_n_live_sets(r.trace), 1);
		} else {
			assert_int_equal(hl_reader_n_chunks(r.trace), 0);
		}
		cleanup(&r);
	}
	cleanup(&full);
}

/* A thousand mode changes. */
static void modes_may_change_at_any_time(void **state)
{
	struct run full = base, r = base;

	full.n = r.n = 30000;
	full.switch_every = r.switch_every = 29;
	full.settings.pending_max = 64;
	play_run(&r);
	play_run(&full); /* the same steps with other settings */
	assert_equals_program_counts(&r);
	assert_equals_trace(&r, &full);
	assert_whole_blocks(&r, 0);
	assert_whole_blocks(&full, 0);
	assert_true(r.info->aggregated.alloc_blocks > 0);
	assert_true(r.info->aggregated.alloc_blocks < r.info->totals.sums.alloc_blocks);
	cleanup(&r);
	cleanup(&full);
}

static void queue_length_is_bounded(void **state)
{
	struct run r = base, full = base;

	r.mode = HL_MODE_CULL;
	r.settings.lifetime_ns = UINT64_C(3600000000000);
	r.settings.pending_max = 100;
	play_run(&r);
	play_run(&full);
	assert_true(r.max_queued <= 100 + 8);
	/* The written blocks are those that were released early, and those that were queued at the
	 * end. */
	assert_in_range(r.info->totals.sums.alloc_blocks - r.info->aggregated.alloc_blocks -
				r.info->counters.early_blocks,
		0, 100);
	assert_true(r.info->counters.early_blocks > 0);
	assert_int_equal(full.info->counters.early_blocks, 0);
	assert_equals_trace(&r, &full);
	assert_whole_blocks(&r, 0);
	cleanup(&r);
	cleanup(&full);
}

static void snapshots_have_the_sums_of_their_moment(void **state)
{
	for (int mode = 0; mode < 3; mode++) {
		struct run r = base;
		uint32_t found = 0;

		r.mode = (enum hl_mode)mode;
		r.snapshot_every = 500;
		play_run(&r);
		for (size_t i = 0; i < hl_reader_n_keyframes(r.trace); i++) {
			struct hl_snapshot_info s;
			struct hl_totals t;

			if (!hl_reader_keyframe(r.trace, i)->snapshot)
				continue;
			assert_int_equal(hl_reader_snapshot(r.trace, i, &s), 0);
			if (s.cause == HL_SNAPSHOT_CTL) {
				assert_string_equal(s.label, "here");
				assert_int_equal(hl_reader_keyframe_totals(r.trace, i, &t), 0);
				assert_same_sums(&t.sums, &r.at_snapshot[found++]);
			}
			free(s.label);
		}
		assert_int_equal(found, r.n_snapshots);
		cleanup(&r);
	}
}

static uint32_t count_cause(struct run *r, enum hl_snapshot_cause cause)
{
	uint32_t n = 0;

	for (size_t i = 0; i < hl_reader_n_keyframes(r->trace); i++) {
		struct hl_snapshot_info s = {0};

		if (hl_reader_snapshot(r->trace, i, &s) == 0)
			n += s.cause == cause;
		free(s.label);
	}
	return n;
}

/* Lifetimes shorter than the time between two scans: blocks are written before their free arrives,
 * which may be the very next event and make them temporary. */
static void temporary_blocks_are_counted_with_tiny_lifetimes(void **state)
{
	static const uint64_t lifetimes_ns[] = {1000, 2000, 64000};
	struct run full = base;

	full.step_ns = 1600;
	play_run(&full);
	assert_true(full.info->totals.temporary > 1000);
	for (size_t i = 0; i < HL_ARRAY_LEN(lifetimes_ns); i++) {
		struct run r = base;

		r.step_ns = full.step_ns;
		r.mode = HL_MODE_CULL;
		r.settings.lifetime_ns = lifetimes_ns[i];
		r.tick_every = 3;
		play_run(&r);
		assert_equals_trace(&r, &full);
		assert_equals_program_counts(&r);
		assert_whole_blocks(&r, 0);
		cleanup(&r);
	}
	cleanup(&full);
}

/* The mode changes between the allocation and the free of a block. */
static void temporary_blocks_are_counted_across_mode_changes(void **state)
{
	struct run full = base, r = base;

	play_run(&full);
	r.mode = HL_MODE_CULL;
	r.switch_every = 10;
	r.switch_short_lived = true;
	play_run(&r);
	assert_true(r.info->mode_changes > 50);
	assert_equals_trace(&r, &full);
	assert_equals_program_counts(&r);
	cleanup(&r);
	cleanup(&full);
}

/* A churn of terabytes makes thousands of snapshots, not millions; the others are taken when
 * due. */
static void snapshots_are_bounded_and_due(void **state)
{
	struct run r = base;
	uint32_t churn;

	r.mode = HL_MODE_COUNT;
	r.n = 200000; /* about 40 s */
	r.settings.churn_bytes = 1;
	r.settings.churn_given = true;
	r.settings.every_ns = UINT64_C(5000000000);
	r.settings.at_live = 300000;
	play_run(&r);
	churn = count_cause(&r, HL_SNAPSHOT_CHURN);
	assert_in_range(churn, 1000, 3000);
	assert_in_range(count_cause(&r, HL_SNAPSHOT_TIME), 0, 8);
	assert_true(count_cause(&r, HL_SNAPSHOT_LIVE) >= 1);
	assert_int_equal(count_cause(&r, HL_SNAPSHOT_END), 1);
	cleanup(&r);
}

/* --churn-gap: constant, however many there are; 0 is no limit. */
static void churn_gap_can_be_set(void **state)
{
	static const struct {
		uint64_t gap_ns;
		uint32_t n, least, most;
	} cases[] = {
		{0, 4000, 7000, 9000},        /* nearly every event */
		{1000000, 20000, 2000, 4000}, /* about 4 s */
		{UINT64_C(1000000000), 20000, 3, 5},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct run r = base;

		r.mode = HL_MODE_COUNT;
		r.n = cases[i].n;
		r.settings.churn_bytes = 1;
		r.settings.churn_given = r.settings.churn_gap_given = true;
		r.settings.churn_gap_ns = cases[i].gap_ns;
		play_run(&r);
		assert_in_range(count_cause(&r, HL_SNAPSHOT_CHURN), cases[i].least, cases[i].most);
		cleanup(&r);
	}
}

/* No events for 20 s; a tick every 10 ms, and requested snapshots. */
static void stay_idle(struct run *r)
{
	hl_target_flush(r->p);
	for (uint64_t ms = 0; ms < 20000; ms += 10) {
		hl_retain_tick(r->p, r->now + ms * 1000000);
		if (ms % 500 == 250)
			take_snapshot(r);
	}
}

static void timed_snapshots_are_taken_while_idle(void **state)
{
	struct run r = base;

	r.n = 10;
	r.settings.every_ns = UINT64_C(1000000000);
	r.at_end = stay_idle;
	play_run(&r);
	assert_in_range(count_cause(&r, HL_SNAPSHOT_TIME), 19, 20);
	cleanup(&r);
}

/* A viewer follows for 20 s, in which there are events until half of them are over. */
static void be_followed(struct run *r)
{
	r->p->retain.is_followed = true;
	for (uint64_t ms = 0; ms < 20000; ms += 10) {
		r->now += 10000000;
		if (ms < 10000) {
			alloc_block(r, 1, 0, 1);
			free_block(r, 1);
		}
		hl_target_flush(r->p);
		hl_retain_tick(r->p, r->now);
	}
}

static size_t count_keyframes(enum hl_mode mode, void (*at_end)(struct run *), struct run *r)
{
	*r = base;
	r->mode = mode;
	r->n = 10;
	r->settings.churn_given = true; /* no snapshots of its own */
	r->at_end = at_end;
	play_run(r);
	assert_false(r->info->damaged);
	return hl_reader_n_keyframes(r->trace);
}

/* In modes with sums: one keyframe a second while something happens. They are no snapshots. */
static void viewers_get_a_keyframe_each_second(void **state)
{
	static const enum hl_mode modes[] = {HL_MODE_TRACE, HL_MODE_COUNT, HL_MODE_CULL};

	for (size_t i = 0; i < HL_ARRAY_LEN(modes); i++) {
		struct run r;
		size_t alone = count_keyframes(modes[i], NULL, &r), followed;

		cleanup(&r);
		followed = count_keyframes(modes[i], be_followed, &r) - alone;
		if (modes[i] == HL_MODE_TRACE)
			assert_int_equal(followed, 0);
		else
			assert_in_range(followed, 10, 12);
		for (size_t k = 0; k + 1 < hl_reader_n_keyframes(r.trace); k++)
			assert_false(hl_reader_keyframe(r.trace, k)->snapshot);
		cleanup(&r);
	}
}

static void pass_ms(struct run *r, uint64_t ms)
{
	r->now += ms * 1000000;
	alloc_block(r, 1, 0, 1);
	free_block(r, 1);
	hl_target_flush(r->p);
}

/* Three rises, each soon after the one before: one with later events, one without, and one that is
 * too short. */
static void raise_live_bytes(struct run *r)
{
	alloc_block(r, 0, 0, 1000000);
	pass_ms(r, 3);
	free_block(r, 0);
	pass_ms(r, 3);
	alloc_block(r, 0, 0, 1000000);
	pass_ms(r, 1);
	pass_ms(r, 10);
	assert_int_equal(r->p->retain.n_auto, 2);
	free_block(r, 0);
	pass_ms(r, 1);
	alloc_block(r, 0, 0, 1000000);
	hl_target_flush(r->p);
	hl_retain_tick(r->p, r->now + 1000000);
	assert_int_equal(r->p->retain.n_auto, 2);
	hl_retain_tick(r->p, r->now + 20000000);
	assert_int_equal(r->p->retain.n_auto, 3);
	free_block(r, 0);
	pass_ms(r, 1);
	alloc_block(r, 0, 0, 1000000);
	pass_ms(r, 1);
	free_block(r, 0);
	pass_ms(r, 100);
}

static void live_snapshots_are_delayed_not_lost(void **state)
{
	struct run r = base;

	r.n = 0;
	r.settings.at_live = 1000000;
	r.at_end = raise_live_bytes;
	play_run(&r);
	assert_int_equal(count_cause(&r, HL_SNAPSHOT_LIVE), 3);
	cleanup(&r);
}

/* The fast path does not count live bytes if no trigger needs them, so the counter may have any
 * value on the slow path. */
static void no_snapshot_without_a_threshold(void **state)
{
	struct run r = base;

	r.n = 25600;
	r.shrinks = true;
	play_run(&r);
	assert_int_equal(count_cause(&r, HL_SNAPSHOT_LIVE), 0);
	cleanup(&r);
}

/* An hour and a quarter of an hour: the file size grows with the blocks that survive. */
static void file_size_grows_with_surviving_blocks(void **state)
{
	struct run quarter = base, hour = base;
	uint64_t lasting;

	quarter.mode = hour.mode = HL_MODE_CULL;
	quarter.settings.lifetime_ns = hour.settings.lifetime_ns = UINT64_C(10000000000);
	quarter.n = 250000;
	hour.n = 1000000;
	quarter.step_ns = hour.step_ns = 1600000; /* about 2.3 events per step */
	quarter.short_lived = 996;
	hour.short_lived = 999;
	play_run(&quarter);
	play_run(&hour);
	assert_true(hour.info->end.duration_ns > UINT64_C(3400000000000));
	lasting = hour.info->totals.sums.alloc_blocks - hour.info->aggregated.alloc_blocks;
	assert_true(lasting < hour.info->totals.sums.alloc_blocks / 500);
	assert_true(hour.bytes < quarter.bytes * 3 / 2);
	assert_true(hour.p == NULL || hour.max_queued < 1000);
	assert_equals_program_counts(&hour);
	cleanup(&quarter);
	cleanup(&hour);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_the_same_in_every_mode),
		cmocka_unit_test(modes_may_change_at_any_time),
		cmocka_unit_test(queue_length_is_bounded),
		cmocka_unit_test(snapshots_have_the_sums_of_their_moment),
		cmocka_unit_test(temporary_blocks_are_counted_with_tiny_lifetimes),
		cmocka_unit_test(temporary_blocks_are_counted_across_mode_changes),
		cmocka_unit_test(snapshots_are_bounded_and_due),
		cmocka_unit_test(churn_gap_can_be_set),
		cmocka_unit_test(timed_snapshots_are_taken_while_idle),
		cmocka_unit_test(viewers_get_a_keyframe_each_second),
		cmocka_unit_test(live_snapshots_are_delayed_not_lost),
		cmocka_unit_test(no_snapshot_without_a_threshold),
		cmocka_unit_test(file_size_grows_with_surviving_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
