/* record_options.c - see record_options.h. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/record_options.h"
#include "cli/sizes.h"
#include "ring/clock.h"
#include "util/strbuf.h"

#define FLAG_SETTER(name, statement)                            \
	static const char *name(void *state, const char *value) \
	{                                                       \
		struct record_options *o = state;               \
		statement;                                      \
		return NULL;                                    \
	}

FLAG_SETTER(set_churn_log, o->collect.output.churn_log = value)
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
FLAG_SETTER(set_zero_memory, o->collect.flags |= HL_SET_ZERO; o->collect.keep.zero_memory = true)
FLAG_SETTER(set_no_follow_fork, o->collect.flags |= HL_SET_NO_FORK)
FLAG_SETTER(set_no_follow_exec, o->collect.flags |= HL_SET_NO_EXEC)

/* The program's standard output is not ours, and a trace ends with an index of offsets. */
static const char *set_output(void *state, const char *value)
{
	struct record_options *o = state;

	if (!strcmp(value, "-"))
		return "a file: standard output is the program's; use -o app.hlt, then heaplapse "
		       "export app.hlt";
	o->output = value;
	return NULL;
}

#define LEVEL_VALUES HL_LEVEL_WORDS

static const char *set_log_level(void *state, const char *value)
{
	struct record_options *o = state;
	int level = hl_word_find(LEVEL_VALUES, value);

	if (level < 0)
		return HL_OPT_NOT_LISTED;
	o->collect.log.level = (enum hl_level)level;
	o->log_level_given = true;
	return NULL;
}

/* One file for all that a program and its fork children log: a number would say nothing. */
static const char *set_log_file(void *state, const char *value)
{
	struct record_options *o = state;

	for (const char *c = strchr(value, '%'); c; c = strchr(c + 2, '%'))
		if (!c[1] || !strchr("peth%", c[1]))
			return "the name of a file: after % only p, e, t, h or % may stand";
	if (!*value || !strcmp(value, "-"))
		return "the name of a file; without one the log goes to stderr";
	o->collect.log.pattern = value;
	return NULL;
}

#define UNWIND_VALUES "full|incremental"
#define START_VALUES  "on|off"
#define CLOCK_VALUES  "tsc|counter"
#define TAGS_VALUES   "freeing|owner"

#define HOUR_NS UINT64_C(3600000000000)

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

/* With "=BYTES" behind sample alone. */
static const char *set_mode(void *state, const char *value)
{
	static const char expected[] = "trace, cull, count, tags, sample or sample=BYTES, a size "
				       "from 1 to 4G such as 512K";
	struct record_options *o = state;
	size_t len = strcspn(value, "=");
	int mode = len < 16 ? hl_word_find_n(HL_MODE_WORDS, value, len) : -1;

	o->collect.sample_bytes = HL_SAMPLE_BYTES;
	if (mode < 0 || (value[len] && mode != HL_MODE_SAMPLE))
		return expected;
	if (value[len] &&
		!hl_size_parse(value + len + 1, 1, HL_SAMPLE_MAX, &o->collect.sample_bytes))
		return expected;
	o->collect.mode = (enum hl_mode)mode;
	return NULL;
}

/* What the program's own memory is counted by is read by the recorder, from the environment. */
static const char *pass_on(const char *name, const char *value)
{
	return setenv(name, value, 1) ? "within the memory there is" : NULL;
}

static const char *set_tags(void *state, const char *value)
{
	if (hl_word_find(TAGS_VALUES, value) < 0)
		return HL_OPT_NOT_LISTED;
	return pass_on("HEAPLAPSE_TAGS", value);
}

static const char *set_stats_json(void *state, const char *value)
{
	return pass_on("HEAPLAPSE_STATS_JSON", value);
}

static const char *set_stats_dot(void *state, const char *value)
{
	return pass_on("HEAPLAPSE_STATS_DOT", value);
}

static const char *set_snapshot_prefix(void *state, const char *value)
{
	return pass_on("HEAPLAPSE_SNAPSHOT_PREFIX", value);
}

/* A whole number with no more than the suffixes given. */
static bool number(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return isdigit((unsigned char)text[0]) && !errno && !*end && *out >= min && *out <= max;
}

static const char *set_snapshot_interval(void *state, const char *value)
{
	uint64_t n;

	if (!number(value, 0, 1000000000, &n))
		return "a number of seconds";
	return pass_on("HEAPLAPSE_SNAPSHOT_INTERVAL", value);
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

static const char *set_exit_wait(void *state, const char *value)
{
	struct record_options *o = state;
	uint64_t ns;

	if (!hl_cli_duration(value, 0, HOUR_NS, &ns))
		return "a number of seconds, or a time such as 500ms, from 0 to 1h";
	o->collect.exit_wait_ms = (uint32_t)((ns + 999999) / 1000000);
	o->exit_wait_given = true;
	return NULL;
}

static const char *set_memory(void *state, const char *value)
{
	struct record_options *o = state;

	return hl_size_parse(value, 1, SIZE_MAX, &o->collect.memory_limit)
		       ? NULL
		       : "a size such as 256M or 2G";
}

#define SIZE_SETTER(name, field, example, statement)                                    \
	static const char *name(void *state, const char *value)                         \
	{                                                                               \
		struct record_options *o = state;                                       \
		if (!hl_size_parse(value, 1, INT64_MAX, &o->collect.keep.field))        \
			return "a number of bytes above 0, or a size such as " example; \
		statement;                                                              \
		return NULL;                                                            \
	}

SIZE_SETTER(set_churn, churn_bytes, "1M", o->collect.keep.churn_given = true)
SIZE_SETTER(set_at_live, at_live, "512M", (void)0)
SIZE_SETTER(set_at_rss, at_rss, "512M", (void)0)

static const char *set_every(void *state, const char *value)
{
	struct record_options *o = state;

	return hl_cli_duration(value, HL_SNAPSHOT_GAP_NS, 24 * HOUR_NS, &o->collect.keep.every_ns)
		       ? NULL
		       : "a number of seconds, or a time such as 500ms or 2min, from 10ms to 24h";
}

static const char *set_churn_gap(void *state, const char *value)
{
	struct record_options *o = state;

	o->collect.keep.churn_gap_given = true;
	return hl_cli_duration(value, 0, 24 * HOUR_NS, &o->collect.keep.churn_gap_ns)
		       ? NULL
		       : "a number of seconds, or a time such as 50ms or 2min, from 0 to 24h";
}

static const char *set_lifetime(void *state, const char *value)
{
	struct record_options *o = state;

	return hl_cli_duration(value, 1000, 24 * HOUR_NS, &o->collect.keep.lifetime_ns)
		       ? NULL
		       : "a number of seconds, or a time such as 50ms or 2min, from 1us to 24h";
}

static const char *set_pending(void *state, const char *value)
{
	struct record_options *o = state;
	uint64_t n;

	if (!number(value, 16, 1u << 28, &n))
		return "a number of events from 16 to 268435456";
	o->collect.keep.pending_max = (uint32_t)n;
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

static const char *two_signals(const struct record_options *o)
{
	uint32_t snapshot = o->collect.snapshot_signal;

	return snapshot && o->collect.toggle_signals >> (snapshot - 1) & 1
		       ? "another one than that of the other option; each wants its own"
		       : NULL;
}

/* Several: by commas, for the variable, or by several options. */
static const char *set_toggle_signal(void *state, const char *value)
{
	struct record_options *o = state;

	if (o->toggles_of_env)
		o->collect.toggle_signals = 0;
	o->toggles_of_env = false;
	for (const char *end; value; value = *end ? end + 1 : NULL) {
		char word[16];
		uint32_t sig;

		end = strchrnul(value, ',');
		if ((size_t)(end - value) >= sizeof(word))
			return SIGNAL_EXPECTED;
		snprintf(word, sizeof(word), "%.*s", (int)(end - value), value);
		if (!parse_signal(word, &sig))
			return SIGNAL_EXPECTED;
		o->collect.toggle_signals |= UINT64_C(1) << (sig - 1);
	}
	return two_signals(o);
}

static const char *set_snapshot_signal(void *state, const char *value)
{
	struct record_options *o = state;

	if (!parse_signal(value, &o->collect.snapshot_signal))
		return SIGNAL_EXPECTED;
	return two_signals(o);
}

const struct hl_opt hl_record_opts[] = {
	{'o', "output", "FILE",
		"write the trace to FILE, in mode tags the counters; %p pid, %e program, %t "
		"seconds since the epoch, %n number, %h host, %% percent (default "
		HL_RECORD_PATTERN ")",
		set_output},
	{'f', "overwrite", NULL, "replace FILE if it exists", set_overwrite},
	{'q', "quiet", NULL, "say nothing but errors", set_quiet},
	{0, "summary", NULL,
		"a few lines at the end about what was recorded (default on a terminal)",
		set_summary},
	{'v', "verbose", NULL, "tell each snapshot of the program: live bytes and the change",
		set_verbose},
	{0, "log-level", LEVEL_VALUES,
		"what recorder and collector log of their own work (default off; info with "
		"--log-file)",
		set_log_level},
	{0, "log-file", "FILE",
		"append the log to FILE, not to stderr; %p, %e, %t, %h, %% as for -o",
		set_log_file},
	{0, "mode", "MODE",
		"how much is kept: trace, every event (the default); cull, all but blocks that die "
		"young; count, sums for each stack; sample[=BYTES], one allocation in so many "
		"bytes (default 512K), from which all is estimated; tags, counters for each "
		"scope of the program, and no events",
		set_mode},
	{0, "lifetime", "TIME",
		"--mode=cull: blocks that die younger are kept as sums only (default 10s)",
		set_lifetime},
	{0, "pending", "N",
		"--mode=cull: let at most N events wait for that, then write the oldest (default "
		"262144)",
		set_pending},
	{0, "churn", "SIZE",
		"a snapshot whenever SIZE bytes were allocated and freed (default 1M with "
		"--mode=count and no --every, else none)",
		set_churn},
	{0, "churn-gap", "TIME",
		"the least time between two snapshots by churn; 0: no limit (default 10ms, doubled "
		"after every 1,024 snapshots)",
		set_churn_gap},
	{0, "churn-log", "FILE",
		"append each snapshot to FILE while the program runs, as heaplapse log prints it; "
		"%p pid, %e program as for -o",
		set_churn_log},
	{0, "every", "SECONDS", "a snapshot every so many seconds", set_every},
	{0, "at-live", "SIZE", "a snapshot when live bytes reach SIZE", set_at_live},
	{0, "at-rss", "SIZE", "a snapshot when the resident set reaches SIZE", set_at_rss},
	{0, "tags", TAGS_VALUES,
		"mode tags: whom a free is charged to, the scope that frees (default) or the one "
		"that owns the block",
		set_tags},
	{0, "stats-json", "FILE",
		"mode tags: write the numbers of all scopes at exit, as JSON (default: the FILE "
		"of -o, else " HL_RECORD_TAGS ")",
		set_stats_json},
	{0, "stats-dot", "FILE", "mode tags: the same as a graph for graphviz", set_stats_dot},
	{0, "snapshot-interval", "SECONDS",
		"mode tags: write them every so often too, by --snapshot-prefix",
		set_snapshot_interval},
	{0, "snapshot-prefix", "PREFIX",
		"mode tags: to PREFIX.0000.json and .dot, PREFIX.0001.json ...",
		set_snapshot_prefix},
	{0, "free-stacks", NULL, "record the stack of each free too", set_free_stacks},
	{0, "mmap", NULL, "record the program's own mmap, munmap and mremap too", set_mmap},
	{0, "zero-memory", NULL,
		"zero what malloc, new and their like give; what realloc adds is not",
		set_zero_memory},
	{0, "embed-binaries", NULL,
		"keep the program, its libraries and their debug files in the trace; done when the "
		"program has ended",
		set_embed},
	{0, "start", START_VALUES,
		"off: record nothing until the program calls heaplapse_start(), or ctl says resume",
		set_start},
	{0, "toggle-signal", "SIGNAL",
		"a SIGNAL to the program pauses and resumes recording, unless the program uses it "
		"itself; may be repeated (the variable: USR1,USR2)",
		set_toggle_signal},
	{0, "snapshot-signal", "SIGNAL", "and this one takes a snapshot", set_snapshot_signal},
	{0, "no-follow-fork", NULL, "do not record children that fork without exec",
		set_no_follow_fork},
	{0, "no-follow-exec", NULL, "do not record programs that the program executes",
		set_no_follow_exec},
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
	{0, "exit-wait", "TIME",
		"let a program wait at its exit until its trace is complete, at most so long "
		"(default 2s under a bare LD_PRELOAD, else 0: record itself waits)",
		set_exit_wait},
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
	o->collect.keep.lifetime_ns = UINT64_C(10000000000);
	o->collect.keep.pending_max = HL_PENDING_DEFAULT;
	o->collect.keep.churn_bytes = HL_CHURN_DEFAULT;
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
	o->toggles_of_env = o->collect.toggle_signals != 0;
}

/* Counters that nobody writes anywhere would be gone with the program. */
static void settle_tags(struct record_options *o)
{
	static const char *const places[] = {
		"HEAPLAPSE_STATS_JSON", "HEAPLAPSE_STATS_DOT", "HEAPLAPSE_SNAPSHOT_PREFIX"};

	if (o->collect.mode != HL_MODE_TAGS)
		return;
	o->collect.output.none = true;
	o->tags_output = o->output && !getenv("HEAPLAPSE_STATS_JSON");
	for (size_t i = 0; i < HL_ARRAY_LEN(places); i++)
		if (getenv(places[i]) || o->tags_output)
			return;
	(void)setenv("HEAPLAPSE_STATS_JSON", HL_RECORD_TAGS, 1);
}

bool hl_record_uses_output(const struct record_options *o)
{
	return o->tags_output || !o->collect.output.none;
}

/* All but %p is put in: each process puts its own pid there. */
static int name_for_all(char *to, size_t n, const char *pattern, const char *program)
{
	struct hl_strbuf kept = {0};
	struct timespec now;
	int err;

	for (const char *c = pattern; *c; c++) {
		bool passed_on = c[0] == '%' && (c[1] == 'p' || c[1] == '%');

		hl_strbuf_printf(&kept, "%s%c", passed_on ? "%" : "", *c);
		if (passed_on)
			hl_strbuf_printf(&kept, *++c == '%' ? "%%%%" : "p");
	}
	clock_gettime(CLOCK_REALTIME, &now);
	err = hl_output_name(to, n, hl_strbuf_str(&kept), program, 0,
		(uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec, 1);
	hl_strbuf_fini(&kept);
	return err;
}

int hl_record_name_tags(const struct record_options *o, const char *program)
{
	char name[PATH_MAX];
	int err;

	if (!o->tags_output)
		return 0;
	err = name_for_all(name, sizeof(name), o->output, program);
	if (err)
		return err;
	return setenv("HEAPLAPSE_STATS_JSON", name, 1) ? -ENOMEM : 0;
}

int hl_record_settle(struct record_options *o)
{
	settle_tags(o);
	if (!o->output)
		o->output = HL_RECORD_PATTERN;
	o->collect.output.pattern = o->output;
	o->collect.output.overwrite = o->overwrite;
	o->collect.output.anywhere = o->force;
	if (o->collect.log.pattern && !o->log_level_given)
		o->collect.log.level = HL_LEVEL_INFO;
	hl_churn_log_prepare(o);
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

int hl_log_file_check(char *buf, size_t n, const struct record_options *o, const char *program,
	uint64_t pid, const char *how)
{
	int err = hl_logfile_check(&o->collect.log, &o->collect.output, program, pid);
	const char *why = strerror(-err);

	if (err == -EEXIST || err == -ELOOP)
		why = "it is there, and no plain file of yours";
	else if (err == -HL_OUTPUT_EXPOSED)
		why = "everybody may rename and remove files in a folder on the way; chmod +t that "
		      "folder, or use --force";
	else if (err == -HL_OUTPUT_PLANTED)
		why = "somebody else made a link on the way, in a folder open to all";
	if (err)
		snprintf(buf, n, "%s: %s cannot be written: %s; choose another name", how,
			o->collect.log.pattern, why);
	return err;
}

bool hl_log_to_stderr(const struct record_options *o)
{
	return o->collect.log.level && !o->collect.log.pattern;
}
