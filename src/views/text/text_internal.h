/*
 * text_internal.h - pieces that several views are made of.
 */
#ifndef HL_VIEWS_TEXT_TEXT_INTERNAL_H
#define HL_VIEWS_TEXT_TEXT_INTERNAL_H

#include "util/json.h"
#include "util/strbuf.h"
#include "views/text/text.h"

/* "100.0%  1023.9 KiB  1,234,567  " */
#define HL_NUMBERS      "%6.1f%%  %10s  %10s  "
#define HL_NUMBERS_HEAD "%7s  %10s  %10s  "

double hl_percent(uint64_t part, uint64_t whole);
/* The fewest bytes that are the share of a total which is not left out. */
uint64_t hl_least_bytes(uint64_t total, double min_percent);
/* "function  file.c:12" or "function  [module]" */
void hl_put_frame(FILE *out, const struct hl_frame *f);
/* What is shown, of when, how much. */
void hl_put_head(FILE *out, struct hl_model *m, const struct hl_answer *a, const char *what);
void hl_put_hidden(FILE *out, uint64_t total, const struct hl_value *v, uint64_t count,
	const char *one, const char *many, const struct hl_text_opts *opts);
/* One character that is `part` of `whole` high, from 0 to 8 eighths. */
const char *hl_bar(unsigned eighths, bool unicode);

void hl_json_frame(struct hl_json *j, const struct hl_frame *f);
void hl_json_value(struct hl_json *j, const char *prefix, const struct hl_value *v);

#endif
