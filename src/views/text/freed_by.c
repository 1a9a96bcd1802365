/*
 * freed_by.c - who frees the blocks of each site.
 */
#include <stdlib.h>
#include <string.h>

#include "util/text.h"
#include "views/text/text_internal.h"

static const char *words_of(enum hl_ending e)
{
	static const char *const words[] = {"freed by ", "realloc in ",
		"address given out again, no free was recorded", "not freed"};

	return words[e];
}

static void put_part(FILE *out, struct hl_model *m, const struct hl_numbers *n,
	const struct hl_freeing *f, const struct hl_text_opts *opts)
{
	const char *words = words_of(f->ending);
	struct hl_label label = {.used = hl_numbers_width(n) + 2 + strlen(words)};

	hl_put_numbers(out, n, &f->value);
	fprintf(out, "  %s%s%s", hl_style(opts, HL_STYLE_DIM), words,
		hl_style(opts, HL_STYLE_PLAIN));
	if (f->frame != HL_NODE_NONE) {
		label.frame = hl_model_frame(m, f->frame);
		hl_put_label(out, &label, opts);
	}
	putc('\n', out);
}

/* All parts of a site that is shown, but for the small ones. */
static void put_site(FILE *out, struct hl_model *m, const struct hl_numbers *n,
	const struct hl_freed_by *f, const struct hl_freed_site *s, const struct hl_text_opts *opts)
{
	struct hl_label label = {.frame = hl_model_frame(m, s->frame), .used = hl_numbers_width(n)};
	uint64_t least = hl_text_least(&s->value, opts), hidden = 0;

	hl_put_numbers(out, n, &s->value);
	hl_put_label(out, &label, opts);
	putc('\n', out);
	for (size_t i = 0; i < s->n; i++) {
		const struct hl_freeing *part = &f->freeings[s->first + i];

		if (hl_measure(&part->value, opts) < least || (opts->limited && i >= opts->limit))
			hidden++;
		else
			put_part(out, m, n, part, opts);
	}
	hl_put_more(out, hidden, "way to end", "ways to end", opts);
}

void hl_text_freed_by(
	FILE *out, struct hl_model *m, const struct hl_freed_by *f, const struct hl_text_opts *opts)
{
	struct hl_numbers n = hl_numbers_of(&f->answer.total, opts);
	uint64_t least = hl_text_least(&f->answer.total, opts), hidden = 0;

	hl_put_head(out, m, &f->answer, opts);
	if (f->n_sites > 0) {
		putc('\n', out);
		hl_put_numbers_head(out, &n);
		fputs("allocated at, and who ended the blocks\n", out);
	}
	for (size_t i = 0; i < f->n_sites; i++) {
		if (hl_measure(&f->sites[i].value, opts) < least ||
			(opts->limited && i >= opts->limit))
			hidden++;
		else
			put_site(out, m, &n, f, &f->sites[i], opts);
	}
	hl_put_more(out, hidden, "site", "sites", opts);
}

static void put_freeing(struct hl_json *j, struct hl_model *m, const struct hl_freeing *f)
{
	hl_json_begin_object(j);
	hl_json_key_string(j, "ended_by", hl_ending_name(f->ending));
	if (f->frame != HL_NODE_NONE)
		hl_json_frame(j, hl_model_frame(m, f->frame));
	hl_json_value(j, "", &f->value);
	hl_json_end_object(j);
}

void hl_json_freed_by(struct hl_json *j, struct hl_model *m, const struct hl_freed_by *f)
{
	hl_json_answer(j, &f->answer);
	hl_json_key(j, "sites");
	hl_json_begin_array(j);
	for (size_t i = 0; i < f->n_sites; i++) {
		const struct hl_freed_site *s = &f->sites[i];

		hl_json_begin_object(j);
		hl_json_frame(j, hl_model_frame(m, s->frame));
		hl_json_value(j, "", &s->value);
		hl_json_key(j, "freed_by");
		hl_json_begin_array(j);
		for (size_t k = 0; k < s->n; k++)
			put_freeing(j, m, &f->freeings[s->first + k]);
		hl_json_end_array(j);
		hl_json_end_object(j);
	}
	hl_json_end_array(j);
}
