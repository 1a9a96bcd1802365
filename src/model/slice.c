/*
 * slice.c - cuts a trace; see slice.h.
 *
 * Two readings. The first (stream.h) finds which blocks are kept, with the words that all questions
 * use for ranges and filters; the second copies their events. Stacks, and the modules they lie in,
 * are written when the first event needs them (slice_tables.c), so that nothing of what was cut is
 * left behind. A trace of which some blocks are in sums alone cannot be cut: no sum says of when it
 * is. It can be renamed as a whole (slice_rename.c).
 */
#include "model/slice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "model/carried.h"
#include "model/life.h"
#include "model/query.h"
#include "model/slice_internal.h"
#include "model/stream.h"
#include "model/tags.h"
#include "util/text.h"

static void add_part(struct hl_strbuf *out, const char *fmt, ...) hl_printf(2, 3);
static void add_part(struct hl_strbuf *out, const char *fmt, ...)
{
	va_list ap;

	if (out->len)
		hl_strbuf_puts(out, "; ");
	va_start(ap, fmt);
	hl_strbuf_vprintf(out, fmt, ap);
	va_end(ap);
}

void hl_cut_describe(const struct hl_cut_note *cut, struct hl_strbuf *out)
{
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX];

	if (cut->flags & HL_CUT_RANGE)
		add_part(out, "from %s to %s of the run", hl_text_duration(a, cut->from_ns),
			cut->to_ns == UINT64_MAX ? "the end" : hl_text_duration(b, cut->to_ns));
	if (cut->flags & HL_CUT_LIFE)
		add_part(out, "only blocks that lived at least %s",
			hl_text_duration(a, cut->min_life_ns));
	if (cut->flags & HL_CUT_FILTER && cut->filter && cut->filter[0])
		add_part(out, "only blocks that fit %s", cut->filter);
	else if (cut->flags & HL_CUT_FILTER)
		add_part(out, "only blocks that fit a filter");
	if (cut->flags & HL_CUT_ALL)
		add_part(out, "names, program, texts and addresses are made up");
	else if (cut->flags & HL_CUT_NAMES)
		add_part(out, "names of functions, files and modules are made up");
}

/* --- which blocks --- */

static void forget(void *arg)
{
	struct hl_cutting *c = arg;

	hl_kept_fini(&c->kept);
}

static void forget_pooled(void *arg)
{
	struct hl_cutting *c = arg;

	hl_kept_fini(&c->kept_pooled);
}

static int keep(void *arg, const struct hl_block *b)
{
	struct hl_cutting *c = arg;

	if (b->born == HL_PHASE_IN || (b->born == HL_PHASE_BEFORE && b->died != HL_PHASE_BEFORE))
		return hl_kept_add(b->pool == UINT32_MAX ? &c->kept : &c->kept_pooled, b->ordinal);
	return 0;
}

/* Blocks of pools lie between the events: they are asked for by themselves. */
static int choose_pooled(struct hl_cutting *c)
{
	struct hl_pattern_error error;
	struct hl_pattern *any;
	struct hl_stream stream = {.filter = c->s->filter,
		.from = c->from,
		.to = c->to,
		.older = true,
		.begin = forget_pooled,
		.block = keep,
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
	err = hl_stream_blocks(c->m, &stream);
	hl_pattern_free(any);
	if (err == -EBADMSG && !c->m->error[0])
		snprintf(c->m->error, sizeof(c->m->error),
			"what the trace says of pools contradicts itself: it is forged or damaged");
	c->from = stream.from;
	c->to = stream.to;
	hl_kept_count(&c->kept_pooled);
	return err;
}

static int choose(struct hl_cutting *c)
{
	struct hl_stream stream = {.filter = c->s->filter,
		.from = hl_query_from(c->m, &c->s->from),
		.to = hl_query_to(c->m, &c->s->to),
		.older = true,
		.func = true, /* all births must be read: they are written again */
		.begin = forget,
		.block = keep,
		.arg = c};
	int err = hl_stream_blocks(c->m, &stream);

	c->from = stream.from;
	c->to = stream.to;
	hl_kept_count(&c->kept);
	return err ? err : choose_pooled(c);
}

/* --- events --- */

/* How many events of the chunk come before a place. */
static size_t before(struct hl_cutting *c, const struct hl_place *p, size_t chunk,
	const struct hl_chunk_events *e)
{
	if (chunk != p->chunk)
		return chunk < p->chunk ? e->n_events : 0;
	return hl_place_split(c->m, p, e);
}

static bool is_kept(
	const struct hl_cutting *c, const struct hl_chunk_events *e, size_t i, size_t to)
{
	return i < to && hl_kept_has(&c->kept, e->events[i].ordinal);
}

/* Are both halves of the realloc that this event is one of in the slice? */
static bool is_pair(
	const struct hl_cutting *c, const struct hl_chunk_events *e, size_t i, size_t to)
{
	size_t other = e->events[i].op == HL_OP_FREE ? i + 1 : i - 1;

	return (e->events[i].flags & HL_EVENT_MOVED) && other < e->n_events &&
	       (e->events[other].flags & HL_EVENT_MOVED) && is_kept(c, e, other, to);
}

static void count(struct hl_cutting *c, const struct hl_event *e, bool older)
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

/* The ordinal, plus 1, of the allocation that is the event just before this one in the run; 0: it
 * is none. */
static uint64_t alloc_before(
	const struct hl_cutting *c, size_t chunk, const struct hl_chunk_events *e, size_t i)
{
	if (i > 0)
		return e->events[i - 1].op == HL_OP_ALLOC ? e->events[i - 1].ordinal + 1 : 0;
	return e->follows_alloc ? hl_reader_chunk(c->m->reader, chunk)->first_ordinal : 0;
}

/* What was between an allocation and a free is gone: they must not look as if it had never been. */
static void note_parted(struct hl_cutting *c, struct hl_event *e, uint64_t before_it)
{
	if (e->op == HL_OP_FREE && c->last_alloc == e->ordinal + 1 && before_it != e->ordinal + 1)
		e->flags |= HL_EVENT_PARTED;
	c->last_alloc = e->op == HL_OP_ALLOC ? e->ordinal + 1 : 0;
}

/* The stack that ended a block. Without the new block of its realloc the free itself must say it.
 */
static uint32_t free_node_of(const struct hl_cutting *c, const struct hl_event *e, bool pair)
{
	return !pair && e->flags & HL_EVENT_MOVED && c->m->info->meta.free_stacks ? e[1].node
										  : e->free_node;
}

/* Of a realloc that is not wholly in the slice the free is LINKED, the allocation is not. */
static void keep_link(struct hl_cutting *c, struct hl_event *e, bool pair)
{
	bool alloc = e->op == HL_OP_ALLOC;

	if (e->flags & HL_EVENT_MOVED && !pair) {
		e->flags &= (uint8_t)~HL_EVENT_MOVED;
		e->flags |= alloc ? 0 : HL_EVENT_LINKED;
	} else if (e->flags & HL_EVENT_LINKED && alloc) {
		if (hl_kept_has(&c->kept, e->made_of))
			e->made_of = hl_kept_rank(&c->kept, e->made_of);
		else
			e->flags &= (uint8_t)~HL_EVENT_LINKED;
	}
}

static int copy_event(struct hl_cutting *c, const struct hl_event *from, bool pair, bool older,
	uint64_t before_it)
{
	struct hl_event e = *from;
	int err = hl_cutting_map_node(c, from->node, &e.node);

	if (!err && e.op == HL_OP_FREE)
		err = hl_cutting_map_node(c, free_node_of(c, from, pair), &e.free_node);
	if (err)
		return err;
	note_parted(c, &e, before_it);
	e.ordinal = hl_kept_rank(&c->kept, from->ordinal);
	keep_link(c, &e, pair);
	/* Of a block from an earlier chunk only the class of its life is known: any of it will do.
	 */
	if (e.op == HL_OP_FREE && e.birth_ns == UINT64_MAX)
		e.birth_ns = e.time_ns - hl_min_u64(e.time_ns, hl_life_class_ns(e.life_q));
	if (c->disguise)
		hl_disguise_event(c->disguise, &e);
	count(c, &e, older);
	return hl_cutting_wrote(c, hl_writer_add_event(c->w, &e));
}

static int copy_chunk(struct hl_cutting *c, size_t chunk, const struct hl_chunk_events *e)
{
	size_t from = before(c, &c->from, chunk, e), to = before(c, &c->to, chunk, e), x = 0;
	int err = 0;

	for (size_t i = 0; i <= to && !err; i++) {
		for (; x < e->n_extras && e->extras_at[x] <= i && !err; x++)
			err = hl_cutting_extra(c, &e->extras[x], e->extras_at[x] < from);
		if (!err && is_kept(c, e, i, to))
			err = copy_event(c, &e->events[i], is_pair(c, e, i, to), i < from,
				alloc_before(c, chunk, e, i));
	}
	return err;
}

static int copy_events(struct hl_cutting *c)
{
	size_t n = hl_min_u64(hl_place_end(&c->to), hl_reader_n_chunks(c->m->reader));
	struct hl_chunk_events events = {0};
	int err = 0;

	hl_progress_begin("writing the slice");
	for (size_t i = 0; i < n && !err; i++) {
		hl_progress_tick(i, n);
		err = hl_cutting_snapshots(c, i);
		if (!err)
			err = hl_reader_decode(c->m->reader, i, &events);
		if (!err)
			err = copy_chunk(c, i, &events);
	}
	hl_progress_end();
	hl_chunk_events_free(&events);
	return err ? err : hl_cutting_snapshots(c, n);
}

/* --- the whole --- */

/* A moment after the end is the end. */
static bool reaches_end(const struct hl_cutting *c)
{
	const struct hl_when *to = &c->s->to;

	if (to->kind == HL_WHEN_NS || to->kind == HL_WHEN_PERCENT)
		return hl_when_ns(to, c->m) >= hl_model_end_ns(c->m);
	return to->kind == HL_WHEN_END;
}

/* What the slice says of itself; one that was cut before says both. */
static void describe(struct hl_cutting *c)
{
	const struct hl_cut_note *old = &c->m->info->meta.cut;
	const struct hl_slice *s = c->s;
	bool ranged = s->from.kind != HL_WHEN_NS || s->from.ns || !reaches_end(c);

	c->cut = (struct hl_cut_note){.flags = old->flags,
		.from_ns = hl_max_u64(c->from.time_ns, old->from_ns),
		.to_ns = UINT64_MAX,
		.min_life_ns = hl_max_u64(s->min_life_ns, old->min_life_ns)};
	if (!reaches_end(c) || c->to.moved)
		c->cut.to_ns = c->to.time_ns;
	if (old->flags & HL_CUT_RANGE)
		c->cut.to_ns = hl_min_u64(c->cut.to_ns, old->to_ns);
	c->cut.flags |= ranged || c->to.moved ? HL_CUT_RANGE : 0;
	c->cut.flags |= s->min_life_ns ? HL_CUT_LIFE : 0;
	c->cut.flags |= s->filter_text ? HL_CUT_FILTER : 0;
	c->cut.flags |= s->anonymity ? HL_CUT_NAMES : 0;
	c->cut.flags |= s->anonymity == HL_ALL_MADE_UP ? HL_CUT_ALL : 0;
	if (!s->anonymity) {
		hl_strbuf_puts(&c->filter, old->filter ? old->filter : "");
		/* One whose text was left out when names were made up is still a filter. */
		if (s->filter_text && !c->filter.len && old->flags & HL_CUT_FILTER)
			hl_strbuf_puts(&c->filter, "a filter;");
		if (s->filter_text)
			hl_strbuf_printf(
				&c->filter, "%s%s", c->filter.len ? " " : "", s->filter_text);
	}
	c->cut.filter = hl_strbuf_str(&c->filter);
}

int hl_cutting_meta(struct hl_cutting *c, struct hl_meta *meta)
{
	int err;

	describe(c);
	*meta = c->m->info->meta;
	meta->cut = c->cut;
	err = hl_strbuf_error(&c->filter);
	return !err && c->disguise ? hl_disguise_meta(c->disguise, meta) : err;
}

static struct hl_end end_of(const struct hl_cutting *c)
{
	struct hl_end end = c->m->info->end;

	if (!c->m->info->has_end || c->to.moved)
		end = (struct hl_end){.kind = HL_END_LOST, .duration_ns = hl_model_end_ns(c->m)};
	else if (!reaches_end(c))
		end = (struct hl_end){.kind = HL_END_STOPPED};
	end.duration_ns = c->cut.to_ns != UINT64_MAX ? c->to.time_ns : end.duration_ns;
	return end;
}

/* The counters stay those of the whole recording: they say how far it can be trusted. */
static int finish(struct hl_cutting *c)
{
	const struct hl_trace_info *i = c->m->info;
	struct hl_left_out *left = &c->done->left_out;
	struct hl_end end = end_of(c);

	left->blocks = i->totals.sums.alloc_blocks - c->done->blocks + i->left_out.blocks;
	left->bytes = i->totals.sums.alloc_bytes - c->done->bytes + i->left_out.bytes;
	hl_writer_set_left_out(c->w, left);
	hl_writer_set_cost(c->w, &i->cost);
	return hl_cutting_wrote(c, hl_writer_end(c->w, &end, &i->counters));
}

static int write_trace(struct hl_cutting *c, int fd)
{
	struct hl_meta meta;
	int err = hl_cutting_meta(c, &meta);

	if (!err)
		err = hl_cutting_wrote(c, hl_writer_open(&c->w, fd, &meta));
	if (err) {
		close(fd);
		return err;
	}
	err = hl_cutting_add_roles(c);
	if (!err)
		err = copy_events(c);
	if (!err)
		err = hl_cutting_rss(c);
	if (!err && !c->disguise) /* they would tell the names */
		err = hl_model_carry_over(c->m, c->w, &c->write_err);
	if (!err)
		err = finish(c);
	hl_writer_close(c->w);
	return err;
}

/* Nothing of the model failed when the writer did: the error is about the new file. */
static int fail(struct hl_cutting *c, int err)
{
	return err && !c->write_err ? hl_model_fail(c->m, err) : err;
}

static bool needs_order(const struct hl_slice *s)
{
	unsigned subjects = s->filter ? hl_filter_subjects(s->filter) : 0;

	return s->from.kind != HL_WHEN_NS || s->from.ns || s->to.kind != HL_WHEN_END ||
	       subjects & (HL_FILTER_TIME | HL_FILTER_DEATH);
}

/* Nothing but names is to be others. */
static bool is_whole(const struct hl_slice *s)
{
	return s->anonymity && !s->filter && s->from.kind == HL_WHEN_NS && s->from.ns == 0 &&
	       s->to.kind == HL_WHEN_END;
}

int hl_slice_write(struct hl_model *m, const struct hl_slice *s, int fd, struct hl_slice_done *done)
{
	struct hl_cutting c = {.m = m,
		.s = s,
		.done = done,
		.nodes = calloc((size_t)m->n_nodes + 1, sizeof(*c.nodes)),
		.modules = calloc((size_t)m->n_modules + 1, sizeof(*c.modules))};
	int err = c.nodes && c.modules ? 0 : -ENOMEM;

	memset(done, 0, sizeof(*done));
	if (hl_model_withholds(m) && !is_whole(s))
		err = hl_model_no_events(m, "a slice");
	else if (!hl_model_has_order(m) && needs_order(s))
		err = hl_model_no_order(m, "a slice by time");
	if (err == -ENODATA) {
		close(fd);
		goto out;
	}
	if (!err && s->anonymity)
		err = hl_disguise_new(&c.disguise, m, s->anonymity == HL_ALL_MADE_UP);
	if (err) {
		close(fd);
		err = hl_model_fail(m, err);
		goto out;
	}
	if (hl_model_withholds(m)) {
		err = fail(&c, hl_cutting_rename(&c, fd));
		goto out;
	}
	err = choose(&c); /* says itself what is wrong */
	if (err) {
		close(fd);
		goto out;
	}
	done->moved = c.to.moved;
	done->to_ns = c.to.time_ns;
	err = fail(&c, write_trace(&c, fd));
out:
	hl_disguise_free(c.disguise);
	hl_strbuf_fini(&c.filter);
	hl_kept_fini(&c.kept);
	hl_kept_fini(&c.kept_pooled);
	hl_vec_free(&c.path);
	hl_map_fini(&c.named);
	free(c.nodes);
	free(c.modules);
	free(c.pools);
	return err;
}
