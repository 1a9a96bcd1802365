/*
 * debuginfod_internal.h - debug files from servers.
 */
#ifndef HL_SYMBOL_DEBUGINFOD_INTERNAL_H
#define HL_SYMBOL_DEBUGINFOD_INTERNAL_H

#include "symbol/symbol_internal.h"

struct hl_debuginfod;

int hl_debuginfod_new(struct hl_debuginfod **out, const struct hl_symbols_config *c);
void hl_debuginfod_free(struct hl_debuginfod *d);
/* The path of the fetched file, which the caller frees; its build-id is to be checked. d may be
 * NULL. 0 or -ENOENT. */
int hl_debuginfod_find(
	struct hl_debuginfod *d, const char *what, const uint8_t *id, size_t len, char **path);

#endif
