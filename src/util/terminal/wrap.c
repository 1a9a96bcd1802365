/* SPDX-License-Identifier: Apache-2.0 */
/* wrap.c - see wrap.h. */
#include "util/terminal/wrap.h"

#include <stdbool.h>
#include <string.h>

#include "util/strbuf.h"

unsigned hl_wrap_columns(const char *s, size_t len)
{
	unsigned n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return n;
}

/* Is the word a unit, which belongs to the number before it? */
static bool is_unit(const char *word, size_t len)
{
	static const char *const units[] = {
		"B", "KiB", "MiB", "GiB", "TiB", "ns", "us", "ms", "s", "min", "h", "%"};

	while (len > 0 && strchr(",;.:)", word[len - 1]))
		len--;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strlen(units[i]) == len && memcmp(units[i], word, len) == 0)
			return true;
	}
	return false;
}

/* The length of a word, with its unit if it is a number. */
static size_t word_length(const char *text)
{
	size_t len = strcspn(text, " "), next;

	if (len == 0 || text[len] != ' ' || text[len - 1] < '0' || text[len - 1] > '9')
		return len;
	next = strcspn(text + len + 1, " ");
	return is_unit(text + len + 1, next) ? len + 1 + next : len;
}

/* out is NULL: only counts the lines. */
static unsigned wrap(FILE *out, const char *text, unsigned column, unsigned indent, unsigned width)
{
	unsigned lines = 1;
	bool first = true;

	while (*(text += strspn(text, " ")) != 0) {
		size_t len = word_length(text);
		unsigned columns = hl_wrap_columns(text, len);

		if (!first && width && column + 1 + columns > width) {
			if (out)
				fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
			lines++;
		} else if (!first) {
			if (out)
				putc(' ', out);
			column++;
		}
		if (out)
			fwrite(text, 1, len, out);
		column += columns;
		text += len;
		first = false;
	}
	if (out)
		putc('\n', out);
	return lines;
}

void hl_wrap(FILE *out, const char *text, unsigned column, unsigned indent, unsigned width)
{
	wrap(out, text, column, indent, width);
}

unsigned hl_wrap_lines(const char *text, unsigned column, unsigned indent, unsigned width)
{
	return wrap(NULL, text, column, indent, width);
}

static void put_joined(FILE *out, struct hl_strbuf *joined, unsigned indent, unsigned width)
{
	if (joined->len > 0) {
		fprintf(out, "%*s", (int)indent, "");
		hl_wrap(out, hl_strbuf_str(joined), indent, indent, width);
	}
	hl_strbuf_reset(joined);
}

void hl_wrap_paragraphs(FILE *out, const char *text, unsigned indent, unsigned width)
{
	struct hl_strbuf joined = {0};

	while (*text) {
		size_t len = strcspn(text, "\n");

		if (len == 0 || *text == ' ') {
			put_joined(out, &joined, indent, width);
			fprintf(out, "%*s%.*s\n", len ? (int)indent : 0, "", (int)len, text);
		} else {
			if (joined.len > 0)
				hl_strbuf_putc(&joined, ' ');
			hl_strbuf_add(&joined, text, len);
		}
		text += len + (text[len] == '\n');
	}
	put_joined(out, &joined, indent, width);
	hl_strbuf_fini(&joined);
}
