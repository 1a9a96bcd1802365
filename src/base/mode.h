/*
 * mode.h - how much of what happens is recorded; may change while the program runs.
 *
 * The word that says so (struct hl_region, `steer`) is written by the collector alone and read by
 * every hook: the mode, whether recording is paused, and a number that grows with each change.
 */
#ifndef HL_BASE_MODE_H
#define HL_BASE_MODE_H

#include <stdint.h>

/* Stored in traces: never renumber, only append. The words are those of `record --mode`. */
enum hl_mode {
	HL_MODE_TRACE,  /* every event */
	HL_MODE_CULL,   /* every event, but those of blocks that die young only as sums */
	HL_MODE_COUNT,  /* sums per stack, no events */
	HL_MODE_SAMPLE, /* some allocations, chosen by their bytes, and their frees */
	HL_MODE_TAGS,   /* counters in the program, nothing in the rings */
};

#define HL_MODE_IS_TAGS 4u /* the bit that no other has */
_Static_assert(HL_MODE_TAGS == HL_MODE_IS_TAGS, "the others are below it");

#define HL_MODE_WORDS "trace|cull|count|sample|tags"

#define HL_STEER_MODE   0xffu
#define HL_STEER_PAUSED (1u << 8) /* frees alone are recorded, so that what is live stays true */
/* Asked for once with each new number: what heaplapse_stop() and heaplapse_start() do. */
#define HL_STEER_STOP  (1u << 9)
#define HL_STEER_START (1u << 10)
#define HL_STEER_PART  (1u << 11) /* the mode leaves events out: ask it about each */
/* HL_MODE_SAMPLE: blocks are known that may not be in the filter yet, so every free is passed. */
#define HL_STEER_ALL_FREES (1u << 12)
#define HL_STEER_SHIFT     16 /* of the number of changes */

static inline enum hl_mode hl_steer_mode(uint32_t steer)
{
	return (enum hl_mode)(steer & HL_STEER_MODE);
}

static inline const char *hl_mode_name(unsigned mode)
{
	static const char *const names[] = {"trace", "cull", "count", "sample", "tags"};

	return mode < sizeof(names) / sizeof(*names) ? names[mode] : "unknown";
}

/* Of its word; trace for one that is not known. */
static inline uint32_t hl_mode_number(const char *name)
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

/* One sample in so many, if nobody says otherwise; and the most there can be. */
#define HL_SAMPLE_BYTES (UINT64_C(512) << 10)
#define HL_SAMPLE_MAX   (UINT64_C(1) << 32)

#endif
