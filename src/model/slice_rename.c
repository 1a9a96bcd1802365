/*
 * slice_rename.c - a whole trace under made-up names: where sums alone are left of events, which
 * can be copied but not be made again.
 */
#include <errno.h>
#include <unistd.h>

#include "model/slice_internal.h"
#include "trace/recast.h"

static void mask_event(void *arg, struct hl_event *e)
{
	hl_disguise_event(arg, e);
}

static int mask_extra(void *arg, struct hl_extra *x)
{
	return hl_disguise_extra(arg, x);
}

static int mask_label(void *arg, const char **label)
{
	return hl_disguise_label(arg, label);
}

int hl_cutting_rename(struct hl_cutting *c, int fd)
{
	const struct hl_trace_info *i = c->m->info;
	const struct hl_recast_masks masks = {
		.event = mask_event, .extra = mask_extra, .label = mask_label, .arg = c->disguise};
	struct hl_recast *x;
	struct hl_meta meta;
	int err = hl_cutting_meta(c, &meta);

	if (!err)
		err = hl_recast_begin(&x, c->m->reader, fd, &meta, &c->w);
	if (err) {
		close(fd);
		return err;
	}
	err = hl_cutting_add_roles(c);
	if (!err)
		err = hl_cutting_add_code(c);
	err = hl_recast_end(x, c->s->anonymity == HL_ALL_MADE_UP ? &masks : NULL, err);
	if (err && err != -EBADMSG && err != -ENOMEM)
		hl_cutting_wrote(c, err);
	c->done->blocks = i->totals.sums.alloc_blocks;
	c->done->bytes = i->totals.sums.alloc_bytes;
	c->done->left_out = i->left_out;
	c->done->to_ns = hl_model_end_ns(c->m);
	return err;
}
