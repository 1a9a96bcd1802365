/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collector_link.h - the collector of `record`: its start, its messages, and its replacement if it
 * dies.
 *
 * We hold a second reference to every region, so that a successor loses nothing that is still in
 * the rings.
 */
#ifndef HL_CLI_RECORD_COLLECTOR_LINK_H
#define HL_CLI_RECORD_COLLECTOR_LINK_H

#include "cli/record/record_session.h"

/* Starts a collector. A replacement gets all regions that we hold. Returns 0 or -errno. */
int hl_collector_link_start(struct record_session *s);
/* Sends the collector the first process of the session. Call it before the program runs.
 */
void hl_collector_link_send_first(const struct record_session *s);
/* Reads all messages that have arrived. */
void hl_collector_link_read(struct record_session *s);
/* Replaces the collector if it has died. Events that it had drained but not written are lost. */
void hl_collector_link_replace(struct record_session *s);
/* The program has ended with this wait status. Waits until the traces of all ended processes are
 * closed. Children that still run are left to the collector. */
void hl_collector_link_finish(struct record_session *s, int status);

#endif
