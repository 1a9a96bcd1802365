/* record_options.c - see record_options.h. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/record_options.h"
#include "cli/sizes.h"
#include "ring/clock.h"

#define FLAG_SETTER(name, statement)                            \
	static const char *name(void *state, const char *value) \
	{                                                       \
		struct record_options *o = state;               \
		statement;                                      \
		return NULL;                                    \
	}

FLAG_SETTER(set_output, o->output = value)
FLAG_SETTER(set_overwrite, o->overwrite = true)
FLAG_SETTER(set_force, o->force = true)
FLAG_SETTER(set_gdb, o->gdb = true)
FLAG_SETTER(set_gdb_options, o->gdb = true; o->gdb_options = value)
FLAG_SETTER(set_quiet, o->quiet = true)
FLAG_SETTER(set_summary, o->summary = true)
FLAG_SETTER(set_verbose, o->verbose = true)
FLAG_SETTER(set_mmap, o->collect.flags |= HL_SET_MAPS)
FLAG_SETTER(set_free_stacks, o->collect.flags |= HL_SET_FREE_STACKS)
FLAG_SETTER(set_no_follow_fork, o->collect.flags |= HL_SET_NO_FORK)

#define UNWIND_VALUES "full|incremental"
#define START_VALUES  "on|off"
#define CLOCK_VALUES  "tsc|counter"

static const char *set_unwind(void *state, const char *value)
{
	struct record_options *o = state;

	switch (hl_word_find(UNWIND_VALUES, value)) {
	case 0:
		o->collect.flags |= HL_SET_FULL_UNWIND;
		return NULL;
	case 1:
		o->collect.flags &= ~HL_SET_FULL_UNWIND;
		return NULL;
	}
	return HL_OPT_NOT_LISTED;
}

static const char *set_start(void *state, const char *value)
{
	struct record_options *o = state;

	switch (hl_word_find(START_VALUES, value)) {
	case 0:
		o->collect.flags &= ~HL_SET_START_OFF;
		return NULL;
	case 1:
		o->collect.flags |= HL_SET_START_OFF;
		return NULL;
	}
	return HL_OPT_NOT_LISTED;
}

static const char *set_mode(void *state, const char *value)
{
	struct record_options *o = state;

	o->collect.sample_bytes = HL_SAMPLE_BYTES;
	if (!strcmp(value, "trace")) {
		o->collect.mode = HL_MODE_TRACE;
		return NULL;
	}
	if (strncmp(value, "sample", 6) != 0 || (value[6] && value[6] != '='))
		return "trace, sample or sample=BYTES";
	if (value[6] && !hl_size_parse(value + 7, 1, HL_SAMPLE_MAX, &o->collect.sample_bytes))
		return "trace, sample or sample=BYTES, a size from 1 to 4G such as 512K";
	o->collect.mode = HL_MODE_SAMPLE;
	return NULL;
}

/* A whole number with no more than the suffixes given. */
static bool number(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return isdigit((unsigned char)text[0]) && !errno && !*end && *out >= min && *out <= max;
}

static const char *set_depth(void *state, const char *value)
{
	struct record_options *o = state;
	uint64_t n;

	if (!strcmp(value, "unlimited")) {
		o->collect.depth_inner = 65000; /* as far as the unwinder walks */
		o->collect.depth_outer = 500;
		return NULL;
	}
	if (!number(value, 2, 65000, &n))
		return "a number of frames from 2 to 65000, or unlimited";
	o->collect.depth_outer = (uint32_t)(n / 8);
	o->collect.depth_inner = (uint32_t)(n - n / 8);
	return NULL;
}

static const char *set_max_wait(void *state, const char *value)
{
	struct record_options *o = state;
	uint64_t n;

	if (!number(value, 0, 3600, &n))
		return "a number of seconds from 0 to 3600";
	o->collect.max_wait_ms = (uint32_t)n * 1000;
	return NULL;
}

static const char *set_memory(void *state, const char *value)
{
	struct record_options *o = state;
	uint64_t n;

	if (!hl_size_parse(value, 1, SIZE_MAX, &n))
		return "a size such as 256M or 2G";
	o->collect.memory_limit = n;
	return NULL;
}

static const char *set_clock(void *state, const char *value)
{
	struct record_options *o = state;

	switch (hl_word_find(CLOCK_VALUES, value)) {
	case 0:
		o->collect.clock = HL_CLOCK_TSC;
		return NULL;
	case 1:
		o->collect.clock = HL_CLOCK_COUNTER;
		return NULL;
	}
	return HL_OPT_NOT_LISTED;
}

/* "USR1", "SIGUSR1" or 10. Not those that the kernel sends for what a program does wrong, that
 * cannot be caught, or that every program hears in its usual life. */
static bool parse_signal(const char *text, uint32_t *out)
{
	static const int not_these[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP,
		SIGABRT, SIGSYS, SIGCHLD, SIGCONT, SIGPIPE, SIGALRM, SIGPROF, SIGVTALRM, 32, 33};
	uint64_t n = 0;

	if (!number(text, 1, 64, &n)) {
		text += strncmp(text, "SIG", 3) ? 0 : 3;
		for (n = 64; n && (!sigabbrev_np((int)n) || strcmp(sigabbrev_np((int)n), text));
			n--)
			;
	}
	for (size_t i = 0; i < HL_ARRAY_LEN(not_these); i++)
		if (n == (uint64_t)not_these[i])
			return false;
	*out = (uint32_t)n;
	return n > 0;
}

#define SIGNAL_EXPECTED "a signal that a program has no other use for, such as USR1 or USR2"

static const char *set_toggle_signal(void *state, const char *value)
{
	struct record_options *o = state;

	return parse_signal(value, &o->collect.toggle_signal) ? NULL : SIGNAL_EXPECTED;
}

static const char *set_snapshot_signal(void *state, const char *value)
{
	struct record_options *o = state;

	return parse_signal(value, &o->collect.snapshot_signal) ? NULL : SIGNAL_EXPECTED;
}

const struct hl_opt hl_record_opts[] = {
	{'o', "output", "FILE",
		"write the trace to FILE; %p pid, %e program, %t time, %n number, %h host, %% "
		"percent (default " HL_RECORD_PATTERN ")",
		set_output},
	{'f', "overwrite", NULL, "replace FILE if it exists", set_overwrite},
	{'q', "quiet", NULL, "say nothing but errors", set_quiet},
	{0, "summary", NULL,
		"a few lines at the end about what was recorded (default on a terminal)",
		set_summary},
	{'v', "verbose", NULL, "tell each snapshot of the program: live bytes and the change",
		set_verbose},
	{0, "mode", "MODE",
		"how much is kept: trace, every event (the default); sample[=BYTES], one "
		"allocation in so many bytes (default 512K), from which all is estimated",
		set_mode},
	{0, "free-stacks", NULL, "record the stack of each free too", set_free_stacks},
	{0, "mmap", NULL, "record the program's own mmap, munmap and mremap too", set_mmap},
	{0, "start", START_VALUES,
		"off: record nothing until the program calls heaplapse_start(), or ctl says resume",
		set_start},
	{0, "toggle-signal", "SIGNAL",
		"a SIGNAL to the program pauses and resumes recording, unless the program uses it "
		"itself",
		set_toggle_signal},
	{0, "snapshot-signal", "SIGNAL", "and this one takes a snapshot", set_snapshot_signal},
	{0, "no-follow-fork", NULL, "do not record children that fork without exec",
		set_no_follow_fork},
	{0, "depth", "N",
		"keep at most N frames of a stack, most of them at the inner end (default 1024; "
		"unlimited: 65,000)",
		set_depth},
	{0, "unwind", UNWIND_VALUES, "full: walk every stack from scratch (slow, for doubt)",
		set_unwind},
	{0, "max-wait", "SECONDS",
		"longest wait for a slow disk before events are dropped and counted (default 10)",
		set_max_wait},
	{0, "collector-memory", "SIZE",
		"keep the table of live blocks in memory up to SIZE, then in a file beside the "
		"trace (default 256M)",
		set_memory},
	{0, "clock", CLOCK_VALUES,
		"where the order of events comes from (default: tsc where the kernel trusts it)",
		set_clock},
	{0, "gdb", NULL, "start the program under gdb, which is not recorded itself", set_gdb},
	{0, "gdb-options", "OPTIONS",
		"the same with options for gdb, such as \"-batch -ex run -ex bt\"",
		set_gdb_options},
	{0, "force", NULL,
		"run a program that cannot be recorded, unrecorded; write also into a folder that "
		"everybody may change",
		set_force},
	{0},
};

static void set_defaults(struct record_options *o)
{
	o->collect.depth_inner = 896;
	o->collect.depth_outer = 128;
	o->collect.max_wait_ms = 10000;
	o->collect.memory_limit = 256u << 20;
	o->collect.clock = hl_ring_counter_is_sound() ? HL_CLOCK_TSC : HL_CLOCK_COUNTER;
	o->collect.output.dir_fd = -1;
}

void hl_record_env_name(char *to, size_t n, const char *long_name)
{
	snprintf(to, n, "HEAPLAPSE_%s", long_name);
	for (char *c = to; *c; c++)
		*c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

static const char *read_env(struct record_options *o)
{
	static char sentence[200];

	for (const struct hl_opt *opt = hl_record_opts; opt->long_name; opt++) {
		char name[64];
		const char *value, *expected;

		hl_record_env_name(name, sizeof(name), opt->long_name);
		value = getenv(name);
		if (!value || !*value || (!opt->arg && !strcmp(value, "0")))
			continue;
		if (!opt->arg && strcmp(value, "1") != 0)
			expected = "0 or 1";
		else
			expected = hl_opt_take(opt, o, opt->arg ? value : NULL);
		if (expected) {
			snprintf(sentence, sizeof(sentence), "%s=%.40s is not %s", name, value,
				expected);
			return sentence;
		}
	}
	return NULL;
}

void hl_record_init(void *options)
{
	struct record_options *o = options;
	const char *seed =
		getenv("HEAPLAPSE_SAMPLE_SEED"); /* for tests: the same samples each time */

	set_defaults(o);
	o->collect.sample_seed = seed ? strtoull(seed, NULL, 10) : 0;
	o->env_problem = read_env(o);
}

int hl_record_settle(struct record_options *o)
{
	if (!o->output)
		o->output = HL_RECORD_PATTERN;
	o->collect.output.pattern = o->output;
	o->collect.output.overwrite = o->overwrite;
	o->collect.output.anywhere = o->force;
	o->collect.output.dir_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return o->collect.output.dir_fd < 0 ? -errno : 0;
}

void hl_record_no_output(
	char *buf, size_t n, const struct record_options *o, int err, const char *how)
{
	const char *name = o->output;

	switch (-err) {
	case EINVAL:
		snprintf(buf, n,
			"%s \"%s\" is no name for a trace: after %% only p, e, t, n, h or %% may "
			"stand, as in \"%%e.%%p.hlt\"",
			how, name);
		break;
	case EEXIST:
		snprintf(buf, n,
			o->overwrite ? "%s is no plain file and is not replaced; choose another "
				       "name with %s"
				     : "%s exists and is not overwritten; choose another name with "
				       "%s, or use -f",
			name, how);
		break;
	case HL_OUTPUT_FOREIGN:
		snprintf(buf, n,
			"%s is somebody else's and cannot be replaced; choose another name with %s",
			name, how);
		break;
	case EBUSY:
		snprintf(buf, n,
			"%s is a trace that is still being written and is not replaced; wait for "
			"its end, or choose another name with %s",
			name, how);
		break;
	case HL_OUTPUT_EXPOSED:
		snprintf(buf, n,
			"everybody may rename and remove files in a folder on the way to %s; "
			"choose another place with %s, chmod +t that folder, or use --force",
			name, how);
		break;
	case HL_OUTPUT_PLANTED:
		snprintf(buf, n,
			"the way to %s leads through a link that somebody else made in a folder "
			"open to all; choose another place with %s",
			name, how);
		break;
	default:
		snprintf(buf, n,
			"the trace cannot be written to %s: %s; choose another place with %s", name,
			strerror(-err), how);
	}
}
