/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_spec.c - parses time specs; see time_spec.h.
 */
#include "model/query/time_spec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "model/views/marks.h"
#include "model/model_internal.h"

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {
	{"ns", 1},
	{"us", 1000},
	{"ms", 1000000},
	{"s", UINT64_C(1000000000)},
	{"min", UINT64_C(60000000000)},
	{"h", UINT64_C(3600000000000)},
};

/* Digits with at most one dot: the integer part and up to 18 digits after it. */
struct decimal {
	uint64_t whole, part, scale; /* the fraction is part / scale */
};

static int parse_decimal(const char *s, size_t len, struct decimal *d, size_t *used)
{
	bool dot = false, any = false;
	size_t i;

	*d = (struct decimal){.scale = 1};
	for (i = 0; i < len; i++) {
		unsigned digit = (unsigned)s[i] - '0';

		if (s[i] == '.' && !dot) {
			dot = true;
			continue;
		}
		if (digit > 9)
			break;
		any = true;
		if (!dot && (__builtin_mul_overflow(d->whole, 10, &d->whole) ||
				    __builtin_add_overflow(d->whole, digit, &d->whole)))
			return -EINVAL;
		if (dot && d->scale < UINT64_C(1000000000000000000)) {
			d->part = d->part * 10 + digit;
			d->scale *= 10;
		}
	}
	*used = i;
	return any ? 0 : -EINVAL;
}

/* No floating point: 12.3s is exactly 12300000000 ns. */
static int scale_to_ns(const struct decimal *d, uint64_t unit, uint64_t *ns)
{
	unsigned __int128 part = (unsigned __int128)d->part * unit / d->scale;

	if (__builtin_mul_overflow(d->whole, unit, ns) ||
		__builtin_add_overflow(*ns, (uint64_t)part, ns))
		return -EINVAL;
	return 0;
}

static bool equals_word(const char *s, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(s, word, len) == 0;
}

size_t hl_time_spec_quoted(const char *s, size_t len)
{
	const char *end;

	if (len < 7 || memcmp(s, "@mark:\"", 7) != 0)
		return 0;
	end = memchr(s + 7, '"', len - 7);
	return end ? (size_t)(end + 1 - s) : len;
}

static int parse_mark(const char *s, size_t len, struct hl_time_spec *when)
{
	if (len >= 2 && s[0] == '"' && s[len - 1] == '"') {
		s++;
		len -= 2;
	}
	if (len == 0 || len >= sizeof(when->mark))
		return -EINVAL;
	when->kind = HL_TIME_SPEC_MARK;
	memcpy(when->mark, s, len);
	return 0;
}

int hl_time_spec_parse(const char *s, size_t len, struct hl_time_spec *when)
{
	struct decimal d;
	size_t used;

	memset(when, 0, sizeof(*when));
	if (equals_word(s, len, "@peak") || equals_word(s, len, "@end")) {
		when->kind = s[1] == 'p' ? HL_TIME_SPEC_PEAK : HL_TIME_SPEC_END;
		return 0;
	}
	if (len > 6 && memcmp(s, "@mark:", 6) == 0)
		return parse_mark(s + 6, len - 6, when);
	if (parse_decimal(s, len, &d, &used))
		return -EINVAL;
	if (equals_word(s + used, len - used, "%")) {
		when->kind = HL_TIME_SPEC_PERCENT;
		when->percent = (double)d.whole + (double)d.part / (double)d.scale;
		return when->percent <= 100 ? 0 : -EINVAL;
	}
	/* A number without a unit is ambiguous: a user may mean seconds or not. Only 0 is the same
	 * in all units. */
	if (used == len && d.whole == 0 && d.part == 0)
		return 0;
	for (size_t i = 0; i < HL_ARRAY_LEN(units); i++) {
		if (equals_word(s + used, len - used, units[i].name))
			return scale_to_ns(&d, units[i].ns, &when->ns);
	}
	return -EINVAL;
}

int hl_time_spec_parse_range(
	const char *s, size_t len, struct hl_time_spec *from, struct hl_time_spec *to, size_t *at)
{
	size_t quoted = hl_time_spec_quoted(s, len);
	const char *dots = memmem(s + quoted, len - quoted, "..", 2);
	size_t first = dots ? (size_t)(dots - s) : 0;

	*from = (struct hl_time_spec){.kind = HL_TIME_SPEC_NS};
	*to = (struct hl_time_spec){.kind = HL_TIME_SPEC_END};
	*at = 0;
	if (!dots || (first > 0 && hl_time_spec_parse(s, first, from)))
		return -EINVAL;
	*at = first + 2;
	return *at < len ? hl_time_spec_parse(s + *at, len - *at, to) : 0;
}

const struct hl_mark *hl_time_spec_mark(const struct hl_time_spec *when, struct hl_model *m)
{
	const struct hl_mark *marks;
	size_t n;

	if (when->n_mark == 0)
		return hl_model_find_mark(m, when->mark);
	return hl_model_marks(m, &marks, &n) || when->n_mark > n ? NULL : &marks[when->n_mark - 1];
}

bool hl_time_spec_equal(const struct hl_time_spec *a, const struct hl_time_spec *b)
{
	return a->kind == b->kind && a->ns == b->ns && a->percent == b->percent &&
	       strcmp(a->mark, b->mark) == 0 && a->n_mark == b->n_mark && a->key == b->key &&
	       a->events == b->events;
}

int hl_time_spec_check_mark(const struct hl_time_spec *when, struct hl_model *m)
{
	const struct hl_mark *marks;
	size_t n;

	if (when->kind != HL_TIME_SPEC_MARK || hl_time_spec_mark(when, m))
		return 0;
	if (hl_model_marks(m, &marks, &n))
		return -ENOENT;
	snprintf(m->error, sizeof(m->error), "there is no mark \"%s\" in the recording%s%.64s%s",
		when->mark, n ? "; the first is \"" : ", nor any other", n ? marks[0].name : "",
		n ? "\"" : "");
	return -ENOENT;
}

int hl_time_spec_check(const struct hl_time_spec *when, struct hl_model *m)
{
	bool is_time = when->kind == HL_TIME_SPEC_NS || when->kind == HL_TIME_SPEC_PERCENT;
	uint64_t ns = is_time ? hl_time_spec_ns(when, m) : 0;

	if (ns > 0 && ns < hl_model_base(m)->time_ns)
		return hl_model_before_base(m, "this moment");
	return hl_time_spec_check_mark(when, m);
}

int hl_time_spec_check_blocks(const struct hl_time_spec *when, struct hl_model *m)
{
	if (hl_model_end_ns(m) < hl_model_base(m)->time_ns)
		return hl_model_lost_base(m); /* the file ends in its base */
	if (when->kind == HL_TIME_SPEC_PEAK)
		return hl_model_peak_is_before_base(m)
			       ? hl_model_before_base(m, "the peak of the run")
			       : 0;
	if (hl_time_spec_ns(when, m) < hl_model_base(m)->time_ns)
		return hl_model_before_base(m, "this moment");
	return hl_time_spec_check_mark(when, m);
}

uint64_t hl_time_spec_ns(const struct hl_time_spec *when, struct hl_model *m)
{
	uint64_t end = hl_model_end_ns(m);
	const struct hl_mark *mark;

	switch (when->kind) {
	case HL_TIME_SPEC_NS:
	case HL_TIME_SPEC_EVENT:
		return when->ns;
	case HL_TIME_SPEC_PERCENT:
		/* long double holds every uint64_t */
		return when->percent >= 100 ? end
					    : (uint64_t)((long double)end * when->percent / 100);
	case HL_TIME_SPEC_PEAK:
		return hl_model_info(m)->totals.peak_time_ns;
	case HL_TIME_SPEC_END:
		return end;
	case HL_TIME_SPEC_MARK:
		mark = hl_time_spec_mark(when, m);
		return mark ? mark->time_ns : end;
	case HL_TIME_SPEC_KEY:
		return hl_reader_keyframe(m->reader, when->key)->time_ns;
	}
	return end;
}
