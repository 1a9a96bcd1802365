/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interpreter_text.c - what is recorded of a program that a language runtime interprets.
 */
#include "model/views/interpreter.h"
#include "util/safe_text.h"
#include "util/strbuf.h"
#include "views/text/text_internal.h"

int hl_text_interpreter(
	FILE *out, struct hl_model *m, const char **language, const struct hl_text_opts *opts)
{
	struct hl_interpreter_found found;
	struct hl_strbuf raw = {0}, b = {0};
	int err = hl_interpreter_find(m, &found);

	if (err || !found.is || *language == found.is->language)
		return err;
	*language = found.is->language;
	hl_interpreter_put(&raw, &found);
	hl_text_escape(&b, hl_strbuf_str(&raw));
	putc('\n', out);
	hl_put_wrapped(out, hl_strbuf_str(&b), HL_STYLE_PLAIN, 2, opts);
	hl_strbuf_fini(&raw);
	hl_strbuf_fini(&b);
	return 0;
}
