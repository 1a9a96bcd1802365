/* SPDX-License-Identifier: Apache-2.0 */
/* session_row.c - see session_row.h. */
#include "trace/format/session_row.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NO_FILE "-"

/* Control characters and the backslash become \xNN. */
static void put_escaped(struct hl_strbuf *b, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c == 0x7f || c == '\\')
			hl_strbuf_printf(b, "\\x%02x", c);
		else
			hl_strbuf_putc(b, (char)c);
	}
}

void hl_session_row_put(struct hl_strbuf *b, const struct hl_session_row *row)
{
	hl_strbuf_printf(b, "%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t", row->pid, row->parent_pid,
		row->start_unix_ns);
	put_escaped(b, row->program);
	hl_strbuf_putc(b, '\t');
	put_escaped(b, row->file ? row->file : NO_FILE);
	hl_strbuf_putc(b, '\n');
}

static bool parse_number(const char *text, uint64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoull(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end && !errno;
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* In place. False: an escape that is not written by put_escaped(). */
static bool unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		int high, low;

		if (*text != '\\') {
			*to++ = *text;
			continue;
		}
		high = text[1] == 'x' ? hex_digit(text[2]) : -1;
		low = high >= 0 ? hex_digit(text[3]) : -1;
		if (low < 0 || (high == 0 && low == 0))
			return false;
		*to++ = (char)(high * 16 + low);
		text += 3;
	}
	*to = '\0';
	return true;
}

bool hl_session_row_is_file(const char *name)
{
	if (!strncmp(name, "../", 3))
		name += 3;
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

bool hl_session_row_parse(struct hl_session_row *row, char *line)
{
	char *field[5];
	size_t n = 0;

	for (char *at; n < 5 && (at = strsep(&line, "\t"));)
		field[n++] = at;
	if (n < 5 || line || !parse_number(field[0], &row->pid) || !row->pid ||
		!parse_number(field[1], &row->parent_pid) ||
		!parse_number(field[2], &row->start_unix_ns) || !unescape(field[3]) ||
		!unescape(field[4]))
		return false;
	row->program = field[3];
	row->file = strcmp(field[4], NO_FILE) != 0 ? field[4] : NULL;
	return !row->file || hl_session_row_is_file(row->file);
}
