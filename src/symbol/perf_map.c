/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_map.c - names of code that a JIT generated, from the file that it writes for perf.
 *
 * The file has lines of "START SIZE NAME" with hexadecimal numbers. Any user can write to /tmp, so
 * the file must belong to us or to root. It must not be older than the recording; an older one is
 * of another process that had the same pid. A JIT may write several entries for one address: of
 * entries with the same start the last counts.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/perf_map_internal.h"

#define FILE_MAX     (UINT64_C(256) << 20)
#define LINES_MAX    4000000
#define NAME_LEN_MAX 1024

void hl_perf_map_fini(struct hl_perf_map *m)
{
	hl_spans_fini(&m->spans);
	free(m->text);
	memset(m, 0, sizeof(*m));
}

/* Parses a hexadecimal number and the space behind it; false if there is none. */
static bool parse_hex(char **at, uint64_t *v)
{
	size_t digits = strspn(*at, "0123456789abcdefABCDEF");

	if (digits == 1 && (*at)[0] == '0' && ((*at)[1] == 'x' || (*at)[1] == 'X')) {
		*at += 2;
		digits = strspn(*at, "0123456789abcdefABCDEF");
	}
	if (digits == 0 || digits > 16 || (*at)[digits] != ' ')
		return false;
	*v = strtoull(*at, NULL, 16);
	*at += digits + 1;
	return true;
}

static int add_line(struct hl_perf_map *m, char *line, uint32_t i)
{
	uint64_t start, size;
	char *name = line;

	if (!parse_hex(&name, &start) || !parse_hex(&name, &size) || !*name || size == 0 ||
		size > UINT64_MAX - start)
		return 0;
	if (strlen(name) > NAME_LEN_MAX)
		name[NAME_LEN_MAX] = 0;
	return hl_spans_add(&m->spans, start, start + size, i, (uint64_t)(uintptr_t)name);
}

int hl_perf_map_parse(struct hl_perf_map *m, char *text, size_t len)
{
	uint32_t i = 0;
	int err = 0;

	m->text = text;
	text[len] = 0;
	for (char *line = text; line < text + len && i < LINES_MAX && !err; i++) {
		size_t n = strcspn(line, "\r\n");

		/* A NUL ends a line too: it cannot be part of a name. */
		line[n] = 0;
		err = add_line(m, line, i);
		line += n + 1;
	}
	hl_spans_sort(&m->spans);
	return err;
}

/* Reads the file into memory with room for one more byte. The caller frees *text. */
static int read_map_file(const char *path, uint64_t since_ns, char **text, size_t *len)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	ssize_t n = 1;
	size_t size;

	if (fd < 0)
		return -ENOENT;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
		(st.st_uid != geteuid() && st.st_uid != 0) ||
		(uint64_t)st.st_mtime < since_ns / 1000000000) {
		close(fd);
		return -ENOENT;
	}
	size = (uint64_t)st.st_size < FILE_MAX ? (size_t)st.st_size : (size_t)FILE_MAX;
	*text = malloc(size + 1);
	*len = 0;
	while (*text && *len < size && n > 0) {
		n = read(fd, *text + *len, size - *len);
		*len += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	return *text ? 0 : -ENOMEM;
}

int hl_perf_map_load(struct hl_perf_map *m, const char *root, uint64_t pid, uint64_t since_ns)
{
	struct hl_strbuf path = {0};
	char *text = NULL;
	size_t len;
	int err;

	hl_strbuf_printf(&path, "%s/tmp/perf-%" PRIu64 ".map", root ? root : "", pid);
	err = hl_strbuf_error(&path);
	if (!err)
		err = read_map_file(hl_strbuf_str(&path), since_ns, &text, &len);
	hl_strbuf_fini(&path);
	return err ? err : hl_perf_map_parse(m, text, len);
}

const char *hl_perf_map_name(const struct hl_perf_map *m, uint64_t addr)
{
	const struct hl_span *span = hl_spans_find(&m->spans, addr);

	return span ? (const char *)(uintptr_t)span->payload : NULL;
}
