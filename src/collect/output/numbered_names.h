/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numbered_names.h - numbers for traces of one run with the same name: NAME.hlt, then NAME.2.hlt,
 * NAME.3.hlt ...
 *
 * The last number of each name is kept, so that the next trace finds its number in one step,
 * however many there are. Numbers that other files have are skipped in logarithmic time. Nothing
 * here creates a file; whether a name was free is decided by the call that creates it.
 */
#ifndef HL_COLLECT_OUTPUT_NUMBERED_NAMES_H
#define HL_COLLECT_OUTPUT_NUMBERED_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/string_table.h"
#include "util/vec.h"

#define HL_NUMBERED_NAMES_MAX 100000000u /* the largest number */

/* Zero-initialized: an empty series. */
struct hl_numbered_names {
	struct hl_string_table names; /* names with a number above 1 */
	HL_VEC(uint32_t) last;        /* the highest number of each */
	struct hl_string_table made;  /* files of this run; see hl_numbered_names_remember */
	uint32_t files;               /* number of files created */
};

void hl_numbered_names_fini(struct hl_numbered_names *s);

/* Inserts the number before the suffix .hlt; number 1 gives the name itself. 0 or -ENAMETOOLONG. */
int hl_numbered_names_name(char *buf, size_t n, const char *name, uint32_t number);

/* The number to try first. */
uint32_t hl_numbered_names_first(const struct hl_numbered_names *s, const char *name);

/* Finds a number >= from that is not taken, and whose predecessor is taken or below from. Without
 * gaps it is the smallest free one. Calls is_taken about 2 log2(n) times when n numbers are taken.
 * HL_NUMBERED_NAMES_MAX + 1: none. */
uint32_t hl_numbered_names_find(
	uint32_t from, bool (*is_taken)(const void *arg, uint32_t number), const void *arg);

/* A file of this name was created with this number. If memory is short, the next search only takes
 * longer. */
void hl_numbered_names_set_last(struct hl_numbered_names *s, const char *name, uint32_t number);

/* Remembers the path of a file that was created, for hl_numbered_names_has. 0 or -errno. */
int hl_numbered_names_remember(struct hl_numbered_names *s, const char *path);
bool hl_numbered_names_has(const struct hl_numbered_names *s, const char *path);

#endif
