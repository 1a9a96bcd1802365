/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_walk_test.c - the walk finds the same entries as libdw, and survives damage.
 *
 * The test input is the test program itself.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dwarf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/dwarf/dwarf_walk_internal.h"
#include "util/vec.h"

struct visited {
	HL_VEC(Dwarf_Off) at;
	HL_VEC(uint32_t) depth;
};

static int record_visit(void *user, Dwarf_Die *die, unsigned tag, uint32_t depth)
{
	struct visited *s = user;

	assert_true(tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine);
	assert_int_equal(hl_vec_push(&s->at, dwarf_dieoffset(die)), 0);
	assert_int_equal(hl_vec_push(&s->depth, depth), 0);
	return 0;
}

static void free_visited(struct visited *s)
{
	hl_vec_free(&s->at);
	hl_vec_free(&s->depth);
}

/* The same with libdw alone; in C all functions are inside functions and blocks. */
static void walk_with_libdw(Dwarf_Die *parent, uint32_t depth, struct visited *s)
{
	Dwarf_Die die;

	if (dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if ((tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) &&
			(dwarf_hasattr(&die, DW_AT_low_pc) || dwarf_hasattr(&die, DW_AT_ranges)))
			record_visit(s, &die, (unsigned)tag, depth);
		walk_with_libdw(&die, depth + 1, s);
	} while (dwarf_siblingof(&die, &die) == 0);
}

/* A copy of this program in memory. */
static char *read_own_file(size_t *len)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *bytes;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	bytes = malloc((size_t)st.st_size);
	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	*len = (size_t)st.st_size;
	return bytes;
}

static size_t walk_all(char *bytes, size_t len, bool compare)
{
	Elf *elf = elf_memory(bytes, len);
	Dwarf *dwarf = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	size_t n = 0;

	while (dwarf && dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, NULL) == 0) {
		struct visited fast = {0}, slow = {0};

		assert_int_equal(hl_dwarf_walk(&die, record_visit, &fast), 0);
		n += fast.at.len;
		if (compare) {
			walk_with_libdw(&die, 1, &slow);
			assert_int_equal(fast.at.len, slow.at.len);
			for (size_t i = 0; i < fast.at.len; i++) {
				assert_int_equal(fast.at.data[i], slow.at.data[i]);
				assert_int_equal(fast.depth.data[i], slow.depth.data[i]);
			}
		}
		free_visited(&fast);
		free_visited(&slow);
	}
	dwarf_end(dwarf);
	elf_end(elf);
	return n;
}

static void walk_finds_the_same_as_libdw(void **state)
{
	size_t len, n;
	char *bytes = read_own_file(&len);

	elf_version(EV_CURRENT);
	n = walk_all(bytes, len, true);
	free(bytes);
	if (n == 0)
		skip(); /* built without -g */
	assert_true(n > 20);
}

static int stop_walk(void *user, Dwarf_Die *die, unsigned tag, uint32_t depth)
{
	++*(int *)user;
	return -ECANCELED;
}

static void visitor_can_end_the_walk(void **state)
{
	size_t len;
	char *bytes = read_own_file(&len);
	Elf *elf = elf_memory(bytes, len);
	Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	int calls = 0, err = 0;

	while (dwarf && !err && dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, NULL) == 0)
		err = hl_dwarf_walk(&die, stop_walk, &calls);
	if (dwarf)
		assert_true(err == -ECANCELED && calls == 1);
	dwarf_end(dwarf);
	elf_end(elf);
	free(bytes);
}

/* Finds the bytes of a section; false if it does not exist. */
static bool find_section(char *bytes, size_t len, const char *wanted, size_t *at, size_t *size)
{
	Elf *elf = elf_memory(bytes, len);
	Elf_Scn *scn = NULL;
	bool found = false;
	size_t names;

	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while (!found && (scn = elf_nextscn(elf, scn)) != NULL) {
		GElf_Shdr shdr;

		found = gelf_getshdr(scn, &shdr) && shdr.sh_size &&
			strcmp(elf_strptr(elf, names, shdr.sh_name), wanted) == 0;
		if (found) {
			*at = shdr.sh_offset;
			*size = shdr.sh_size;
		}
	}
	elf_end(elf);
	return found;
}

static void walk_survives_damage(void **state)
{
	static const char *const names[] = {".debug_info", ".debug_abbrev"};
	size_t len, at, size;
	char *bytes = read_own_file(&len), *copy = malloc(len);
	unsigned seed = 1;

	assert_non_null(copy);
	for (int round = 0; round < 2000; round++) {
		memcpy(copy, bytes, len);
		if (!find_section(copy, len, names[round % 2], &at, &size))
			continue;
		for (int i = 0; i < 1 + round % 8; i++)
			copy[at + (size_t)rand_r(&seed) % size] = (char)rand_r(&seed);
		walk_all(copy, len, false);
	}
	free(copy);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walk_finds_the_same_as_libdw),
		cmocka_unit_test(visitor_can_end_the_walk),
		cmocka_unit_test(walk_survives_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
