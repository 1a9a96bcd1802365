/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debian_package.c - finds the Debian package of a file, from dpkg's own lists.
 *
 * Each list is read as text; no program is run. The caller's budget limits the time, because this
 * is only a hint.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/locate/debian_package_internal.h"
#include "util/mono_clock.h"

#define LISTS    "/var/lib/dpkg/info"
#define LIST_MAX (64 << 20)

/* /lib is a link to /usr/lib, and lists may have either. */
static const char *skip_usr(const char *path)
{
	return strncmp(path, "/usr/", 5) == 0 ? path + 4 : path;
}

bool hl_debian_package_contains(const char *list, size_t len, const char *path)
{
	const char *want = skip_usr(path), *name = strrchr(path, '/');
	const char *at = list, *end = list + len;
	size_t name_len = name ? strlen(name) : 0, want_len = strlen(want);

	if (name_len < 2)
		return false;
	while ((at = memmem(at, (size_t)(end - at), name, name_len)) != NULL) {
		const char *line = at, *stop = at + name_len;

		while (line > list && line[-1] != '\n')
			line--;
		at = stop;
		if (stop < end && *stop != '\n')
			continue;
		if (stop - line >= 5 && memcmp(line, "/usr/", 5) == 0)
			line += 4;
		if ((size_t)(stop - line) == want_len && memcmp(line, want, want_len) == 0)
			return true;
	}
	return false;
}

/* Reads a list into *buf and returns its length, 0 on an error. */
static size_t read_list(int dir, const char *name, struct hl_strbuf *buf)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char part[4096]; /* small: the stack may be small, and most lists are */
	ssize_t n;

	hl_strbuf_reset(buf);
	if (fd < 0)
		return 0;
	while ((n = read(fd, part, sizeof(part))) > 0 && buf->len < LIST_MAX)
		hl_strbuf_add(buf, part, (size_t)n);
	close(fd);
	return hl_strbuf_error(buf) ? 0 : buf->len;
}

/* "libgmp10:ARCH.list" -> "libgmp10"; NULL: not a list. The caller frees the result. */
static char *package_name(const char *file)
{
	size_t len = strlen(file), n = strcspn(file, ":");

	if (len < 6 || strcmp(file + len - 5, ".list") != 0)
		return NULL;
	return strndup(file, n < len - 5 ? n : len - 5);
}

char *hl_debian_package_find(const char *path, uint64_t *budget_ns)
{
	uint64_t start = hl_mono_ns(), used = 0;
	struct hl_strbuf text = {0};
	char real[PATH_MAX];
	char *found = NULL;
	struct dirent *e;
	DIR *dir;

	if (*budget_ns == 0 || !realpath(path, real) || !(dir = opendir(LISTS)))
		return NULL;
	while (!found && used < *budget_ns && (e = readdir(dir)) != NULL) {
		char *package = package_name(e->d_name);
		size_t len = package ? read_list(dirfd(dir), e->d_name, &text) : 0;

		if (len && (hl_debian_package_contains(text.data, len, path) ||
				   hl_debian_package_contains(text.data, len, real)))
			found = package;
		else
			free(package);
		used = hl_mono_ns() - start;
	}
	closedir(dir);
	hl_strbuf_fini(&text);
	*budget_ns -= used < *budget_ns ? used : *budget_ns;
	return found;
}

char *hl_debian_package_debug(const char *package)
{
	struct hl_strbuf name = {0};
	char *out = NULL;

	/* The debug package of libc6 is older than automatic -dbgsym packages and has kept its
	 * name. */
	hl_strbuf_printf(&name, "%s-%s", package, strcmp(package, "libc6") ? "dbgsym" : "dbg");
	if (hl_strbuf_error(&name) == 0)
		out = strdup(hl_strbuf_str(&name));
	hl_strbuf_fini(&name);
	return out;
}
