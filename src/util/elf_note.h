/*
 * elf_note.h - the build-id of a file, and whether it is whole; read as hostile: every length is
 * checked.
 */
#ifndef HL_UTIL_ELF_NOTE_H
#define HL_UTIL_ELF_NOTE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

#define HL_BUILD_ID_MAX 64u

/* The build-id in one note segment, in id[HL_BUILD_ID_MAX]; its length or 0. */
uint32_t hl_elf_build_id(int fd, const Elf64_Phdr *ph, uint8_t *id);

/*
 * Does a 64-bit ELF file end before what its headers say is in it? Its segments are asked about
 * only if `loaded`: debug files have those of their program, without the content. False when it
 * cannot be told.
 */
bool hl_elf_is_cut(int fd, bool loaded);

#endif
