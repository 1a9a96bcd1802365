/*
 * when.h - moments as people write them: 12.5s, 300ms, 50%, @peak, @end, or plain nanoseconds.
 */
#ifndef HL_MODEL_WHEN_H
#define HL_MODEL_WHEN_H

#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

enum hl_when_kind {
	HL_WHEN_NS,
	HL_WHEN_PERCENT, /* of the whole recording */
	HL_WHEN_PEAK,
	HL_WHEN_END,
};

struct hl_when {
	enum hl_when_kind kind;
	uint64_t ns;
	double percent;
};

/* What hl_when_parse accepts, for messages. */
#define HL_WHEN_EXPECTED "a time such as 12.5s, 300ms, 50%, @peak or @end"

/* Reads exactly len characters. 0 or -EINVAL. */
int hl_when_parse(const char *s, size_t len, struct hl_when *when);
/* In this recording, as time since its start. */
uint64_t hl_when_ns(const struct hl_when *when, const struct hl_model *m);

#endif
