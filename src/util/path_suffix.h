/* SPDX-License-Identifier: Apache-2.0 */
/* path_suffix.h - what a file's name ends with. */
#ifndef HL_UTIL_PATH_SUFFIX_H
#define HL_UTIL_PATH_SUFFIX_H

#include <stdbool.h>
#include <string.h>

/* Also true if the path is the suffix alone. */
static inline bool hl_path_has_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);

	return n >= m && strcmp(path + n - m, suffix) == 0;
}

#endif
