/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_sampler.h - samples the mappings of processes in a thread of its own.
 *
 * To read /proc/PID/smaps takes from a tenth of a millisecond to seconds: the kernel looks at every
 * page. So neither the first nor the second thread does it. The thread starts with the first
 * process that is sampled. A process is sampled once a second, and more often in its first seconds.
 * After a sample that took the CPU for t, no process is sampled for HL_MAP_REST * t: the thread
 * takes at most 0.5 % of a CPU, however large and however many the processes are.
 *
 * A source is a process. The functions below are called by one thread; they never wait for a
 * sample.
 */
#ifndef HL_COLLECT_OUTPUT_MAP_SAMPLER_H
#define HL_COLLECT_OUTPUT_MAP_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/write/map_encoder.h"

#define HL_MAP_INTERVAL_NS UINT64_C(1000000000)
#define HL_MAP_FIRST_NS    UINT64_C(50000000) /* the interval at first */
#define HL_MAP_AGE_SHARE   4u /* then a quarter of the time since the first sample */
#define HL_MAP_REST        200u
/* A process that exits is sampled a last time if its last sample took no more of the CPU. */
#define HL_MAP_LAST_NS UINT64_C(20000000)

struct hl_map_sampler;
struct hl_map_source;

/* NULL: out of memory, or no thread can be started. */
struct hl_map_sampler *hl_map_sampler_start(void);
/* Waits for the end of a sample that is being taken. Sources that were not removed are freed. */
void hl_map_sampler_stop(struct hl_map_sampler *s);

/* Adds a process. Its first sample is full and is taken soon. start_mono_ns: time zero of the
 * samples. NULL: out of memory. */
struct hl_map_source *hl_map_sampler_add(
	struct hl_map_sampler *s, uint64_t pid, uint64_t start_mono_ns);
/* Removes and frees it. */
void hl_map_source_remove(struct hl_map_source *m);
/* True if there is a new sample: *parts belongs to the caller. Until it is taken, there is no
 * further one. */
bool hl_map_source_take(struct hl_map_source *m, struct hl_map_parts *parts);
/* Requests a last sample, at once. Returns true when it was taken by hl_map_source_take(), or
 * will not come. */
bool hl_map_source_finish(struct hl_map_source *m);
/* Why the last sample could not be taken: -errno; 0: it could. */
int hl_map_source_error(struct hl_map_source *m);

/* The rule of the intervals: the time of CLOCK_MONOTONIC when a process is sampled next, after a
 * sample that began and ended at these times. Sets *rest_until, before which no process is. */
uint64_t hl_map_next_due(uint64_t age_ns, uint64_t began_ns, uint64_t ended_ns, uint64_t cpu_ns,
	uint64_t *rest_until);

#endif
