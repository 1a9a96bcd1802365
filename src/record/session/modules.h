/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.h - announces modules to the collector.
 */
#ifndef HL_RECORD_SESSION_MODULES_H
#define HL_RECORD_SESSION_MODULES_H

struct hl_thread;
struct hl_unwind_module;

void hl_modules_on_found(const struct hl_unwind_module *module);
void hl_modules_forget(void); /* code was unloaded: other code may be loaded in its place */
void hl_modules_announce_all(struct hl_thread *t); /* for the trace of a fork child */

#endif
