/*
 * preload.h - the value of LD_PRELOAD: files, separated by spaces or colons.
 */
#ifndef HL_RECORD_PRELOAD_H
#define HL_RECORD_PRELOAD_H

#include <stdbool.h>
#include <string.h>

#define HL_PRELOAD_OURS "libheaplapse.so"

/* Where the file that begins here ends. */
static inline const char *hl_preload_end(const char *file)
{
	while (*file && *file != ':' && *file != ' ')
		file++;
	return file;
}

/* Has this file, of so many bytes, the name, in whatever folder? */
static inline bool hl_preload_is(const char *file, size_t len, const char *name)
{
	size_t n = strlen(name);

	return len >= n && !memcmp(file + len - n, name, n) &&
	       (len == n || file[len - n - 1] == '/');
}

static inline bool hl_preload_lists(const char *list, const char *name)
{
	while (list && *list) {
		const char *end = hl_preload_end(list);

		if (hl_preload_is(list, (size_t)(end - list), name))
			return true;
		list = *end ? end + 1 : end;
	}
	return false;
}

#endif
