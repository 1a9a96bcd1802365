/* SPDX-License-Identifier: Apache-2.0 */
/*
 * smaps.h - reads the mappings of a process from /proc/PID/smaps.
 *
 * The kernel writes the file while it is read, a page at a time, and the process may change its
 * mappings in between. A mapping that overlaps earlier ones replaces them: it is newer. Names are
 * the process's and hostile; the kernel escapes newlines in them.
 */
#ifndef HL_COLLECT_OUTPUT_SMAPS_H
#define HL_COLLECT_OUTPUT_SMAPS_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/event.h"
#include "util/vec.h"

/* A zeroed one is empty. */
struct hl_smaps {
	HL_VEC(struct hl_map_entry) maps; /* by ascending address */
	/* The names, each with a NUL. While the text is parsed, hl_map_entry.name is not set. */
	HL_VEC(char) names;
	HL_VEC(size_t) names_at; /* parallel to maps */
	HL_VEC(char) line;       /* the beginning of a line whose end was not read yet */
	bool skips;              /* the rest of a line that is too long to be a line of the file */
	bool in_mapping;         /* lines belong to the last mapping */
};

/* Empties it, and keeps its memory. */
void hl_smaps_begin(struct hl_smaps *s);
/* Parses the next piece of the text, of any length. Returns 0, -E2BIG if there are more mappings
 * than a sample may have, or -ENOMEM. Lines that are not understood are skipped. */
int hl_smaps_feed(struct hl_smaps *s, const char *text, size_t n);
/* Sets the names of all mappings, which are valid until the next begin. */
void hl_smaps_end(struct hl_smaps *s);
/* Reads a whole file, from its beginning. Returns 0; -ESRCH if the process has ended or has become
 * another program, also while its file was read; another -errno. */
int hl_smaps_read(struct hl_smaps *s, int fd);
void hl_smaps_fini(struct hl_smaps *s);

#endif
