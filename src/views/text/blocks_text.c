/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocks_text.c - single blocks: a line each, and a second one for what most blocks do not have: a
 * realloc chain, a tag, a free by another thread or at a known site.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/stack/site.h"
#include "model/tags/roles.h"
#include "views/text/text_internal.h"

#define TIME_WIDTH    9
#define BYTES_WIDTH   10
#define ADDRESS_WIDTH 14
#define THREAD_WIDTH  6
#define ROW_WIDTH     (TIME_WIDTH + TIME_WIDTH + BYTES_WIDTH + ADDRESS_WIDTH + THREAD_WIDTH + 5 * 2)
#define DETAIL_INDENT (TIME_WIDTH + 2)

static int put_site(FILE *out, struct hl_model *m, uint32_t node, size_t reserved,
	const struct hl_text_opts *opts)
{
	struct hl_label label = {.reserved_columns = reserved};
	uint32_t frame;
	int err = hl_model_find_site(m, node, &frame);

	if (err)
		return err;
	label.frame = hl_model_frame(m, frame);
	hl_put_label(out, &label, opts);
	return 0;
}

static void add_part(struct hl_strbuf *b)
{
	hl_strbuf_puts(b, b->len ? "; " : "");
}

static void add_chain(struct hl_strbuf *b, const struct hl_chain *c)
{
	char life[HL_TEXT_SIZE_MAX];

	add_part(b);
	hl_strbuf_printf(b, "chain %" PRIu32 " of %" PRIu32 ", ", c->position, c->length);
	if (c->free_ns == UINT64_MAX)
		hl_strbuf_puts(b, "not freed");
	else
		hl_strbuf_puts(b, hl_text_duration(life, c->free_ns - c->alloc_ns));
}

static void add_tag(struct hl_strbuf *b, struct hl_model *m, uint32_t tag)
{
	struct hl_strbuf path = {0};

	add_part(b);
	hl_strbuf_puts(b, "tag ");
	hl_model_put_tag(m, tag, &path);
	hl_text_escape(b, hl_strbuf_str(&path));
	hl_strbuf_fini(&path);
}

static void add_free(struct hl_strbuf *b, const struct hl_block *block)
{
	enum hl_free_kind kind = hl_free_kind_of(block);

	if (kind == HL_FREED_BY_NONE ||
		(kind == HL_FREED_BY_FREE && block->free_thread == block->thread &&
			block->free_node == HL_NODE_NONE))
		return;
	add_part(b);
	hl_strbuf_puts(b, kind == HL_FREED_BY_UNSEEN    ? "address reused, no free was recorded"
			  : kind == HL_FREED_BY_REALLOC ? "realloc"
							: "freed");
	if (kind == HL_FREED_BY_UNSEEN)
		return;
	if (block->free_thread != block->thread)
		hl_strbuf_printf(b, " by thread %" PRIu32, block->free_thread);
	if (block->free_node != HL_NODE_NONE)
		hl_strbuf_puts(b, " in ");
}

static int put_details(FILE *out, struct hl_model *m, const struct hl_block_row *row, bool chains,
	const struct hl_text_opts *opts)
{
	const struct hl_block *block = &row->block;
	struct hl_strbuf b = {0};
	int err = 0;

	if (chains && row->chain.length > 1)
		add_chain(&b, &row->chain);
	if (block->tag != HL_TAG_NONE)
		add_tag(&b, m, block->tag);
	add_free(&b, block);
	if (b.len) {
		fprintf(out, "%*s%s%s%s", DETAIL_INDENT, "", hl_text_style(opts, HL_STYLE_DIM),
			hl_strbuf_str(&b), hl_text_style(opts, HL_STYLE_PLAIN));
		if (block->free_ns != UINT64_MAX && block->free_node != HL_NODE_NONE)
			err = put_site(out, m, block->free_node,
				DETAIL_INDENT + hl_display_columns(hl_strbuf_str(&b), b.len), opts);
		putc('\n', out);
	}
	err = err ? err : hl_strbuf_error(&b);
	hl_strbuf_fini(&b);
	return err;
}

static int put_block(FILE *out, struct hl_model *m, const struct hl_block_row *row, bool chains,
	const struct hl_text_opts *opts)
{
	const struct hl_block *b = &row->block;
	char time[HL_TEXT_SIZE_MAX], life[HL_TEXT_SIZE_MAX], size[HL_TEXT_SIZE_MAX], address[32];
	int err, width;

	snprintf(address, sizeof(address), "0x%" PRIx64, b->addr);
	width = fprintf(out, "%*s  %*s  %*s  %*s  %*" PRIu32 "  ", TIME_WIDTH,
		hl_text_duration(time, b->alloc_ns), TIME_WIDTH,
		b->free_ns == UINT64_MAX ? "not freed"
					 : hl_text_duration(life, b->free_ns - b->alloc_ns),
		BYTES_WIDTH, hl_text_size(size, b->size, opts), ADDRESS_WIDTH, address,
		THREAD_WIDTH, b->thread);
	err = put_site(out, m, b->node, width > 0 ? (size_t)width : ROW_WIDTH, opts);
	putc('\n', out);
	return err ? err : put_details(out, m, row, chains, opts);
}

static void put_more(FILE *out, const struct hl_blocks_result *x, const struct hl_text_opts *opts)
{
	char cursor[HL_BLOCK_CURSOR_TEXT];

	if (!x->list.more)
		return;
	fprintf(out, "\nmore blocks follow; --after=%s shows the next ones\n",
		hl_block_cursor_text(cursor, &x->list.rows[x->list.n - 1].cursor));
}

static int put_list(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	const struct hl_blocks_result *x = r->data;
	int err = 0;

	if (x->list.n > 0)
		fprintf(out, "\n%*s  %*s  %*s  %*s  %*s  allocated at\n", TIME_WIDTH, "time",
			TIME_WIDTH, "lifetime", BYTES_WIDTH, "size", ADDRESS_WIDTH, "address",
			THREAD_WIDTH, "thread");
	for (size_t i = 0; i < x->list.n && !err; i++) {
		const struct hl_block *b = &x->list.rows[i].block;
		const struct hl_value value = {.bytes = b->bytes, .blocks = b->blocks};

		if (!hl_row_begin(opts->rows, out, &value))
			continue;
		err = put_block(out, r->m, &x->list.rows[i], x->list.has_chains, opts);
		hl_row_end(opts->rows);
	}
	put_more(out, x, opts);
	return err;
}

/* --- groups --- */

#define COUNT_WIDTH 9
#define NAME_WIDTH  10

static void put_amounts(FILE *out, const char *name, const struct hl_value *v, uint64_t leaked,
	uint64_t first_ns, uint64_t last_ns, const struct hl_text_opts *opts)
{
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX], leaks[HL_TEXT_SIZE_MAX];
	char first[HL_TEXT_SIZE_MAX], last[HL_TEXT_SIZE_MAX], interval[HL_TEXT_SIZE_MAX];

	fprintf(out, "  %-*s  %*s  %*s  %*s  %*s  %*s  %*s\n", NAME_WIDTH, name, BYTES_WIDTH,
		hl_text_size(bytes, v->bytes, opts), COUNT_WIDTH, hl_text_count(blocks, v->blocks),
		COUNT_WIDTH, hl_text_count(leaks, leaked), TIME_WIDTH,
		hl_text_duration(first, first_ns), TIME_WIDTH, hl_text_duration(last, last_ns),
		TIME_WIDTH, hl_text_duration(interval, last_ns - first_ns));
}

static int put_group(FILE *out, struct hl_model *m, const struct hl_block_group *g,
	const struct hl_text_opts *opts)
{
	const struct hl_value run = {.bytes = g->run.bytes, .blocks = g->run.blocks};
	char bytes[HL_TEXT_SIZE_MAX], at[HL_TEXT_SIZE_MAX], stack[48] = "no stack  ";
	int err;

	if (g->node != HL_NODE_NONE)
		snprintf(stack, sizeof(stack), "stack %" PRIu32 "  ", g->node);
	fputs(stack, out);
	err = put_site(out, m, g->node, strlen(stack), opts);
	putc('\n', out);
	put_amounts(out, "matching", &g->value, g->leaked_blocks, g->first_ns, g->last_ns, opts);
	put_amounts(out, "whole run", &run, g->run.leaked_blocks, g->run.first_ns, g->run.last_ns,
		opts);
	fprintf(out, "  %-*s  %*s at %s\n", NAME_WIDTH, "its peak", BYTES_WIDTH,
		hl_text_size(bytes, g->run.peak_bytes, opts), hl_text_duration(at, g->run.peak_ns));
	return err;
}

static int put_groups(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	const struct hl_blocks_result *x = r->data;
	uint64_t shown = 0;
	char n[HL_TEXT_SIZE_MAX];
	int err = 0;

	if (x->groups.n > x->offset)
		fprintf(out, "\n  %-*s  %*s  %*s  %*s  %*s  %*s  %*s\n", NAME_WIDTH, "",
			BYTES_WIDTH, "bytes", COUNT_WIDTH, "blocks", COUNT_WIDTH, "leaked",
			TIME_WIDTH, "first", TIME_WIDTH, "last", TIME_WIDTH, "interval");
	for (size_t i = x->offset; i < x->groups.n && shown < x->limit && !err; i++, shown++) {
		const struct hl_block_group *g = &x->groups.rows[i];

		if (!hl_row_begin(opts->rows, out, &g->value))
			continue;
		err = put_group(out, r->m, g, opts);
		hl_row_end(opts->rows);
	}
	if (x->groups.n > x->offset + shown)
		fprintf(out, "\n%s more group%s; -n 0 shows all\n",
			hl_text_count(n, x->groups.n - x->offset - shown),
			x->groups.n - x->offset - shown == 1 ? "" : "s");
	return err;
}

int hl_text_blocks(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	const struct hl_blocks_result *x = r->data;

	hl_put_header(out, r->m, x->grouped ? &x->groups.answer : &x->list.answer, opts);
	return x->grouped ? put_groups(out, r, opts) : put_list(out, r, opts);
}
