/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_internal.h - interfaces between the parts of the symbol reader.
 */
#ifndef HL_SYMBOL_SYMBOL_INTERNAL_H
#define HL_SYMBOL_SYMBOL_INTERNAL_H

#include <elfutils/libdw.h>
#include <libelf.h>

#include "symbol/dwarf/spans_internal.h"
#include "symbol/symbol.h"
#include "util/strbuf.h"
#include "util/vec.h"

/* An ELF file. A zeroed image is closed (elf == NULL). */
struct hl_elf_image {
	int fd;
	Elf *elf;
	char *path; /* other files are searched in its directory */
};

/* Opens a file. Returns 0, -ENOENT, -ENOEXEC (not a regular ELF program or library) or another
 * -errno. Never blocks. */
int hl_elf_image_open(struct hl_elf_image *img, const char *path);
/* The same for a descriptor, which it takes over, even on errors. path: the name for
 * `img->path`. */
int hl_elf_image_open_fd(struct hl_elf_image *img, int fd, const char *path);
void hl_elf_image_close(struct hl_elf_image *img);
/* True if the file was modified after this time, or, with check_ctime, its inode was changed. */
bool hl_elf_image_is_newer(const struct hl_elf_image *img, uint64_t unix_ns, bool check_ctime);
/* Returns the length of the build-id, 0 if there is none. */
size_t hl_elf_image_build_id(const struct hl_elf_image *img, const uint8_t **id);

/* Symbols of images by address; the payload is a pointer to the name. */
struct hl_elf_names {
	struct hl_spans functions, labels;
};
/* Adds the symbols of an image, which must stay open. Returns 0 or -ENOMEM. */
int hl_elf_names_add(const struct hl_elf_image *img, struct hl_elf_names *into);
/* Must be called once after all tables were added and before the first search. */
void hl_elf_names_finish(struct hl_elf_names *names);
/* The name of the symbol that contains addr; NULL if there is none. */
const char *hl_elf_names_find(const struct hl_elf_names *names, uint64_t addr);
/* The name of the function that begins exactly at `start`, if it is mangled; else NULL. */
const char *hl_elf_names_find_mangled(const struct hl_elf_names *names, uint64_t start);
void hl_elf_names_fini(struct hl_elf_names *names);

/* The DWARF data of one module. */
struct hl_dwarf;
struct hl_frames {
	HL_VEC(struct hl_symbol_frame) v; /* function names are still mangled */
	/* If the name of the last frame lacks scope and parameters: the start of its code. Else
	 * 0. */
	uint64_t unqualified_start;
	/* Without frames: the bounds of the function. 0: not known. */
	uint64_t start, end;
};
struct hl_locator;
/* -ENOENT: the image has no DWARF data. */
int hl_dwarf_open(
	struct hl_dwarf **out, const struct hl_elf_image *img, struct hl_locator *locator);
/* A file that the DWARF data refers to has not been found (so far): a dwz file or a .dwo file. */
bool hl_dwarf_partial(const struct hl_dwarf *d);
/* The path of the dwz file that was not found; NULL: none is missing. */
const char *hl_dwarf_missing_alt(const struct hl_dwarf *d);
/* The dwz file in use; closed if there is none. */
const struct hl_elf_image *hl_dwarf_alt(const struct hl_dwarf *d);
void hl_dwarf_close(struct hl_dwarf *d);
/* Appends the frames at addr, innermost first; none if DWARF does not cover it. Returns 0 or
 * -ENOMEM. */
int hl_dwarf_frames(struct hl_dwarf *d, uint64_t addr, struct hl_frames *into);
/* File and line of an address that is in no function of the DWARF data, for example assembly. */
void hl_dwarf_line(struct hl_dwarf *d, uint64_t addr, const char **file, uint32_t *line);

/* Returns the demangled name, which the caller frees; NULL if the name is not mangled. */
char *hl_demangle(const char *name);

#endif
