/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_bounds_test.c - functions by .eh_frame: those of this program, and of tables made here.
 */
#include <dlfcn.h>
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/hash.h"
#include "symbol/function_bounds_internal.h"

#define SECTION 0x8000

static const unsigned char ident64[EI_NIDENT] = {
	[EI_CLASS] = ELFCLASS64, [EI_DATA] = ELFDATA2LSB, [EI_VERSION] = EV_CURRENT};
static const unsigned char ident32[EI_NIDENT] = {
	[EI_CLASS] = ELFCLASS32, [EI_DATA] = ELFDATA2MSB, [EI_VERSION] = EV_CURRENT};

struct table {
	uint8_t data[4096];
	size_t len;
	bool big_endian;
};

static void put(struct table *t, size_t size, uint64_t v)
{
	for (size_t i = 0; i < size; i++)
		t->data[t->len++] = (uint8_t)(v >> 8 * (t->big_endian ? size - 1 - i : i));
}

/* Writes the length of the entry that begins at `at`. */
static void end_entry(struct table *t, size_t at)
{
	size_t end;

	while (t->len % 4)
		put(t, 1, 0);
	end = t->len;
	t->len = at;
	put(t, 4, end - at - 4);
	t->len = end;
}

/* Returns where the CIE begins. data: the augmentation data. */
static size_t put_cie(struct table *t, const char *augmentation, const char *data, size_t n)
{
	size_t at = t->len;

	put(t, 4, 0); /* length */
	put(t, 4, 0); /* a CIE */
	put(t, 1, 1); /* version */
	for (const char *s = augmentation; *s; s++)
		put(t, 1, (uint8_t)*s);
	put(t, 1, 0);
	put(t, 1, 1);    /* code alignment */
	put(t, 1, 0x78); /* data alignment */
	put(t, 1, 16);   /* return address */
	if (*augmentation == 'z')
		put(t, 1, n);
	for (size_t i = 0; i < n; i++)
		put(t, 1, (uint8_t)data[i]);
	end_entry(t, at);
	return at;
}

static void put_fde(struct table *t, size_t cie, size_t size, uint64_t start, uint64_t length)
{
	size_t at = t->len;

	put(t, 4, 0);
	put(t, 4, t->len - cie);
	put(t, size, start);
	put(t, size, length);
	put(t, 1, 0); /* no augmentation data */
	end_entry(t, at);
}

/* The same with a relative address of 4 bytes. */
static void put_relative(struct table *t, size_t cie, uint64_t start, uint64_t length)
{
	put_fde(t, cie, 4, start - (SECTION + t->len + 8), length);
}

static struct hl_spans read_table(const struct table *t, const unsigned char *ident)
{
	struct hl_eh_frame eh = {ident, t->data, t->len, SECTION};
	struct hl_spans s = {0};

	assert_int_equal(hl_eh_frame_ranges(&eh, &s), 0);
	hl_spans_sort(&s);
	return s;
}

static uint64_t start_of(const struct hl_spans *s, uint64_t addr)
{
	const struct hl_span *f = hl_spans_find(s, addr);

	return f ? f->lo : 0;
}

static void ranges_are_found(void **state)
{
	struct table t = {0};
	struct hl_spans s;
	/* The personality routine is before the encoding: a byte, then 4 bytes. */
	size_t cie = put_cie(&t, "zPLR", "\x1b\1\2\3\4\x1b\x1b", 7), plain;

	put_relative(&t, cie, 0x1200, 0x40);
	put_relative(&t, cie, 0x1000, 0x100);
	plain = put_cie(&t, "", "", 0);
	put_fde(&t, plain, 8, 0x1240, 0x10);
	s = read_table(&t, ident64);
	assert_int_equal(s.v.len, 3);
	assert_int_equal(start_of(&s, 0x1000), 0x1000);
	assert_int_equal(start_of(&s, 0x10ff), 0x1000);
	assert_int_equal(start_of(&s, 0x1100), 0); /* between two functions */
	assert_int_equal(start_of(&s, 0x123f), 0x1200);
	assert_int_equal(start_of(&s, 0x1240), 0x1240);
	assert_int_equal(start_of(&s, 0x1250), 0);
	assert_int_equal(start_of(&s, 0xfff), 0);
	hl_spans_fini(&s);
}

static void other_byte_orders_are_read(void **state)
{
	struct table t = {.big_endian = true};
	struct hl_spans s;
	size_t cie = put_cie(&t, "zR", "\0", 1);

	put_fde(&t, cie, 4, 0x1000, 0x20);
	cie = put_cie(&t, "zR", "\x12", 1); /* relative, 2 bytes */
	put_fde(&t, cie, 2, 0x2000 - (SECTION + t.len + 8), 0x20);
	s = read_table(&t, ident32);
	assert_int_equal(s.v.len, 2);
	assert_int_equal(start_of(&s, 0x1010), 0x1000);
	hl_spans_fini(&s);
}

static void overlapping_ranges_do_no_harm(void **state)
{
	struct table t = {0};
	struct hl_spans s;
	size_t cie = put_cie(&t, "zR", "\x1b", 1);

	put_relative(&t, cie, 0x1000, 0x100);
	put_relative(&t, cie, 0x1000, 0x100); /* twice the same */
	put_relative(&t, cie, 0x1080, 0x100); /* the function that begins last has the address */
	s = read_table(&t, ident64);
	assert_int_equal(start_of(&s, 0x1010), 0x1000);
	assert_int_equal(start_of(&s, 0x1090), 0x1080);
	assert_int_equal(start_of(&s, 0x1170), 0x1080);
	hl_spans_fini(&s);
}

static void damaged_entries_are_left_out(void **state)
{
	static const char *const unknown[] = {"zPLXR", "eh", "zQ"};
	struct table t = {0};
	struct hl_spans s = read_table(&t, ident64);
	size_t cie;

	assert_int_equal(s.v.len, 0); /* an empty section */
	for (size_t i = 0; i < 3; i++) {
		cie = put_cie(&t, unknown[i], "\x1b\x1b\x1b\x1b\x1b\x1b\x1b", 7);
		put_relative(&t, cie, 0x1000, 0x40);
	}
	cie = put_cie(&t, "zR", "\x1b", 1);
	put_relative(&t, cie + 4, 0x1000, 0x40);  /* no CIE is there */
	put_relative(&t, cie - 64, 0x1000, 0x40); /* another kind of entry is there */
	put_relative(&t, cie, 0x1000, 0);
	put_fde(&t, cie, 4, 0 - (SECTION + t.len + 8), 0x40); /* address 0: it was removed */
	put_fde(&t, cie, 4, UINT64_C(0) - SECTION - t.len - 0x100, 0x40); /* below 0 */
	cie = put_cie(&t, "zR", "\x3b", 1);                               /* relative to data */
	put_relative(&t, cie, 0x1000, 0x40);
	cie = put_cie(&t, "zR", "\x19", 1); /* LEB128 */
	put_relative(&t, cie, 0x1000, 0x40);
	cie = put_cie(&t, "zR", "\x1b", 1);
	put_relative(&t, cie, 0x3000, 0x40);
	s = read_table(&t, ident64);
	assert_int_equal(s.v.len, 1);
	assert_int_equal(start_of(&s, 0x3000), 0x3000);
	hl_spans_fini(&s);
	for (size_t len = t.len; len > 0; len--) { /* truncated anywhere */
		t.len = len - 1;
		s = read_table(&t, ident64);
		assert_true(s.v.len <= 1);
		hl_spans_fini(&s);
	}
}

static void random_bytes_do_no_harm(void **state)
{
	for (uint64_t seed = 0; seed < 3000; seed++) {
		struct table t = {0};
		size_t cie = put_cie(&t, "zPLR", "\x1b\1\2\3\4\x1b\x1b", 7);
		struct hl_spans s;

		for (uint64_t i = 0; i < 8; i++)
			put_relative(&t, cie, 0x1000 + 0x100 * i, 0x100);
		for (uint64_t i = 0; i < 4; i++)
			t.data[hl_hash_u64(seed * 8 + i) % t.len] =
				(uint8_t)hl_hash_u64(seed * 8 + 4 + i);
		s = read_table(&t, seed % 2 ? ident64 : ident32);
		assert_true(s.v.len <= 16);
		hl_spans_fini(&s);
	}
}

static __attribute__((noinline)) int some_function(int a)
{
	return a * 3;
}

static void this_program_has_functions(void **state)
{
	struct hl_elf_image img;
	struct hl_spans s = {0};
	Dl_info where;
	uint64_t base;

	assert_int_not_equal(dladdr((void *)(uintptr_t)some_function, &where), 0);
	base = (uint64_t)(uintptr_t)where.dli_fbase;
	assert_int_equal(hl_elf_image_open(&img, "/proc/self/exe"), 0);
	assert_int_equal(hl_function_bounds_read(&img, &s), 0);
	assert_int_equal(some_function(1), 3);
	assert_int_equal(start_of(&s, (uint64_t)(uintptr_t)some_function - base + 1),
		(uint64_t)(uintptr_t)some_function - base);
	hl_spans_fini(&s);
	hl_elf_image_close(&img);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(ranges_are_found),
		cmocka_unit_test(other_byte_orders_are_read),
		cmocka_unit_test(overlapping_ranges_do_no_harm),
		cmocka_unit_test(damaged_entries_are_left_out),
		cmocka_unit_test(random_bytes_do_no_harm),
		cmocka_unit_test(this_program_has_functions)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
