/*
 * cmd_doctor.c - would recording work, and if not, why?
 *
 * Nothing of the program that is asked about is run. The machine is tried by a short recording of
 * another.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/machine.h"
#include "cli/process.h"
#include "cli/record_options.h"
#include "cli/target.h"

struct doctor_state {
	struct record_options record; /* its output and its environment count */
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

static void init(void *state)
{
	hl_record_init(&((struct doctor_state *)state)->record);
}

static void look_at_machine(struct hl_findings *f, struct record_options *o, const char *program)
{
	int err = hl_record_settle(o);

	hl_machine_check(f, o);
	if (err)
		hl_findings_add(f, HL_VERDICT_FAILS, "output", "go to another folder",
			"the current folder cannot be opened: %s", strerror(-err));
	else if (hl_machine_check_output(f, o, program) && !hl_findings_first(f, HL_VERDICT_FAILS))
		hl_machine_try(f, o, program);
}

static void look_at_program(struct hl_findings *f, const char *program, struct target *t)
{
	int err = hl_target_find(program, t);

	if (err)
		hl_findings_add(f, HL_VERDICT_FAILS, "program", NULL, "%s: %s", program,
			hl_target_why_not(program, err));
	else
		hl_target_examine(t);
}

static void show(const struct doctor_state *s, struct hl_findings *about,
	const struct hl_findings *machine, const char *subject)
{
	if (s->json) {
		hl_findings_json(about, machine, subject);
		return;
	}
	/* Of the machine only what is wrong, when it is a program that was asked about. */
	if (subject && machine->v.len && !hl_findings_first(machine, HL_VERDICT_NOTE))
		hl_findings_add(about, HL_VERDICT_OK, "machine", NULL,
			"nothing stands in the way (heaplapse doctor alone lists it)");
	hl_findings_print(about, HL_VERDICT_OK);
	hl_findings_print(machine, subject ? HL_VERDICT_NOTE : HL_VERDICT_OK);
}

/* The last line: what it comes to. */
static const char *conclusion(enum hl_verdict worst, const char *subject, bool running)
{
	if (running)
		return worst == HL_VERDICT_FAILS     ? "It is not recorded."
		       : worst == HL_VERDICT_PARTIAL ? "It is recorded in part."
						     : "It is recorded.";
	if (!subject && worst < HL_VERDICT_PARTIAL)
		return "Programs can be recorded here.";
	return worst == HL_VERDICT_FAILS     ? "Recording would fail."
	       : worst == HL_VERDICT_PARTIAL ? "It would be recorded in part."
					     : "It would be recorded.";
}

static int conclude(const struct doctor_state *s, const struct hl_findings *about,
	const struct hl_findings *machine, const char *subject)
{
	enum hl_verdict worst = hl_findings_worst(about, machine);

	if (!s->json)
		printf("\n%s\n", conclusion(worst, subject, subject && hl_process_is_pid(subject)));
	return worst == HL_VERDICT_FAILS ? HL_EXIT_VIOLATION : HL_EXIT_OK;
}

static int run_doctor(void *state, int argc, char **argv)
{
	struct doctor_state *s = state;
	struct hl_findings process = {0}, machine = {0}, *about = &process;
	const char *subject = argc > 0 ? argv[0] : NULL;
	static struct target t; /* too large for a stack of 32 KiB */
	bool machine_matters = true;
	int status;

	if (argc > 1)
		return hl_cli_usage("takes one program, without its arguments, or one pid");
	if (subject && hl_process_is_pid(subject)) {
		machine_matters = hl_process_check(&process, subject) == 0;
	} else if (subject) {
		look_at_program(&process, subject, &t);
		if (!process.v.len)
			about = &t.findings;
	}
	if (machine_matters)
		look_at_machine(&machine, &s->record, t.path[0] ? t.path : "program");
	show(s, about, &machine, subject);
	status = conclude(s, about, &machine, subject);
	hl_target_fini(&t);
	hl_findings_fini(&process);
	hl_findings_fini(&machine);
	return status;
}

static const struct hl_opt doctor_opts[] = {
	{'o', "output", "FILE", "where the trace would be written, as for record", set_output},
	{0, "json", NULL, "as JSON", set_json},
	{0},
};

static const struct hl_example doctor_examples[] = {
	{"", "can programs be recorded on this machine, in this folder?"},
	{"./app", "can this one, and what will be missing?"},
	{"1234", "is the process with this pid recorded, by whom, is anything dropped?"},
	{0},
};

const struct hl_cmd hl_cmd_doctor = {
	.name = "doctor",
	.summary = "whether and why recording would fail, and what to do",
	.usage = "[options] [PROGRAM|PID]",
	.about = "A line for each thing that was looked at:\n"
		 "  ok       as it should be\n"
		 "  note     all is recorded, but this is good to know\n"
		 "  partial  something will be missing\n"
		 "  fails    nothing can be recorded\n"
		 "Nothing of the program is run. The machine is tried by a short recording of "
		 "/bin/true.\n",
	.exit_status = "0 recording would work, maybe in part; 1 it would not; 2 wrong usage; 3 "
		       "output that cannot be written.",
	.examples = doctor_examples,
	.opts = doctor_opts,
	.shared = hl_view_opts,
	.operand = HL_OPERAND_PROGRAM,
	.state_size = sizeof(struct doctor_state),
	.init = init,
	.run = run_doctor,
};
