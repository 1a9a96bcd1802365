/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_text.c - the most important facts of a trace on one screen.
 *
 * The parts have a fixed order. What is left of the screen after all lists goes to the plot first,
 * and then to empty lines between the parts.
 */
#include <stdlib.h>
#include <string.h>

#include "util/terminal/shell_word.h"
#include "views/text/overview_text_internal.h"

#define LINES    40
#define PLOT_MIN 2
#define PLOT_MAX 4
#define ROWS_MIN 2 /* of a list: sites that must be shown are in its first rows */

/* --- names that are missing --- */

/* The number of rows whose site is in this module and has no file. */
static size_t count_nameless(struct hl_model *m, const struct hl_overview *o, const char *path)
{
	size_t count = 0;

	for (int id = 0; id < HL_OVERVIEW_LISTS; id++) {
		const struct hl_overview_list *l = &o->lists[id];

		for (size_t i = 0; i < l->n; i++) {
			const struct hl_frame *f = hl_model_frame(m, o->sites[l->sites[i]].frame);

			count += !f->file && f->module && strcmp(f->module, path) == 0;
		}
	}
	return count;
}

/* One line about the module that most rows without a line are in. */
static void put_missing_names(
	FILE *out, struct hl_model *m, const struct hl_overview *o, const struct hl_text_opts *opts)
{
	const char *path, *note, *advice;
	size_t best = 0, most = 0, modules = 0;
	struct hl_strbuf b = {0};

	for (size_t i = 0; i < hl_model_n_module_notes(m); i++) {
		size_t n;

		hl_model_module_note(m, i, &path, &note);
		n = note[0] ? count_nameless(m, o, path) : 0;
		modules += n > 0;
		if (n > most) {
			most = n;
			best = i;
		}
	}
	if (most == 0)
		return;
	hl_model_module_note(m, best, &path, &note);
	advice = hl_model_advice(m, best);
	hl_strbuf_puts(&b, "names: ");
	hl_text_escape(&b, path);
	hl_strbuf_puts(&b, ": ");
	hl_text_escape(&b, note);
	hl_strbuf_printf(&b, advice[0] ? " (%s)" : "%s", advice);
	if (modules > 1)
		hl_strbuf_printf(
			&b, "; and %zu more module%s", modules - 1, hl_plural(modules - 1));
	hl_put_wrapped(out, hl_strbuf_str(&b), HL_STYLE_PLAIN, 2, opts);
	hl_strbuf_fini(&b);
	if (hl_text_needs_debug_archive(advice))
		hl_put_wrapped(out, "  " HL_TEXT_DEBUG_ARCHIVE, HL_STYLE_PLAIN, 2, opts);
}

/* The line about wrappers without the empty line before it. */
static void put_wrappers(FILE *out, struct hl_model *m, const struct hl_text_opts *opts)
{
	char *text = NULL;
	size_t len = 0;
	FILE *line = open_memstream(&text, &len);

	if (!line)
		return;
	hl_text_wrappers(line, m, opts);
	fclose(line);
	if (text && text[0] == '\n')
		fputs(text + 1, out);
	free(text);
}

/* The sentence about an interpreter without the empty line before it. */
static void put_interpreter(FILE *out, struct hl_model *m, const struct hl_text_opts *opts)
{
	char *text = NULL;
	size_t len = 0;
	FILE *line = opts->language ? open_memstream(&text, &len) : NULL;

	if (!line)
		return;
	(void)hl_text_interpreter(line, m, opts->language, opts); /* it is optional here */
	fclose(line);
	if (text && text[0] == '\n')
		fputs(text + 1, out);
	free(text);
}

/* --- the commands that go deeper --- */

void hl_overview_put_command(
	struct hl_strbuf *b, const char *options, const struct hl_text_opts *opts)
{
	struct hl_strbuf raw = {0};

	hl_shell_put_word(&raw, opts->command ? opts->command : "heaplapse");
	hl_strbuf_printf(&raw, " report %s%s", options, opts->options ? opts->options : "");
	if (opts->file) {
		hl_strbuf_putc(&raw, ' ');
		hl_shell_put_path(&raw, opts->file);
	}
	hl_text_escape(b, hl_strbuf_str(&raw));
	hl_strbuf_fini(&raw);
}

/* The comment is omitted if it does not fit. */
static void put_command(FILE *out, const char *options, const char *what, size_t column,
	const struct hl_text_opts *opts)
{
	struct hl_strbuf line = {0};
	size_t n;

	hl_overview_put_command(&line, options, opts);
	n = hl_display_columns(hl_strbuf_str(&line), line.len) + 2;
	fprintf(out, "  %s", hl_strbuf_str(&line));
	column = column > n ? column : n;
	if (!opts->shorten || column + 4 + strlen(what) <= opts->width)
		fprintf(out, "%*s  %s# %s%s", (int)(column - n), "", hl_text_dim(opts), what,
			hl_text_plain(opts));
	putc('\n', out);
	hl_strbuf_fini(&line);
}

struct command {
	const char *options, *what;
};

static void put_commands(FILE *out, const struct hl_overview *o, const struct hl_text_opts *opts)
{
	struct command c[3];
	size_t n = 0, column = 0;

	if (o->peak_state == HL_OVERVIEW_KNOWN && o->can_show_peak)
		c[n++] = (struct command){"--peak", "stacks that held the peak"};
	if (o->at_end.blocks > 0 && o->can_show_leaks)
		c[n++] = (struct command){
			"--leaks", o->leaked ? "stacks not freed" : "stacks live at the end"};
	if (o->can_show_sites)
		c[n++] = (struct command){"--allocated --sites", "all sites, with their lifetimes"};
	for (size_t i = 0; i < n; i++) {
		struct hl_strbuf line = {0};
		size_t len;

		hl_overview_put_command(&line, c[i].options, opts);
		len = hl_display_columns(hl_strbuf_str(&line), line.len) + 2;
		column = len > column ? len : column;
		hl_strbuf_fini(&line);
	}
	for (size_t i = 0; i < n; i++)
		put_command(out, c[i].options, c[i].what, column, opts);
}

/* --- the page --- */

enum part { PART_HEAD, PART_VERDICTS, PART_PLOT, PART_LISTS, PART_NAMES, PART_COMMANDS, PARTS };

struct page {
	struct hl_result *r;
	const struct hl_text_opts *opts;
	unsigned plot; /* height of the plot */
	size_t rows;   /* of each list, at most */
	unsigned lines[PARTS], n_lines, n_parts;
};

static void put_part(
	FILE *out, const struct page *p, enum part part, const struct hl_text_opts *opts)
{
	struct hl_result *r = p->r;
	const struct hl_overview *o = &((const struct hl_overview_result *)r->data)->overview;

	if (o->allocated.blocks == 0 && part != PART_HEAD && part != PART_NAMES)
		return; /* there is nothing to show, and a message says why */
	switch (part) {
	case PART_HEAD:
		hl_overview_put_head(out, r, opts);
		break;
	case PART_VERDICTS:
		hl_overview_put_verdicts(out, r->m, o, opts);
		break;
	case PART_PLOT:
		hl_overview_put_plot(out, r->m, o, p->plot, opts);
		break;
	case PART_LISTS:
		for (int id = 0; id < HL_OVERVIEW_LISTS; id++)
			hl_overview_put_list(out, r->m, o, id, p->rows, opts);
		break;
	case PART_NAMES:
		put_wrappers(out, r->m, opts);
		put_missing_names(out, r->m, o, opts);
		put_interpreter(out, r->m, opts);
		break;
	default:
		put_commands(out, o, opts);
	}
}

/* The lines of a part, rendered to memory. */
static unsigned count_lines(const struct page *p, enum part part)
{
	struct hl_text_opts opts = *p->opts;
	const char *language = opts.language ? *opts.language : NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	unsigned n = 0;

	if (!out)
		return 0;
	opts.rows = NULL;
	opts.language = opts.language ? &language : NULL;
	put_part(out, p, part, &opts);
	fclose(out);
	for (size_t i = 0; i < len && text; i++)
		n += text[i] == '\n';
	free(text);
	return n;
}

static void count_page(struct page *p)
{
	p->n_lines = p->n_parts = 0;
	for (int i = 0; i < PARTS; i++) {
		p->lines[i] = count_lines(p, i);
		p->n_lines += p->lines[i];
		p->n_parts += p->lines[i] > 0;
	}
}

/* If the page is too long, the lists get shorter, unless the user has chosen their length. Lines
 * that are left separate the parts, and then go to the plot. */
static void lay_out(struct page *p)
{
	unsigned needed;

	count_page(p);
	while (p->n_lines > LINES && p->rows > ROWS_MIN && !p->r->plan->request->limit_given) {
		p->rows--;
		count_page(p);
	}
	needed = p->n_lines + p->n_parts - 1;
	while (p->plot < PLOT_MAX && p->lines[PART_PLOT] > 0 && needed < LINES) {
		p->plot++;
		p->n_lines++;
		needed++;
	}
}

/* The most rows that a list has. */
static size_t count_rows(const struct hl_result *r)
{
	const struct hl_overview *o = &((const struct hl_overview_result *)r->data)->overview;
	size_t most = 1;

	for (int id = 0; id < HL_OVERVIEW_LISTS; id++)
		most = o->lists[id].n > most ? o->lists[id].n : most;
	return most;
}

int hl_text_overview(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	struct page p = {.r = r, .opts = opts, .plot = PLOT_MIN, .rows = count_rows(r)};
	unsigned spare, shown = 0;

	lay_out(&p);
	spare = p.n_lines < LINES ? LINES - p.n_lines : 0;
	for (int i = 0; i < PARTS; i++) {
		if (p.lines[i] == 0)
			continue;
		if (shown++ > 0 && spare > 0) {
			putc('\n', out);
			spare--;
		}
		put_part(out, &p, i, opts);
	}
	return 0;
}

/* --- the end of a recording --- */

#define SHORT_ROWS 2

static void put_short_list(FILE *out, struct hl_model *m, const struct hl_overview *o,
	enum hl_overview_list_id id, const struct hl_text_opts *opts)
{
	if (o->lists[id].n > 0)
		hl_overview_put_list(out, m, o, id, SHORT_ROWS, opts);
}

/* Returns whether the blocks that are live at the end are at least 1 % of the peak. The short
 * overview then lists them; otherwise it lists churn, if a verdict is about that. */
static bool is_left(const struct hl_overview *o)
{
	return o->at_end.bytes > 0 && o->at_end.bytes >= o->peak.bytes / 100;
}

static bool has_verdict(const struct hl_overview *o, enum hl_overview_verdict_kind kind)
{
	for (size_t i = 0; i < o->n_verdicts; i++) {
		if (o->verdicts[i].kind == kind)
			return true;
	}
	return false;
}

void hl_text_overview_short(
	FILE *out, struct hl_model *m, const struct hl_overview *o, const struct hl_text_opts *opts)
{
	hl_overview_put_verdicts(out, m, o, opts);
	if (o->sites_state == HL_OVERVIEW_LEFT_OUT)
		hl_overview_put_fact(out, "call sites", "-",
			"their names take longer: see the next command", opts);
	put_short_list(out, m, o, HL_OVERVIEW_HELD, opts);
	if (is_left(o))
		put_short_list(out, m, o, HL_OVERVIEW_LEFT, opts);
	else if (has_verdict(o, HL_VERDICT_SHORT_LIVED))
		put_short_list(out, m, o, HL_OVERVIEW_CHURNING, opts);
	put_wrappers(out, m, opts);
}
