/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - fuzz target: requests as key/value pairs, as a URL has them.
 *
 * Input: lines KEY or KEY=VALUE. A request that is accepted is planned and answered for a small
 * trace, and each result is rendered as JSON or as text, within its limits of rows and bytes. A
 * refusal must have a sentence, and a wrong filter an offset within its text.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "request/plan.h"
#include "sample.h"
#include "views/json/json.h"
#include "views/text/text.h"

static struct hl_model *model;
static FILE *nowhere;

static void open_sample(void)
{
	struct hl_reader_refusal why;
	size_t size;
	uint8_t *file = sample_make(false, &size);

	FUZZ_MUST(hl_model_open(&model, fuzz_file(file, size), &why) == 0);
	nowhere = fopen("/dev/null", "w");
	FUZZ_MUST(nowhere);
	free(file);
}

static void check_refusal(const struct hl_request_error *why)
{
	FUZZ_MUST(why->text[0]);
	FUZZ_MUST(!why->expr || why->at <= strlen(why->expr));
}

static void put_note(void *arg, enum hl_note_kind kind, const char *text)
{
	FUZZ_MUST(text[0]);
}
static const struct hl_notes notes = {.put = put_note};

static void put_result(FILE *out, struct hl_result *r, bool json)
{
	const struct hl_text_opts style = {.width = 80, .unicode = true, .shorten = true};
	struct hl_json j;

	if (!json) {
		hl_text_result(out, r, &style);
		return;
	}
	hl_json_init(&j, out);
	hl_json_begin_object(&j);
	hl_json_result(&j, r);
	hl_json_end_object(&j);
}

/* Limits of rows and bytes apply to the results of a request together. */
static void render(struct hl_result *r, bool json, struct hl_row_limit *rows)
{
	uint64_t most = rows->budget.max_bytes;
	char *text = NULL;
	size_t len = 0;
	FILE *out = most ? open_memstream(&text, &len) : nowhere;

	FUZZ_MUST(out);
	r->rows = rows;
	put_result(out, r, json);
	FUZZ_MUST(!rows->budget.max_rows || rows->rows <= rows->budget.max_rows);
	if (most) {
		/* The columns of a plot are no rows: report refuses a document that is too long. */
		FUZZ_MUST(fclose(out) == 0 && (len <= most || r->part.view == &hl_view_timeline));
		free(text);
	}
	/* The next result is in a stream of its own. */
	rows->full = false;
}

static void answer(struct hl_request *r)
{
	struct hl_request_error why;
	struct hl_strbuf text = {0};
	struct hl_row_limit rows;
	struct hl_result *result;
	struct hl_plan *p;

	hl_row_limit_init(&rows, &r->budget);

	if (hl_plan_new(&p, r, model, &notes, &why)) {
		check_refusal(&why);
		return;
	}
	if (!hl_plan_has_times(p, &text))
		FUZZ_MUST(text.len > 0);
	else if (hl_plan_prepare(p) == 0) {
		for (size_t i = 0; i < p->parts.len; i++) {
			if (hl_plan_run(p, i, &result)) {
				FUZZ_MUST(hl_model_error(model)[0]);
				continue;
			}
			render(result, r->unlimited, &rows);
			hl_result_free(result);
		}
	}
	hl_strbuf_fini(&text);
	hl_plan_free(p);
}

/* A timeline of a million columns would only be slow. */
#define MAX_PARTS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *line, *rest = text;
	struct hl_request r = {.unlimited = size > 0 && data[0] & 1};
	struct hl_request_error why;

	if (!model)
		open_sample();
	FUZZ_MUST(text);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	r.top_down = r.full_stacks = r.unlimited;
	while ((line = strsep(&rest, "\n")) != NULL && r.parts.len < MAX_PARTS) {
		char *value = strchr(line, '=');

		if (value)
			*value++ = '\0';
		if (hl_request_set(&r, line, value, &why))
			check_refusal(&why);
	}
	if (hl_request_finish(&r, &notes, &why))
		check_refusal(&why);
	else
		answer(&r);
	hl_request_fini(&r);
	free(text);
	return 0;
}
