/* elf_file.c - see elf_file.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/elf_file.h"
#include "util/elf_note.h"

#define STRINGS_MAX  (UINT64_C(256) << 20)
#define SYMBOLS_MAX  (UINT64_C(512) << 20)
#define DYNAMIC_MAX  4096u
#define SYMBOLS_STEP 128u /* they lie on the stack, which may be small */

/* Reads [offset, offset + n) or nothing. */
static bool read_at(int fd, void *buf, size_t n, uint64_t offset)
{
	return offset < INT64_MAX && pread(fd, buf, n, (off_t)offset) == (ssize_t)n;
}

/* A piece of the file with a NUL behind it; NULL when it is not there. The caller frees it. */
static char *read_piece(int fd, uint64_t offset, uint64_t n)
{
	char *piece = n && n <= STRINGS_MAX ? malloc(n + 1) : NULL;

	if (piece && !read_at(fd, piece, n, offset)) {
		free(piece);
		return NULL;
	}
	if (piece)
		piece[n] = '\0';
	return piece;
}

/* The file offset of an address, from the loaded segments. */
static bool file_offset(const struct hl_elf_file *f, uint64_t addr, uint64_t *out)
{
	for (unsigned i = 0; i < f->n_ph; i++) {
		const Elf64_Phdr *ph = &f->ph[i];

		if (ph->p_type == PT_LOAD && addr >= ph->p_vaddr &&
			addr - ph->p_vaddr < ph->p_filesz) {
			*out = ph->p_offset + (addr - ph->p_vaddr);
			return true;
		}
	}
	return false;
}

static void read_dynamic(struct hl_elf_file *f, const Elf64_Phdr *ph)
{
	uint64_t strings = 0, size = 0, at;

	for (uint64_t i = 0; i < DYNAMIC_MAX && (i + 1) * sizeof(Elf64_Dyn) <= ph->p_filesz; i++) {
		Elf64_Dyn d;

		if (!read_at(f->fd, &d, sizeof(d), ph->p_offset + i * sizeof(d)) ||
			d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_STRTAB)
			strings = d.d_un.d_ptr;
		if (d.d_tag == DT_STRSZ)
			size = d.d_un.d_val;
		if (d.d_tag == DT_NEEDED && f->n_needed < HL_ELF_NEEDED)
			f->needed[f->n_needed++] = d.d_un.d_val;
		f->bind_now |= d.d_tag == DT_BIND_NOW ||
			       (d.d_tag == DT_FLAGS && d.d_un.d_val & DF_BIND_NOW) ||
			       (d.d_tag == DT_FLAGS_1 && d.d_un.d_val & DF_1_NOW);
	}
	if (!size || !file_offset(f, strings, &at))
		return;
	f->strings = read_piece(f->fd, at, size);
	f->strings_len = f->strings ? size : 0;
}

int hl_elf_file_read(struct hl_elf_file *f, int fd, const Elf64_Ehdr *head)
{
	memset(f, 0, sizeof(*f));
	f->fd = fd;
	f->head = *head;
	f->n_ph = head->e_phnum < HL_ELF_PHDRS ? head->e_phnum : HL_ELF_PHDRS;
	if (head->e_phentsize != sizeof(f->ph[0]) ||
		!read_at(fd, f->ph, f->n_ph * sizeof(f->ph[0]), head->e_phoff)) {
		f->n_ph = 0;
		return -EBADMSG;
	}
	for (unsigned i = 0; i < f->n_ph; i++)
		if (f->ph[i].p_type == PT_INTERP && f->ph[i].p_filesz < sizeof(f->interp))
			read_at(fd, f->interp, f->ph[i].p_filesz, f->ph[i].p_offset);
	for (unsigned i = 0; i < f->n_ph && !f->strings; i++)
		if (f->ph[i].p_type == PT_DYNAMIC)
			read_dynamic(f, &f->ph[i]);
	return 0;
}

void hl_elf_file_free(struct hl_elf_file *f)
{
	free(f->strings);
	f->strings = NULL;
	f->strings_len = 0;
}

bool hl_elf_file_mentions(const struct hl_elf_file *f, const char *text)
{
	return f->strings && memmem(f->strings, f->strings_len, text, strlen(text)) != NULL;
}

const char *hl_elf_file_needed(const struct hl_elf_file *f, unsigned i)
{
	if (i >= f->n_needed)
		return NULL;
	return f->needed[i] < f->strings_len ? f->strings + f->needed[i] : "";
}

bool hl_elf_file_is_whole(const struct hl_elf_file *f)
{
	struct stat st;

	if (fstat(f->fd, &st) < 0)
		return true;
	for (unsigned i = 0; i < f->n_ph; i++) {
		const Elf64_Phdr *ph = &f->ph[i];
		uint64_t size = (uint64_t)st.st_size;

		if (ph->p_type == PT_LOAD &&
			(ph->p_filesz > size || ph->p_offset > size - ph->p_filesz))
			return false;
	}
	return true;
}

bool hl_elf_file_has_segment(const struct hl_elf_file *f, uint32_t type)
{
	for (unsigned i = 0; i < f->n_ph; i++)
		if (f->ph[i].p_type == type)
			return true;
	return false;
}

size_t hl_elf_file_build_id(const struct hl_elf_file *f, uint8_t *id)
{
	size_t len = 0;

	for (unsigned i = 0; i < f->n_ph && !len; i++)
		if (f->ph[i].p_type == PT_NOTE)
			len = hl_elf_build_id(f->fd, &f->ph[i], id);
	return len;
}

static uint64_t match(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, names[i]))
			return UINT64_C(1) << i;
	return 0;
}

static uint64_t search_table(
	const struct hl_elf_file *f, const Elf64_Shdr *table, const char *const *names, size_t n)
{
	Elf64_Sym symbols[SYMBOLS_STEP];
	uint64_t left = table->sh_size / sizeof(symbols[0]), at = table->sh_offset, found = 0;
	Elf64_Shdr link;
	char *text;

	if (table->sh_size > SYMBOLS_MAX || table->sh_link >= f->head.e_shnum ||
		!read_at(f->fd, &link, sizeof(link),
			f->head.e_shoff + table->sh_link * sizeof(link)))
		return 0;
	text = read_piece(f->fd, link.sh_offset, link.sh_size);
	while (text && left) {
		size_t some = left < SYMBOLS_STEP ? left : SYMBOLS_STEP;

		if (!read_at(f->fd, symbols, some * sizeof(symbols[0]), at))
			break;
		for (size_t i = 0; i < some; i++)
			if (symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_name < link.sh_size)
				found |= match(text + symbols[i].st_name, names, n);
		at += some * sizeof(symbols[0]);
		left -= some;
	}
	free(text);
	return found;
}

uint64_t hl_elf_file_defines(
	const struct hl_elf_file *f, uint32_t type, const char *const *names, size_t n)
{
	uint64_t found = 0;

	if (f->head.e_shentsize != sizeof(Elf64_Shdr))
		return 0;
	for (unsigned i = 0; i < f->head.e_shnum; i++) {
		Elf64_Shdr section;

		if (!read_at(f->fd, &section, sizeof(section),
			    f->head.e_shoff + i * sizeof(section)))
			break;
		if (section.sh_type == type)
			found |= search_table(f, &section, names, n);
	}
	return found;
}
