/*
 * output.h - a file that is there whole or not at all, packed if its name says so.
 *
 * It is written without a name (or under one of its own where the file system cannot do without)
 * and gets the final one at the end: whoever looks sees the old file or the new one, never a half.
 * What is no plain file (a pipe, a device) is written as it comes.
 */
#ifndef HL_VIEWS_EXPORT_OUTPUT_H
#define HL_VIEWS_EXPORT_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct hl_output;

/* path "-": stdout. pack: by .gz or .zst at the end of the name. 0 or -errno. */
int hl_output_open(struct hl_output **out, const char *path, bool pack);
FILE *hl_output_file(struct hl_output *o);
/* Has all of it arrived that was written so far? What a packer still has does not count. 0 or
 * -errno; stdout is its caller's to judge. */
int hl_output_flush(struct hl_output *o);
/* Ends it, and gives it its name if all of it has arrived. 0 or -errno; o is gone. */
int hl_output_finish(struct hl_output *o);
/* There is nothing under its name; o is gone. */
void hl_output_drop(struct hl_output *o);

/* A stream that packs what is written to it into `to`, which stays the caller's. NULL: no memory.
 * Closing it writes the end, and fails if anything did. */
FILE *hl_pack_gzip(FILE *to, int level);
FILE *hl_pack_zstd(FILE *to, int level);

#endif
