/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_record.c - runs a program and records it.
 *
 * This process does little: it starts the collector and then the program, leaves the program's
 * process group, forwards signals, and returns the program's status. It also holds a second
 * reference to every region, so that a collector that dies can be replaced without losing the
 * contents of the rings.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/doctor/machine.h"
#include "cli/doctor/program.h"
#include "cli/files/embed_trace.h"
#include "cli/options/foreign_names.h"
#include "cli/record/child.h"
#include "cli/record/collector_link.h"
#include "cli/record/record_options.h"
#include "cli/record/record_output.h"
#include "cli/record/record_processes.h"
#include "cli/record/record_start.h"
#include "cli/record/record_summary.h"

/* Called after the program has ended, so that only our caller waits for it. */
static void embed_all(struct record_session *s)
{
	for (size_t i = 0; i < s->traces.len; i++) {
		hl_embed_recorded(s->traces.data[i], s->o->quiet);
		free(s->traces.data[i]);
	}
	hl_vec_free(&s->traces);
}

/* Returns the reason why the program cannot be recorded; NULL if it can. */
static const struct hl_finding *find_failure(const struct record_session *s)
{
	return hl_findings_first(&s->target.findings, HL_VERDICT_FAILS);
}

/* True for the words of a shell in one word: 'a | b'. */
static bool needs_shell(const char *word)
{
	return strpbrk(word, " \t|;&<>$`") != NULL && !strchr(word, '\'');
}

/* Returns 0, or prints the reason and returns an exit status. */
static int find_gdb(struct record_session *s, const char *program)
{
	static struct target gdb;
	int err = hl_program_find("gdb", &gdb);

	memcpy(s->gdb, gdb.path, sizeof(s->gdb));
	hl_program_fini(&gdb);
	if (err) {
		hl_cli_error("gdb cannot be started: %s; install it (apt install gdb)",
			hl_program_error_text("gdb", err));
		return HL_EXIT_CANNOT_RECORD;
	}
	if (s->target.is_script) {
		hl_cli_error("gdb cannot run the script %s; name its interpreter: heaplapse record "
			     "--gdb %s %s",
			program, s->target.image, program);
		return HL_EXIT_CANNOT_RECORD;
	}
	return 0;
}

/* Returns 0, or prints the reason and returns an exit status. */
static int prepare_session(struct record_session *s, int argc, const char *program)
{
	int err = hl_program_find(program, &s->target);

	if (err) {
		if (err == -ENOENT && needs_shell(program) && argc == 1)
			hl_cli_error("there is no program \"%s\"; a command line for the shell "
				     "needs a shell: heaplapse record sh -c '%s'",
				program, program);
		else
			hl_cli_error("%s: %s", program, hl_program_error_text(program, err));
		return err == -ENOENT ? HL_EXIT_NOT_FOUND : HL_EXIT_NOT_EXECUTABLE;
	}
	if (s->target.cannot_run) {
		hl_cli_error("cannot run %s: %s; %s", program, find_failure(s)->text,
			find_failure(s)->remedy);
		return s->target.cannot_run == -ENOENT ? HL_EXIT_NOT_FOUND : HL_EXIT_NOT_EXECUTABLE;
	}
	if (find_failure(s) || hl_machine_check_files(&s->target.findings) ||
		hl_machine_check_rings(&s->target.findings))
		return 0;
	if (hl_library_find(s->library, sizeof(s->library), &s->target.findings)) {
		const struct hl_finding *why = find_failure(s);

		hl_cli_error("%s; %s", why->text, why->remedy);
		return HL_EXIT_CANNOT_RECORD;
	}
	err = s->o->gdb ? find_gdb(s, program) : 0;
	if (err)
		return err;
	err = hl_record_finish_options(s->o);
	if (err) {
		hl_cli_error("the current directory cannot be opened: %s", strerror(-err));
		return HL_EXIT_CANNOT_RECORD;
	}
	err = hl_record_set_tags_output(s->o, s->target.path);
	if (err) {
		hl_record_print_output_error(s->o, err);
		return HL_EXIT_CANNOT_RECORD;
	}
	err = hl_child_block_signals(s); /* no signal must end us between creating and removing the
				   directory of the socket */
	if (!err)
		err = hl_listener_open(&s->listener);
	if (!err)
		err = hl_collector_link_start(s);
	if (err) {
		hl_cli_error("the collector cannot be started: %s%s", strerror(-err),
			hl_record_error_advice(err));
		return HL_EXIT_CANNOT_RECORD;
	}
	return 0;
}

static int run_unrecorded(struct record_session *s, char **argv)
{
	const struct hl_finding *why = find_failure(s);

	hl_cli_error("%s cannot be recorded: %s%s%s", argv[0], why->text, s->o->force ? "" : "; ",
		s->o->force ? "" : why->remedy);
	if (!s->o->force) {
		fputs("  use --force to run it without recording\n", stderr);
		return HL_EXIT_CANNOT_RECORD;
	}
	hl_child_restore_file_limit(s);
	execv(s->target.path, argv);
	hl_cli_error("cannot run %s: %s", s->target.path, strerror(errno));
	return HL_EXIT_NOT_EXECUTABLE;
}

/* Explains a trace in which events are missing. */
static void print_missing(const struct record_session *s, const char *program)
{
	const struct hl_finding *why = hl_findings_first(&s->target.findings, HL_VERDICT_PARTIAL);

	if (why && !s->o->quiet)
		hl_cli_error("%s is partly recorded: %s; %s", program, why->text, why->remedy);
}

static void print_traces(const struct record_session *s)
{
	struct hl_session_list *list = hl_record_read_processes(s->first_trace);
	const char *shown = hl_record_choose_summary(list, s->last_path);

	if (shown[0])
		hl_summary_print(shown, shown == s->last_path ? s->earlier_files : 0);
	if (list)
		hl_record_print_processes(list);
	hl_session_list_free(list);
}

static void print_summary(const struct record_session *s)
{
	if (s->o->collect.output.disabled)
		hl_summary_print_tags(s->target.path, (uint64_t)s->child);
	else
		print_traces(s);
}

static const char *filter_words(const struct record_options *o)
{
	if (o->only[0] && o->skip[0])
		return "--only asks for and --skip leaves over";
	return o->only[0] ? "--only asks for" : "--skip leaves over";
}

/* With --only and --skip the program itself may be one that is not wanted. */
static void print_filtered(const struct record_session *s)
{
	if (s->all_closed == 0)
		hl_cli_error("nothing was recorded: no program that was started has a name that "
			     "%s; names are patterns for the file's name, such as 'cc1*'",
			filter_words(s->o));
	else if (!s->o->quiet && (s->o->summary || isatty(2)))
		print_summary(s);
}

/* Variables of another profiler have no effect; a user who still sets them would not notice. */
static void print_foreign_variables(const struct record_session *s)
{
	const struct hl_foreign_name *known;
	size_t i = 0;

	while (!s->o->quiet && (known = hl_foreign_variable_next(environ, &i)) != NULL)
		hl_cli_info("%.*s has no effect: %s (%s)", (int)strcspn(environ[i - 1], "="),
			environ[i - 1], known->hint, known->command);
}

/* Returns 0 and the status of the program, or prints the reason and returns an exit status. */
static int run_session(struct record_session *s, int argc, char **argv, int *status)
{
	int err;

	hl_child_raise_file_limit(s);
	err = prepare_session(s, argc, argv[0]);
	if (err)
		return err;
	if (find_failure(s))
		return run_unrecorded(s, argv);
	print_missing(s, argv[0]);
	print_foreign_variables(s);
	err = hl_child_start(s, argc, argv);
	if (err)
		return err;
	hl_record_print_start(s);
	*status = hl_child_wait(s);
	hl_collector_link_finish(s, *status);
	embed_all(s);
	if (s->regions == 0 && s->restarts > 0)
		hl_cli_error(
			"%s ended together with its collector: its trace is incomplete", argv[0]);
	else if (s->regions == 0 && (s->o->only[0] || s->o->skip[0]))
		print_filtered(s);
	else if (s->regions == 0)
		hl_cli_error("%s was not recorded: %s", argv[0],
			s->o->gdb ? "gdb did not run it" : "the recorder never started in it");
	else if (!s->o->quiet && (s->o->summary || isatty(2)))
		print_summary(s);
	return 0;
}

static int run_record(void *state, int argc, char **argv)
{
	struct record_options *given = state;
	static struct record_session
		s; /* too large for a stack limit that is meant for the program */
	int status = 0, ended;

	s = (struct record_session){.o = given, .control_fd = -1};
	if (given->env_problem)
		return hl_cli_usage("%s", given->env_problem);
	if (argc == 0)
		return hl_cli_usage(
			"which program? for example: heaplapse record ./app --its-option");
	status = hl_record_check_conflicts(given);
	if (status)
		return status;
	ended = run_session(&s, argc, argv, &status);
	/* Otherwise the collector removes it when all processes have ended. */
	if (!s.processes_run || s.collector < 0)
		hl_listener_remove_dir(&s.listener);
	hl_program_fini(&s.target);
	hl_vec_free(&s.held_regions);
	return ended ? ended : hl_child_exit_like(status);
}

static const struct hl_example record_examples[] = {
	{"./app --its-option", "run it and write heaplapse.app.PID.hlt"},
	{"-o app.hlt -f ./app", "write app.hlt, replacing an old one"},
	{"--start=off ./app", "record from heaplapse_start() on"},
	{"--only cc1 make", "record only the compilers of a build"},
	{0},
};

const struct hl_cmd hl_cmd_record = {
	.name = "record",
	.summary = "run a program and record its heap",
	.usage = "[options] [--] PROGRAM [ARGUMENTS]",
	.exit_status =
		"the program's own; 125 if it cannot be recorded, 126 if it cannot be run, 127 if "
		"it is not found. If a signal killed the program, record ends by the same signal.",
	.examples = record_examples,
	.opts = hl_record_opts,
	.operand = HL_OPERAND_PROGRAM,
	.options_in_environment = true,
	.state_size = sizeof(struct record_options),
	.stops_at_operand = true,
	.usage_status = HL_EXIT_CANNOT_RECORD,
	.init = hl_record_init,
	.option_stored = hl_record_note_option,
	.run = run_record,
};
