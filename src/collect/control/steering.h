/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steering.h - changes what is recorded of a program while it runs.
 *
 * The control word that the hooks read is in the region (base/mode.h), so an image and its fork
 * children are steered together. Each change is recorded in the traces of all its targets.
 */
#ifndef HL_COLLECT_CONTROL_STEERING_H
#define HL_COLLECT_CONTROL_STEERING_H

#include "collect/drain/region.h"

/* Initializes the control word: from the settings for a new region, or from the word that a
 * previous collector has left. */
void hl_steering_begin(struct hl_region_reader *r, bool fresh);

/* Initializes the steering of a new target. */
void hl_steering_add_target(struct hl_target *p, const struct hl_target_settings *settings);
/* Returns the id of a rate; for an unknown rate, that of the newest. */
uint8_t hl_steering_rate(const struct hl_steering *s, uint64_t rate);

/* 0, -ENOSPC after too many different rates, or -EOPNOTSUPP for a mode that cannot be switched to.
 * sample_bytes: for HL_MODE_SAMPLE; 0: unchanged. */
int hl_steering_set_mode(struct hl_region_reader *r, enum hl_mode mode, uint64_t sample_bytes);
void hl_steering_pause(struct hl_region_reader *r, bool paused);
/* Like heaplapse_start() and heaplapse_stop(), at the program's next call. */
void hl_steering_start(struct hl_region_reader *r, bool on);

/* Call it after each scan. Records changes in the traces, and adds missing blocks to the sampling
 * filter. */
void hl_steering_after_scan(struct hl_region_reader *r, bool all_merged);

/* The program itself has called heaplapse_start() or heaplapse_stop(). */
void hl_steering_on_start(struct hl_target *p, bool on);
/* The stream's process has called heaplapse_pause() or heaplapse_resume() at this stamp. */
void hl_steering_on_pause(struct hl_thread_stream *f, bool paused, uint64_t stamp);

#endif
