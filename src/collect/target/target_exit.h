/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target_exit.h - the end of a target: it dies, calls exec, or waits at its exit for its trace.
 */
#ifndef HL_COLLECT_TARGET_TARGET_EXIT_H
#define HL_COLLECT_TARGET_TARGET_EXIT_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/output/exit_ack.h"
#include "trace/event.h"

struct hl_region_reader;
struct hl_target;

struct hl_target_exit {
	bool gone; /* dead, or replaced by another program */
	/* how it ended is in `end`: from `record`, from the parent's wait, or an exec was seen */
	bool end_known;
	struct hl_end end;
	struct hl_exit_ack ack; /* it has recorded its last event and waits for its trace */
	uint32_t final_scans;   /* scans since `gone` was set */
	uint64_t gone_ns, end_mono_ns, exec_check_ns;
};

/* Marks the target as gone if it is dead or has become another program. */
void hl_target_exit_check(struct hl_region_reader *r, struct hl_target *p, uint64_t now_ns);
/* A wait status of the target is known: from `record`, or from its parent. The first one counts. */
void hl_target_exit_set_status(struct hl_target *p, int status);
/* A new image has replaced the target by exec. */
void hl_target_exit_set_replaced(const struct hl_region_reader *r, struct hl_target *p);
/* The target has recorded its last event and waits for its trace. */
void hl_target_exit_set_waiting(struct hl_target *p, const struct hl_exit_ack *ack);

/* True if no more events will follow: the target is gone, or waits at its exit. */
bool hl_target_exit_is_leaving(const struct hl_target *p);
/* True if the target is gone and its rings are still to be scanned for the last time. */
bool hl_target_exit_needs_scan(const struct hl_target *p);
/* True if the target has a ring of its own. */
bool hl_target_exit_has_rings(const struct hl_region_reader *r, const struct hl_target *p);
/* Call it once after each scan. True if the target's trace can be ended now, with *end. */
bool hl_target_exit_is_final(
	const struct hl_region_reader *r, struct hl_target *p, uint64_t now_ns, struct hl_end *end);

#endif
