/*
 * embed.h - the files of a trace's modules, put into the trace: of `embed`, and of `record` and the
 * collector when all is written.
 */
#ifndef HL_CLI_EMBED_H
#define HL_CLI_EMBED_H

#include "cli/new_file.h"
#include "model/carried.h"

struct hl_embed_result {
	struct hl_embedding done;
	uint64_t left_out; /* modules whose files could not be had */
};

/*
 * Writes m, the trace at `path`, with its files to `to`; with to->path NULL in place of itself. 0,
 * or an exit status with a message.
 */
int hl_embed(struct hl_model *m, const char *path, struct hl_new_file *to, bool quiet,
	struct hl_embed_result *result);
/* The same by the name of a trace that we have just written, in its place. */
int hl_embed_recorded(const char *path, bool quiet);

#endif
