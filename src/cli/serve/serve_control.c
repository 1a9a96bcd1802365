/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve_control.c - see serve_control.h.
 *
 * A pid says little: the process may have ended, and another one may have its number. So the
 * collector is asked first which file it writes for that pid, and a command is sent only if that is
 * the file that is served. The collector serves its own user and root only.
 */
#include "cli/serve/serve_control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/ctl/ctl_command.h"

static int refuse(struct hl_web_control_answer *a, int err, const char *why)
{
	snprintf(a->why, sizeof(a->why), "%s", why);
	return err;
}

/* Requires the answer of the collector. */
static bool writes_file(const struct hl_ctl_answer *answer, const struct hl_web_control *c)
{
	struct stat st;

	return stat(answer->path, &st) == 0 && st.st_dev == c->dev && st.st_ino == c->ino;
}

static int ask_status(const struct hl_web_control *c, struct hl_ctl_answer *answer,
	struct hl_web_control_answer *a)
{
	struct hl_ctl_request q = {.verb = HL_CTL_STATUS, .pid = c->pid};
	int err = hl_ctl_execute(&q, answer, c->timeout_ms, a->why);

	if (err)
		return err == -EINVAL ? -EIO : err;
	return writes_file(answer, c)
		       ? 0
		       : refuse(a, -ESRCH,
				 "the program is not being recorded into this file any more");
}

/* The verb and its argument become the words of the command. */
static int parse_command(
	const struct hl_web_control *c, struct hl_ctl_request *q, struct hl_web_control_answer *a)
{
	const char *words[2] = {c->verb, c->label};
	char mode[64];

	if (strcmp(c->verb, "mode") == 0) {
		if (!c->mode)
			return refuse(
				a, -EINVAL, "mode needs the parameter mode, such as mode=count");
		snprintf(mode, sizeof(mode), "mode=%s", c->mode);
		words[0] = mode;
	} else if (c->mode) {
		return refuse(a, -EINVAL, "the parameter mode belongs to the verb mode");
	}
	return hl_ctl_parse(q, c->label ? 2 : 1, words, a->why);
}

static int put_status(
	struct hl_web_control_answer *a, uint64_t pid, const struct hl_ctl_answer *answer)
{
	size_t len;
	FILE *out = open_memstream(&a->status, &len);
	struct hl_json j;

	if (!out)
		return refuse(a, -ENOMEM, strerror(ENOMEM));
	hl_json_init(&j, out);
	hl_json_begin_object(&j);
	hl_ctl_put_json(&j, pid, answer);
	hl_json_end_object(&j);
	if (fclose(out))
		return refuse(a, -ENOMEM, strerror(ENOMEM));
	a->state = answer->stopped ? "stopped" : answer->paused ? "paused" : "recording";
	a->pending = hl_ctl_pending(answer);
	return 0;
}

int hl_serve_control(void *arg, const struct hl_web_control *c, struct hl_web_control_answer *a)
{
	struct hl_ctl_request q = {.pid = c->pid};
	struct hl_ctl_answer *answer = malloc(sizeof(*answer));
	int err = answer ? 0 : refuse(a, -ENOMEM, strerror(ENOMEM));

	if (!err && c->verb)
		err = parse_command(c, &q, a);
	if (!err)
		err = ask_status(c, answer, a);
	if (!err && c->verb && q.verb != HL_CTL_STATUS) {
		err = hl_ctl_execute(&q, answer, 0, a->why);
		err = err == -EINVAL ? -EIO : err; /* the words were right */
	}
	if (!err)
		err = put_status(a, c->pid, answer);
	free(answer);
	return err;
}
