/*
 * when.h - moments as people write them: 12.5s, 300ms, 50%, @peak, @end, @mark:login. A number has
 * its unit; 0 needs none. A mark's name may stand in quotes: @mark:"a..b".
 */
#ifndef HL_MODEL_WHEN_H
#define HL_MODEL_WHEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/marks.h"
#include "model/model.h"

enum hl_when_kind {
	HL_WHEN_NS,
	HL_WHEN_PERCENT, /* of the whole recording */
	HL_WHEN_PEAK,
	HL_WHEN_END,
	HL_WHEN_MARK, /* the first mark or snapshot of a name */
	HL_WHEN_KEY,  /* a keyframe; nobody writes it */
	/* Behind so many events of a chunk; only the model makes it: see curve.h. */
	HL_WHEN_EVENT,
};

struct hl_when {
	enum hl_when_kind kind;
	uint64_t ns;
	double percent;
	char mark[64]; /* its name */
	size_t n_mark; /* or its number among all marks, from 1; 0: by name */
	size_t key;    /* of HL_WHEN_KEY, from 0; of HL_WHEN_EVENT the chunk, and ns is its time */
	size_t events; /* of HL_WHEN_EVENT */
};

/* What hl_when_parse accepts, for messages. */
#define HL_WHEN_EXPECTED                                                            \
	"a time such as 12.5s (units: ns, us, ms, s, min, h), 50%, @peak, @end or " \
	"@mark:NAME"

/* How long a quoted name of a mark at s is, from its @ to its end, or len if that is missing; 0:
 * there is none. */
size_t hl_when_quoted(const char *s, size_t len);
/* Reads exactly len characters. 0 or -EINVAL. */
int hl_when_parse(const char *s, size_t len, struct hl_when *when);
/* "A..B", either end of which may be left out. *at: where an error is. 0 or -EINVAL. */
int hl_when_parse_range(
	const char *s, size_t len, struct hl_when *from, struct hl_when *to, size_t *at);
/* Was the same asked for? */
bool hl_when_same(const struct hl_when *a, const struct hl_when *b);
/* Is there such a moment in this recording? 0, or -ENOENT with hl_model_error(). */
int hl_when_check(const struct hl_when *when, struct hl_model *m);
/* The mark of HL_WHEN_MARK; NULL: none. */
const struct hl_mark *hl_when_mark(const struct hl_when *when, struct hl_model *m);
/* In this recording, as time since its start. An unknown mark is the end. */
uint64_t hl_when_ns(const struct hl_when *when, struct hl_model *m);

#endif
