/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_file.h - finds and reads the source file that debug information names.
 *
 * The name comes from a trace, which may be hostile. Only a regular file of text of a limited size
 * is read. Below a root, links may not lead out of it; without a root, nothing of /proc, /sys and
 * /dev is read. The caller chooses a name that debug information has, never one of a user.
 */
#ifndef HL_SYMBOL_SOURCE_FILE_H
#define HL_SYMBOL_SOURCE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/vec.h"

/* A larger file was generated, or is none that a person reads. */
#define HL_SOURCE_BYTES_MAX (UINT64_C(8) << 20)

/* Where sources are. Strings belong to the caller. All zero: the recorded path. */
struct hl_source_places {
	/* "OLD=NEW": paths below OLD are below NEW. "DIR": the path, or an end of it, below DIR.
	 * The first that has the file counts. */
	const char *const *roots;
	size_t n_roots;
	const char *sysroot; /* the recorded path below it; NULL: none */
	bool only_roots;     /* the recorded path itself is not read */
};

struct hl_source_text {
	char *path; /* of the file that was read; NULL: none, and `problem` says why */
	char problem[512];
	bool changed; /* it was modified after the recording began */
	char *data;   /* without NUL bytes inside */
	size_t len;
	HL_VEC(size_t) starts; /* the offset of each line; the last one may be empty */
};

/* Reads the file. since_unix_ns: the begin of the recording; 0: not known. Returns 0, also if there
 * is no such file, or -ENOMEM. The caller frees *t in every case. */
int hl_source_text_read(struct hl_source_text *t, const struct hl_source_places *places,
	const char *file, uint64_t since_unix_ns);
void hl_source_text_fini(struct hl_source_text *t);
/* The number of lines, and line i from 1 on, without its end. NULL: there is no such line. */
size_t hl_source_text_n_lines(const struct hl_source_text *t);
const char *hl_source_text_line(const struct hl_source_text *t, size_t i, size_t *len);

/* Is it "DIR" or "OLD=NEW" with a directory that exists? */
bool hl_source_root_is_valid(const char *root);

#endif
