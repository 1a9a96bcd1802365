/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collector_internal.h - the state of the collector's main loop.
 */
#ifndef HL_COLLECT_COLLECTOR_INTERNAL_H
#define HL_COLLECT_COLLECTOR_INTERNAL_H

#include "collect/collector.h"
#include "collect/control/ctl.h"
#include "collect/output/write_queue.h"
#include "collect/pace.h"
#include "collect/wait_set.h"
#include "ring/hello.h"

struct hl_connection {
	int fd;
	uint64_t since_ns;
	bool has_hello; /* its hello was received, but there is no descriptor for its region */
	struct hl_hello hello;
};

struct hl_collector {
	const struct hl_collector_start *start;
	struct hl_write_queue queue;
	HL_VEC(struct hl_region_reader *) regions;
	HL_VEC(struct hl_connection) connections;
	struct hl_ctl_server ctl;
	int control_fd;
	struct hl_message_queue outbox; /* to control_fd */
	/* regions whose memory is still to be released */
	HL_VEC(struct hl_region_reader *)
	finished;
	uint64_t last_check_ns, idle_since_ns, last_data_ns, last_trim_ns;
	bool target_ended; /* a target has ended since the last trim */
	struct hl_wait_set wait;
	uint32_t ready; /* enum hl_wait_kind: reported by a wait, and not served yet */
	bool waited;    /* since the last scan */
	struct hl_pace pace;
	bool settle_requested; /* `record` waits for the traces of ended targets */
	uint32_t settled_checks;
	int announced_fd; /* ring/announced_programs.h, for all programs; -1: not created yet */
};

/* Opens a region and reads it from now on. Parameters and result are those of hl_region_open(). */
int hl_collector_add_region(
	struct hl_collector *c, int memfd, uint64_t pid, bool fresh, struct hl_region_reader **out);
/* Accepts connections if there are new ones, and opens a region for each program that has sent its
 * hello. */
void hl_collector_serve_connections(struct hl_collector *c, bool has_new, uint64_t now);

#endif
