/* SPDX-License-Identifier: Apache-2.0 */
/* session_json.c - the processes of a session and their traces, as JSON. */
#include <errno.h>
#include <stdlib.h>

#include "model/session/session.h"
#include "views/json/json.h"

static void json_file(struct hl_json *j, const struct hl_session_file *f)
{
	hl_json_begin_object(j);
	hl_json_key_string(j, "trace", f->path);
	hl_json_key_string(j, "program", f->program);
	hl_json_key_bool(j, "forked", f->forked);
	hl_json_key_bool(j, "continues", f->continues);
	hl_json_key_u64(j, "peak_bytes", f->peak_bytes);
	hl_json_key_u64(j, "allocations", f->allocations);
	hl_json_end_object(j);
}

static void json_process(
	struct hl_json *j, const struct hl_session_list *s, const struct hl_session_process *p)
{
	const struct hl_session_file *f = &s->files.data[p->largest];

	hl_json_begin_object(j);
	hl_json_key_u64(j, "pid", f->pid);
	hl_json_key_u64(j, "parent_pid", f->parent_pid);
	hl_json_key_string(j, "program", f->program);
	hl_json_key_string(j, "argument", p->argument);
	hl_json_key_string(j, "trace", f->path);
	hl_json_key_u64(j, "start_unix_ns", f->start_unix_ns);
	hl_json_key_bool(j, "running", s->files.data[p->last].end.kind == HL_END_RUNNING);
	hl_json_key_bool(j, "estimated", f->is_sampled);
	hl_json_key_bool(j, "damaged", f->is_damaged);
	hl_json_key_u64(j, "peak_bytes", f->peak_bytes);
	hl_json_key_u64(j, "peak_blocks", f->peak_blocks);
	hl_json_key_u64(j, "resident_bytes", f->resident_bytes);
	hl_json_key_u64(j, "allocations", f->allocations);
	hl_json_key_u64(j, "live_bytes", f->live_bytes);
	hl_json_key_u64(j, "live_blocks", f->live_blocks);
	hl_json_key(j, "files");
	hl_json_begin_array(j);
	for (size_t i = 0; i < p->n_files; i++)
		json_file(j, &s->files.data[s->order.data[p->in_order + i]]);
	hl_json_end_array(j);
	hl_json_end_object(j);
}

int hl_json_session(FILE *out, const struct hl_session_list *s)
{
	size_t *order = hl_session_by_peak(s);
	struct hl_json j;

	if (!order)
		return -ENOMEM;
	hl_json_init(&j, out);
	hl_json_begin_object(&j);
	hl_json_key_u64(&j, "schema", 1);
	hl_json_key_string(&j, "session", s->dir);
	hl_json_key(&j, "processes");
	hl_json_begin_array(&j);
	for (size_t i = 0; i < s->processes.len; i++)
		json_process(&j, s, &s->processes.data[order[i]]);
	hl_json_end_array(&j);
	hl_json_end_object(&j);
	putc('\n', out);
	free(order);
	return 0;
}
