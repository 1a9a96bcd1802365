/*
 * elf_file.h - what is asked of a program's file before it runs.
 *
 * The file may be anything: every length and offset in it is checked against what can be read, and
 * nothing is mapped. For 64-bit little-endian files.
 */
#ifndef HL_CLI_ELF_FILE_H
#define HL_CLI_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HL_ELF_PHDRS  64
#define HL_ELF_NEEDED 256

struct hl_elf_file {
	int fd; /* the caller's */
	Elf64_Ehdr head;
	Elf64_Phdr ph[HL_ELF_PHDRS];
	unsigned n_ph;
	char interp[256]; /* "": none, it is static */
	bool bind_now;
	char *strings; /* of the dynamic section, with a NUL behind them; NULL: none */
	size_t strings_len;
	uint64_t needed[HL_ELF_NEEDED]; /* where in them the names of libraries begin */
	unsigned n_needed;
};

/* The head is the caller's to have read. 0 or -EBADMSG. */
int hl_elf_file_read(struct hl_elf_file *f, int fd, const Elf64_Ehdr *head);
void hl_elf_file_free(struct hl_elf_file *f);

/* Does the dynamic string table have this text somewhere? */
bool hl_elf_file_mentions(const struct hl_elf_file *f, const char *text);
/* The i-th library that it is linked to; NULL after the last. */
const char *hl_elf_file_needed(const struct hl_elf_file *f, unsigned i);
/* Is all there that will be loaded? */
bool hl_elf_file_is_whole(const struct hl_elf_file *f);
bool hl_elf_file_has_segment(const struct hl_elf_file *f, uint32_t type);
/* Its build-id in id[64]; the length, 0 when there is none. */
size_t hl_elf_file_build_id(const struct hl_elf_file *f, uint8_t *id);
/* Which of at most 64 names the symbol tables of a type (SHT_DYNSYM, SHT_SYMTAB) define: a bit
 * each.
 */
uint64_t hl_elf_file_defines(
	const struct hl_elf_file *f, uint32_t type, const char *const *names, size_t n);

#endif
