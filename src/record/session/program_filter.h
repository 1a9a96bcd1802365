/* SPDX-License-Identifier: Apache-2.0 */
/* program_filter.h - record --only and --skip: whether this program is to be recorded. */
#ifndef HL_RECORD_SESSION_PROGRAM_FILTER_H
#define HL_RECORD_SESSION_PROGRAM_FILTER_H

#include <stdbool.h>

/* The lists of patterns, from HEAPLAPSE_ONLY and HEAPLAPSE_SKIP; NULL or "": none. */
bool hl_program_filter_wants(const char *only, const char *skip);

#endif
