/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_tags.c - prints trees of tags: of a running program, of snapshots, of a trace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/tags/tags_draw.h"
#include "cli/tags/tags_input.h"
#include "cli/files/trace_file.h"
#include "util/terminal/progress.h"

#define PATTERNS 16

struct patterns {
	struct hl_tag_merge rows[PATTERNS];
	struct hl_pattern *owned[PATTERNS];
	size_t n;
};

struct tags_state {
	struct hl_trace_opts trace; /* must be the first member */
	struct patterns threads, scopes;
	const char *output;
	enum hl_tags_format form;
	bool form_given, diff, one;
	uint64_t min_share;
};

static const char *add_pattern(struct patterns *p, const char *value)
{
	struct hl_pattern_error error;

	if (p->n == PATTERNS)
		return "given at most 16 times";
	if (!*value || hl_pattern_new(&p->owned[p->n], value, strlen(value), &error))
		return "a part of a name, a glob or a /regular expression/";
	p->rows[p->n] = (struct hl_tag_merge){p->owned[p->n], value};
	p->n++;
	return NULL;
}

static const char *set_merge_threads(void *state, const char *value)
{
	return add_pattern(&((struct tags_state *)state)->threads, value);
}

static const char *set_merge_scopes(void *state, const char *value)
{
	return add_pattern(&((struct tags_state *)state)->scopes, value);
}

static const char *set_form(struct tags_state *s, enum hl_tags_format form)
{
	s->form = form;
	s->form_given = true;
	hl_progress_disable();
	return NULL;
}

static const char *set_tags_json(void *state, const char *value)
{
	return set_form(state, HL_TAGS_JSON);
}

static const char *set_dot(void *state, const char *value)
{
	return set_form(state, HL_TAGS_DOT);
}

static const char *set_output(void *state, const char *value)
{
	((struct tags_state *)state)->output = value;
	return NULL;
}

static const char *set_diff(void *state, const char *value)
{
	((struct tags_state *)state)->diff = true;
	return NULL;
}

static const char *set_all_threads(void *state, const char *value)
{
	((struct tags_state *)state)->one = true;
	return NULL;
}

static const char *set_min_share(void *state, const char *value)
{
	char *end;
	double percent = strtod(value, &end);

	if (value[0] < '0' || value[0] > '9' || *end || !(percent <= 100))
		return "a number of percent from 0 to 100";
	((struct tags_state *)state)->min_share = (uint64_t)(percent * 100 + 0.5);
	return NULL;
}

/* Adds up the trees of all operands. With --diff the first of the two is subtracted. */
static int add_operands(struct tags_state *s, int argc, char **argv, struct hl_tag_trees *sum)
{
	const struct hl_tag_merges merges = {.threads = s->threads.rows,
		.n_threads = s->threads.n,
		.scopes = s->scopes.rows,
		.n_scopes = s->scopes.n,
		.by_name = s->diff || argc > 1,
		.all_threads = s->one};
	int status = HL_EXIT_OK;

	for (int i = argc - 1; i >= 0 && !status; i--) {
		struct hl_tag_trees trees = {0};

		status = hl_tags_input(argv[i], &trees);
		if (!status && i < argc - 1 && !hl_tag_trees_are_comparable(sum, &trees))
			status = hl_cli_usage(
				"%s and %s count differently (%s) and cannot be combined", argv[i],
				argv[argc - 1], hl_tag_charge_text(&trees.r));
		if (!status && hl_tag_trees_add(sum, &trees, &merges, s->diff && i == 0)) {
			hl_cli_error("out of memory for these trees");
			status = HL_EXIT_IO;
		}
		hl_tag_trees_fini(&trees);
	}
	return status;
}

/* True if some counters are not charged to the right scope; the output says so, too. */
static bool is_incomplete(const struct hl_tag_report *r)
{
	bool incomplete = r->unsettled > 0;

	for (uint32_t i = 0; i < r->n_threads; i++)
		incomplete |= r->threads[i].failed != 0;
	return incomplete;
}

static int run_tags(void *state, int argc, char **argv)
{
	struct tags_state *s = state;
	struct hl_tag_trees sum = {0};
	int status;

	if (argc == 0)
		return hl_cli_usage("which process (its pid), snapshot or trace?");
	if (s->diff && argc != 2)
		return hl_cli_usage(
			"--diff takes two operands: the state before and the state after");
	if (s->output && !s->form_given && !hl_tags_format_of_path(s->output, &s->form))
		return hl_cli_usage("-o %s: unknown suffix; use .txt, .json, .dot, .svg, .png or "
				    ".pdf (also .svgz, .gif, .jpg, .bmp), or --json or --dot",
			s->output);
	status = add_operands(s, argc, argv, &sum);
	if (!status && s->output)
		status = hl_tags_write(s->output, &sum.r, s->form, s->min_share);
	else if (!status)
		hl_tags_print(stdout, &sum.r, s->form, s->min_share);
	if (!status && s->trace.strict && is_incomplete(&sum.r))
		status = HL_EXIT_INCOMPLETE;
	hl_tag_trees_fini(&sum);
	for (size_t i = 0; i < PATTERNS; i++) {
		hl_pattern_free(s->threads.owned[i]);
		hl_pattern_free(s->scopes.owned[i]);
	}
	return status;
}

static const struct hl_opt tags_opts[] = {
	{'o', "output", "FILE",
		"write to FILE; its suffix is the format: .txt, .json, .dot, or .svg, .svgz, .png, "
		".pdf, .gif, .jpg, .bmp through graphviz",
		set_output},
	{0, "json", NULL, "print JSON, the format of snapshots", set_tags_json},
	{0, "dot", NULL, "print a graph for graphviz", set_dot},
	{0, "diff", NULL, "show the changes from the first operand to the second", set_diff},
	{0, "all-threads", NULL, "merge all threads into one tree", set_all_threads},
	{0, "merge-threads", "PATTERN",
		"merge threads with matching names; part of a name, a glob or /a regular "
		"expression/; may be repeated",
		set_merge_threads},
	{0, "merge-scopes", "PATTERN", "merge sibling scopes with matching names",
		set_merge_scopes},
	{0, "min-share", "PERCENT", "hide scopes with a smaller share of all bytes", set_min_share},
	HL_OPT_STRICT,
	{0},
};

static const struct hl_example tags_examples[] = {
	{"4711", "a running program"},
	{"-o tags.svg app.0003.json", "draw a snapshot"},
	{"--diff app.0000.json app.0003.json", "compare two snapshots"},
	{"--merge-threads '/worker-\\d+/' 4711", "all workers as one tree"},
	{0},
};

const struct hl_cmd hl_cmd_tags = {
	.name = "tags",
	.summary = "show memory by the scopes that a program names",
	.usage = "[options] PID|FILE...",
	.about =
		"FILE is a snapshot (HEAPLAPSE_STATS_JSON, HEAPLAPSE_SNAPSHOT_PREFIX) or a trace.\n"
		"Several are added, threads of one name together. Sizes are usable sizes of the\n"
		"allocator. In mode tags a free is charged to the scope that frees, with "
		"--tags=owner to\n"
		"the scope that allocated; each output says which.\n",
	.examples = tags_examples,
	.opts = tags_opts,
	.shared = hl_view_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct tags_state),
	.run = run_tags,
};
