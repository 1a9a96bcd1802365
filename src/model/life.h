/*
 * life.h - lifetime classes back to times.
 */
#ifndef HL_MODEL_LIFE_H
#define HL_MODEL_LIFE_H

#include "trace/event.h"

/* The shortest lifetime of a class of hl_life_class. */
static inline uint64_t hl_life_class_ns(uint8_t class)
{
	unsigned oct = class ? (class - 1u) / 4 : 0, quarter = class ? (class - 1u) % 4 : 0;

	if (class == 0)
		return 0;
	return (oct >= 2 ? (UINT64_C(4) + quarter) << (oct - 2)
			 : ((UINT64_C(4) + quarter) << oct) / 4) *
	       HL_TIME_UNIT_NS;
}

#endif
