/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_conflicts.c - refuses options of `record` that do not apply to the mode.
 *
 * An option that would be ignored is refused before anything runs. `heaplapse ctl` can switch
 * between all modes but tags, so an option for one of them is allowed in all of them: it may be
 * needed later. Only options of the command line are checked; a variable may be meant for other
 * programs. Options of the collector (--max-wait, --collector-memory, --clock) are allowed in every
 * mode. Mode tags writes no trace, so options for other contents of a trace (--mmap,
 * --embed-binaries) are refused, too.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/record/record_options.h"

/* The kind of data that an option is about: counters of scopes, or events. */
enum need {
	NEEDS_TAGS,
	NEEDS_EVENTS,
};

static const struct {
	const char *long_name;
	enum need need;
	const char *instead; /* for an option about events: the options of mode tags to use; NULL:
				none */
} rows[] = {
	{"tags", NEEDS_TAGS, NULL},
	{"stats-json", NEEDS_TAGS, NULL},
	{"stats-dot", NEEDS_TAGS, NULL},
	{"snapshot-interval", NEEDS_TAGS, NULL},
	{"snapshot-prefix", NEEDS_TAGS, NULL},
	{"lifetime", NEEDS_EVENTS, NULL},
	{"pending", NEEDS_EVENTS, NULL},
	{"churn", NEEDS_EVENTS, NULL},
	{"churn-gap", NEEDS_EVENTS, NULL},
	{"churn-log", NEEDS_EVENTS, NULL},
	{"every", NEEDS_EVENTS, "--snapshot-interval and --snapshot-prefix"},
	{"at-live", NEEDS_EVENTS, NULL},
	{"at-rss", NEEDS_EVENTS, NULL},
	{"free-stacks", NEEDS_EVENTS, NULL},
	{"mmap", NEEDS_EVENTS, NULL},
	{"embed-binaries", NEEDS_EVENTS, NULL},
	{"exit-wait", NEEDS_EVENTS, NULL},
};

void hl_record_note_option(void *options, const struct hl_opt *o)
{
	struct record_options *to = options;

	for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++)
		if (o->long_name && !strcmp(o->long_name, rows[i].long_name))
			to->given |= 1u << i;
}
_Static_assert(HL_ARRAY_LEN(rows) <= 32, "a bit for each row");

static bool is_given(const struct record_options *o, const char *long_name)
{
	for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++)
		if (o->given >> i & 1 && !strcmp(long_name, rows[i].long_name))
			return true;
	return false;
}

int hl_record_check_conflicts(const struct record_options *o)
{
	bool tags = o->collect.mode == HL_MODE_TAGS;

	for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++) {
		if (!(o->given >> i & 1) || tags == (rows[i].need == NEEDS_TAGS))
			continue;
		if (!tags)
			return hl_cli_usage("--%s applies only to mode tags, and this is mode %s: "
					    "omit it, or use --mode=tags",
				rows[i].long_name, hl_mode_name(o->collect.mode));
		return hl_cli_usage(
			"--%s needs events, and mode tags records none: %s%s, or use another mode",
			rows[i].long_name, rows[i].instead ? "use " : "omit it",
			rows[i].instead ? rows[i].instead : "");
	}
	if (is_given(o, "snapshot-interval") && !getenv("HEAPLAPSE_SNAPSHOT_PREFIX"))
		return hl_cli_usage("--snapshot-interval needs --snapshot-prefix");
	return 0;
}
