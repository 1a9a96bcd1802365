/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mmaps_text.c - the mappings that the program made itself.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/stack/flat_table.h"
#include "model/stack/runtime_frames.h"
#include "util/safe_text.h"
#include "views/text/text_internal.h"

/* Columns before the site, without the flags. The flags column is as wide as the widest flags
 * shown, within these limits. */
#define SITE_COLUMN 42
#define FLAGS_MIN   17
#define FLAGS_MAX   30

static void put_totals(
	FILE *out, struct hl_model *m, const struct hl_mappings *x, const struct hl_text_opts *opts)
{
	char n[HL_TEXT_SIZE_MAX], bytes[HL_TEXT_SIZE_MAX], peak[HL_TEXT_SIZE_MAX];
	char when[HL_TEXT_SIZE_MAX], left[HL_TEXT_SIZE_MAX], title[256];

	snprintf(title, sizeof(title), "mappings%s: %s, %s in total; %s left at the end%s",
		x->filter ? " that match the filter" : "", hl_text_count(n, x->n),
		hl_text_size(bytes, x->bytes, opts), hl_text_size(left, x->left_bytes, opts),
		x->before_damage ? " of the readable part" : "");
	hl_put_title(out, title, opts);
	fprintf(out, "all mappings together: at most %s, at %s\n\n",
		hl_text_size(peak, x->peak_bytes, opts), hl_text_duration(when, x->peak_ns));
}

static int flags_width(const struct hl_mapping_list *list)
{
	struct hl_strbuf b = {0};
	size_t width = FLAGS_MIN;

	for (size_t i = 0; i < list->maps.len; i++) {
		hl_strbuf_reset(&b);
		hl_mapping_put_flags(&b, list->maps.data[i].flags);
		width = b.len > width ? b.len : width;
	}
	hl_strbuf_fini(&b);
	return width < FLAGS_MAX ? (int)width : FLAGS_MAX;
}

static void put_prot_and_flags(FILE *out, const struct hl_mapping *map, int width)
{
	struct hl_mapping_text words;

	hl_mapping_text_init(&words, map);
	fprintf(out, "%4s  %-*s  ", words.prot ? words.prot : "?", width,
		words.flags ? words.flags : "?");
	hl_mapping_text_fini(&words);
}

static int put_row(FILE *out, struct hl_model *m, const struct hl_mapping *map, int width,
	const struct hl_text_opts *opts)
{
	char size[HL_TEXT_SIZE_MAX], when[HL_TEXT_SIZE_MAX], life[HL_TEXT_SIZE_MAX];
	struct hl_label label = {.reserved_columns = SITE_COLUMN + (size_t)width};
	uint32_t frame;
	int err = hl_model_find_site(m, map->node, &frame);

	if (err)
		return err;
	label.frame = hl_model_frame(m, frame);
	fprintf(out, "%10s  %9s  ", hl_text_size(size, map->size, opts),
		hl_text_duration(when, map->mapped_ns));
	fprintf(out, "%9s  ",
		map->unmapped_ns == UINT64_MAX
			? "left"
			: hl_text_duration(life, map->unmapped_ns - map->mapped_ns));
	put_prot_and_flags(out, map, width);
	hl_put_label(out, &label, opts);
	putc('\n', out);
	return 0;
}

/* Prints the changes after the mmap, if there is more than one munmap. */
static void put_changes(FILE *out, const struct hl_mapping *map, const struct hl_text_opts *opts)
{
	char bytes[HL_TEXT_SIZE_MAX];

	if (map->remaps > 0)
		fprintf(out, "%12sremapped %" PRIu32 " time%s, last to %s\n", "", map->remaps,
			map->remaps == 1 ? "" : "s", hl_text_size(bytes, map->last_size, opts));
	if (map->unmapped_ns == UINT64_MAX && map->partial_unmaps > 0)
		fprintf(out, "%12spartly unmapped, %s left\n", "",
			hl_text_size(bytes, map->mapped_bytes, opts));
	if (map->replaced)
		fprintf(out, "%12sreplaced by another mapping\n", "");
}

#define STACK_COLUMN 16

struct stack_printer {
	FILE *out;
	const struct hl_text_opts *opts;
};

static void put_stack_frame(void *arg, const struct hl_frame *f, bool inlined)
{
	const struct stack_printer *p = arg;
	const char *more = inlined ? "  (inlined)" : "";
	struct hl_label label = {.frame = f, .reserved_columns = STACK_COLUMN + strlen(more)};

	fprintf(p->out, "%*s", STACK_COLUMN, "");
	hl_put_label(p->out, &label, p->opts);
	fprintf(p->out, "%s\n", more);
}

/* On a terminal names and paths are shortened. */
static int put_stack(FILE *out, struct hl_model *m, uint32_t node, const struct hl_text_opts *opts)
{
	struct stack_printer p = {out, opts};

	if (opts->shorten)
		return hl_model_each_frame(m, node, NULL, put_stack_frame, &p);
	hl_note_shown_stack(m, node, opts);
	return hl_text_stack(out, m, node, "                ");
}

static int put_stacks(FILE *out, struct hl_model *m, const struct hl_mapping *map,
	const struct hl_text_opts *opts)
{
	int err;

	fprintf(out, "%12smapped at 0x%" PRIx64 " by thread %" PRIu32 "\n", "", map->addr,
		map->thread);
	err = put_stack(out, m, map->node, opts);
	if (err || map->unmapped_ns == UINT64_MAX)
		return err;
	fprintf(out, "%12sunmapped by thread %" PRIu32 "\n", "", map->end_thread);
	return put_stack(out, m, map->end_node, opts);
}

int hl_text_mmaps(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	const struct hl_mapping_list *list = &((const struct hl_mmaps_result *)r->data)->list;
	bool stacks = r->plan->request->full_stacks;
	struct hl_model *m = r->m;
	int err = 0, width = flags_width(list);

	put_totals(out, m, &list->sums, opts);
	if (list->maps.len > 0)
		fprintf(out, "%10s  %9s  %9s  %4s  %-*s  mapped by\n", "size", "at", "lifetime",
			"prot", width, "flags");
	for (size_t i = 0; i < list->maps.len && !err; i++) {
		const struct hl_value value = {.bytes = list->maps.data[i].size, .blocks = 1};

		if (!hl_row_begin(opts->rows, out, &value))
			continue;
		err = put_row(out, m, &list->maps.data[i], width, opts);
		if (!err)
			put_changes(out, &list->maps.data[i], opts);
		if (!err && stacks)
			err = put_stacks(out, m, &list->maps.data[i], opts);
		hl_row_end(opts->rows);
	}
	hl_put_omitted_count(out, list->sums.n - list->maps.len, "mapping", "mappings", opts);
	return err;
}
