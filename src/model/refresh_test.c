/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refresh_test.c - a model that grows with its trace answers like one that is opened now.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "base/attr.h"
#include "model/query/query.h"
#include "model/stack/flat_table.h"
#include "model/stack/site.h"
#include "model/stack/stack_rules.h"
#include "model/testing/test_fake_traces.h"
#include "model/testing/test_named_trace.h"
#include "model/views/marks.h"

struct bytes {
	uint8_t *data;
	size_t len;
};

static struct bytes read_bytes(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct bytes b = {0};
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	b.len = (size_t)st.st_size;
	b.data = malloc(b.len);
	assert_int_equal(read(fd, b.data, b.len), b.len);
	close(fd);
	return b;
}

static void set_length(struct hl_byte_source *s, size_t len, bool growing)
{
	s->bytes = s->data_bytes = len;
	s->growing = growing;
}

static struct hl_model *open_bytes(
	const struct bytes *b, size_t len, bool growing, struct hl_byte_source **source)
{
	struct hl_reader_refusal why;
	struct hl_model *m;

	assert_int_equal(hl_byte_source_from_memory(source, b->data, b->len), 0);
	set_length(*source, len, growing);
	assert_int_equal(hl_model_open_source(&m, *source, "t", &why), 0);
	return m;
}

/* --- two models --- */

static void assert_same_answer(struct hl_model *a, struct hl_model *b, const struct hl_query *q)
{
	struct hl_answer x = {0}, y = {0};
	int err = hl_model_query(a, q, &x);

	assert_int_equal(hl_model_query(b, q, &y), err);
	if (!err) {
		assert_int_equal(x.from_ns, y.from_ns);
		assert_int_equal(x.to_ns, y.to_ns);
		assert_int_equal(x.before_damage, y.before_damage);
		assert_memory_equal(&x.total, &y.total, sizeof(x.total));
		assert_int_equal(x.n_keys, y.n_keys);
		assert_memory_equal(x.values, y.values, (x.n_keys + 1) * sizeof(*x.values));
	} else {
		assert_string_equal(hl_model_error(a), hl_model_error(b));
	}
	hl_answer_fini(&x);
	hl_answer_fini(&y);
}

static void assert_same_answers(struct hl_model *a, struct hl_model *b)
{
	static const struct hl_time_spec times[] = {{.kind = HL_TIME_SPEC_END},
		{.kind = HL_TIME_SPEC_PEAK}, {.kind = HL_TIME_SPEC_NS, .ns = 1000000}};

	for (int quantity = 0; quantity <= HL_QUANTITY_GROWTH; quantity++)
		for (int key = 0; key <= HL_KEY_POOL; key++)
			for (size_t t = 0; t < HL_ARRAY_LEN(times); t++) {
				const struct hl_query q = {
					.quantity = quantity, .key = key, .to = times[t]};

				if (t > 0 && key > HL_KEY_THREAD)
					continue;
				assert_same_answer(a, b, &q);
			}
}

/* The numbers of frames are equal too: tables sort by them. */
static void assert_same_frames(struct hl_model *a, struct hl_model *b)
{
	assert_int_equal(hl_model_n_nodes(a), hl_model_n_nodes(b));
	for (uint32_t i = 0; i < hl_model_n_nodes(a); i++) {
		const struct hl_frame_ref *ra, *rb;
		struct hl_site sa, sb;
		size_t na, nb;

		assert_int_equal(hl_model_locate_site(a, i, &sa), 0);
		assert_int_equal(hl_model_locate_site(b, i, &sb), 0);
		assert_int_equal(sa.frame, sb.frame);
		assert_int_equal(hl_model_node_frames(a, i, &ra, &na), 0);
		assert_int_equal(hl_model_node_frames(b, i, &rb, &nb), 0);
		assert_int_equal(na, nb);
		for (size_t k = 0; k < na; k++) {
			const struct hl_frame *x = hl_model_frame(a, ra[k].frame),
					      *y = hl_model_frame(b, rb[k].frame);

			assert_int_equal(ra[k].frame, rb[k].frame);
			assert_int_equal(ra[k].inlined, rb[k].inlined);
			assert_string_equal(x->function, y->function);
			assert_string_equal(x->module ? x->module : "", y->module ? y->module : "");
		}
	}
	assert_int_equal(hl_model_n_module_notes(a), hl_model_n_module_notes(b));
	assert_int_equal(hl_model_n_wrappers(a), hl_model_n_wrappers(b));
	for (size_t i = 0; i < hl_model_n_wrappers(a); i++)
		assert_string_equal(hl_model_wrapper(a, i), hl_model_wrapper(b, i));
}

static void assert_same_marks(struct hl_model *a, struct hl_model *b)
{
	const struct hl_mark *x, *y;
	size_t na, nb;

	assert_int_equal(hl_model_marks(a, &x, &na), 0);
	assert_int_equal(hl_model_marks(b, &y, &nb), 0);
	assert_int_equal(na, nb);
	for (size_t i = 0; i < na; i++) {
		assert_int_equal(x[i].time_ns, y[i].time_ns);
		assert_int_equal(x[i].chunk, y[i].chunk);
		assert_int_equal(x[i].event, y[i].event);
		assert_int_equal(x[i].ordinal, y[i].ordinal);
		assert_string_equal(x[i].name, y[i].name);
	}
}

static void assert_like_new(struct hl_model *m, const struct bytes *b, size_t len, bool growing)
{
	struct hl_byte_source *source;
	struct hl_model *fresh = open_bytes(b, len, growing, &source);

	assert_int_equal(hl_model_info(m)->end.kind, hl_model_info(fresh)->end.kind);
	assert_int_equal(hl_model_is_complete(m), hl_model_is_complete(fresh));
	assert_int_equal(hl_model_has_aggregated(m), hl_model_has_aggregated(fresh));
	assert_int_equal(hl_model_end_ns(m), hl_model_end_ns(fresh));
	assert_int_equal(hl_model_is_running(m), growing);
	assert_same_answers(m, fresh);
	assert_same_frames(m, fresh);
	assert_same_marks(m, fresh);
	hl_model_close(fresh);
}

/* From the first bytes to the end of the writer, in `steps` steps. */
static void grow(const struct bytes *b, size_t steps)
{
	struct hl_byte_source *source;
	struct hl_model *m = open_bytes(b, 64, true, &source);
	bool changed;

	for (size_t i = 1; i <= steps; i++) {
		set_length(source, b->len * i / steps, true);
		assert_int_equal(hl_model_refresh(m, &changed), 0);
		if (i % 3 != 1) /* some refreshes are not followed by a query */
			assert_like_new(m, b, b->len * i / steps, true);
	}
	set_length(source, b->len, false);
	assert_int_equal(hl_model_refresh(m, &changed), 0);
	assert_true(changed);
	assert_like_new(m, b, b->len, false);
	assert_int_equal(hl_model_refresh(m, &changed), 0);
	assert_false(changed);
	hl_model_close(m);
}

static void a_grown_model_equals_a_new_one(void **state)
{
	for (size_t k = 0; k < HL_ARRAY_LEN(samples); k++) {
		struct hl_fake_trace_opts opts = samples[k];
		struct hl_fake_trace s;
		struct bytes b;

		opts.events = opts.events < 6000 ? opts.events : 6000;
		assert_int_equal(hl_fake_trace_make(&s, &opts), 0);
		b = read_bytes(s.path);
		grow(&b, 12);
		free(b.data);
		hl_fake_trace_free(&s);
	}
}

/* Wrappers are found anew, by names that come after the first events. */
static void names_of_the_trace_are_found(void **state)
{
	static const char *const callers[] = {
		"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11"};
	struct named_trace *t = calloc(1, sizeof(*t));
	struct bytes b;

	for (size_t i = 0; i < HL_ARRAY_LEN(callers); i++)
		NAMED_STACK(t, 10 + 100 * i, "main", callers[i], "mem_get", "inl:mem_inside");
	hl_model_close(named_trace_open(t));
	b = read_bytes(t->path);
	grow(&b, 30);
	unlink(t->path);
	free(b.data);
	free(t);
}

static void a_deleted_trace_is_an_error(void **state)
{
	struct hl_fake_trace s;
	struct hl_model *m;
	bool changed;

	assert_int_equal(hl_fake_trace_make(&s, &samples[4]), 0);
	m = open_model(s.path);
	assert_int_equal(unlink(s.path), 0);
	assert_int_equal(hl_model_refresh(m, &changed), -ENOENT);
	assert_non_null(strstr(hl_model_error(m), "deleted"));
	assert_int_equal(hl_model_info(m)->end.kind, HL_END_EXIT);
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_grown_model_equals_a_new_one),
		cmocka_unit_test(names_of_the_trace_are_found),
		cmocka_unit_test(a_deleted_trace_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
