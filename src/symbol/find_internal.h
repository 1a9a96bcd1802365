/*
 * find_internal.h - where the files of a module may be; for the parts of the symbol reader.
 *
 * A zeroed finder looks at the system's places only.
 */
#ifndef HL_SYMBOL_FIND_INTERNAL_H
#define HL_SYMBOL_FIND_INTERNAL_H

#include "symbol/debuginfod_internal.h"
#include "symbol/symbol_internal.h"

/* A file below a --symbols path. */
struct hl_named_file {
	char *path;
	uint8_t *id;
	size_t id_len;
};

/* Who may have files of his own; open NULL: nobody. */
struct hl_carrier {
	hl_symbols_open_fn *open;
	void *arg;
};

struct hl_finder {
	struct hl_carrier carrier;
	HL_VEC(char *) paths;             /* --symbols */
	char *sysroot;                    /* or NULL */
	struct hl_debuginfod *debuginfod; /* or NULL */
	bool listed;                      /* files has all that is below paths */
	HL_VEC(struct hl_named_file) files;
};

int hl_finder_init(struct hl_finder *f, const struct hl_symbols_config *c);
void hl_finder_fini(struct hl_finder *f);

/* All of these: 0, -ENOENT or another -errno; the image is the caller's. */

/* What is carried for us. */
int hl_finder_carried(struct hl_finder *f, enum hl_symbols_file kind, const char *path,
	const uint8_t *id, size_t len, struct hl_image *img);
/* The module's own file; its build-id is not looked at. */
int hl_finder_image(struct hl_finder *f, const char *path, struct hl_image *img);
/* What the user named for this module (path NULL: by build-id only). */
int hl_finder_named(
	struct hl_finder *f, const char *path, const uint8_t *id, size_t len, struct hl_image *img);
/* The installed debug file, by build-id, then by the debuglink of the image (may be closed). */
int hl_finder_debug(struct hl_finder *f, const struct hl_image *of, const uint8_t *id, size_t len,
	struct hl_image *debug);
/* From debuginfod; `what` is for people. */
int hl_finder_fetch(struct hl_finder *f, const char *what, const uint8_t *id, size_t len,
	struct hl_image *debug);
/* The dwz file that several debug files share. -ENODATA if none is needed. */
int hl_finder_alt(
	struct hl_finder *f, const struct hl_image *of, Dwarf *dwarf, struct hl_image *alt);

int hl_finder_open_with_id(struct hl_image *img, const char *path, const uint8_t *want, size_t len);
int hl_finder_open_in_tree(
	struct hl_image *img, const char *dir, const char *sub, const uint8_t *id, size_t len);
void hl_finder_named_fini(struct hl_finder *f);

#endif
