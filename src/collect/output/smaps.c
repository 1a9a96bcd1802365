/* SPDX-License-Identifier: Apache-2.0 */
/* smaps.c - see smaps.h. */
#include "collect/output/smaps.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/bits.h"

#define READ_BYTES 65536u
/* A path may have PATH_MAX bytes, all of them newlines, of which each takes four. */
#define LINE_MAX_BYTES 20000u
#define PAGE           4096u

/* The lines of a mapping that are used. */
static const struct {
	const char *key;
	enum hl_map_amount amount;
} amounts[] = {
	{"Shared_Clean:", HL_MAP_SHARED_CLEAN},
	{"Shared_Dirty:", HL_MAP_SHARED_DIRTY},
	{"Private_Clean:", HL_MAP_PRIVATE_CLEAN},
	{"Private_Dirty:", HL_MAP_PRIVATE_DIRTY},
	{"Anonymous:", HL_MAP_ANONYMOUS},
	{"Swap:", HL_MAP_SWAP},
};

void hl_smaps_fini(struct hl_smaps *s)
{
	hl_vec_free(&s->maps);
	hl_vec_free(&s->names);
	hl_vec_free(&s->names_at);
	hl_vec_free(&s->line);
}

void hl_smaps_begin(struct hl_smaps *s)
{
	s->maps.len = s->names.len = s->names_at.len = s->line.len = 0;
	s->skips = s->in_mapping = false;
}

/* ---- a line ---- */

static bool read_hex(const char **at, uint64_t *value)
{
	const char *p = *at;
	unsigned digit;

	for (*value = 0; p - *at < 16; p++) {
		if (*p >= '0' && *p <= '9')
			digit = (unsigned)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			digit = (unsigned)(*p - 'a') + 10;
		else
			break;
		*value = *value << 4 | digit;
	}
	if (p == *at)
		return false;
	*at = p;
	return true;
}

static bool skip_char(const char **at, char c)
{
	bool is = **at == c;

	*at += is;
	return is;
}

/* Skips a field that is not used, and the space behind it. */
static bool skip_field(const char **at)
{
	size_t n = strcspn(*at, " ");

	*at += n;
	return n > 0;
}

static bool read_perms(const char **at, uint8_t *perms)
{
	const char *p = *at;

	if (strnlen(p, 5) < 5 || p[4] != ' ')
		return false;
	*perms = (uint8_t)((p[0] == 'r' ? HL_MAP_READ : 0) | (p[1] == 'w' ? HL_MAP_WRITE : 0) |
			   (p[2] == 'x' ? HL_MAP_EXECUTE : 0) |
			   (p[3] == 's' || p[3] == 'S' ? HL_MAP_SHARED : 0));
	*at = p + 5;
	return true;
}

/* "START-END PERMS OFFSET DEVICE INODE      NAME". False: it is no such line. */
static bool parse_mapping(const char *line, struct hl_map_entry *m, const char **name)
{
	const char *p = line;

	*m = (struct hl_map_entry){0};
	if (!read_hex(&p, &m->start) || !skip_char(&p, '-') || !read_hex(&p, &m->end) ||
		!skip_char(&p, ' ') || !read_perms(&p, &m->perms) || !read_hex(&p, &m->offset) ||
		!skip_char(&p, ' ') || !skip_field(&p) || !skip_char(&p, ' ') || !skip_field(&p))
		return false;
	*name = p + strspn(p, " ");
	return true;
}

static bool is_valid(const struct hl_map_entry *m)
{
	return m->start < m->end && m->start % PAGE == 0 && m->end % PAGE == 0 &&
	       m->offset % PAGE == 0;
}

static int add_mapping(struct hl_smaps *s, const struct hl_map_entry *m, const char *name)
{
	size_t n = hl_min_u64(strlen(name), HL_MAP_NAME_MAX), at;

	while (s->maps.len && s->maps.data[s->maps.len - 1].end > m->start) {
		s->maps.len--;
		s->names_at.len--;
	}
	if (s->maps.len >= HL_MAPS_MAX)
		return -E2BIG;
	at = s->names.len;
	if (hl_vec_reserve(&s->names, at + n + 1) || hl_vec_push(&s->maps, *m) ||
		hl_vec_push(&s->names_at, at))
		return -ENOMEM;
	memcpy(s->names.data + at, name, n);
	s->names.data[at + n] = '\0';
	s->names.len += n + 1;
	return 0;
}

static void parse_amount(struct hl_map_entry *m, const char *line)
{
	for (size_t i = 0; i < HL_ARRAY_LEN(amounts); i++) {
		size_t n = strlen(amounts[i].key);
		unsigned long long kib;

		if (strncmp(line, amounts[i].key, n) != 0)
			continue;
		kib = strtoull(line + n, NULL, 10);
		m->kib[amounts[i].amount] = hl_min_u64(kib, (UINT64_C(1) << 47) - 1);
		return;
	}
}

/* Parses a line without its newline. A NUL, which no line has, ends it. */
static int parse_line(struct hl_smaps *s, const char *line)
{
	struct hl_map_entry m;
	const char *name;

	if (parse_mapping(line, &m, &name)) {
		s->in_mapping = is_valid(&m);
		return s->in_mapping ? add_mapping(s, &m, name) : 0;
	}
	if (s->in_mapping)
		parse_amount(&s->maps.data[s->maps.len - 1], line);
	return 0;
}

/* ---- the text ---- */

/* Adds the piece of a line. A line that is too long is skipped. */
static int add_to_line(struct hl_smaps *s, const char *text, size_t n)
{
	if (s->skips || s->line.len + n > LINE_MAX_BYTES) {
		s->skips = true;
		return 0;
	}
	if (hl_vec_reserve(&s->line, s->line.len + n + 1))
		return -ENOMEM;
	memcpy(s->line.data + s->line.len, text, n);
	s->line.len += n;
	s->line.data[s->line.len] = '\0';
	return 0;
}

int hl_smaps_feed(struct hl_smaps *s, const char *text, size_t n)
{
	int err = 0;

	while (n > 0 && !err) {
		const char *newline = memchr(text, '\n', n);
		size_t piece = newline ? (size_t)(newline - text) : n;

		err = add_to_line(s, text, piece);
		if (err || !newline)
			break;
		if (!s->skips)
			err = parse_line(s, s->line.data);
		else
			s->in_mapping = false; /* it may have been the first line of one */
		s->line.len = 0;
		s->skips = false;
		text += piece + 1;
		n -= piece + 1;
	}
	return err;
}

void hl_smaps_end(struct hl_smaps *s)
{
	for (size_t i = 0; i < s->maps.len; i++)
		s->maps.data[i].name = s->names.data + s->names_at.data[i];
}

/* An empty file is that of a process without memory: it has ended or called exec. If that happens
 * while the file is read, the text just ends. */
static int check_alive(int fd)
{
	char byte;
	ssize_t got = pread(fd, &byte, 1, 0);

	return got < 0 ? -errno : got == 0 ? -ESRCH : 0;
}

int hl_smaps_read(struct hl_smaps *s, int fd)
{
	char buf[READ_BYTES];
	ssize_t got = 0;
	int err = 0;

	hl_smaps_begin(s);
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	while (!err && (got = read(fd, buf, sizeof(buf))) > 0)
		err = hl_smaps_feed(s, buf, (size_t)got);
	if (!err && got < 0)
		err = -errno;
	if (!err)
		err = check_alive(fd);
	if (!err)
		hl_smaps_end(s);
	return err;
}
