/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_list.h - the value of LD_PRELOAD: files, separated by spaces or colons.
 */
#ifndef HL_RECORD_INTERPOSE_PRELOAD_LIST_H
#define HL_RECORD_INTERPOSE_PRELOAD_LIST_H

#include <stdbool.h>
#include <string.h>

#define HL_PRELOAD_OURS "libheaplapse.so"

/* The end of the file name that begins here. */
static inline const char *hl_preload_end(const char *file)
{
	while (*file && *file != ':' && *file != ' ')
		file++;
	return file;
}

/* True if the path of `len` bytes has this file name, in any directory. */
static inline bool hl_preload_has_name(const char *file, size_t len, const char *name)
{
	size_t n = strlen(name);

	return len >= n && !memcmp(file + len - n, name, n) &&
	       (len == n || file[len - n - 1] == '/');
}

static inline bool hl_preload_contains(const char *list, const char *name)
{
	while (list && *list) {
		const char *end = hl_preload_end(list);

		if (hl_preload_has_name(list, (size_t)(end - list), name))
			return true;
		list = *end ? end + 1 : end;
	}
	return false;
}

#endif
