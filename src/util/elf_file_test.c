/* SPDX-License-Identifier: Apache-2.0 */
/* elf_file_test.c - the parts of an ELF file, and files that are not ELF files, damaged, or become
 * shorter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "util/elf_file.h"

#define MACHINE      0x4321 /* any: the reader does not interpret it */
#define BASE         UINT64_C(0x400000)
#define AT(x)        offsetof(struct image, x)
#define FILE_PART(x) .p_offset = AT(x), .p_filesz = sizeof(((struct image *)0)->x)
#define SECTION(x)   .sh_offset = AT(x), .sh_size = sizeof(((struct image *)0)->x)

/* A small program with everything that is read. */
struct image {
	Elf64_Ehdr head;
	Elf64_Phdr segments[4];
	char loader[16];
	struct {
		Elf64_Nhdr head;
		char name[4];
		uint8_t id[20];
	} note;
	Elf64_Dyn dynamic[5];
	char strings[32];
	Elf64_Sym symbols[3];
	Elf64_Shdr sections[3];
};

static const char *const names[] = {"malloc", "free"};

static struct image make_image(void)
{
	struct image m = {
		.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				 EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = MACHINE,
			.e_version = EV_CURRENT,
			.e_phoff = AT(segments),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 4,
			.e_shoff = AT(sections),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 3,
			.e_shstrndx = 2},
		.segments = {{.p_type = PT_INTERP, FILE_PART(loader)},
			{.p_type = PT_LOAD, .p_vaddr = BASE, .p_filesz = sizeof(struct image)},
			{.p_type = PT_NOTE, FILE_PART(note)},
			{.p_type = PT_DYNAMIC, FILE_PART(dynamic)}},
		.loader = "/lib/ld.so",
		.note = {.head = {4, 20, NT_GNU_BUILD_ID}, .name = "GNU", .id = {1, 2, 3}},
		.dynamic = {{DT_NEEDED, {1}}, {DT_STRTAB, {BASE + AT(strings)}},
			{DT_STRSZ, {sizeof(((struct image *)0)->strings)}},
			{DT_FLAGS, {DF_BIND_NOW}}},
		.strings = "\0libc.so.6\0malloc\0free",
		.symbols = {{0}, {.st_name = 11, .st_shndx = 1}, {.st_name = 18}},
		.sections = {{0},
			{.sh_name = 11, /* "malloc" */
				.sh_type = SHT_DYNSYM,
				.sh_link = 2,
				SECTION(symbols),
				.sh_entsize = sizeof(Elf64_Sym)},
			{.sh_type = SHT_STRTAB, SECTION(strings)}},
	};

	return m;
}

static int write_image(const void *data, size_t len)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	return fd;
}

/* Opens a file of these bytes and closes it again. Returns the result. */
static int try_open(const void *data, size_t len)
{
	int fd = write_image(data, len), err;
	struct hl_elf_file f;

	err = hl_elf_file_open(&f, fd);
	hl_elf_file_close(&f);
	close(fd);
	return err;
}

static void all_parts_are_read(void **state)
{
	struct image m = make_image();
	int fd = write_image(&m, sizeof(m));
	uint8_t id[HL_BUILD_ID_MAX];
	struct hl_elf_file f;
	char loader[32];
	GElf_Phdr ph;

	assert_int_equal(hl_elf_file_open(&f, fd), 0);
	assert_int_equal(f.head.e_machine, MACHINE);
	assert_true(hl_elf_file_is_whole(&f));
	assert_true(hl_elf_file_has_sections(&f));
	assert_true(hl_elf_file_has_section(&f, "malloc")); /* named so in make_image() */
	assert_false(hl_elf_file_has_section(&f, ".go.buildinfo"));
	assert_true(hl_elf_file_find_segment(&f, PT_LOAD, &ph));
	assert_int_equal(ph.p_vaddr, BASE);
	assert_false(hl_elf_file_has_segment(&f, PT_GNU_RELRO));
	hl_elf_file_loader(&f, loader, sizeof(loader));
	assert_string_equal(loader, "/lib/ld.so");
	hl_elf_file_loader(&f, loader, 4);
	assert_string_equal(loader, "");
	assert_int_equal(hl_elf_file_build_id(&f, id), 20);
	assert_memory_equal(id, m.note.id, 20);
	assert_string_equal(hl_elf_file_needed(&f, 0), "libc.so.6");
	assert_null(hl_elf_file_needed(&f, 1));
	assert_true(hl_elf_file_mentions(&f, "malloc"));
	assert_false(hl_elf_file_mentions(&f, "dlopen"));
	assert_true(hl_elf_file_binds_now(&f));
	assert_int_equal(hl_elf_file_defines(&f, SHT_DYNSYM, names, 2), 1);
	assert_int_equal(hl_elf_file_defines(&f, SHT_SYMTAB, names, 2), 0);
	hl_elf_file_close(&f);
	close(fd);
}

static void other_files_are_refused(void **state)
{
	struct image m = make_image();
	struct hl_elf_file f;
	int pair[2], fd;

	assert_int_equal(try_open("#!/bin/sh\n", 10), -ENOEXEC);
	assert_int_equal(try_open("", 0), -ENOEXEC);
	assert_int_equal(try_open(&m, sizeof(m.head) - 1), -ENOEXEC);
	m.head.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(try_open(&m, sizeof(m)), -ENOTSUP);
	assert_int_equal(pipe2(pair, O_NONBLOCK | O_CLOEXEC), 0);
	assert_int_equal(hl_elf_file_open(&f, pair[0]), -ENOEXEC);
	hl_elf_file_close(&f);
	close(pair[0]);
	close(pair[1]);
	fd = open("/", O_RDONLY | O_CLOEXEC);
	assert_int_equal(hl_elf_file_open(&f, fd), -ENOEXEC);
	hl_elf_file_close(&f);
	close(fd);
}

static void headers_beyond_the_end_are_refused(void **state)
{
	struct image m = make_image();

	assert_int_equal(try_open(&m, sizeof(m.head)), -EBADMSG);
	m.head.e_phoff = UINT64_MAX - 10;
	assert_int_equal(try_open(&m, sizeof(m)), -EBADMSG);
	m = make_image();
	m.head.e_phentsize = 1;
	assert_int_equal(try_open(&m, sizeof(m)), -EBADMSG);
}

static void a_truncated_file_is_detected(void **state)
{
	struct image m = make_image();
	int fd = write_image(&m, AT(sections));
	struct hl_elf_file f;

	assert_int_equal(hl_elf_file_open(&f, fd), 0);
	assert_false(hl_elf_file_is_whole(&f));
	assert_false(hl_elf_file_has_sections(&f));
	hl_elf_file_close(&f);
	close(fd);
}

/* The file is sparse, so libelf would accept the counts and allocate for them. */
static void huge_counts_are_refused(void **state)
{
	struct image m = make_image();
	struct hl_elf_file f;
	int fd;

	m.head.e_shnum = 0;
	m.sections[0].sh_size = UINT32_MAX;
	fd = write_image(&m, sizeof(m));
	assert_int_equal(ftruncate(fd, INT64_C(1) << 42), 0);
	assert_int_equal(hl_elf_file_open(&f, fd), -EBADMSG);
	hl_elf_file_close(&f);
	close(fd);
	m = make_image();
	m.head.e_phnum = PN_XNUM;
	fd = write_image(&m, sizeof(m));
	assert_int_equal(ftruncate(fd, INT64_C(1) << 42), 0);
	assert_int_equal(hl_elf_file_open(&f, fd), -EBADMSG);
	hl_elf_file_close(&f);
	close(fd);
}

/* Calls everything; the results do not matter. */
static void use_file(struct hl_elf_file *f)
{
	uint8_t id[HL_BUILD_ID_MAX];
	char loader[256];

	hl_elf_file_is_whole(f);
	hl_elf_file_has_sections(f);
	hl_elf_file_loader(f, loader, sizeof(loader));
	assert_true(strlen(loader) < sizeof(loader));
	assert_true(hl_elf_file_build_id(f, id) <= HL_BUILD_ID_MAX);
	hl_elf_file_mentions(f, "dlopen");
	for (unsigned i = 0; hl_elf_file_needed(f, i); i++)
		assert_true(strlen(hl_elf_file_needed(f, i)) < sizeof(struct image));
	hl_elf_file_binds_now(f);
	hl_elf_file_has_section(f, ".none");
	hl_elf_file_defines(f, SHT_DYNSYM, names, 2);
	hl_elf_file_defines(f, SHT_SYMTAB, names, 2);
}

static void a_file_may_become_shorter(void **state)
{
	struct image m = make_image();

	for (size_t len = 0; len < sizeof(m); len += 8) {
		int fd = write_image(&m, sizeof(m));
		struct hl_elf_file f;

		assert_int_equal(hl_elf_file_open(&f, fd), 0);
		assert_int_equal(ftruncate(fd, (off_t)len), 0);
		use_file(&f);
		hl_elf_file_close(&f);
		close(fd);
	}
}

static void damaged_files_are_harmless(void **state)
{
	static const uint64_t values[] = {0, 1, 7, 0x7fffffff, UINT32_MAX, INT64_MAX, UINT64_MAX,
		UINT64_MAX - 7, sizeof(struct image)};
	uint64_t random = 1;

	for (int i = 0; i < 20000; i++) {
		struct image m = make_image();
		struct hl_elf_file f;
		int fd;

		for (int k = 0; k < 3; k++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
			memcpy((char *)&m + (16 + (random >> 33) % (sizeof(m) - 24)) / 2 * 2,
				&values[(random >> 20) % 9], 1u << (random >> 40) % 4);
		}
		fd = write_image(&m, sizeof(m));
		if (hl_elf_file_open(&f, fd) == 0)
			use_file(&f);
		hl_elf_file_close(&f);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_parts_are_read),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(headers_beyond_the_end_are_refused),
		cmocka_unit_test(a_truncated_file_is_detected),
		cmocka_unit_test(huge_counts_are_refused),
		cmocka_unit_test(a_file_may_become_shorter),
		cmocka_unit_test(damaged_files_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
