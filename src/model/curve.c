/*
 * curve.c - see curve.h.
 *
 * One bit for each allocation says whether its block is selected. A filter on births sets it at the
 * allocation, so that one reading is enough. Whether a filter on lifetimes selects a block is known
 * when the block is freed: a first reading sets the bits, a second one follows the curve.
 *
 * A filter on stacks needs no bits, because a free names its block's stack. There a chunk is not
 * decoded if its summary says that all its allocations together would not reach a maximum that is
 * known: that so far, or what is live at the end of another chunk.
 */
#include "model/curve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "model/question.h"
#include "model/stream.h"
#include "util/text.h"

enum round { CHOOSE, FOLLOW, FOLLOWING };

/* The selected blocks of a chunk, if it has a summary. */
struct chunk_sums {
	struct hl_sums sums;
	bool known;
};

struct curve {
	struct hl_question question; /* first */
	struct hl_filter *filter;
	struct hl_column *columns;
	size_t n;
	bool by_stack, by_death; /* what the filter is about; neither: births */
	enum round round;
	struct hl_stream stream;   /* by_death: the first reading */
	struct hl_reading reading; /* the one that the pass sees */
	struct hl_place to;
	uint8_t *bits; /* NULL: by_stack */
	uint64_t n_bits;
	struct hl_summary summary;
	struct chunk_sums *chunks; /* by_stack: of each chunk */
	uint64_t *floors;          /* by_stack: each column's maximum is no less; n or 1 */

	size_t at; /* the column of the newest event */
	uint64_t bytes, blocks;
	struct hl_peak peak;
};

/* --- which blocks --- */

static bool get_bit(const struct curve *c, uint64_t ordinal)
{
	return ordinal < c->n_bits && c->bits[ordinal / 8] >> ordinal % 8 & 1;
}

static void set_bit(struct curve *c, uint64_t ordinal, bool to)
{
	uint8_t bit = (uint8_t)(1u << ordinal % 8);

	if (ordinal >= c->n_bits)
		return;
	c->bits[ordinal / 8] =
		(uint8_t)(to ? c->bits[ordinal / 8] | bit : c->bits[ordinal / 8] & ~bit);
}

static void choose_begin(void *arg)
{
	struct curve *c = arg;

	memset(c->bits, 0, c->n_bits / 8 + 1);
}

static int choose_block(void *arg, const struct hl_block *b)
{
	set_bit(arg, b->ordinal, true);
	return 0;
}

static int selects_birth(struct curve *c, const struct hl_event *e, bool *selected)
{
	struct hl_model *m = c->question.m;
	struct hl_block b;
	int err;

	if (e->node != HL_NODE_NONE && e->node >= m->n_nodes)
		return -EBADMSG;
	b = hl_block_born(m, e, HL_PHASE_IN);
	err = hl_filter_block(c->filter, m, &b, selected);
	if (!err && *selected)
		set_bit(c, e->ordinal, true);
	return err;
}

static int selects(struct curve *c, const struct hl_event *e, bool *selected)
{
	if (c->by_stack && e->node != HL_NODE_NONE && e->node >= c->question.m->n_nodes)
		return -EBADMSG;
	if (c->by_stack)
		return hl_filter_node(c->filter, c->question.m, e->node, selected);
	if (e->op == HL_OP_ALLOC && !c->by_death)
		return selects_birth(c, e, selected);
	*selected = get_bit(c, e->ordinal);
	/* No block is freed twice. */
	if (e->op == HL_OP_FREE)
		set_bit(c, e->ordinal, false);
	return 0;
}

/* --- the curve --- */

/* Columns without an event keep the value of the last one. */
static void move_to(struct curve *c, size_t column)
{
	if (c->n == 0)
		return;
	c->columns[c->at].end_bytes = c->bytes;
	while (c->at < column) {
		c->at++;
		c->columns[c->at].max_bytes = c->columns[c->at].end_bytes = c->bytes;
	}
}

static void note_maximum(struct curve *c, size_t chunk, size_t event, uint64_t time_ns)
{
	if (c->n > 0)
		c->columns[c->at].max_bytes = hl_max_u64(c->columns[c->at].max_bytes, c->bytes);
	if (c->bytes > c->peak.bytes)
		c->peak = (struct hl_peak){.bytes = c->bytes,
			.blocks = c->blocks,
			.time_ns = time_ns,
			.when = {.kind = HL_WHEN_EVENT,
				.ns = time_ns,
				.key = chunk,
				.events = event + 1}};
}

static int follow_event(struct curve *c, size_t chunk, size_t i, const struct hl_event *e)
{
	bool selected = false;
	int err = selects(c, e, &selected);

	if (err || !selected)
		return err;
	if (c->n > 0)
		move_to(c, hl_timeline_column(c->question.m, e->time_ns, c->n));
	if (e->op == HL_OP_ALLOC) {
		c->bytes += e->bytes;
		c->blocks += e->blocks;
		note_maximum(c, chunk, i, e->time_ns);
	} else if (e->bytes > c->bytes) {
		return -EBADMSG;
	} else {
		c->bytes -= e->bytes;
		c->blocks -= e->blocks;
	}
	return 0;
}

/* --- chunks that need not be decoded --- */

static int sum_chunk(struct curve *c, struct hl_sums *sums)
{
	int err = 0;

	*sums = (struct hl_sums){0};
	for (size_t i = 0; i < c->summary.n && !err; i++) {
		const struct hl_summary_row *r = &c->summary.rows[i];
		bool selected = false;

		if (r->node != HL_NODE_NONE && r->node >= c->question.m->n_nodes)
			return -EBADMSG;
		err = hl_filter_node(c->filter, c->question.m, r->node, &selected);
		if (err || !selected)
			continue;
		sums->alloc_blocks += r->sums.alloc_blocks;
		sums->alloc_bytes += r->sums.alloc_bytes;
		sums->free_blocks += r->sums.free_blocks;
		sums->free_bytes += r->sums.free_bytes;
	}
	return err;
}

/* The column that a chunk lies in; SIZE_MAX: it lies in several. */
static size_t column_of_chunk(const struct curve *c, size_t chunk)
{
	const struct hl_chunk_info *i = hl_reader_chunk(c->question.m->reader, chunk);
	size_t first;

	if (c->n == 0)
		return 0;
	first = hl_timeline_column(c->question.m, i->t0_ns, c->n);
	return first == hl_timeline_column(c->question.m, i->t1_ns, c->n) ? first : SIZE_MAX;
}

/* What is live at the ends of chunks is the least that a column's maximum can be. */
static void find_floors(struct curve *c, size_t end)
{
	uint64_t live = 0;

	for (size_t i = 0; i < end && c->chunks[i].known; i++) {
		const struct hl_sums *sums = &c->chunks[i].sums;
		size_t column = column_of_chunk(c, i);

		if (live + sums->alloc_bytes < sums->free_bytes)
			return;
		live += sums->alloc_bytes - sums->free_bytes;
		if (column != SIZE_MAX)
			c->floors[column] = hl_max_u64(c->floors[column], live);
	}
}

/* A damaged summary is as good as a missing one: the chunk is decoded. */
static int read_summaries(struct curve *c, size_t end)
{
	memset(c->floors, 0, (c->n + 1) * sizeof(*c->floors));
	free(c->chunks);
	c->chunks = calloc(end + 1, sizeof(*c->chunks));
	if (!c->chunks)
		return -ENOMEM;
	for (size_t i = 0; i < end; i++) {
		int err = hl_reader_summary(c->question.m->reader, i, &c->summary);

		if (!err)
			err = sum_chunk(c, &c->chunks[i].sums);
		c->chunks[i].known = !err;
		if (err && err != -ENOENT && err != -EBADMSG)
			return err;
	}
	find_floors(c, end);
	return 0;
}

/* Takes a chunk by its summary if no maximum can lie in it, whatever the order of its events. */
static bool take_summary(struct curve *c, size_t chunk)
{
	const struct hl_sums *sums = &c->chunks[chunk].sums;
	uint64_t most = c->bytes + sums->alloc_bytes, known = c->peak.bytes;
	size_t column = column_of_chunk(c, chunk);

	if (!c->chunks[chunk].known || most < c->bytes || sums->free_bytes > most ||
		column == SIZE_MAX)
		return false;
	if (c->n > 0) {
		move_to(c, column);
		known = c->columns[column].max_bytes;
	}
	if (most > known && most >= c->floors[column])
		return false;
	c->bytes = most - sums->free_bytes;
	c->blocks += sums->alloc_blocks - sums->free_blocks;
	return true;
}

/* --- the reading --- */

static int plan(struct hl_reading *r)
{
	struct curve *c = r->arg;
	int err = 0;

	/* What has begun and begins again has met damage. */
	if (c->round == FOLLOW) {
		c->round = FOLLOWING;
		hl_reading_up_to(r, c->question.m, &c->to);
		return 0;
	}
	c->round = c->by_death ? CHOOSE : FOLLOWING;
	c->to = hl_place_at(c->question.m, UINT64_MAX);
	if (c->by_death) {
		c->stream.reading.along = r->along;
		err = c->stream.reading.plan(&c->stream.reading);
		r->first = c->stream.reading.first;
		r->last_end = c->stream.reading.last_end;
	} else {
		hl_reading_up_to(r, c->question.m, &c->to);
	}
	return err;
}

static int begin(void *arg)
{
	struct curve *c = arg;

	if (c->round == CHOOSE)
		return c->stream.reading.begin(c->stream.reading.arg);
	if (c->n > 0)
		memset(c->columns, 0, c->n * sizeof(*c->columns));
	if (c->bits && !c->by_death)
		memset(c->bits, 0, c->n_bits / 8 + 1);
	c->at = 0;
	c->bytes = c->blocks = 0;
	c->peak = (struct hl_peak){.when = {.kind = HL_WHEN_EVENT}};
	return c->by_stack ? read_summaries(c, c->reading.last_end) : 0;
}

static int want(void *arg, size_t chunk, unsigned *want)
{
	struct curve *c = arg;

	*want = HL_WANT_ALL;
	if (c->round == CHOOSE)
		return c->stream.reading.want(c->stream.reading.arg, chunk, want);
	if (c->by_death)
		*want = HL_WANT_TIME;
	if (c->by_stack)
		*want = take_summary(c, chunk) ? HL_WANT_NO_EVENTS : HL_WANT_TIME | HL_WANT_NODE;
	return 0;
}

static int take_chunk(void *arg, size_t chunk, const struct hl_chunk_events *events)
{
	struct curve *c = arg;
	int err = 0;

	if (c->round == CHOOSE)
		return c->stream.reading.chunk(c->stream.reading.arg, chunk, events);
	for (size_t i = 0; i < events->n_events && !err; i++)
		err = follow_event(c, chunk, i, &events->events[i]);
	/* A stack that is in no table, or more freed than was there: the chunk is damaged. */
	if (err == -EBADMSG)
		hl_model_mark_bad(c->question.m, &c->question.m->bad_chunks[chunk]);
	return err;
}

/* Where the file has a hole, the curve ends before it. */
static void finish(struct curve *c)
{
	size_t first = c->to.moved ? hl_timeline_column(c->question.m, c->to.time_ns, c->n) : c->n;

	if (c->n > 0)
		move_to(c, c->n - 1);
	for (size_t i = first; i < c->n; i++)
		c->columns[i].lost = true;
	c->peak.moved = c->to.moved;
}

static int end(void *arg)
{
	struct curve *c = arg;
	int err;

	if (c->round != CHOOSE) {
		finish(c);
		return 0;
	}
	/* -EAGAIN of its own: it is not ready yet. */
	err = c->stream.reading.end(c->stream.reading.arg);
	if (err)
		return err;
	c->round = FOLLOW;
	return -EAGAIN;
}

/* --- the question --- */

static int make_bits(struct curve *c)
{
	int err = hl_model_n_ordinals(c->question.m, false, &c->n_bits);

	if (!err)
		c->bits = calloc(c->n_bits / 8 + 1, 1);
	return err || c->bits ? err : -ENOMEM;
}

static void start_stream(struct curve *c)
{
	c->stream = (struct hl_stream){.filter = c->filter,
		.from = {.sure = true},
		.to = hl_place_at(c->question.m, UINT64_MAX),
		.begin = choose_begin,
		.block = choose_block,
		.arg = c};
	hl_stream_init(&c->stream, c->question.m);
	c->reading.memory += c->stream.reading.memory;
}

/* What else can be asked of the same blocks depends on the filter. */
static int check(struct hl_model *m, unsigned subjects)
{
	char held[HL_TEXT_SIZE_MAX], all[HL_TEXT_SIZE_MAX];

	if (!hl_model_has_order(m))
		return hl_model_no_order(m, "the peak of what fits a filter");
	if (!hl_model_withholds(m))
		return 0;
	if (subjects & ~HL_FILTER_STACK)
		return hl_model_no_events(m, "this");
	snprintf(m->error, sizeof(m->error),
		"the peak of what fits a filter needs every single event, and of %s of %s blocks "
		"the trace has only sums (mode %s); --at @peak shows what fits at the peak of the "
		"whole heap, and a recording with --mode=trace has every event",
		hl_text_count(held, m->info->withheld.alloc_blocks),
		hl_text_count(all, m->info->totals.sums.alloc_blocks), hl_model_sums_mode(m));
	return -ENODATA;
}

static int start(struct hl_question *q)
{
	struct curve *c = (struct curve *)q;
	unsigned subjects = hl_filter_subjects(c->filter);
	int err = check(q->m, subjects);

	if (!err)
		err = hl_filter_bind(c->filter, q->m);
	if (err)
		return err;
	c->by_stack = !(subjects & ~HL_FILTER_STACK);
	c->by_death = subjects & HL_FILTER_DEATH;
	c->reading = (struct hl_reading){.plan = plan,
		.begin = begin,
		.want = want,
		.chunk = take_chunk,
		.end = end,
		.arg = c};
	err = c->by_stack ? 0 : make_bits(c);
	c->columns = calloc(c->n + 1, sizeof(*c->columns));
	c->floors = calloc(c->n + 1, sizeof(*c->floors));
	if (err || !c->columns || !c->floors)
		return err ? err : -ENOMEM;
	c->reading.memory = c->n_bits / 8 + c->n * sizeof(*c->columns) +
			    hl_reader_n_chunks(q->m->reader) * sizeof(*c->chunks);
	if (c->by_death)
		start_stream(c);
	q->reads[0] = &c->reading;
	return 0;
}

static bool same(const struct hl_question *qa, const struct hl_question *qb)
{
	const struct curve *a = (const struct curve *)qa, *b = (const struct curve *)qb;

	return a->filter == b->filter && a->n == b->n;
}

static void drop(struct hl_question *q)
{
	struct curve *c = (struct curve *)q;

	free(c->columns);
	free(c->floors);
	free(c->chunks);
	free(c->bits);
	hl_summary_free(&c->summary);
	hl_stream_fini(&c->stream);
	free(c);
}

static struct hl_question *new_question(struct hl_model *m, struct hl_filter *filter, size_t n)
{
	static const struct hl_question_kind kind = {start, same, drop};
	struct curve *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->question = (struct hl_question){.kind = &kind, .m = m};
	c->filter = filter;
	c->n = n;
	return &c->question;
}

int hl_curve(struct hl_model *m, struct hl_filter *filter, struct hl_column *columns, size_t n,
	struct hl_peak *peak)
{
	struct hl_question *q = new_question(m, filter, n);
	int err = q ? hl_question_ask(&q) : hl_model_fail(m, -ENOMEM);

	if (!err) {
		const struct curve *c = (const struct curve *)q;

		if (n > 0)
			memcpy(columns, c->columns, n * sizeof(*columns));
		*peak = c->peak;
	}
	if (q)
		drop(q);
	return err;
}

void hl_curve_expect(struct hl_model *m, struct hl_filter *filter, size_t n)
{
	struct hl_question *q = new_question(m, filter, n);

	if (q)
		hl_question_expect(q);
}

int hl_peak_find(struct hl_model *m, const struct hl_query *q, struct hl_peak *peak)
{
	const struct hl_totals *t = &m->info->totals;

	if (q->filter && !q->pool)
		return hl_curve(m, q->filter, NULL, 0, peak);
	*peak = (struct hl_peak){.bytes = t->peak_bytes,
		.blocks = t->peak_blocks,
		.time_ns = t->peak_time_ns,
		.when = {.kind = HL_WHEN_PEAK}};
	return 0;
}
