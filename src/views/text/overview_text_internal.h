/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_text_internal.h - the parts of the overview, one function each. Each prints whole lines.
 */
#ifndef HL_VIEWS_TEXT_OVERVIEW_TEXT_INTERNAL_H
#define HL_VIEWS_TEXT_OVERVIEW_TEXT_INTERNAL_H

#include "model/overview/verdicts.h"
#include "views/text/text_internal.h"

/* One line of the headline: "  peak            12.4 MiB  in 162 blocks, at 30.7 ms" */
void hl_overview_put_fact(FILE *out, const char *name, const char *value, const char *detail,
	const struct hl_text_opts *opts);
/* The title, the filter and the headline. */
void hl_overview_put_head(FILE *out, struct hl_result *r, const struct hl_text_opts *opts);
void hl_overview_put_verdicts(FILE *out, struct hl_model *m, const struct hl_overview *o,
	const struct hl_text_opts *opts);
/* Nothing if the timeline is not known. height: lines above the axis. */
void hl_overview_put_plot(FILE *out, struct hl_model *m, const struct hl_overview *o,
	unsigned height, const struct hl_text_opts *opts);
/* At most `rows` rows; one line with the reason if the list is empty. */
void hl_overview_put_list(FILE *out, struct hl_model *m, const struct hl_overview *o,
	enum hl_overview_list_id id, size_t rows, const struct hl_text_opts *opts);

/* Appends a complete command about the same blocks: "heaplapse report --peak app.hlt". */
void hl_overview_put_command(
	struct hl_strbuf *b, const char *options, const struct hl_text_opts *opts);

static inline const char *hl_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static inline const char *hl_text_bold(const struct hl_text_opts *opts)
{
	return hl_text_style(opts, HL_STYLE_BOLD);
}

static inline const char *hl_text_dim(const struct hl_text_opts *opts)
{
	return hl_text_style(opts, HL_STYLE_DIM);
}

static inline const char *hl_text_plain(const struct hl_text_opts *opts)
{
	return hl_text_style(opts, HL_STYLE_PLAIN);
}

#endif
