/* elf_note.c - see elf_note.h. */
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
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

static bool is_beyond(uint64_t offset, uint64_t len, uint64_t size)
{
	return len > size || offset > size - len;
}

bool hl_elf_is_cut(int fd, bool loaded)
{
	struct stat st;
	Elf64_Ehdr e;
	Elf64_Phdr ph;
	uint64_t size;

	if (fstat(fd, &st) < 0 || pread(fd, &e, sizeof(e), 0) != (ssize_t)sizeof(e) ||
		memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
		e.e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	size = (uint64_t)st.st_size;
	if (e.e_shoff && is_beyond(e.e_shoff, (uint64_t)e.e_shnum * e.e_shentsize, size))
		return true;
	if (is_beyond(e.e_phoff, (uint64_t)e.e_phnum * sizeof(ph), size))
		return true;
	for (unsigned i = 0; loaded && i < e.e_phnum; i++) {
		uint64_t at = e.e_phoff + i * sizeof(ph);

		if (pread(fd, &ph, sizeof(ph), (off_t)at) != (ssize_t)sizeof(ph))
			return true;
		if (ph.p_type == PT_LOAD && is_beyond(ph.p_offset, ph.p_filesz, size))
			return true;
	}
	return false;
}
