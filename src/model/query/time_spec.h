/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_spec.h - time specs, which are moments as users write them: 12.5s, 300ms, 50%, @peak, @end,
 * @mark:login. A number needs a unit, except 0. The name of a mark may be in quotes: @mark:"a..b".
 */
#ifndef HL_MODEL_QUERY_TIME_SPEC_H
#define HL_MODEL_QUERY_TIME_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/views/marks.h"
#include "model/model.h"

enum hl_time_spec_kind {
	HL_TIME_SPEC_NS,
	HL_TIME_SPEC_PERCENT, /* of the whole recording */
	HL_TIME_SPEC_PEAK,
	HL_TIME_SPEC_END,
	HL_TIME_SPEC_MARK, /* the first mark or snapshot with a name */
	HL_TIME_SPEC_KEY,  /* a keyframe; has no written form */
	/* After a number of events of a chunk. Only the model makes it, see filtered_peak.h. */
	HL_TIME_SPEC_EVENT,
};

struct hl_time_spec {
	enum hl_time_spec_kind kind;
	uint64_t ns;
	double percent;
	char mark[64]; /* name of the mark */
	size_t n_mark; /* or its index among all marks, from 1; 0: by name */
	size_t key;    /* HL_TIME_SPEC_KEY: index of the keyframe; HL_TIME_SPEC_EVENT: index of the
			  chunk, and ns is the time */
	size_t events; /* for HL_TIME_SPEC_EVENT */
};

/* The forms that hl_time_spec_parse accepts, for messages. */
#define HL_TIME_SPEC_EXPECTED                                                       \
	"a time such as 12.5s (units: ns, us, ms, s, min, h), 50%, @peak, @end or " \
	"@mark:NAME"

/* If a mark with a quoted name begins at s: its length from the @ to the closing quote, or len if
 * that is missing. Else 0. */
size_t hl_time_spec_quoted(const char *s, size_t len);
/* Parses exactly len characters. Returns 0 or -EINVAL. */
int hl_time_spec_parse(const char *s, size_t len, struct hl_time_spec *when);
/* Parses "A..B"; either end may be left out. *at: the offset of an error. Returns 0 or -EINVAL. */
int hl_time_spec_parse_range(
	const char *s, size_t len, struct hl_time_spec *from, struct hl_time_spec *to, size_t *at);
/* Are both the same request? */
bool hl_time_spec_equal(const struct hl_time_spec *a, const struct hl_time_spec *b);
/* Is there such a moment in this trace? 0 is where it begins. The peak may be before the base of a
 * trace that begins late. Returns 0, or -ENOENT with hl_model_error(). */
int hl_time_spec_check(const struct hl_time_spec *when, struct hl_model *m);
/* The same, and its blocks are in the trace: not before a base. */
int hl_time_spec_check_blocks(const struct hl_time_spec *when, struct hl_model *m);
/* The same for a filter. It may be about times before a base. */
int hl_time_spec_check_mark(const struct hl_time_spec *when, struct hl_model *m);
/* The mark of HL_TIME_SPEC_MARK; NULL: none. */
const struct hl_mark *hl_time_spec_mark(const struct hl_time_spec *when, struct hl_model *m);
/* The time since the start of this recording. An unknown mark is the end. */
uint64_t hl_time_spec_ns(const struct hl_time_spec *when, struct hl_model *m);

#endif
