/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_scan_test.c - queries that share a scan give the answers that each gives alone, on
 * undamaged and on damaged traces, and a shared scan is not repeated. Nor does an answer depend on
 * whether damage is found during the scan or was known before, or on the number of threads.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "base/attr.h"
#include "base/hash.h"
#include "model/views/filtered_peak.h"
#include "model/views/page_usage.h"
#include "model/query/query.h"
#include "model/testing/test_fake_traces.h"
#include "model/views/thread_stats.h"

#define COLUMNS 40

enum what { QUERY, THREADS, TIMELINE, FRAGMENTATION };

/* Each kind of query, with different filters and ranges. */
static const struct question {
	enum what what;
	enum hl_quantity quantity;
	enum hl_key key;
	unsigned from, to; /* percent */
	const char *filter;
} questions[] = {
	{QUERY, HL_QUANTITY_ALLOCATED, HL_KEY_SIZE, 0, 100, NULL},
	{QUERY, HL_QUANTITY_ALLOCATED, HL_KEY_SIZE, 20, 70, NULL},
	{QUERY, HL_QUANTITY_LIVE, HL_KEY_THREAD, 0, 50, NULL},
	{QUERY, HL_QUANTITY_ALLOCATED, HL_KEY_LIFETIME, 0, 100, NULL},
	{QUERY, HL_QUANTITY_ALLOCATED, HL_KEY_SIZE, 10, 90, "size>=64"},
	{QUERY, HL_QUANTITY_TEMPORARY, HL_KEY_STACK, 0, 100, NULL},
	{QUERY, HL_QUANTITY_GROWTH, HL_KEY_CALL, 30, 60, NULL},
	{QUERY, HL_QUANTITY_LIVE, HL_KEY_STACK, 0, 80, "size>=64"},
	{QUERY, HL_QUANTITY_LIVE, HL_KEY_CALL, 0, 40, "thread:0 life:<1ms"},
	{THREADS, 0, 0, 0, 100, NULL},
	{THREADS, 0, 0, 0, 100, "size>=64"},
	{TIMELINE, 0, 0, 0, 100, "size<1K"},
	{TIMELINE, 0, 0, 0, 100, "fn:0x10"},
	{TIMELINE, 0, 0, 0, 100, "thread:0 life:<1ms"},
	{FRAGMENTATION, 0, 0, 0, 60, NULL},
	{FRAGMENTATION, 0, 0, 0, 30, "size>=64"},
};
#define N HL_ARRAY_LEN(questions)

static struct hl_filter *filters[N];

static struct hl_query query_of(const struct question *q)
{
	return (struct hl_query){.quantity = q->quantity,
		.key = q->key,
		.from = {.kind = HL_TIME_SPEC_PERCENT, .percent = q->from},
		.to = {.kind = HL_TIME_SPEC_PERCENT, .percent = q->to},
		.filter = filters[q - questions]};
}

static void prefetch(struct hl_model *m, const struct question *q)
{
	struct hl_query query = query_of(q);

	switch (q->what) {
	case QUERY:
		hl_query_prefetch(m, &query);
		break;
	case THREADS:
		hl_threads_prefetch(m, query.filter);
		break;
	case TIMELINE:
		hl_timeline_prefetch(m, query.filter, COLUMNS);
		break;
	case FRAGMENTATION:
		hl_fragmentation_prefetch(m, &query.to, query.filter);
	}
}

static int put_query(FILE *out, struct hl_model *m, const struct hl_query *q)
{
	struct hl_answer a;
	int err = hl_model_query(m, q, &a);

	if (err)
		return err;
	fprintf(out, "%" PRIu64 " %" PRIu64 " %d\n", a.from_ns, a.to_ns, a.before_damage);
	for (uint32_t i = 0; i <= a.n_keys; i++)
		fprintf(out, "%" PRIu64 " %" PRIu64 "\n", a.values[i].bytes, a.values[i].blocks);
	hl_answer_fini(&a);
	return 0;
}

static int put_threads(FILE *out, struct hl_model *m, struct hl_filter *filter)
{
	struct hl_threads t;
	int err = hl_threads_build(&t, m, filter);

	for (uint32_t i = 0; i < t.n && !err; i++) {
		const struct hl_thread_row *r = &t.rows[i];

		fprintf(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			r->allocated.bytes, r->freed.bytes, r->freed_own.blocks,
			r->freed_by_others.blocks, r->not_freed.bytes);
	}
	for (size_t i = 0; i < t.n_pairs && !err; i++)
		fprintf(out, "%u %u %" PRIu64 "\n", t.pairs[i].from, t.pairs[i].to,
			t.pairs[i].value.bytes);
	hl_threads_fini(&t);
	return err;
}

static int put_timeline(FILE *out, struct hl_model *m, struct hl_filter *filter)
{
	struct hl_timeline_bin columns[COLUMNS];
	struct hl_peak peak;
	int err = hl_timeline(m, filter, columns, COLUMNS, &peak);

	for (size_t i = 0; i < COLUMNS && !err; i++)
		fprintf(out, "%" PRIu64 " %" PRIu64 " %d\n", columns[i].max_bytes,
			columns[i].end_bytes, columns[i].lost);
	if (!err && filter)
		fprintf(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %d\n", peak.bytes, peak.blocks,
			peak.time_ns, peak.before_damage);
	return err;
}

static int put_fragmentation(FILE *out, struct hl_model *m, const struct hl_query *q)
{
	struct hl_fragmentation f;
	int err = hl_fragmentation_at(&f, m, &q->to, q->filter);

	if (err)
		return err;
	fprintf(out, "%" PRIu64 " %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %zu\n", f.time_ns,
		f.before_damage, f.live.bytes, f.all.blocks, f.pages, f.n_holders);
	hl_fragmentation_fini(&f);
	return 0;
}

/* The answer, or the error, as text. */
static char *answer_text(struct hl_model *m, const struct question *q)
{
	struct hl_query query = query_of(q);
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	int err = 0;

	assert_non_null(out);
	switch (q->what) {
	case QUERY:
		err = put_query(out, m, &query);
		break;
	case THREADS:
		err = put_threads(out, m, query.filter);
		break;
	case TIMELINE:
		err = put_timeline(out, m, query.filter);
		break;
	case FRAGMENTATION:
		err = put_fragmentation(out, m, &query);
	}
	if (err)
		fprintf(out, "error %d: %s\n", err, hl_model_error(m));
	fclose(out);
	return text;
}

/* Makes all queries, from `first` on and then from the start, and compares them. Returns how many
 * failed. */
static unsigned compare_answers(const char *path, size_t first)
{
	struct hl_model *m = open_model(path);
	unsigned failed = 0;

	for (size_t i = 0; i < N; i++)
		prefetch(m, &questions[i]);
	for (size_t i = 0; i < N; i++) {
		const struct question *q = &questions[(first + i) % N];
		struct hl_model *other = open_model(path);
		char *alone = answer_text(other, q), *together = answer_text(m, q);

		if (strcmp(alone, together) != 0)
			fail_msg("%s: question %zu, after %zu others: %s\nalone: %s", path,
				(size_t)(q - questions), i, together, alone);
		failed += strncmp(alone, "error", 5) == 0;
		free(alone);
		free(together);
		hl_model_close(other);
	}
	hl_model_close(m);
	return failed;
}

static void shared_answers_equal_single_ones(void **state)
{
	for (size_t k = 0; k < HL_ARRAY_LEN(samples); k++) {
		struct hl_fake_trace s;

		assert_int_equal(hl_fake_trace_make(&s, &samples[k]), 0);
		for (size_t first = 0; first < N; first += 3)
			assert_int_equal(compare_answers(s.path, first), 0);
		hl_fake_trace_free(&s);
	}
}

/* Damages the file at n offsets, which differ in each round. */
static void make_damaged(struct hl_fake_trace *s, unsigned round, unsigned n)
{
	struct stat st;

	assert_int_equal(hl_fake_trace_make(s, &samples[round % 4]), 0);
	assert_int_equal(stat(s->path, &st), 0);
	for (unsigned i = 0; i < n; i++)
		flip(s->path, 64 + hl_hash_u64(round * 8 + i) % ((uint64_t)st.st_size - 164), 3);
}

/* Each query restarts where it would alone, and errors are reported by the query that has them. */
static void shared_answers_equal_single_ones_on_damage(void **state)
{
	unsigned failed = 0;

	for (unsigned round = 0; round < 36; round++) {
		struct hl_fake_trace s;

		make_damaged(&s, round, 1 + round % 3);
		failed += compare_answers(s.path, round % N);
		hl_fake_trace_free(&s);
	}
	print_message("%u questions had no answer\n", failed);
	assert_true(failed > 0);
}

static void compare_verified(const char *path)
{
	struct hl_model *verified = open_model(path);

	assert_int_equal(hl_reader_verify(hl_model_reader(verified), NULL), 0);
	for (size_t i = 0; i < N; i++) {
		struct hl_model *other = open_model(path);
		char *before = answer_text(verified, &questions[i]),
		     *found = answer_text(other, &questions[i]);

		if (strcmp(before, found) != 0)
			fail_msg("%s: question %zu, all damage known: %s\nmet: %s", path, i, before,
				found);
		free(before);
		free(found);
		hl_model_close(other);
	}
	hl_model_close(verified);
}

/* A shared scan knows damage that other queries found. Here all damage is known, so that few files
 * show what would take many random ones. */
static void known_damage_gives_the_same_answers(void **state)
{
	for (unsigned round = 0; round < 54; round++) {
		struct hl_fake_trace s;

		make_damaged(&s, round, 1 + round % 6);
		compare_verified(s.path);
		hl_fake_trace_free(&s);
	}
}

/* All answers of one model, with the damage that it knows in the end and the bytes that it read. */
static char *all_answers(const char *path, unsigned workers, bool prefetched)
{
	struct hl_model *m = open_model(path);
	struct hl_reader *r = hl_model_reader(m);
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	hl_reader_set_workers(r, workers);
	for (size_t i = 0; i < N && prefetched; i++)
		prefetch(m, &questions[i]);
	for (size_t i = 0; i < N; i++) {
		char *answer = answer_text(m, &questions[i]);

		fprintf(out, "%zu: %s%" PRIu64 " %" PRIu64 "\n", i, answer, hl_reader_bytes_read(r),
			hl_model_events_decoded(m));
		free(answer);
	}
	fprintf(out, "%s\n", hl_model_info(m)->damage);
	fclose(out);
	hl_model_close(m);
	return text;
}

static void compare_threads(const char *path, bool prefetched)
{
	static const unsigned workers[] = {1, 2, 8};
	char *expected = all_answers(path, 0, prefetched);

	for (size_t i = 0; i < HL_ARRAY_LEN(workers); i++) {
		char *text = all_answers(path, workers[i], prefetched);

		if (strcmp(text, expected) != 0)
			fail_msg("%s, %u workers: %s\nnone: %s", path, workers[i], text, expected);
		free(text);
	}
	free(expected);
}

static void threads_do_not_change_answers(void **state)
{
	struct hl_fake_trace s;

	for (size_t k = 0; k < HL_ARRAY_LEN(samples); k++) {
		assert_int_equal(hl_fake_trace_make(&s, &samples[k]), 0);
		compare_threads(s.path, true);
		compare_threads(s.path, false);
		hl_fake_trace_free(&s);
	}
	for (unsigned round = 0; round < 12; round++) {
		make_damaged(&s, round, 1 + round % 6);
		compare_threads(s.path, round % 2);
		hl_fake_trace_free(&s);
	}
}

/* More stacks than summaries hold: each of these queries needs all events. */
static void prefetched_queries_read_the_trace_once(void **state)
{
	static const size_t some[] = {0, 1, 3, 4, 9, 10, 11};
	struct hl_fake_trace s;
	struct hl_model *m;
	uint64_t before = 0, once = 0;

	assert_int_equal(hl_fake_trace_make(&s, &samples[5]), 0);
	m = open_model(s.path);
	for (size_t i = 0; i < HL_ARRAY_LEN(some); i++)
		prefetch(m, &questions[some[i]]);
	for (size_t i = 0; i < HL_ARRAY_LEN(some); i++) {
		before = hl_reader_bytes_read(hl_model_reader(m));
		free(answer_text(m, &questions[some[i]]));
		once = i == 0 ? hl_reader_bytes_read(hl_model_reader(m)) : once;
		if (i > 0 && hl_reader_bytes_read(hl_model_reader(m)) != before)
			fail_msg("question %zu reads again", some[i]);
	}
	assert_true(once > before / 2);
	/* It is not prefetched any more, so the trace is read again. */
	free(answer_text(m, &questions[0]));
	assert_true(hl_reader_bytes_read(hl_model_reader(m)) > once);
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

/* Equal filters are one object, as for the views of one command. */
static size_t first_with_filter(size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (questions[k].filter && strcmp(questions[k].filter, questions[i].filter) == 0)
			return k;
	}
	return i;
}

static int make_filters(void **state)
{
	struct hl_filter_error error;

	for (size_t i = 0; i < N; i++) {
		if (!questions[i].filter)
			continue;
		if (first_with_filter(i) < i)
			filters[i] = filters[first_with_filter(i)];
		else if (hl_filter_parse(&filters[i], questions[i].filter, &error) != 0)
			return -1;
	}
	return 0;
}

static int free_filters(void **state)
{
	for (size_t i = 0; i < N; i++) {
		if (questions[i].filter && first_with_filter(i) == i)
			hl_filter_free(filters[i]);
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_answers_equal_single_ones),
		cmocka_unit_test(shared_answers_equal_single_ones_on_damage),
		cmocka_unit_test(known_damage_gives_the_same_answers),
		cmocka_unit_test(threads_do_not_change_answers),
		cmocka_unit_test(prefetched_queries_read_the_trace_once),
	};

	return cmocka_run_group_tests(tests, make_filters, free_filters);
}
