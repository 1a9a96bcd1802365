/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_doctor.c - reports whether recording would work, and if not, why.
 *
 * The program in question is never run. The machine is tested with a short recording of another
 * program.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/doctor/machine.h"
#include "cli/doctor/running_process.h"
#include "cli/record/record_options.h"
#include "cli/record/record_output.h"
#include "cli/doctor/program.h"

struct doctor_state {
	struct record_options record; /* for the output and the environment */
	bool json;
};

static const char *set_json(void *state, const char *value)
{
	((struct doctor_state *)state)->json = true;
	return NULL;
}

static const char *set_output(void *state, const char *value)
{
	((struct doctor_state *)state)->record.output = value;
	return NULL;
}

static void init_doctor(void *state)
{
	hl_record_init(&((struct doctor_state *)state)->record);
}

static void check_machine(struct hl_findings *f, struct record_options *o, const char *program)
{
	int err = hl_record_finish_options(o);

	hl_machine_check(f, o);
	if (err)
		hl_findings_add(f, HL_VERDICT_FAILS, "output", "change to another directory",
			"the current directory cannot be opened: %s", strerror(-err));
	else if (hl_machine_check_output(f, o, program) && !hl_findings_first(f, HL_VERDICT_FAILS))
		hl_machine_trial_run(f, o, program);
}

static void check_program(struct hl_findings *f, const char *program, struct target *t)
{
	int err = hl_program_find(program, t);

	if (err)
		hl_findings_add(f, HL_VERDICT_FAILS, "program", NULL, "%s: %s", program,
			hl_program_error_text(program, err));
	else
		hl_program_examine(t);
}

static void print_findings(const struct doctor_state *s, struct hl_findings *subject_findings,
	const struct hl_findings *machine, const char *subject)
{
	if (s->json) {
		hl_findings_json(subject_findings, machine, subject);
		return;
	}
	/* If the subject is a program, only problems of the machine are listed. */
	if (subject && machine->v.len && !hl_findings_first(machine, HL_VERDICT_NOTE))
		hl_findings_add(subject_findings, HL_VERDICT_OK, "machine", NULL,
			"no problems found (heaplapse doctor without a program shows details)");
	hl_findings_print(subject_findings, HL_VERDICT_OK);
	hl_findings_print(machine, subject ? HL_VERDICT_NOTE : HL_VERDICT_OK);
}

/* The text of the last line. */
static const char *conclusion_text(enum hl_verdict worst, const char *subject, bool running)
{
	if (running)
		return worst == HL_VERDICT_FAILS     ? "It is not recorded."
		       : worst == HL_VERDICT_PARTIAL ? "It is partly recorded."
						     : "It is recorded.";
	if (!subject && worst < HL_VERDICT_PARTIAL)
		return "Programs can be recorded here.";
	return worst == HL_VERDICT_FAILS     ? "Recording would fail."
	       : worst == HL_VERDICT_PARTIAL ? "It would be partly recorded."
					     : "It would be recorded.";
}

static int print_conclusion(const struct doctor_state *s,
	const struct hl_findings *subject_findings, const struct hl_findings *machine,
	const char *subject)
{
	enum hl_verdict worst = hl_findings_worst(subject_findings, machine);

	if (!s->json)
		printf("\n%s\n", conclusion_text(worst, subject,
					 subject && hl_running_process_is_pid(subject)));
	return worst == HL_VERDICT_FAILS ? HL_EXIT_VIOLATION : HL_EXIT_OK;
}

/* The pid of `record` means the program that it runs, as for ctl and tags. */
static const char *follow_record(struct hl_findings *f, const char *word, char *buf, size_t n)
{
	uint64_t given = strtoull(word, NULL, 10), pid;

	if (hl_running_process_follow(given, &pid) || pid == given)
		return word;
	snprintf(buf, n, "%" PRIu64, pid);
	hl_findings_add(f, HL_VERDICT_NOTE, "process", NULL,
		"process %s belongs to heaplapse record; the checks are of the program that it "
		"runs, process %s",
		word, buf);
	return buf;
}

static int run_doctor(void *state, int argc, char **argv)
{
	struct doctor_state *s = state;
	struct hl_findings process = {0}, machine = {0}, *subject_findings = &process;
	const char *subject = argc > 0 ? argv[0] : NULL;
	static struct target t; /* too large for a stack of 32 KiB */
	char followed[24];
	bool machine_matters = true;
	int status;

	if (argc > 1)
		return hl_cli_usage("takes one program, without its arguments, or one pid");
	if (subject && hl_running_process_is_pid(subject)) {
		subject = follow_record(&process, subject, followed, sizeof(followed));
		machine_matters = hl_running_process_check(&process, subject) == 0;
	} else if (subject) {
		check_program(&process, subject, &t);
		if (!process.v.len)
			subject_findings = &t.findings;
	}
	if (machine_matters)
		check_machine(&machine, &s->record, t.path[0] ? t.path : "program");
	print_findings(s, subject_findings, &machine, subject);
	status = print_conclusion(s, subject_findings, &machine, subject);
	hl_program_fini(&t);
	hl_findings_fini(&process);
	hl_findings_fini(&machine);
	return status;
}

static const struct hl_opt doctor_opts[] = {
	{'o', "output", "FILE", "the file that the trace would be written to, as for record",
		set_output},
	{0, "json", NULL, "print JSON", set_json},
	{0},
};

static const struct hl_example doctor_examples[] = {
	{"", "can programs be recorded here?"},
	{"./app", "can it be recorded, and what would be missing?"},
	{"1234", "is this process recorded, and are events dropped?"},
	{0},
};

const struct hl_cmd hl_cmd_doctor = {
	.name = "doctor",
	.summary = "check whether recording works, and what to do if not",
	.usage = "[options] [PROGRAM|PID]",
	.about = "Prints one line for each check:\n"
		 "  ok       no problem\n"
		 "  note     all is recorded; the line is for your information\n"
		 "  partial  some events will be missing\n"
		 "  fails    nothing can be recorded\n"
		 "The program is not run. The machine is tested by a short recording of "
		 "/bin/true.\n",
	.exit_status = "0 recording would work, at least partly; 1 it would fail; 2 wrong usage; 3 "
		       "output cannot be written.",
	.examples = doctor_examples,
	.opts = doctor_opts,
	.shared = hl_view_opts,
	.operand = HL_OPERAND_PROGRAM,
	.state_size = sizeof(struct doctor_state),
	.init = init_doctor,
	.run = run_doctor,
};
