/*
 * bmp.h - a picture that graphviz has drawn as PNG, as BMP: Debian's graphviz does not write BMP.
 */
#ifndef HL_CLI_BMP_H
#define HL_CLI_BMP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* 0; -EINVAL: no PNG of 8 bits, with colours, not interlaced; -ENOMEM. Errors of `out` are its own.
 */
int hl_bmp_from_png(FILE *out, const uint8_t *png, size_t n);

#endif
