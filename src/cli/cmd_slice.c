/*
 * cmd_slice.c - a smaller trace from a trace, or one that does not tell whose it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/new_file.h"
#include "cli/symbol_options.h"
#include "model/slice.h"
#include "util/strbuf.h"
#include "util/text.h"

struct slice {
	struct hl_trace_opts common; /* these two first */
	struct hl_symbol_options symbols;
	HL_VEC(const char *) exprs;
	struct hl_new_file out;
	bool quiet;
	struct hl_slice what;
};
HL_SYMBOL_STATE_CHECK(struct slice);

static const char *set_output(void *state, const char *value)
{
	((struct slice *)state)->out.path = value;
	return hl_new_file_wrong_name(value);
}

static const char *set_overwrite(void *state, const char *value)
{
	((struct slice *)state)->out.overwrite = true;
	return NULL;
}

static const char *set_force(void *state, const char *value)
{
	((struct slice *)state)->out.anywhere = true;
	return NULL;
}

static const char *set_quiet(void *state, const char *value)
{
	((struct slice *)state)->quiet = true;
	return NULL;
}

static const char *set_range(void *state, const char *value)
{
	struct slice *s = state;
	size_t at;

	return hl_when_parse_range(value, strlen(value), &s->what.from, &s->what.to, &at)
		       ? "a range of times such as 1s..2.5s, 50%.. or @mark:login..@peak"
		       : NULL;
}

static const char *set_min_life(void *state, const char *value)
{
	struct slice *s = state;
	struct hl_when w;

	if (hl_when_parse(value, strlen(value), &w) || w.kind != HL_WHEN_NS || w.ns == 0)
		return "a duration such as 100us or 10ms";
	s->what.min_life_ns = w.ns;
	return NULL;
}

static const char *set_filter(void *state, const char *value)
{
	return hl_vec_push(&((struct slice *)state)->exprs, value) ? "within the memory there is"
								   : NULL;
}

#define ANONYMIZE_VALUES "names|full"
static const char *set_anonymize(void *state, const char *value)
{
	struct slice *s = state;
	int i = value ? hl_word_find(ANONYMIZE_VALUES, value) : 0;

	s->what.anonymity = i == 1 ? HL_ALL_MADE_UP : HL_NAMES_MADE_UP;
	return i < 0 ? HL_OPT_NOT_LISTED : NULL;
}

static void init_slice(void *state)
{
	((struct slice *)state)->what.to.kind = HL_WHEN_END;
}

/* One expression of all, as the trace will say it; the shortest life is a term like any other. */
static int make_filter(struct slice *s, struct hl_strbuf *text)
{
	struct hl_strbuf life = {0};
	int status = 0;

	for (size_t i = 0; i < s->exprs.len && !status; i++) {
		struct hl_filter *f;

		status = hl_filter_options(&s->exprs.data[i], 1, &f);
		if (!status && hl_filter_subjects(f) & HL_FILTER_OP)
			status = hl_filter_complain(s->exprs.data[i],
				hl_filter_place_of(f, HL_FILTER_OP),
				"a slice keeps blocks with all their events: op= is for dump");
		hl_filter_free(f);
		hl_strbuf_printf(text, "%s%s", i ? " " : "", s->exprs.data[i]);
	}
	s->what.filter_text = s->exprs.len ? hl_strbuf_str(text) : NULL;
	hl_strbuf_printf(&life, "life:>=%" PRIu64 "ns", s->what.min_life_ns);
	if (s->what.min_life_ns && hl_vec_push(&s->exprs, hl_strbuf_str(&life)))
		status = HL_EXIT_IO;
	if (!status)
		status = hl_filter_options(s->exprs.data, s->exprs.len, &s->what.filter);
	hl_strbuf_fini(&life);
	return status;
}

/* 0, or an exit status with a message: there are no such moments in this trace. */
static int check_range(struct slice *s, struct hl_model *m)
{
	uint64_t from, to, end = hl_model_end_ns(m);
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX];

	int err = hl_when_check(&s->what.from, m);

	if (!err)
		err = hl_when_check(&s->what.to, m);
	if (err)
		return hl_cli_usage("%s", hl_model_error(m));
	err = s->what.filter ? hl_filter_bind(s->what.filter, m) : 0;
	if (err == -ENOENT)
		return hl_cli_usage("%s", hl_model_error(m));
	if (err) {
		hl_cli_error("%s", hl_model_error(m));
		return HL_EXIT_IO;
	}
	from = hl_when_ns(&s->what.from, m);
	to = hl_when_ns(&s->what.to, m);
	if (from > end)
		return hl_cli_usage("--range: it begins at %s, but the recording ends at %s",
			hl_text_duration(a, from), hl_text_duration(b, end));
	if (from > to)
		return hl_cli_usage("--range: it ends at %s, before it begins at %s",
			hl_text_duration(b, to), hl_text_duration(a, from));
	return 0;
}

static void say_done(const struct slice *s, const struct hl_slice_done *d)
{
	char n[HL_TEXT_SIZE_MAX], of[HL_TEXT_SIZE_MAX], t[HL_TEXT_SIZE_MAX];

	if (d->moved)
		hl_cli_error("a part of the trace is lost: the slice ends before it, at %s",
			hl_text_duration(t, d->to_ns));
	if (!s->quiet)
		hl_cli_error("%s: %s of %s allocations", s->out.path, hl_text_count(n, d->blocks),
			hl_text_count(of, d->blocks + d->left_out.blocks));
}

static int write_slice(struct slice *s, struct hl_model *m, struct hl_slice_done *done)
{
	int status = hl_new_file_open(&s->out), fd, err;

	if (status)
		return status;
	fd = fcntl(s->out.fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return hl_new_file_drop(&s->out, -errno);
	err = hl_slice_write(m, &s->what, fd, done);
	if (!err)
		return hl_new_file_keep(&s->out);
	if (!hl_model_error(m)[0])
		return hl_new_file_drop(&s->out, err);
	hl_cli_error("%s", hl_model_error(m));
	return hl_new_file_drop(&s->out, 0);
}

static int run_slice(void *state, int argc, char **argv)
{
	struct slice *s = state;
	struct hl_slice_done done;
	struct hl_strbuf text = {0};
	struct hl_model *m = NULL;
	int status;

	if (!s->out.path)
		return hl_cli_usage("where to? name the new trace: -o part.hlt");
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
		hl_trace_file_warn(m);
		say_done(s, &done);
		status = hl_trace_file_close(
			m, &s->common, done.moved ? "a part of the trace that is lost" : NULL);
	} else {
		hl_model_close(m);
	}
	hl_filter_free(s->what.filter);
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
	{'o', "output", "FILE", "write the slice to FILE", set_output},
	{'f', "overwrite", NULL, "replace FILE if it exists", set_overwrite},
	{'q', "quiet", NULL, "say nothing but errors", set_quiet},
	{0, "range", "A..B",
		"from A to B only: what happens then, and the blocks that are live at A",
		set_range},
	{0, "min-life", "DURATION", "only blocks that live at least so long", set_min_life},
	{0, "filter", "EXPR", "only blocks that fit EXPR, as in report; again: and", set_filter},
	{0, "anonymize", "[HOW]:" ANONYMIZE_VALUES,
		"made-up names of functions, files and modules; =full: of all that could tell "
		"whose it is",
		set_anonymize},
	{0, "force", NULL, "write also into a folder that everybody may change", set_force},
	HL_OPT_STRICT,
	HL_OPT_VERBOSE,
	HL_SYMBOL_OPTS,
	{0},
};

static const struct hl_example slice_examples[] = {
	{"-o part.hlt --range 10s..20s app.hlt", "ten seconds of a long run"},
	{"-o old.hlt --min-life 10ms app.hlt", "without what dies young"},
	{"-o mine.hlt --filter fn:parse app.hlt", "what parse allocates"},
	{"-o share.hlt --anonymize=full app.hlt", "to be given to others"},
	{0},
};

const struct hl_cmd hl_cmd_slice = {
	.name = "slice",
	.summary = "cut a smaller trace from a trace, or make it anonymous",
	.usage = "[options] -o NEW [FILE]",
	.examples = slice_examples,
	.about = "What is left is exact, and the new trace says what was cut: see info. Times are "
		 "those\n"
		 "of the whole run. A block that is live at A is there from its own birth on.\n",
	.opts = slice_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct slice),
	.init = init_slice,
	.run = run_slice,
	.fini = fini_slice,
};
