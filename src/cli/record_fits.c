/*
 * record_fits.c - options of `record` that the mode has no use for.
 *
 * What would be ignored is refused, before anything runs. Modes but tags can be changed into each
 * other by `heaplapse ctl`, so what is for one of them is for all: it may come to be needed. Only
 * words of the command line are judged; a variable may be there for other programs. How the
 * collector works (--max-wait, --collector-memory, --clock) may be said in every mode. Mode tags
 * writes no trace: what a trace has besides events (--mmap, --embed-binaries) is refused, too.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/record_options.h"

/* Counters of the program's scopes, and what can be done with events. */
enum need {
	NEEDS_TAGS,
	NEEDS_EVENTS,
};

static const struct {
	const char *long_name;
	enum need need;
	const char *instead; /* of an option for events: what mode tags has; NULL: nothing */
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

void hl_record_taken(void *options, const struct hl_opt *o)
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

int hl_record_fits(const struct record_options *o)
{
	bool tags = o->collect.mode == HL_MODE_TAGS;

	for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++) {
		if (!(o->given >> i & 1) || tags == (rows[i].need == NEEDS_TAGS))
			continue;
		if (!tags)
			return hl_cli_usage("--%s is for mode tags alone, and this is mode %s: "
					    "leave it out, or take --mode=tags",
				rows[i].long_name, hl_mode_name(o->collect.mode));
		return hl_cli_usage("--%s is about events, of which mode tags keeps none: %s%s, or "
				    "take another mode",
			rows[i].long_name, rows[i].instead ? "use " : "leave it out",
			rows[i].instead ? rows[i].instead : "");
	}
	if (is_given(o, "snapshot-interval") && !getenv("HEAPLAPSE_SNAPSHOT_PREFIX"))
		return hl_cli_usage("--snapshot-interval needs a name for what it writes: "
				    "--snapshot-prefix");
	return 0;
}
