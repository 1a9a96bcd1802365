/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_curves_test.c - curves of groups against a plain count of the events, and against each
 * other by different methods.
 */
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"
#include "model/testing/test_fake_traces.h"
#include "model/views/curves/group_curves.h"
#include "model/views/curves/moments.h"

static void read_curves(struct hl_group_curves *c, struct hl_model *m, enum hl_group group,
	const char *expr, size_t points, size_t limit)
{
	struct hl_group_curves_request r = {
		.group = group, .range = hl_time_range_all(m), .points = points, .limit = limit};
	struct hl_filter_error error;

	if (expr)
		assert_int_equal(hl_filter_parse(&r.filter, expr, &error), 0);
	if (hl_group_curves_read(c, m, &r))
		fail_msg("%s %s: %s", hl_group_name(group), expr, hl_model_error(m));
	hl_filter_free(r.filter);
}

/* Live bytes of all blocks after the events that a moment includes. The events of one time are
 * divided where a moment is between two chunks. */
static void count_live(const struct hl_fake_trace *s, uint64_t ns, uint64_t *least, uint64_t *most)
{
	uint64_t live = 0;

	*least = UINT64_MAX;
	*most = 0;
	for (size_t i = 0; i <= s->n_events; i++) {
		bool after = i == s->n_events || s->events[i].time_ns > ns,
		     at = i > 0 && s->events[i - 1].time_ns == ns;

		if (at || after) {
			*least = live < *least ? live : *least;
			*most = live > *most ? live : *most;
		}
		if (after)
			return;
		live += s->events[i].op == HL_OP_ALLOC ? s->events[i].size : -s->events[i].size;
	}
}

static void assert_adds_up(const struct hl_group_curves *c)
{
	for (size_t k = 0; k < c->n_points; k++) {
		uint64_t sum = c->others[k];

		assert_true(k == 0 || c->times[k] >= c->times[k - 1]);
		for (size_t i = 0; i < c->table.n; i++) {
			assert_true(c->live[i * c->n_points + k] <= c->table.rows[i].value.bytes);
			sum += c->live[i * c->n_points + k];
		}
		assert_int_equal(sum, c->total[k]);
	}
}

static const enum hl_group by_sums[] = {
	HL_GROUP_STACK, HL_GROUP_SITE, HL_GROUP_THREAD, HL_GROUP_SIZE};
static const enum hl_group all[] = {HL_GROUP_STACK, HL_GROUP_FUNCTION, HL_GROUP_SITE, HL_GROUP_FILE,
	HL_GROUP_MODULE, HL_GROUP_THREAD, HL_GROUP_CALL, HL_GROUP_SIZE, HL_GROUP_SNAPSHOT,
	HL_GROUP_TAG, HL_GROUP_LIFETIME};

static void rows_add_up_to_the_live_bytes(void **state)
{
	for (size_t k = 0; k < HL_ARRAY_LEN(samples); k++) {
		struct hl_fake_trace s;
		struct hl_model *m;

		assert_int_equal(hl_fake_trace_make(&s, &samples[k]), 0);
		m = open_model(s.path);
		for (size_t g = 0; g < HL_ARRAY_LEN(all); g++) {
			for (size_t points = 1; points <= 40; points += 13) {
				struct hl_group_curves c;

				read_curves(&c, m, all[g], NULL, points, 3);
				assert_adds_up(&c);
				assert_true(c.n_points >= 1 && c.n_points <= points);
				for (size_t i = 0; i < c.n_points; i++) {
					uint64_t least, most;

					count_live(&s, c.times[i], &least, &most);
					assert_true(c.known[i]);
					assert_in_range(c.total[i], least, most);
				}
				hl_group_curves_fini(&c);
			}
		}
		hl_model_close(m);
		hl_fake_trace_free(&s);
	}
}

static const uint64_t *find_row(const struct hl_group_curves *c, const struct hl_table_row *row)
{
	for (size_t i = 0; i < c->table.n; i++) {
		if (c->table.rows[i].key == row->key && c->table.rows[i].frame == row->frame)
			return c->live + i * c->n_points;
	}
	return NULL;
}

/* A filter that every block matches reads all events. Both have the same moments in a trace of few
 * chunks. */
static void sums_and_events_give_the_same_curves(void **state)
{
	const struct hl_fake_trace_opts o = {.seed = 7,
		.events = 20000,
		.nodes = 300,
		.threads = 3,
		.live = 500,
		.chunk = 900,
		.keyframe = 4000,
		.live_set = 7001};
	struct hl_fake_trace s;
	struct hl_model *m;

	assert_int_equal(hl_fake_trace_make(&s, &o), 0);
	m = open_model(s.path);
	for (size_t g = 0; g < HL_ARRAY_LEN(by_sums); g++) {
		struct hl_group_curves sums, events;

		read_curves(&sums, m, by_sums[g], NULL, 50, 0);
		read_curves(&events, m, by_sums[g], "size:>=0", 50, 0);
		assert_true(!sums.by_events && events.by_events);
		assert_int_equal(sums.n_points, 50);
		assert_int_equal(events.n_points, 50);
		assert_memory_equal(sums.times, events.times, 50 * sizeof(*sums.times));
		assert_memory_equal(sums.total, events.total, 50 * sizeof(*sums.total));
		assert_int_equal(sums.table.n, events.table.n);
		for (size_t i = 0; i < sums.table.n; i++)
			assert_memory_equal(sums.live + i * 50,
				find_row(&events, &sums.table.rows[i]), 50 * sizeof(*sums.live));
		hl_group_curves_fini(&sums);
		hl_group_curves_fini(&events);
	}
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

/* A walk gives the sums that each position has alone. */
static void a_walk_gives_the_sums_of_each_position(void **state)
{
	for (size_t k = 0; k < HL_ARRAY_LEN(samples); k++) {
		struct hl_position p[60];
		struct hl_sums_walk w;
		struct hl_fake_trace s;
		struct hl_sums *one;
		struct hl_model *m;
		struct hl_time_range all_of_it;
		size_t n;

		assert_int_equal(hl_fake_trace_make(&s, &samples[k]), 0);
		m = open_model(s.path);
		all_of_it = hl_time_range_all(m);
		n = hl_moments_choose(m, &all_of_it, k % 2 == 0, p, HL_ARRAY_LEN(p));
		one = malloc(((size_t)m->n_nodes + 1) * sizeof(*one));
		assert_int_equal(hl_sums_walk_init(&w, m), 0);
		for (size_t i = 0; i < n; i++) {
			struct hl_position alone = p[i];

			assert_int_equal(hl_sums_walk_to(&w, &p[i]), 0);
			assert_int_equal(hl_sums_at(m, &alone, one), 0);
			assert_memory_equal(w.sums, one, ((size_t)m->n_nodes + 1) * sizeof(*one));
		}
		hl_sums_walk_fini(&w);
		free(one);
		hl_model_close(m);
		hl_fake_trace_free(&s);
	}
}

/* The highest rows are kept, and their number is as requested. */
static void a_limit_keeps_the_highest_rows(void **state)
{
	struct hl_group_curves few, every;
	struct hl_fake_trace s;
	struct hl_model *m;

	assert_int_equal(hl_fake_trace_make(&s, &samples[0]), 0);
	m = open_model(s.path);
	read_curves(&every, m, HL_GROUP_SITE, NULL, 30, 0);
	read_curves(&few, m, HL_GROUP_SITE, NULL, 30, 4);
	assert_true(every.table.n > 10 && every.n_others == 0);
	assert_int_equal(few.table.n, 4);
	assert_int_equal(few.n_others, every.table.n - 4);
	assert_memory_equal(few.live, every.live, 4 * few.n_points * sizeof(*few.live));
	for (size_t i = 1; i < every.table.n; i++)
		assert_true(every.table.rows[i].value.bytes <= every.table.rows[i - 1].value.bytes);
	hl_group_curves_fini(&few);
	hl_group_curves_fini(&every);
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

/* Moments after a lost chunk are not known; those before it are as in the whole trace. */
static void moments_after_a_loss_are_not_known(void **state)
{
	struct hl_group_curves whole, cut;
	struct hl_fake_trace s;
	struct hl_model *m;

	/* Without the lifetimes, the last: they need the frees after the loss, and are refused. */
	for (size_t g = 0; g + 1 < HL_ARRAY_LEN(all); g++) {
		size_t known = 0;

		assert_int_equal(hl_fake_trace_make(&s, &samples[1]), 0);
		m = open_model(s.path);
		read_curves(&whole, m, all[g], NULL, 30, 0);
		hl_model_close(m);
		m = open_model(s.path);
		hl_model_mark_bad(m, &m->bad_chunks[hl_reader_n_chunks(m->reader) / 2]);
		for (size_t i = 0; i < hl_reader_n_keyframes(m->reader); i++)
			hl_model_mark_bad(m, &m->bad_keyframes[i]);
		read_curves(&cut, m, all[g], NULL, 30, 0);
		assert_adds_up(&cut);
		assert_true(cut.before_damage);
		for (size_t k = 0; k < cut.n_points; k++) {
			assert_true(!cut.known[k] || k == 0 || cut.known[k - 1]);
			known += cut.known[k];
			if (cut.known[k])
				assert_int_equal(cut.total[k], whole.total[k]);
		}
		assert_in_range(known, 5, cut.n_points - 5);
		hl_group_curves_fini(&whole);
		hl_group_curves_fini(&cut);
		hl_model_close(m);
		hl_fake_trace_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_add_up_to_the_live_bytes),
		cmocka_unit_test(sums_and_events_give_the_same_curves),
		cmocka_unit_test(a_walk_gives_the_sums_of_each_position),
		cmocka_unit_test(a_limit_keeps_the_highest_rows),
		cmocka_unit_test(moments_after_a_loss_are_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
