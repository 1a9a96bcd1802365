/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_budget_test.c - plans that are cancelled, or whose time ends, at many points: each part has
 * its exact result or none, and the model gives exact results afterwards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/attr.h"
#include "base/hash.h"
#include "model/testing/test_fake_traces.h"
#include "request/result.h"
#include "util/work/work.h"

#define PARTS_MAX 8
#define POINTS    40 /* per request and kind of stop */

static const char *const requests[] = {
	"leaks",
	"filter=size:>=64;timeline;threads;sizes;group=call",
	"filter=life:<1ms;fragmentation;sites;group=thread",
	"sites;lifetimes;threads;timeline;group=function",
	"allocated;range=20%..70%;group=size;group=thread",
	"filter=chain-length:>=2;leaks;top-down",
	"growth=10%..60%;filter=fn:0x10",
	"temporary;group=module",
	"timeline;group=thread;filter=size:>=64",
	"blocks;filter=life:<1ms",
	"blocks;group=stack;filter=group-interval:>0",
};

/* When the work is stopped: at the n-th poll. */
static struct stop {
	int err; /* 0: not at all */
	uint64_t at, polls;
	atomic_bool cancel;
} stop;

static uint64_t count_poll(void *arg)
{
	bool now = ++stop.polls >= stop.at && stop.err;

	if (now && stop.err == -ECANCELED)
		atomic_store(&stop.cancel, true);
	return now && stop.err == -ETIME ? UINT64_MAX : 1;
}

static void set_stop(int err, uint64_t at)
{
	stop.err = err;
	stop.at = at;
	stop.polls = 0;
	atomic_store(&stop.cancel, false);
}

/* --- the data of a result as a number --- */

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < n; i++)
		h = hl_hash_u64(h ^ p[i]);
	return h;
}

static uint64_t mix_value(uint64_t h, const struct hl_value *v)
{
	return hl_hash_u64(hl_hash_u64(h ^ v->bytes) + v->blocks);
}

static uint64_t digest_tree(const struct hl_tree_result *x)
{
	uint64_t h = 1;

	for (uint32_t i = 0; i <= x->answer.n_keys; i++)
		h = mix_value(h, &x->answer.values[i]);
	for (uint32_t i = 0; i < x->tree.n_nodes; i++)
		h = mix_value(h, &x->tree.nodes[i].total);
	return h;
}

static uint64_t digest_table(const struct hl_table_result *x)
{
	uint64_t h = mix_value(2, &x->answer.total);

	for (size_t i = 0; i < x->table.n; i++) {
		h = mix(h, x->table.rows[i].name, strlen(x->table.rows[i].name));
		h = mix_value(h, &x->table.rows[i].value);
	}
	for (size_t i = 0; i < x->n_stats; i++)
		h = mix(h, x->stats[i].live, sizeof(x->stats[i].live));
	return h;
}

static uint64_t digest_threads(const struct hl_threads *t)
{
	uint64_t h = 3;

	for (uint32_t i = 0; i < t->n; i++) {
		h = mix_value(h, &t->rows[i].allocated);
		h = mix_value(h, &t->rows[i].freed_by_others);
		h = mix_value(h, &t->rows[i].not_freed);
	}
	return h;
}

static uint64_t digest_timeline(const struct hl_timeline_result *x)
{
	uint64_t h = hl_hash_u64(x->peak.bytes);

	for (size_t i = 0; i < x->n; i++)
		h = hl_hash_u64(hl_hash_u64(h ^ x->columns[i].max_bytes) + x->columns[i].end_bytes);
	return h;
}

static uint64_t digest_curves(const struct hl_curves_result *x)
{
	const struct hl_group_curves *c = &x->curves;
	uint64_t h = 4;

	for (size_t i = 0; i < c->n_points; i++)
		h = hl_hash_u64(hl_hash_u64(h ^ c->total[i]) + c->others[i]);
	for (size_t i = 0; i < c->table.n; i++)
		h = mix(h, c->live + i * c->n_points, c->n_points * sizeof(*c->live));
	return h;
}

static uint64_t digest_blocks(const struct hl_blocks_result *x)
{
	uint64_t h = mix_value(mix_value(5, &x->list.answer.total), &x->groups.answer.total);

	for (size_t i = 0; i < x->list.n; i++)
		h = hl_hash_u64(
			hl_hash_u64(h ^ x->list.rows[i].cursor.rank) + x->list.rows[i].cursor.tie);
	for (size_t i = 0; i < x->groups.n; i++) {
		h = mix_value(h, &x->groups.rows[i].value);
		h = hl_hash_u64(h ^ x->groups.rows[i].run.leaked_blocks);
	}
	return h;
}

static uint64_t digest(const struct hl_result *r)
{
	const struct hl_fragmentation *f = r->data;

	if (r->part.view == &hl_view_tree)
		return digest_tree(r->data);
	if (r->part.view == &hl_view_threads)
		return digest_threads(r->data);
	if (r->part.view == &hl_view_timeline)
		return digest_timeline(r->data);
	if (r->part.view == &hl_view_curves)
		return digest_curves(r->data);
	if (r->part.view == &hl_view_blocks)
		return digest_blocks(r->data);
	if (r->part.view == &hl_view_fragmentation)
		return mix_value(f->pages * 31 + f->sparse_pages, &f->live);
	if (r->part.view == &hl_view_table || r->part.view == &hl_view_sites ||
		r->part.view == &hl_view_sizes || r->part.view == &hl_view_lifetimes)
		return digest_table(r->data);
	fail_msg("no digest for view %d: add one", (int)r->part.view->id);
	return 0;
}

/* --- requests --- */

static void fill(struct hl_request *r, char *pairs)
{
	struct hl_request_error why;
	char *pair, *rest = pairs;

	*r = (struct hl_request){0};
	assert_int_equal(hl_request_set(r, "max-time", "1000s", &why), 0);
	while ((pair = strsep(&rest, ";")) != NULL) {
		char *value = strchr(pair, '=');

		if (value)
			*value++ = 0;
		assert_int_equal(hl_request_set(r, pair, value, &why), 0);
	}
	if (hl_request_finish(r, NULL, &why))
		fail_msg("%s", why.text);
}

struct outcome {
	int err[PARTS_MAX];
	uint64_t digest[PARTS_MAX];
	size_t n;
};

static void run_parts(struct hl_plan *p, struct outcome *o)
{
	int err = hl_plan_prepare(p);

	o->n = p->parts.len;
	for (size_t i = 0; i < o->n; i++) {
		struct hl_result *result = NULL;

		o->err[i] = err ? err : hl_plan_run(p, i, &result);
		if (o->err[i])
			assert_true(hl_model_error(p->m)[0]);
		else if (result->late)
			o->err[i] = -ETIME;
		else
			o->digest[i] = digest(result);
		hl_result_free(result);
	}
}

static void run_request(struct hl_model *m, const struct hl_request *r, struct outcome *o)
{
	static const struct hl_notes notes;
	struct hl_work *work = hl_model_work(m);
	struct hl_request_error why;
	struct hl_strbuf text = {0};
	struct hl_plan *p;

	work->clock = count_poll;
	work->cancel = &stop.cancel;
	*o = (struct outcome){0};
	assert_int_equal(hl_plan_new(&p, r, m, &notes, &why), 0);
	if (hl_plan_has_times(p, &text)) {
		run_parts(p, o);
	} else {
		o->n = 1; /* refused as a whole */
		o->err[0] =
			stop.err == -ECANCELED && atomic_load(&stop.cancel) ? -ECANCELED : -ENOENT;
	}
	hl_strbuf_fini(&text);
	hl_plan_free(p);
}

/* Each part that was not stopped has the result that it has without a stop. Returns how many have
 * one. */
static size_t compare(const struct outcome *got, const struct outcome *whole, int stopped)
{
	size_t answered = 0;

	for (size_t i = 0; i < got->n; i++) {
		if (stopped && got->err[i] == stopped)
			continue;
		assert_int_equal(got->err[i], whole->err[i]);
		assert_true(got->digest[i] == whole->digest[i]);
		answered += !got->err[i];
	}
	return answered;
}

static struct hl_model *open_with_threads(const char *path)
{
	struct hl_model *m = open_model(path);

	hl_reader_set_workers(hl_model_reader(m), 3);
	return m;
}

static void stop_at(const char *path, const struct hl_request *r, const struct outcome *whole,
	int err, uint64_t at)
{
	struct hl_model *m = open_with_threads(path);
	struct outcome got;

	set_stop(err, at);
	run_request(m, r, &got);
	compare(&got, whole, err);
	set_stop(err, at / 2); /* a second stop, with what the first one left behind */
	run_request(m, r, &got);
	compare(&got, whole, err);
	set_stop(0, 0);
	run_request(m, r, &got);
	assert_int_equal(got.n, whole->n);
	compare(&got, whole, 0);
	hl_model_close(m);
}

static void check_request(const char *path, const char *text)
{
	struct outcome whole;
	struct hl_request r;
	struct hl_model *m = open_with_threads(path);
	char pairs[200];
	uint64_t polls;

	strcpy(pairs, text);
	fill(&r, pairs);
	set_stop(0, 0);
	run_request(m, &r, &whole);
	polls = stop.polls;
	assert_true(polls > 1);
	hl_model_close(m);
	for (uint64_t i = 0; i < POINTS; i++) {
		stop_at(path, &r, &whole, -ECANCELED, 1 + polls * i / POINTS);
		stop_at(path, &r, &whole, -ETIME, 1 + polls * i / POINTS);
	}
	hl_request_fini(&r);
}

static void stopped_plans_leave_the_model_exact(void **state)
{
	static const size_t used[] = {0, 2};

	for (size_t i = 0; i < HL_ARRAY_LEN(used); i++) {
		struct hl_fake_trace_opts o = samples[used[i]];
		struct hl_fake_trace s;

		o.events = 8000;
		o.chunk = 100;
		assert_int_equal(hl_fake_trace_make(&s, &o), 0);
		for (size_t k = 0; k < HL_ARRAY_LEN(requests); k++)
			check_request(s.path, requests[k]);
		hl_fake_trace_free(&s);
	}
}

/* The time that passes may not use is enough for sums. */
static uint64_t in_reserve(void *arg)
{
	return *(bool *)arg ? 90 : 0;
}

static void sums_are_answered_when_passes_are_not(void **state)
{
	static const struct hl_notes notes;
	char pairs[] = "threads;leaks;no-default-suppressions;group=function;sites";
	bool late = false;
	struct hl_fake_trace s;
	struct hl_request_error why;
	struct hl_request r;
	struct hl_result *result;
	struct hl_model *m;
	struct hl_plan *p;

	assert_int_equal(hl_fake_trace_make(&s, &samples[0]), 0);
	m = open_with_threads(s.path);
	fill(&r, pairs);
	r.budget.max_ns = 100;
	hl_model_work(m)->clock = in_reserve;
	hl_model_work(m)->arg = &late;
	assert_int_equal(hl_plan_new(&p, &r, m, &notes, &why), 0);
	late = true;
	assert_int_equal(hl_plan_prepare(p), 0);
	assert_int_equal(hl_plan_run(p, 0, &result), -ETIME);
	assert_non_null(strstr(hl_model_error(m), "--threads: not answered within --max-time="));
	assert_int_equal(hl_plan_run(p, 1, &result), 0);
	assert_true(result->total.blocks > 0 && !result->late);
	hl_result_free(result);
	assert_int_equal(hl_plan_run(p, 2, &result), 0);
	assert_true(result->total.blocks > 0 && result->late);
	assert_null(((struct hl_table_result *)result->data)->stats);
	hl_result_free(result);
	hl_plan_free(p);
	hl_request_fini(&r);
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

/* A prefetched query refers to the filter of its plan. */
static void plans_do_not_share_prefetched_queries(void **state)
{
	static const struct hl_notes notes;
	static const char *const filters[] = {"filter=size:>=64;timeline;threads;sizes",
		"filter=size:<64;timeline;threads;sizes"};
	struct hl_fake_trace s;
	struct outcome once[2], again[2];
	struct hl_model *m;

	assert_int_equal(hl_fake_trace_make(&s, &samples[0]), 0);
	set_stop(0, 0);
	for (int round = 0; round < 2; round++) {
		m = open_with_threads(s.path);
		for (size_t i = 0; i < 2; i++) {
			size_t k = round ? 1 - i : i;
			struct hl_request_error why;
			struct hl_request r;
			struct hl_plan *p;
			char pairs[100];

			strcpy(pairs, filters[k]);
			fill(&r, pairs);
			/* this one announces its queries and does not make them */
			assert_int_equal(hl_plan_new(&p, &r, m, &notes, &why), 0);
			assert_int_equal(hl_plan_prepare(p), 0);
			hl_plan_free(p);
			run_request(m, &r, round ? &again[k] : &once[k]);
			hl_request_fini(&r);
		}
		hl_model_close(m);
	}
	compare(&again[0], &once[0], 0);
	compare(&again[1], &once[1], 0);
	hl_fake_trace_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stopped_plans_leave_the_model_exact),
		cmocka_unit_test(sums_are_answered_when_passes_are_not),
		cmocka_unit_test(plans_do_not_share_prefetched_queries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
