/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debian_package.c - finds the Debian package that owns a file, from dpkg's own lists.
 *
 * The owner of a link may be another package than the owner of the file: /usr/bin/redis-server is a
 * link of redis-server to a file of redis-tools. Debug information belongs to the file, so links
 * are followed. A diverted file has another path than the list of its package.
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

#define LISTS      "info"
#define DIVERSIONS "diversions"
#define LIST_MAX   (64 << 20)

/* /lib is a link to /usr/lib, and lists may have either. */
static const char *skip_usr(const char *path)
{
	return strncmp(path, "/usr/", 5) == 0 ? path + 4 : path;
}

static bool same_path(const char *a, const char *b)
{
	return strcmp(skip_usr(a), skip_usr(b)) == 0;
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

/* A path, and how packages list it. */
struct owned_path {
	const char *path;     /* in the lists */
	const char *only;     /* the package that diverted the path; NULL: any */
	const char *excluded; /* the package that diverted the file away from `path`; NULL: none */
};

/* The next line of text, which is cut off; NULL: none. */
static char *next_line(char **text)
{
	char *line = *text && **text ? strsep(text, "\n") : NULL;

	return line && *line ? line : NULL;
}

/* dpkg's list of diversions has three lines for each: a path, where other packages' files of this
 * path are, and the package that diverts it; ":" is the administrator, whose file has no
 * package. */
static void apply_diversions(char *text, struct owned_path *o)
{
	char *from, *to, *by;

	while ((from = next_line(&text)) && (to = next_line(&text)) && (by = next_line(&text))) {
		if (same_path(o->path, to)) {
			*o = (struct owned_path){.path = from, .excluded = by};
			return;
		}
		if (same_path(o->path, from)) {
			o->only = by;
			return;
		}
	}
}

static bool may_own(const struct owned_path *o, const char *package)
{
	return (!o->only || strcmp(o->only, package) == 0) &&
	       (!o->excluded || strcmp(o->excluded, package) != 0);
}

static char *find_in_lists(int admin, const struct owned_path *o, uint64_t start, uint64_t budget)
{
	int fd = openat(admin, LISTS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct hl_strbuf text = {0};
	char *found = NULL;
	struct dirent *e;

	while (dir && !found && hl_mono_ns() - start < budget && (e = readdir(dir)) != NULL) {
		char *package = package_name(e->d_name);
		bool may = package && may_own(o, package);
		size_t len = may ? read_list(dirfd(dir), e->d_name, &text) : 0;

		if (len && hl_debian_package_contains(text.data, len, o->path))
			found = package;
		else
			free(package);
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	hl_strbuf_fini(&text);
	return found;
}

static char *find_owner(int admin, const char *path, uint64_t start, uint64_t budget)
{
	struct owned_path o = {.path = path};
	struct hl_strbuf diversions = {0};
	char *found;

	if (read_list(admin, DIVERSIONS, &diversions))
		apply_diversions(diversions.data, &o);
	found = find_in_lists(admin, &o, start, budget);
	hl_strbuf_fini(&diversions);
	return found;
}

char *hl_debian_package_find(const char *admin_dir, const char *path, uint64_t *budget_ns)
{
	uint64_t start = hl_mono_ns(), used;
	char real[PATH_MAX];
	char *found = NULL;
	int admin = -1;

	if (*budget_ns > 0 && realpath(path, real))
		admin = open(admin_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (admin < 0)
		return NULL;
	found = find_owner(admin, real, start, *budget_ns);
	close(admin);
	used = hl_mono_ns() - start;
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
