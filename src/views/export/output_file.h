/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_file.h - an output file that appears complete or not at all, compressed if its name has
 * the suffix.
 *
 * It is written without a name (or under a temporary name if the file system does not support that)
 * and gets its final name at the end. A reader sees the old file or the new one, never a partial
 * one. Anything but a regular file (a pipe, a device) is written directly.
 */
#ifndef HL_VIEWS_EXPORT_OUTPUT_FILE_H
#define HL_VIEWS_EXPORT_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct hl_output_file;

/* Opens an output file; "-" is stdout. pack: compress by the suffix .gz or .zst. Returns 0 or
 * -errno. */
int hl_output_file_open(struct hl_output_file **out, const char *path, bool pack);
FILE *hl_output_file_stream(struct hl_output_file *o);
/* Flushes and checks that all data so far was written. Data that a compressor still holds is not
 * included. Returns 0 or -errno; errors of stdout are left to the caller. */
int hl_output_file_flush(struct hl_output_file *o);
/* Closes the file, gives it its name if all data was written, and frees o. Returns 0 or -errno. */
int hl_output_file_finish(struct hl_output_file *o);
/* Discards the file and frees o. No file gets the final name. */
void hl_output_file_drop(struct hl_output_file *o);

/* Return a stream that compresses data written to it into `to`, which the caller keeps; NULL if
 * there is no memory. Closing the stream writes the end, and fails if any write failed. */
FILE *hl_pack_gzip(FILE *to, int level);
FILE *hl_pack_zstd(FILE *to, int level);

#endif
