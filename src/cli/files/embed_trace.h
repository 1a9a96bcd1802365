/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed_trace.h - stores the files of a trace's modules in the trace: for `embed`, and for `record`
 * and the collector when all traces are written.
 */
#ifndef HL_CLI_FILES_EMBED_TRACE_H
#define HL_CLI_FILES_EMBED_TRACE_H

#include "cli/files/atomic_file.h"
#include "model/slice/embed_modules.h"

struct hl_embed_result {
	struct hl_embedding done;
	uint64_t left_out; /* modules whose files could not be read */
};

/*
 * Writes m, the trace at `path`, with its files to `to`; if to->path is NULL it replaces the trace
 * itself. Returns 0, or prints a message and returns an exit status.
 */
int hl_embed(struct hl_model *m, const char *path, struct hl_atomic_file *to, bool quiet,
	struct hl_embed_result *result);
/* The same for a trace that was just recorded, which is replaced. */
int hl_embed_recorded(const char *path, bool quiet);

#endif
