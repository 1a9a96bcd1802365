/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_map_internal.h - names of code that a JIT generated.
 */
#ifndef HL_SYMBOL_PERF_MAP_INTERNAL_H
#define HL_SYMBOL_PERF_MAP_INTERNAL_H

#include "symbol/symbol_internal.h"

/* A zeroed map is empty. */
struct hl_perf_map {
	struct hl_spans spans; /* payload: pointer to a name in `text` */
	char *text;
};

/* Reads ROOT/tmp/perf-PID.map (root may be NULL), unless it was written before since_ns. Returns 0,
 * -ENOENT or -ENOMEM. */
int hl_perf_map_load(struct hl_perf_map *m, const char *root, uint64_t pid, uint64_t since_ns);
/* Takes ownership of the text, which must have room for one more byte. Returns 0 or -ENOMEM. */
int hl_perf_map_parse(struct hl_perf_map *m, char *text, size_t len);
/* The name of the code at addr; NULL if there is none. The map owns it. */
const char *hl_perf_map_name(const struct hl_perf_map *m, uint64_t addr);
void hl_perf_map_fini(struct hl_perf_map *m);

#endif
