/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_clock.h - the clock of the recorder, as read by the collector.
 */
#ifndef HL_RING_RING_CLOCK_H
#define HL_RING_RING_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/region_layout.h"

/*
 * A stamp of the same clock as those of the recorder. It is taken after all earlier loads and
 * stores are done.
 */
uint64_t hl_ring_now(struct hl_region *region);

/* Can the cycle counter order events of several threads on this machine? */
bool hl_ring_counter_is_sound(void);

#endif
