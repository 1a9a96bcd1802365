/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steering.c - see steering.h.
 *
 * Switching to mode sample: the recorder records every free until all blocks in the live table are
 * in the sampling filter. An allocation that was recorded before the program saw the change may not
 * have been read yet. So the filter is filled after a scan that began after the change and a
 * barrier on all CPUs. Allocations that this scan cannot see are added to the filter by the program
 * itself (record/emit/sampling.h).
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hash.h"
#include "collect/match/match.h"
#include "collect/control/steering.h"
#include "ring/sample_filter.h"

/* Without a barrier: this many scans. */
#define SCANS_BEFORE_FILL 3u
/* The largest change id that fits into the control word. 0 is not used: it means that no request
 * was seen. */
#define CHANGE_ID_MAX ((1u << (32 - HL_CONTROL_SHIFT)) - 1)

static uint32_t control_word(const struct hl_steering *s)
{
	uint32_t word = (uint32_t)s->mode | s->change_id << HL_CONTROL_SHIFT;

	if (s->paused)
		word |= HL_CONTROL_PAUSED;
	if (s->request)
		word |= s->request;
	if (s->mode == HL_MODE_SAMPLE || s->mode == HL_MODE_TAGS)
		word |= HL_CONTROL_PARTIAL;
	if (s->scans_until_fill)
		word |= HL_CONTROL_ALL_FREES;
	return word;
}

static void publish_word(struct hl_region_reader *r)
{
	atomic_store(&r->region->control, control_word(&r->steering));
	if (atomic_load(&r->region->registered))
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0);
}

/* From here on, frees of unrecorded blocks are possible. */
static void note_gaps(struct hl_region_reader *r)
{
	const struct hl_steering *s = &r->steering;

	r->steering.gaps |= s->paused || s->mode == HL_MODE_SAMPLE || s->mode == HL_MODE_TAGS;
	for (size_t i = 0; s->gaps && i < r->targets.len; i++)
		r->targets.data[i]->control.gaps = true;
}

static void publish_change(struct hl_region_reader *r)
{
	r->steering.change_id = r->steering.change_id % CHANGE_ID_MAX + 1;
	note_gaps(r);
	publish_word(r);
}

uint8_t hl_steering_rate(const struct hl_steering *s, uint64_t rate)
{
	uint8_t i = 1;

	while (i < HL_LIVE_RATES && s->rates[i + 1] && s->rates[i] != rate)
		i++;
	return i;
}

static int add_rate(struct hl_steering *s, uint64_t rate)
{
	uint8_t i = hl_steering_rate(s, rate);

	if (s->rates[i] == rate)
		return 0;
	if (s->rates[i])
		i++;
	if (i > HL_LIVE_RATES)
		return -ENOSPC;
	s->rates[i] = rate;
	return 0;
}

void hl_steering_add_target(struct hl_target *p, const struct hl_target_settings *b)
{
	const struct hl_steering *s = b->steering;

	p->control.steering = s;
	p->control.filter = b->filter;
	p->control.stopped = b->start_off;
	if (!s)
		return;
	p->control.gaps = s->gaps;
	p->control.announced_mode = (uint64_t)s->mode; /* META has it */
	p->control.announced_rate = s->mode == HL_MODE_SAMPLE ? s->sample_bytes : 0;
	p->control.salt = hl_hash_pair(atomic_load(&b->filter->sample_seed)
					       ? atomic_load(&b->filter->sample_seed)
					       : hl_mono_ns(),
		p->serial);
}

void hl_steering_begin(struct hl_region_reader *r, bool fresh)
{
	struct hl_steering *s = &r->steering;
	uint32_t word = atomic_load(&r->region->control);

	s->mode = r->settings->mode;
	s->sample_bytes = r->settings->sample_bytes ? r->settings->sample_bytes : HL_SAMPLE_BYTES;
	if (!fresh) { /* the program may have written anything there */
		s->mode = hl_control_mode(word) <= HL_MODE_TAGS ? hl_control_mode(word)
								: HL_MODE_TRACE;
		s->paused = word & HL_CONTROL_PAUSED;
		s->change_id = word >> HL_CONTROL_SHIFT;
		s->sample_bytes = atomic_load(&r->region->sample_bytes);
		s->gaps = true;
	}
	if (!s->sample_bytes || s->sample_bytes > HL_SAMPLE_MAX)
		s->sample_bytes = HL_SAMPLE_BYTES;
	(void)add_rate(s, s->sample_bytes);
	s->gaps |= (r->settings->flags & HL_SET_START_OFF) != 0;
	s->scans_until_fill = s->mode == HL_MODE_SAMPLE ? SCANS_BEFORE_FILL : 0;
	atomic_store(&r->region->sample_bytes, s->sample_bytes);
	atomic_store(&r->region->sample_seed, r->settings->sample_seed);
	note_gaps(r);
	publish_word(r);
}

int hl_steering_set_mode(struct hl_region_reader *r, enum hl_mode mode, uint64_t sample_bytes)
{
	struct hl_steering *s = &r->steering;

	if (mode == HL_MODE_TAGS)
		return -EOPNOTSUPP;
	if (mode == HL_MODE_SAMPLE && sample_bytes && add_rate(s, sample_bytes))
		return -ENOSPC;
	if (mode == HL_MODE_SAMPLE) {
		s->sample_bytes = sample_bytes ? sample_bytes : s->sample_bytes;
		atomic_store(&r->region->sample_bytes, s->sample_bytes);
		if (s->mode != HL_MODE_SAMPLE)
			s->scans_until_fill = SCANS_BEFORE_FILL;
	} else {
		s->scans_until_fill = 0;
	}
	s->mode = mode;
	publish_change(r);
	return 0;
}

void hl_steering_pause(struct hl_region_reader *r, bool paused)
{
	r->steering.paused = paused;
	publish_change(r);
}

void hl_steering_start(struct hl_region_reader *r, bool on)
{
	r->steering.request = on ? HL_CONTROL_START : HL_CONTROL_STOP;
	r->steering.gaps |= !on;
	for (size_t i = 0; i < r->targets.len; i++) {
		struct hl_target *p = r->targets.data[i];

		p->control.pending = p->control.stopped == on ? r->steering.request : 0;
	}
	publish_change(r);
}

void hl_steering_on_start(struct hl_target *p, bool on)
{
	p->control.stopped = !on;
	p->control.pending = 0;
	p->control.gaps |= !on;
}

static void announce_mode(struct hl_target *p, const struct hl_steering *s,
	struct hl_thread_stream *f, uint64_t stamp)
{
	uint64_t mode =
		(uint64_t)s->mode | (s->paused || p->control.paused ? HL_CONTROL_PAUSED : 0);
	uint64_t rate = s->mode == HL_MODE_SAMPLE ? s->sample_bytes : 0;

	if (p->control.announced_mode == mode && p->control.announced_rate == rate)
		return;
	p->control.announced_mode = mode;
	p->control.announced_rate = rate;
	hl_match_advance_time(p, f, stamp);
	hl_target_set_mode(p, s->mode);
}

void hl_steering_on_pause(struct hl_thread_stream *f, bool paused, uint64_t stamp)
{
	struct hl_target *p = f->target;

	p->control.paused = paused;
	p->control.gaps |= paused;
	if (p->control.steering)
		announce_mode(p, p->control.steering, f, stamp);
}

void hl_steering_after_scan(struct hl_region_reader *r, bool all_merged)
{
	struct hl_steering *s = &r->steering;

	for (size_t i = 0; i < r->targets.len; i++)
		if (r->targets.data[i]->match.streams.len)
			announce_mode(r->targets.data[i], s,
				r->targets.data[i]->match.streams.data[0], r->last_scan_stamp);
	/* Without a target, the events before its start are still to be read. */
	if (!s->scans_until_fill || !all_merged || !r->targets.len || --s->scans_until_fill)
		return;
	for (size_t i = 0; i < r->targets.len; i++)
		hl_match_fill_filter(r->targets.data[i]);
	atomic_store(&r->region->control, control_word(s));
}
