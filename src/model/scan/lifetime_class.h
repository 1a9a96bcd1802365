/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifetime_class.h - from lifetime classes to times.
 */
#ifndef HL_MODEL_SCAN_LIFETIME_CLASS_H
#define HL_MODEL_SCAN_LIFETIME_CLASS_H

#include "trace/event.h"

/* The shortest lifetime of a class of hl_lifetime_class. */
static inline uint64_t hl_lifetime_class_ns(uint8_t class)
{
	unsigned oct = class ? (class - 1u) / 4 : 0, quarter = class ? (class - 1u) % 4 : 0;

	if (class == 0)
		return 0;
	return (oct >= 2 ? (UINT64_C(4) + quarter) << (oct - 2)
			 : ((UINT64_C(4) + quarter) << oct) / 4) *
	       HL_TIME_UNIT_NS;
}

#endif
