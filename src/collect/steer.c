/*
 * steer.c - see steer.h.
 *
 * Into samples: the recorder passes every free until all blocks that the books know are in the
 * filter. An allocation that was recorded before the program saw the change may still be on its
 * way, so the filter is filled after a scan that began after the change, behind a barrier on all
 * CPUs: what that scan cannot see, the program puts into the filter itself (record/steer.h).
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hash.h"
#include "collect/books.h"
#include "collect/steer.h"
#include "ring/filter.h"

/* Without a barrier: so many scans, each later than the one before. */
#define SCANS_BEFORE_FILL 3u
/* A number that fits its place in the word; never 0, which is «no request was seen». */
#define NUMBERS ((1u << (32 - HL_STEER_SHIFT)) - 1)

static uint32_t word_of(const struct hl_steering *s)
{
	uint32_t word = (uint32_t)s->mode | s->number << HL_STEER_SHIFT;

	if (s->paused)
		word |= HL_STEER_PAUSED;
	if (s->request)
		word |= s->request;
	if (s->mode == HL_MODE_SAMPLE || s->mode == HL_MODE_TAGS)
		word |= HL_STEER_PART;
	if (s->fill_in)
		word |= HL_STEER_ALL_FREES;
	return word;
}

static void publish(struct hl_region_reader *r)
{
	atomic_store(&r->region->steer, word_of(&r->steering));
	if (atomic_load(&r->region->registered))
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0);
}

/* From here on blocks may be freed whose allocations nobody told us. */
static void note_gaps(struct hl_region_reader *r)
{
	const struct hl_steering *s = &r->steering;

	r->steering.gaps |= s->paused || s->mode == HL_MODE_SAMPLE || s->mode == HL_MODE_TAGS;
	for (size_t i = 0; s->gaps && i < r->procs.len; i++)
		r->procs.data[i]->gaps = true;
}

static void change(struct hl_region_reader *r)
{
	r->steering.number = r->steering.number % NUMBERS + 1;
	note_gaps(r);
	publish(r);
}

uint8_t hl_steer_rate(const struct hl_steering *s, uint64_t rate)
{
	uint8_t i = 1;

	while (i < HL_LIVE_RATES && s->rates[i + 1] && s->rates[i] != rate)
		i++;
	return i;
}

static int add_rate(struct hl_steering *s, uint64_t rate)
{
	uint8_t i = hl_steer_rate(s, rate);

	if (s->rates[i] == rate)
		return 0;
	if (s->rates[i])
		i++;
	if (i > HL_LIVE_RATES)
		return -ENOSPC;
	s->rates[i] = rate;
	return 0;
}

void hl_steer_meet(struct hl_proc *p, const struct hl_proc_birth *b)
{
	const struct hl_steering *s = b->steering;

	p->steering = s;
	p->filter = b->filter;
	p->stopped = b->start_off;
	if (!s)
		return;
	p->gaps = s->gaps;
	p->told_mode = (uint64_t)s->mode; /* the trace's head has it */
	p->told_rate = s->mode == HL_MODE_SAMPLE ? s->sample_bytes : 0;
	p->salt = hl_hash_pair(atomic_load(&b->filter->sample_seed)
				       ? atomic_load(&b->filter->sample_seed)
				       : hl_mono_ns(),
		p->serial);
}

void hl_steer_begin(struct hl_region_reader *r, bool fresh)
{
	struct hl_steering *s = &r->steering;
	uint32_t word = atomic_load(&r->region->steer);

	s->mode = r->settings->mode;
	s->sample_bytes = r->settings->sample_bytes ? r->settings->sample_bytes : HL_SAMPLE_BYTES;
	if (!fresh) { /* the program may have written anything there */
		s->mode = hl_steer_mode(word) <= HL_MODE_TAGS ? hl_steer_mode(word) : HL_MODE_TRACE;
		s->paused = word & HL_STEER_PAUSED;
		s->number = word >> HL_STEER_SHIFT;
		s->sample_bytes = atomic_load(&r->region->sample_bytes);
		s->gaps = true;
	}
	if (!s->sample_bytes || s->sample_bytes > HL_SAMPLE_MAX)
		s->sample_bytes = HL_SAMPLE_BYTES;
	(void)add_rate(s, s->sample_bytes);
	s->gaps |= (r->settings->flags & HL_SET_START_OFF) != 0;
	s->fill_in = s->mode == HL_MODE_SAMPLE ? SCANS_BEFORE_FILL : 0;
	atomic_store(&r->region->sample_bytes, s->sample_bytes);
	atomic_store(&r->region->sample_seed, r->settings->sample_seed);
	note_gaps(r);
	publish(r);
}

int hl_steer_set_mode(struct hl_region_reader *r, enum hl_mode mode, uint64_t sample_bytes)
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
			s->fill_in = SCANS_BEFORE_FILL;
	} else {
		s->fill_in = 0;
	}
	s->mode = mode;
	change(r);
	return 0;
}

void hl_steer_pause(struct hl_region_reader *r, bool paused)
{
	r->steering.paused = paused;
	change(r);
}

void hl_steer_start(struct hl_region_reader *r, bool on)
{
	r->steering.request = on ? HL_STEER_START : HL_STEER_STOP;
	r->steering.gaps |= !on;
	change(r);
}

void hl_steer_note_start(struct hl_proc *p, bool on)
{
	p->stopped = !on;
	p->gaps |= !on;
}

static void tell(struct hl_proc *p, const struct hl_steering *s, struct hl_feed *f, uint64_t stamp)
{
	uint64_t mode = (uint64_t)s->mode | (s->paused || p->paused ? HL_STEER_PAUSED : 0);
	uint64_t rate = s->mode == HL_MODE_SAMPLE ? s->sample_bytes : 0;

	if (p->told_mode == mode && p->told_rate == rate)
		return;
	p->told_mode = mode;
	p->told_rate = rate;
	hl_books_pass_time(p, f, stamp);
	hl_proc_set_mode(p, s->mode);
}

void hl_steer_note_pause(struct hl_feed *f, bool paused, uint64_t stamp)
{
	struct hl_proc *p = f->proc;

	p->paused = paused;
	p->gaps |= paused;
	if (p->steering)
		tell(p, p->steering, f, stamp);
}

void hl_steer_scanned(struct hl_region_reader *r, bool all_merged)
{
	struct hl_steering *s = &r->steering;

	for (size_t i = 0; i < r->procs.len; i++)
		if (r->procs.data[i]->feeds.len)
			tell(r->procs.data[i], s, r->procs.data[i]->feeds.data[0], r->last_t);
	/* Of a program that has not begun what came before its beginning is still to come. */
	if (!s->fill_in || !all_merged || !r->procs.len || --s->fill_in)
		return;
	for (size_t i = 0; i < r->procs.len; i++)
		hl_books_fill_filter(r->procs.data[i]);
	atomic_store(&r->region->steer, word_of(s));
}
