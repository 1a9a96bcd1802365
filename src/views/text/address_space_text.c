/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_space_text.c - the mappings of the process with the heap's blocks.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "views/text/text_internal.h"

#define NUMBER_COLUMNS 10
#define EXACT_COLUMNS  16
#define ADDRESS        12 /* columns of most addresses */

static uint64_t size_of(const void *rows, size_t i, const struct hl_limits *l)
{
	const struct hl_address_row *r = &((const struct hl_address_row *)rows)[i];

	return hl_limits_size(l, &r->all);
}

static void put_number(
	FILE *out, int width, bool known, uint64_t n, const struct hl_text_opts *opts)
{
	char text[HL_TEXT_SIZE_MAX];

	fprintf(out, "%*s  ", width, known ? hl_text_size(text, n, opts) : "");
}

static void put_row(FILE *out, const struct hl_address_row *r, int width, bool maps,
	const struct hl_text_opts *opts)
{
	struct hl_label label = {
		.reserved_columns = ADDRESS + 2 + 4 * (size_t)(width + 2) + (maps ? 6 : 0),
		.text = !r->map           ? "blocks"
			: r->map->name[0] ? r->map->name
					  : "anonymous"};

	fprintf(out, "%*" PRIx64 "  ", ADDRESS, r->start);
	put_number(out, width, true, r->end - r->start, opts);
	put_number(out, width, r->fill, r->live.bytes, opts);
	put_number(out, width, r->fill, r->free_bytes, opts);
	put_number(out, width, r->fill, r->largest_gap, opts);
	if (maps && r->map) {
		uint8_t p = r->map->perms;

		fprintf(out, "%c%c%c%c  ", p & HL_MAP_READ ? 'r' : '-',
			p & HL_MAP_WRITE ? 'w' : '-', p & HL_MAP_EXECUTE ? 'x' : '-',
			p & HL_MAP_SHARED ? 's' : 'p');
	} else if (maps) {
		fputs("      ", out);
	}
	hl_put_label(out, &label, opts);
	putc('\n', out);
}

static void put_rows(FILE *out, const struct hl_address_space *s, const struct hl_text_opts *opts)
{
	int width = opts->exact_bytes ? EXACT_COLUMNS : NUMBER_COLUMNS;
	bool *shown = hl_limits_select(
		&opts->limits, s->rows, s->n_rows, size_of, opts->limits.limited ? 1 : 0);
	unsigned cluster = 0;
	uint64_t hidden = 0;

	if (s->n_rows > 0)
		fprintf(out, "%*s  %*s  %*s  %*s  %*s  %smapping\n", ADDRESS, "address", width,
			"size", width, "live", width, "free", width, "gap",
			s->has_maps ? "perm  " : "");
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct hl_address_row *r = &s->rows[i];

		if (shown && !shown[i]) {
			hidden++;
			continue;
		}
		if (!hl_row_begin(opts->rows, out, &r->live))
			continue;
		if (cluster && r->cluster != cluster)
			fprintf(out, "%*s\n", ADDRESS, "...");
		cluster = r->cluster;
		put_row(out, r, width, s->has_maps, opts);
		hl_row_end(opts->rows);
	}
	free(shown);
	hl_put_omitted_count(out, hidden, "row", "rows", opts);
}

int hl_text_address_space(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	const struct hl_address_space *s = r->data;
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX], c[HL_TEXT_SIZE_MAX];
	struct hl_strbuf text = {0};

	hl_strbuf_printf(&text, "address space, %s, at %s of %s", opts->quantity_text,
		hl_text_duration(a, s->time_ns), hl_text_duration(b, hl_model_end_ns(r->m)));
	hl_strbuf_printf(&text, ": %s live in %s block%s", hl_text_size(a, s->live.bytes, opts),
		hl_text_count(b, s->live.blocks), s->live.blocks == 1 ? "" : "s");
	hl_put_title(out, hl_strbuf_str(&text), opts);
	hl_strbuf_reset(&text);
	if (s->has_maps)
		hl_strbuf_printf(&text, "mappings as sampled at %s; %s block%s outside of them",
			hl_text_duration(c, s->resident.time_ns),
			hl_text_count(b, s->outside_blocks), s->outside_blocks == 1 ? "" : "s");
	else
		hl_strbuf_puts(&text,
			"the trace has no samples of mappings (record --mmap): a row is "
			"a group of blocks less than 1 MiB apart");
	hl_put_wrapped(out, hl_strbuf_str(&text), HL_STYLE_PLAIN, 0, opts);
	hl_strbuf_fini(&text);
	putc('\n', out);
	put_rows(out, s, opts);
	return 0;
}
