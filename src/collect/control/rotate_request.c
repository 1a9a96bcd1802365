/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rotate_request.c - see rotate_request.h.
 *
 * Of several requests at the same time each closes one file, in turn.
 */
#include "collect/control/rotate_request.h"

#include <errno.h>

#include "collect/match/rotate.h"

#define CREATE_NS UINT64_C(2000000000)  /* then there is no descriptor for the next file */
#define BUSY_NS   UINT64_C(30000000000) /* the base of the last rotation is still being copied */

static void discard_next(struct hl_target *p)
{
	if (p->control.next_output)
		hl_trace_output_discard(p->control.next_output);
	p->control.next_output = NULL;
}

static void enter(struct hl_rotate_request *q, int stage, uint64_t now)
{
	q->stage = stage;
	q->since_ns = now;
}

static int begin(struct hl_rotate_request *q, struct hl_target *p, uint64_t now)
{
	int err = hl_trace_output_created(p->output);

	if (err)
		return err == -EAGAIN ? -EINPROGRESS : -ENODATA;
	if (!p->control.next_output)
		p->control.next_output =
			hl_trace_output_new_successor(p->output, hl_match_base_bytes_max(p));
	enter(q, HL_ROTATE_CREATING, now);
	return p->control.next_output ? -EINPROGRESS : -ENOMEM;
}

static int switch_files(struct hl_rotate_request *q, struct hl_target *p, uint64_t now)
{
	uint64_t unused;
	int err = hl_trace_output_created(p->control.next_output);

	if (err == -EAGAIN)
		return now - q->since_ns < CREATE_NS ? -EINPROGRESS : -EMFILE;
	if (err)
		return err;
	hl_trace_output_status(p->output, q->closed, sizeof(q->closed), &unused, &unused);
	err = hl_match_rotate(p, p->control.next_output);
	if (err == -EAGAIN && now - q->since_ns < BUSY_NS)
		return -EINPROGRESS;
	if (err)
		return err;
	p->control.next_output = NULL;
	enter(q, HL_ROTATE_CLOSING, now);
	return -EINPROGRESS;
}

/* -ENOTRECOVERABLE: the old file is complete, but there was no room for the base of the next. */
static int wait_for_files(const struct hl_target *p)
{
	int err = hl_trace_output_predecessor_closed(p->output)
			  ? hl_trace_output_base_written(p->output)
			  : -EAGAIN;

	return err == -EAGAIN ? -EINPROGRESS : err ? -ENOTRECOVERABLE : 0;
}

int hl_rotate_request_step(struct hl_rotate_request *q, struct hl_target *p, uint64_t now)
{
	int err;

	if (q->stage == HL_ROTATE_CLOSING)
		return wait_for_files(p);
	/* Another request may have used the next file. */
	if (q->stage == HL_ROTATE_NEW || !p->control.next_output)
		return begin(q, p, now);
	err = switch_files(q, p, now);
	if (err != -EINPROGRESS)
		discard_next(p);
	return err;
}

void hl_rotate_request_cancel(struct hl_rotate_request *q, struct hl_target *p)
{
	if (q->stage == HL_ROTATE_CREATING)
		discard_next(p);
}
