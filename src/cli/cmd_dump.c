/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_dump.c - prints every event as a line, in the format of docs/trace-format.md.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/files/dump_format.h"
#include "cli/files/session_choice.h"
#include "request/request.h"
#include "cli/options/symbol_options.h"
#include "util/work/work.h"
#include "util/vec.h"
#include "model/views/import_limits.h"
#include "views/text/text.h"

struct dump {
	struct hl_trace_opts common; /* must be the first two members */
	struct hl_symbol_options symbols;
	HL_VEC(const char *) exprs;
	bool limited;
	uint64_t lines_left; /* number of lines that may still be printed */

	struct hl_model *m;
	struct hl_dump_format format;
	struct hl_filter *filter;
	bool missing; /* a chunk could not be read */
};
HL_SYMBOL_STATE_CHECK(struct dump);

static const char *set_long(void *state, const char *value)
{
	((struct dump *)state)->format.long_format = true;
	return NULL;
}

static const char *set_stacks(void *state, const char *value)
{
	((struct dump *)state)->format.stacks = true;
	return NULL;
}

static const char *set_filter(void *state, const char *value)
{
	return hl_vec_push(&((struct dump *)state)->exprs, value)
		       ? "small enough for the available memory"
		       : NULL;
}

static const char *set_limit(void *state, const char *value)
{
	struct dump *d = state;
	char *end;

	errno = 0;
	d->limited = true;
	d->lines_left = strtoull(value, &end, 10);
	return value[0] < '0' || value[0] > '9' || *end || errno ? "a number" : NULL;
}

static bool may_print(struct dump *d)
{
	if (!d->limited)
		return true;
	if (d->lines_left == 0)
		return false;
	d->lines_left--;
	return true;
}

static int put_event(struct dump *d, const struct hl_event *e, uint64_t before)
{
	uint64_t life_ns;
	bool matches = true;
	int err = hl_dump_format_track_event(&d->format, e, &life_ns);

	if (!err && d->filter)
		err = hl_filter_event(d->filter, d->m, e, before, &matches);
	if (err || !matches || !may_print(d))
		return err;
	return hl_dump_format_put_event(&d->format, e, life_ns);
}

static int put_extra(struct dump *d, const struct hl_extra *x, uint64_t before)
{
	if ((d->filter && !hl_filter_extra(d->filter, d->m, x, before)) || !may_print(d))
		return 0;
	return hl_dump_format_put_extra(&d->format, x);
}

/* False if a stack is not in the table: it must not be looked up by its node. */
static bool has_known_stacks(const struct dump *d, const struct hl_chunk_events *c)
{
	uint32_t n = hl_model_n_nodes(d->m);
	bool all = true;

	for (size_t i = 0; i < c->n_events; i++)
		all &= (c->events[i].node < n || c->events[i].node == HL_NODE_NONE) &&
		       (c->events[i].free_node < n || c->events[i].free_node == HL_NODE_NONE);
	for (size_t i = 0; i < c->n_extras; i++)
		all &= c->extras[i].node < n || c->extras[i].node == HL_NODE_NONE;
	return all;
}

static int read_chunk(struct dump *d, size_t i, struct hl_chunk_events *c)
{
	struct hl_reader *r = hl_model_reader(d->m);
	int err = hl_reader_chunk(r, i)->lost ? -EBADMSG : hl_reader_decode(r, i, c);

	return !err && d->format.stacks && !has_known_stacks(d, c) ? -EBADMSG : err;
}

/* first: the number of events before this chunk. */
static int put_chunk(struct dump *d, const struct hl_chunk_events *c, uint64_t first)
{
	size_t x = 0;
	int err = 0;

	for (size_t i = 0; i <= c->n_events && !err; i++) {
		while (x < c->n_extras && c->extras_at[x] <= i && !err) {
			err = put_extra(d, &c->extras[x], first + c->extras_at[x]);
			x++;
		}
		if (i < c->n_events && !err)
			err = put_event(d, &c->events[i], first + i);
		if (d->limited && d->lines_left == 0)
			break;
	}
	return err;
}

/* A chunk of the base has blocks, not events. */
static void put_lost(struct hl_reader *r, size_t chunk)
{
	const struct hl_chunk_info *info = hl_reader_chunk(r, chunk);

	fflush(stdout);
	if (chunk < hl_reader_n_base_chunks(r))
		hl_cli_error("a part of the base is lost (%" PRIu32
			     " blocks that were live where the trace begins)",
			info->n_events);
	else
		hl_cli_error("a chunk is lost after event %" PRIu64 " (%" PRIu32 " events)",
			hl_reader_run_event(r, info->first_event), info->n_events);
}

static int put_all(struct dump *d)
{
	struct hl_reader *r = hl_model_reader(d->m);
	struct hl_work *work = hl_model_work(d->m);
	struct hl_chunk_events c = {0};
	bool show_progress = !isatty(1); /* on a terminal the printed lines are progress enough */
	int err = 0;

	hl_work_begin(work, HL_WORK_PASS, "writing events");
	for (size_t i = 0; i < hl_reader_n_chunks(r) && !err && !ferror(stdout); i++) {
		const struct hl_chunk_info *info = hl_reader_chunk(r, i);

		if (d->limited && d->lines_left == 0)
			break;
		err = read_chunk(d, i, &c);
		if (err == -EBADMSG) {
			put_lost(r, i);
			d->missing = true;
			err = 0;
			continue;
		}
		if (!err)
			err = put_chunk(d, &c, info->first_event);
		if (!err && show_progress)
			err = hl_work_tick(work, i + 1, hl_reader_n_chunks(r));
	}
	hl_work_end(work, HL_WORK_PASS);
	hl_chunk_events_free(&c);
	return err;
}

static void warn_import_limits(struct hl_model *m)
{
	const struct hl_meta *meta = &hl_model_info(m)->meta;
	struct hl_strbuf b = {0};

	hl_import_limits_describe(&b, meta->unknown);
	if (b.len)
		hl_cli_info("imported from %s, which does not have: %s", meta->source,
			hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

/* Resolves the times of the filter and loads the frees that it needs. Returns 0 or an exit
 * status. */
static int bind_filter(struct dump *d)
{
	int err = d->filter ? hl_filter_bind(d->filter, d->m) : 0;

	if (err == -ENOENT)
		return hl_cli_usage("%s", hl_model_error(d->m));
	if (!err && d->filter) {
		err = hl_filter_load_frees(d->filter, d->m);
		if (err == -ENODATA) {
			hl_cli_error("life: and alive: apply only to frees and are inexact "
				     "(quarter octaves): %s",
				hl_model_error(d->m));
			err = 0;
		}
	}
	if (err)
		hl_cli_error("%s", hl_model_error(d->m));
	else if (hl_filter_base_limit(d->filter, d->m))
		hl_cli_error("%s", hl_filter_base_limit(d->filter, d->m));
	return err ? HL_EXIT_IO : 0;
}

static int write_all(struct dump *d)
{
	const char *why;
	int err = hl_dump_format_begin(&d->format, &why);

	if (why)
		hl_cli_error("realloc chains are omitted: %s", why);
	if (!err)
		err = put_all(d);
	hl_dump_format_end(&d->format);
	return err;
}

static int dump_trace(struct dump *d)
{
	int err, status = hl_symbol_options_apply(&d->symbols, d->m, true);

	if (!status)
		status = bind_filter(d);
	if (status) {
		hl_model_close(d->m);
		return status;
	}
	d->format.m = d->m;
	d->format.json = d->common.json;
	d->format.header = d->format.long_format || d->format.stacks || isatty(1);
	err = write_all(d);
	if (err)
		hl_cli_error("the trace could not be read completely: %s", strerror(-err));
	hl_filter_print_unmatched(d->filter, d->m);
	hl_trace_file_warn(d->m);
	if (hl_model_has_aggregated(d->m))
		hl_cli_error("%" PRIu64 " of %" PRIu64 " blocks are recorded only as sums and not "
			     "listed; heaplapse log shows the sums",
			hl_model_info(d->m)->aggregated.alloc_blocks,
			hl_model_info(d->m)->totals.sums.alloc_blocks);
	warn_import_limits(d->m);
	status = hl_trace_file_close(
		d->m, &d->common, d->missing ? "a chunk that could not be read" : NULL);
	return err ? HL_EXIT_IO : status;
}

/* Of a session it opens what `report` shows. */
static int open_trace(struct dump *d, struct hl_session_choice *c, int argc, char **argv)
{
	int status;

	if (argc > 1)
		return hl_cli_usage("takes one trace, but \"%s\" follows \"%s\"", argv[1], argv[0]);
	status = hl_session_choose(c, &d->common, argc, argv, HL_SESSION_PROGRAM);
	if (!status)
		status = hl_session_require_one(c, "be read together", NULL);
	return status ? status : hl_trace_file_open_path(c->files[0], &d->m);
}

static int run_dump(void *state, int argc, char **argv)
{
	struct dump *d = state;
	struct hl_session_choice c = {0};
	int status = hl_filter_options(d->exprs.data, d->exprs.len, &d->filter);

	if (!status)
		status = open_trace(d, &c, argc, argv);
	if (!status)
		status = dump_trace(d);
	status = hl_session_choice_status(&c, status);
	hl_session_choice_fini(&c);
	return status;
}

static void fini_dump(void *state)
{
	struct dump *d = state;

	hl_symbol_options_fini(&d->symbols);
	hl_filter_free(d->filter);
	hl_vec_free(&d->exprs);
}

static const struct hl_opt dump_opts[] = {
	HL_OPT_PROCESS,
	{'n', "limit", "N", "print at most N lines", set_limit},
	{0, "filter", "EXPR", "only events that match EXPR (see below); repeat to AND", set_filter},
	{'l', "long", NULL, "add a header, lifetimes in ns, realloc chains and names of mmap flags",
		set_long},
	{0, "stacks", NULL, "print the allocating and freeing stacks below each event", set_stacks},
	{0, "json", NULL, "print JSON, with lifetimes and chains (json.md in share/doc/heaplapse)",
		hl_set_json},
	HL_SYMBOL_OPTS,
	HL_OPT_STRICT,
	HL_OPT_VERBOSE,
	{0},
};

static const struct hl_example dump_examples[] = {
	{"-n 20 app.hlt", "first 20 events"},
	{"--filter 'op:free size:>=4K' app.hlt", "large frees"},
	{"--stacks --filter 'chain-length:>=5' app.hlt", "realloc chains"},
	{0},
};

const struct hl_cmd hl_cmd_dump = {
	.name = "dump",
	.summary = "print every event of a trace, one per line",
	.usage = "[options] [FILE]",
	.examples = dump_examples,
	.about = HL_FILTER_ABOUT
	"  op:alloc, op:free  and the older forms function=NAME func=NAME !TERM\n"
	"  time:, thread: and call: are those of the event; all other terms are about its\n"
	"  block. fn: of a free matches both stacks.\n",
	.opts = dump_opts,
	.shared = hl_view_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct dump),
	.run = run_dump,
	.fini = fini_dump,
};
