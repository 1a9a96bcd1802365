/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suppressed_text.c - the blocks that suppressions removed from a list of leaks.
 */
#include "util/safe_text.h"
#include "views/text/text_internal.h"

void hl_text_suppressed_lines(
	FILE *out, const struct hl_suppressions *s, const char *of, const struct hl_text_opts *opts)
{
	size_t n;
	const struct hl_suppressed *removed = hl_suppressions_counts(s, &n);
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	for (size_t i = 0; i < n; i++) {
		const struct hl_value *v = &removed[i].value;

		if (v->blocks == 0)
			continue;
		hl_strbuf_reset(&b);
		hl_text_escape(&b, removed[i].pattern);
		fprintf(out, "  %s%s in %s block%s: %s\n", of, hl_text_size(bytes, v->bytes, opts),
			hl_text_count(blocks, v->blocks), v->blocks == 1 ? "" : "s",
			hl_strbuf_str(&b));
	}
	hl_strbuf_fini(&b);
}

static bool removed_any(const struct hl_suppressions *s)
{
	size_t n;
	const struct hl_suppressed *removed = hl_suppressions_counts(s, &n);

	while (n > 0 && removed[n - 1].value.blocks == 0)
		n--;
	return n > 0;
}

void hl_text_suppressed(FILE *out, const struct hl_suppressions *s, const struct hl_text_opts *opts)
{
	if (removed_any(s))
		fputs(HL_SUPPRESSED_HEADER, out);
	hl_text_suppressed_lines(out, s, "", opts);
}
