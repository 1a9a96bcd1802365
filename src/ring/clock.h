/*
 * clock.h - the collector's reading of the recorder's clock.
 */
#ifndef HL_RING_CLOCK_H
#define HL_RING_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/layout.h"

/* A stamp as the producers make them, not taken before earlier loads and stores are done. */
uint64_t hl_ring_now(struct hl_region *region);

/* Can the cycle counter order the events of several threads on this machine? */
bool hl_ring_counter_is_sound(void);

#endif
