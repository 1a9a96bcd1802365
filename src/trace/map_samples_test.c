/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_samples_test.c - samples of mappings are read as they were written, in parts and as
 * differences; what is damaged or forged is left out, up to the next full sample.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/bits.h"
#include "base/hash.h"
#include "trace/read/map_cursor.h"
#include "trace/read/reader.h"
#include "trace/write/map_encoder.h"
#include "trace/write/writer.h"

#define PAGE    4096u
#define MAPS    500
#define SAMPLES 200

static char path[] = "/tmp/hl-maps-XXXXXX";
static const struct hl_meta meta = {.program = "p",
	.command = "",
	.arch = "cpu",
	.clock = "tsc",
	.mode = "trace",
	.allocator = "",
	.record_mmap = true};

/* The mappings of a simulated process. */
struct process {
	struct hl_map_entry maps[MAPS];
	char names[MAPS][32];
	size_t n;
	uint64_t seed, time_ns;
};

static uint64_t draw(struct process *p, uint64_t below)
{
	p->seed = hl_hash_u64(p->seed + 1);
	return p->seed % below;
}

static void set_amounts(struct process *p, struct hl_map_entry *m)
{
	for (unsigned i = 0; i < HL_MAP_AMOUNTS; i++)
		m->kib[i] = draw(p, 8) ? draw(p, 4000) * 4 : HL_MAP_AMOUNT_MAX - 1;
}

/* Slot i has the addresses from i * 64 pages on. The last one ends at the last page but one. */
static struct hl_map_entry make_map(struct process *p, size_t slot)
{
	uint64_t start = slot + 1 == MAPS ? UINT64_MAX - 65 * PAGE + 1 : slot * 64 * PAGE;
	struct hl_map_entry m = {.start = start,
		.end = start + (1 + draw(p, 64)) * PAGE,
		.offset = draw(p, 3) * PAGE,
		.perms = (uint8_t)draw(p, 16)};

	snprintf(p->names[slot], sizeof(p->names[slot]), "/lib/%llu\xff\x1b\"\\012.so (deleted)",
		(unsigned long long)draw(p, 40));
	m.name = draw(p, 4) ? p->names[slot] : "";
	set_amounts(p, &m);
	return m;
}

/* Changes the process: some mappings are gone, some are new, some grow. */
static void step(struct process *p, unsigned percent)
{
	struct hl_map_entry now[MAPS];
	size_t n = 0, at = 0;

	for (size_t slot = 0; slot < MAPS; slot++) {
		uint64_t start = slot + 1 == MAPS ? UINT64_MAX - 65 * PAGE + 1 : slot * 64 * PAGE;
		bool has = at < p->n && p->maps[at].start == start;
		bool changes = draw(p, 100) < percent;

		if (has && !changes)
			now[n++] = p->maps[at];
		if (changes && has && draw(p, 2)) {
			now[n] = p->maps[at];
			now[n].end = start + (1 + draw(p, 64)) * PAGE;
			set_amounts(p, &now[n++]);
		} else if (changes && draw(p, 2)) {
			now[n++] = make_map(p, slot);
		}
		at += has;
	}
	memcpy(p->maps, now, sizeof(now));
	p->n = n;
	p->time_ns += HL_TIME_UNIT_NS * (1 + draw(p, 1000000));
}

static struct hl_map_sample sample_of(const struct process *p)
{
	return (struct hl_map_sample){
		.time_ns = p->time_ns, .read_ns = p->time_ns / 7, .maps = p->maps, .n = p->n};
}

static unsigned percent_of(size_t i)
{
	return i == 0 ? 100 : i % 50 == 49 ? 60 : i % 3 ? 2 : 0;
}

static struct hl_writer *open_writer(void)
{
	struct hl_writer *w;
	int fd = open(path, O_RDWR | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(hl_writer_open(&w, fd, &meta), 0);
	return w;
}

static void end_writer(struct hl_writer *w)
{
	assert_int_equal(hl_writer_end(w, &(struct hl_end){0}, &(struct hl_counters){0}), 0);
	hl_writer_close(w);
}

static struct hl_reader *open_reader(void)
{
	struct hl_reader_refusal why;
	struct hl_reader *r;

	assert_int_equal(hl_reader_open(&r, path, &why), 0);
	return r;
}

static void check_sample(const struct hl_map_sample *a, const struct hl_map_sample *b)
{
	assert_int_equal(a->time_ns, b->time_ns);
	assert_int_equal(a->read_ns, b->read_ns);
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		const struct hl_map_entry *x = &a->maps[i], *y = &b->maps[i];

		assert_int_equal(x->start, y->start);
		assert_int_equal(x->end, y->end);
		assert_int_equal(x->offset, y->offset);
		assert_int_equal(x->perms, y->perms);
		assert_string_equal(x->name, y->name);
		assert_memory_equal(x->kib, y->kib, sizeof(x->kib));
	}
}

static void put(struct hl_writer *w, struct hl_map_encoder *e, const struct hl_map_sample *s)
{
	struct hl_map_parts parts;

	assert_int_equal(hl_map_encode(e, s, &parts), 0);
	assert_int_equal(hl_writer_put_maps(w, &parts), 0);
	hl_map_parts_fini(&parts);
}

/* bytes_max: small parts, so that a sample has several. */
static void check_round_trip(size_t bytes_max)
{
	struct process p = {.seed = 1}, again = {.seed = 1};
	struct hl_map_encoder e = {.bytes_max = bytes_max};
	const struct hl_trace_info *info;
	const struct hl_map_sample *got;
	struct hl_writer *w = open_writer();
	struct hl_map_cursor *c;
	struct hl_reader *r;

	for (size_t i = 0; i < SAMPLES; i++) {
		struct hl_map_sample s;

		step(&p, percent_of(i));
		if (i == SAMPLES / 2)
			p.n = 0; /* nothing is mapped */
		s = sample_of(&p);
		put(w, &e, &s);
	}
	hl_map_encoder_fini(&e);
	end_writer(w);
	r = open_reader();
	assert_int_equal(hl_map_cursor_open(&c, r), 0);
	for (size_t i = 0; i < SAMPLES; i++) {
		struct hl_map_sample s;

		step(&again, percent_of(i));
		if (i == SAMPLES / 2)
			again.n = 0;
		s = sample_of(&again);
		assert_int_equal(hl_map_cursor_next(c, &got), 0);
		assert_non_null(got);
		check_sample(got, &s);
	}
	assert_int_equal(hl_map_cursor_next(c, &got), 0);
	assert_null(got);
	assert_false(hl_map_cursor_is_damaged(c));
	hl_map_cursor_close(c);
	assert_int_equal(hl_reader_info(r, &info), 0);
	assert_int_equal(info->n_map_samples, SAMPLES);
	hl_reader_close(r);
}

static void samples_are_read_as_they_were_written(void **state)
{
	(void)state;
	check_round_trip(0);
	check_round_trip(2000);
	check_round_trip(1);
}

static void sample_of_many_mappings_has_several_chunks(void **state)
{
	size_t n = 100000;
	struct hl_map_entry *maps = calloc(n, sizeof(*maps));
	struct hl_map_sample s = {.maps = maps, .n = n};
	const struct hl_map_sample *got;
	struct hl_writer *w = open_writer();
	struct hl_map_cursor *c;
	struct hl_reader *r;

	(void)state;
	assert_non_null(maps);
	for (size_t i = 0; i < n; i++)
		maps[i] = (struct hl_map_entry){
			.start = i * 2 * PAGE, .end = (i * 2 + 1) * PAGE, .name = "[anon:x]"};
	assert_int_equal(hl_writer_add_maps(w, &s), 0);
	maps[5].kib[HL_MAP_SWAP] = 4;
	s.time_ns = 64;
	assert_int_equal(hl_writer_add_maps(w, &s), 0);
	end_writer(w);
	r = open_reader();
	assert_int_equal(hl_map_cursor_open(&c, r), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(hl_map_cursor_next(c, &got), 0);
		assert_non_null(got);
		assert_int_equal(got->n, n);
	}
	check_sample(got, &s);
	hl_map_cursor_close(c);
	hl_reader_close(r);
	free(maps);
}

static void names_beyond_the_limit_are_replaced(void **state)
{
	enum { NAMES = 6000 };
	struct hl_map_entry *maps = calloc(NAMES, sizeof(*maps));
	char(*names)[HL_MAP_NAME_MAX + 100] = calloc(NAMES, sizeof(*names));
	struct hl_map_sample s = {.maps = maps, .n = NAMES};
	const struct hl_map_sample *got;
	struct hl_writer *w = open_writer();
	struct hl_map_cursor *c;
	struct hl_reader *r;
	size_t cut = 0, unnamed = 0;

	(void)state;
	assert_true(maps && names);
	for (size_t i = 0; i < NAMES; i++) {
		memset(names[i], 'a', sizeof(names[i]) - 1);
		snprintf(names[i], 8, "/%06zu", i);
		names[i][7] = 'b';
		maps[i] = (struct hl_map_entry){
			.start = i * PAGE, .end = (i + 1) * PAGE, .name = names[i]};
	}
	assert_int_equal(hl_writer_add_maps(w, &s), 0);
	s.time_ns = 64;
	assert_int_equal(hl_writer_add_maps(w, &s), 0); /* full again */
	end_writer(w);
	r = open_reader();
	assert_int_equal(hl_map_cursor_open(&c, r), 0);
	assert_int_equal(hl_map_cursor_next(c, &got), 0);
	assert_int_equal(hl_map_cursor_next(c, &got), 0);
	assert_non_null(got);
	for (size_t i = 0; i < NAMES; i++) {
		cut += strlen(got->maps[i].name) == HL_MAP_NAME_MAX;
		unnamed += !strcmp(got->maps[i].name, "[?]");
	}
	assert_int_equal(cut + unnamed, NAMES);
	assert_true(cut > 4000 && unnamed > 1000);
	hl_map_cursor_close(c);
	hl_reader_close(r);
	free(maps);
	free(names);
}

static void encoder_refuses_what_is_no_sample(void **state)
{
	static const struct hl_map_entry bad[][2] = {
		{{.start = PAGE, .end = PAGE, .name = ""}},
		{{.start = PAGE + 1, .end = 3 * PAGE, .name = ""}},
		{{.start = PAGE, .end = 3 * PAGE, .name = ""},
			{.start = 2 * PAGE, .end = 4 * PAGE, .name = ""}},
		{{.start = PAGE, .end = 3 * PAGE, .name = "", .kib = {HL_MAP_AMOUNT_MAX}}},
	};
	struct hl_map_encoder e = {0};
	struct hl_map_parts parts;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++) {
		struct hl_map_sample s = {.maps = bad[i], .n = bad[i][1].end ? 2 : 1};

		assert_int_equal(hl_map_encode(&e, &s, &parts), -EINVAL);
	}
	assert_int_equal(
		hl_map_encode(&e, &(struct hl_map_sample){.n = (size_t)HL_MAPS_MAX + 1}, &parts),
		-E2BIG);
	hl_map_encoder_fini(&e);
}

/* Reads everything and checks what every sample promises. Returns the number of samples. */
static size_t read_hostile(bool *damaged)
{
	const struct hl_map_sample *got = NULL;
	struct hl_map_cursor *c;
	struct hl_reader *r = open_reader();
	uint64_t time = 0;
	size_t n = 0;

	assert_int_equal(hl_map_cursor_open(&c, r), 0);
	while (assert_int_equal(hl_map_cursor_next(c, &got), 0), got) {
		uint64_t end = 0;

		assert_true(got->time_ns >= time);
		time = got->time_ns;
		for (size_t i = 0; i < got->n; i++) {
			assert_true(got->maps[i].start >= end);
			end = got->maps[i].end;
			assert_true(end > got->maps[i].start);
			assert_true(strlen(got->maps[i].name) <= HL_MAP_NAME_MAX);
			for (unsigned k = 0; k < HL_MAP_AMOUNTS; k++)
				assert_true(got->maps[i].kib[k] < HL_MAP_AMOUNT_MAX);
		}
		n++;
	}
	*damaged = hl_map_cursor_is_damaged(c);
	hl_map_cursor_close(c);
	hl_reader_close(r);
	return n;
}

/* Changes a byte or a few of one column of the sample. Returns true if its time may be changed. */
static bool forge(struct process *p, struct hl_map_parts *parts)
{
	struct hl_map_part *part = &parts->v.data[draw(p, parts->v.len)];
	hl_byte_buffer *columns[] = {&part->numbers, &part->texts, &part->rows}, *b;

	b = columns[draw(p, 3)];
	for (uint64_t k = draw(p, 3); k < 3 && b->len; k++)
		b->data[draw(p, b->len)] = (uint8_t)draw(p, 256);
	if (draw(p, 4) == 0)
		b->len -= draw(p, 2) && b->len;
	if (draw(p, 8) == 0)
		part->n_rows = (uint32_t)draw(p, 70000);
	if (draw(p, 8) == 0)
		parts->full = !parts->full;
	return b == &part->numbers;
}

static void forged_samples_are_left_out(void **state)
{
	size_t n_damaged = 0, n_whole = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct process p = {.seed = seed};
		struct hl_map_encoder e = {.bytes_max = seed % 2 ? 500 : 0};
		struct hl_writer *w = open_writer();
		size_t n = 100, got;
		bool damaged, late = false;

		for (size_t i = 0; i < n; i++) {
			struct hl_map_parts parts;
			struct hl_map_sample s;

			step(&p, i ? 3 : 20);
			s = sample_of(&p);
			assert_int_equal(hl_map_encode(&e, &s, &parts), 0);
			if (i == 30)
				late = forge(&p, &parts);
			assert_int_equal(hl_writer_put_maps(w, &parts), 0);
			hl_map_parts_fini(&parts);
		}
		hl_map_encoder_fini(&e);
		end_writer(w);
		got = read_hostile(&damaged);
		/* the samples before it, and those from the next full one on that are not earlier
		 */
		assert_true(got >= 30 + (late ? 0 : n - 65));
		n_damaged += damaged;
		n_whole += got == n;
		assert_true(damaged == (got < n));
	}
	assert_true(n_damaged > 50 && n_whole > 10);
}

/* Each byte of the file, changed: the samples that remain are whole. */
static void damaged_file_loses_only_its_samples(void **state)
{
	struct process p = {.seed = 3};
	struct hl_writer *w = open_writer();
	uint64_t size;
	bool damaged;
	int fd;

	(void)state;
	for (size_t i = 0; i < 70; i++) {
		struct hl_map_sample s;

		step(&p, i ? 1 : 4);
		s = sample_of(&p);
		assert_int_equal(hl_writer_add_maps(w, &s), 0);
	}
	end_writer(w);
	assert_int_equal(read_hostile(&damaged), 70);
	assert_false(damaged);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	size = (uint64_t)lseek(fd, 0, SEEK_END);
	for (uint64_t at = 200; at < size; at += 131) {
		uint8_t was, now;

		assert_int_equal(pread(fd, &was, 1, (off_t)at), 1);
		now = (uint8_t)~was;
		assert_int_equal(pwrite(fd, &now, 1, (off_t)at), 1);
		(void)read_hostile(&damaged);
		assert_int_equal(pwrite(fd, &was, 1, (off_t)at), 1);
	}
	close(fd);
}

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_read_as_they_were_written),
		cmocka_unit_test(sample_of_many_mappings_has_several_chunks),
		cmocka_unit_test(names_beyond_the_limit_are_replaced),
		cmocka_unit_test(encoder_refuses_what_is_no_sample),
		cmocka_unit_test(forged_samples_are_left_out),
		cmocka_unit_test(damaged_file_loses_only_its_samples),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
