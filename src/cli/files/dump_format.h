/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_format.h - the output of `dump`: an event as a line of docs/trace-format.md, with more
 * fields (--long), with its stack (--stacks), or as JSON.
 */
#ifndef HL_CLI_FILES_DUMP_FORMAT_H
#define HL_CLI_FILES_DUMP_FORMAT_H

#include <stdio.h>

#include "model/scan/block_table.h"
#include "model/model.h"
#include "trace/read/event_text.h"
#include "util/json_writer.h"
#include "util/strbuf.h"

struct hl_dump_format {
	struct hl_model *m;
	bool long_format; /* --long */
	bool stacks;      /* with all frames of the stacks */
	bool json;
	bool header;

	/* private */
	struct hl_roles roles;
	bool chains;                       /* realloc chains are known */
	struct hl_block_table live_blocks; /* with allocation times; for --long and JSON */
	struct hl_json j;
	struct hl_strbuf text;
};

/* Begins the output. Returns 0, or -errno with hl_model_error(). *why: the reason if realloc chains
 * are left out, for a message; otherwise NULL. */
int hl_dump_format_begin(struct hl_dump_format *f, const char **why);
/* Must be called for every event in order, printed or not. *life_ns receives the lifetime of the
 * freed block; UINT64_MAX if it is not known. */
int hl_dump_format_track_event(
	struct hl_dump_format *f, const struct hl_event *e, uint64_t *life_ns);
int hl_dump_format_put_event(struct hl_dump_format *f, const struct hl_event *e, uint64_t life_ns);
int hl_dump_format_put_extra(struct hl_dump_format *f, const struct hl_extra *x);
void hl_dump_format_end(struct hl_dump_format *f);

#endif
