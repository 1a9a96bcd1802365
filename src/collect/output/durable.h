/* SPDX-License-Identifier: Apache-2.0 */
/*
 * durable.h - how many events of a region are on disk.
 */
#ifndef HL_COLLECT_OUTPUT_DURABLE_H
#define HL_COLLECT_OUTPUT_DURABLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* The number of a region's events that are on disk. Reference-counted by the region and its
 * outputs. The second thread writes it to the region at once, for a collector that takes over. It
 * uses pwrite(): a mapping would make hl_region_is_over() fail. */
struct hl_durable {
	_Atomic uint64_t events;
	_Atomic uint32_t refs;
	pthread_mutex_t lock; /* protects memfd */
	int memfd;            /* -1: not needed, or not any more */
};

/* Takes ownership of memfd. NULL: out of memory. */
struct hl_durable *hl_durable_new(int memfd, uint64_t before);
void hl_durable_drop(struct hl_durable *d);
/* The region is over: closes its memfd, even if there are other references. */
void hl_durable_close(struct hl_durable *d);

#endif
