/*
 * keep.c - see keep.h.
 *
 * What waits in cull mode: allocations that may still die young, and whatever comes after them and
 * must not overtake them. Its pool has room for the limit and a few; the oldest go first.
 */
#include "collect/keep.h"

#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "collect/proc.h"

/* A block's ordinal has 40 bits. With HELD it is not written; with WAITS too, the rest is its item.
 */
#define HELD  (UINT64_C(1) << 39)
#define WAITS HL_KEEP_HELD
#define NONE  UINT32_MAX

/* Releases happen between events; one event may bring a few items. */
#define SLACK 8u

struct hl_keep_item {
	uint32_t prev, next;
	uint32_t pair; /* of the allocation half of a realloc: its free half */
	bool waits, is_extra;
	union {
		struct hl_event event;
		struct hl_extra extra; /* its text is ours */
	};
};

static bool counts_only(enum hl_mode mode)
{
	return mode == HL_MODE_COUNT;
}

/* --- the list --- */

/* In the worst case allocations of hundreds of millions: the pool grows as it is needed. */
static uint32_t new_item(struct hl_keep *k)
{
	uint32_t i = k->spare, n = k->n_items ? k->n_items * 2 : 1024;
	struct hl_keep_item *more;

	if (i == NONE) {
		n = hl_min_u32(n, k->set.pending_max + SLACK);
		if (n <= k->n_items)
			return NONE;
		more = realloc(k->items, (size_t)n * sizeof(*more));
		if (!more)
			return NONE;
		k->items = more;
		for (uint32_t at = k->n_items; at < n; at++)
			more[at] = (struct hl_keep_item){.next = at + 1 < n ? at + 1 : NONE};
		i = k->n_items;
		k->n_items = n;
	}
	k->spare = k->items[i].next;
	return i;
}

static void unlink_item(struct hl_keep *k, uint32_t i)
{
	struct hl_keep_item *it = &k->items[i];

	if (it->prev == NONE)
		k->first = it->next;
	else
		k->items[it->prev].next = it->next;
	if (it->next == NONE)
		k->last = it->prev;
	else
		k->items[it->next].prev = it->prev;
	it->waits = false;
	it->next = k->spare;
	k->spare = i;
	k->n_waiting--;
	if (k->moved == i)
		k->moved = NONE;
}

/* Behind all that wait; NONE: no memory. */
static uint32_t add_item(struct hl_keep *k)
{
	uint32_t i = new_item(k);
	struct hl_keep_item *it;

	if (i == NONE)
		return NONE;
	it = &k->items[i];
	it->prev = k->last;
	it->next = NONE;
	it->pair = NONE;
	it->is_extra = false;
	it->waits = true;
	if (k->last == NONE)
		k->first = i;
	else
		k->items[k->last].next = i;
	k->last = i;
	k->n_waiting++;
	return i;
}

static uint64_t time_of_item(const struct hl_keep_item *it)
{
	return it->is_extra ? it->extra.time_ns : it->event.time_ns;
}

/* --- writing --- */

/* The block's ordinal from now on, which its free will have. False: it is not there any more. */
static bool settle_ordinal(struct hl_proc *p, const struct hl_event *e, uint32_t item)
{
	struct hl_live_entry *b = hl_live_find(&p->live, e->addr);

	if (!b || hl_live_ordinal(b) != (HELD | WAITS | item))
		return false;
	b->ordinal_thread = p->keep.n_written << 24 | (b->ordinal_thread & 0xffffff);
	return true;
}

static void write_alloc(struct hl_proc *p, struct hl_event *e, uint32_t item)
{
	if (p->keep.n_written >= WAITS || !settle_ordinal(p, e, item))
		return;
	e->ordinal = p->keep.n_written++;
	hl_writer_renumber(p->writer, HELD | WAITS | item, e->ordinal);
	(void)hl_writer_put_event(p->writer, e);
}

static void write_extra(struct hl_proc *p, struct hl_extra *x)
{
	(void)hl_output_add_extra(p->output, x);
	free((char *)x->text);
}

/* The oldest goes; if it is the free half of a realloc whose other half is still there, both. */
static void release_first(struct hl_proc *p)
{
	struct hl_keep *k = &p->keep;
	uint32_t i = k->first;
	struct hl_keep_item it = k->items[i];
	bool moved, paired;

	unlink_item(k, i);
	if (it.is_extra) {
		write_extra(p, &it.extra);
		return;
	}
	moved = it.event.flags & HL_EVENT_MOVED;
	if (it.event.op == HL_OP_ALLOC) {
		it.event.flags &= (uint8_t)~HL_EVENT_MOVED;
		write_alloc(p, &it.event, i);
		return;
	}
	paired = moved && k->first != NONE && k->items[k->first].pair == i;
	if (!paired)
		it.event.flags &= (uint8_t)~HL_EVENT_MOVED;
	(void)hl_writer_put_event(p->writer, &it.event);
	if (paired) {
		uint32_t other = k->first;
		struct hl_event alloc = k->items[other].event;

		unlink_item(k, other);
		write_alloc(p, &alloc, other);
	}
}

void hl_keep_release(struct hl_proc *p, uint64_t now)
{
	struct hl_keep *k = &p->keep;

	while (k->n_waiting > 0) {
		const struct hl_keep_item *it = &k->items[k->first];
		bool old = now >= time_of_item(it) + k->set.lifetime_ns;
		uint64_t written = k->n_written;

		if (!old && k->n_waiting <= k->set.pending_max)
			return;
		release_first(p);
		p->counters.early_blocks += old ? 0 : k->n_written - written;
	}
}

static void release_all(struct hl_proc *p)
{
	while (p->keep.n_waiting > 0)
		release_first(p);
}

/* --- snapshots --- */

static void note_mode(struct hl_proc *p)
{
	struct hl_keep *k = &p->keep;
	struct hl_extra x = {.kind = HL_EXTRA_MODE,
		.time_ns = hl_proc_last_ns(p),
		.value = p->told_mode,
		.value2 = k->mode == HL_MODE_CULL ? k->set.lifetime_ns : p->told_rate,
		.node = HL_NODE_NONE};

	k->noted = true;
	hl_keep_extra(p, &x);
}

/* Who wants snapshots by the clock has said when they come: the default would drown them. */
static uint64_t churn_threshold(const struct hl_keep *k)
{
	bool by_default = counts_only(k->mode) && !k->set.every_ns;

	return k->set.churn_given || by_default ? k->set.churn_bytes : 0;
}

static void arm(struct hl_keep *k, uint64_t now)
{
	uint64_t churn = churn_threshold(k);

	k->churn_due = churn ? churn : UINT64_MAX;
	/* Not earlier than it was: `now` may be an event of long ago. */
	k->time_due = k->set.every_ns ? hl_max_u64(k->time_due, now + k->set.every_ns) : UINT64_MAX;
	k->live_due = k->set.at_live && !k->live_over ? k->set.at_live : UINT64_MAX;
}

static void take_snapshot(
	struct hl_proc *p, const char *label, enum hl_snapshot_cause cause, uint64_t threshold)
{
	struct hl_snapshot s = {.time_ns = hl_proc_last_ns(p),
		.threshold = threshold,
		.cause = cause,
		.churn_bytes = churn_threshold(&p->keep),
		.label = label};

	(void)hl_writer_snapshot(p->writer, &s);
	p->keep.churn = 0;
	p->keep.last_ns = hl_proc_last_ns(p);
	arm(&p->keep, hl_proc_last_ns(p));
}

/* Not too many of those that nobody asked for one by one. */
static bool has_gap(struct hl_keep *k, uint64_t last, uint64_t now)
{
	if (now < last + k->gap_ns && last > 0)
		return false;
	if (++k->n_gap % HL_SNAPSHOT_GAP_MANY == 0)
		k->gap_ns *= 2;
	return true;
}

/* --churn-gap is constant: it does not double. 0 allows every snapshot. */
static bool has_churn_gap(struct hl_keep *k, uint64_t now)
{
	if (!k->set.churn_gap_given)
		return has_gap(k, k->last_ns, now);
	return now >= k->last_ns + k->set.churn_gap_ns || k->last_ns == 0;
}

/* Bytes are counted only where somebody waits for them (hl_keep_is_plain): elsewhere `live` may be
 * any number, and also that for never. */
static inline bool is_live_due(const struct hl_keep *k)
{
	return k->live >= k->live_due && k->live_due != UINT64_MAX;
}

/* They have risen. So soon after another rise the snapshot waits, as long as they stay there. */
static hl_cold void take_risen(struct hl_proc *p, uint64_t now)
{
	struct hl_keep *k = &p->keep;

	k->live_waits = !has_gap(k, k->last_live_ns, now);
	if (k->live_waits)
		return;
	take_snapshot(p, NULL, HL_SNAPSHOT_LIVE, k->set.at_live);
	k->last_live_ns = now;
}

static hl_cold void look_at_dues(struct hl_proc *p)
{
	struct hl_keep *k = &p->keep;
	uint64_t now = hl_proc_last_ns(p);

	if (is_live_due(k) && !k->live_over) {
		k->live_over = true;
		k->live_due = UINT64_MAX;
		take_risen(p, now);
	}
	if (now >= k->time_due)
		take_snapshot(p, NULL, HL_SNAPSHOT_TIME, k->set.every_ns);
	if (k->churn >= k->churn_due && has_churn_gap(k, now))
		take_snapshot(p, NULL, HL_SNAPSHOT_CHURN, k->set.churn_bytes);
}

/* While live bytes are above. Again only when they have been an eighth below. */
static hl_cold void look_above(struct hl_proc *p)
{
	struct hl_keep *k = &p->keep;

	if (k->live < k->set.at_live - k->set.at_live / 8) {
		k->live_over = k->live_waits = false;
		k->live_due = k->set.at_live;
	} else if (k->live_waits) {
		take_risen(p, hl_proc_last_ns(p));
	}
}

/* After each event but the first half of a realloc. */
static inline void look(struct hl_proc *p)
{
	struct hl_keep *k = &p->keep;

	if (hl_unlikely(k->churn >= k->churn_due || is_live_due(k) ||
			hl_proc_last_ns(p) >= k->time_due))
		look_at_dues(p);
	if (hl_unlikely(k->live_over))
		look_above(p);
}

void hl_proc_snapshot(struct hl_proc *p, const char *label, enum hl_snapshot_cause cause)
{
	hl_proc_settle(p);
	take_snapshot(p, label, cause, 0);
}

/* --- events --- */

int hl_keep_init(struct hl_keep *k, enum hl_mode mode, const struct hl_keep_settings *set)
{
	*k = (struct hl_keep){.set = *set,
		.mode = mode,
		.noted = true, /* META has it */
		.first = NONE,
		.last = NONE,
		.spare = NONE,
		.moved = NONE,
		.gap_ns = HL_SNAPSHOT_GAP_NS};
	if (!k->set.pending_max)
		k->set.pending_max = HL_PENDING_DEFAULT;
	arm(k, 0);
	return 0;
}

void hl_keep_fini(struct hl_keep *k)
{
	for (uint32_t i = k->first; i != NONE; i = k->items[i].next)
		if (k->items[i].is_extra)
			free((char *)k->items[i].extra.text);
	free(k->items);
	k->items = NULL;
	k->first = NONE;
}

static inline void set_ordinal(struct hl_live_entry *b, struct hl_event *e, uint64_t ordinal)
{
	e->ordinal = ordinal;
	b->ordinal_thread = ordinal << 24 | (b->ordinal_thread & 0xffffff);
}

/* It waits whether it dies young. Without memory it is only counted. */
static void wait_alloc(struct hl_proc *p, struct hl_event *e, struct hl_live_entry *b)
{
	struct hl_keep *k = &p->keep;
	uint32_t before = k->moved, i = add_item(k);

	k->moved = NONE;
	set_ordinal(b, e, i == NONE ? HELD | (p->n_allocs & (WAITS - 1)) : HELD | WAITS | i);
	(void)hl_writer_count_event(p->writer, e);
	if (i == NONE)
		return;
	k->items[i].event = *e;
	if (e->flags & HL_EVENT_MOVED && before != NONE && k->items[i].prev == before)
		k->items[i].pair = before;
}

void hl_keep_alloc(struct hl_proc *p, struct hl_event *e, struct hl_live_entry *b)
{
	struct hl_keep *k = &p->keep;

	k->churn += e->bytes;
	k->live += e->bytes;
	if (hl_unlikely(!k->noted))
		note_mode(p);
	if (k->mode == HL_MODE_CULL) {
		wait_alloc(p, e, b);
	} else if (counts_only(k->mode) || k->n_written >= WAITS) {
		set_ordinal(b, e, HELD | (p->n_allocs & (WAITS - 1)));
		(void)hl_writer_count_event(p->writer, e);
	} else {
		set_ordinal(b, e, k->n_written++);
		(void)hl_writer_add_event(p->writer, e);
	}
	look(p);
}

/* Of a block that is written, or of one that waits and now never will be. */
static void wait_free(struct hl_proc *p, struct hl_event *e)
{
	struct hl_keep *k = &p->keep;
	uint32_t i;

	(void)hl_writer_count_event(p->writer, e);
	k->moved = NONE;
	if (e->ordinal & HELD) {
		i = (uint32_t)(e->ordinal & (WAITS - 1));
		if (e->ordinal & WAITS && i < k->n_items && k->items[i].waits &&
			!k->items[i].is_extra && k->items[i].event.ordinal == e->ordinal)
			unlink_item(k, i);
		return;
	}
	i = add_item(k);
	if (i == NONE) { /* its place in the order is lost, but not the event */
		release_all(p);
		e->flags &= (uint8_t)~HL_EVENT_MOVED;
		(void)hl_writer_put_event(p->writer, e);
		return;
	}
	k->items[i].event = *e;
	if (e->flags & HL_EVENT_MOVED)
		k->moved = i;
}

void hl_keep_free(struct hl_proc *p, struct hl_event *e)
{
	struct hl_keep *k = &p->keep;
	bool half = e->flags & HL_EVENT_MOVED;

	k->churn += e->bytes;
	k->live -= e->bytes;
	if (hl_unlikely(!k->noted))
		note_mode(p);
	if (k->mode == HL_MODE_CULL) {
		wait_free(p, e);
	} else if (e->ordinal & HELD) {
		(void)hl_writer_count_event(p->writer, e);
	} else {
		if (counts_only(k->mode)) /* its other half will not be written */
			e->flags &= (uint8_t)~HL_EVENT_MOVED;
		(void)hl_writer_add_event(p->writer, e);
	}
	if (!half)
		look(p);
}

/* What somebody asks for is a moment of its own where events alone do not tell it. */
static void snapshot_of(struct hl_proc *p, const struct hl_extra *x)
{
	if (x->kind == HL_EXTRA_SNAPSHOT &&
		(counts_only(p->keep.mode) || p->keep.mode == HL_MODE_CULL))
		take_snapshot(p, x->text, (enum hl_snapshot_cause)x->value, 0);
}

void hl_keep_extra(struct hl_proc *p, const struct hl_extra *x)
{
	struct hl_keep *k = &p->keep;
	uint32_t i = k->mode == HL_MODE_CULL ? add_item(k) : NONE;
	char *text = i != NONE && x->text ? strdup(x->text) : NULL;

	k->moved = NONE;
	if (i == NONE) {
		(void)hl_output_add_extra(p->output, x);
	} else {
		k->items[i].is_extra = true;
		k->items[i].extra = *x;
		k->items[i].extra.text = text;
	}
	snapshot_of(p, x);
}

void hl_keep_tick(struct hl_proc *p, uint64_t now)
{
	struct hl_keep *k = &p->keep;
	uint64_t rss = hl_output_rss(p->output);

	hl_keep_release(p, now);
	if (k->set.every_ns && now >= k->time_due) {
		take_snapshot(p, NULL, HL_SNAPSHOT_TIME, k->set.every_ns);
		arm(k, now);
	}
	if (k->live_waits)
		take_risen(p, now);
	if (!k->set.at_rss || !rss)
		return;
	if (rss >= k->set.at_rss && !k->rss_over)
		take_snapshot(p, NULL, HL_SNAPSHOT_RSS, k->set.at_rss);
	k->rss_over = rss >= k->set.at_rss - (k->rss_over ? k->set.at_rss / 8 : 0);
}

void hl_keep_end(struct hl_proc *p)
{
	struct hl_keep *k = &p->keep;
	struct hl_snapshot s = {.time_ns = hl_proc_last_ns(p),
		.cause = HL_SNAPSHOT_END,
		.churn_bytes = churn_threshold(k)};

	release_all(p);
	if (k->mode != HL_MODE_TRACE || k->set.churn_given || k->set.every_ns || k->set.at_live ||
		k->set.at_rss)
		(void)hl_writer_end_snapshot(p->writer, &s);
}

void hl_proc_set_mode(struct hl_proc *p, enum hl_mode mode)
{
	struct hl_keep *k = &p->keep;

	bool other = mode != k->mode;

	hl_proc_settle(p);
	release_all(p);
	k->mode = mode;
	k->noted = false;
	if (p->n_roles > 0) /* somebody must have said it; before, META's word is as good */
		note_mode(p);
	if (other)
		take_snapshot(p, hl_mode_name(mode), HL_SNAPSHOT_BORDER, 0);
}
