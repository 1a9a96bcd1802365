/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_names_test.c - names stored in a trace are read back unchanged, for all sizes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/attr.h"
#include "trace/format/format_internal.h"
#include "trace/read/reader.h"
#include "trace/write/writer.h"

static const struct hl_meta meta = {.program = "p",
	.command = "",
	.arch = "",
	.clock = "",
	.mode = "imported",
	.allocator = "",
	.source = "a test"};

static int fd;

static struct hl_writer *open_writer(void)
{
	const struct hl_module m = {.path = "/lib/a"};
	struct hl_writer *w;

	fd = memfd_create("names", MFD_CLOEXEC);
	assert_int_equal(hl_writer_open(&w, dup(fd), &meta), 0);
	assert_int_equal(hl_writer_add_module(w, &m), 0);
	assert_int_equal(hl_writer_add_module(w, &m), 0);
	return w;
}

/* Ends the trace and opens it. It must be undamaged. */
static struct hl_reader *reopen(struct hl_writer *w)
{
	const struct hl_end end = {.kind = HL_END_STOPPED};
	const struct hl_counters counters = {0};
	const struct hl_trace_info *info;
	struct hl_reader_refusal why;
	struct hl_reader *r;
	char path[64];

	assert_int_equal(hl_writer_end(w, &end, &counters), 0);
	hl_writer_close(w);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(hl_reader_open(&r, path, &why), 0);
	assert_int_equal(hl_reader_verify(r, NULL), 0);
	assert_int_equal(hl_reader_info(r, &info), 0);
	assert_false(info->damaged);
	assert_string_equal(info->meta.source, "a test");
	close(fd);
	return r;
}

static void names_round_trip(void **state)
{
	const struct hl_name_frame in[] = {
		{.function = "outer", .file = "a.c", .line = 7}, {.line = 8, .inlined = true}};
	const struct hl_name_frame other[] = {{.function = "other"}};
	struct hl_named_site site = {.module = 0, .offset = 100, .frames = in, .n_frames = 2};
	const struct hl_name_frame *out;
	struct hl_writer *w = open_writer();
	struct hl_reader *r;
	size_t n;

	assert_int_equal(hl_writer_add_names(w, &site), 0);
	site = (struct hl_named_site){.offset = 100, .frames = other, .n_frames = 1};
	assert_int_equal(hl_writer_add_names(w, &site), 0); /* a duplicate: the first one wins */
	site = (struct hl_named_site){.module = HL_MODULE_NONE, .offset = UINT64_MAX};
	assert_int_equal(hl_writer_add_names(w, &site), 0);
	r = reopen(w);
	assert_int_equal(hl_reader_names(r, 0, 100, &out, &n), 0);
	assert_int_equal(n, 2);
	assert_string_equal(out[0].function, "outer");
	assert_string_equal(out[0].file, "a.c");
	assert_int_equal(out[0].line, 7);
	assert_false(out[0].inlined);
	assert_string_equal(out[1].function, "");
	assert_null(out[1].file);
	assert_true(out[1].inlined);
	/* A module with any names has none for other addresses; a module without names gives
	 * -ENOENT. */
	assert_int_equal(hl_reader_names(r, 0, 101, &out, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(hl_reader_names(r, HL_MODULE_NONE, UINT64_MAX, &out, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(hl_reader_names(r, 1, 100, &out, &n), -ENOENT);
	hl_reader_close(r);
}

static void names_of_an_undefined_module_are_refused(void **state)
{
	const struct hl_named_site site = {.module = 2};
	struct hl_writer *w = open_writer();

	assert_int_equal(hl_writer_add_names(w, &site), -EINVAL);
	hl_writer_close(w);
	close(fd);
}

/* A thousand frames with the longest texts exceed a chunk. Frames are left out, but nothing
 * else. */
static void long_names_fit_their_chunks(void **state)
{
	enum { FRAMES = 1024, SITES = 40 };
	struct hl_name_frame *in = calloc(FRAMES, sizeof(*in));
	const struct hl_name_frame *out;
	struct hl_writer *w = open_writer();
	struct hl_reader *r;
	size_t n;

	for (size_t i = 0; i < FRAMES; i++) {
		char *text = malloc(HL_TEXT_MAX + 1);

		memset(text, 'x', HL_TEXT_MAX);
		text[HL_TEXT_MAX] = 0;
		snprintf(text, 20, "%zu", i);
		text[strlen(text)] = ' ';
		in[i] = (struct hl_name_frame){.function = text, .line = 1};
	}
	for (size_t i = 0; i < SITES; i++) {
		const struct hl_named_site site = {
			.offset = i, .frames = in + i, .n_frames = FRAMES - i};

		assert_int_equal(hl_writer_add_names(w, &site), 0);
	}
	r = reopen(w);
	for (size_t i = 0; i < SITES; i++) {
		assert_int_equal(hl_reader_names(r, 0, i, &out, &n), 0);
		assert_in_range(n, 4, FRAMES);
		for (size_t k = 0; k < n; k++)
			assert_string_equal(out[k].function, in[i + k].function);
	}
	hl_reader_close(r);
	for (size_t i = 0; i < FRAMES; i++)
		free((char *)in[i].function);
	free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_round_trip),
		cmocka_unit_test(names_of_an_undefined_module_are_refused),
		cmocka_unit_test(long_names_fit_their_chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
