/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_slice.c - makes a smaller or anonymized trace from a trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/options/output_options.h"
#include "cli/options/symbol_options.h"
#include "model/slice/slice.h"
#include "util/strbuf.h"
#include "util/safe_text.h"

struct slice {
	struct hl_trace_opts common; /* must be the first two members */
	struct hl_symbol_options symbols;
	HL_VEC(const char *) exprs;
	struct hl_output_options out;
	struct hl_slice params;
};
HL_SYMBOL_STATE_CHECK(struct slice);
HL_OUTPUT_SETTERS(struct slice);

static const char *set_range(void *state, const char *value)
{
	struct slice *s = state;
	size_t at;

	return hl_time_spec_parse_range(value, strlen(value), &s->params.from, &s->params.to, &at)
		       ? "a range of times such as 1s..2.5s, 50%.. or @mark:login..@peak"
		       : NULL;
}

static const char *set_min_life(void *state, const char *value)
{
	struct slice *s = state;
	struct hl_time_spec w;

	if (hl_time_spec_parse(value, strlen(value), &w) || w.kind != HL_TIME_SPEC_NS || w.ns == 0)
		return "a duration such as 100us or 10ms";
	s->params.min_life_ns = w.ns;
	return NULL;
}

static const char *set_filter(void *state, const char *value)
{
	return hl_vec_push(&((struct slice *)state)->exprs, value)
		       ? "small enough for the available memory"
		       : NULL;
}

#define ANONYMIZE_VALUES "names|full"
static const char *set_anonymize(void *state, const char *value)
{
	struct slice *s = state;
	int i = value ? hl_word_find(ANONYMIZE_VALUES, value) : 0;

	s->params.anonymity = i == 1 ? HL_ANONYMIZE_ALL : HL_ANONYMIZE_NAMES;
	return i < 0 ? HL_OPT_NOT_LISTED : NULL;
}

static void init_slice(void *state)
{
	((struct slice *)state)->params.to.kind = HL_TIME_SPEC_END;
}

/* Joins all expressions to the text that the trace records. The minimum lifetime becomes one more
 * term of the filter. */
static int make_filter(struct slice *s, struct hl_strbuf *text)
{
	struct hl_strbuf life_term = {0};
	int status = 0;

	for (size_t i = 0; i < s->exprs.len && !status; i++) {
		struct hl_filter *f;

		status = hl_filter_options(&s->exprs.data[i], 1, &f);
		if (!status && hl_filter_subjects(f) & HL_FILTER_OP)
			status = hl_filter_print_error("--filter", s->exprs.data[i],
				hl_filter_term_offset(f, HL_FILTER_OP),
				"a slice selects blocks with all their events: op= applies only to "
				"dump");
		hl_filter_free(f);
		hl_strbuf_printf(text, "%s%s", i ? " " : "", s->exprs.data[i]);
	}
	s->params.filter_text = s->exprs.len ? hl_strbuf_str(text) : NULL;
	hl_strbuf_printf(&life_term, "life:>=%" PRIu64 "ns", s->params.min_life_ns);
	if (s->params.min_life_ns && hl_vec_push(&s->exprs, hl_strbuf_str(&life_term)))
		status = HL_EXIT_IO;
	if (!status)
		status = hl_filter_options(s->exprs.data, s->exprs.len, &s->params.filter);
	hl_strbuf_fini(&life_term);
	return status;
}

/* Checks the range and the filter's times against the trace. Returns 0, or prints a message and
 * returns an exit status. */
static int check_range(struct slice *s, struct hl_model *m)
{
	uint64_t from, to, end = hl_model_end_ns(m);
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX];

	int err = hl_time_spec_check(&s->params.from, m);

	if (!err)
		err = hl_time_spec_check(&s->params.to, m);
	if (err)
		return hl_cli_usage("%s", hl_model_error(m));
	err = s->params.filter ? hl_filter_bind(s->params.filter, m) : 0;
	if (err == -ENOENT)
		return hl_cli_usage("%s", hl_model_error(m));
	if (err) {
		hl_cli_error("%s", hl_model_error(m));
		return HL_EXIT_IO;
	}
	if (s->params.filter && hl_filter_base_limit(s->params.filter, m))
		hl_cli_error("%s", hl_filter_base_limit(s->params.filter, m));
	from = hl_time_spec_ns(&s->params.from, m);
	to = hl_time_spec_ns(&s->params.to, m);
	if (from > end)
		return hl_cli_usage("--range begins at %s, but the recording ends at %s",
			hl_text_duration(a, from), hl_text_duration(b, end));
	if (from > to)
		return hl_cli_usage("--range ends at %s, before its start at %s",
			hl_text_duration(b, to), hl_text_duration(a, from));
	return 0;
}

static void print_done(const struct slice *s, const struct hl_slice_done *d)
{
	char n[HL_TEXT_SIZE_MAX], total[HL_TEXT_SIZE_MAX], t[HL_TEXT_SIZE_MAX];

	if (d->before_damage)
		hl_cli_error("part of the trace is lost: the slice ends before it, at %s",
			hl_text_duration(t, d->to_ns));
	if (!s->out.quiet)
		hl_cli_info("wrote %s: %s of %s allocations", s->out.file.path,
			hl_text_count(n, d->blocks),
			hl_text_count(total, d->blocks + d->left_out.blocks));
}

static int write_slice(struct slice *s, struct hl_model *m, struct hl_slice_done *done)
{
	int status = hl_atomic_file_open(&s->out.file), fd, err;

	if (status)
		return status;
	fd = fcntl(s->out.file.fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return hl_atomic_file_discard(&s->out.file, -errno);
	err = hl_slice_write(m, &s->params, fd, done);
	if (!err)
		return hl_atomic_file_commit(&s->out.file);
	if (!hl_model_error(m)[0])
		return hl_atomic_file_discard(&s->out.file, err);
	hl_cli_error("%s", hl_model_error(m));
	return hl_atomic_file_discard(&s->out.file, 0);
}

static int run_slice(void *state, int argc, char **argv)
{
	struct slice *s = state;
	struct hl_slice_done done;
	struct hl_strbuf text = {0};
	struct hl_model *m = NULL;
	int status;

	if (!s->out.file.path)
		return hl_cli_usage("no output file: name the new trace with -o part.hlt");
	status = make_filter(s, &text);
	if (!status)
		status = hl_trace_file_open(argc, argv, &m);
	if (!status)
		status = hl_symbol_options_apply(&s->symbols, m, true);
	if (!status)
		status = check_range(s, m);
	if (!status)
		status = write_slice(s, m, &done);
	if (!status) {
		hl_filter_print_unmatched(s->params.filter, m);
		hl_trace_file_warn(m);
		print_done(s, &done);
		status = hl_trace_file_close(m, &s->common,
			done.before_damage ? "a part of the trace that is lost" : NULL);
	} else {
		hl_model_close(m);
	}
	hl_filter_free(s->params.filter);
	hl_strbuf_fini(&text);
	return status;
}

static void fini_slice(void *state)
{
	struct slice *s = state;

	hl_vec_free(&s->exprs);
	hl_symbol_options_fini(&s->symbols);
}

static const struct hl_opt slice_opts[] = {
	HL_OPT_OUTPUT("FILE", "write the slice to FILE"),
	HL_OPT_OVERWRITE("FILE"),
	HL_OPT_QUIET("print errors only"),
	{0, "range", "A..B",
		"only from A to B: events in this period and blocks that are live at A", set_range},
	{0, "min-life", "DURATION", "only blocks with at least this lifetime", set_min_life},
	{0, "filter", "EXPR", "only blocks that match EXPR, as in report; repeat to AND",
		set_filter},
	{0, "anonymize", "[HOW]:" ANONYMIZE_VALUES,
		"replace the names of functions, files and modules (full: also program, texts, "
		"addresses)",
		set_anonymize},
	HL_OPT_UNSAFE_DIR,
	HL_OPT_STRICT,
	HL_OPT_VERBOSE,
	HL_SYMBOL_OPTS,
	{0},
};

static const struct hl_example slice_examples[] = {
	{"-o part.hlt --range 10s..20s app.hlt", "ten seconds of a run"},
	{"-o old.hlt --min-life 10ms app.hlt", "only long-lived blocks"},
	{"-o mine.hlt --filter fn:parse app.hlt", "only blocks of parse"},
	{"-o share.hlt --anonymize=full app.hlt", "share it anonymized"},
	{0},
};

const struct hl_cmd hl_cmd_slice = {
	.name = "slice",
	.summary = "write a part of a trace to a new trace, or anonymize it",
	.usage = "[options] -o NEW [FILE]",
	.examples = slice_examples,
	.about = "The numbers of a slice are exact, and info shows what was removed. Times are "
		 "those of\n"
		 "the whole run. Blocks that are live at A keep the time of their allocation.\n",
	.opts = slice_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct slice),
	.init = init_slice,
	.run = run_slice,
	.fini = fini_slice,
};
