/*
 * json.c - writes JSON to a stream; see json.h.
 */
#include "util/json.h"

#include <inttypes.h>
#include <string.h>

#include "util/text.h"

void hl_json_init(struct hl_json *j, FILE *out)
{
	j->out = out;
	j->comma = false;
}

/* Before any value or key. */
static void separate(struct hl_json *j)
{
	if (j->comma)
		putc(',', j->out);
	j->comma = true;
}

static void begin(struct hl_json *j, char c)
{
	separate(j);
	putc(c, j->out);
	j->comma = false;
}

static void end(struct hl_json *j, char c)
{
	putc(c, j->out);
	j->comma = true;
}

void hl_json_begin_object(struct hl_json *j)
{
	begin(j, '{');
}

void hl_json_end_object(struct hl_json *j)
{
	end(j, '}');
}

void hl_json_begin_array(struct hl_json *j)
{
	begin(j, '[');
}

void hl_json_end_array(struct hl_json *j)
{
	end(j, ']');
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
		fprintf(out, "\\u%04" PRIx32, r); /* none of them is beyond U+FFFF */
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
	separate(j);
	put_string(j->out, key);
	putc(':', j->out);
	j->comma = false;
}

void hl_json_string(struct hl_json *j, const char *s)
{
	separate(j);
	if (s)
		put_string(j->out, s);
	else
		fputs("null", j->out);
}

void hl_json_u64(struct hl_json *j, uint64_t v)
{
	separate(j);
	fprintf(j->out, "%" PRIu64, v);
}

void hl_json_i64(struct hl_json *j, int64_t v)
{
	separate(j);
	fprintf(j->out, "%" PRId64, v);
}

void hl_json_bool(struct hl_json *j, bool v)
{
	separate(j);
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

void hl_json_key_bool(struct hl_json *j, const char *key, bool v)
{
	hl_json_key(j, key);
	hl_json_bool(j, v);
}
