/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resident_test.c - the memory of mappings against sums over plain arrays.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "model/views/resident.h"
#include "model/testing/test_fake_traces.h"

#define SAMPLES 90u
#define SLOTS   12u
#define PAGE    4096u
#define END_NS  (UINT64_C(64) * 1000000)

static const char *const names[] = {
	"", "[heap]", "/lib/a.so", "/lib/b.so", "[stack]", "/memfd:x (deleted)", "[vdso]"};
static const enum hl_resident_kind expected_kinds[] = {HL_RESIDENT_ANONYMOUS, HL_RESIDENT_HEAP,
	HL_RESIDENT_FILE, HL_RESIDENT_FILE, HL_RESIDENT_STACK, HL_RESIDENT_SHARED,
	HL_RESIDENT_KERNEL};
#define NAMES HL_ARRAY_LEN(names)

struct draw {
	uint64_t seed;
};

static uint64_t draw_below(struct draw *r, uint64_t n)
{
	r->seed = hl_hash_u64(r->seed + 1);
	return (r->seed >> 20) % n;
}

/* The mapping of each sample in each slot. */
struct plain {
	uint64_t time[SAMPLES];
	bool has[SAMPLES][SLOTS];
	unsigned name[SAMPLES][SLOTS]; /* of the mapping; it stays the same while it is mapped */
	struct hl_map_entry maps[SAMPLES][SLOTS];
};

static struct hl_map_entry make_entry(struct draw *r, unsigned slot, unsigned name)
{
	struct hl_map_entry m = {.start = (slot + 1) * UINT64_C(100) * PAGE,
		.name = names[name],
		.perms = HL_MAP_READ};

	m.end = m.start + (1 + draw_below(r, 50)) * PAGE;
	for (unsigned i = 0; i < HL_MAP_AMOUNTS; i++)
		m.kib[i] = 4 * draw_below(r, 20);
	return m;
}

static void write_trace(struct plain *p, struct draw *r, char *path)
{
	struct hl_meta meta = {
		.program = "/bin/p", .command = "", .mode = "trace", .record_mmap = true};
	struct hl_end end = {.kind = HL_END_EXIT, .duration_ns = END_NS};
	struct hl_counters counters = {0};
	struct hl_writer *w;

	assert_int_equal(hl_writer_open(&w, mkstemp(path), &meta), 0);
	for (unsigned s = 0; s < SAMPLES; s++) {
		struct hl_map_entry list[SLOTS];
		struct hl_map_sample sample = {.maps = list, .read_ns = s};

		p->time[s] = s == 0 ? 64 * 40000 : p->time[s - 1] + 64 * (1 + draw_below(r, 15000));
		for (unsigned i = 0; i < SLOTS; i++) {
			bool had = s > 0 && p->has[s - 1][i];

			p->has[s][i] = draw_below(r, 10) < (had ? 9 : 3);
			if (!p->has[s][i])
				continue;
			p->name[s][i] = had ? p->name[s - 1][i] : (unsigned)draw_below(r, NAMES);
			list[sample.n++] = p->maps[s][i] = make_entry(r, i, p->name[s][i]);
		}
		sample.time_ns = p->time[s];
		assert_int_equal(hl_writer_add_maps(w, &sample), 0);
	}
	assert_true(p->time[SAMPLES - 1] < END_NS);
	assert_int_equal(hl_writer_end(w, &end, &counters), 0);
	hl_writer_close(w);
}

static uint64_t rss_of(const struct hl_map_entry *m)
{
	return (m->kib[0] + m->kib[1] + m->kib[2] + m->kib[3]) * 1024;
}

static uint64_t group_rss(const struct plain *p, unsigned s, unsigned name)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < SLOTS; i++)
		if (p->has[s][i] && (name == NAMES || p->name[s][i] == name))
			sum += rss_of(&p->maps[s][i]);
	return sum;
}

/* The newest sample not after a time; the first one if all are later. */
static unsigned sample_at(const struct plain *p, uint64_t ns)
{
	unsigned s = 0;

	while (s + 1 < SAMPLES && p->time[s + 1] <= ns)
		s++;
	return s;
}

static void check_group(const struct plain *p, const struct hl_resident *x, unsigned s,
	const struct hl_resident_group *g)
{
	unsigned name = 0;
	uint64_t peak = 0, first = UINT64_MAX, last = 0, maps = 0;

	while (strcmp(names[name], g->name) != 0)
		assert_true(++name < NAMES);
	assert_int_equal(g->kind, expected_kinds[name]);
	for (unsigned i = 0; i < SAMPLES; i++)
		for (unsigned k = 0; k < SLOTS; k++)
			if (p->has[i][k] && p->name[i][k] == name) {
				first = hl_min_u64(first, p->time[i]);
				last = p->time[i];
				peak = hl_max_u64(peak, group_rss(p, i, name));
				maps += i == s;
			}
	assert_int_equal(g->maps, maps);
	assert_int_equal(g->use.rss, group_rss(p, s, name));
	assert_int_equal(g->use.rss, g->use.dirty + g->use.clean);
	assert_int_equal(g->peak_rss, peak);
	assert_int_equal(g->first_ns, first);
	assert_int_equal(g->last_ns, last);
	for (unsigned k = 0; k < HL_RESIDENT_POINTS; k++) {
		uint64_t highest = 0;
		bool own = false;

		for (unsigned i = 0; i < SAMPLES; i++)
			if (p->time[i] >= x->range.from_ns && p->time[i] <= x->range.to_ns &&
				hl_time_range_column(&x->range, p->time[i], HL_RESIDENT_POINTS) ==
					k) {
				highest = hl_max_u64(highest, group_rss(p, i, name));
				own = true;
			}
		if (!own && k >= x->first_known) { /* that of the last sample before it */
			uint64_t width = x->range.to_ns - x->range.from_ns;

			highest = group_rss(p,
				sample_at(
					p, x->range.from_ns + width * (k + 1) / HL_RESIDENT_POINTS),
				name);
		}
		if (k >= x->first_known)
			assert_int_equal(g->trend[k], highest);
	}
}

static void check_moment(const struct plain *p, struct hl_model *m, uint64_t moment,
	const struct hl_time_range *range)
{
	struct hl_resident_point points[10];
	struct hl_resident x;
	unsigned s = sample_at(p, moment);
	uint64_t rss = 0, size = 0, at = 0, maps = 0;

	assert_int_equal(
		hl_resident_at(&x, m, moment, range, NULL, points, HL_ARRAY_LEN(points)), 0);
	assert_int_equal(x.n_samples, SAMPLES);
	assert_int_equal(x.time_ns, p->time[s]);
	assert_int_equal(x.read_ns, s);
	assert_int_equal(x.use.rss, group_rss(p, s, NAMES));
	assert_false(x.before_damage);
	for (size_t i = 0; i < x.n_groups; i++) {
		check_group(p, &x, s, &x.groups[i]);
		assert_true(!i || x.groups[i].use.rss <= x.groups[i - 1].use.rss);
		rss += x.groups[i].use.rss;
		maps += x.groups[i].maps;
	}
	assert_int_equal(rss, x.use.rss);
	assert_int_equal(maps, x.n_maps);
	for (unsigned i = 0; i < SLOTS; i++) {
		const struct hl_resident_map *map = &x.maps[at];
		unsigned first = s, last = s;
		uint64_t peak = 0;

		if (!p->has[s][i])
			continue;
		while (first > 0 && p->has[first - 1][i])
			first--;
		while (last + 1 < SAMPLES && p->has[last + 1][i])
			last++;
		for (unsigned k = first; k <= last; k++)
			peak = hl_max_u64(peak, rss_of(&p->maps[k][i]));
		assert_int_equal(map->start, p->maps[s][i].start);
		assert_int_equal(map->end, p->maps[s][i].end);
		assert_string_equal(map->name, names[p->name[s][i]]);
		assert_int_equal(map->use.swap, p->maps[s][i].kib[HL_MAP_SWAP] * 1024);
		assert_int_equal(map->use.anonymous, p->maps[s][i].kib[HL_MAP_ANONYMOUS] * 1024);
		assert_int_equal(map->first_ns, p->time[first]);
		assert_int_equal(map->last_ns, p->time[last]);
		assert_int_equal(map->peak_rss, peak);
		size += map->use.size;
		at++;
	}
	assert_int_equal(at, x.n_maps);
	assert_int_equal(size, x.use.size);
	for (size_t k = 0; k < HL_ARRAY_LEN(points); k++) {
		uint64_t width = range->to_ns - range->from_ns,
			 end = range->from_ns + width * (k + 1) / HL_ARRAY_LEN(points);

		assert_int_equal(points[k].known, p->time[0] <= end);
		if (points[k].known)
			assert_int_equal(points[k].use.rss, group_rss(p, sample_at(p, end), NAMES));
	}
	hl_resident_fini(&x);
}

static void check_highest(
	const struct plain *p, struct hl_model *m, const struct hl_time_range *all)
{
	struct hl_resident x;
	unsigned highest = 0;

	for (unsigned s = 1; s < SAMPLES; s++)
		if (group_rss(p, s, NAMES) > group_rss(p, highest, NAMES))
			highest = s;
	assert_int_equal(hl_resident_at(&x, m, HL_RESIDENT_HIGHEST, all, NULL, NULL, 0), 0);
	assert_int_equal(x.time_ns, p->time[highest]);
	assert_int_equal(x.peak_ns, p->time[highest]);
	assert_int_equal(x.peak_rss, group_rss(p, highest, NAMES));
	assert_int_equal(x.use.rss, x.peak_rss);
	for (size_t i = 0; i < x.n_groups; i++)
		check_group(p, &x, highest, &x.groups[i]);
	hl_resident_fini(&x);
}

static void numbers_are_those_of_the_samples(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct draw r = {seed};
		char path[] = "/tmp/hl-resident-XXXXXX";
		struct plain *p = calloc(1, sizeof(*p));
		struct hl_time_range all;
		struct hl_model *m;

		assert_non_null(p);
		write_trace(p, &r, path);
		m = open_model(path);
		all = hl_time_range_all(m);
		assert_int_equal(all.to_ns, END_NS);
		check_moment(p, m, 0, &all);
		check_moment(p, m, END_NS, &all);
		check_highest(p, m, &all);
		for (unsigned i = 0; i < 20; i++) {
			/* a column is a whole number of units of time */
			struct hl_time_range range = {
				.from_ns = draw_below(&r, 40) * 240 * 64 * 100};

			range.to_ns = range.from_ns + (1 + draw_below(&r, 20)) * 240 * 64 * 100;
			range.to_ns = hl_min_u64(range.to_ns, END_NS);
			check_moment(p, m, draw_below(&r, END_NS),
				(range.to_ns - range.from_ns) % 240 ? &all : &range);
		}
		hl_model_close(m);
		unlink(path);
		free(p);
	}
}

static void trace_without_samples_is_refused(void **state)
{
	static const char *const says[] = {"record --mmap", "smaps"};

	(void)state;
	for (int with = 0; with < 2; with++) {
		struct hl_meta meta = {
			.program = "", .command = "", .mode = "trace", .record_mmap = with};
		struct hl_end end = {.kind = HL_END_EXIT, .duration_ns = 64};
		struct hl_counters counters = {0};
		char path[] = "/tmp/hl-resident-XXXXXX";
		struct hl_time_range all;
		struct hl_resident x;
		struct hl_writer *w;
		struct hl_model *m;

		assert_int_equal(hl_writer_open(&w, mkstemp(path), &meta), 0);
		assert_int_equal(hl_writer_end(w, &end, &counters), 0);
		hl_writer_close(w);
		m = open_model(path);
		all = hl_time_range_all(m);
		assert_int_equal(hl_resident_at(&x, m, 0, &all, NULL, NULL, 0), -ENODATA);
		assert_non_null(strstr(hl_model_error(m), says[with]));
		hl_resident_fini(&x);
		hl_model_close(m);
		unlink(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_those_of_the_samples),
		cmocka_unit_test(trace_without_samples_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
