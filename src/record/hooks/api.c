/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api.c - the functions behind heaplapse.h. The header looks them up by name at run time, so that a
 * program does not have to link to the recorder; see include/heaplapse.h.
 */
#include "record/hooks/api.h"
#include "record/session/debug_log.h"
#include "record/session/recorder.h"
#include "record/emit/emit.h"
#include "record/emit/sampling.h"
#include "record/tags/tags.h"
#include "ring/ring_record.h"

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

/* A request of `heaplapse ctl` that was made before a call of the program must not be applied after
 * it. */
static void mark_requests_seen(void)
{
	__atomic_store_n(&hl_rec.control_seen, hl_control() >> HL_CONTROL_SHIFT, __ATOMIC_RELAXED);
}

void heaplapse_impl_start(void)
{
	uint32_t stopped = HL_PHASE_STOPPED;

	hl_tags_pause(false);
	if (!atomic_compare_exchange_strong(&hl_rec.phase, &stopped, HL_PHASE_ON))
		return;
	if (atomic_load(&hl_fork_page.ours)) /* else a fork child: its first event starts it */
		hl_fork_page_start();
	hl_debug_log(HL_LEVEL_INFO, "the program starts recording, phase", HL_PHASE_ON);
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
	mark_requests_seen();
	hl_debug_log(HL_LEVEL_INFO, "the program stops recording, phase", HL_PHASE_STOPPED);
	hl_emit_mark(HL_MARK_STOP, NULL);
	if (atomic_compare_exchange_strong(&hl_rec.phase, &on, HL_PHASE_STOPPED))
		atomic_store(&hl_fork_page.on, 0);
}

/* During a pause allocations take the slow path, where hl_rec.paused is checked. While recording is
 * off nothing is changed: the next start takes hl_rec.paused into account. */
static void update_fork_page(void)
{
	uint32_t on = atomic_load(&hl_fork_page.on);

	if (!on)
		return;
	hl_fork_page_start();
	if (atomic_load(&hl_rec.phase) != HL_PHASE_ON) /* stopped meanwhile */
		atomic_store(&hl_fork_page.on, 0);
}

/* The mark is in the ring before the first allocation is skipped, so the collector knows that frees
 * of unknown blocks may follow. Mode tags cannot detect such frees: there a pause stops the
 * counting. */
void heaplapse_impl_pause(void)
{
	hl_tags_pause(true);
	if (atomic_load(&hl_rec.phase) == HL_PHASE_OFF || atomic_load(&hl_rec.paused))
		return;
	mark_requests_seen();
	hl_debug_log(
		HL_LEVEL_INFO, "the program pauses recording, phase", atomic_load(&hl_rec.phase));
	hl_emit_mark(HL_MARK_PAUSE, NULL);
	atomic_store(&hl_rec.paused, true);
	update_fork_page();
}

void heaplapse_impl_resume(void)
{
	hl_tags_pause(false);
	if (!atomic_exchange(&hl_rec.paused, false))
		return;
	update_fork_page();
	hl_debug_log(
		HL_LEVEL_INFO, "the program resumes recording, phase", atomic_load(&hl_rec.phase));
	hl_emit_mark(HL_MARK_RESUME, NULL);
}
