/*
 * symbol_internal.h - the parts of the symbol reader, for each other.
 */
#ifndef HL_SYMBOL_SYMBOL_INTERNAL_H
#define HL_SYMBOL_SYMBOL_INTERNAL_H

#include <elfutils/libdw.h>
#include <libelf.h>

#include "symbol/spans_internal.h"
#include "symbol/symbol.h"
#include "util/strbuf.h"
#include "util/vec.h"

/* An ELF file. A zeroed image is a closed one (elf == NULL). */
struct hl_image {
	int fd;
	Elf *elf;
	char *path; /* other files are found beside it */
};

/* -ENOENT, -ENOEXEC (not a regular ELF program or library) or another -errno. Never blocks. */
int hl_image_open(struct hl_image *img, const char *path);
/* The same of a descriptor, which it takes, if only to close it. path: what it is called. */
int hl_image_open_fd(struct hl_image *img, int fd, const char *path);
void hl_image_close(struct hl_image *img);
/* Was it written, or (inodes) put where it is, after this time? */
bool hl_image_is_newer(const struct hl_image *img, uint64_t unix_ns, bool inodes);
/* The length of the build-id, 0 when there is none. */
size_t hl_image_build_id(const struct hl_image *img, const uint8_t **id);

/* Symbols of images by address; `what` is the name's address. */
struct hl_elf_names {
	struct hl_spans functions, labels;
};
/* Adds those of an image, which must stay open. 0 or -ENOMEM. */
int hl_elf_symbols(const struct hl_image *img, struct hl_elf_names *into);
/* To be called once when all tables are in; then they can be searched. */
void hl_elf_symbols_ready(struct hl_elf_names *names);
/* NULL when there is none. */
const char *hl_elf_name(const struct hl_elf_names *names, uint64_t addr);
/* Of a function that begins exactly there, if its name is mangled; else NULL. */
const char *hl_elf_mangled(const struct hl_elf_names *names, uint64_t start);
void hl_elf_names_fini(struct hl_elf_names *names);

/* DWARF of one module. */
struct hl_dwarf;
struct hl_frames {
	HL_VEC(struct hl_symbol_frame) v; /* functions still mangled */
	/* If the last one's name lacks scope and parameters: where its code begins. Else 0. */
	uint64_t bare_at;
};
struct hl_finder;
/* -ENOENT when the image has no DWARF. */
int hl_dwarf_open(struct hl_dwarf **out, const struct hl_image *img, struct hl_finder *finder);
/* Something that its DWARF refers to was not found (so far): a dwz file, a .dwo file. */
bool hl_dwarf_partial(const struct hl_dwarf *d);
/* The path of the dwz file that was not found; NULL: none is missing. */
const char *hl_dwarf_missing_alt(const struct hl_dwarf *d);
/* The dwz file that it uses; closed when there is none. */
const struct hl_image *hl_dwarf_alt(const struct hl_dwarf *d);
void hl_dwarf_close(struct hl_dwarf *d);
/* Appends the frames that hold addr, innermost first; none when it is not covered. 0 or -ENOMEM. */
int hl_dwarf_frames(struct hl_dwarf *d, uint64_t addr, struct hl_frames *into);
/* File and line of an address in no function of the DWARF, such as assembly. */
void hl_dwarf_line(struct hl_dwarf *d, uint64_t addr, const char **file, uint32_t *line);

/* The caller frees the result; NULL when the name is not mangled. */
char *hl_demangle(const char *name);

/* Appends the name with each template list as "<", the ellipsis and ">". */
void hl_symbol_shorten(struct hl_strbuf *out, const char *name, const char *ellipsis);

#endif
