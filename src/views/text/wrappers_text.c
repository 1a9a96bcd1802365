/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrappers_text.c - the functions that were treated as allocation wrappers in an answer.
 */
#include "model/stack/stack_rules.h"
#include "views/text/text_internal.h"

/* More names would distract from the report itself. */
#define NAMES_MAX 8

/* all: how many the trace has, if the stacks of the answer do not have all of them. */
static void put_rest(struct hl_strbuf *b, size_t left, size_t all)
{
	hl_strbuf_printf(b, " and %zu more", left);
	if (all)
		hl_strbuf_printf(b, "; --json lists all %zu of the trace", all);
	else
		hl_strbuf_puts(b, ", which --json lists");
}

void hl_text_wrappers(FILE *out, struct hl_model *m, const struct hl_text_opts *opts)
{
	struct hl_strbuf b = {0};
	size_t n = 0, all = hl_model_n_wrappers(m);

	hl_strbuf_puts(&b, "allocation wrappers seen through: ");
	for (size_t i = 0; i < all; i++) {
		if (!hl_model_wrapper_was_met(m, i) || n++ >= NAMES_MAX)
			continue;
		hl_strbuf_puts(&b, n > 1 ? ", " : "");
		hl_text_escape(&b, hl_model_wrapper(m, i));
	}
	if (n > NAMES_MAX)
		put_rest(&b, n - NAMES_MAX, n < all ? all : 0);
	hl_strbuf_puts(&b, " (--no-wrappers)");
	if (n > 0) {
		putc('\n', out);
		hl_put_wrapped(out, hl_strbuf_str(&b), HL_STYLE_PLAIN, 2, opts);
	}
	hl_strbuf_fini(&b);
}
