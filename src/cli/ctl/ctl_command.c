/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_command.c - see ctl_command.h.
 *
 * A program is found by its pid, its collector by the memory that the two share. The collector
 * executes the request and answers with its status. The answer is checked like untrusted input.
 */
#include "cli/ctl/ctl_command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/ctl/ctl_client.h"
#include "cli/doctor/running_process.h"
#include "request/option_row.h"
#include "request/size_parse.h"

#define ROTATE_TIMEOUT_MS 60000 /* the old file is written completely */

hl_printf(3, 4) static int refuse(char why[HL_CTL_WHY_MAX], int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, HL_CTL_WHY_MAX, fmt, args);
	va_end(args);
	return err;
}

/* Verbs by enum hl_ctl_verb. HL_CTL_MODE is written as mode=. */
static const char *const verbs[HL_CTL_VERBS] = {
	"status", "pause", "resume", "stop", "mode", "mark", "snapshot", "rotate"};

static int reject_verb(const char *word, char why[HL_CTL_WHY_MAX])
{
	return refuse(why, -EINVAL,
		"unknown verb \"%s\"; use status, pause, resume, stop, mode=MODE, "
		"snapshot [LABEL], mark LABEL or rotate",
		word);
}

/* Parses "sample=64K". */
static int parse_mode(const char *word, struct hl_ctl_request *q, char why[HL_CTL_WHY_MAX])
{
	const char *value = strchr(word, '=');
	char name[16];
	int mode;

	snprintf(name, sizeof(name), "%.*s", value ? (int)(value - word) : 15, word);
	mode = hl_word_find(HL_MODE_WORDS, name);
	if (mode < 0 || (value && mode != HL_MODE_SAMPLE))
		return refuse(why, -EINVAL,
			"mode=%s is not one of trace, cull, count, sample or "
			"sample=BYTES",
			word);
	q->mode = (uint32_t)mode;
	if (value && !hl_size_parse(value + 1, 1, HL_SAMPLE_MAX, &q->sample_bytes))
		return refuse(why, -EINVAL,
			"mode=%s: sample= needs a size from 1 to 4G, such as 512K", word);
	return 0;
}

int hl_ctl_parse(
	struct hl_ctl_request *q, int argc, const char *const *argv, char why[HL_CTL_WHY_MAX])
{
	const char *word = argv[0], *label = argc > 1 ? argv[1] : NULL;
	size_t i = 0;

	if (!strncmp(word, "mode=", 5)) {
		q->verb = HL_CTL_MODE;
		return argc > 1 ? refuse(why, -EINVAL, "mode=MODE takes no argument")
				: parse_mode(word + 5, q, why);
	}
	while (i < HL_CTL_VERBS && (i == HL_CTL_MODE || strcmp(word, verbs[i]) != 0))
		i++;
	if (i == HL_CTL_VERBS)
		return reject_verb(word, why);
	q->verb = (uint32_t)i;
	if (i == HL_CTL_MARK && !label)
		return refuse(why, -EINVAL,
			"mark needs a label, as in: heaplapse ctl PID mark \"after login\"");
	if (argc > 2 || (label && i != HL_CTL_MARK && i != HL_CTL_SNAPSHOT))
		return refuse(why, -EINVAL, "%s takes %s", word,
			i == HL_CTL_MARK || i == HL_CTL_SNAPSHOT ? "one label" : "no argument");
	if (label && strlen(label) > HL_CTL_TEXT_MAX)
		return refuse(why, -EINVAL, "a label has at most %u bytes", HL_CTL_TEXT_MAX);
	snprintf(q->text, sizeof(q->text), "%s", label ? label : "");
	return 0;
}

int hl_ctl_explain_not_found(const char *pid, int err, char why[HL_CTL_WHY_MAX])
{
	switch (-err) {
	case ESRCH:
		refuse(why, err, "there is no process %s", pid);
		break;
	case ENOENT:
		refuse(why, err,
			"process %s is not recorded; start it with: heaplapse record COMMAND", pid);
		break;
	case ECHILD:
		refuse(why, err,
			"process %s is heaplapse, not a recorded program; pass the program's pid",
			pid);
		break;
	case ENODATA:
		refuse(why, err,
			"process %s is not recorded: its recorder is switched off; the reason "
			"is on its stderr",
			pid);
		break;
	case EACCES:
	case EPERM:
		refuse(why, err,
			"process %s belongs to another user or cannot be inspected; run this "
			"as its user or as root",
			pid);
		break;
	default:
		refuse(why, err, "cannot inspect process %s: %s", pid, strerror(-err));
	}
	return err;
}

static int explain_connect_error(const char *pid, int err, char *why)
{
	switch (-err) {
	case ETIMEDOUT:
		refuse(why, err,
			"the collector of process %s does not answer; check whether it is "
			"stopped (heaplapse doctor %s)",
			pid, pid);
		break;
	case EACCES:
	case ECONNRESET:
		refuse(why, err,
			"the collector of process %s belongs to another user; run this as "
			"that user or as root",
			pid);
		break;
	case EPROTO:
		refuse(why, err,
			"process %s is recorded by another version of heaplapse; use that version",
			pid);
		break;
	default:
		refuse(why, err,
			"process %s has no collector here: it has ended or is in another "
			"network namespace (%s)",
			pid, strerror(-err));
	}
	return err;
}

/* The recording is as before. */
static int explain_not_rotated(const char *pid, int err, char *why)
{
	const char *advice =
		err == -EMFILE ? "; raise the limit of open files (ulimit -n)"
		: err == -ENOSPC || err == -EDQUOT
			? "; free some space and try again"
			: "; check the directory of its trace (heaplapse ctl PID status)";

	refuse(why, err,
		"the trace of process %s was not rotated and continues in the same file: %s%s", pid,
		strerror(-err), advice);
	return err;
}

static int explain_refused(const char *pid, const struct hl_ctl_request *q, int err, char *why)
{
	switch (-err) {
	case ESRCH:
		refuse(why, err,
			"process %s has recorded nothing yet; try again after it has "
			"allocated something",
			pid);
		break;
	case EOPNOTSUPP:
		if (q->verb == HL_CTL_MODE && q->mode == HL_MODE_TAGS)
			refuse(why, err,
				"the mode cannot be changed to tags while the program runs: "
				"start it with record --mode=tags");
		else if (q->verb == HL_CTL_ROTATE)
			refuse(why, err,
				"process %s is recorded in mode tags, which writes no trace to "
				"rotate",
				pid);
		else
			refuse(why, err,
				"process %s is recorded in mode tags, which cannot change "
				"during a run; heaplapse_tags_disable() excludes a part",
				pid);
		break;
	case ENODATA:
		refuse(why, err,
			"the trace of process %s has a write error, so no other file can "
			"continue it; its file has everything up to the error",
			pid);
		break;
	case ENOTRECOVERABLE:
		refuse(why, err,
			"the trace of process %s was closed, but the next file could not be "
			"written: nothing is recorded from here on; its file is complete up "
			"to the rotation (heaplapse ctl PID status shows the next one)",
			pid);
		break;
	case ENOSPC:
		if (q->verb == HL_CTL_ROTATE)
			return explain_not_rotated(pid, err, why);
		refuse(why, err,
			"this run has used %u different sampling rates, which is the maximum; "
			"use one of them",
			HL_LIVE_RATES);
		break;
	default:
		if (q->verb == HL_CTL_ROTATE)
			return explain_not_rotated(pid, err, why);
		refuse(why, err, "the collector of process %s cannot do that: %s", pid,
			strerror(-err));
	}
	return err;
}

int hl_ctl_execute(
	struct hl_ctl_request *q, struct hl_ctl_answer *a, int timeout_ms, char why[HL_CTL_WHY_MAX])
{
	uint64_t inode;
	char pid[24];
	int err;

	q->magic = HL_CTL_MAGIC;
	q->version = HL_CTL_VERSION;
	snprintf(pid, sizeof(pid), "%" PRIu64, q->pid);
	err = hl_running_process_region(q->pid, &inode);
	if (err)
		return hl_ctl_explain_not_found(pid, err, why);
	if (!timeout_ms)
		timeout_ms = q->verb == HL_CTL_ROTATE ? ROTATE_TIMEOUT_MS : HL_CTL_TIMEOUT_MS;
	err = hl_ctl_ask(inode, q, a, timeout_ms);
	if (err)
		return explain_connect_error(pid, err, why);
	return a->error ? explain_refused(pid, q, a->error, why) : 0;
}

const char *hl_ctl_pending(const struct hl_ctl_answer *a)
{
	return a->pending == HL_CTL_STOP || a->pending == HL_CTL_RESUME ? verbs[a->pending] : NULL;
}

void hl_ctl_put_json(struct hl_json *j, uint64_t pid, const struct hl_ctl_answer *a)
{
	hl_json_key_u64(j, "pid", pid);
	hl_json_key_string(j, "mode", hl_mode_name(a->mode));
	hl_json_key_u64(j, "sample_bytes", a->sample_bytes);
	hl_json_key_bool(j, "paused", a->paused);
	hl_json_key_bool(j, "stopped", a->stopped);
	hl_json_key_string(j, "pending", hl_ctl_pending(a));
	hl_json_key_u64(j, "start_unix_ns", a->start_unix_ns);
	hl_json_key_u64(j, "live_bytes", a->live_bytes);
	hl_json_key_u64(j, "live_blocks", a->live_blocks);
	hl_json_key_u64(j, "events", a->events);
	hl_json_key_u64(j, "dropped_events", a->dropped);
	hl_json_key_string(j, "file", a->path[0] ? a->path : NULL);
	hl_json_key_u64(j, "file_bytes", a->file_bytes);
	if (a->closed[0])
		hl_json_key_string(j, "closed", a->closed);
	hl_json_key_u64(j, "collector_pid", a->collector_pid);
	hl_json_key_u64(j, "collector_bytes", a->collector_bytes);
}
