/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_join.h - absolute paths, made without system calls and without allocating memory.
 */
#ifndef HL_BASE_PATH_JOIN_H
#define HL_BASE_PATH_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * Appends `name` to the directory path of `len` bytes in buf (0: the root directory). "."
 * components and repeated slashes are dropped. Leading ".." components are resolved: the directory
 * comes from the kernel, so it has no symbolic links. A ".." after another component stays, because
 * that component may be a symbolic link. Returns the length without the NUL, or 0 if `size` is too
 * small.
 */
static inline size_t hl_path_join(char *buf, size_t size, size_t len, const char *name)
{
	bool in_dir = true;

	while (len > 0 && buf[len - 1] == '/')
		len--;
	for (; *name; name += *name == '/') {
		const char *component = name;
		size_t n;

		while (*name && *name != '/')
			name++;
		n = (size_t)(name - component);
		if (n == 0 || (n == 1 && component[0] == '.'))
			continue;
		if (in_dir && n == 2 && component[0] == '.' && component[1] == '.') {
			while (len > 0 && buf[--len] != '/')
				;
			continue;
		}
		in_dir = false;
		if (len + n + 2 > size)
			return 0;
		buf[len++] = '/';
		memcpy(buf + len, component, n);
		len += n;
	}
	if (len + 1 > size)
		return 0;
	buf[len] = '\0';
	return len;
}

#endif
