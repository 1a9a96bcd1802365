/* SPDX-License-Identifier: Apache-2.0 */
/* source_file.c - see source_file.h. */
#include "symbol/source_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fd_io.h"
#include "util/strbuf.h"

#define LINES_MAX 1000000u

/* The file that was tried, and why it cannot be shown. */
enum outcome { MISSING, OUTSIDE, TOO_LARGE, NOT_TEXT, UNREADABLE };

struct search {
	const struct hl_source_places *places;
	const char *file;
	uint64_t since_ns;
	struct hl_source_text *t;
	enum outcome outcome; /* the first one that is not MISSING */
	struct hl_strbuf tried;
};

static void note_outcome(struct search *s, enum outcome o, const char *path)
{
	if (s->outcome != MISSING || o == MISSING)
		return;
	s->outcome = o;
	hl_strbuf_puts(&s->tried, path);
}

/* --- what may be read --- */

/* The real path of an open file; "" if it has none any more. */
static void real_path(int fd, char path[PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX - 1);
	path[n > 0 ? n : 0] = '\0';
}

static bool is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	while (len > 0 && dir[len - 1] == '/')
		len--;
	return strncmp(path, dir, len) == 0 && path[len] == '/';
}

/* base NULL: the recorded path itself. */
static bool is_allowed(int fd, const char *base)
{
	static const char *const system[] = {"/proc", "/sys", "/dev"};
	char path[PATH_MAX], *root;
	bool allowed;

	real_path(fd, path);
	if (path[0] != '/')
		return false;
	for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++) {
		if (is_below(path, system[i]))
			return false;
	}
	if (!base)
		return true;
	root = realpath(base, NULL);
	allowed = root && is_below(path, root);
	free(root);
	return allowed;
}

/* --- reading --- */

static int find_lines(struct hl_source_text *t)
{
	const char *at = t->data, *end = t->data + t->len;

	if (hl_vec_push(&t->starts, (size_t)0))
		return -ENOMEM;
	while (at < end && t->starts.len < LINES_MAX) {
		at = memchr(at, '\n', (size_t)(end - at));
		if (!at)
			break;
		at++;
		if (hl_vec_push(&t->starts, (size_t)(at - t->data)))
			return -ENOMEM;
	}
	return 0;
}

static int read_text(struct search *s, int fd, const struct stat *st, const char *path)
{
	struct hl_source_text *t = s->t;
	uint64_t modified =
		(uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
	int err;

	t->len = (size_t)st->st_size;
	t->data = malloc(t->len + 1);
	if (!t->data)
		return -ENOMEM;
	err = hl_fd_read_at(fd, t->data, t->len, 0);
	if (err || memchr(t->data, '\0', t->len)) {
		free(t->data);
		t->data = NULL;
		t->len = 0;
		note_outcome(s, err ? UNREADABLE : NOT_TEXT, path);
		return 0;
	}
	t->data[t->len] = '\0';
	t->changed = s->since_ns && modified > s->since_ns;
	t->path = strdup(path);
	return t->path ? find_lines(t) : -ENOMEM;
}

/* Returns 0 or -ENOMEM; the file was found if t->path is set. */
static int try_file(struct search *s, const char *path, const char *base)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err = 0;
	struct stat st;

	if (fd < 0) {
		note_outcome(s, errno == EACCES ? UNREADABLE : MISSING, path);
		return 0;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		note_outcome(s, MISSING, path);
	else if (!is_allowed(fd, base))
		note_outcome(s, OUTSIDE, path);
	else if ((uint64_t)st.st_size > HL_SOURCE_BYTES_MAX)
		note_outcome(s, TOO_LARGE, path);
	else
		err = read_text(s, fd, &st, path);
	close(fd);
	return err;
}

/* --- where it is --- */

static int try_below(struct search *s, const char *base, const char *rest)
{
	struct hl_strbuf path = {0};
	int err;

	hl_strbuf_printf(&path, "%s/%s", base, rest);
	err = hl_strbuf_error(&path);
	if (!err)
		err = try_file(s, hl_strbuf_str(&path), base);
	hl_strbuf_fini(&path);
	return err;
}

/* The recorded path below a directory, then shorter and shorter ends of it. */
static int try_ends(struct search *s, const char *dir)
{
	const char *rest = s->file;
	int err = 0;

	while (rest && !err && !s->t->path) {
		rest += strspn(rest, "/");
		err = *rest ? try_below(s, dir, rest) : 0;
		rest = strchr(rest, '/');
	}
	return err;
}

static int try_root(struct search *s, const char *root)
{
	const char *equals = strchr(root, '=');
	struct hl_strbuf old = {0};
	size_t len;
	int err = 0;

	if (!equals)
		return try_ends(s, root);
	hl_strbuf_add(&old, root, (size_t)(equals - root));
	err = hl_strbuf_error(&old);
	len = old.len;
	while (len > 0 && hl_strbuf_str(&old)[len - 1] == '/')
		len--;
	if (!err && strncmp(s->file, hl_strbuf_str(&old), len) == 0 && s->file[len] == '/')
		err = try_below(s, equals + 1, s->file + len + 1);
	hl_strbuf_fini(&old);
	return err;
}

static int find_file(struct search *s)
{
	const struct hl_source_places *p = s->places;
	bool absolute = s->file[0] == '/';
	int err = 0;

	for (size_t i = 0; i < p->n_roots && !err && !s->t->path; i++)
		err = try_root(s, p->roots[i]);
	if (!err && !s->t->path && p->sysroot && absolute)
		err = try_below(s, p->sysroot, s->file + 1);
	if (!err && !s->t->path && !p->only_roots && absolute)
		err = try_file(s, s->file, NULL);
	return err;
}

/* --- why it is not shown --- */

static void explain(struct search *s)
{
	const char *path = hl_strbuf_str(&s->tried), *slash = strrchr(s->file, '/');
	char *to = s->t->problem;
	size_t n = sizeof(s->t->problem);
	int dir = slash && slash > s->file ? (int)(slash - s->file) : 0;

	switch (s->outcome) {
	case OUTSIDE:
		snprintf(to, n,
			"%.300s is not shown: links lead out of the directory of its "
			"sources, or it is a file of the kernel",
			path);
		return;
	case TOO_LARGE:
		snprintf(to, n, "%.300s is larger than %u MiB", path,
			(unsigned)(HL_SOURCE_BYTES_MAX >> 20));
		return;
	case NOT_TEXT:
		snprintf(to, n, "%.300s is not a text", path);
		return;
	case UNREADABLE:
		snprintf(to, n, "%.300s cannot be read", path);
		return;
	case MISSING:
		break;
	}
	if (dir > 0 && dir < 200)
		snprintf(to, n,
			"the file is not on this machine, or elsewhere: say where with "
			"--source-root %.*s=DIR, or with --source-root DIR; the source of a "
			"Debian package: apt source PACKAGE",
			dir, s->file);
	else
		snprintf(to, n,
			"the file is not on this machine, or elsewhere: say where with "
			"--source-root DIR");
}

int hl_source_text_read(struct hl_source_text *t, const struct hl_source_places *places,
	const char *file, uint64_t since_unix_ns)
{
	struct search s = {.places = places, .file = file, .since_ns = since_unix_ns, .t = t};
	int err;

	*t = (struct hl_source_text){0};
	err = find_file(&s);
	if (!err && !t->path)
		explain(&s);
	hl_strbuf_fini(&s.tried);
	return err;
}

void hl_source_text_fini(struct hl_source_text *t)
{
	free(t->path);
	free(t->data);
	hl_vec_free(&t->starts);
	*t = (struct hl_source_text){0};
}

size_t hl_source_text_n_lines(const struct hl_source_text *t)
{
	size_t n = t->starts.len;

	return n > 0 && t->starts.data[n - 1] == t->len ? n - 1 : n;
}

const char *hl_source_text_line(const struct hl_source_text *t, size_t i, size_t *len)
{
	size_t from, to;

	if (i < 1 || i > hl_source_text_n_lines(t))
		return NULL;
	from = t->starts.data[i - 1];
	to = i < t->starts.len ? t->starts.data[i] : t->len;
	while (to > from && (t->data[to - 1] == '\n' || t->data[to - 1] == '\r'))
		to--;
	*len = to - from;
	return t->data + from;
}

bool hl_source_root_is_valid(const char *root)
{
	const char *equals = strchr(root, '='), *dir = equals ? equals + 1 : root;
	struct stat st;

	return equals != root && stat(dir, &st) == 0 && S_ISDIR(st.st_mode);
}
