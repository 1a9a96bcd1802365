/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_file.c - see elf_file.h.
 *
 * libelf checks ranges against the size of the file, but the file can be sparse. It allocates for
 * each section and each segment that the file declares, as soon as the file is opened. The counts
 * are therefore checked before, in the header that is read here.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bits.h"
#include "util/elf_file.h"
#include "util/fd_io.h"

#define STRINGS_MAX  (UINT64_C(256) << 20)
#define SYMBOLS_MAX  (UINT64_C(512) << 20)
#define SECTIONS_MAX (UINT64_C(1) << 18)
#define SEGMENTS_MAX 1024u /* later ones are ignored */
#define NOTES_MAX    4096u
#define DYNAMIC_MAX  4096u /* entries */

static bool is_in_file(const struct hl_elf_file *f, uint64_t offset, uint64_t len)
{
	return len <= f->size && offset <= f->size - len;
}

static int read_header(struct hl_elf_file *f)
{
	struct stat st;

	if (fstat(f->fd, &st) < 0 || !S_ISREG(st.st_mode) ||
		hl_fd_read_at(f->fd, &f->head, sizeof(f->head), 0) ||
		memcmp(f->head.e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	f->size = (uint64_t)st.st_size;
	if (f->head.e_ident[EI_CLASS] != ELFCLASS64 || f->head.e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOTSUP;
	return 0;
}

/* Counts that do not fit into the header are in the first section. */
static bool are_counts_sane(const struct hl_elf_file *f)
{
	Elf64_Shdr first;

	if (f->head.e_phnum == PN_XNUM)
		return false;
	if (f->head.e_shnum != 0 || f->head.e_shoff == 0 ||
		hl_fd_read_at(f->fd, &first, sizeof(first), f->head.e_shoff))
		return true;
	return first.sh_size <= SECTIONS_MAX;
}

int hl_elf_file_open(struct hl_elf_file *f, int fd)
{
	int err;

	*f = (struct hl_elf_file){.fd = fd};
	err = read_header(f);
	if (err)
		return err;
	if ((f->head.e_phnum && f->head.e_phentsize != sizeof(Elf64_Phdr)) || !are_counts_sane(f) ||
		!is_in_file(f, f->head.e_phoff, f->head.e_phnum * sizeof(Elf64_Phdr)))
		return -EBADMSG;
	elf_version(EV_CURRENT);
	f->elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!f->elf || elf_getphdrnum(f->elf, &f->n_segments) != 0)
		return -EBADMSG;
	f->n_segments = hl_min_u64(f->n_segments, SEGMENTS_MAX);
	return 0;
}

void hl_elf_file_close(struct hl_elf_file *f)
{
	elf_end(f->elf);
	f->elf = NULL;
}

/* ---- segments ---- */

static bool get_segment(const struct hl_elf_file *f, size_t i, GElf_Phdr *ph)
{
	return i < f->n_segments && gelf_getphdr(f->elf, (int)i, ph);
}

bool hl_elf_file_find_segment(const struct hl_elf_file *f, uint32_t type, GElf_Phdr *ph)
{
	for (size_t i = 0; get_segment(f, i, ph); i++)
		if (ph->p_type == type)
			return true;
	return false;
}

bool hl_elf_file_has_segment(const struct hl_elf_file *f, uint32_t type)
{
	GElf_Phdr ph;

	return hl_elf_file_find_segment(f, type, &ph);
}

bool hl_elf_file_is_whole(const struct hl_elf_file *f)
{
	GElf_Phdr ph;

	for (size_t i = 0; get_segment(f, i, &ph); i++)
		if (ph.p_type == PT_LOAD && !is_in_file(f, ph.p_offset, ph.p_filesz))
			return false;
	return true;
}

bool hl_elf_file_has_sections(const struct hl_elf_file *f)
{
	return !f->head.e_shoff ||
	       is_in_file(f, f->head.e_shoff, (uint64_t)f->head.e_shnum * f->head.e_shentsize);
}

/* Returns a part of the file, which belongs to libelf; NULL if it cannot be read. */
static Elf_Data *read_part(
	const struct hl_elf_file *f, uint64_t offset, uint64_t len, Elf_Type type)
{
	Elf_Data *data = len && is_in_file(f, offset, len)
				 ? elf_getdata_rawchunk(f->elf, (int64_t)offset, len, type)
				 : NULL;

	return data && data->d_buf ? data : NULL;
}

void hl_elf_file_loader(const struct hl_elf_file *f, char *path, size_t n)
{
	Elf_Data *text = NULL;
	GElf_Phdr ph;

	if (hl_elf_file_find_segment(f, PT_INTERP, &ph) && ph.p_filesz < n)
		text = read_part(f, ph.p_offset, ph.p_filesz, ELF_T_BYTE);
	if (text)
		memcpy(path, text->d_buf, text->d_size);
	path[text ? text->d_size : 0] = '\0';
}

bool hl_elf_file_has_section(const struct hl_elf_file *f, const char *name)
{
	const char *found;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(f->elf, &names))
		return false;
	while ((section = elf_nextscn(f->elf, section)) != NULL) {
		if (!gelf_getshdr(section, &header))
			continue;
		found = elf_strptr(f->elf, names, header.sh_name);
		if (found && strcmp(found, name) == 0)
			return true;
	}
	return false;
}

/* ---- the build-id ---- */

static uint32_t find_build_id(Elf_Data *notes, uint8_t *id)
{
	size_t at = 0, next, name, desc;
	GElf_Nhdr note;

	while ((next = gelf_getnote(notes, at, &note, &name, &desc)) > 0) {
		const char *bytes = notes->d_buf;

		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
			note.n_descsz <= HL_BUILD_ID_MAX && !memcmp(bytes + name, "GNU", 4)) {
			memcpy(id, bytes + desc, note.n_descsz);
			return note.n_descsz;
		}
		at = next;
	}
	return 0;
}

uint32_t hl_elf_file_build_id(const struct hl_elf_file *f, uint8_t *id)
{
	uint32_t len = 0;
	GElf_Phdr ph;

	for (size_t i = 0; !len && get_segment(f, i, &ph); i++) {
		Elf_Data *notes = ph.p_type == PT_NOTE
					  ? read_part(f, ph.p_offset,
						    hl_min_u64(ph.p_filesz, NOTES_MAX), ELF_T_NHDR)
					  : NULL;

		if (notes)
			len = find_build_id(notes, id);
	}
	return len;
}

/* ---- the dynamic section ---- */

/* Finds the file offset of an address, from the loaded segments. */
static bool find_file_offset(const struct hl_elf_file *f, uint64_t addr, uint64_t *out)
{
	GElf_Phdr ph;

	for (size_t i = 0; get_segment(f, i, &ph); i++)
		if (ph.p_type == PT_LOAD && addr >= ph.p_vaddr && addr - ph.p_vaddr < ph.p_filesz) {
			*out = ph.p_offset + (addr - ph.p_vaddr);
			return true;
		}
	return false;
}

/* Returns the i-th entry. Returns false after the last. */
static bool get_dynamic(const struct hl_elf_file *f, size_t i, GElf_Dyn *d)
{
	return f->dynamic && i < f->dynamic->d_size / sizeof(Elf64_Dyn) &&
	       gelf_getdyn(f->dynamic, (int)i, d) && d->d_tag != DT_NULL;
}

static void read_dynamic(struct hl_elf_file *f)
{
	uint64_t addr = 0, len = 0, at;
	GElf_Phdr ph;
	GElf_Dyn d;

	if (f->dynamic_read)
		return;
	f->dynamic_read = true;
	if (hl_elf_file_find_segment(f, PT_DYNAMIC, &ph))
		f->dynamic = read_part(f, ph.p_offset,
			hl_min_u64(ph.p_filesz / sizeof(d), DYNAMIC_MAX) * sizeof(d), ELF_T_DYN);
	for (size_t i = 0; get_dynamic(f, i, &d); i++) {
		if (d.d_tag == DT_STRTAB)
			addr = d.d_un.d_ptr;
		if (d.d_tag == DT_STRSZ)
			len = d.d_un.d_val;
	}
	if (len <= STRINGS_MAX && find_file_offset(f, addr, &at))
		f->strings = read_part(f, at, len, ELF_T_BYTE);
}

bool hl_elf_file_mentions(struct hl_elf_file *f, const char *text)
{
	read_dynamic(f);
	return f->strings && memmem(f->strings->d_buf, f->strings->d_size, text, strlen(text));
}

/* Returns a string of a table; "" if there is none at this offset. */
static const char *get_string(const Elf_Data *strings, uint64_t at)
{
	const char *text = strings ? strings->d_buf : NULL;

	return text && at < strings->d_size && memchr(text + at, '\0', strings->d_size - at)
		       ? text + at
		       : "";
}

const char *hl_elf_file_needed(struct hl_elf_file *f, unsigned i)
{
	GElf_Dyn d;

	read_dynamic(f);
	for (size_t k = 0; get_dynamic(f, k, &d); k++)
		if (d.d_tag == DT_NEEDED && i-- == 0)
			return get_string(f->strings, d.d_un.d_val);
	return NULL;
}

bool hl_elf_file_binds_now(struct hl_elf_file *f)
{
	GElf_Dyn d;

	read_dynamic(f);
	for (size_t i = 0; get_dynamic(f, i, &d); i++)
		if (d.d_tag == DT_BIND_NOW || (d.d_tag == DT_FLAGS && d.d_un.d_val & DF_BIND_NOW) ||
			(d.d_tag == DT_FLAGS_1 && d.d_un.d_val & DF_1_NOW))
			return true;
	return false;
}

/* ---- symbols ---- */

static uint64_t find_name_bit(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, names[i]))
			return UINT64_C(1) << i;
	return 0;
}

static Elf_Data *read_section(Elf_Scn *section, uint64_t max)
{
	Elf_Data *data = NULL;
	GElf_Shdr head;

	if (section && gelf_getshdr(section, &head) && head.sh_size <= max)
		data = elf_getdata(section, NULL);
	return data && data->d_buf ? data : NULL;
}

static uint64_t search_table(const struct hl_elf_file *f, Elf_Scn *table, size_t link,
	const char *const *names, size_t n)
{
	Elf_Data *symbols = read_section(table, SYMBOLS_MAX);
	Elf_Data *strings = symbols ? read_section(elf_getscn(f->elf, link), STRINGS_MAX) : NULL;
	uint64_t found = 0;
	GElf_Sym symbol;

	if (!strings)
		return 0;
	for (size_t i = 0; i < symbols->d_size / sizeof(Elf64_Sym); i++)
		if (gelf_getsym(symbols, (int)i, &symbol) && symbol.st_shndx != SHN_UNDEF)
			found |= find_name_bit(get_string(strings, symbol.st_name), names, n);
	return found;
}

uint64_t hl_elf_file_defines(
	const struct hl_elf_file *f, uint32_t type, const char *const *names, size_t n)
{
	Elf_Scn *section = NULL;
	GElf_Shdr head;

	while ((section = elf_nextscn(f->elf, section)) != NULL)
		if (gelf_getshdr(section, &head) && head.sh_type == type)
			return search_table(f, section, head.sh_link, names, n);
	return 0;
}
