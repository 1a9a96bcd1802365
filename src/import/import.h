/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.h - converts recordings and profiles of other tools to traces.
 *
 * Input formats are heaptrack's interpreted recordings (file formats 1 to 3) and pprof's heap
 * profiles; plain, or compressed by gzip or zstd. Information that the source does not have is not
 * invented: META lists it as unknown. The input may be malicious: indices are checked, and memory
 * and decompressed bytes are limited in proportion to the input.
 */
#ifndef HL_IMPORT_IMPORT_H
#define HL_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

struct hl_work;

struct hl_import_result {
	char text[512];  /* after an error: the reason, in one sentence without the file name */
	char source[64]; /* "heaptrack 1.4.0, file format 3" */
	char notes[512]; /* information of the source that is not in the trace; "" if none */
	bool truncated;  /* the source is truncated: the trace has the part before */
	uint64_t events, bytes;
};

/*
 * Converts `in`, from its current offset, to `out`, a new and empty file, which is always closed.
 * `total`: input bytes, 0 if not known; `work`: see util/work/work.h, may be NULL. Returns 0 or
 * -errno; after an error `out` has no usable content.
 */
int hl_import(
	int in, uint64_t total, int out, struct hl_work *work, struct hl_import_result *result);

#endif
