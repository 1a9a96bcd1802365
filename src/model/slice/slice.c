/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice.c - cuts a trace; see slice.h.
 *
 * The trace is read twice. The first pass (block_stream.h) finds the blocks that are kept, with the
 * ranges and filters of all queries; the second copies their events. Stacks and their modules are
 * written when the first event needs them (slice_tables.c), so that nothing that was cut remains in
 * the slice. A trace with aggregated blocks cannot be cut, because a sum has no times. It can only
 * be renamed as a whole (slice_rename.c).
 */
#include "model/query/query_plan.h"
#include "model/slice/slice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "model/slice/embed_modules.h"
#include "model/scan/lifetime_class.h"
#include "model/query/query.h"
#include "model/slice/slice_internal.h"
#include "model/scan/block_stream.h"
#include "model/tags/roles.h"
#include "util/safe_text.h"

static void append_clause(struct hl_strbuf *out, const char *fmt, ...) hl_printf(2, 3);
static void append_clause(struct hl_strbuf *out, const char *fmt, ...)
{
	va_list ap;

	if (out->len)
		hl_strbuf_puts(out, "; ");
	va_start(ap, fmt);
	hl_strbuf_vprintf(out, fmt, ap);
	va_end(ap);
}

void hl_slice_describe(const struct hl_slice_info *cut, struct hl_strbuf *out)
{
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX];

	/* The file that it was cut from may end before the run. */
	if (cut->flags & HL_SLICE_RANGE && cut->to_ns == UINT64_MAX)
		append_clause(out, "from %s of the run on", hl_text_duration(a, cut->from_ns));
	else if (cut->flags & HL_SLICE_RANGE)
		append_clause(out, "from %s to %s of the run", hl_text_duration(a, cut->from_ns),
			hl_text_duration(b, cut->to_ns));
	if (cut->flags & HL_SLICE_LIFETIME)
		append_clause(out, "only blocks with a lifetime of at least %s",
			hl_text_duration(a, cut->min_life_ns));
	if (cut->flags & HL_SLICE_FILTER && cut->filter && cut->filter[0])
		append_clause(out, "only blocks that match %s", cut->filter);
	else if (cut->flags & HL_SLICE_FILTER)
		append_clause(out, "only blocks that match a filter");
	if (cut->flags & HL_SLICE_ALL)
		append_clause(out, "names, program, texts and addresses are anonymized");
	else if (cut->flags & HL_SLICE_NAMES)
		append_clause(out, "names of functions, files and modules are anonymized");
}

/* --- choosing blocks --- */

static void reset_kept(void *arg)
{
	struct hl_slice_writer *c = arg;

	hl_ordinal_set_fini(&c->kept);
}

static void reset_kept_pooled(void *arg)
{
	struct hl_slice_writer *c = arg;

	hl_ordinal_set_fini(&c->kept_pooled);
}

static int keep_block(void *arg, const struct hl_block *b)
{
	struct hl_slice_writer *c = arg;

	if (b->alloc_phase == HL_RANGE_IN ||
		(b->alloc_phase == HL_RANGE_BEFORE && b->free_phase != HL_RANGE_BEFORE))
		return hl_ordinal_set_add(
			b->pool == UINT32_MAX ? &c->kept : &c->kept_pooled, b->ordinal);
	return 0;
}

/* Blocks of pools are in side events: they are chosen in a scan of their own. */
static int choose_pooled(struct hl_slice_writer *c)
{
	struct hl_pattern_error error;
	struct hl_pattern *any;
	struct hl_block_stream stream = {.filter = c->s->filter,
		.from = c->from,
		.to = c->to,
		.include_older = true,
		.begin = reset_kept_pooled,
		.block = keep_block,
		.arg = c};
	int err;

	c->n_pools = hl_model_n_pools(c->m);
	if (c->n_pools == 0)
		return 0;
	c->pools = calloc(c->n_pools, sizeof(*c->pools));
	if (!c->pools)
		return hl_model_fail(c->m, -ENOMEM);
	err = hl_pattern_new(&any, "*", 1, &error);
	if (err)
		return hl_model_fail(c->m, err);
	stream.pool = any;
	err = hl_block_stream_run(c->m, &stream);
	hl_pattern_free(any);
	if (err == -EBADMSG && !c->m->error[0])
		snprintf(c->m->error, sizeof(c->m->error),
			"the data about pools in the trace contradicts itself: it is forged or "
			"damaged");
	c->from = stream.from;
	c->to = stream.to;
	hl_ordinal_set_count(&c->kept_pooled);
	return err;
}

static int choose_blocks(struct hl_slice_writer *c)
{
	struct hl_block_stream stream = {.filter = c->s->filter,
		.from = hl_query_from(c->m, &c->s->from),
		.to = hl_query_to(c->m, &c->s->to),
		.include_older = true,
		.func = true, /* all allocations must be read, because they are written again */
		.begin = reset_kept,
		.block = keep_block,
		.arg = c};
	const struct hl_query moments = {
		.quantity = HL_QUANTITY_ALLOCATED, .from = c->s->from, .to = c->s->to};
	int err = hl_query_bind(&moments, c->m);

	if (!err)
		err = hl_block_stream_run(c->m, &stream);
	c->from = stream.from;
	c->to = stream.to;
	hl_ordinal_set_count(&c->kept);
	return err ? err : choose_pooled(c);
}

/* --- events --- */

/* The number of events of the chunk before a position. */
static size_t events_before(struct hl_slice_writer *c, const struct hl_position *p, size_t chunk,
	const struct hl_chunk_events *e)
{
	if (chunk != p->chunk)
		return chunk < p->chunk ? e->n_events : 0;
	return hl_position_split(c->m, p, e);
}

static bool is_kept(
	const struct hl_slice_writer *c, const struct hl_chunk_events *e, size_t i, size_t to)
{
	return i < to && hl_ordinal_set_has(&c->kept, e->events[i].ordinal);
}

/* Are both halves of the realloc that this event belongs to in the slice? */
static bool has_both_halves(
	const struct hl_slice_writer *c, const struct hl_chunk_events *e, size_t i, size_t to)
{
	size_t other = e->events[i].op == HL_OP_FREE ? i + 1 : i - 1;

	return (e->events[i].flags & HL_EVENT_MOVED) && other < e->n_events &&
	       (e->events[other].flags & HL_EVENT_MOVED) && is_kept(c, e, other, to);
}

static void count_alloc(struct hl_slice_writer *c, const struct hl_event *e, bool older)
{
	if (e->op != HL_OP_ALLOC)
		return;
	c->done->blocks += e->blocks;
	c->done->bytes += e->bytes;
	if (older || e->time_ns < c->cut.from_ns) {
		c->done->left_out.older_blocks += e->blocks;
		c->done->left_out.older_bytes += e->bytes;
	}
}

/* The ordinal, plus 1, of the preceding event of the run if that is an allocation; else 0. */
static uint64_t alloc_before(
	const struct hl_slice_writer *c, size_t chunk, const struct hl_chunk_events *e, size_t i)
{
	if (i > 0)
		return e->events[i - 1].op == HL_OP_ALLOC ? e->events[i - 1].ordinal + 1 : 0;
	return e->follows_alloc ? hl_reader_chunk(c->m->reader, chunk)->first_ordinal : 0;
}

/* If events between an allocation and its free were cut, the free must not look like the next event
 * of the run. */
static void mark_split(struct hl_slice_writer *c, struct hl_event *e, uint64_t alloc_before_it)
{
	if (e->op == HL_OP_FREE && c->last_alloc == e->ordinal + 1 &&
		alloc_before_it != e->ordinal + 1)
		e->flags |= HL_EVENT_SPLIT;
	c->last_alloc = e->op == HL_OP_ALLOC ? e->ordinal + 1 : 0;
}

/* The stack of a free. If the new block of its realloc is not in the slice, the free itself must
 * have the stack. */
static uint32_t free_node_of(const struct hl_slice_writer *c, const struct hl_event *e, bool pair)
{
	return !pair && e->flags & HL_EVENT_MOVED && c->m->info->meta.free_stacks ? e[1].node
										  : e->free_node;
}

/* If only one half of a realloc is in the slice: a free becomes LINKED, an allocation becomes a
 * plain one. */
static void fix_link(struct hl_slice_writer *c, struct hl_event *e, bool pair)
{
	bool alloc = e->op == HL_OP_ALLOC;

	if (e->flags & HL_EVENT_MOVED && !pair) {
		e->flags &= (uint8_t)~HL_EVENT_MOVED;
		e->flags |= alloc ? 0 : HL_EVENT_LINKED;
	} else if (e->flags & HL_EVENT_LINKED && alloc) {
		if (hl_ordinal_set_has(&c->kept, e->realloc_of))
			e->realloc_of = hl_ordinal_set_rank(&c->kept, e->realloc_of);
		else
			e->flags &= (uint8_t)~HL_EVENT_LINKED;
	}
}

static int copy_event(struct hl_slice_writer *c, const struct hl_event *from, bool pair, bool older,
	uint64_t alloc_before_it)
{
	struct hl_event e = *from;
	int err = hl_slice_writer_map_node(c, from->node, &e.node);

	if (!err && e.op == HL_OP_FREE)
		err = hl_slice_writer_map_node(c, free_node_of(c, from, pair), &e.free_node);
	if (err)
		return err;
	mark_split(c, &e, alloc_before_it);
	e.ordinal = hl_ordinal_set_rank(&c->kept, from->ordinal);
	fix_link(c, &e, pair);
	/* For a block from an earlier chunk only the class of its lifetime is known: any time in
	 * the class will do. */
	if (e.op == HL_OP_FREE && e.alloc_ns == UINT64_MAX)
		e.alloc_ns =
			e.time_ns - hl_min_u64(e.time_ns, hl_lifetime_class_ns(e.lifetime_class));
	if (c->anonymizer)
		hl_anonymize_event(c->anonymizer, &e);
	count_alloc(c, &e, older);
	return hl_slice_writer_note_error(c, hl_writer_add_event(c->w, &e));
}

static int copy_chunk(struct hl_slice_writer *c, size_t chunk, const struct hl_chunk_events *e)
{
	size_t from = events_before(c, &c->from, chunk, e), to = events_before(c, &c->to, chunk, e),
	       x = 0;
	int err = 0;

	for (size_t i = 0; i <= to && !err; i++) {
		for (; x < e->n_extras && e->extras_at[x] <= i && !err; x++)
			err = hl_slice_writer_extra(c, &e->extras[x], e->extras_at[x] < from);
		if (!err && is_kept(c, e, i, to))
			err = copy_event(c, &e->events[i], has_both_halves(c, e, i, to), i < from,
				alloc_before(c, chunk, e, i));
	}
	return err;
}

static int copy_events(struct hl_slice_writer *c)
{
	size_t n = hl_min_u64(hl_position_end(&c->to), hl_reader_n_chunks(c->m->reader));
	struct hl_chunk_events events = {0};
	struct hl_decode_ahead ahead;
	unsigned want = HL_WANT_ALL;
	int err = 0;

	hl_decode_ahead_init(&ahead, c->m->reader);
	hl_work_begin(&c->m->work, HL_WORK_PASS, "writing the slice");
	for (size_t i = 0; i < n && !err; i++) {
		err = hl_work_tick(&c->m->work, i, n);
		if (!err)
			err = hl_slice_writer_snapshots(c, i);
		if (!err)
			err = hl_decode_ahead_read(&ahead, i, n, &want, &events);
		if (!err)
			err = copy_chunk(c, i, &events);
	}
	hl_work_end(&c->m->work, HL_WORK_PASS);
	hl_decode_ahead_fini(&ahead);
	hl_chunk_events_free(&events);
	return err ? err : hl_slice_writer_snapshots(c, n);
}

/* --- the trace --- */

/* A moment after the end is the end. */
static bool reaches_end(const struct hl_slice_writer *c)
{
	const struct hl_time_spec *to = &c->s->to;

	if (to->kind == HL_TIME_SPEC_NS || to->kind == HL_TIME_SPEC_PERCENT)
		return hl_time_spec_ns(to, c->m) >= hl_model_end_ns(c->m);
	return to->kind == HL_TIME_SPEC_END;
}

/* Fills in the slice's description of itself. If the trace was a slice before, it describes both
 * cuts. */
static void describe_slice(struct hl_slice_writer *c)
{
	const struct hl_slice_info *old = &c->m->info->meta.slice;
	const struct hl_slice *s = c->s;
	bool ranged = s->from.kind != HL_TIME_SPEC_NS || s->from.ns || !reaches_end(c) ||
		      hl_model_base(c->m)->is_late;

	c->cut = (struct hl_slice_info){.flags = old->flags,
		.from_ns = hl_max_u64(c->from.time_ns, old->from_ns),
		.to_ns = UINT64_MAX,
		.min_life_ns = hl_max_u64(s->min_life_ns, old->min_life_ns)};
	if (!reaches_end(c) || c->to.before_damage)
		c->cut.to_ns = c->to.time_ns;
	if (old->flags & HL_SLICE_RANGE)
		c->cut.to_ns = hl_min_u64(c->cut.to_ns, old->to_ns);
	c->cut.flags |= ranged || c->to.before_damage ? HL_SLICE_RANGE : 0;
	c->cut.flags |= s->min_life_ns ? HL_SLICE_LIFETIME : 0;
	c->cut.flags |= s->filter_text ? HL_SLICE_FILTER : 0;
	c->cut.flags |= s->anonymity ? HL_SLICE_NAMES : 0;
	c->cut.flags |= s->anonymity == HL_ANONYMIZE_ALL ? HL_SLICE_ALL : 0;
	if (!s->anonymity) {
		hl_strbuf_puts(&c->filter, old->filter ? old->filter : "");
		/* The text of an earlier filter may have been removed with the names; it is still a
		 * filter. */
		if (s->filter_text && !c->filter.len && old->flags & HL_SLICE_FILTER)
			hl_strbuf_puts(&c->filter, "a filter;");
		if (s->filter_text)
			hl_strbuf_printf(
				&c->filter, "%s%s", c->filter.len ? " " : "", s->filter_text);
	}
	c->cut.filter = hl_strbuf_str(&c->filter);
}

int hl_slice_writer_meta(struct hl_slice_writer *c, struct hl_meta *meta)
{
	int err;

	describe_slice(c);
	*meta = c->m->info->meta;
	meta->slice = c->cut;
	if (!hl_model_has_aggregated(c->m)) /* its blocks become events from before the range */
		meta->base = (struct hl_base){0};
	err = hl_strbuf_error(&c->filter);
	return !err && c->anonymizer ? hl_anonymize_meta(c->anonymizer, meta) : err;
}

static struct hl_end end_of(const struct hl_slice_writer *c)
{
	struct hl_end end = c->m->info->end;

	end.other_traces = 0; /* a slice is no session */
	if (!c->m->info->has_end || c->to.before_damage)
		end = (struct hl_end){.kind = HL_END_LOST, .duration_ns = hl_model_end_ns(c->m)};
	else if (!reaches_end(c))
		end = (struct hl_end){.kind = HL_END_STOPPED};
	end.duration_ns = c->cut.to_ns != UINT64_MAX ? c->to.time_ns : end.duration_ns;
	return end;
}

/* The counters remain those of the whole recording: they say how far it can be trusted. */
static int finish_trace(struct hl_slice_writer *c)
{
	const struct hl_trace_info *i = c->m->info;
	struct hl_left_out *left = &c->done->left_out;
	struct hl_end end = end_of(c);

	left->blocks = i->totals.sums.alloc_blocks - c->done->blocks + i->left_out.blocks;
	left->bytes = i->totals.sums.alloc_bytes - c->done->bytes + i->left_out.bytes;
	hl_writer_set_left_out(c->w, left);
	hl_writer_set_cost(c->w, &i->cost);
	return hl_slice_writer_note_error(c, hl_writer_end(c->w, &end, &i->counters));
}

static int write_trace(struct hl_slice_writer *c, int fd)
{
	struct hl_meta meta;
	int err = hl_slice_writer_meta(c, &meta);

	if (!err)
		err = hl_slice_writer_note_error(c, hl_writer_open(&c->w, fd, &meta));
	if (err) {
		close(fd);
		return err;
	}
	err = hl_slice_writer_add_roles(c);
	if (!err)
		err = copy_events(c);
	if (!err)
		err = hl_slice_writer_rss(c);
	if (!err)
		err = hl_slice_writer_maps(c);
	if (!err && !c->anonymizer) /* they would reveal the names */
		err = hl_model_copy_embedded(c->m, c->w, &c->write_err);
	if (!err)
		err = finish_trace(c);
	hl_writer_close(c->w);
	return err;
}

/* If the writer failed, the error is about the new file and not about the model. */
static int set_model_error(struct hl_slice_writer *c, int err)
{
	return err && !c->write_err ? hl_model_fail(c->m, err) : err;
}

static bool needs_order(const struct hl_slice *s)
{
	unsigned subjects = s->filter ? hl_filter_subjects(s->filter) : 0;

	return s->from.kind != HL_TIME_SPEC_NS || s->from.ns || s->to.kind != HL_TIME_SPEC_END ||
	       subjects & (HL_FILTER_TIME | HL_FILTER_FREE_TIME);
}

/* Are only names to be replaced? */
static bool keeps_all_blocks(const struct hl_slice *s)
{
	return s->anonymity && !s->filter && s->from.kind == HL_TIME_SPEC_NS && s->from.ns == 0 &&
	       s->to.kind == HL_TIME_SPEC_END;
}

int hl_slice_write(struct hl_model *m, const struct hl_slice *s, int fd, struct hl_slice_done *done)
{
	struct hl_slice_writer c = {.m = m,
		.s = s,
		.done = done,
		.nodes = calloc((size_t)m->n_nodes + 1, sizeof(*c.nodes)),
		.modules = calloc((size_t)m->n_modules + 1, sizeof(*c.modules))};
	int err = c.nodes && c.modules ? 0 : -ENOMEM;

	memset(done, 0, sizeof(*done));
	if (!err && !keeps_all_blocks(s))
		err = hl_model_require(m, HL_NEEDS_EVENTS, "a slice");
	if (!err && needs_order(s))
		err = hl_model_require(m, HL_NEEDS_ORDER, "a slice by time");
	if (err == -ENODATA) {
		close(fd);
		goto out;
	}
	if (!err && s->anonymity)
		err = hl_anonymize_new(&c.anonymizer, m, s->anonymity == HL_ANONYMIZE_ALL);
	if (err) {
		close(fd);
		err = hl_model_fail(m, err);
		goto out;
	}
	if (hl_model_has_aggregated(m)) {
		err = set_model_error(&c, hl_slice_writer_rename(&c, fd));
		goto out;
	}
	err = choose_blocks(&c); /* sets the error message itself */
	if (err) {
		close(fd);
		goto out;
	}
	done->before_damage = c.to.before_damage;
	done->to_ns = c.to.time_ns;
	err = set_model_error(&c, write_trace(&c, fd));
out:
	hl_anonymize_free(c.anonymizer);
	hl_strbuf_fini(&c.filter);
	hl_ordinal_set_fini(&c.kept);
	hl_ordinal_set_fini(&c.kept_pooled);
	hl_vec_free(&c.path);
	hl_pair_map_fini(&c.named);
	free(c.nodes);
	free(c.modules);
	free(c.pools);
	return err;
}
