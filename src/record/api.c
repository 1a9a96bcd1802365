/*
 * api.c - the functions behind heaplapse.h. The header finds them by name at run time, so that a
 * program needs no library of ours; see include/heaplapse.h.
 */
#include "record/api.h"
#include "record/recorder.h"
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

void heaplapse_impl_start(void)
{
	uint32_t stopped = HL_PHASE_STOPPED;

	hl_tags_pause(false);
	if (!atomic_compare_exchange_strong(&hl_rec.phase, &stopped, HL_PHASE_ON))
		return;
	if (atomic_load(&hl_alive.ours)) /* else a fork child: its first event finds out */
		hl_alive_start();
	hl_emit_mark(HL_MARK_START, NULL);
}

void heaplapse_impl_stop(void)
{
	uint32_t on = HL_PHASE_ON;

	hl_tags_pause(true);
	if (atomic_load(&hl_rec.phase) != HL_PHASE_ON)
		return;
	hl_emit_mark(HL_MARK_STOP, NULL);
	if (atomic_compare_exchange_strong(&hl_rec.phase, &on, HL_PHASE_STOPPED))
		atomic_store(&hl_alive.on, 0);
}
