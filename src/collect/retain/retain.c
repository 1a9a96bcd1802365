/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retain.c - see retain.h.
 *
 * The queue of mode cull has allocations whose block may still turn out to be short-lived, and all
 * later events that must not overtake them. Its pool has room for the limit and a few more items.
 * When it is full, the oldest items are written first.
 */
#include "collect/retain/retain.h"

#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "collect/match/target_process.h"
#include "collect/retain/snapshot_internal.h"

/* An ordinal has 40 bits. ORDINAL_UNWRITTEN: the block is not written. With ORDINAL_QUEUED too, the
 * other bits are its item in the queue. */
#define ORDINAL_UNWRITTEN (UINT64_C(1) << 39)
#define ORDINAL_QUEUED    HL_ORDINAL_WITHHELD
#define NONE              UINT32_MAX

/* Items are released between events; one event may add a few. */
#define QUEUE_SLACK 8u

struct hl_retain_item {
	uint32_t prev, next;
	uint32_t pair; /* allocation half of a realloc: its free half */
	bool queued, is_extra;
	union {
		struct hl_event event;
		struct hl_extra extra; /* owns its text */
	};
};

/* --- the queue --- */

/* The pool grows as needed: the limit may be hundreds of millions of items. */
static uint32_t new_item(struct hl_retain *k)
{
	uint32_t i = k->free_list, n = k->n_items ? k->n_items * 2 : 1024;
	struct hl_retain_item *more;

	if (i == NONE) {
		n = hl_min_u32(n, k->settings.pending_max + QUEUE_SLACK);
		if (n <= k->n_items)
			return NONE;
		more = realloc(k->items, (size_t)n * sizeof(*more));
		if (!more)
			return NONE;
		k->items = more;
		for (uint32_t at = k->n_items; at < n; at++)
			more[at] = (struct hl_retain_item){.next = at + 1 < n ? at + 1 : NONE};
		i = k->n_items;
		k->n_items = n;
	}
	k->free_list = k->items[i].next;
	return i;
}

static void unlink_item(struct hl_retain *k, uint32_t i)
{
	struct hl_retain_item *it = &k->items[i];

	if (it->prev == NONE)
		k->first = it->next;
	else
		k->items[it->prev].next = it->next;
	if (it->next == NONE)
		k->last = it->prev;
	else
		k->items[it->next].prev = it->prev;
	it->queued = false;
	it->next = k->free_list;
	k->free_list = i;
	k->n_queued--;
	if (k->moved_free == i)
		k->moved_free = NONE;
}

/* Appends an item; NONE: out of memory. */
static uint32_t append_item(struct hl_retain *k)
{
	uint32_t i = new_item(k);
	struct hl_retain_item *it;

	if (i == NONE)
		return NONE;
	it = &k->items[i];
	it->prev = k->last;
	it->next = NONE;
	it->pair = NONE;
	it->is_extra = false;
	it->queued = true;
	if (k->last == NONE)
		k->first = i;
	else
		k->items[k->last].next = i;
	k->last = i;
	k->n_queued++;
	return i;
}

static uint64_t time_of_item(const struct hl_retain_item *it)
{
	return it->is_extra ? it->extra.time_ns : it->event.time_ns;
}

/* --- writing --- */

/* Replaces the queue item in the block's ordinal with the ordinal of the file, which its free will
 * have. False: the block is not live any more. */
static bool assign_ordinal(struct hl_target *p, const struct hl_event *e, uint32_t item)
{
	struct hl_live_entry *b = hl_live_find(&p->match.live, e->addr);

	if (!b || hl_live_ordinal(b) != (ORDINAL_UNWRITTEN | ORDINAL_QUEUED | item))
		return false;
	b->ordinal_thread = p->retain.n_written << 24 | (b->ordinal_thread & 0xffffff);
	return true;
}

static void write_alloc(struct hl_target *p, struct hl_event *e, uint32_t item)
{
	if (p->retain.n_written >= ORDINAL_QUEUED || !assign_ordinal(p, e, item))
		return;
	e->ordinal = p->retain.n_written++;
	hl_writer_renumber(p->writer, ORDINAL_UNWRITTEN | ORDINAL_QUEUED | item, e->ordinal);
	(void)hl_writer_add_event_columns_only(p->writer, e);
}

static void write_extra(struct hl_target *p, struct hl_extra *x)
{
	(void)hl_trace_output_add_extra(p->output, x);
	free((char *)x->text);
}

/* Writes the oldest item. If it is the free half of a realloc and the other half is next, writes
 * both. */
static void release_first(struct hl_target *p)
{
	struct hl_retain *k = &p->retain;
	uint32_t i = k->first;
	struct hl_retain_item it = k->items[i];
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
	(void)hl_writer_add_event_columns_only(p->writer, &it.event);
	if (paired) {
		uint32_t alloc_half = k->first;
		struct hl_event alloc = k->items[alloc_half].event;

		unlink_item(k, alloc_half);
		write_alloc(p, &alloc, alloc_half);
	}
}

void hl_retain_release(struct hl_target *p, uint64_t now)
{
	struct hl_retain *k = &p->retain;

	while (k->n_queued > 0) {
		const struct hl_retain_item *it = &k->items[k->first];
		bool old = now >= time_of_item(it) + k->settings.lifetime_ns;
		uint64_t written = k->n_written;

		if (!old && k->n_queued <= k->settings.pending_max)
			return;
		release_first(p);
		k->early_blocks += old ? 0 : k->n_written - written;
	}
}

static void release_all(struct hl_target *p)
{
	while (p->retain.n_queued > 0)
		release_first(p);
}

static void write_mode_change(struct hl_target *p)
{
	struct hl_retain *k = &p->retain;
	struct hl_extra x = {.kind = HL_EXTRA_MODE,
		.time_ns = hl_target_last_ns(p),
		.value = p->control.announced_mode,
		.value2 = k->mode == HL_MODE_CULL ? k->settings.lifetime_ns
						  : p->control.announced_rate,
		.node = HL_NODE_NONE};

	k->mode_noted = true;
	hl_retain_extra(p, &x);
}

/* --- events --- */

int hl_retain_init(
	struct hl_retain *k, enum hl_mode mode, const struct hl_retain_settings *settings)
{
	*k = (struct hl_retain){.settings = *settings,
		.mode = mode,
		.mode_noted = true, /* META has it */
		.first = NONE,
		.last = NONE,
		.free_list = NONE,
		.moved_free = NONE,
		.gap_ns = HL_SNAPSHOT_GAP_NS};
	if (!k->settings.pending_max)
		k->settings.pending_max = HL_RETAIN_PENDING_DEFAULT;
	hl_retain_arm_triggers(k, 0);
	return 0;
}

void hl_retain_fini(struct hl_retain *k)
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

/* Queues an allocation until it is known whether the block is short-lived. Without memory the block
 * is only aggregated. */
static void queue_alloc(struct hl_target *p, struct hl_event *e, struct hl_live_entry *b)
{
	struct hl_retain *k = &p->retain;
	uint32_t moved_before = k->moved_free, i = append_item(k);

	k->moved_free = NONE;
	set_ordinal(b, e,
		i == NONE ? ORDINAL_UNWRITTEN | (p->match.n_allocs & (ORDINAL_QUEUED - 1))
			  : ORDINAL_UNWRITTEN | ORDINAL_QUEUED | i);
	(void)hl_writer_add_event_sums_only(p->writer, e);
	if (i == NONE)
		return;
	k->items[i].event = *e;
	if (e->flags & HL_EVENT_MOVED && moved_before != NONE && k->items[i].prev == moved_before)
		k->items[i].pair = moved_before;
}

void hl_retain_alloc(struct hl_target *p, struct hl_event *e, struct hl_live_entry *b)
{
	struct hl_retain *k = &p->retain;

	k->churn += e->bytes;
	k->live += e->bytes;
	if (hl_unlikely(!k->mode_noted))
		write_mode_change(p);
	if (k->mode == HL_MODE_CULL) {
		queue_alloc(p, e, b);
	} else if (hl_retain_is_count_mode(k->mode) || k->n_written >= ORDINAL_QUEUED) {
		set_ordinal(b, e, ORDINAL_UNWRITTEN | (p->match.n_allocs & (ORDINAL_QUEUED - 1)));
		(void)hl_writer_add_event_sums_only(p->writer, e);
	} else {
		set_ordinal(b, e, k->n_written++);
		(void)hl_writer_add_event(p->writer, e);
	}
	hl_retain_check_triggers(p);
}

/* The block is written, and its free is queued; or the block is queued, and now will never be
 * written. */
static void queue_free(struct hl_target *p, struct hl_event *e)
{
	struct hl_retain *k = &p->retain;
	uint32_t i;

	(void)hl_writer_add_event_sums_only(p->writer, e);
	k->moved_free = NONE;
	if (e->ordinal & ORDINAL_UNWRITTEN) {
		i = (uint32_t)(e->ordinal & (ORDINAL_QUEUED - 1));
		if (e->ordinal & ORDINAL_QUEUED && i < k->n_items && k->items[i].queued &&
			!k->items[i].is_extra && k->items[i].event.ordinal == e->ordinal)
			unlink_item(k, i);
		return;
	}
	i = append_item(k);
	if (i == NONE) { /* the event is written, but not in its order */
		release_all(p);
		e->flags &= (uint8_t)~HL_EVENT_MOVED;
		(void)hl_writer_add_event_columns_only(p->writer, e);
		return;
	}
	k->items[i].event = *e;
	if (e->flags & HL_EVENT_MOVED)
		k->moved_free = i;
}

void hl_retain_free(struct hl_target *p, struct hl_event *e)
{
	struct hl_retain *k = &p->retain;
	bool is_first_half = e->flags & HL_EVENT_MOVED;

	k->churn += e->bytes;
	k->live -= e->bytes;
	if (hl_unlikely(!k->mode_noted))
		write_mode_change(p);
	if (k->mode == HL_MODE_CULL) {
		queue_free(p, e);
	} else if (e->ordinal & ORDINAL_UNWRITTEN) {
		(void)hl_writer_add_event_sums_only(p->writer, e);
	} else {
		if (hl_retain_is_count_mode(k->mode)) /* its other half will not be written */
			e->flags &= (uint8_t)~HL_EVENT_MOVED;
		(void)hl_writer_add_event(p->writer, e);
	}
	if (!is_first_half)
		hl_retain_check_triggers(p);
}

void hl_retain_extra(struct hl_target *p, const struct hl_extra *x)
{
	struct hl_retain *k = &p->retain;
	uint32_t i = k->mode == HL_MODE_CULL ? append_item(k) : NONE;
	char *text = i != NONE && x->text ? strdup(x->text) : NULL;

	k->moved_free = NONE;
	hl_base_extras_note(&p->match.base_extras, x);
	if (i == NONE) {
		(void)hl_trace_output_add_extra(p->output, x);
	} else {
		k->items[i].is_extra = true;
		k->items[i].extra = *x;
		k->items[i].extra.text = text;
	}
	hl_retain_take_requested_snapshot(p, x);
}

void hl_retain_write_queue(struct hl_target *p)
{
	release_all(p);
}

void hl_retain_end(struct hl_target *p)
{
	struct hl_retain *k = &p->retain;
	struct hl_snapshot s = {.time_ns = hl_target_last_ns(p),
		.cause = HL_SNAPSHOT_END,
		.churn_bytes = hl_retain_churn_threshold(k)};

	release_all(p);
	if (k->mode != HL_MODE_TRACE || k->settings.churn_given || k->settings.every_ns ||
		k->settings.at_live || k->settings.at_rss)
		(void)hl_writer_end_snapshot(p->writer, &s);
}

void hl_target_set_mode(struct hl_target *p, enum hl_mode mode)
{
	struct hl_retain *k = &p->retain;

	bool changed = mode != k->mode;

	hl_target_flush(p);
	release_all(p);
	k->mode = mode;
	k->mode_noted = false;
	if (p->match.n_roles >
		0) /* needs a role to belong to; before the first, META is sufficient */
		write_mode_change(p);
	if (changed)
		hl_retain_take_snapshot(p, hl_mode_name(mode), HL_SNAPSHOT_MODE_CHANGE, 0);
}
