/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_ctl.c - steers the recording of a running program.
 *
 * The program is found by its pid, its collector by the memory that the two share. The collector
 * executes the request and answers with its status. The answer is checked like untrusted input.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/ctl/ctl_client.h"
#include "cli/ctl/ctl_list.h"
#include "cli/doctor/running_process.h"
#include "request/size_parse.h"
#include "collect/control/ctl.h"
#include "util/json_writer.h"
#include "util/safe_text.h"

#define ROTATE_TIMEOUT_MS 60000 /* the old file is written completely */

struct ctl_state {
	bool json;
};

static const char *set_json(void *state, const char *value)
{
	((struct ctl_state *)state)->json = true;
	return NULL;
}

/* Verbs by enum hl_ctl_verb. HL_CTL_MODE is written as mode=. */
static const char *const verbs[HL_CTL_VERBS] = {
	"status", "pause", "resume", "stop", "mode", "mark", "snapshot", "rotate"};

static int reject_verb(const char *word)
{
	return hl_cli_usage("unknown verb \"%s\"; use status, pause, resume, stop, mode=MODE, "
			    "snapshot [LABEL], mark LABEL or rotate",
		word);
}

/* Parses "sample=64K". Returns 0, or prints the reason and returns an exit status. */
static int parse_mode(const char *word, struct hl_ctl_request *q)
{
	const char *value = strchr(word, '=');
	char name[16];
	int mode;

	snprintf(name, sizeof(name), "%.*s", value ? (int)(value - word) : 15, word);
	mode = hl_word_find(HL_MODE_WORDS, name);
	if (mode < 0 || (value && mode != HL_MODE_SAMPLE))
		return hl_cli_usage("mode=%s is not one of trace, cull, count, sample or "
				    "sample=BYTES",
			word);
	q->mode = (uint32_t)mode;
	if (value && !hl_size_parse(value + 1, 1, HL_SAMPLE_MAX, &q->sample_bytes))
		return hl_cli_usage(
			"mode=%s: sample= needs a size from 1 to 4G, such as 512K", word);
	return 0;
}

static int parse_verb(int argc, char **argv, struct hl_ctl_request *q)
{
	const char *word = argv[0], *label = argc > 1 ? argv[1] : NULL;
	size_t i = 0;

	if (!strncmp(word, "mode=", 5)) {
		q->verb = HL_CTL_MODE;
		return argc > 1 ? hl_cli_usage("mode=MODE takes no argument")
				: parse_mode(word + 5, q);
	}
	while (i < HL_CTL_VERBS && (i == HL_CTL_MODE || strcmp(word, verbs[i]) != 0))
		i++;
	if (i == HL_CTL_VERBS)
		return reject_verb(word);
	q->verb = (uint32_t)i;
	if (i == HL_CTL_MARK && !label)
		return hl_cli_usage(
			"mark needs a label, as in: heaplapse ctl PID mark \"after login\"");
	if (argc > 2 || (label && i != HL_CTL_MARK && i != HL_CTL_SNAPSHOT))
		return hl_cli_usage("%s takes %s", word,
			i == HL_CTL_MARK || i == HL_CTL_SNAPSHOT ? "one label" : "no argument");
	if (label && strlen(label) > HL_CTL_TEXT_MAX)
		return hl_cli_usage("a label has at most %u bytes", HL_CTL_TEXT_MAX);
	snprintf(q->text, sizeof(q->text), "%s", label ? label : "");
	return 0;
}

static int print_not_found(const char *pid, int err)
{
	switch (-err) {
	case ESRCH:
		hl_cli_error("there is no process %s", pid);
		break;
	case ENOENT:
		hl_cli_error(
			"process %s is not recorded; start it with: heaplapse record COMMAND", pid);
		break;
	case ECHILD:
		hl_cli_error(
			"process %s is heaplapse, not a recorded program; pass the program's pid",
			pid);
		break;
	case ENODATA:
		hl_cli_error("process %s is not recorded: its recorder is switched off; the reason "
			     "is on its stderr",
			pid);
		break;
	case EACCES:
	case EPERM:
		hl_cli_error("process %s belongs to another user or cannot be inspected; run this "
			     "as its user or as root",
			pid);
		break;
	default:
		hl_cli_error("cannot inspect process %s: %s", pid, strerror(-err));
	}
	return HL_EXIT_IO;
}

static int print_connect_error(const char *pid, int err)
{
	switch (-err) {
	case ETIMEDOUT:
		hl_cli_error("the collector of process %s does not answer; check whether it is "
			     "stopped (heaplapse doctor %s)",
			pid, pid);
		break;
	case EACCES:
	case ECONNRESET:
		hl_cli_error("the collector of process %s belongs to another user; run this as "
			     "that user or as root",
			pid);
		break;
	case EPROTO:
		hl_cli_error(
			"process %s is recorded by another version of heaplapse; use that version",
			pid);
		break;
	default:
		hl_cli_error("process %s has no collector here: it has ended or is in another "
			     "network namespace (%s)",
			pid, strerror(-err));
	}
	return HL_EXIT_IO;
}

/* The recording is as before. */
static int print_not_rotated(const char *pid, int err)
{
	const char *advice =
		err == -EMFILE ? "; raise the limit of open files (ulimit -n)"
		: err == -ENOSPC || err == -EDQUOT
			? "; free some space and try again"
			: "; check the directory of its trace (heaplapse ctl PID status)";

	hl_cli_error("the trace of process %s was not rotated and continues in the same file: %s%s",
		pid, strerror(-err), advice);
	return HL_EXIT_IO;
}

static int print_refused(const char *pid, const struct hl_ctl_request *q, int err)
{
	switch (-err) {
	case ESRCH:
		hl_cli_error("process %s has recorded nothing yet; try again after it has "
			     "allocated something",
			pid);
		break;
	case EOPNOTSUPP:
		if (q->verb == HL_CTL_MODE && q->mode == HL_MODE_TAGS)
			hl_cli_error("the mode cannot be changed to tags while the program runs: "
				     "start it with record --mode=tags");
		else if (q->verb == HL_CTL_ROTATE)
			hl_cli_error(
				"process %s is recorded in mode tags, which writes no trace to "
				"rotate",
				pid);
		else
			hl_cli_error("process %s is recorded in mode tags, which cannot change "
				     "during a run; heaplapse_tags_disable() excludes a part",
				pid);
		break;
	case ENODATA:
		hl_cli_error("the trace of process %s has a write error, so no other file can "
			     "continue it; its file has everything up to the error",
			pid);
		break;
	case ENOTRECOVERABLE:
		hl_cli_error("the trace of process %s was closed, but the next file could not be "
			     "written: nothing is recorded from here on; its file is complete up "
			     "to the rotation (heaplapse ctl PID status shows the next one)",
			pid);
		break;
	case ENOSPC:
		if (q->verb == HL_CTL_ROTATE)
			return print_not_rotated(pid, err);
		hl_cli_error("this run has used %u different sampling rates, which is the maximum; "
			     "use one of them",
			HL_LIVE_RATES);
		break;
	default:
		if (q->verb == HL_CTL_ROTATE)
			return print_not_rotated(pid, err);
		hl_cli_error("the collector of process %s cannot do that: %s", pid, strerror(-err));
	}
	return HL_EXIT_IO;
}

static void print_json(const char *pid, const struct hl_ctl_answer *a)
{
	struct hl_json j;

	hl_json_init(&j, stdout);
	hl_json_begin_object(&j);
	hl_json_key_u64(&j, "schema", 1);
	hl_json_key_u64(&j, "pid", strtoull(pid, NULL, 10));
	hl_json_key_string(&j, "mode", hl_mode_name(a->mode));
	hl_json_key_u64(&j, "sample_bytes", a->sample_bytes);
	hl_json_key_bool(&j, "paused", a->paused);
	hl_json_key_bool(&j, "stopped", a->stopped);
	hl_json_key_u64(&j, "start_unix_ns", a->start_unix_ns);
	hl_json_key_u64(&j, "live_bytes", a->live_bytes);
	hl_json_key_u64(&j, "live_blocks", a->live_blocks);
	hl_json_key_u64(&j, "events", a->events);
	hl_json_key_u64(&j, "dropped_events", a->dropped);
	hl_json_key_string(&j, "file", a->path[0] ? a->path : NULL);
	hl_json_key_u64(&j, "file_bytes", a->file_bytes);
	if (a->closed[0])
		hl_json_key_string(&j, "closed", a->closed);
	hl_json_key_u64(&j, "collector_pid", a->collector_pid);
	hl_json_key_u64(&j, "collector_bytes", a->collector_bytes);
	hl_json_end_object(&j);
	putchar('\n');
}

static void print_rotated(const struct hl_ctl_answer *a)
{
	struct hl_strbuf closed = {0}, path = {0};

	hl_text_escape(&closed, a->closed);
	hl_text_escape(&path, a->path);
	printf("closed      %s\n", hl_strbuf_str(&closed));
	printf("continues   %s\n", a->path[0] ? hl_strbuf_str(&path) : "no: the program has ended");
	hl_strbuf_fini(&closed);
	hl_strbuf_fini(&path);
}

static void print_mode(const struct hl_ctl_answer *a)
{
	char rate[HL_TEXT_SIZE_MAX];

	printf("%-12s%s", "mode", hl_mode_name(a->mode));
	if (a->sample_bytes)
		printf(", one in %s", hl_text_bytes(rate, a->sample_bytes));
	if (a->stopped)
		printf(", stopped: nothing is recorded");
	else if (a->paused)
		printf(", paused: only frees are recorded");
	putchar('\n');
}

static void print_text(const struct hl_ctl_answer *a)
{
	time_t s = (time_t)(a->start_unix_ns / 1000000000);
	char bytes[HL_TEXT_SIZE_MAX], count[HL_TEXT_SIZE_MAX], since[64] = "?";
	struct hl_strbuf path = {0};
	struct tm tm;

	print_mode(a);
	if (localtime_r(&s, &tm))
		strftime(since, sizeof(since), "%Y-%m-%d %H:%M:%S %z", &tm);
	printf("%-12s%s\n", "since", since);
	printf("%-12s%s in %s blocks\n", "live", hl_text_bytes(bytes, a->live_bytes),
		hl_text_count(count, a->live_blocks));
	printf("%-12s%s\n", "events", hl_text_count(count, a->events));
	printf("%-12s%s\n", "dropped", hl_text_count(count, a->dropped));
	hl_text_escape(&path, a->path);
	printf("%-12s%s%s%s\n", "trace", a->path[0] ? hl_strbuf_str(&path) : "not written yet",
		a->path[0] ? ", " : "", a->path[0] ? hl_text_bytes(bytes, a->file_bytes) : "");
	hl_strbuf_fini(&path);
	printf("%-12sprocess %" PRIu64 ", %s resident\n", "collector", a->collector_pid,
		hl_text_bytes(bytes, a->collector_bytes));
}

static int run_ctl(void *state, int argc, char **argv)
{
	struct ctl_state *s = state;
	struct hl_ctl_request q = {.magic = HL_CTL_MAGIC, .version = HL_CTL_VERSION};
	struct hl_ctl_answer a;
	uint64_t inode;
	char pid[24];
	int err;

	if (argc == 1 && !strcmp(argv[0], "list"))
		return hl_ctl_list(s->json);
	if (argc > 1 && !strcmp(argv[0], "list"))
		return hl_cli_usage("list takes no operand, but \"%s\" follows it; one process is "
				    "shown by its pid, as in: heaplapse ctl 1234 status",
			argv[1]);
	if (argc < 2 || !hl_running_process_is_pid(argv[0]))
		return hl_cli_usage(argc == 0 ? "which process? for example: heaplapse ctl 1234 "
						"status"
				    : !hl_running_process_is_pid(argv[0])
					    ? "the first operand must be a pid, as in: heaplapse "
					      "ctl 1234 status"
					    : "which verb? status, pause, resume, stop, mode=MODE, "
					      "snapshot [LABEL], mark LABEL or rotate");
	err = parse_verb(argc - 1, argv + 1, &q);
	if (err)
		return err;
	err = hl_running_process_follow(strtoull(argv[0], NULL, 10), &q.pid);
	snprintf(pid, sizeof(pid), "%" PRIu64, q.pid);
	if (!err)
		err = hl_running_process_region(q.pid, &inode);
	if (err)
		return print_not_found(q.pid == UINT64_MAX ? argv[0] : pid, err);
	err = hl_ctl_ask(
		inode, &q, &a, q.verb == HL_CTL_ROTATE ? ROTATE_TIMEOUT_MS : HL_CTL_TIMEOUT_MS);
	if (err)
		return print_connect_error(pid, err);
	if (a.error)
		return print_refused(pid, &q, a.error);
	if (s->json)
		print_json(pid, &a);
	else if (q.verb == HL_CTL_STATUS)
		print_text(&a);
	else if (q.verb == HL_CTL_ROTATE)
		print_rotated(&a);
	return HL_EXIT_OK;
}

static const struct hl_opt ctl_opts[] = {
	{0, "json", NULL, "print the state after the command as JSON", set_json},
	{0},
};

static const struct hl_example ctl_examples[] = {
	{"list", "show what is being recorded now"},
	{"1234 status", "show mode, totals and trace"},
	{"1234 pause", "record only frees until resume"},
	{"1234 mode=sample", "switch to sampling, one in 512 KiB"},
	{"1234 mark \"after login\"", "add a mark to its trace"},
	{"1234 rotate", "close its trace and continue in the next file"},
	{0},
};

const struct hl_cmd hl_cmd_ctl = {
	.name = "ctl",
	.summary = "control a running recording",
	.usage = "[options] PID VERB [LABEL] | list",
	.about = "Verbs:\n"
		 "  status            show mode, live bytes, events, the trace and its size\n"
		 "  pause             stop recording allocations, keep tracking frees\n"
		 "  resume            record again, like heaplapse_start()\n"
		 "  stop              record nothing, like heaplapse_stop()\n"
		 "  mode=MODE         switch to trace, cull, count, sample or sample=BYTES\n"
		 "  snapshot [LABEL]  take a snapshot, like heaplapse_snapshot()\n"
		 "  mark LABEL        add a mark, like heaplapse_mark()\n"
		 "  rotate            close the trace and continue in the next file\n"
		 "A verb applies to a program and to the children that it forked without exec; "
		 "status,\n"
		 "snapshot, mark and rotate apply to the process itself. The pid of heaplapse "
		 "record means "
		 "the\n"
		 "program that it runs. list shows all processes of yours that are recorded now.\n",
	.exit_status = "0 success; 2 wrong usage; 3 the process does not exist, is not recorded or "
		       "belongs to another user, or its collector does not answer.",
	.examples = ctl_examples,
	.opts = ctl_opts,
	.operand = HL_OPERAND_NONE,
	.state_size = sizeof(struct ctl_state),
	.run = run_ctl,
};
