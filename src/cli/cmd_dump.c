/*
 * cmd_dump.c - every event as a line, in the form of docs/trace-format.md.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/trace_file.h"
#include "trace/dump.h"
#include "util/progress.h"
#include "util/vec.h"

struct dump {
	struct hl_trace_opts common; /* first */
	HL_VEC(const char *) exprs;
	bool limited;
	uint64_t left; /* lines that may still be printed */

	struct hl_model *m;
	struct hl_roles roles;
	struct hl_filter *filter;
	bool missing; /* a chunk could not be read */
	char *text;   /* for extras with long texts */
	size_t text_size;
};

static const char *set_filter(void *state, const char *value)
{
	return hl_vec_push(&((struct dump *)state)->exprs, value) ? "within the memory there is"
								  : NULL;
}

static const char *set_limit(void *state, const char *value)
{
	struct dump *d = state;
	char *end;

	errno = 0;
	d->limited = true;
	d->left = strtoull(value, &end, 10);
	return value[0] < '0' || value[0] > '9' || *end || errno ? "a number" : NULL;
}

static bool may_print(struct dump *d)
{
	if (!d->limited)
		return true;
	if (d->left == 0)
		return false;
	d->left--;
	return true;
}

static int put_event(struct dump *d, const struct hl_event *e, uint64_t before)
{
	char line[HL_DUMP_LINE + 1];
	bool holds = true;
	int n, err;

	if (d->filter) {
		err = hl_filter_event(d->filter, d->m, e, before, &holds);
		if (err)
			return err;
	}
	if (!holds || !may_print(d))
		return 0;
	n = hl_dump_event(line, HL_DUMP_LINE, e, &d->roles);
	line[n] = '\n';
	fwrite(line, 1, (size_t)n + 1, stdout);
	return 0;
}

static int put_extra(struct dump *d, const struct hl_extra *x, uint64_t before)
{
	size_t need = HL_DUMP_LINE + (x->text ? 4 * strlen(x->text) : 0);

	if ((d->filter && !hl_filter_extra(d->filter, d->m, x, before)) || !may_print(d))
		return 0;
	if (need > d->text_size) {
		char *bigger = realloc(d->text, need);

		if (!bigger)
			return -ENOMEM;
		d->text = bigger;
		d->text_size = need;
	}
	hl_dump_extra(d->text, d->text_size, x, &d->roles);
	puts(d->text);
	return 0;
}

/* first: how many events come before it. */
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
		if (d->limited && d->left == 0)
			break;
	}
	return err;
}

static int put_all(struct dump *d)
{
	struct hl_reader *r = hl_model_reader(d->m);
	struct hl_chunk_events c = {0};
	bool show = !isatty(1); /* lines that run past are progress enough */
	int err = hl_reader_roles(r, &d->roles.list, &d->roles.n);

	hl_progress_begin("writing events");
	for (size_t i = 0; i < hl_reader_n_chunks(r) && !err && !ferror(stdout); i++) {
		const struct hl_chunk_info *info = hl_reader_chunk(r, i);

		if (d->limited && d->left == 0)
			break;
		err = info->lost ? -EBADMSG : hl_reader_decode(r, i, &c);
		if (err == -EBADMSG) {
			fflush(stdout);
			hl_cli_error("after event %" PRIu64 " a chunk of %" PRIu32 " is lost",
				info->first_event, info->n_events);
			d->missing = true;
			err = 0;
			continue;
		}
		if (!err)
			err = put_chunk(d, &c, info->first_event);
		if (show)
			hl_progress_tick(i + 1, hl_reader_n_chunks(r));
	}
	hl_progress_end();
	hl_chunk_events_free(&c);
	return err;
}

static int run_dump(void *state, int argc, char **argv)
{
	struct dump *d = state;
	int status = hl_filter_options(d->exprs.data, d->exprs.len, &d->filter), err;

	if (!status)
		status = hl_trace_file_open(argc, argv, &d->m);
	if (!status) {
		if (d->filter && hl_filter_bind(d->filter, d->m)) {
			status = hl_cli_usage("%s", hl_model_error(d->m));
			hl_model_close(d->m);
		}
	}
	if (!status) {
		err = put_all(d);
		if (err)
			hl_cli_error("the trace cannot be read to its end: %s", strerror(-err));
		hl_trace_file_warn(d->m);
		if (hl_model_withholds(d->m))
			hl_cli_error("%" PRIu64 " of %" PRIu64 " blocks are in sums only and in "
				     "no line: see heaplapse log",
				hl_model_info(d->m)->withheld.alloc_blocks,
				hl_model_info(d->m)->totals.sums.alloc_blocks);
		status = hl_trace_file_close(
			d->m, &d->common, d->missing ? "a chunk that could not be read" : NULL);
		if (err)
			status = HL_EXIT_IO;
	}
	hl_filter_free(d->filter);
	hl_vec_free(&d->exprs);
	free(d->text);
	return status;
}

static const struct hl_opt dump_opts[] = {
	{'n', "limit", "N", "no more than N lines", set_limit},
	{0, "filter", "EXPR", "only events that fit EXPR, see below; again: and", set_filter},
	HL_OPT_STRICT,
	HL_OPT_VERBOSE,
	{0},
};

static const struct hl_example dump_examples[] = {
	{"-n 20 app.hlt", "the first twenty events"},
	{"--filter 'op=free size>=4K' app.hlt", "frees of large blocks"},
	{0},
};

const struct hl_cmd hl_cmd_dump = {
	.name = "dump",
	.summary = "every event of a trace, one on each line",
	.usage = "[options] [FILE]",
	.examples = dump_examples,
	.about = "EXPR is a list of terms that must all hold, ! turns one round:\n"
		 "  op=free  size>=4K  thread=0  func=realloc  time=1s..2s  function=parse\n"
		 "  function=NAME: a frame of the stack, or the call, has NAME in its name.\n",
	.opts = dump_opts,
	.shared = hl_view_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct dump),
	.run = run_dump,
};
