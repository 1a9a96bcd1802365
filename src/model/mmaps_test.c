/*
 * mmaps_test.c - mappings against a plain array of pages.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/mmaps.h"
#include "model/test_samples.h"

#define PAGE  4096u
#define PAGES 96u
#define CALLS 20000u
#define BASE  UINT64_C(0x7f0000000000)

struct truth {
	uint32_t owner[PAGES]; /* id + 1; 0: nothing is mapped */
	struct {
		uint64_t size, pages, birth_ns, death_ns, last_size, last_addr;
		uint32_t prot, remaps;
	} maps[CALLS + 1];
	uint32_t n;
	uint64_t random, now_ns, peak, peak_ns;
	struct hl_writer *w;
};

static uint64_t below(struct truth *t, uint64_t n)
{
	t->random = hl_hash_u64(t->random + 1);
	return (t->random >> 20) % n;
}

static void release(struct truth *t, uint64_t page, bool dies)
{
	uint32_t id = t->owner[page];

	t->owner[page] = 0;
	if (id == 0 || --t->maps[id - 1].pages > 0 || !dies)
		return;
	t->maps[id - 1].death_ns = t->now_ns;
}

static void add(struct truth *t, struct hl_extra x)
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

static void do_map(struct truth *t, uint64_t from, uint64_t n)
{
	uint64_t size = n * PAGE - below(t, PAGE);
	uint32_t prot = (uint32_t)below(t, 8);

	for (uint64_t i = from; i < from + n; i++)
		release(t, i, true);
	for (uint64_t i = from; i < from + n; i++)
		t->owner[i] = t->n + 1;
	t->maps[t->n].size = t->maps[t->n].last_size = size;
	t->maps[t->n].last_addr = BASE + from * PAGE;
	t->maps[t->n].pages = n;
	t->maps[t->n].birth_ns = t->now_ns;
	t->maps[t->n].death_ns = UINT64_MAX;
	t->maps[t->n++].prot = prot;
	add(t, (struct hl_extra){.kind = HL_EXTRA_MMAP,
		       .addr = BASE + from * PAGE,
		       .size = size,
		       .value = prot | UINT64_C(0x22) << 32});
}

static void do_unmap(struct truth *t, uint64_t from, uint64_t n)
{
	for (uint64_t i = from; i < from + n; i++)
		release(t, i, true);
	add(t, (struct hl_extra){
		       .kind = HL_EXTRA_MUNMAP, .addr = BASE + from * PAGE, .size = n * PAGE});
}

/* From the page on as much as one mapping has there, to any place, in place, or over others. */
static void do_remap(struct truth *t, uint64_t from, uint64_t to, uint64_t n)
{
	uint32_t id = t->owner[from];
	uint64_t old = 0;

	if (id == 0)
		return;
	while (from + old < PAGES && t->owner[from + old] == id && old < n + 2)
		old++;
	for (uint64_t i = from; i < from + old; i++)
		release(t, i, false);
	for (uint64_t i = to; i < to + n; i++)
		release(t, i, t->owner[i] != id);
	for (uint64_t i = to; i < to + n; i++)
		t->owner[i] = id;
	t->maps[id - 1].pages += n;
	t->maps[id - 1].remaps++;
	t->maps[id - 1].last_size = n * PAGE;
	t->maps[id - 1].last_addr = BASE + to * PAGE;
	add(t, (struct hl_extra){.kind = HL_EXTRA_MREMAP,
		       .addr = BASE + to * PAGE,
		       .size = n * PAGE,
		       .value = BASE + from * PAGE,
		       .value2 = old * PAGE});
}

static void do_call(struct truth *t)
{
	uint64_t n = 1 + below(t, 9), from = below(t, PAGES - n + 1);
	uint64_t what = below(t, 10), old = below(t, PAGES);

	t->now_ns += HL_TIME_UNIT_NS * (1 + below(t, 3));
	if (what < 4)
		do_map(t, from, n);
	else if (what < 8)
		do_unmap(t, from, n);
	else
		do_remap(t, old, what == 8 && old + n <= PAGES ? old : from, n);
}

static void make(struct truth *t, char *path, bool maps)
{
	struct hl_meta meta = {.program = "/bin/maps",
		.command = "",
		.arch = "x86_64",
		.mode = "trace",
		.maps = maps};
	static const struct hl_sample_opts tables = {.nodes = 3, .threads = 1};
	struct hl_writer_options wo = {.max_events = 64};
	struct hl_counters counters = {0};
	struct hl_end end = {.kind = HL_END_EXIT};

	assert_int_equal(hl_writer_open_with(&t->w, mkstemp(path), &meta, &wo), 0);
	hl_sample_tables(t->w, &tables);
	for (uint32_t i = 0; i < CALLS; i++)
		do_call(t);
	end.duration_ns = t->now_ns;
	assert_int_equal(hl_writer_end(t->w, &end, &counters), 0);
	hl_writer_close(t->w);
}

struct seen {
	struct truth *t;
	uint8_t *times;
	uint64_t n;
};

static int see(void *arg, const struct hl_mmap *m)
{
	struct seen *s = arg;

	assert_true(m->id < s->t->n);
	s->times[m->id]++;
	s->n++;
	if (m->size != s->t->maps[m->id].size || m->prot != s->t->maps[m->id].prot ||
		m->mapped_bytes != s->t->maps[m->id].pages * PAGE ||
		m->birth_ns != s->t->maps[m->id].birth_ns ||
		m->death_ns != s->t->maps[m->id].death_ns ||
		m->remaps != s->t->maps[m->id].remaps ||
		m->last_size != s->t->maps[m->id].last_size ||
		m->last_addr != s->t->maps[m->id].last_addr || m->node != 1)
		fail_msg("mapping %" PRIu64 ": %" PRIu64 " bytes left, should be %" PRIu64, m->id,
			m->mapped_bytes, s->t->maps[m->id].pages * PAGE);
	return 0;
}

static void mappings(void **state)
{
	char path[] = "/tmp/hl-mmaps-XXXXXX";
	struct truth *t = calloc(1, sizeof(*t));
	struct seen s = {.t = t, .times = calloc(CALLS, 1)};
	struct hl_mmaps x = {.mapping = see, .arg = &s};
	struct hl_mmap_list list;
	struct hl_model *m;

	make(t, path, true);
	m = open_model(path);
	assert_int_equal(hl_model_mmaps(m, &x), 0);
	assert_int_equal(s.n, t->n);
	for (uint32_t i = 0; i < t->n; i++)
		assert_int_equal(s.times[i], 1);
	assert_int_equal(x.peak_bytes, t->peak * PAGE);
	assert_int_equal(x.peak_ns, t->peak_ns);

	assert_int_equal(hl_mmaps_largest(m, NULL, 10, &list), 0);
	assert_int_equal(list.maps.len, 10);
	for (size_t i = 1; i < list.maps.len; i++)
		assert_true(list.maps.data[i - 1].size >= list.maps.data[i].size);
	for (uint32_t i = 0; i < t->n; i++)
		assert_true(t->maps[i].size <= list.maps.data[0].size);
	hl_mmap_list_fini(&list);
	hl_model_close(m);
	unlink(path);
	free(s.times);
	free(t);
}

/* A munmap that the kernel refused is followed by an mmap without flags. */
static void refused(void **state)
{
	struct hl_meta meta = {.program = "", .command = "", .mode = "trace", .maps = true};
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
	struct hl_mmap_list list;
	struct hl_writer *w;
	struct hl_model *m;

	assert_int_equal(hl_writer_open_with(&w, mkstemp(path), &meta, &wo), 0);
	hl_writer_add_thread(w, 1);
	for (size_t i = 0; i < HL_ARRAY_LEN(calls); i++)
		assert_int_equal(hl_writer_add_extra(w, &calls[i]), 0);
	assert_int_equal(hl_writer_end(w, &end, &counters), 0);
	hl_writer_close(w);
	m = open_model(path);
	assert_int_equal(hl_mmaps_largest(m, NULL, 0, &list), 0);
	assert_int_equal(list.maps.len, 1);
	assert_int_equal(list.maps.data[0].mapped_bytes, 3 * PAGE);
	assert_int_equal(list.maps.data[0].cuts, 0);
	hl_mmap_list_fini(&list);
	hl_model_close(m);
	unlink(path);
}

/* The mappings that these calls make, the largest first. */
static void list_maps(const struct hl_extra *calls, size_t n, struct hl_mmap_list *list)
{
	struct hl_meta meta = {.program = "", .command = "", .mode = "trace", .maps = true};
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
	assert_int_equal(hl_mmaps_largest(m, NULL, 0, list), 0);
	hl_model_close(m);
	unlink(path);
}

static void a_call_cuts_once(void **state)
{
	static const struct hl_extra calls[] = {
		{.kind = HL_EXTRA_MMAP,
			.addr = BASE,
			.size = 3 * PAGE,
			.value = UINT64_C(0x22) << 32},
		{.kind = HL_EXTRA_MUNMAP, .addr = BASE + PAGE, .size = PAGE},
		{.kind = HL_EXTRA_MUNMAP, .addr = BASE, .size = 3 * PAGE},
	};
	struct hl_mmap_list list;

	list_maps(calls, HL_ARRAY_LEN(calls), &list);
	assert_int_equal(list.maps.len, 1);
	assert_int_equal(list.maps.data[0].mapped_bytes, 0);
	assert_int_equal(list.maps.data[0].cuts, 2);
	hl_mmap_list_fini(&list);
}

/* mremap with an old size of 0: both mappings are there. */
static void a_copy_is_like_its_source(void **state)
{
	static const struct hl_extra calls[] = {
		{.kind = HL_EXTRA_MMAP,
			.addr = BASE,
			.size = 3 * PAGE,
			.value = 3 | UINT64_C(0x21) << 32},
		{.kind = HL_EXTRA_MREMAP, .addr = BASE + 8 * PAGE, .size = 2 * PAGE, .value = BASE},
	};
	struct hl_mmap_list list;

	list_maps(calls, HL_ARRAY_LEN(calls), &list);
	assert_int_equal(list.maps.len, 2);
	assert_int_equal(list.sums.left_bytes, 5 * PAGE);
	assert_int_equal(list.maps.data[1].size, 2 * PAGE);
	assert_int_equal(list.maps.data[1].prot, 3);
	assert_int_equal(list.maps.data[1].flags, 0x21);
	assert_false(list.maps.data[1].unknown);
	assert_int_equal(list.maps.data[1].remaps, 0);
	hl_mmap_list_fini(&list);
}

static void not_recorded(void **state)
{
	struct truth *t = calloc(1, sizeof(*t));
	char path[] = "/tmp/hl-mmaps-XXXXXX";
	struct hl_mmaps x = {0};
	struct hl_model *m;

	make(t, path, false);
	m = open_model(path);
	assert_int_equal(hl_model_mmaps(m, &x), -ENODATA);
	assert_non_null(strstr(hl_model_error(m), "record --mmap"));
	hl_model_close(m);
	unlink(path);
	free(t);
}

static void words(void **state)
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
	char prot[HL_MMAP_PROT_MAX];

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_strbuf b = {0};

		hl_mmap_put_flags(&b, cases[i].flags);
		assert_string_equal(hl_strbuf_str(&b), cases[i].text);
		hl_strbuf_fini(&b);
	}
	assert_string_equal(hl_mmap_prot(prot, 0), "---");
	assert_string_equal(hl_mmap_prot(prot, 5), "r-x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mappings),
		cmocka_unit_test(refused),
		cmocka_unit_test(a_call_cuts_once),
		cmocka_unit_test(a_copy_is_like_its_source),
		cmocka_unit_test(not_recorded),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
