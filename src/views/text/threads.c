/*
 * threads.c - who allocates, and who frees whose blocks.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/bits.h"
#include "util/text.h"
#include "views/text/text_internal.h"

static void put_row(FILE *out, uint32_t thread, const struct hl_thread_row *r)
{
	char b[5][HL_TEXT_SIZE_MAX];

	fprintf(out, "%6" PRIu32 "  %10" PRIu64 "  %10s  %10s  %12s  %12s  %12s\n", thread, r->tid,
		hl_text_bytes(b[0], r->allocated.bytes), hl_text_count(b[1], r->allocated.blocks),
		hl_text_count(b[2], r->own.blocks), hl_text_count(b[3], r->by_others.blocks),
		hl_text_count(b[4], r->left.blocks));
}

/* A thread that only frees has its part in it, too. */
static uint64_t row_size(const void *rows, size_t i, const struct hl_text_opts *opts)
{
	const struct hl_thread_row *r = (const struct hl_thread_row *)rows + i;

	return hl_max_u64(hl_measure(&r->allocated, opts), hl_measure(&r->freed, opts));
}

static void put_rows(
	FILE *out, const struct hl_threads *t, uint64_t least, const struct hl_text_opts *opts)
{
	bool *shown = hl_pick(t->rows, t->n, row_size, least, opts);
	uint64_t hidden = 0;

	fprintf(out, "%6s  %10s  %10s  %10s  %12s  %12s  %12s\n", "thread", "tid", "allocated",
		"blocks", "freed itself", "by others", "not freed");
	for (uint32_t i = 0; i < t->n; i++) {
		if (!shown || shown[i])
			put_row(out, i, &t->rows[i]);
		else
			hidden++;
	}
	free(shown);
	hl_put_more(out, hidden, "thread", "threads", opts);
}

static void put_pairs(
	FILE *out, const struct hl_threads *t, uint64_t least, const struct hl_text_opts *opts)
{
	size_t shown = 0;
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];

	if (t->n_pairs > 0)
		fprintf(out, "\n%sblocks that another thread freed:%s\n",
			hl_style(opts, HL_STYLE_BOLD), hl_style(opts, HL_STYLE_PLAIN));
	for (size_t i = 0; i < t->n_pairs; i++) {
		if ((opts->limited && shown == opts->limit) ||
			hl_measure(&t->pairs[i].value, opts) < least)
			continue;
		shown++;
		fprintf(out,
			"  thread %" PRIu32 " allocated, thread %" PRIu32
			" freed: %s in %s block%s\n",
			t->pairs[i].from, t->pairs[i].to,
			hl_text_bytes(bytes, t->pairs[i].value.bytes),
			hl_text_count(blocks, t->pairs[i].value.blocks),
			t->pairs[i].value.blocks == 1 ? "" : "s");
	}
	hl_put_more(out, t->n_pairs - shown, "pair", "pairs", opts);
}

void hl_text_threads(FILE *out, const struct hl_threads *t, const struct hl_text_opts *opts)
{
	struct hl_value total = {0};
	uint64_t least;

	for (uint32_t i = 0; i < t->n; i++) {
		total.bytes += t->rows[i].allocated.bytes;
		total.blocks += t->rows[i].allocated.blocks;
	}
	least = hl_text_least(&total, opts);
	fprintf(out,
		"%sthreads, over the whole run: who allocates, and who frees whose blocks%s\n\n",
		hl_style(opts, HL_STYLE_BOLD), hl_style(opts, HL_STYLE_PLAIN));
	put_rows(out, t, least, opts);
	put_pairs(out, t, least, opts);
}

void hl_json_threads(struct hl_json *j, const struct hl_threads *t)
{
	hl_json_key(j, "threads");
	hl_json_begin_array(j);
	for (uint32_t i = 0; i < t->n; i++) {
		hl_json_begin_object(j);
		hl_json_key_u64(j, "thread", i);
		hl_json_key_u64(j, "tid", t->rows[i].tid);
		hl_json_value(j, "allocated", &t->rows[i].allocated);
		hl_json_value(j, "freed", &t->rows[i].freed);
		hl_json_value(j, "freed_own", &t->rows[i].own);
		hl_json_value(j, "freed_by_others", &t->rows[i].by_others);
		hl_json_value(j, "not_freed", &t->rows[i].left);
		hl_json_end_object(j);
	}
	hl_json_end_array(j);
	hl_json_key(j, "freed_by_another");
	hl_json_begin_array(j);
	for (size_t i = 0; i < t->n_pairs; i++) {
		hl_json_begin_object(j);
		hl_json_key_u64(j, "allocated_by", t->pairs[i].from);
		hl_json_key_u64(j, "freed_by", t->pairs[i].to);
		hl_json_value(j, "", &t->pairs[i].value);
		hl_json_end_object(j);
	}
	hl_json_end_array(j);
}
