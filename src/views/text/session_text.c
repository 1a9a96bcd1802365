/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_text.c - see session_text.h. The numbers of a process are those of the largest of its
 * programs, as `report --process PID` shows them.
 */
#include "views/text/session_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "util/code_name/code_name.h"
#include "util/safe_text.h"
#include "util/strbuf.h"

/* The other programs of a process that called exec: the first one before the largest, and the last
 * one after it. */
static void find_others(const struct hl_session_list *s, const struct hl_session_process *p,
	const struct hl_session_file **before, const struct hl_session_file **after)
{
	const struct hl_session_file *largest = &s->files.data[p->largest];
	bool is_later = false;

	*before = *after = NULL;
	for (size_t i = 0; i < p->n_files; i++) {
		const struct hl_session_file *f = &s->files.data[s->order.data[p->in_order + i]];

		/* A fork child runs the program of its parent, which is not worth a word. A file
		 * that continues another one is of the same program. */
		if (f == largest)
			is_later = true;
		else if (is_later)
			*after = f;
		else if (!f->forked && !*before && !largest->continues)
			*before = f;
	}
}

#define NAME_COLUMNS     30 /* of a page of 80 */
#define ARGUMENT_COLUMNS 10 /* at least */

/* The word that distinguishes it from others of the same program, as long as the page allows. */
static void put_argument(struct hl_strbuf *b, const char *argument, size_t used)
{
	size_t room = used + 1 + ARGUMENT_COLUMNS < NAME_COLUMNS ? NAME_COLUMNS - used - 1
								 : ARGUMENT_COLUMNS;
	struct hl_strbuf shown = {0};

	hl_text_escape(&shown, argument);
	hl_strbuf_putc(b, ' ');
	hl_code_name_cut(b, hl_strbuf_str(&shown), shown.len, room, 1, "...");
	hl_strbuf_fini(&shown);
}

/* " (after bash)" */
static void put_other_programs(
	struct hl_strbuf *b, const struct hl_session_list *s, const struct hl_session_process *p)
{
	const struct hl_session_file *before, *after;
	bool unrecorded;

	find_others(s, p, &before, &after);
	unrecorded = s->files.data[p->last].end.kind == HL_END_EXEC;
	if (before || after || unrecorded)
		hl_strbuf_puts(b, " (");
	if (before) {
		hl_strbuf_puts(b, "after ");
		hl_text_escape(b, hl_session_base(before->program));
	}
	if (after) {
		hl_strbuf_puts(b, before ? ", then " : "then ");
		hl_text_escape(b, hl_session_base(after->program));
	}
	if (unrecorded)
		hl_strbuf_puts(
			b, before || after ? ", then one not recorded" : "then one not recorded");
	if (before || after || unrecorded)
		hl_strbuf_putc(b, ')');
	if (s->files.data[p->last].end.kind == HL_END_RUNNING)
		hl_strbuf_puts(b, " (running)");
	if (s->files.data[p->largest].is_damaged)
		hl_strbuf_puts(b, " (damaged trace)");
}

/* "python3.11 setup.py (after bash)" */
static void put_programs(
	struct hl_strbuf *b, const struct hl_session_list *s, const struct hl_session_process *p)
{
	struct hl_strbuf others = {0};

	put_other_programs(&others, s, p);
	hl_text_escape(b, hl_session_base(s->files.data[p->largest].program));
	if (p->argument)
		put_argument(b, p->argument, b->len + others.len);
	hl_strbuf_puts(b, hl_strbuf_str(&others));
	hl_strbuf_fini(&others);
}

static void put_process(FILE *out, const struct hl_session_list *s, size_t i, const char *indent)
{
	const struct hl_session_file *f = hl_session_largest(s, i);
	char peak[HL_TEXT_SIZE_MAX], resident[HL_TEXT_SIZE_MAX], allocations[HL_TEXT_SIZE_MAX];
	struct hl_strbuf programs = {0};

	put_programs(&programs, s, &s->processes.data[i]);
	fprintf(out, "%s%11s  %10s  %11s  %8" PRIu64 "  %s\n", indent,
		hl_text_bytes(peak, f->peak_bytes),
		f->resident_bytes ? hl_text_bytes(resident, f->resident_bytes) : "-",
		hl_text_count(allocations, f->allocations), f->pid, hl_strbuf_str(&programs));
	hl_strbuf_fini(&programs);
}

int hl_text_session(FILE *out, const struct hl_session_list *s, size_t limit, const char *indent)
{
	size_t *order = hl_session_by_peak(s), n = s->processes.len;

	if (!order)
		return -ENOMEM;
	fprintf(out, "%s%11s  %10s  %11s  %8s  %s\n", indent, "peak", "resident", "allocations",
		"pid", "program");
	for (size_t i = 0; i < n && (!limit || i < limit); i++)
		put_process(out, s, order[i], indent);
	if (limit && n > limit)
		fprintf(out, "%sand %zu more process%s\n", indent, n - limit,
			n - limit == 1 ? "" : "es");
	free(order);
	return 0;
}
