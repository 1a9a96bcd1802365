/*
 * perf_map_internal.h - names of code that a JIT made.
 */
#ifndef HL_SYMBOL_PERF_MAP_INTERNAL_H
#define HL_SYMBOL_PERF_MAP_INTERNAL_H

#include "symbol/symbol_internal.h"

/* A zeroed map is an empty one. */
struct hl_perf_map {
	struct hl_spans spans; /* what: a name in text */
	char *text;
};

/* ROOT/tmp/perf-PID.map (root may be NULL), unless it is older. 0, -ENOENT or -ENOMEM. */
int hl_perf_map_load(struct hl_perf_map *m, const char *root, uint64_t pid, uint64_t since_ns);
/* Takes the text over, which has room for one more byte. 0 or -ENOMEM. */
int hl_perf_map_parse(struct hl_perf_map *m, char *text, size_t len);
/* NULL when there is none; lives as long as the map. */
const char *hl_perf_map_name(const struct hl_perf_map *m, uint64_t addr);
void hl_perf_map_fini(struct hl_perf_map *m);

#endif
