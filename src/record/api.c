/*
 * api.c - the functions behind heaplapse.h. The header finds them by name at run time, so that a
 * program needs no library of ours; see include/heaplapse.h.
 */
#include "record/api.h"
#include "record/log.h"
#include "record/recorder.h"
#include "record/steer.h"
#include "record/tags.h"
#include "ring/record.h"

void heaplapse_impl_mark(const char *label)
{
	hl_emit_mark(HL_MARK_MARK, label);
}

void heaplapse_impl_snapshot(const char *label)
{
	hl_emit_mark(HL_MARK_SNAPSHOT, label);
	hl_tags_snapshot();
}

void heaplapse_impl_thread_name(const char *name)
{
	hl_tags_thread_name(name);
	hl_emit_mark(HL_MARK_THREAD_NAME, name ? name : "");
}

/* What `heaplapse ctl` asked for before a call of the program is not done after it. */
static void pass_requests(void)
{
	__atomic_store_n(&hl_rec.steer_seen, hl_steer() >> HL_STEER_SHIFT, __ATOMIC_RELAXED);
}

void heaplapse_impl_start(void)
{
	uint32_t stopped = HL_PHASE_STOPPED;

	hl_tags_pause(false);
	if (!atomic_compare_exchange_strong(&hl_rec.phase, &stopped, HL_PHASE_ON))
		return;
	if (atomic_load(&hl_alive.ours)) /* else a fork child: its first event finds out */
		hl_alive_start();
	hl_log(HL_LEVEL_INFO, "the program starts recording, phase", HL_PHASE_ON);
	hl_emit_mark(HL_MARK_START, NULL);
	if (atomic_load(&hl_rec.paused))
		hl_emit_mark(HL_MARK_PAUSE, NULL);
}

void heaplapse_impl_stop(void)
{
	uint32_t on = HL_PHASE_ON;

	hl_tags_pause(true);
	if (atomic_load(&hl_rec.phase) != HL_PHASE_ON)
		return;
	pass_requests();
	hl_log(HL_LEVEL_INFO, "the program stops recording, phase", HL_PHASE_STOPPED);
	hl_emit_mark(HL_MARK_STOP, NULL);
	if (atomic_compare_exchange_strong(&hl_rec.phase, &on, HL_PHASE_STOPPED))
		atomic_store(&hl_alive.on, 0);
}

/* An allocation goes the long way while we pause, where hl_rec.paused is asked. Not while nothing
 * is recorded: then the next start looks. */
static void settle_alive(void)
{
	uint32_t on = atomic_load(&hl_alive.on);

	if (!on)
		return;
	hl_alive_start();
	if (atomic_load(&hl_rec.phase) != HL_PHASE_ON) /* stopped meanwhile */
		atomic_store(&hl_alive.on, 0);
}

/* The mark is in the ring before the first allocation is left out, so the collector knows that
 * frees of unknown blocks may follow. Mode tags cannot tell such frees: there it is a stop. */
void heaplapse_impl_pause(void)
{
	hl_tags_pause(true);
	if (atomic_load(&hl_rec.phase) == HL_PHASE_OFF || atomic_load(&hl_rec.paused))
		return;
	pass_requests();
	hl_log(HL_LEVEL_INFO, "the program pauses recording, phase", atomic_load(&hl_rec.phase));
	hl_emit_mark(HL_MARK_PAUSE, NULL);
	atomic_store(&hl_rec.paused, true);
	settle_alive();
}

void heaplapse_impl_resume(void)
{
	hl_tags_pause(false);
	if (!atomic_exchange(&hl_rec.paused, false))
		return;
	settle_alive();
	hl_log(HL_LEVEL_INFO, "the program resumes recording, phase", atomic_load(&hl_rec.phase));
	hl_emit_mark(HL_MARK_RESUME, NULL);
}
