/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mappings_test.c - tests mappings against a plain array of pages.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/views/mappings.h"
#include "model/testing/test_fake_traces.h"

#define PAGE  4096u
#define PAGES 96u
#define CALLS 20000u
#define BASE  UINT64_C(0x7f0000000000)

struct page_model {
	uint32_t owner[PAGES]; /* id + 1; 0: not mapped */
	struct {
		uint64_t size, pages, mapped_ns, unmapped_ns, last_size, last_addr;
		uint32_t prot, remaps;
	} maps[CALLS + 1];
	uint32_t n;
	uint64_t random, now_ns, peak, peak_ns;
	struct hl_writer *w;
};

static uint64_t random_below(struct page_model *t, uint64_t n)
{
	t->random = hl_hash_u64(t->random + 1);
	return (t->random >> 20) % n;
}

static void unmap_page(struct page_model *t, uint64_t page, bool ends)
{
	uint32_t id = t->owner[page];

	t->owner[page] = 0;
	if (id == 0 || --t->maps[id - 1].pages > 0 || !ends)
		return;
	t->maps[id - 1].unmapped_ns = t->now_ns;
}

static void add_side_event(struct page_model *t, struct hl_extra x)
{
	uint64_t mapped = 0;

	x.time_ns = t->now_ns;
	x.node = 1;
	assert_int_equal(hl_writer_add_extra(t->w, &x), 0);
	for (uint64_t i = 0; i < PAGES; i++)
		mapped += t->owner[i] != 0;
	if (mapped > t->peak) {
		t->peak = mapped;
		t->peak_ns = t->now_ns;
	}
}

static void do_map(struct page_model *t, uint64_t from, uint64_t n)
{
	uint64_t size = n * PAGE - random_below(t, PAGE);
	uint32_t prot = (uint32_t)random_below(t, 8);

	for (uint64_t i = from; i < from + n; i++)
		unmap_page(t, i, true);
	for (uint64_t i = from; i < from + n; i++)
		t->owner[i] = t->n + 1;
	t->maps[t->n].size = t->maps[t->n].last_size = size;
	t->maps[t->n].last_addr = BASE + from * PAGE;
	t->maps[t->n].pages = n;
	t->maps[t->n].mapped_ns = t->now_ns;
	t->maps[t->n].unmapped_ns = UINT64_MAX;
	t->maps[t->n++].prot = prot;
	add_side_event(t, (struct hl_extra){.kind = HL_EXTRA_MMAP,
				  .addr = BASE + from * PAGE,
				  .size = size,
				  .value = prot | UINT64_C(0x22) << 32});
}

static void do_unmap(struct page_model *t, uint64_t from, uint64_t n)
{
	for (uint64_t i = from; i < from + n; i++)
		unmap_page(t, i, true);
	add_side_event(
		t, (struct hl_extra){
			   .kind = HL_EXTRA_MUNMAP, .addr = BASE + from * PAGE, .size = n * PAGE});
}

/* Moves or resizes the pages of one mapping that begin at `from`: elsewhere, in place, or over
 * other mappings. */
static void do_remap(struct page_model *t, uint64_t from, uint64_t to, uint64_t n)
{
	uint32_t id = t->owner[from];
	uint64_t old = 0;

	if (id == 0)
		return;
	while (from + old < PAGES && t->owner[from + old] == id && old < n + 2)
		old++;
	for (uint64_t i = from; i < from + old; i++)
		unmap_page(t, i, false);
	for (uint64_t i = to; i < to + n; i++)
		unmap_page(t, i, t->owner[i] != id);
	for (uint64_t i = to; i < to + n; i++)
		t->owner[i] = id;
	t->maps[id - 1].pages += n;
	t->maps[id - 1].remaps++;
	t->maps[id - 1].last_size = n * PAGE;
	t->maps[id - 1].last_addr = BASE + to * PAGE;
	add_side_event(t, (struct hl_extra){.kind = HL_EXTRA_MREMAP,
				  .addr = BASE + to * PAGE,
				  .size = n * PAGE,
				  .value = BASE + from * PAGE,
				  .value2 = old * PAGE});
}

static void do_call(struct page_model *t)
{
	uint64_t n = 1 + random_below(t, 9), from = random_below(t, PAGES - n + 1);
	uint64_t what = random_below(t, 10), old = random_below(t, PAGES);

	t->now_ns += HL_TIME_UNIT_NS * (1 + random_below(t, 3));
	if (what < 4)
		do_map(t, from, n);
	else if (what < 8)
		do_unmap(t, from, n);
	else
		do_remap(t, old, what == 8 && old + n <= PAGES ? old : from, n);
}

static void write_trace(struct page_model *t, char *path, bool maps)
{
	struct hl_meta meta = {.program = "/bin/maps",
		.command = "",
		.arch = "cpu",
		.mode = "trace",
		.record_mmap = maps};
	static const struct hl_fake_trace_opts tables = {.nodes = 3, .threads = 1};
	struct hl_writer_options wo = {.max_events = 64};
	struct hl_counters counters = {0};
	struct hl_end end = {.kind = HL_END_EXIT};

	assert_int_equal(hl_writer_open_with(&t->w, mkstemp(path), &meta, &wo), 0);
	hl_fake_trace_tables(t->w, &tables);
	for (uint32_t i = 0; i < CALLS; i++)
		do_call(t);
	end.duration_ns = t->now_ns;
	assert_int_equal(hl_writer_end(t->w, &end, &counters), 0);
	hl_writer_close(t->w);
}

struct check_context {
	struct page_model *t;
	uint8_t *times;
	uint64_t n;
};

static int check_mapping(void *arg, const struct hl_mapping *m)
{
	struct check_context *s = arg;

	assert_true(m->id < s->t->n);
	s->times[m->id]++;
	s->n++;
	if (m->size != s->t->maps[m->id].size || m->prot != s->t->maps[m->id].prot ||
		m->mapped_bytes != s->t->maps[m->id].pages * PAGE ||
		m->mapped_ns != s->t->maps[m->id].mapped_ns ||
		m->unmapped_ns != s->t->maps[m->id].unmapped_ns ||
		m->remaps != s->t->maps[m->id].remaps ||
		m->last_size != s->t->maps[m->id].last_size ||
		m->last_addr != s->t->maps[m->id].last_addr || m->node != 1)
		fail_msg("mapping %" PRIu64 ": %" PRIu64 " bytes left, should be %" PRIu64, m->id,
			m->mapped_bytes, s->t->maps[m->id].pages * PAGE);
	return 0;
}

static void random_calls_match_the_page_model(void **state)
{
	char path[] = "/tmp/hl-mmaps-XXXXXX";
	struct page_model *t = calloc(1, sizeof(*t));
	struct check_context s = {.t = t, .times = calloc(CALLS, 1)};
	struct hl_mappings x = {.on_mapping = check_mapping, .arg = &s};
	struct hl_mapping_list list;
	struct hl_model *m;

	write_trace(t, path, true);
	m = open_model(path);
	assert_int_equal(hl_model_mappings(m, &x), 0);
	assert_int_equal(s.n, t->n);
	for (uint32_t i = 0; i < t->n; i++)
		assert_int_equal(s.times[i], 1);
	assert_int_equal(x.peak_bytes, t->peak * PAGE);
	assert_int_equal(x.peak_ns, t->peak_ns);

	assert_int_equal(hl_mappings_largest(m, NULL, 10, &list), 0);
	assert_int_equal(list.maps.len, 10);
	for (size_t i = 1; i < list.maps.len; i++)
		assert_true(list.maps.data[i - 1].size >= list.maps.data[i].size);
	for (uint32_t i = 0; i < t->n; i++)
		assert_true(t->maps[i].size <= list.maps.data[0].size);
	hl_mapping_list_fini(&list);
	hl_model_close(m);
	unlink(path);
	free(s.times);
	free(t);
}

/* After a munmap that the kernel refused, the recorder writes an mmap without flags. */
static void a_refused_munmap_is_undone(void **state)
{
	struct hl_meta meta = {.program = "", .command = "", .mode = "trace", .record_mmap = true};
	static const struct hl_extra calls[] = {
		{.kind = HL_EXTRA_MMAP,
			.addr = BASE,
			.size = 3 * PAGE,
			.value = UINT64_C(0x22) << 32,
			.node = HL_NODE_NONE},
		{.kind = HL_EXTRA_MUNMAP, .addr = BASE + PAGE, .size = PAGE, .node = HL_NODE_NONE},
		{.kind = HL_EXTRA_MMAP, .addr = BASE + PAGE, .size = PAGE, .node = HL_NODE_NONE},
	};
	char path[] = "/tmp/hl-mmaps-XXXXXX";
	struct hl_writer_options wo = {.max_events = 64};
	struct hl_counters counters = {0};
	struct hl_end end = {.kind = HL_END_EXIT};
	struct hl_mapping_list list;
	struct hl_writer *w;
	struct hl_model *m;

	assert_int_equal(hl_writer_open_with(&w, mkstemp(path), &meta, &wo), 0);
	hl_writer_add_thread(w, 1);
	for (size_t i = 0; i < HL_ARRAY_LEN(calls); i++)
		assert_int_equal(hl_writer_add_extra(w, &calls[i]), 0);
	assert_int_equal(hl_writer_end(w, &end, &counters), 0);
	hl_writer_close(w);
	m = open_model(path);
	assert_int_equal(hl_mappings_largest(m, NULL, 0, &list), 0);
	assert_int_equal(list.maps.len, 1);
	assert_int_equal(list.maps.data[0].mapped_bytes, 3 * PAGE);
	assert_int_equal(list.maps.data[0].partial_unmaps, 0);
	hl_mapping_list_fini(&list);
	hl_model_close(m);
	unlink(path);
}

/* Lists the mappings that these calls make, largest first. */
static void list_maps(const struct hl_extra *calls, size_t n, struct hl_mapping_list *list)
{
	struct hl_meta meta = {.program = "", .command = "", .mode = "trace", .record_mmap = true};
	char path[] = "/tmp/hl-mmaps-XXXXXX";
	struct hl_writer_options wo = {.max_events = 64};
	struct hl_counters counters = {0};
	struct hl_end end = {.kind = HL_END_EXIT};
	struct hl_writer *w;
	struct hl_model *m;

	assert_int_equal(hl_writer_open_with(&w, mkstemp(path), &meta, &wo), 0);
	hl_writer_add_thread(w, 1);
	for (size_t i = 0; i < n; i++) {
		struct hl_extra x = calls[i];

		x.node = HL_NODE_NONE;
		assert_int_equal(hl_writer_add_extra(w, &x), 0);
	}
	assert_int_equal(hl_writer_end(w, &end, &counters), 0);
	hl_writer_close(w);
	m = open_model(path);
	assert_int_equal(hl_mappings_largest(m, NULL, 0, list), 0);
	hl_model_close(m);
	unlink(path);
}

static void a_call_counts_as_one_cut(void **state)
{
	static const struct hl_extra calls[] = {
		{.kind = HL_EXTRA_MMAP,
			.addr = BASE,
			.size = 3 * PAGE,
			.value = UINT64_C(0x22) << 32},
		{.kind = HL_EXTRA_MUNMAP, .addr = BASE + PAGE, .size = PAGE},
		{.kind = HL_EXTRA_MUNMAP, .addr = BASE, .size = 3 * PAGE},
	};
	struct hl_mapping_list list;

	list_maps(calls, HL_ARRAY_LEN(calls), &list);
	assert_int_equal(list.maps.len, 1);
	assert_int_equal(list.maps.data[0].mapped_bytes, 0);
	assert_int_equal(list.maps.data[0].partial_unmaps, 2);
	hl_mapping_list_fini(&list);
}

/* mremap with an old size of 0: both mappings exist. */
static void a_copy_has_the_protection_of_its_source(void **state)
{
	static const struct hl_extra calls[] = {
		{.kind = HL_EXTRA_MMAP,
			.addr = BASE,
			.size = 3 * PAGE,
			.value = 3 | UINT64_C(0x21) << 32},
		{.kind = HL_EXTRA_MREMAP, .addr = BASE + 8 * PAGE, .size = 2 * PAGE, .value = BASE},
	};
	struct hl_mapping_list list;

	list_maps(calls, HL_ARRAY_LEN(calls), &list);
	assert_int_equal(list.maps.len, 2);
	assert_int_equal(list.sums.left_bytes, 5 * PAGE);
	assert_int_equal(list.maps.data[1].size, 2 * PAGE);
	assert_int_equal(list.maps.data[1].prot, 3);
	assert_int_equal(list.maps.data[1].flags, 0x21);
	assert_false(list.maps.data[1].flags_unknown);
	assert_int_equal(list.maps.data[1].remaps, 0);
	hl_mapping_list_fini(&list);
}

static void a_trace_without_mmap_is_refused(void **state)
{
	struct page_model *t = calloc(1, sizeof(*t));
	char path[] = "/tmp/hl-mmaps-XXXXXX";
	struct hl_mappings x = {0};
	struct hl_model *m;

	write_trace(t, path, false);
	m = open_model(path);
	assert_int_equal(hl_model_mappings(m, &x), -ENODATA);
	assert_non_null(strstr(hl_model_error(m), "record --mmap"));
	hl_model_close(m);
	unlink(path);
	free(t);
}

static void flags_and_protection_as_text(void **state)
{
	static const struct {
		uint32_t flags;
		const char *text;
	} cases[] = {
		{0x22, "private,anonymous"},
		{0x01, "shared"},
		{0x03, "shared_validate"},
		{0x32, "private,fixed,anonymous"},
		{0x4022, "private,anonymous,noreserve"},
		{0x200022, "private,anonymous,0x200000"},
		{0x20, "anonymous"},
		{0x0f, "0xf"},
	};
	char prot[HL_MAPPING_PROT_MAX];

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_strbuf b = {0};

		hl_mapping_put_flags(&b, cases[i].flags);
		assert_string_equal(hl_strbuf_str(&b), cases[i].text);
		hl_strbuf_fini(&b);
	}
	assert_string_equal(hl_mapping_prot(prot, 0), "---");
	assert_string_equal(hl_mapping_prot(prot, 5), "r-x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_calls_match_the_page_model),
		cmocka_unit_test(a_refused_munmap_is_undone),
		cmocka_unit_test(a_call_counts_as_one_cut),
		cmocka_unit_test(a_copy_has_the_protection_of_its_source),
		cmocka_unit_test(a_trace_without_mmap_is_refused),
		cmocka_unit_test(flags_and_protection_as_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
