/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fake_traces.h - the generated traces for tests of the model, and the comparison of an answer
 * with the plain count. A test of numbers uses all of them, or samples[0].
 */
#ifndef HL_MODEL_TESTING_TEST_FAKE_TRACES_H
#define HL_MODEL_TESTING_TEST_FAKE_TRACES_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/attr.h"
#include "model/query/query.h"
#include "model/testing/fake_trace.h"

static const struct hl_fake_trace_opts samples[] = {
	{.seed = 1,
		.events = 40000,
		.nodes = 300,
		.threads = 3,
		.live = 500,
		.chunk = 500,
		.keyframe = 4000,
		.live_set = 7001},
	{.seed = 2,
		.events = 40000,
		.nodes = 2000,
		.threads = 1,
		.live = 20000,
		.chunk = 1000,
		.keyframe = 3000},
	{.seed = 3,
		.events = 30000,
		.nodes = 50,
		.threads = 8,
		.live = 100,
		.chunk = 300,
		.keyframe = 1000,
		.live_set = 2001,
		.has_odd_events = true},
	{.seed = 4,
		.events = 30000,
		.nodes = 300,
		.threads = 2,
		.live = 500,
		.chunk = 700,
		.keyframe = 5000,
		.live_set = 9001,
		.no_end = true},
	/* for tests that need a trace and no numbers */
	{.seed = 5,
		.events = 10,
		.nodes = 2,
		.threads = 1,
		.live = 4,
		.chunk = 4,
		.keyframe = 1000},
	/* no keyframe but the last, and more stacks than a summary holds */
	{.seed = 6,
		.events = 20000,
		.nodes = 15000,
		.threads = 2,
		.live = 9000,
		.chunk = 9000,
		.keyframe = 1000000},
};

static struct hl_model *open_model(const char *path)
{
	struct hl_reader_refusal why = {0};
	struct hl_model *m = NULL;

	if (hl_model_open(&m, path, &why))
		fail_msg("%s: %s", path, why.text);
	return m;
}

/* Damages n bytes of a file. */
static inline void flip(const char *path, uint64_t at, size_t n)
{
	int fd = open(path, O_RDWR);
	uint8_t byte;

	assert_true(fd >= 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(pread(fd, &byte, 1, (off_t)(at + i)), 1);
		byte ^= 0x5a;
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)(at + i)), 1);
	}
	close(fd);
}

static inline bool equal(const struct hl_answer *a, const struct hl_fake_trace_value *v)
{
	for (uint32_t i = 0; i <= a->n_keys; i++) {
		if (a->values[i].bytes != v[i].bytes || a->values[i].blocks != v[i].blocks)
			return false;
	}
	return true;
}

#endif
