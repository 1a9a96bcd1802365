/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c - fuzz target: text that users write: filters, times, patterns, suppressions.
 *
 * Input: which of them (one byte), then its text. A valid filter is applied to every event of a
 * small trace; an error must point into the text.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "model/query/filter.h"
#include "model/query/filter_names.h"
#include "model/query/pattern.h"
#include "model/query/suppress.h"
#include "model/query/time_spec.h"
#include "sample.h"
#include "trace/event.h"

static struct hl_model *model;
static struct hl_chunk_events events;

static void open_sample(void)
{
	struct hl_reader_refusal why;
	size_t size;
	uint8_t *file = sample_make(false, &size);

	FUZZ_MUST(hl_model_open(&model, fuzz_file(file, size), &why) == 0);
	FUZZ_MUST(hl_reader_decode(hl_model_reader(model), 0, &events) == 0);
	free(file);
}

/* Two expressions together have the terms of each, and so has their text. */
static void ask_two_filters(const char *first, const char *second)
{
	struct hl_filter *f, *alone, *again;
	struct hl_filter_error error = {0};
	struct hl_strbuf text = {0};
	size_t n;

	if (hl_filter_parse(&f, first, &error) != 0)
		return;
	n = hl_filter_n_clauses(f);
	if (hl_filter_parse(&alone, second, &error) == 0) {
		FUZZ_MUST(hl_filter_add(f, second, &error) == 0);
		FUZZ_MUST(hl_filter_n_clauses(f) == n + hl_filter_n_clauses(alone));
		hl_filter_free(alone);
		hl_filter_describe(f, &text);
		/* A name with a / and a quote or backslash has no such form. */
		if (!strpbrk(hl_strbuf_str(&text), "\"\\")) {
			FUZZ_MUST(hl_filter_parse(&again, hl_strbuf_str(&text), &error) == 0);
			FUZZ_MUST(hl_filter_n_clauses(again) == hl_filter_n_clauses(f));
			hl_filter_free(again);
		}
		hl_strbuf_fini(&text);
	}
	hl_filter_free(f);
}

static void ask_filter(const char *text)
{
	struct hl_filter_error error = {0};
	struct hl_filter *f;
	bool holds;

	if (hl_filter_parse(&f, text, &error) != 0) {
		FUZZ_MUST(error.text[0] && error.at <= strlen(text));
		return;
	}
	hl_filter_term_offset(f, hl_filter_subjects(f));
	if (hl_filter_bind(f, model) == 0) {
		for (size_t i = 0; i < events.n_events; i++) {
			const struct hl_event *e = &events.events[i];
			struct hl_block b = {.ordinal = e->ordinal,
				.addr = e->addr,
				.size = e->size,
				.alloc_ns = e->time_ns,
				.free_ns = e->time_ns + 64 * i,
				.node = e->node,
				.thread = e->thread,
				.tag = i % 3 ? (uint32_t)i % 5 : HL_TAG_NONE,
				.func = e->func};

			hl_filter_event(f, model, e, i, &holds);
			hl_filter_block(f, model, &b, &holds);
		}
		for (size_t i = 0; i < events.n_extras; i++)
			hl_filter_extra(f, model, &events.extras[i], i);
		hl_filter_node(f, model, 0, &holds);
		hl_filter_node(f, model, HL_NODE_NONE, &holds);
	}
	hl_filter_free(f);
}

static void ask_time(const char *text, size_t len)
{
	struct hl_time_spec from, to;
	size_t at = 0;

	hl_time_spec_quoted(text, len);
	if (hl_time_spec_parse(text, len, &from) == 0) {
		hl_time_spec_check(&from, model);
		hl_time_spec_ns(&from, model);
	}
	if (hl_time_spec_parse_range(text, len, &from, &to, &at) != 0)
		FUZZ_MUST(at <= len);
}

static void ask_pattern(const char *text, size_t len)
{
	struct hl_pattern_error error = {0};
	struct hl_pattern *p;

	if (hl_pattern_new(&p, text, len, &error) != 0) {
		FUZZ_MUST(error.text[0] && error.at <= len);
		return;
	}
	hl_pattern_matches(p, "std::vector<int, std::allocator<int> >::push_back(int const&)");
	hl_pattern_matches_path(p, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30");
	hl_pattern_free(p);
}

static void ask_suppressions(const char *text)
{
	const struct hl_value one = {1, 1};
	struct hl_suppressions *s;
	size_t line = 0;
	bool taken;

	FUZZ_MUST(hl_suppressions_new(&s) == 0);
	if (hl_suppressions_add_text(s, text, &line) != 0)
		FUZZ_MUST(line > 0);
	else if (hl_suppressions_bind(s, model) == 0)
		for (uint32_t node = 0; node < 8; node++)
			hl_suppressions_take(s, model, node, node, &one, &taken);
	hl_suppressions_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len = size > 1 ? size - 1 : 0;
	char *text = malloc(len + 1), *line;

	if (!model)
		open_sample();
	FUZZ_MUST(text);
	if (len)
		memcpy(text, data + 1, len);
	text[len] = '\0';
	switch (size ? data[0] % 4 : 0) {
	case 0:
		line = strchr(text, '\n');
		if (line) {
			*line = '\0';
			ask_two_filters(text, line + 1);
		}
		ask_filter(text);
		break;
	case 1:
		ask_time(text, len);
		break;
	case 2:
		ask_pattern(text, len);
		break;
	case 3:
		ask_suppressions(text);
		break;
	}
	free(text);
	return 0;
}
