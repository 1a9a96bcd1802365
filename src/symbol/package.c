/*
 * package.c - which Debian package a file came with, from dpkg's own lists.
 *
 * Each list is read as text; no program is run. The time is bounded by the caller's budget: this
 * is a hint, and no report waits for hints.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "symbol/package_internal.h"

#define LISTS    "/var/lib/dpkg/info"
#define LIST_MAX (64 << 20)

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* /lib is /usr/lib, but lists may have either. */
static const char *without_usr(const char *path)
{
	return strncmp(path, "/usr/", 5) == 0 ? path + 4 : path;
}

bool hl_package_lists(const char *list, size_t len, const char *path)
{
	const char *want = without_usr(path), *name = strrchr(path, '/');
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

/* The text of a list in *buf, which grows. */
static size_t read_list(int dir, const char *name, struct hl_strbuf *buf)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char part[4096]; /* on a stack that may be small, and most lists are */
	ssize_t n;

	hl_strbuf_reset(buf);
	if (fd < 0)
		return 0;
	while ((n = read(fd, part, sizeof(part))) > 0 && buf->len < LIST_MAX)
		hl_strbuf_add(buf, part, (size_t)n);
	close(fd);
	return hl_strbuf_error(buf) ? 0 : buf->len;
}

/* "libgmp10:amd64.list" -> "libgmp10"; NULL: no list. The caller frees it. */
static char *package_of(const char *file)
{
	size_t len = strlen(file), n = strcspn(file, ":");

	if (len < 6 || strcmp(file + len - 5, ".list") != 0)
		return NULL;
	return strndup(file, n < len - 5 ? n : len - 5);
}

char *hl_package_find(const char *path, uint64_t *budget_ns)
{
	uint64_t start = now_ns(), used = 0;
	struct hl_strbuf text = {0};
	char real[PATH_MAX];
	char *found = NULL;
	struct dirent *e;
	DIR *dir;

	if (*budget_ns == 0 || !realpath(path, real) || !(dir = opendir(LISTS)))
		return NULL;
	while (!found && used < *budget_ns && (e = readdir(dir)) != NULL) {
		char *package = package_of(e->d_name);
		size_t len = package ? read_list(dirfd(dir), e->d_name, &text) : 0;

		if (len && (hl_package_lists(text.data, len, path) ||
				   hl_package_lists(text.data, len, real)))
			found = package;
		else
			free(package);
		used = now_ns() - start;
	}
	closedir(dir);
	hl_strbuf_fini(&text);
	*budget_ns -= used < *budget_ns ? used : *budget_ns;
	return found;
}

char *hl_package_debug(const char *package)
{
	struct hl_strbuf name = {0};
	char *out = NULL;

	/* The C library's is older than the automatic ones and has kept its name. */
	hl_strbuf_printf(&name, "%s-%s", package, strcmp(package, "libc6") ? "dbgsym" : "dbg");
	if (hl_strbuf_error(&name) == 0)
		out = strdup(hl_strbuf_str(&name));
	hl_strbuf_fini(&name);
	return out;
}
