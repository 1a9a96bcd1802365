/* SPDX-License-Identifier: Apache-2.0 */
/* record_options.c - see record_options.h. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/record/record_options.h"
#include "request/size_parse.h"
#include "ring/ring_clock.h"

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
FLAG_SETTER(set_zero_memory, o->collect.flags |= HL_SET_ZERO; o->collect.retain.zero_memory = true)
FLAG_SETTER(set_no_follow_fork, o->collect.flags |= HL_SET_NO_FORK)
FLAG_SETTER(set_no_follow_exec, o->collect.flags |= HL_SET_NO_EXEC)

/* Standard output belongs to the program, and a trace ends with an index of offsets. */
static const char *set_output(void *state, const char *value)
{
	struct record_options *o = state;

	if (!strcmp(value, "-"))
		return "a file: stdout belongs to the program; use -o app.hlt, then heaplapse "
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

/* A program and its fork children log to one file, so %n is not accepted. */
static const char *set_log_file(void *state, const char *value)
{
	struct record_options *o = state;

	for (const char *c = strchr(value, '%'); c; c = strchr(c + 2, '%'))
		if (!c[1] || !strchr("peth%", c[1]))
			return "the name of a file: only p, e, t, h or % may follow %";
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

/* Only sample may be followed by "=BYTES". */
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

/* The recorder reads the settings of mode tags from the environment. */
static const char *export_variable(const char *name, const char *value)
{
	return setenv(name, value, 1) ? "small enough for the available memory" : NULL;
}

/* Appends to a list; a list from the environment is replaced. The recorder reads the variable. */
static const char *add_pattern(
	char list[1024], bool *from_env, const char *variable, const char *value)
{
	size_t len = *from_env ? 0 : strlen(list);

	*from_env = false;
	if (!*value || strchr(value, '/'))
		return "a pattern for the name of a program without its directory, such as 'cc1*'";
	if (len + strlen(value) + 2 > sizeof(((struct record_options *)0)->only))
		return "short enough: all patterns together have at most 1,000 bytes";
	snprintf(list + len, sizeof(((struct record_options *)0)->only) - len, "%s%s",
		len ? "," : "", value);
	return export_variable(variable, list);
}

static const char *set_only(void *state, const char *value)
{
	struct record_options *o = state;

	return add_pattern(o->only, &o->only_from_env, "HEAPLAPSE_ONLY", value);
}

static const char *set_skip(void *state, const char *value)
{
	struct record_options *o = state;

	return add_pattern(o->skip, &o->skip_from_env, "HEAPLAPSE_SKIP", value);
}

static const char *set_tags(void *state, const char *value)
{
	if (hl_word_find(TAGS_VALUES, value) < 0)
		return HL_OPT_NOT_LISTED;
	return export_variable("HEAPLAPSE_TAGS", value);
}

static const char *set_stats_json(void *state, const char *value)
{
	return export_variable("HEAPLAPSE_STATS_JSON", value);
}

static const char *set_stats_dot(void *state, const char *value)
{
	return export_variable("HEAPLAPSE_STATS_DOT", value);
}

static const char *set_snapshot_prefix(void *state, const char *value)
{
	return export_variable("HEAPLAPSE_SNAPSHOT_PREFIX", value);
}

/* Parses a whole number without a suffix. Returns false if it is out of bounds. */
static bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return isdigit((unsigned char)text[0]) && !errno && !*end && *out >= min && *out <= max;
}

static const char *set_snapshot_interval(void *state, const char *value)
{
	uint64_t n;

	if (!parse_number(value, 0, 1000000000, &n))
		return "a number of seconds";
	return export_variable("HEAPLAPSE_SNAPSHOT_INTERVAL", value);
}

static const char *set_depth(void *state, const char *value)
{
	struct record_options *o = state;
	uint64_t n;

	if (!strcmp(value, "unlimited")) {
		o->collect.depth_inner = 65000; /* the limit of the unwinder */
		o->collect.depth_outer = 500;
		return NULL;
	}
	if (!parse_number(value, 2, 65000, &n))
		return "a number of frames from 2 to 65000, or unlimited";
	o->collect.depth_outer = (uint32_t)(n / 8);
	o->collect.depth_inner = (uint32_t)(n - n / 8);
	return NULL;
}

static const char *set_max_wait(void *state, const char *value)
{
	struct record_options *o = state;
	uint64_t n;

	if (!parse_number(value, 0, 3600, &n))
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
		if (!hl_size_parse(value, 1, INT64_MAX, &o->collect.retain.field))      \
			return "a number of bytes above 0, or a size such as " example; \
		statement;                                                              \
		return NULL;                                                            \
	}

SIZE_SETTER(set_churn, churn_bytes, "1M", o->collect.retain.churn_given = true)
SIZE_SETTER(set_at_live, at_live, "512M", (void)0)
SIZE_SETTER(set_at_rss, at_rss, "512M", (void)0)

static const char *set_every(void *state, const char *value)
{
	struct record_options *o = state;

	return hl_cli_duration(value, HL_SNAPSHOT_GAP_NS, 24 * HOUR_NS, &o->collect.retain.every_ns)
		       ? NULL
		       : "a number of seconds, or a time such as 500ms or 2min, from 10ms to 24h";
}

static const char *set_churn_gap(void *state, const char *value)
{
	struct record_options *o = state;

	o->collect.retain.churn_gap_given = true;
	return hl_cli_duration(value, 0, 24 * HOUR_NS, &o->collect.retain.churn_gap_ns)
		       ? NULL
		       : "a number of seconds, or a time such as 50ms or 2min, from 0 to 24h";
}

static const char *set_lifetime(void *state, const char *value)
{
	struct record_options *o = state;

	return hl_cli_duration(value, 1000, 24 * HOUR_NS, &o->collect.retain.lifetime_ns)
		       ? NULL
		       : "a number of seconds, or a time such as 50ms or 2min, from 1us to 24h";
}

static const char *set_pending(void *state, const char *value)
{
	struct record_options *o = state;
	uint64_t n;

	if (!parse_number(value, 16, 1u << 28, &n))
		return "a number of events from 16 to 268435456";
	o->collect.retain.pending_max = (uint32_t)n;
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

/* Parses "USR1", "SIGUSR1" or 10. Refused are signals that the kernel sends for program errors,
 * signals that cannot be caught, and signals that programs commonly receive. */
static bool parse_signal(const char *text, uint32_t *out)
{
	static const int reserved[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP,
		SIGABRT, SIGSYS, SIGCHLD, SIGCONT, SIGPIPE, SIGALRM, SIGPROF, SIGVTALRM, 32, 33};
	uint64_t n = 0;

	if (!parse_number(text, 1, 64, &n)) {
		text += strncmp(text, "SIG", 3) ? 0 : 3;
		for (n = 64; n && (!sigabbrev_np((int)n) || strcmp(sigabbrev_np((int)n), text));
			n--)
			;
	}
	for (size_t i = 0; i < HL_ARRAY_LEN(reserved); i++)
		if (n == (uint64_t)reserved[i])
			return false;
	*out = (uint32_t)n;
	return n > 0;
}

#define SIGNAL_EXPECTED "a signal that a program has no other use for, such as USR1 or USR2"

static const char *check_signal_conflict(const struct record_options *o)
{
	uint32_t snapshot = o->collect.snapshot_signal;

	return snapshot && o->collect.toggle_signals >> (snapshot - 1) & 1
		       ? "different from the signal of the other option"
		       : NULL;
}

/* Several signals are separated by commas, for the variable, or given by several options. */
static const char *set_toggle_signal(void *state, const char *value)
{
	struct record_options *o = state;

	if (o->toggles_from_env)
		o->collect.toggle_signals = 0;
	o->toggles_from_env = false;
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
	return check_signal_conflict(o);
}

static const char *set_snapshot_signal(void *state, const char *value)
{
	struct record_options *o = state;

	if (!parse_signal(value, &o->collect.snapshot_signal))
		return SIGNAL_EXPECTED;
	return check_signal_conflict(o);
}

const struct hl_opt hl_record_opts[] = {
	{'o', "output", "FILE",
		"write the trace, in mode tags the counters, to FILE; %p pid, %e program, %t "
		"seconds since the epoch, %n number, %h host, %% percent "
		"(default " HL_RECORD_PATTERN ")",
		set_output},
	{'f', "overwrite", NULL, "replace FILE and its session if they exist", set_overwrite},
	{'q', "quiet", NULL, "print errors only", set_quiet},
	{0, "summary", NULL, "print a summary at the end (default on a terminal)", set_summary},
	{'v', "verbose", NULL, "print live bytes and their change at each snapshot", set_verbose},
	{0, "log-level", LEVEL_VALUES,
		"log the operation of recorder and collector (default off; info with --log-file)",
		set_log_level},
	{0, "log-file", "FILE",
		"append the log to FILE instead of stderr; %p, %e, %t, %h, %% as for -o",
		set_log_file},
	{0, "mode", "MODE",
		"how much to record (trace: every event, the default; cull: all but short-lived "
		"blocks; count: only sums by stack; sample[=BYTES]: about one allocation per BYTES "
		"allocated, default 512K, totals are estimates; tags: counters by scope of the "
		"program, no events)",
		set_mode},
	{0, "lifetime", "TIME",
		"--mode=cull: record only sums of blocks with a shorter lifetime (default 10s)",
		set_lifetime},
	{0, "pending", "N",
		"--mode=cull: keep at most N undecided events in memory; beyond that the oldest "
		"are written (default 262144)",
		set_pending},
	{0, "churn", "SIZE",
		"take a snapshot whenever SIZE bytes were allocated and freed (default 1M with "
		"--mode=count and no --every, else none)",
		set_churn},
	{0, "churn-gap", "TIME",
		"minimum time between two snapshots by churn; 0: no limit (default 10ms, doubled "
		"after every 1,024 snapshots)",
		set_churn_gap},
	{0, "churn-log", "FILE",
		"append each snapshot to FILE while the program runs, as heaplapse log prints it; "
		"%p pid, %e program as for -o",
		set_churn_log},
	{0, "every", "SECONDS", "take a snapshot every SECONDS", set_every},
	{0, "at-live", "SIZE", "take a snapshot when live bytes reach SIZE", set_at_live},
	{0, "at-rss", "SIZE", "take a snapshot when the resident set reaches SIZE", set_at_rss},
	{0, "tags", TAGS_VALUES,
		"mode tags: charge a free to the scope that frees (default) or to the scope that "
		"owns the block",
		set_tags},
	{0, "stats-json", "FILE",
		"mode tags: write the counters of all scopes at exit as JSON (default: the FILE of "
		"-o, else " HL_RECORD_TAGS ")",
		set_stats_json},
	{0, "stats-dot", "FILE", "mode tags: write the counters at exit as a graph for graphviz",
		set_stats_dot},
	{0, "snapshot-interval", "SECONDS",
		"mode tags: also write the counters every SECONDS, to the files of "
		"--snapshot-prefix",
		set_snapshot_interval},
	{0, "snapshot-prefix", "PREFIX",
		"mode tags: write snapshots to PREFIX.0000.json and .dot, PREFIX.0001.json and so "
		"on",
		set_snapshot_prefix},
	{0, "free-stacks", NULL, "also record the stack of each free", set_free_stacks},
	{0, "mmap", NULL,
		"also record the program's own mmap, munmap and mremap, and once a second what "
		"all its mappings hold",
		set_mmap},
	{0, "zero-memory", NULL,
		"zero memory returned by malloc and new (not the part added by realloc)",
		set_zero_memory},
	{0, "embed-binaries", NULL,
		"store the program, its libraries and their debug files in the trace when the "
		"program has ended",
		set_embed},
	{0, "start", START_VALUES,
		"off: record nothing until the program calls heaplapse_start() or ctl sends resume",
		set_start},
	{0, "toggle-signal", "SIGNAL",
		"pause or resume recording when the program receives SIGNAL, unless the program "
		"handles it; may be repeated (in the environment: USR1,USR2)",
		set_toggle_signal},
	{0, "snapshot-signal", "SIGNAL", "take a snapshot when the program receives SIGNAL",
		set_snapshot_signal},
	{0, "only", "NAME",
		"record only programs whose file name matches NAME, a pattern such as 'cc1*'; may "
		"be repeated (in the environment: cc1,ld)",
		set_only},
	{0, "skip", "NAME",
		"do not record programs whose file name matches NAME; their children are followed; "
		"may be repeated",
		set_skip},
	{0, "no-follow-fork", NULL, "do not record children that fork without exec",
		set_no_follow_fork},
	{0, "no-follow-exec", NULL, "do not record programs that the program executes",
		set_no_follow_exec},
	{0, "depth", "N",
		"record at most N frames of a stack, most of them innermost (default 1024; "
		"unlimited: 65,000)",
		set_depth},
	{0, "unwind", UNWIND_VALUES,
		"full: unwind every stack from scratch (slow; for cross-checking)", set_unwind},
	{0, "max-wait", "SECONDS",
		"longest time that the program waits for a slow disk or collector before events "
		"are dropped and counted (default 10)",
		set_max_wait},
	{0, "exit-wait", "TIME",
		"longest time that a program waits at its exit for a complete trace (default 2s "
		"under a bare LD_PRELOAD, else 0: record itself waits)",
		set_exit_wait},
	{0, "collector-memory", "SIZE",
		"keep the table of live blocks in memory up to SIZE, then in a file beside the "
		"trace (default 256M)",
		set_memory},
	{0, "clock", CLOCK_VALUES,
		"the clock that orders events (default: tsc where the kernel trusts it)",
		set_clock},
	{0, "gdb", NULL, "start the program under gdb; gdb itself is not recorded", set_gdb},
	{0, "gdb-options", "OPTIONS",
		"like --gdb, with options for gdb, such as \"-batch -ex run -ex bt\"",
		set_gdb_options},
	{0, "force", NULL,
		"run a program that cannot be recorded, without recording; allow writing to a "
		"world-writable directory",
		set_force},
	{0},
};

static void set_defaults(struct record_options *o)
{
	o->collect.depth_inner = 896;
	o->collect.depth_outer = 128;
	o->collect.max_wait_ms = 10000;
	o->collect.memory_limit = 256u << 20;
	o->collect.retain.lifetime_ns = UINT64_C(10000000000);
	o->collect.retain.pending_max = HL_RETAIN_PENDING_DEFAULT;
	o->collect.retain.churn_bytes = HL_CHURN_DEFAULT;
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
	static char sentence[400];

	for (const struct hl_opt *opt = hl_record_opts; opt->long_name; opt++) {
		char name[64], text[HL_OPT_TEXT_MAX];
		const char *value, *expected;

		hl_record_env_name(name, sizeof(name), opt->long_name);
		value = getenv(name);
		if (!value || !*value || (!opt->arg && !strcmp(value, "0")))
			continue;
		if (!opt->arg && strcmp(value, "1") != 0)
			expected = "0 or 1";
		else
			expected = hl_opt_store_value(opt, o, opt->arg ? value : NULL, text);
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
		getenv("HEAPLAPSE_SAMPLE_SEED"); /* for tests: the same samples in each run */

	set_defaults(o);
	o->collect.sample_seed = seed ? strtoull(seed, NULL, 10) : 0;
	o->env_problem = read_env(o);
	o->toggles_from_env = o->collect.toggle_signals != 0;
	o->only_from_env = o->only[0] != '\0';
	o->skip_from_env = o->skip[0] != '\0';
}
