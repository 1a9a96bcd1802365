/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_writer.c - writes JSON to a stream; see json_writer.h.
 */
#include "util/json_writer.h"

#include <inttypes.h>
#include <string.h>

#include "util/safe_text.h"

void hl_json_init(struct hl_json *j, FILE *out)
{
	j->out = out;
	j->comma = false;
}

/* Called before each key and each value. */
static void put_comma(struct hl_json *j)
{
	if (j->comma)
		putc(',', j->out);
	j->comma = true;
}

static void begin_container(struct hl_json *j, char c)
{
	put_comma(j);
	putc(c, j->out);
	j->comma = false;
}

static void end_container(struct hl_json *j, char c)
{
	putc(c, j->out);
	j->comma = true;
}

void hl_json_begin_object(struct hl_json *j)
{
	begin_container(j, '{');
}

void hl_json_end_object(struct hl_json *j)
{
	end_container(j, '}');
}

void hl_json_begin_array(struct hl_json *j)
{
	begin_container(j, '[');
}

void hl_json_end_array(struct hl_json *j)
{
	end_container(j, ']');
}

static void put_rune(FILE *out, const char *s, size_t n, uint32_t r)
{
	if (r == '"' || r == '\\')
		fprintf(out, "\\%c", (int)r);
	else if (r == '\n')
		fputs("\\n", out);
	else if (r == '\t')
		fputs("\\t", out);
	else if (r == HL_RUNE_BAD)
		fputs("\xef\xbf\xbd", out);
	else if (hl_rune_is_unsafe(r))
		fprintf(out, "\\u%04" PRIx32, r); /* all of them are below U+10000 */
	else
		fwrite(s, 1, n, out);
}

static void put_string(FILE *out, const char *s)
{
	size_t len = strlen(s);

	putc('"', out);
	while (len > 0) {
		uint32_t r;
		size_t n = hl_rune_decode(s, len, &r);

		put_rune(out, s, n, r);
		s += n;
		len -= n;
	}
	putc('"', out);
}

void hl_json_key(struct hl_json *j, const char *key)
{
	put_comma(j);
	put_string(j->out, key);
	putc(':', j->out);
	j->comma = false;
}

void hl_json_string(struct hl_json *j, const char *s)
{
	put_comma(j);
	if (s)
		put_string(j->out, s);
	else
		fputs("null", j->out);
}

void hl_json_u64(struct hl_json *j, uint64_t v)
{
	put_comma(j);
	fprintf(j->out, "%" PRIu64, v);
}

void hl_json_i64(struct hl_json *j, int64_t v)
{
	put_comma(j);
	fprintf(j->out, "%" PRId64, v);
}

void hl_json_bool(struct hl_json *j, bool v)
{
	put_comma(j);
	fputs(v ? "true" : "false", j->out);
}

void hl_json_key_string(struct hl_json *j, const char *key, const char *s)
{
	hl_json_key(j, key);
	hl_json_string(j, s);
}

void hl_json_key_u64(struct hl_json *j, const char *key, uint64_t v)
{
	hl_json_key(j, key);
	hl_json_u64(j, v);
}

void hl_json_key_u64_or_null(struct hl_json *j, const char *key, uint64_t v)
{
	if (v == UINT64_MAX)
		hl_json_key_string(j, key, NULL);
	else
		hl_json_key_u64(j, key, v);
}

void hl_json_key_bool(struct hl_json *j, const char *key, bool v)
{
	hl_json_key(j, key);
	hl_json_bool(j, v);
}

void hl_json_key_percent(struct hl_json *j, const char *key, double percent)
{
	hl_json_key(j, key);
	put_comma(j);
	fprintf(j->out, "%.1f", percent);
}
