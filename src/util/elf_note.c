/* elf_note.c - see elf_note.h. */
#include <stddef.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "util/elf_note.h"

#define NOTE_BYTES 4096u

uint32_t hl_elf_build_id(int fd, const Elf64_Phdr *ph, uint8_t *id)
{
	char notes[NOTE_BYTES];
	size_t size = ph->p_filesz < sizeof(notes) ? ph->p_filesz : sizeof(notes);
	ssize_t n = pread(fd, notes, size, (off_t)ph->p_offset);

	for (size_t at = 0, left = n > 0 ? (size_t)n : 0; left >= sizeof(Elf64_Nhdr);) {
		Elf64_Nhdr note;
		size_t name, whole;

		memcpy(&note, notes + at, sizeof(note));
		name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		whole = sizeof(note) + name + (((size_t)note.n_descsz + 3) & ~(size_t)3);
		if (whole > left)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
			note.n_descsz <= HL_BUILD_ID_MAX &&
			!memcmp(notes + at + sizeof(note), "GNU", 4)) {
			memcpy(id, notes + at + sizeof(note) + name, note.n_descsz);
			return note.n_descsz;
		}
		at += whole;
		left -= whole;
	}
	return 0;
}
