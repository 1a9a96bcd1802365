/*
 * path.h - whole paths, made without a syscall or memory of their own.
 */
#ifndef HL_BASE_PATH_H
#define HL_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * Appends `name` to the folder of `len` bytes in buf (0: the root), without "." and doubled
 * slashes. A ".." that leads out of the folder is followed, for the folder is the kernel's word and
 * has no links in it; behind another name it stays, for that may be a link. Returns the length,
 * with a NUL behind it, or 0 when there is no room.
 */
static inline size_t hl_path_join(char *buf, size_t size, size_t len, const char *name)
{
	bool in_folder = true;

	while (len > 0 && buf[len - 1] == '/')
		len--;
	for (; *name; name += *name == '/') {
		const char *part = name;
		size_t n;

		while (*name && *name != '/')
			name++;
		n = (size_t)(name - part);
		if (n == 0 || (n == 1 && part[0] == '.'))
			continue;
		if (in_folder && n == 2 && part[0] == '.' && part[1] == '.') {
			while (len > 0 && buf[--len] != '/')
				;
			continue;
		}
		in_folder = false;
		if (len + n + 2 > size)
			return 0;
		buf[len++] = '/';
		memcpy(buf + len, part, n);
		len += n;
	}
	if (len + 1 > size)
		return 0;
	buf[len] = '\0';
	return len;
}

#endif
