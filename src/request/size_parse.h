/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_parse.h - parses sizes in options: 64K, 256M, 2G.
 */
#ifndef HL_REQUEST_SIZE_PARSE_H
#define HL_REQUEST_SIZE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* Returns false if the text is not a size or is out of bounds. */
bool hl_size_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out);

#endif
