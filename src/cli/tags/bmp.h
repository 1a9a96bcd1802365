/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bmp.h - converts a PNG that Graphviz has drawn to BMP, because Debian's Graphviz does not write
 * BMP.
 */
#ifndef HL_CLI_TAGS_BMP_H
#define HL_CLI_TAGS_BMP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Returns 0; -EINVAL: not a non-interlaced colour PNG with 8 bits per channel; -ENOMEM. Write
 * errors are only in ferror(out). */
int hl_bmp_from_png(FILE *out, const uint8_t *png, size_t n);

#endif
