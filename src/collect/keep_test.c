/*
 * keep_test.c - the same made-up run recorded in every mode: all numbers that come from sums are
 * equal, what is written is whole blocks, and what is asked to be kept is.
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
#include "collect/proc.h"
#include "ring/record.h"
#include "trace/reader.h"

#define SITES 40
#define SLOTS 512

struct run {
	struct hl_keep_settings set;
	enum hl_mode mode;
	uint32_t n;       /* steps */
	uint64_t step_ns; /* between events */
	uint32_t young;   /* of 1,000 blocks so many die at once */
	uint32_t switch_every, snapshot_every;
	bool switch_young;              /* ... while a block is there that dies at once */
	bool shrinks;                   /* 256 blocks, one of them by a byte at each step */
	uint32_t tick_every, n_records; /* the clock goes on by a lifetime between two records */
	uint64_t seed;
	void (*last_act)(struct run *); /* or NULL */

	struct hl_output_settings output;
	struct hl_queue queue;
	struct hl_ticks ticks;
	char dir[64], path[128];
	struct hl_proc *p;
	struct hl_feed *f;
	uint64_t rng, now;
	struct {
		uint64_t addr, size;
		uint32_t site;
	} slots[SLOTS];
	uint64_t next_addr;
	struct hl_sums sites[SITES]; /* what the program itself counts */
	uint32_t n_snapshots;
	struct hl_sums at_snapshot[64]; /* of all, at the first ones */
	uint32_t most_waiting;

	struct hl_reader *trace;
	const struct hl_trace_info *info;
	struct hl_node_totals *nodes;
	struct hl_sums *withheld;
	uint32_t n_nodes;
	off_t bytes;
};

static uint64_t below(struct run *r, uint64_t n)
{
	return hl_hash_u64(r->rng += HL_HASH_K) % n;
}

static void record(struct run *r, uint32_t type, uint32_t func, const uint64_t *words, uint32_t n)
{
	uint64_t all[8];

	r->now += r->step_ns;
	all[0] = hl_first_word(r->now, type, func);
	memcpy(all + 1, words, n * sizeof(*words));
	hl_proc_record(r->p, r->f, all, n + 1, r->now);
	if (r->tick_every && ++r->n_records % r->tick_every == 0) {
		hl_proc_settle(r->p);
		hl_keep_tick(r->p, hl_proc_last_ns(r->p) + r->set.lifetime_ns);
	}
	if (r->p->keep.n_waiting > r->most_waiting)
		r->most_waiting = r->p->keep.n_waiting;
}

static void make(struct run *r, uint32_t i, uint32_t site, uint64_t size)
{
	uint64_t addr = r->next_addr += 64;

	r->slots[i].addr = addr;
	r->slots[i].size = size;
	r->slots[i].site = site;
	r->sites[site].alloc_blocks++;
	r->sites[site].alloc_bytes += size;
	record(r, HL_REC_ALLOC, HL_FUNC_MALLOC,
		(uint64_t[]){addr, hl_stack_word(size, 1, 0), 0x400000 + site * 16}, 3);
}

static void gone(struct run *r, uint32_t i)
{
	r->sites[r->slots[i].site].free_blocks++;
	r->sites[r->slots[i].site].free_bytes += r->slots[i].size;
}

static void drop(struct run *r, uint32_t i)
{
	gone(r, i);
	record(r, HL_REC_FREE, HL_FUNC_FREE, (uint64_t[]){r->slots[i].addr}, 1);
	r->slots[i].addr = 0;
}

static void resize(struct run *r, uint32_t i, uint64_t size)
{
	uint64_t old = r->slots[i].addr, addr = r->next_addr += 64;
	uint32_t site = (uint32_t)below(r, SITES);

	record(r, HL_REC_MOVE_BEGIN, HL_FUNC_REALLOC, (uint64_t[]){old}, 1);
	gone(r, i);
	r->slots[i].addr = addr;
	r->slots[i].size = size;
	r->slots[i].site = site;
	r->sites[site].alloc_blocks++;
	r->sites[site].alloc_bytes += size;
	record(r, HL_REC_MOVE_END, HL_FUNC_REALLOC,
		(uint64_t[]){addr, hl_stack_word(size, 1, 0), old, 0x400000 + site * 16}, 4);
}

static void snapshot(struct run *r)
{
	struct hl_sums *s = &r->at_snapshot[r->n_snapshots];

	hl_proc_snapshot(r->p, "here", HL_SNAPSHOT_CTL);
	if (r->n_snapshots++ >= 64)
		return;
	for (int i = 0; i < SITES; i++) {
		s->alloc_blocks += r->sites[i].alloc_blocks;
		s->alloc_bytes += r->sites[i].alloc_bytes;
		s->free_blocks += r->sites[i].free_blocks;
		s->free_bytes += r->sites[i].free_bytes;
	}
}

static void step(struct run *r, uint32_t at)
{
	uint32_t i = (uint32_t)below(r, SLOTS), site = (uint32_t)below(r, SITES);
	uint64_t size = below(r, 5000);

	if (r->shrinks && r->slots[at % 256].addr) {
		resize(r, at % 256, r->slots[at % 256].size - 1);
	} else if (r->shrinks) {
		make(r, at % 256, site, 100);
	} else if (below(r, 1000) < r->young) {
		uint64_t addr;

		if (r->slots[SLOTS - 1].addr)
			drop(r, SLOTS - 1);
		make(r, SLOTS - 1, site, size);
		addr = r->slots[SLOTS - 1].addr;
		if (r->switch_young && at % r->switch_every == 0)
			hl_proc_set_mode(r->p, (enum hl_mode)(at / r->switch_every % 3));
		if (below(r, 4) == 0)
			resize(r, SLOTS - 1, size + 8);
		if (addr)
			drop(r, SLOTS - 1);
	} else if (!r->slots[i].addr) {
		make(r, i, site, size);
	} else if (below(r, 3) == 0) {
		resize(r, i, size);
	} else {
		drop(r, i);
	}
	if (r->switch_every && !r->switch_young && at % r->switch_every == r->switch_every - 1)
		hl_proc_set_mode(r->p, (enum hl_mode)below(r, 3));
	if (r->snapshot_every && at % r->snapshot_every == r->snapshot_every - 1)
		snapshot(r);
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
	assert_int_equal(hl_reader_verify(r->trace), 0);
	assert_false(r->info->damaged);
	assert_int_equal(hl_reader_n_nodes(r->trace, &r->n_nodes), 0);
	r->nodes = calloc(r->n_nodes, sizeof(*r->nodes));
	r->withheld = calloc(r->n_nodes, sizeof(*r->withheld));
	last = hl_reader_n_keyframes(r->trace) - 1;
	assert_int_equal(hl_reader_load_keyframe(r->trace, last, r->nodes, r->n_nodes), 0);
	assert_int_equal(hl_reader_load_withheld(r->trace, last, r->withheld, NULL, r->n_nodes), 0);
}

static void play(struct run *r)
{
	struct hl_image image = {.program = "/made/up", .command = "", .parent_pid = 1};
	struct hl_end end = {.kind = HL_END_EXIT};
	struct hl_proc_birth birth = {.pid = (uint64_t)getpid(),
		.image = &image,
		.ticks = &r->ticks,
		.queue = &r->queue,
		.memory_limit = SIZE_MAX,
		.dir_fd = -1,
		.durable = hl_durable_new(-1, 0),
		.nameless = true,
		.mode = r->mode,
		.keep = &r->set};

	strcpy(r->dir, "/tmp/heaplapse-keep-XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	r->output.pattern = "trace.hlt";
	r->output.dir_fd = open(r->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	r->queue.settings = &r->output;
	assert_int_equal(hl_queue_start(&r->queue), 0);
	r->ticks = (struct hl_ticks){.ns_per_tick = 1, .rate = INT64_C(1) << 32};
	r->rng = r->seed;
	r->next_addr = 0x100000;
	r->p = hl_proc_new(&birth);
	assert_non_null(r->p);
	r->f = hl_proc_owner(r->p, 7);
	for (uint32_t i = 0; i < r->n; i++)
		step(r, i);
	if (r->last_act)
		r->last_act(r);
	hl_proc_end(r->p, &end);
	hl_queue_stop(&r->queue);
	hl_durable_drop(birth.durable);
	snprintf(r->path, sizeof(r->path), "%s/trace.hlt", r->dir);
	open_trace(r);
}

static void forget(struct run *r)
{
	hl_reader_close(r->trace);
	free(r->nodes);
	free(r->withheld);
	unlink(r->path);
	close(r->output.dir_fd);
	rmdir(r->dir);
	memset(r, 0, sizeof(*r));
}

/* --- what must hold --- */

static uint32_t site_of(struct run *r, uint32_t node)
{
	struct hl_node n;

	assert_int_equal(hl_reader_node(r->trace, node, &n), 0);
	return (uint32_t)(n.offset - 0x400000) / 16;
}

static void same_sums(const struct hl_sums *a, const struct hl_sums *b)
{
	assert_int_equal(a->alloc_blocks, b->alloc_blocks);
	assert_int_equal(a->alloc_bytes, b->alloc_bytes);
	assert_int_equal(a->free_blocks, b->free_blocks);
	assert_int_equal(a->free_bytes, b->free_bytes);
}

static void equals_what_the_program_counted(struct run *r)
{
	for (uint32_t i = 0; i < r->n_nodes; i++)
		same_sums(&r->nodes[i].sums, &r->sites[site_of(r, i)]);
}

/* Totals, and by stack all sums and the peak: the same as those of a trace of every event. */
static void equals_trace(struct run *r, struct run *whole)
{
	const struct hl_totals *a = &r->info->totals, *b = &whole->info->totals;

	same_sums(&a->sums, &b->sums);
	assert_int_equal(a->peak_bytes, b->peak_bytes);
	assert_int_equal(a->peak_blocks, b->peak_blocks);
	assert_int_equal(a->peak_time_ns, b->peak_time_ns);
	assert_int_equal(a->temporary, b->temporary);
	assert_int_equal(a->events, b->events);
	assert_int_equal(a->stacks, b->stacks);
	assert_int_equal(r->n_nodes, whole->n_nodes);
	for (uint32_t i = 0; i < r->n_nodes; i++) {
		assert_int_equal(r->nodes[i].peak_bytes, whole->nodes[i].peak_bytes);
		assert_int_equal(r->nodes[i].peak_blocks, whole->nodes[i].peak_blocks);
	}
}

/* Events and what is withheld are all; each free is of a block that was written. */
static void is_whole(struct run *r, uint64_t least_life_ns)
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
				assert_true(e->life_q >= hl_life_class(least_life_ns));
			}
		}
	}
	for (uint32_t i = 0; i < r->n_nodes; i++) {
		seen[i].alloc_blocks += r->withheld[i].alloc_blocks;
		seen[i].alloc_bytes += r->withheld[i].alloc_bytes;
		seen[i].free_blocks += r->withheld[i].free_blocks;
		seen[i].free_bytes += r->withheld[i].free_bytes;
		same_sums(&seen[i], &r->nodes[i].sums);
	}
	assert_int_equal(
		allocs + r->info->withheld.alloc_blocks, r->info->totals.sums.alloc_blocks);
	hl_chunk_events_free(&c);
	free(seen);
	free(alive);
}

static const struct run base = {
	.n = 20000, .step_ns = 64000, .young = 700, .seed = 1, .set = {.lifetime_ns = 10000000}};

static void sums_are_the_same_in_every_mode(void **state)
{
	static const enum hl_mode modes[] = {HL_MODE_COUNT, HL_MODE_CULL};
	struct run whole = base;

	play(&whole);
	equals_what_the_program_counted(&whole);
	assert_int_equal(whole.info->withheld.alloc_blocks, 0);
	for (size_t i = 0; i < 2; i++) {
		struct run r = base;

		r.mode = modes[i];
		play(&r);
		equals_what_the_program_counted(&r);
		equals_trace(&r, &whole);
		is_whole(&r, modes[i] == HL_MODE_CULL ? 10000000 : 0);
		assert_true(r.info->withheld.alloc_blocks > 10000);
		assert_true(r.bytes < whole.bytes / 3);
		if (modes[i] == HL_MODE_CULL) { /* who died young, and nobody else */
			assert_int_equal(
				r.info->withheld.alloc_blocks, r.info->withheld.free_blocks);
			assert_int_equal(hl_reader_n_live_sets(r.trace), 1);
		} else {
			assert_int_equal(hl_reader_n_chunks(r.trace), 0);
		}
		forget(&r);
	}
	forget(&whole);
}

/* A thousand times from one mode to another. */
static void modes_may_change_at_any_time(void **state)
{
	struct run whole = base, r = base;

	whole.n = r.n = 30000;
	whole.switch_every = r.switch_every = 29;
	whole.set.pending_max = 64;
	play(&r);
	play(&whole); /* the same steps, others settings */
	equals_what_the_program_counted(&r);
	equals_trace(&r, &whole);
	is_whole(&r, 0);
	is_whole(&whole, 0);
	assert_true(r.info->withheld.alloc_blocks > 0);
	assert_true(r.info->withheld.alloc_blocks < r.info->totals.sums.alloc_blocks);
	forget(&r);
	forget(&whole);
}

static void what_waits_is_bounded(void **state)
{
	struct run r = base, whole = base;

	r.mode = HL_MODE_CULL;
	r.set.lifetime_ns = UINT64_C(3600000000000);
	r.set.pending_max = 100;
	play(&r);
	play(&whole);
	assert_true(r.most_waiting <= 100 + 8);
	/* Those that were pushed out, and those that waited to the end, are all that is written. */
	assert_in_range(r.info->totals.sums.alloc_blocks - r.info->withheld.alloc_blocks -
				r.info->counters.early_blocks,
		0, 100);
	assert_true(r.info->counters.early_blocks > 0);
	assert_int_equal(whole.info->counters.early_blocks, 0);
	equals_trace(&r, &whole);
	is_whole(&r, 0);
	forget(&r);
	forget(&whole);
}

static void snapshots_are_of_their_moment(void **state)
{
	for (int mode = 0; mode < 3; mode++) {
		struct run r = base;
		uint32_t found = 0;

		r.mode = (enum hl_mode)mode;
		r.snapshot_every = 500;
		play(&r);
		for (size_t i = 0; i < hl_reader_n_keyframes(r.trace); i++) {
			struct hl_snapshot_info s;
			struct hl_totals t;

			if (!hl_reader_keyframe(r.trace, i)->snapshot)
				continue;
			assert_int_equal(hl_reader_snapshot(r.trace, i, &s), 0);
			if (s.cause == HL_SNAPSHOT_CTL) {
				assert_string_equal(s.label, "here");
				assert_int_equal(hl_reader_keyframe_totals(r.trace, i, &t), 0);
				same_sums(&t.sums, &r.at_snapshot[found++]);
			}
			free(s.label);
		}
		assert_int_equal(found, r.n_snapshots);
		forget(&r);
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

/*
 * Lifetimes shorter than the time between two looks at the rings: blocks are written while their
 * free is still to come, which then may be the very next event and make them temporary.
 */
static void temporary_blocks_are_known_in_microseconds(void **state)
{
	static const uint64_t lifetimes_ns[] = {1000, 2000, 64000};
	struct run whole = base;

	whole.step_ns = 1600;
	play(&whole);
	assert_true(whole.info->totals.temporary > 1000);
	for (size_t i = 0; i < HL_ARRAY_LEN(lifetimes_ns); i++) {
		struct run r = base;

		r.step_ns = whole.step_ns;
		r.mode = HL_MODE_CULL;
		r.set.lifetime_ns = lifetimes_ns[i];
		r.tick_every = 3;
		play(&r);
		equals_trace(&r, &whole);
		equals_what_the_program_counted(&r);
		is_whole(&r, 0);
		forget(&r);
	}
	forget(&whole);
}

/* The mode becomes another between a block's birth and its death. */
static void temporary_blocks_outlive_a_mode(void **state)
{
	struct run whole = base, r = base;

	play(&whole);
	r.mode = HL_MODE_CULL;
	r.switch_every = 10;
	r.switch_young = true;
	play(&r);
	assert_true(r.info->mode_changes > 50);
	equals_trace(&r, &whole);
	equals_what_the_program_counted(&r);
	forget(&r);
	forget(&whole);
}

/* A churn of terabytes makes thousands of snapshots, not millions; the others come when due. */
static void snapshots_are_bounded_and_due(void **state)
{
	struct run r = base;
	uint32_t churn;

	r.mode = HL_MODE_COUNT;
	r.n = 200000; /* some 40 s */
	r.set.churn_bytes = 1;
	r.set.churn_given = true;
	r.set.every_ns = UINT64_C(5000000000);
	r.set.at_live = 300000;
	play(&r);
	churn = count_cause(&r, HL_SNAPSHOT_CHURN);
	assert_in_range(churn, 1000, 3000);
	assert_in_range(count_cause(&r, HL_SNAPSHOT_TIME), 0, 8);
	assert_true(count_cause(&r, HL_SNAPSHOT_LIVE) >= 1);
	assert_int_equal(count_cause(&r, HL_SNAPSHOT_END), 1);
	forget(&r);
}

/* --churn-gap: constant, however many there are; 0 is no limit. */
static void the_gap_of_churn_can_be_set(void **state)
{
	static const struct {
		uint64_t gap_ns;
		uint32_t n, least, most;
	} cases[] = {
		{0, 4000, 7000, 9000},        /* nearly every event */
		{1000000, 20000, 2000, 4000}, /* some 4 s */
		{UINT64_C(1000000000), 20000, 3, 5},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct run r = base;

		r.mode = HL_MODE_COUNT;
		r.n = cases[i].n;
		r.set.churn_bytes = 1;
		r.set.churn_given = r.set.churn_gap_given = true;
		r.set.churn_gap_ns = cases[i].gap_ns;
		play(&r);
		assert_in_range(count_cause(&r, HL_SNAPSHOT_CHURN), cases[i].least, cases[i].most);
		forget(&r);
	}
}

/* Nothing happens for 20 s, and somebody looks in each 10 ms, or asks for a snapshot. */
static void sleep_on(struct run *r)
{
	hl_proc_settle(r->p);
	for (uint64_t ms = 0; ms < 20000; ms += 10) {
		hl_keep_tick(r->p, r->now + ms * 1000000);
		if (ms % 500 == 250)
			snapshot(r);
	}
}

static void snapshots_come_by_the_clock_in_sleep(void **state)
{
	struct run r = base;

	r.n = 10;
	r.set.every_ns = UINT64_C(1000000000);
	r.last_act = sleep_on;
	play(&r);
	assert_in_range(count_cause(&r, HL_SNAPSHOT_TIME), 19, 20);
	forget(&r);
}

static void pass_ms(struct run *r, uint64_t ms)
{
	r->now += ms * 1000000;
	make(r, 1, 0, 1);
	drop(r, 1);
	hl_proc_settle(r->p);
}

/* A rise soon after another, once with events behind it, once without, and once too short. */
static void rise(struct run *r)
{
	make(r, 0, 0, 1000000);
	pass_ms(r, 3);
	drop(r, 0);
	pass_ms(r, 3);
	make(r, 0, 0, 1000000);
	pass_ms(r, 1);
	pass_ms(r, 10);
	assert_int_equal(r->p->keep.n_gap, 2);
	drop(r, 0);
	pass_ms(r, 1);
	make(r, 0, 0, 1000000);
	hl_proc_settle(r->p);
	hl_keep_tick(r->p, r->now + 1000000);
	assert_int_equal(r->p->keep.n_gap, 2);
	hl_keep_tick(r->p, r->now + 20000000);
	assert_int_equal(r->p->keep.n_gap, 3);
	drop(r, 0);
	pass_ms(r, 1);
	make(r, 0, 0, 1000000);
	pass_ms(r, 1);
	drop(r, 0);
	pass_ms(r, 100);
}

static void snapshots_of_rises_are_late_not_lost(void **state)
{
	struct run r = base;

	r.n = 0;
	r.set.at_live = 1000000;
	r.last_act = rise;
	play(&r);
	assert_int_equal(count_cause(&r, HL_SNAPSHOT_LIVE), 3);
	forget(&r);
}

/* What nobody asked for is not counted on the usual way, so on the others it may be anything. */
static void no_snapshot_comes_unasked(void **state)
{
	struct run r = base;

	r.n = 25600;
	r.shrinks = true;
	play(&r);
	assert_int_equal(count_cause(&r, HL_SNAPSHOT_LIVE), 0);
	forget(&r);
}

/* An hour of it, and a quarter: the file grows with what survives. */
static void the_file_grows_with_what_survives(void **state)
{
	struct run quarter = base, hour = base;
	uint64_t lasting;

	quarter.mode = hour.mode = HL_MODE_CULL;
	quarter.set.lifetime_ns = hour.set.lifetime_ns = UINT64_C(10000000000);
	quarter.n = 250000;
	hour.n = 1000000;
	quarter.step_ns = hour.step_ns = 1600000; /* some 2.3 events a step */
	quarter.young = 996;
	hour.young = 999;
	play(&quarter);
	play(&hour);
	assert_true(hour.info->end.duration_ns > UINT64_C(3400000000000));
	lasting = hour.info->totals.sums.alloc_blocks - hour.info->withheld.alloc_blocks;
	assert_true(lasting < hour.info->totals.sums.alloc_blocks / 500);
	assert_true(hour.bytes < quarter.bytes * 3 / 2);
	assert_true(hour.p == NULL || hour.most_waiting < 1000);
	equals_what_the_program_counted(&hour);
	forget(&quarter);
	forget(&hour);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_the_same_in_every_mode),
		cmocka_unit_test(modes_may_change_at_any_time),
		cmocka_unit_test(what_waits_is_bounded),
		cmocka_unit_test(snapshots_are_of_their_moment),
		cmocka_unit_test(temporary_blocks_are_known_in_microseconds),
		cmocka_unit_test(temporary_blocks_outlive_a_mode),
		cmocka_unit_test(snapshots_are_bounded_and_due),
		cmocka_unit_test(the_gap_of_churn_can_be_set),
		cmocka_unit_test(snapshots_come_by_the_clock_in_sleep),
		cmocka_unit_test(snapshots_of_rises_are_late_not_lost),
		cmocka_unit_test(no_snapshot_comes_unasked),
		cmocka_unit_test(the_file_grows_with_what_survives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
