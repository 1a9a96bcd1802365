/* SPDX-License-Identifier: Apache-2.0 */
/* safe_text.c - makes untrusted strings safe to print; see safe_text.h. */
#include "util/safe_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_continuation(const char *s, size_t n)
{
	for (size_t i = 1; i <= n; i++) {
		if (((uint8_t)s[i] & 0xc0) != 0x80)
			return false;
	}
	return true;
}

size_t hl_rune_decode(const char *s, size_t len, uint32_t *rune)
{
	static const uint32_t min_rune[] = {0, 0x80, 0x800, 0x10000};
	uint8_t c = (uint8_t)s[0];
	size_t n_tail = c < 0x80   ? 0
			: c < 0xc2 ? 9
			: c < 0xe0 ? 1
			: c < 0xf0 ? 2
			: c < 0xf5 ? 3
				   : 9;
	uint32_t r;

	*rune = HL_RUNE_BAD;
	if (n_tail > 3 || n_tail >= len || !is_continuation(s, n_tail))
		return 1;
	r = n_tail == 0 ? c : c & (0x3fu >> n_tail);
	for (size_t i = 1; i <= n_tail; i++)
		r = r << 6 | ((uint8_t)s[i] & 0x3f);
	if (r < min_rune[n_tail] || r > 0x10ffff || (r >= 0xd800 && r < 0xe000))
		return 1;
	*rune = r;
	return n_tail + 1;
}

bool hl_rune_is_unsafe(uint32_t r)
{
	return r < 0x20 || (r >= 0x7f && r < 0xa0) || r == 0x061c || r == 0x200e || r == 0x200f ||
	       (r >= 0x2028 && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069) || r == 0xfeff;
}

static void escape_rune(struct hl_strbuf *out, uint32_t r)
{
	switch (r) {
	case '\n':
		hl_strbuf_puts(out, "\\n");
		break;
	case '\t':
		hl_strbuf_puts(out, "\\t");
		break;
	case '\r':
		hl_strbuf_puts(out, "\\r");
		break;
	default:
		hl_strbuf_printf(out, r < 0x100 ? "\\x%02" PRIx32 : "\\u{%" PRIx32 "}", r);
	}
}

void hl_text_escape(struct hl_strbuf *out, const char *s)
{
	size_t len = strlen(s);

	while (len > 0) {
		uint32_t r;
		size_t n = hl_rune_decode(s, len, &r);

		if (hl_rune_is_unsafe(r))
			escape_rune(out, r);
		else if (r == HL_RUNE_BAD)
			hl_strbuf_puts(out, "\xef\xbf\xbd");
		else
			hl_strbuf_add(out, s, n);
		s += n;
		len -= n;
	}
}

void hl_text_sanitize(struct hl_strbuf *out, const char *s)
{
	size_t len = strlen(s);

	while (len > 0) {
		uint32_t r;
		size_t n = hl_rune_decode(s, len, &r);

		if (r == HL_RUNE_BAD)
			hl_strbuf_puts(out, "\xef\xbf\xbd");
		else
			hl_strbuf_add(out, s, n);
		s += n;
		len -= n;
	}
}

char *hl_text_bytes_exact(char *buf, uint64_t bytes)
{
	return strcat(hl_text_count(buf, bytes), " B");
}

char *hl_text_bytes(char *buf, uint64_t bytes)
{
	static const char unit[] = "KMGTPE";
	double v = (double)bytes;
	int u = -1;

	if (bytes < 1024) {
		snprintf(buf, HL_TEXT_SIZE_MAX, "%" PRIu64 " B", bytes);
		return buf;
	}
	/* The limit is 1023.95, because 1023.96 would be printed as 1024.0 of the smaller unit. */
	while (v >= 1023.95 && u < 5) {
		v /= 1024;
		u++;
	}
	if (u < 0) {
		v /= 1024;
		u = 0;
	}
	snprintf(buf, HL_TEXT_SIZE_MAX, "%.1f %ciB", v, unit[u]);
	return buf;
}

char *hl_text_count(char *buf, uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n), out = 0;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			buf[out++] = ',';
		buf[out++] = digits[i];
	}
	buf[out] = 0;
	return buf;
}

char *hl_text_duration(char *buf, uint64_t ns)
{
	if (ns < 1000)
		snprintf(buf, HL_TEXT_SIZE_MAX, "%" PRIu64 " ns", ns);
	else if (ns < 1000000)
		snprintf(buf, HL_TEXT_SIZE_MAX, "%.1f us", (double)ns / 1e3);
	else if (ns < 1000000000)
		snprintf(buf, HL_TEXT_SIZE_MAX, "%.1f ms", (double)ns / 1e6);
	else
		snprintf(buf, HL_TEXT_SIZE_MAX, "%.3f s", (double)ns / 1e9);
	return buf;
}

char *hl_text_duration_up(char *buf, uint64_t ns)
{
	uint64_t unit = ns < 1000 ? 1 : ns < 1000000 ? 100 : ns < 1000000000 ? 100000 : 1000000;

	return hl_text_duration(buf, ns > UINT64_MAX - unit ? ns : (ns + unit - 1) / unit * unit);
}
