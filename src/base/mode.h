/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mode.h - recording modes and the control word. Both may change while the program runs.
 *
 * The control word (`control` in struct hl_region) has the mode, flags, and a counter that grows
 * with each change. Only the collector writes it; every hook reads it.
 */
#ifndef HL_BASE_MODE_H
#define HL_BASE_MODE_H

#include <stdint.h>

/* Stored in traces: never renumber, only append. The names are those of `record --mode`. */
enum hl_mode {
	HL_MODE_TRACE,  /* every event */
	HL_MODE_CULL,   /* every event, but short-lived blocks only as sums */
	HL_MODE_COUNT,  /* sums per stack, no events */
	HL_MODE_SAMPLE, /* some allocations, chosen by bytes, and the frees of these */
	HL_MODE_TAGS,   /* counters in the program, no events in the rings */
};

#define HL_MODE_IS_TAGS 4u /* the bit that no other mode has */
_Static_assert(HL_MODE_TAGS == HL_MODE_IS_TAGS, "the others are below it");

#define HL_MODE_WORDS "trace|cull|count|sample|tags"

#define HL_CONTROL_MODE   0xffu
#define HL_CONTROL_PAUSED (1u << 8) /* only frees are recorded, to keep the live set correct */
/* Requests, made once with each new counter value: as heaplapse_stop() and heaplapse_start(). */
#define HL_CONTROL_STOP    (1u << 9)
#define HL_CONTROL_START   (1u << 10)
#define HL_CONTROL_PARTIAL (1u << 11) /* not every event is recorded: hooks check each */
/*
 * HL_MODE_SAMPLE: the collector knows blocks that may not be in the sampling filter yet, so hooks
 * record every free.
 */
#define HL_CONTROL_ALL_FREES (1u << 12)
#define HL_CONTROL_SHIFT     16 /* of the counter of changes */

static inline enum hl_mode hl_control_mode(uint32_t control)
{
	return (enum hl_mode)(control & HL_CONTROL_MODE);
}

static inline const char *hl_mode_name(unsigned mode)
{
	static const char *const names[] = {"trace", "cull", "count", "sample", "tags"};

	return mode < sizeof(names) / sizeof(*names) ? names[mode] : "unknown";
}

/* The mode with this name; HL_MODE_TRACE if the name is unknown. */
static inline uint32_t hl_mode_from_name(const char *name)
{
	for (uint32_t i = 0; i <= HL_MODE_TAGS; i++) {
		const char *a = hl_mode_name(i), *b = name;

		while (*a && *a == *b)
			a++, b++;
		if (!*a && !*b)
			return i;
	}
	return HL_MODE_TRACE;
}

/* HL_MODE_SAMPLE: mean number of bytes per sample; the default and the maximum. */
#define HL_SAMPLE_BYTES (UINT64_C(512) << 10)
#define HL_SAMPLE_MAX   (UINT64_C(1) << 32)

#endif
