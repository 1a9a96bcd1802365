/* record_options.c - see record_options.h. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/record_options.h"
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
FLAG_SETTER(set_embed, o->embed = true)
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
/* As in enum hl_mode. */
#define MODE_VALUES "trace"

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
	int i = hl_word_find(MODE_VALUES, value);

	if (i < 0)
		return HL_OPT_NOT_LISTED;
	o->collect.mode = (enum hl_mode)i;
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
	char *end;
	uint64_t n = strtoull(value, &end, 10), unit = 1;

	if (*end == 'K' || *end == 'M' || *end == 'G') {
		unit = *end == 'K' ? 1024 : *end == 'M' ? 1u << 20 : 1u << 30;
		end++;
	}
	if (!isdigit((unsigned char)value[0]) || *end || n > UINT64_MAX / unit || n == 0)
		return "a size such as 256M or 2G";
	o->collect.memory_limit = n * unit;
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
	{0, "mode", MODE_VALUES, "how much is kept (default trace: every event)", set_mode},
	{0, "free-stacks", NULL, "record the stack of each free too", set_free_stacks},
	{0, "mmap", NULL, "record the program's own mmap, munmap and mremap too", set_mmap},
	{0, "embed-binaries", NULL,
		"keep the program, its libraries and their debug files in the trace; done when the "
		"program has ended",
		set_embed},
	{0, "start", START_VALUES, "off: record nothing until the program calls heaplapse_start()",
		set_start},
	{0, "no-follow-fork", NULL, "do not record children that fork without exec",
		set_no_follow_fork},
	{0, "depth", "N",
		"keep at most N frames of a stack, most of them at the inner end (default 1024; "
		"unlimited: 65,000)",
		set_depth},
	{0, "unwind", UNWIND_VALUES, "full: walk every stack from scratch (slow, for doubt)",
		set_unwind},
	{0, "max-wait", "SECONDS",
		"longest wait for a slow disk, or for a collector that gets no CPU, before events "
		"are "
		"dropped and counted (default 10)",
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

	set_defaults(o);
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
