/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_control.c - the recording of a running program: its state, and commands for it.
 *
 * The collector is asked by the command that started the server (struct hl_web_options), because
 * only that knows its protocol. The trace is not locked meanwhile: a rotation may take long.
 * A server that answers without a token controls nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "views/web/web_internal.h"

#define LIST_TIMEOUT_MS 300 /* a collector that is stopped does not hide the other traces */

#define NO_TOKEN                                                                      \
	"a recording is controlled only with a token: start heaplapse serve without " \
	"--no-token"

/* The trace must be locked. */
void hl_web_control_find(struct hl_web_trace *t, struct hl_web_control *c)
{
	const struct hl_trace_info *i = hl_model_info(t->cheap.m);

	*c = (struct hl_web_control){.pid = i->meta.pid,
		.dev = t->dev,
		.ino = t->ino,
		.is_running = i->end.kind == HL_END_RUNNING && !t->deleted};
}

/* Returns 0, or -errno with a->why. */
static int execute(
	struct hl_web_query *q, const struct hl_web_control *c, struct hl_web_control_answer *a)
{
	const struct hl_web_options *o = q->web->options;

	*a = (struct hl_web_control_answer){0};
	if (!c->is_running) {
		snprintf(a->why, sizeof(a->why),
			"the program is not being recorded into this file "
			"any more");
		return -ESRCH;
	}
	if (!o->control || o->no_token) {
		snprintf(a->why, sizeof(a->why), NO_TOKEN);
		return -EACCES;
	}
	return o->control(o->arg, c, a);
}

static void put_state(struct hl_json *j, int err, const struct hl_web_control_answer *a)
{
	hl_json_key_bool(j, "controllable", !err);
	hl_json_key_string(j, "reason", err ? a->why : NULL);
	hl_json_key_string(j, "state", err ? NULL : a->state);
	hl_json_key_string(j, "pending", err ? NULL : a->pending);
}

void hl_web_control_put(struct hl_json *j, struct hl_web_query *q, struct hl_web_control *c)
{
	struct hl_web_control_answer a;
	int err;

	c->timeout_ms = LIST_TIMEOUT_MS;
	err = execute(q, c, &a);
	hl_json_key(j, "control");
	hl_json_begin_object(j);
	put_state(j, err, &a);
	hl_json_end_object(j);
	free(a.status);
}

static void put_answer(struct hl_web_query *q, int err, const struct hl_web_control_answer *a)
{
	struct hl_json j;

	hl_json_init(&j, q->out);
	hl_json_begin_object(&j);
	hl_json_key_u64(&j, "schema", 1);
	put_state(&j, err, a);
	hl_json_key(&j, "status");
	if (err || !a->status)
		hl_json_string(&j, NULL);
	else
		fputs(a->status, q->out);
	hl_json_end_object(&j);
	putc('\n', q->out);
}

static int find_target(struct hl_web_query *q, struct hl_web_control *c)
{
	int err = hl_web_trace_enter(q->web, q->trace);

	if (err) {
		q->status = 422;
		snprintf(q->error, sizeof(q->error), "%s", q->trace->problem);
	} else {
		hl_web_control_find(q->trace, c);
	}
	hl_web_trace_leave(q->trace);
	return err;
}

int hl_web_run_control(struct hl_web_query *q)
{
	struct hl_web_control_answer a;
	struct hl_web_control c;
	int err = find_target(q, &c);

	if (err)
		return err;
	err = execute(q, &c, &a);
	put_answer(q, err, &a);
	free(a.status);
	return 0;
}

int hl_web_run_control_verb(struct hl_web_query *q)
{
	struct hl_web_control_answer a;
	struct hl_web_control c;
	int err = find_target(q, &c);

	if (err)
		return err;
	c.verb = q->word;
	c.mode = q->control_mode;
	c.label = q->control_label;
	err = execute(q, &c, &a);
	if (err) {
		q->status = err == -EINVAL ? 400 : err == -EACCES ? 403 : 409;
		snprintf(q->error, sizeof(q->error), "%s", a.why);
	} else {
		put_answer(q, 0, &a);
	}
	free(a.status);
	return err;
}

/* --- parameters --- */

static const char *set_mode(void *state, const char *value)
{
	((struct hl_web_query *)state)->control_mode = value;
	return NULL;
}

static const char *set_label(void *state, const char *value)
{
	((struct hl_web_query *)state)->control_label = value;
	return NULL;
}

const struct hl_opt hl_web_control_rows[] = {
	{0, "mode", "MODE", "of mode: trace, cull, count, sample or sample=BYTES", set_mode},
	{0, "label", "LABEL", "of mark and snapshot", set_label},
	{0},
};
