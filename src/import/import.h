/*
 * import.h - recordings and profiles of others, as traces.
 *
 * heaptrack's interpreted recordings (file formats 1 to 3) and pprof's heap profiles; plain, or
 * packed by gzip or zstd. What a source does not know is not made up: META has the list. Input is
 * hostile: indices are checked, and memory and unpacked bytes follow the bytes that came in.
 */
#ifndef HL_IMPORT_IMPORT_H
#define HL_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

struct hl_import_result {
	char text[512];  /* after an error: why, in one sentence without the file's name */
	char source[64]; /* "heaptrack 1.4.0, file format 3" */
	char notes[512]; /* what of the source is not in the trace; "" if nothing */
	bool cut;        /* the source ends in its middle: the trace has what was before */
	uint64_t events, bytes;
};

/*
 * From `in`, read from where it stands, to `out`, a new and empty file, which is closed in any
 * case. `total`: bytes of the input for the progress bar, 0 if not known. 0 or -errno; then `out`
 * has nothing of use.
 */
int hl_import(int in, uint64_t total, int out, struct hl_import_result *result);

#endif
