/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_file.h - reads the headers, notes, dynamic section and symbols of ELF files, with libelf.
 *
 * The file is untrusted. No count or size in it makes us allocate more than the limits in
 * elf_file.c. Data is read and not mapped, so a file that becomes shorter causes an error and not a
 * signal. Only regular files are read, and only 64-bit little-endian ones.
 */
#ifndef HL_UTIL_ELF_FILE_H
#define HL_UTIL_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HL_BUILD_ID_MAX 64u

struct hl_elf_file {
	int fd; /* belongs to the caller */
	uint64_t size;
	GElf_Ehdr head;
	Elf *elf;
	size_t n_segments;
	bool dynamic_read;
	Elf_Data *dynamic, *strings; /* belong to libelf; NULL: none */
};

/* Returns 0; -ENOEXEC: not an ELF file; -ENOTSUP: not a 64-bit little-endian one; -EBADMSG: its
 * headers cannot be read. f->head is valid unless -ENOEXEC is returned. The caller must call
 * hl_elf_file_close in any case, and not close fd before. */
int hl_elf_file_open(struct hl_elf_file *f, int fd);
void hl_elf_file_close(struct hl_elf_file *f);

/* Finds the first segment of a type. Returns false if there is none. */
bool hl_elf_file_find_segment(const struct hl_elf_file *f, uint32_t type, GElf_Phdr *ph);
bool hl_elf_file_has_segment(const struct hl_elf_file *f, uint32_t type);
/* Returns whether the file contains all bytes of its loaded segments. */
bool hl_elf_file_is_whole(const struct hl_elf_file *f);
/* Returns whether the file contains all of its section headers. */
bool hl_elf_file_has_sections(const struct hl_elf_file *f);
/* Returns whether it has a section of that name. */
bool hl_elf_file_has_section(const struct hl_elf_file *f, const char *name);
/* Copies the path of the loader to path[n]. It is "" if the program is static. */
void hl_elf_file_loader(const struct hl_elf_file *f, char *path, size_t n);
/* Copies the build-id to id[HL_BUILD_ID_MAX]. Returns its length; 0 if there is none. */
uint32_t hl_elf_file_build_id(const struct hl_elf_file *f, uint8_t *id);

/* Returns whether the dynamic string table contains `text`. */
bool hl_elf_file_mentions(struct hl_elf_file *f, const char *text);
/* Returns the name of the i-th needed library, "" if it cannot be read; NULL after the last. The
 * name is valid until the file is closed. */
const char *hl_elf_file_needed(struct hl_elf_file *f, unsigned i);
/* Returns whether the loader binds all symbols at the start. */
bool hl_elf_file_binds_now(struct hl_elf_file *f);
/* Returns which of at most 64 names the symbol table of a type (SHT_DYNSYM, SHT_SYMTAB) defines, as
 * a bit mask. A file has at most one table of each type. */
uint64_t hl_elf_file_defines(
	const struct hl_elf_file *f, uint32_t type, const char *const *names, size_t n);

#endif
