/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debuginfod_internal.h - debug files from debuginfod servers.
 */
#ifndef HL_SYMBOL_LOCATE_DEBUGINFOD_INTERNAL_H
#define HL_SYMBOL_LOCATE_DEBUGINFOD_INTERNAL_H

#include "symbol/symbol_internal.h"

struct hl_debuginfod;

int hl_debuginfod_new(struct hl_debuginfod **out, const struct hl_symbols_config *c);
void hl_debuginfod_free(struct hl_debuginfod *d);
/* Downloads a debug file. *path is its path, which the caller frees; the caller must check the
 * build-id. d may be NULL. Returns 0 or -ENOENT. */
int hl_debuginfod_find(
	struct hl_debuginfod *d, const char *what, const uint8_t *id, size_t len, char **path);

#endif
