/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice_extras.c - side events and other data of a slice: marks and names, blocks of pools,
 * snapshots, the resident set.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/attr.h"
#include "model/slice/slice_internal.h"

/* Is a side event before the range needed in the range? All are, except those that concern their
 * own moment only. */
static bool is_needed_later(const struct hl_extra *x)
{
	switch (x->kind) {
	case HL_EXTRA_MARK:
	case HL_EXTRA_SNAPSHOT:
	case HL_EXTRA_UNKNOWN_FREE:
	case HL_EXTRA_DROPPED:
		return false;
	case HL_EXTRA_POOL_FREE:
		return x->value2 != HL_POOL_UNKNOWN;
	}
	return true;
}

/*
 * Side events of a pool's block: returns false if the block is not in the slice. If events between
 * its allocation and its free were cut, the free must not look like the next event of the pool.
 */
static bool keep_pooled(struct hl_slice_writer *c, struct hl_extra *x)
{
	struct hl_pool_state *p =
		(uint32_t)x->value < c->n_pools ? &c->pools[(uint32_t)x->value] : NULL;
	uint64_t block = x->value2, alloc_before_it, now;

	if (x->kind != HL_EXTRA_POOL_ALLOC && x->kind != HL_EXTRA_POOL_FREE)
		return true;
	if (!p)
		return false; /* the definition of the pool is lost */
	alloc_before_it = p->last_of_run;
	now = x->kind == HL_EXTRA_POOL_ALLOC ? block + 1 : 0;
	p->last_of_run = now;
	if (block != HL_POOL_UNKNOWN && !hl_ordinal_set_has(&c->kept_pooled, block))
		return false;
	if (block != HL_POOL_UNKNOWN)
		x->value2 = hl_ordinal_set_rank(&c->kept_pooled, block);
	if (x->kind == HL_EXTRA_POOL_FREE && p->last == block + 1 && alloc_before_it != block + 1)
		x->value |= HL_POOL_PARTED;
	p->last = now;
	return true;
}

int hl_slice_writer_extra(struct hl_slice_writer *c, const struct hl_extra *from, bool older)
{
	struct hl_extra x = *from;
	int err;

	if (x.time_ns > c->cut.to_ns || x.thread >= c->n_roles)
		return 0;
	if ((older || x.time_ns < c->cut.from_ns) && !is_needed_later(&x))
		return 0;
	if (!keep_pooled(c, &x))
		return 0;
	err = hl_slice_writer_map_node(c, from->node, &x.node);
	if (!err && c->anonymizer)
		err = hl_anonymize_extra(c->anonymizer, &x);
	return err ? err : hl_slice_writer_note_error(c, hl_writer_add_extra(c->w, &x));
}

/* The same moment, with the sums of the blocks that are kept. */
static int copy_snapshot(struct hl_slice_writer *c, size_t key, uint64_t time_ns)
{
	struct hl_snapshot_info info;
	struct hl_snapshot s = {.time_ns = time_ns};
	int err = hl_reader_snapshot(c->m->reader, key, &info);

	if (err)
		return err == -ENOENT || err == -EBADMSG ? 0 : err;
	s.threshold = info.threshold;
	s.churn_bytes = info.churn_bytes;
	s.cause = (uint32_t)info.cause;
	s.label = info.label[0] ? info.label : NULL;
	if (s.label && c->anonymizer && s.cause != HL_SNAPSHOT_MODE_CHANGE) /* a mode's name */
		err = hl_anonymize_label(c->anonymizer, &s.label);
	if (!err)
		err = hl_slice_writer_note_error(c, s.cause == HL_SNAPSHOT_END
							    ? hl_writer_end_snapshot(c->w, &s)
							    : hl_writer_snapshot(c->w, &s));
	free(info.label);
	return err;
}

int hl_slice_writer_snapshots(struct hl_slice_writer *c, size_t chunk)
{
	int err = 0;

	for (; c->next_key < hl_reader_n_keyframes(c->m->reader) && !err; c->next_key++) {
		const struct hl_keyframe_info *k = hl_reader_keyframe(c->m->reader, c->next_key);

		if (k->chunk > chunk)
			break;
		if (k->snapshot && !k->lost && !c->m->bad_keyframes[c->next_key] &&
			k->time_ns >= c->cut.from_ns && k->time_ns <= c->cut.to_ns)
			err = copy_snapshot(c, c->next_key, k->time_ns);
	}
	return err;
}

int hl_slice_writer_rss(struct hl_slice_writer *c)
{
	struct hl_rss_sample *samples = NULL;
	size_t n = 0;
	int err = hl_reader_rss(c->m->reader, &samples, &n);

	for (size_t i = 0; i < n && !err; i++)
		if (samples[i].time_ns >= c->cut.from_ns && samples[i].time_ns <= c->cut.to_ns)
			err = hl_slice_writer_note_error(c, hl_writer_add_rss(c->w, &samples[i]));
	free(samples);
	return err == -EBADMSG ? 0 : err; /* the trace itself says that it is damaged */
}
