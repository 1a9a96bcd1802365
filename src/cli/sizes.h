/*
 * sizes.h - sizes as people write them: 64K, 256M, 2G.
 */
#ifndef HL_CLI_SIZES_H
#define HL_CLI_SIZES_H

#include <stdbool.h>
#include <stdint.h>

/* False: it is none, or not within these bounds. */
bool hl_size_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out);

#endif
