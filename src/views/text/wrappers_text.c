/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrappers_text.c - the functions that were treated as allocation wrappers in an answer.
 */
#include "model/stack/stack_rules.h"
#include "views/text/text_internal.h"

void hl_text_wrappers(FILE *out, struct hl_model *m, const struct hl_text_opts *opts)
{
	struct hl_strbuf raw = {0}, b = {0};

	hl_model_put_wrappers(&raw, m);
	hl_text_escape(&b, hl_strbuf_str(&raw));
	if (b.len > 0) {
		putc('\n', out);
		hl_put_wrapped(out, hl_strbuf_str(&b), HL_STYLE_PLAIN, 2, opts);
	}
	hl_strbuf_fini(&raw);
	hl_strbuf_fini(&b);
}
