/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_cache_test.c - cached addresses on disk: stored, merged, and rejected if anything is
 * wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbol/symbol_cache_internal.h"

static char root[] = "/tmp/hl-cache-XXXXXX";
static char dir[64];
static const uint8_t id[4] = {0xca, 0xfe, 0x00, 0x01};
static char file[128];

static int make_root(void **state)
{
	snprintf(dir, sizeof(dir), "%s/heaplapse/sym", mkdtemp(root) ? root : "");
	snprintf(file, sizeof(file), "%s/cafe0001", dir);
	return 0;
}

static int remove_root(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command) != 0;
}

/* Adds the test entry of an offset: 0 to 2 frames, or bounds without a frame. */
static void put_entry(struct hl_symbol_cache *c, uint64_t offset)
{
	static char names[1000][16];
	struct hl_frames f = {0};

	f.start = offset % 3 ? 0 : offset;
	f.end = offset % 3 ? 0 : 2 * offset;
	snprintf(names[offset % 1000], sizeof(names[0]), "f%u", (unsigned)(offset % 1000));
	for (unsigned i = 0; i < offset % 3; i++) {
		struct hl_symbol_frame frame = {.function = names[offset % 1000],
			.file = i ? NULL : "a.c",
			.line = (uint32_t)offset,
			.inlined = i == 0};

		assert_int_equal(hl_vec_push(&f.v, frame), 0);
	}
	hl_symbol_cache_put(c, offset, &f);
	hl_vec_free(&f.v);
}

static bool has_entry(const struct hl_symbol_cache *c, uint64_t offset)
{
	struct hl_frames f = {0};
	char name[16];
	int err;
	bool ok = hl_symbol_cache_get(c, offset, &f, &err) && f.v.len == offset % 3 &&
		  f.start == (offset % 3 ? 0 : offset) && f.end == 2 * f.start;

	snprintf(name, sizeof(name), "f%u", (unsigned)(offset % 1000));
	for (size_t i = 0; ok && i < f.v.len; i++) {
		const struct hl_symbol_frame *p = &f.v.data[i];

		ok = strcmp(p->function, name) == 0 && p->line == offset &&
		     p->inlined == (i == 0) && (i ? !p->file : strcmp(p->file, "a.c") == 0);
	}
	hl_vec_free(&f.v);
	return ok;
}

static bool save_entries(uint64_t from, uint64_t to, uint32_t state)
{
	struct hl_symbol_cache c = {.state = state};
	bool wrote;

	for (uint64_t o = from; o < to; o++)
		put_entry(&c, o);
	put_entry(&c, from); /* adding twice does no harm */
	wrote = hl_symbol_cache_save(&c, dir, id, sizeof(id));
	hl_symbol_cache_fini(&c);
	return wrote;
}

static bool load_and_check(uint64_t from, uint64_t to)
{
	struct hl_symbol_cache c = {0};
	bool ok;

	hl_symbol_cache_load(&c, dir, id, sizeof(id));
	ok = hl_symbol_cache_loaded(&c);
	for (uint64_t o = from; ok && o < to; o++)
		ok = has_entry(&c, o);
	hl_symbol_cache_fini(&c);
	return ok;
}

static void entries_are_stored_and_merged(void **state)
{
	struct stat st;

	assert_false(load_and_check(0, 0));
	assert_true(save_entries(10, 20, HL_SYMBOLS_FULL));
	assert_true(load_and_check(10, 20));
	assert_false(load_and_check(9, 10));
	assert_true(save_entries(15, 40, HL_SYMBOLS_FULL));
	assert_true(load_and_check(10, 40));
	/* Names without debug information do not replace those with it. */
	assert_false(save_entries(1, 5, HL_SYMBOLS_NAMES));
	assert_true(load_and_check(10, 40));
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

static void write_file(const uint8_t *data, size_t len)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

static void damaged_files_are_rejected(void **state)
{
	static uint8_t data[65536];
	FILE *f = fopen(file, "r");
	size_t len;

	assert_non_null(f);
	len = fread(data, 1, sizeof(data), f);
	fclose(f);
	for (size_t i = 0; i < len; i++) {
		data[i] ^= 0x10;
		write_file(data, len);
		if (load_and_check(0, 0))
			fail_msg("byte %zu was wrong, and it was read", i);
		data[i] ^= 0x10;
		write_file(data, i);
		if (load_and_check(0, 0))
			fail_msg("%zu bytes were enough", i);
	}
	/* A valid file replaces it. */
	assert_true(save_entries(10, 40, HL_SYMBOLS_FULL));
	assert_true(load_and_check(10, 40));
}

static void files_others_can_write_are_rejected(void **state)
{
	char other[160];

	assert_int_equal(chmod(file, 0666), 0);
	assert_false(load_and_check(0, 0));
	assert_int_equal(chmod(file, 0600), 0);
	assert_true(load_and_check(10, 40));
	snprintf(other, sizeof(other), "%s.moved", file);
	assert_int_equal(rename(file, other), 0);
	assert_int_equal(symlink(other, file), 0);
	assert_false(load_and_check(0, 0));
	assert_int_equal(unlink(file), 0);
	assert_int_equal(mkfifo(file, 0600), 0);
	assert_false(load_and_check(0, 0));
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rename(other, file), 0);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_false(save_entries(50, 60, HL_SYMBOLS_FULL));
	assert_int_equal(chmod(dir, 0700), 0);
}

/* Directories that other users made or can change. */
static void directories_of_others_are_rejected(void **state)
{
	char other[96], home[96], below[160];

	snprintf(other, sizeof(other), "%s.moved", dir);
	assert_int_equal(rename(dir, other), 0);
	assert_int_equal(symlink(other, dir), 0);
	assert_false(save_entries(50, 60, HL_SYMBOLS_FULL));
	assert_int_equal(unlink(dir), 0);
	assert_int_equal(rename(other, dir), 0);
	if (geteuid() != 0)
		return; /* the rest needs directories of another user */
	assert_int_equal(chown(dir, 1, 1), 0);
	assert_false(save_entries(50, 60, HL_SYMBOLS_FULL));
	assert_int_equal(chown(dir, 0, 0), 0);
	/* sudo -E: a user cannot use a directory that root creates in the user's home. */
	snprintf(home, sizeof(home), "%s/home", root);
	snprintf(below, sizeof(below), "%s/heaplapse/sym", home);
	assert_int_equal(mkdir(home, 0700), 0);
	assert_int_equal(chown(home, 1, 1), 0);
	assert_int_equal(hl_symbol_cache_dir(below), -EPERM);
	assert_int_equal(rmdir(home), 0); /* it is empty */
}

/* Several processes write at once: every file that is read is complete and correct. */
static void concurrent_writers_do_no_harm(void **state)
{
	int status, bad = 0;

	for (int p = 0; p < 6; p++) {
		pid_t pid = fork();

		if (pid == 0) {
			bool ok = true;

			for (uint64_t i = 0; i < 60 && ok; i++) {
				uint64_t at = 100 + (uint64_t)p * 60 + i;

				ok = save_entries(at, at + 1, HL_SYMBOLS_FULL) &&
				     load_and_check(10, 40);
			}
			_exit(!ok);
		}
	}
	while (wait(&status) > 0)
		bad += status != 0;
	assert_int_equal(bad, 0);
}

static void old_files_are_pruned(void **state)
{
	hl_symbol_cache_prune(dir, 1 << 20);
	assert_true(load_and_check(10, 40));
	hl_symbol_cache_prune(dir, 100);
	assert_false(load_and_check(0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(entries_are_stored_and_merged),
		cmocka_unit_test(damaged_files_are_rejected),
		cmocka_unit_test(files_others_can_write_are_rejected),
		cmocka_unit_test(directories_of_others_are_rejected),
		cmocka_unit_test(concurrent_writers_do_no_harm),
		cmocka_unit_test(old_files_are_pruned)};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
