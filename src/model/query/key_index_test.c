/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key_index_test.c - answers with an index equal those without one.
 */
#include <string.h>

#include "model/model_internal.h"
#include "model/query/key_index.h"
#include "model/testing/test_fake_traces.h"
#include "model/views/curves/group_curves.h"

static const enum hl_group groups[] = {HL_GROUP_THREAD, HL_GROUP_SIZE, HL_GROUP_TAG};

static void ask(struct hl_model *m, enum hl_key key, enum hl_quantity quantity, unsigned percent,
	struct hl_answer *a)
{
	uint64_t end = hl_model_end_ns(m);
	const struct hl_query q = {.quantity = quantity,
		.key = key,
		.from = {.kind = HL_TIME_SPEC_NS, .ns = end * percent / 200},
		.to = {.kind = HL_TIME_SPEC_NS, .ns = end * percent / 100}};

	assert_int_equal(hl_model_query(m, &q, a), 0);
}

static void assert_same_answers(struct hl_model *with, struct hl_model *without)
{
	for (size_t g = 0; g < HL_ARRAY_LEN(groups); g++) {
		for (unsigned percent = 0; percent <= 100; percent += 7) {
			for (unsigned quantity = 0; quantity < 2; quantity++) {
				struct hl_answer a, b;

				ask(with, hl_group_key(groups[g]), quantity, percent, &a);
				ask(without, hl_group_key(groups[g]), quantity, percent, &b);
				assert_int_equal(a.n_keys, b.n_keys);
				assert_memory_equal(a.values, b.values,
					((size_t)a.n_keys + 1) * sizeof(*a.values));
				hl_answer_fini(&a);
				hl_answer_fini(&b);
			}
		}
	}
}

static void assert_same_curves(struct hl_model *with, struct hl_model *without)
{
	for (size_t g = 0; g < HL_ARRAY_LEN(groups); g++) {
		for (uint64_t part = 1; part <= 10; part += 3) {
			struct hl_group_curves_request r = {.group = groups[g], .points = 23};
			struct hl_group_curves a, b;

			r.range.to_ns = hl_model_end_ns(with) * part / 10;
			r.range.from_ns = r.range.to_ns / 3;
			assert_int_equal(hl_group_curves_read(&a, with, &r), 0);
			assert_int_equal(hl_group_curves_read(&b, without, &r), 0);
			assert_int_equal(a.n_points, b.n_points);
			assert_int_equal(a.table.n, b.table.n);
			assert_memory_equal(a.total, b.total, a.n_points * sizeof(*a.total));
			assert_memory_equal(
				a.live, b.live, a.table.n * a.n_points * sizeof(*a.live));
			hl_group_curves_fini(&a);
			hl_group_curves_fini(&b);
		}
	}
}

/* With every border, with few, and with an index that ends in the middle. */
static void an_index_does_not_change_answers(void **state)
{
	static const uint64_t bytes[] = {UINT64_C(8) << 20, 20000, 1};

	for (size_t k = 0; k < HL_ARRAY_LEN(samples); k++) {
		struct hl_fake_trace_opts o = samples[k];
		struct hl_fake_trace s;
		struct hl_model *without;

		o.tags = k % 2;
		assert_int_equal(hl_fake_trace_make(&s, &o), 0);
		without = open_model(s.path);
		for (size_t i = 0; i < HL_ARRAY_LEN(bytes); i++) {
			struct hl_model *with = open_model(s.path);
			size_t left, chunks = hl_reader_n_chunks(hl_model_reader(with));

			hl_key_index_bytes = bytes[i];
			assert_int_equal(hl_key_index_extend(with, chunks / 2, &left), 0);
			assert_int_equal(left, chunks - chunks / 2);
			assert_same_answers(with, without);
			assert_int_equal(hl_key_index_extend(with, chunks, &left), 0);
			assert_int_equal(left, 0);
			if (i == 0 && chunks > 1)
				assert_int_equal(
					hl_key_index_before(with, HL_KEY_SIZE, chunks), chunks);
			assert_same_answers(with, without);
			assert_same_curves(with, without);
			hl_model_close(with);
		}
		hl_model_close(without);
		hl_fake_trace_free(&s);
	}
	hl_key_index_bytes = bytes[0];
}

/* The index of chunks after a loss is not used. */
static void a_loss_is_the_end_also_with_an_index(void **state)
{
	struct hl_model *with, *without;
	struct hl_fake_trace s;
	size_t left;

	assert_int_equal(hl_fake_trace_make(&s, &samples[0]), 0);
	with = open_model(s.path);
	without = open_model(s.path);
	assert_int_equal(hl_key_index_extend(with, SIZE_MAX, &left), 0);
	hl_model_mark_bad(with, &with->bad_chunks[30]);
	hl_model_mark_bad(without, &without->bad_chunks[30]);
	assert_same_answers(with, without);
	assert_same_curves(with, without);
	hl_model_close(with);
	with = open_model(s.path);
	hl_model_mark_bad(with, &with->bad_chunks[30]);
	assert_int_equal(hl_key_index_extend(with, SIZE_MAX, &left), 0);
	assert_int_equal(left, 0);
	assert_int_equal(hl_key_index_before(with, HL_KEY_THREAD, 60), 30);
	assert_same_answers(with, without);
	hl_model_close(with);
	hl_model_close(without);
	hl_fake_trace_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_index_does_not_change_answers),
		cmocka_unit_test(a_loss_is_the_end_also_with_an_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
