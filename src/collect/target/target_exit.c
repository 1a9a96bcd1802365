/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target_exit.c - see target_exit.h.
 *
 * A trace ends when all records of its target are merged and the exit status is known, or was
 * looked for long enough.
 */
#include <signal.h>

#include "collect/drain/region.h"
#include "collect/target/exit_status.h"
#include "collect/target/target_exit.h"
#include "collect/wait_set.h"

#define STATUS_NS   UINT64_C(1000000000) /* how long to look for an exit status */
#define EXEC_NS     UINT64_C(20000000)   /* between two looks for an exec */
#define FINAL_SCANS 2u                   /* after the target is known to be gone */

bool hl_target_exit_has_rings(const struct hl_region_reader *r, const struct hl_target *p)
{
	for (uint32_t i = 0; i < HL_RING_COUNT; i++)
		if (r->views[i].target == p)
			return true;
	return false;
}

/* True if records of the target may be in this ring. In a shared ring they may be of any target. */
static bool may_write_ring(const struct hl_region_reader *r, uint32_t i, const struct hl_target *p)
{
	const struct hl_ring_view *v = &r->views[i];

	return v->target == p || i >= HL_RING_COUNT - HL_SHARED_RINGS ||
	       (!v->target && hl_region_ring(r->region, i)->serial == p->serial);
}

static bool is_drained(const struct hl_region_reader *r, const struct hl_target *p)
{
	for (uint32_t i = 0; i < HL_RING_COUNT; i++)
		if (r->views[i].at < r->views[i].words.len && may_write_ring(r, i, p))
			return false;
	return true;
}

static void set_gone(const struct hl_region_reader *r, struct hl_target *p)
{
	p->exit.gone = true;
	hl_wait_set_remove(r->wait, p->pidfd); /* it stays ready */
}

static void set_dead(const struct hl_region_reader *r, struct hl_target *p, uint64_t now)
{
	set_gone(r, p);
	p->exit.gone_ns = now;
}

static void set_execed(const struct hl_region_reader *r, struct hl_target *p)
{
	set_gone(r, p);
	p->exit.end_known = true;
	p->exit.end = (struct hl_end){.kind = HL_END_EXEC};
}

void hl_target_exit_set_replaced(const struct hl_region_reader *r, struct hl_target *p)
{
	if (!p->exit.end_known)
		set_execed(r, p);
}

void hl_target_exit_check(struct hl_region_reader *r, struct hl_target *p, uint64_t now)
{
	struct hl_target_exit *e = &p->exit;

	if (e->gone)
		return;
	if (p->pid_unknown ? !hl_target_exit_has_rings(r, p)
			   : hl_exit_status_is_dead(p->pidfd, p->pid)) {
		set_dead(r, p, now);
		return;
	}
	if (!e->ack.claim && !hl_target_exit_has_rings(r, p) && now - e->exec_check_ns > EXEC_NS) {
		e->exec_check_ns = now;
		if (p->pidfd < 0 && hl_exit_status_is_zombie(p->pid))
			set_dead(r, p, now);
		else if (hl_exit_status_has_execed(p, r->memfd))
			set_execed(r, p);
	}
}

void hl_target_exit_set_status(struct hl_target *p, int status)
{
	if (p->exit.end_known)
		return;
	hl_exit_status_decode(status, &p->exit.end);
	p->exit.end_known = true;
}

void hl_target_exit_set_waiting(struct hl_target *p, const struct hl_exit_ack *ack)
{
	p->exit.ack = *ack;
}

bool hl_target_exit_is_leaving(const struct hl_target *p)
{
	return p->exit.gone || p->exit.ack.claim;
}

bool hl_target_exit_needs_scan(const struct hl_target *p)
{
	return p->exit.gone && p->exit.final_scans <= FINAL_SCANS;
}

bool hl_target_exit_is_final(
	const struct hl_region_reader *r, struct hl_target *p, uint64_t now, struct hl_end *end)
{
	struct hl_target_exit *e = &p->exit;

	*end = (struct hl_end){0};
	if (!hl_target_exit_is_leaving(p))
		return false;
	/* Needs one more scan after it is known to be gone, and all its records must be merged. For
	 * a target that waits at its exit, its own last record is the end. */
	if ((e->gone && ++e->final_scans <= FINAL_SCANS) || !is_drained(r, p))
		return false;
	if (!hl_exit_status_known(p, end) && now - e->gone_ns < STATUS_NS)
		return false;
	if (end->kind == HL_END_SIGNAL && end->value == SIGKILL)
		end->oom = hl_oom_has_killed(&r->oom);
	if (!e->end_mono_ns)
		e->end_mono_ns = e->gone_ns ? e->gone_ns : now;
	end->duration_ns = e->end_mono_ns > p->start_ns ? e->end_mono_ns - p->start_ns : 0;
	end->duration_ns &= ~(uint64_t)(HL_TIME_UNIT_NS - 1);
	return true;
}
