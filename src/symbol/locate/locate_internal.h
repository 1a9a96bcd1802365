/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locate_internal.h - finds the files of a module; for the parts of the symbol reader.
 *
 * A zeroed locator searches only the system's default directories.
 */
#ifndef HL_SYMBOL_LOCATE_LOCATE_INTERNAL_H
#define HL_SYMBOL_LOCATE_LOCATE_INTERNAL_H

#include "symbol/locate/debuginfod_internal.h"
#include "symbol/symbol_internal.h"

/* A file below a --symbols path. */
struct hl_named_file {
	char *path;
	uint8_t *id;
	size_t id_len;
};

/* A source of embedded files; open NULL: none. */
struct hl_embedded_source {
	hl_symbols_open_fn *open;
	void *arg;
};

struct hl_locator {
	struct hl_embedded_source embedded;
	HL_VEC(char *) paths;             /* --symbols */
	char *sysroot;                    /* NULL: none */
	struct hl_debuginfod *debuginfod; /* NULL: not used */
	bool listed;                      /* `files` has all files below `paths` */
	HL_VEC(struct hl_named_file) files;
};

int hl_locator_init(struct hl_locator *f, const struct hl_symbols_config *c);
void hl_locator_fini(struct hl_locator *f);

/* All of these return 0, -ENOENT or another -errno. The caller closes the image. */

/* Opens an embedded file. */
int hl_locator_embedded(struct hl_locator *f, enum hl_symbols_file kind, const char *path,
	const uint8_t *id, size_t len, struct hl_elf_image *img);
/* Opens the module's own file; its build-id is not checked. */
int hl_locator_image(struct hl_locator *f, const char *path, struct hl_elf_image *img);
/* Opens a file that the user named for this module (path NULL: by build-id only). */
int hl_locator_user_file(struct hl_locator *f, const char *path, const uint8_t *id, size_t len,
	struct hl_elf_image *img);
/* Opens the embedded or installed debug file: by build-id, then by the debuglink of the image
 * (which may be closed). */
int hl_locator_debug(struct hl_locator *f, const struct hl_elf_image *of, const uint8_t *id,
	size_t len, struct hl_elf_image *debug);
/* Downloads the debug file from debuginfod; `what` is a name for display. */
int hl_locator_fetch(struct hl_locator *f, const char *what, const uint8_t *id, size_t len,
	struct hl_elf_image *debug);
/* Opens the dwz file that several debug files share. -ENODATA: none is needed. */
int hl_locator_dwz(struct hl_locator *f, const struct hl_elf_image *of, Dwarf *dwarf,
	struct hl_elf_image *alt);

int hl_locator_open_with_id(
	struct hl_elf_image *img, const char *path, const uint8_t *want, size_t len);
int hl_locator_open_in_tree(
	struct hl_elf_image *img, const char *dir, const char *sub, const uint8_t *id, size_t len);
void hl_locator_named_fini(struct hl_locator *f);

#endif
