/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_limits.h - the information that an imported trace does not have (HL_UNKNOWN_*).
 */
#ifndef HL_MODEL_VIEWS_IMPORT_LIMITS_H
#define HL_MODEL_VIEWS_IMPORT_LIMITS_H

#include <stdint.h>

#include "util/strbuf.h"

struct hl_import_limit {
	uint32_t bit;
	const char *key;  /* the word in JSON */
	const char *text; /* a description for people */
};

/* All of them; the last has bit 0. */
extern const struct hl_import_limit hl_import_limits[];

/* Appends the descriptions of the given bits as "a; b". */
void hl_import_limits_describe(struct hl_strbuf *b, uint32_t unknown);

#endif
