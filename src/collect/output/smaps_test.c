/* SPDX-License-Identifier: Apache-2.0 */
/* smaps_test.c - the text of /proc/PID/smaps, with hostile names, in pieces and cut short. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attr.h"
#include "collect/output/smaps.h"

#define AMOUNTS                         \
	"Size:                  8 kB\n" \
	"KernelPageSize:        4 kB\n" \
	"Rss:                  28 kB\n" \
	"Pss:                   7 kB\n" \
	"Shared_Clean:          4 kB\n" \
	"Shared_Dirty:          8 kB\n" \
	"Private_Clean:         0 kB\n" \
	"Private_Dirty:        16 kB\n" \
	"Referenced:           28 kB\n" \
	"Anonymous:            12 kB\n" \
	"AnonHugePages:      2048 kB\n" \
	"Swap:                 20 kB\n" \
	"SwapPss:               1 kB\n" \
	"VmFlags: rd wr mr mw me ac sd \n"
#define FIELDS " rw-p 00003000 fd:01 1234567                    "

static void parse_pieces(struct hl_smaps *s, const char *text, size_t piece)
{
	size_t n = strlen(text);

	hl_smaps_begin(s);
	for (size_t at = 0; at < n; at += piece)
		assert_int_equal(hl_smaps_feed(s, text + at, at + piece < n ? piece : n - at), 0);
	hl_smaps_end(s);
}

static void check_amounts(const struct hl_map_entry *m)
{
	static const uint64_t kib[HL_MAP_AMOUNTS] = {4, 8, 0, 16, 12, 20};

	assert_memory_equal(m->kib, kib, sizeof(kib));
}

static void names_are_kept_as_the_kernel_writes_them(void **state)
{
	static const char *const names[] = {"[heap]", "", "/usr/lib/libc.so.6", "/tmp/two  spaces",
		"/tmp/a\\012b", "/tmp/x (deleted)", "[anon:Rss: 1 kB]",
		"/tmp/7f00-8f00 rw-p 0 0:0 0 x", "/\x1b[31m\xff\xfe\"'\t\r",
		"/memfd:Swap: (deleted)"};
	struct hl_smaps s = {0};
	char text[16384] = "";

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_LEN(names); i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			"%zx000-%zx000" FIELDS "%s\n" AMOUNTS, i * 2 + 1, i * 2 + 3, names[i]);
	for (size_t piece = 1; piece < 300; piece++) {
		parse_pieces(&s, text, piece);
		assert_int_equal(s.maps.len, HL_ARRAY_LEN(names));
		for (size_t i = 0; i < s.maps.len; i++) {
			const struct hl_map_entry *m = &s.maps.data[i];

			assert_string_equal(m->name, names[i]);
			assert_int_equal(m->start, (i * 2 + 1) << 12);
			assert_int_equal(m->end, (i * 2 + 3) << 12);
			assert_int_equal(m->offset, 0x3000);
			assert_int_equal(m->perms, HL_MAP_READ | HL_MAP_WRITE);
			check_amounts(m);
		}
	}
	hl_smaps_fini(&s);
}

static void permissions_are_read(void **state)
{
	struct hl_smaps s = {0};

	(void)state;
	parse_pieces(&s,
		"1000-2000 r-xs 0 00:00 0 \n2000-3000 ---p 0 00:00 0 \n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0    [vsyscall]\n",
		64);
	assert_int_equal(s.maps.len, 3);
	assert_int_equal(s.maps.data[0].perms, HL_MAP_READ | HL_MAP_EXECUTE | HL_MAP_SHARED);
	assert_int_equal(s.maps.data[1].perms, 0);
	assert_int_equal(s.maps.data[2].perms, HL_MAP_EXECUTE);
	assert_true(s.maps.data[2].start == 0xffffffffff600000);
	hl_smaps_fini(&s);
}

/* The process changed its mappings between two reads of the file. */
static void newer_mapping_replaces_those_that_it_overlaps(void **state)
{
	struct hl_smaps s = {0};

	(void)state;
	parse_pieces(&s,
		"1000-2000" FIELDS "a\n" AMOUNTS "2000-4000" FIELDS "b\n" AMOUNTS "5000-6000" FIELDS
		"c\n" AMOUNTS "3000-9000" FIELDS "d\nSwap: 4 kB\n",
		4096);
	assert_int_equal(s.maps.len, 2);
	assert_string_equal(s.maps.data[0].name, "a");
	assert_string_equal(s.maps.data[1].name, "d");
	assert_int_equal(s.maps.data[1].kib[HL_MAP_SWAP], 4);
	assert_int_equal(s.maps.data[1].kib[HL_MAP_SHARED_CLEAN], 0);
	hl_smaps_fini(&s);
}

/* Amounts belong to no mapping if its line was not understood. */
static void lines_that_are_not_understood_are_skipped(void **state)
{
	static const char *const lines[] = {"", "Swap: 9 kB", "1000", "1000-", "1000-2000",
		"1000-2000 rw-", "1000-2000 rw-p", "1000-2000 rw-p zz 0:0 0 x",
		"2000-1000 rw-p 0 0:0 0 x", "1000-1000 rw-p 0 0:0 0 x", "1001-2000 rw-p 0 0:0 0 x",
		"1000-2001 rw-p 0 0:0 0 x", "1000-2000 rw-p 7 0:0 0 x",
		"11111111111111111-2 rw-p 0 0:0 0 x", "-1000-2000 rw-p 0 0:0 0 x", "0x1000-2000"};
	struct hl_smaps s = {0};
	char text[4096];

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_LEN(lines); i++) {
		snprintf(text, sizeof(text), "%s\nSwap: 9 kB\n8000-9000" FIELDS "ok\n" AMOUNTS,
			lines[i]);
		parse_pieces(&s, text, 7);
		assert_int_equal(s.maps.len, 1);
		assert_string_equal(s.maps.data[0].name, "ok");
		check_amounts(&s.maps.data[0]);
	}
	hl_smaps_fini(&s);
}

static void long_names_are_cut_and_endless_lines_skipped(void **state)
{
	enum { LONG = 100000 };
	struct hl_smaps s = {0};
	char *text = malloc(LONG + 1000);

	(void)state;
	assert_non_null(text);
	for (size_t n = 5000; n <= LONG; n += LONG - 5000) {
		int at = sprintf(text, "1000-2000" FIELDS);

		memset(text + at, 'x', n);
		sprintf(text + at + n, "\n" AMOUNTS "8000-9000" FIELDS "ok\n" AMOUNTS);
		parse_pieces(&s, text, 4096);
		assert_int_equal(s.maps.len, n == LONG ? 1 : 2);
		if (n < LONG)
			assert_int_equal(strlen(s.maps.data[0].name), HL_MAP_NAME_MAX);
		assert_string_equal(s.maps.data[s.maps.len - 1].name, "ok");
		check_amounts(&s.maps.data[s.maps.len - 1]);
	}
	free(text);
	hl_smaps_fini(&s);
}

static void too_many_mappings_are_refused(void **state)
{
	struct hl_smaps s = {0};
	char line[128];
	int err = 0;

	(void)state;
	hl_smaps_begin(&s);
	for (uint64_t i = 1; !err; i++) {
		int n = snprintf(line, sizeof(line), "%llx-%llx rw-p 0 0:0 0 \n",
			(unsigned long long)i << 13, (unsigned long long)(i << 13 | 4096));

		err = hl_smaps_feed(&s, line, (size_t)n);
		assert_true(i <= HL_MAPS_MAX + 1);
	}
	assert_int_equal(err, -E2BIG);
	hl_smaps_fini(&s);
}

/* This process: a known mapping has the pages that were touched. */
static void own_mappings_are_read(void **state)
{
	enum { PAGES = 40, TOUCHED = 7 };
	struct hl_smaps s = {0};
	const struct hl_map_entry *found = NULL;
	int fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
	char *p = mmap(NULL, (PAGES + 2) * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(fd >= 0 && p != MAP_FAILED);
	p += 4096; /* a neighbour on each side, so that it is a mapping of its own */
	assert_int_equal(mprotect(p, PAGES * 4096, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(madvise(p, PAGES * 4096, MADV_NOHUGEPAGE), 0);
	memset(p, 1, TOUCHED * 4096);
	assert_int_equal(hl_smaps_read(&s, fd), 0);
	assert_int_equal(hl_smaps_read(&s, fd), 0); /* the same file again */
	for (size_t i = 0; i < s.maps.len; i++) {
		assert_true(!i || s.maps.data[i].start >= s.maps.data[i - 1].end);
		if (s.maps.data[i].start == (uintptr_t)p)
			found = &s.maps.data[i];
	}
	assert_non_null(found);
	assert_int_equal(found->end - found->start, PAGES * 4096);
	assert_int_equal(found->kib[HL_MAP_PRIVATE_DIRTY] + found->kib[HL_MAP_SWAP], TOUCHED * 4);
	assert_int_equal(found->perms, HL_MAP_READ | HL_MAP_WRITE);
	close(fd);
	hl_smaps_fini(&s);
}

/* A process that has ended, and one that has called exec, have no mappings to read any more. */
static void file_of_an_ended_program_is_an_error(void **state)
{
	for (int with_exec = 0; with_exec < 2; with_exec++) {
		struct hl_smaps s = {0};
		char path[64], byte;
		int go[2], done[2], fd;
		pid_t pid;

		(void)state;
		assert_int_equal(pipe(go), 0);
		assert_int_equal(pipe2(done, O_CLOEXEC), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			close(go[1]);
			if (read(go[0], &byte, 1) == 1 && with_exec) {
				dup2(go[0], 0); /* cat ends with the pipe */
				execlp("cat", "cat", (char *)NULL);
			}
			_exit(0);
		}
		close(go[0]);
		close(done[1]);
		snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(hl_smaps_read(&s, fd), 0);
		assert_true(s.maps.len > 5);
		assert_int_equal(write(go[1], "x", 1), 1);
		assert_int_equal(read(done[0], &byte, 1), 0); /* closed by exec or exit */
		if (!with_exec)
			assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_int_equal(hl_smaps_read(&s, fd), -ESRCH);
		close(go[1]);
		if (with_exec)
			assert_int_equal(waitpid(pid, NULL, 0), pid);
		close(fd);
		close(done[0]);
		hl_smaps_fini(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_kept_as_the_kernel_writes_them),
		cmocka_unit_test(permissions_are_read),
		cmocka_unit_test(newer_mapping_replaces_those_that_it_overlaps),
		cmocka_unit_test(lines_that_are_not_understood_are_skipped),
		cmocka_unit_test(long_names_are_cut_and_endless_lines_skipped),
		cmocka_unit_test(too_many_mappings_are_refused),
		cmocka_unit_test(own_mappings_are_read),
		cmocka_unit_test(file_of_an_ended_program_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
