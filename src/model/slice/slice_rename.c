/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice_rename.c - copies a whole trace with made-up names. For traces with aggregated blocks,
 * whose sums can be copied but not computed again.
 */
#include <errno.h>
#include <unistd.h>

#include "model/slice/slice_internal.h"
#include "trace/edit/rename_copy.h"

static void mask_event(void *arg, struct hl_event *e)
{
	hl_anonymize_event(arg, e);
}

static int mask_extra(void *arg, struct hl_extra *x)
{
	return hl_anonymize_extra(arg, x);
}

static int mask_label(void *arg, const char **label)
{
	return hl_anonymize_label(arg, label);
}

int hl_slice_writer_rename(struct hl_slice_writer *c, int fd)
{
	const struct hl_trace_info *i = c->m->info;
	const struct hl_rename_copy_masks masks = {.event = mask_event,
		.extra = mask_extra,
		.label = mask_label,
		.arg = c->anonymizer};
	struct hl_rename_copy *x;
	struct hl_meta meta;
	int err = hl_slice_writer_meta(c, &meta);

	if (!err)
		err = hl_rename_copy_begin(&x, c->m->reader, fd, &meta, &c->w);
	if (err) {
		close(fd);
		return err;
	}
	err = hl_slice_writer_add_roles(c);
	if (!err)
		err = hl_slice_writer_add_code(c);
	if (!err)
		err = hl_slice_writer_maps(c);
	err = hl_rename_copy_end(x, c->s->anonymity == HL_ANONYMIZE_ALL ? &masks : NULL, err);
	if (err && err != -EBADMSG && err != -ENOMEM)
		hl_slice_writer_note_error(c, err);
	c->done->blocks = i->totals.sums.alloc_blocks;
	c->done->bytes = i->totals.sums.alloc_bytes;
	c->done->left_out = i->left_out;
	c->done->to_ns = hl_model_end_ns(c->m);
	return err;
}
