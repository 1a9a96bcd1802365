/* SPDX-License-Identifier: Apache-2.0 */
/* text_sink.c - see text_sink.h. */
#include "tags/text_sink.h"

#include <string.h>

#include "base/fmt.h"

void hl_text_sink_add(struct hl_text_sink *s, const char *text, size_t len)
{
	s->total += len;
	while (len > 0 && !s->err) {
		size_t n = s->cap - s->len;

		if (n == 0) {
			if (!s->flush)
				return;
			s->err = s->flush(s);
			s->len = 0;
			continue;
		}
		n = n < len ? n : len;
		memcpy(s->buf + s->len, text, n);
		s->len += n;
		text += n;
		len -= n;
	}
}

void hl_text_sink_puts(struct hl_text_sink *s, const char *text)
{
	hl_text_sink_add(s, text, strlen(text));
}

void hl_text_sink_u64(struct hl_text_sink *s, uint64_t n)
{
	char digits[24];

	hl_text_sink_add(s, digits, hl_fmt_u64(digits, n));
}

static size_t format_i64(char *to, int64_t n)
{
	size_t sign = n < 0;

	to[0] = '-';
	return sign + hl_fmt_u64(to + sign, n < 0 ? -(uint64_t)n : (uint64_t)n);
}

void hl_text_sink_i64(struct hl_text_sink *s, int64_t n)
{
	char digits[24];

	hl_text_sink_add(s, digits, format_i64(digits, n));
}

void hl_text_sink_hundredths(struct hl_text_sink *s, uint64_t n)
{
	char rest[3] = {'.', (char)('0' + n / 10 % 10), (char)('0' + n % 10)};

	hl_text_sink_u64(s, n / 100);
	hl_text_sink_add(s, rest, sizeof(rest));
}

static void add_right(struct hl_text_sink *s, const char *text, size_t len, size_t width)
{
	for (; width > len; width--)
		hl_text_sink_add(s, " ", 1);
	hl_text_sink_add(s, text, len);
}

void hl_text_sink_i64_right(struct hl_text_sink *s, int64_t n, size_t width)
{
	char digits[24];

	add_right(s, digits, format_i64(digits, n), width);
}

void hl_text_sink_bytes(struct hl_text_sink *s, int64_t bytes, size_t width)
{
	static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
	uint64_t n = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes, tenths = 0;
	char text[40];
	size_t len, unit = 0;

	for (; n >= 1024 && unit < 6; unit++) {
		tenths = n % 1024 * 10 / 1024;
		n /= 1024;
	}
	len = format_i64(text, bytes < 0 ? -(int64_t)n : (int64_t)n);
	if (bytes < 0 && n == 0) /* cannot happen: below 1024 the number is exact */
		len = format_i64(text, 0);
	if (unit > 0) {
		text[len++] = '.';
		text[len++] = (char)('0' + tenths);
	}
	memcpy(text + len, units[unit], strlen(units[unit]));
	add_right(s, text, len + strlen(units[unit]), width);
}

/* The length of the UTF-8 character here; 0: it is invalid. */
static size_t utf8_len(const unsigned char *s, size_t left)
{
	size_t n = s[0] < 0x80   ? 1
		   : s[0] < 0xc2 ? 0
		   : s[0] < 0xe0 ? 2
		   : s[0] < 0xf0 ? 3
		   : s[0] < 0xf5 ? 4
				 : 0;

	if (n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
		(s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* C1 controls, and characters that end lines or change the direction of writing. */
static bool is_unsafe(const unsigned char *s, size_t n)
{
	if (n == 2)
		return s[0] == 0xc2 && s[1] < 0xa0;
	return n == 3 && s[0] == 0xe2 &&
	       ((s[1] == 0x80 && s[2] >= 0x8e && s[2] <= 0xae) ||
		       (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9));
}

static void add_control(struct hl_text_sink *s, enum hl_text_sink_quote how, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char code[8] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
	char mark[8] = {'\\', '\\', 'x', hex[c >> 4], hex[c & 15]};

	if (how == HL_QUOTE_JSON)
		hl_text_sink_add(s, code, 6);
	else /* in DOT a backslash is doubled */
		hl_text_sink_add(s, mark + (how == HL_QUOTE_TEXT), how == HL_QUOTE_TEXT ? 4 : 5);
}

void hl_text_sink_quoted(
	struct hl_text_sink *s, enum hl_text_sink_quote how, const char *text, size_t len)
{
	const unsigned char *at = (const unsigned char *)text;

	while (len > 0) {
		size_t n = utf8_len(at, len);

		if (n == 0 || (n > 1 && is_unsafe(at, n))) {
			hl_text_sink_puts(s, "\xef\xbf\xbd");
			n = n ? n : 1;
		} else if (*at < 0x20 || *at == 0x7f) {
			add_control(s, how, *at);
		} else {
			if (how != HL_QUOTE_TEXT && (*at == '"' || *at == '\\'))
				hl_text_sink_add(s, "\\", 1);
			hl_text_sink_add(s, (const char *)at, n);
		}
		at += n;
		len -= n;
	}
}

int hl_text_sink_end(struct hl_text_sink *s)
{
	if (!s->err && s->flush && s->len > 0)
		s->err = s->flush(s);
	return s->err;
}
