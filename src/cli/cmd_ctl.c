/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_ctl.c - steers the recording of a running program.
 *
 * ctl/ctl_command.c has the verbs. This file prints their answers.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/ctl/ctl_command.h"
#include "cli/ctl/ctl_list.h"
#include "cli/doctor/running_process.h"
#include "util/json_writer.h"
#include "util/safe_text.h"

struct ctl_state {
	bool json;
};

static const char *set_json(void *state, const char *value)
{
	((struct ctl_state *)state)->json = true;
	return NULL;
}

static void print_json(uint64_t pid, const struct hl_ctl_answer *a)
{
	struct hl_json j;

	hl_json_init(&j, stdout);
	hl_json_begin_object(&j);
	hl_json_key_u64(&j, "schema", 1);
	hl_ctl_put_json(&j, pid, a);
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
	if (a->pending == HL_CTL_STOP)
		printf("; stops at its next call of the allocator");
	else if (a->pending == HL_CTL_RESUME)
		printf("; starts at its next call of the allocator");
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
	struct hl_ctl_request q = {0};
	struct hl_ctl_answer a;
	char why[HL_CTL_WHY_MAX];
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
	if (hl_ctl_parse(&q, argc - 1, (const char *const *)argv + 1, why))
		return hl_cli_usage("%s", why);
	err = hl_running_process_follow(strtoull(argv[0], NULL, 10), &q.pid);
	if (!err && q.pid == UINT64_MAX) /* more digits than a pid has */
		err = -ESRCH;
	err = err ? hl_ctl_explain_not_found(argv[0], err, why) : hl_ctl_execute(&q, &a, 0, why);
	if (err) {
		hl_cli_error("%s", why);
		return HL_EXIT_IO;
	}
	if (s->json)
		print_json(q.pid, &a);
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
