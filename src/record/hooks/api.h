/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api.h - the functions behind include/heaplapse.h, for calls from inside the recorder.
 */
#ifndef HL_RECORD_HOOKS_API_H
#define HL_RECORD_HOOKS_API_H

#include "base/attr.h"

hl_export void heaplapse_impl_mark(const char *label);
hl_export void heaplapse_impl_snapshot(const char *label);
hl_export void heaplapse_impl_thread_name(const char *name);
hl_export void heaplapse_impl_start(void);
hl_export void heaplapse_impl_stop(void);
hl_export void heaplapse_impl_pause(void);
hl_export void heaplapse_impl_resume(void);

#endif
