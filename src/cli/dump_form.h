/*
 * dump_form.h - how `dump` writes an event: as the line of docs/trace-format.md, with more behind
 * it (--long), with its stack (--stacks), or as JSON.
 */
#ifndef HL_CLI_DUMP_FORM_H
#define HL_CLI_DUMP_FORM_H

#include <stdio.h>

#include "model/block.h"
#include "model/model.h"
#include "trace/dump.h"
#include "util/json.h"
#include "util/strbuf.h"

struct hl_dump_form {
	struct hl_model *m;
	bool more;   /* --long */
	bool stacks; /* with all frames */
	bool json;
	bool header;

	/* its own */
	struct hl_roles roles;
	bool chains;           /* they are known */
	struct hl_blocks born; /* when: blocks that are not freed yet; --long and JSON */
	struct hl_json j;
	struct hl_strbuf text;
};

/* 0 or -errno with hl_model_error(). why: what is left out, for a message; NULL: nothing. */
int hl_dump_begin(struct hl_dump_form *f, const char **why);
/* For every event, shown or not, in order: the lifetime of what it frees; UINT64_MAX: not known. */
int hl_dump_see(struct hl_dump_form *f, const struct hl_event *e, uint64_t *life_ns);
int hl_dump_put_event(struct hl_dump_form *f, const struct hl_event *e, uint64_t life_ns);
int hl_dump_put_extra(struct hl_dump_form *f, const struct hl_extra *x);
void hl_dump_end(struct hl_dump_form *f);

#endif
