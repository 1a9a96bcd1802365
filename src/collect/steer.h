/*
 * steer.h - how much of a program is recorded, changed while it runs.
 *
 * The word that its hooks read lies in the region (base/mode.h), so an image and what it forked are
 * steered together. Each change is told in the trace of each of its processes.
 */
#ifndef HL_COLLECT_STEER_H
#define HL_COLLECT_STEER_H

#include "collect/region.h"

/* A new region's, from the settings; or the word that a collector before us has left. */
void hl_steer_begin(struct hl_region_reader *r, bool fresh);

/* A process begins under it. */
void hl_steer_meet(struct hl_proc *p, const struct hl_proc_birth *birth);
/* The number of a rate; of one that we never asked for, that of the newest. */
uint8_t hl_steer_rate(const struct hl_steering *s, uint64_t rate);

/* 0, -ENOSPC after too many different rates, or -EOPNOTSUPP for a mode that cannot be switched to.
 * sample_bytes: HL_MODE_SAMPLE's. */
int hl_steer_set_mode(struct hl_region_reader *r, enum hl_mode mode, uint64_t sample_bytes);
void hl_steer_pause(struct hl_region_reader *r, bool paused);
/* As heaplapse_start() and heaplapse_stop(), at the program's next call. */
void hl_steer_start(struct hl_region_reader *r, bool on);

/* After each scan: changes are told, and blocks that the filter lacks are put there. */
void hl_steer_scanned(struct hl_region_reader *r, bool all_merged);

/* The program itself has begun or stopped to record. */
void hl_steer_note_start(struct hl_proc *p, bool on);
/* heaplapse_pause() and heaplapse_resume(), of the feed's process at this stamp. */
void hl_steer_note_pause(struct hl_feed *f, bool paused, uint64_t stamp);

#endif
