/* SPDX-License-Identifier: Apache-2.0 */
/* record_output.c - see record_output.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/record/record_output.h"
#include "trace/format/session_row.h"
#include "util/strbuf.h"

/* Without an output, the counters would be lost when the program ends. A default is set. */
static void set_tags_output(struct record_options *o)
{
	static const char *const variables[] = {
		"HEAPLAPSE_STATS_JSON", "HEAPLAPSE_STATS_DOT", "HEAPLAPSE_SNAPSHOT_PREFIX"};

	if (o->collect.mode != HL_MODE_TAGS)
		return;
	o->collect.output.disabled = true;
	o->tags_output = o->output && !getenv("HEAPLAPSE_STATS_JSON");
	for (size_t i = 0; i < HL_ARRAY_LEN(variables); i++)
		if (getenv(variables[i]) || o->tags_output)
			return;
	(void)setenv("HEAPLAPSE_STATS_JSON", HL_RECORD_TAGS, 1);
}

bool hl_record_uses_output(const struct record_options *o)
{
	return o->tags_output || !o->collect.output.disabled;
}

/* Expands all of the pattern but %p and %%, which each process expands itself with its own pid. */
static int expand_except_pid(char *to, size_t n, const char *pattern, const char *program)
{
	struct hl_strbuf escaped = {0};
	struct timespec now;
	int err;

	for (const char *c = pattern; *c; c++) {
		bool keeps_escape = c[0] == '%' && (c[1] == 'p' || c[1] == '%');

		hl_strbuf_printf(&escaped, "%s%c", keeps_escape ? "%" : "", *c);
		if (keeps_escape)
			hl_strbuf_printf(&escaped, *++c == '%' ? "%%%%" : "p");
	}
	clock_gettime(CLOCK_REALTIME, &now);
	err = hl_trace_output_name(to, n, hl_strbuf_str(&escaped), program, 0,
		(uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec, 1);
	hl_strbuf_fini(&escaped);
	return err;
}

int hl_record_set_tags_output(const struct record_options *o, const char *program)
{
	char name[PATH_MAX];
	int err;

	if (!o->tags_output)
		return 0;
	err = expand_except_pid(name, sizeof(name), o->output, program);
	if (err)
		return err;
	return setenv("HEAPLAPSE_STATS_JSON", name, 1) ? -ENOMEM : 0;
}

int hl_record_finish_options(struct record_options *o)
{
	set_tags_output(o);
	o->collect.output.own_names = o->output && hl_trace_output_names_differ(o->output);
	if (!o->output)
		o->output = HL_RECORD_PATTERN;
	o->collect.output.pattern = o->output;
	o->collect.output.overwrite = o->overwrite;
	o->collect.output.allow_unsafe_dir = o->force;
	if (o->collect.log.pattern && !o->log_level_given)
		o->collect.log.level = HL_LEVEL_INFO;
	hl_churn_log_prepare(o);
	o->collect.output.dir_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return o->collect.output.dir_fd < 0 ? -errno : 0;
}

void hl_record_format_output_error(
	char *buf, size_t n, const struct record_options *o, int err, const char *option)
{
	const char *name = o->output;

	switch (-err) {
	case EINVAL:
		snprintf(buf, n,
			"%s \"%s\" is not a valid name: only p, e, t, n, h or %% may follow %%, as "
			"in \"%%e.%%p.hlt\"",
			option, name);
		break;
	case EEXIST:
		snprintf(buf, n,
			o->overwrite ? "%s is not a regular file and is not replaced; choose "
				       "another name with %s"
				     : "%s exists and is not overwritten; choose another name with "
				       "%s, or use -f",
			name, option);
		break;
	case HL_OUTPUT_SESSION:
		snprintf(buf, n,
			"%s" HL_SESSION_SUFFIX " exists, the directory of an earlier session, and "
			"is not overwritten; choose another name with %s, or use -f",
			name, option);
		break;
	case HL_OUTPUT_NOT_SESSION:
		snprintf(buf, n,
			"%s" HL_SESSION_SUFFIX
			" exists and cannot have the traces of a session: it "
			"is not a private directory of yours, or its file `session` is not a list "
			"of traces; move it away, or choose another name with %s",
			name, option);
		break;
	case HL_OUTPUT_READ_ONLY:
		snprintf(buf, n,
			"%s" HL_SESSION_SUFFIX ", the directory of the session, is read-only: its "
			"traces cannot be replaced; make it writable (chmod u+w), or choose "
			"another name with %s",
			name, option);
		break;
	case HL_OUTPUT_FOREIGN:
		snprintf(buf, n,
			"%s belongs to another user and cannot be replaced; choose another name "
			"with %s",
			name, option);
		break;
	case EBUSY:
		snprintf(buf, n,
			"%s is a trace that is still being written and is not replaced; wait for "
			"its end, or choose another name with %s",
			name, option);
		break;
	case HL_OUTPUT_EXPOSED:
		snprintf(buf, n,
			"a directory in the path of %s is world-writable without the sticky bit; "
			"choose another path with %s, chmod +t that directory, or use --force",
			name, option);
		break;
	case HL_OUTPUT_PLANTED:
		snprintf(buf, n,
			"the path of %s contains another user's link in a world-writable "
			"directory; choose another path with %s",
			name, option);
		break;
	default:
		snprintf(buf, n, "cannot write the trace to %s: %s; choose another path with %s",
			name, strerror(-err), option);
	}
}

const char *hl_record_session_error(int err)
{
	switch (-err) {
	case EPERM:
	case ELOOP:
	case ENOTDIR:
		return "it is not a private directory of yours";
	case HL_OUTPUT_EXPOSED:
		return "a directory in its path is world-writable without the sticky bit";
	case HL_OUTPUT_PLANTED:
		return "its path contains another user's link in a world-writable directory";
	}
	return strerror(-err);
}

const char *hl_record_error_advice(int err)
{
	return err == -EMFILE ? "; raise the limit of open files (ulimit -n)" : "";
}

void hl_record_print_output_error(const struct record_options *o, int err)
{
	char why[HL_RECORD_SENTENCE];

	hl_record_format_output_error(why, sizeof(why), o, err, "-o");
	hl_cli_error("%s", why);
}

int hl_record_check_log_file(char *buf, size_t n, const struct record_options *o,
	const char *program, uint64_t pid, const char *option)
{
	int err = hl_log_file_check(&o->collect.log, &o->collect.output, program, pid);
	const char *why = strerror(-err);

	if (err == -EEXIST || err == -ELOOP)
		why = "it exists and is not a regular file of yours";
	else if (err == -HL_OUTPUT_EXPOSED)
		why = "a directory in its path is world-writable without the sticky bit; chmod +t "
		      "it, or use --force";
	else if (err == -HL_OUTPUT_PLANTED)
		why = "its path contains another user's link in a world-writable directory";
	if (err)
		snprintf(buf, n, "%s: cannot write %s: %s; choose another name", option,
			o->collect.log.pattern, why);
	return err;
}

bool hl_log_to_stderr(const struct record_options *o)
{
	return o->collect.log.level && !o->collect.log.pattern;
}
