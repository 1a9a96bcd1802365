/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.c - the calls of the writer: when a chunk is closed and the order of chunks. TABLE comes
 * before the EVENTS that need it, KEYFRAME only between EVENTS chunks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "base/mode.h"
#include "trace/write/writer_internal.h"

#define KEYFRAME_EVENTS (512u << 10)
#define KEYFRAME_SHARE  16u /* a keyframe may take 1/16 of the bytes written since the last */
#define SUMMARY_SHARE   8u  /* a summary may take 1/8 of its chunk's other columns */
#define SUMMARY_WAIT_MAX \
	15u               /* maximum number of chunks without a summary before the next attempt */
#define RSS_FLUSH_MIN 32u /* a flush writes RSS samples only if there are this many */

static void set_options(struct hl_writer *w, const struct hl_writer_options *o)
{
	static const struct hl_writer_options none;

	o = o ? o : &none;
	w->max_events = HL_CHUNK_EVENTS_MAX;
	if (o->max_events > 1 && o->max_events < HL_CHUNK_EVENTS_MAX)
		w->max_events = o->max_events;
	w->keyframe_events = o->keyframe_events ? o->keyframe_events : KEYFRAME_EVENTS;
	w->summary_share = o->summary_share ? o->summary_share : SUMMARY_SHARE;
	w->keyframe_share = o->keyframe_share ? o->keyframe_share : KEYFRAME_SHARE;
}

/* Starts the header of the next EVENTS chunk with the current position. */
static void open_chunk(struct hl_writer *w)
{
	const struct hl_totals *t = &w->totals;

	w->open = (struct hl_chunk_header){
		.first_event = w->open.first_event + w->enc.n_events,
		.first_ordinal = w->enc.next_ordinal,
		.t0_ns = w->last_time * HL_TIME_UNIT_NS,
		.t1_ns = w->last_time * HL_TIME_UNIT_NS,
		.live_bytes = hl_sums_live_bytes(&t->sums),
		.live_blocks = hl_sums_live_blocks(&t->sums),
		.max_live_bytes = hl_sums_live_bytes(&t->sums),
	};
	w->check_at = hl_min_u32(HL_RAW_CHECK / 2, w->max_events - 1);
	hl_encoder_begin(&w->enc, w->enc.next_ordinal);
	hl_summarizer_begin(w->summary);
	w->summary->off = w->summary_skip > 0;
}

/* Makes a writer without a sink. */
static struct hl_writer *new_writer(bool free_stacks, const struct hl_writer_options *options)
{
	struct hl_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	set_options(w, options);
	w->summary = hl_summarizer_new();
	if (!w->summary || hl_byte_buffer_put(&w->node_state, "", 1) < 0 ||
		hl_encoder_init(&w->enc, free_stacks) < 0) {
		hl_writer_close(w);
		return NULL;
	}
	open_chunk(w);
	return w;
}

static int put_to_file(void *arg, const struct hl_sealed *chunk)
{
	return hl_chunk_file_put(arg, chunk);
}

int hl_writer_open_with(struct hl_writer **out, int fd, const struct hl_meta *meta,
	const struct hl_writer_options *options)
{
	struct hl_writer *w = new_writer(meta->free_stacks, options);
	int err;

	if (!w)
		return -ENOMEM;
	w->status = &w->own_status;
	hl_writer_place_base(w, &meta->base);
	err = hl_chunk_file_open(&w->file, fd, options ? options->sync : 0, w->status);
	w->sink = put_to_file;
	w->sink_arg = w->file;
	if (!err)
		err = hl_write_meta(w, meta);
	if (err) {
		if (w->file)
			hl_chunk_file_disown(w->file);
		w->error = err;
		hl_writer_close(w);
		return err;
	}
	*out = w;
	return 0;
}

int hl_writer_open_to(struct hl_writer **out, const struct hl_meta *meta,
	const struct hl_writer_options *options, hl_chunk_sink *sink, void *arg,
	struct hl_file_status *status)
{
	struct hl_writer *w = new_writer(meta->free_stacks, options);
	int err;

	if (!w)
		return -ENOMEM;
	w->sink = sink;
	w->sink_arg = arg;
	w->status = status;
	hl_writer_place_base(w, &meta->base);
	err = hl_write_meta(w, meta);
	if (err) {
		w->error = err;
		hl_writer_close(w);
		return err;
	}
	*out = w;
	return 0;
}

int hl_writer_open(struct hl_writer **out, int fd, const struct hl_meta *meta)
{
	return hl_writer_open_with(out, fd, meta, NULL);
}

/* Every chunk header has the current position in the trace. */
void hl_writer_begin(struct hl_writer *w, uint16_t type)
{
	hl_seal_begin(&w->sealer, type, &w->open);
	w->sealer.chunk.summary_share = w->summary_share;
}

int hl_writer_put(struct hl_writer *w)
{
	int err = hl_seal_end(&w->sealer);

	w->sealer.chunk.head.seq = w->seq;
	if (!err)
		err = w->sink(w->sink_arg, &w->sealer.chunk);
	w->seq += !err;
	return err;
}

/* If a summary does not pay, those of the next chunks probably do not pay either: attempts become
 * rarer. */
static void plan_summaries(struct hl_writer *w, bool made)
{
	uint32_t dropped =
		atomic_load_explicit(&w->status->summaries_dropped, memory_order_relaxed);
	bool paid = made && dropped == w->summaries_dropped;

	w->summaries_dropped = dropped;
	if (w->summary_skip > 0) {
		w->summary_skip--;
	} else if (paid) {
		w->summary_wait = 0;
	} else {
		w->summary_wait = hl_min_u32(w->summary_wait * 2 + 1, SUMMARY_WAIT_MAX);
		w->summary_skip = w->summary_wait;
	}
}

/* The file half keeps the summary only if it is small enough. Sets *made if there is one. */
static int add_summary(struct hl_writer *w, size_t raw, bool *made)
{
	hl_byte_buffer *scratch = &w->sealer.scratch;

	*made = !w->summary->off && w->enc.n_events > 0;
	if (!*made)
		return 0;
	scratch->len = 0;
	if (hl_summarizer_put(w->summary, scratch) < 0)
		return -ENOMEM;
	*made = raw + scratch->len <= HL_RAW_MAX;
	if (*made)
		hl_seal_column(&w->sealer, HL_COL_SUMMARY, scratch->data, scratch->len);
	return 0;
}

static int write_events(struct hl_writer *w)
{
	struct hl_encoder *e = &w->enc;
	bool summary;
	size_t raw;
	int err;

	hl_encoder_finish(e);
	raw = hl_encoder_raw(e);
	err = hl_write_tables(w);
	if (err)
		return err;
	w->open.n_events = e->n_events;
	w->open.n_rows = e->n_extras;
	w->open.aux = w->n_nodes | (uint64_t)w->n_threads << 32;
	w->open.t0_ns = e->t0 * HL_TIME_UNIT_NS;
	w->open.t1_ns = w->last_time * HL_TIME_UNIT_NS;
	w->open.flags |= w->disjoint ? HL_CHUNK_APART : 0;
	hl_writer_begin(w, HL_CHUNK_EVENTS);
	w->sealer.chunk.durable = e->n_events - w->n_columns_only;
	for (int i = 0; i < EC_COUNT; i++)
		hl_seal_column(&w->sealer, (uint16_t)(HL_COL_LATER + i), e->base[i],
			(size_t)(e->at[i] - e->base[i]));
	hl_seal_column(&w->sealer, HL_COL_PARTED, w->parted.data, w->parted.len);
	hl_seal_column(&w->sealer, HL_COL_LINKED, w->linked.data, w->linked.len);
	err = add_summary(w, raw + w->parted.len + w->linked.len, &summary);
	w->parted.len = w->parted_at = 0;
	w->linked.len = w->linked_at = 0;
	if (!err)
		err = hl_writer_put(w);
	if (err)
		return err;
	plan_summaries(w, summary);
	w->disjoint = false;
	w->n_columns_only = 0;
	open_chunk(w);
	if (w->follows_alloc)
		w->open.flags = HL_CHUNK_FOLLOWS_ALLOC;
	return 0;
}

int hl_writer_close_chunk(struct hl_writer *w)
{
	if (w->enc.n_events + w->enc.n_extras == 0 || w->error)
		return w->error;
	w->error = write_events(w);
	if (!w->error && hl_keyframe_due(w))
		w->error = hl_write_keyframe(w, hl_keyframe_full_due(w), NULL);
	return w->error;
}

/* Counts as a reader without END would, so that keyframes have these counters too. */
static void count_extra(struct hl_writer *w, const struct hl_extra *x)
{
	struct hl_counters *c = &w->seen;

	w->stops += x->kind == HL_EXTRA_STOP;
	w->mode_changes += x->kind == HL_EXTRA_MODE;
	w->pauses += x->kind == HL_EXTRA_MODE && (x->value & HL_CONTROL_PAUSED);
	if (x->kind == HL_EXTRA_UNKNOWN_FREE && x->value == 1)
		c->inherited_frees++;
	else if (x->kind == HL_EXTRA_UNKNOWN_FREE)
		c->unknown_frees++;
	else if (x->kind == HL_EXTRA_DROPPED)
		c->dropped_events += x->value;
}

int hl_writer_add_extra(struct hl_writer *w, const struct hl_extra *x)
{
	size_t text = x->text ? hl_min_u64(strlen(x->text), HL_TEXT_MAX) : 0;
	size_t room = HL_RAW_CHECK * HL_EVENT_RAW_MAX + text + 2 * HL_EVENT_RAW_MAX;

	if (w->error)
		return w->error;
	if (w->ended || x->thread >= w->n_threads ||
		(x->node >= w->n_nodes && x->node != HL_NODE_NONE))
		return w->error = -EINVAL;
	if (hl_encoder_raw(&w->enc) + room > HL_RAW_MAX || w->enc.n_extras >= HL_CHUNK_EXTRAS_MAX) {
		w->pair_open = false; /* inside a realloc: its halves go to two chunks */
		if (hl_writer_close_chunk(w) < 0)
			return w->error;
	}
	if (!w->in_base) /* the sums have those of the base already */
		count_extra(w, x);
	hl_encoder_extra(&w->enc, x, hl_writer_clamp_time(w, x->time_ns), text);
	return 0;
}

void hl_writer_set_uncompressed(struct hl_writer *w, bool on)
{
	hl_chunk_file_set_uncompressed(w->file, on);
}

int hl_writer_flush(struct hl_writer *w)
{
	if (w->error || w->pair_open)
		return w->error;
	if (hl_writer_close_chunk(w) < 0)
		return w->error;
	w->error = hl_write_tables(w);
	if (!w->error && w->rss.len >= RSS_FLUSH_MIN)
		w->error = hl_write_rss(w);
	return w->error;
}

uint64_t hl_writer_durable_events(const struct hl_writer *w)
{
	return atomic_load_explicit(&w->status->events, memory_order_relaxed);
}

void hl_writer_live(const struct hl_writer *w, uint64_t *bytes, uint64_t *blocks)
{
	*bytes = hl_sums_live_bytes(&w->totals.sums);
	*blocks = hl_sums_live_blocks(&w->totals.sums);
}

uint64_t hl_writer_events(const struct hl_writer *w)
{
	return w->totals.events;
}

uint64_t hl_writer_bytes(const struct hl_writer *w)
{
	return atomic_load_explicit(&w->status->bytes, memory_order_relaxed);
}

int hl_writer_end(struct hl_writer *w, const struct hl_end *end, const struct hl_counters *counters)
{
	if (w->error)
		return w->error;
	if (w->ended)
		return -EINVAL;
	w->pair_open = false; /* a realloc that did not return counts as a free */
	w->ended = true;
	w->error = hl_writer_close_chunk(w);
	if (!w->error)
		w->error = hl_write_tables(w);
	if (!w->error)
		w->error = hl_write_rss(w);
	if (!w->error)
		w->error = hl_write_names(w);
	if (!w->error)
		w->error =
			hl_write_keyframe(w, true, w->has_end_snapshot ? &w->end_snapshot : NULL);
	if (!w->error)
		w->error = hl_write_end(w, end, counters);
	if (!w->error) { /* the file half makes the content of the index */
		hl_writer_begin(w, HL_CHUNK_INDEX);
		w->error = hl_writer_put(w);
	}
	return w->error;
}

void hl_writer_close(struct hl_writer *w)
{
	if (!w)
		return;
	if (!w->ended && w->sink)
		(void)hl_writer_flush(w);
	hl_chunk_file_close(w->file);
	hl_encoder_fini(&w->enc);
	hl_summarizer_free(w->summary);
	hl_sealer_fini(&w->sealer);
	hl_pending_tables_fini(&w->tables);
	hl_symbol_names_fini(&w->names);
	hl_vec_free(&w->parted);
	hl_vec_free(&w->linked);
	hl_vec_free(&w->rss);
	hl_map_encoder_fini(&w->maps);
	hl_vec_free(&w->touched);
	hl_vec_free(&w->aggregated);
	hl_vec_free(&w->first_funcs);
	free(w->end_label);
	hl_vec_free(&w->node_state);
	hl_vec_free(&w->thread_state);
	hl_vec_free(&w->role_threads);
	hl_totals_fini(&w->totals);
	free(w);
}
