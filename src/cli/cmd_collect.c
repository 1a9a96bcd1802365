/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_collect.c - the collector that libheaplapse.so starts itself under a bare LD_PRELOAD.
 *
 * Descriptor 3 is the region of the program; the operand is its pid. The collector reports through
 * the region that it is ready, or why it is not. stderr belongs to the program. The collector keeps
 * it open only for output that the user asked for, or until it has printed that the name of the
 * trace is in use.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/files/embed_trace.h"
#include "cli/doctor/machine.h"
#include "cli/record/record_options.h"
#include "cli/record/record_output.h"
#include "cli/record/record_summary.h"
#include "collect/collector.h"
#include "collect/output/session_dir.h"
#include "trace/format/session_row.h"
#include "util/procfs.h"

#define REGION_FD 3

/* Reports through the region that the collector is not ready, and why. The library prints the
 * reason. */
static int refuse_recording(const char *why)
{
	/* only the first page: there may be no address space for more */
	struct hl_region *r = mmap(
		NULL, HL_REGION_CONTROL_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, REGION_FD, 0);

	if (r == MAP_FAILED)
		return HL_EXIT_IO;
	r->magic = HL_REGION_MAGIC;
	r->abi = HL_REGION_ABI;
	snprintf(r->message, sizeof(r->message), "%s", why);
	hl_region_send_ready(r, 2);
	return HL_EXIT_USAGE;
}

/* HEAPLAPSE_SUMMARY=1. The summary and the messages of HEAPLAPSE_VERBOSE=1 are printed only on
 * request, because stderr is shared with the program. */
static int summary_dir;

static void print_summary(const char *path, uint32_t earlier_files)
{
	if (fchdir(summary_dir) == 0) /* names are relative to the start directory of the program */
		hl_summary_print(path, earlier_files);
}

/* HEAPLAPSE_EMBED_BINARIES=1. Files are embedded after all traces are written, so that no other
 * program waits for it. */
static struct {
	bool wanted, summary;
	uint32_t continued; /* files that another one continues */
	HL_VEC(char *) paths;
} traces;

static void on_trace(const char *path, bool continued)
{
	char *copy = traces.wanted ? strdup(path) : NULL;

	if (copy && hl_vec_push(&traces.paths, copy))
		free(copy);
	traces.continued += continued;
	if (traces.summary && !continued)
		print_summary(path, traces.continued);
}

static void embed_all(void)
{
	if (traces.paths.len && fchdir(summary_dir) < 0)
		return;
	for (size_t i = 0; i < traces.paths.len; i++) {
		hl_embed_recorded(traces.paths.data[i], true);
		free(traces.paths.data[i]);
	}
	hl_vec_free(&traces.paths);
}

/* Prints the messages of HEAPLAPSE_VERBOSE=1. */
static void print_sentence(const char *sentence)
{
	hl_cli_error("%s", sentence);
}

/* There is no user to ask in these cases, so the name of the trace gets a number. */
static bool is_name_taken(int err)
{
	return err == -EEXIST || err == -HL_OUTPUT_SESSION || err == -HL_OUTPUT_NOT_SESSION ||
	       err == -HL_OUTPUT_READ_ONLY || err == -HL_OUTPUT_FOREIGN || err == -EBUSY;
}

static bool keep_stderr;

/* Redirects stderr to /dev/null afterwards, so that a reader of the program's stderr does not wait
 * for the collector to close it. */
static void print_renamed(const char *wanted, const char *path)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	hl_cli_info("%s exists; the trace is written to %s", wanted, path);
	if (!keep_stderr && null >= 0)
		dup2(null, STDERR_FILENO);
	if (null >= 0)
		close(null);
}

/*
 * Is the parent recorded, too? Then it has the same HEAPLAPSE_OUTPUT, and the parent or another
 * child probably uses the name already. That is not worth a message for each command of a script.
 */
static bool has_recorded_parent(uint64_t pid)
{
	char text[2048], *stat = hl_procfs_stat(pid, text, sizeof(text)), line[512];
	unsigned long long parent = 0;
	bool found = false;
	FILE *maps;

	if (!stat || sscanf(stat, "%*c %llu", &parent) != 1)
		return false;
	maps = hl_procfs_fopen(parent, "maps");
	while (maps && !found && fgets(line, sizeof(line), maps))
		found = strstr(line, "memfd:heaplapse") != NULL;
	if (maps)
		fclose(maps);
	return found;
}

/* The session of the program that this one was started by; NULL if there is none or its directory
 * cannot be used. */
static const char *joined_session(const struct record_options *o, const char *pid)
{
	const char *value = getenv(HL_SESSION_VARIABLE);
	static struct hl_session session;
	int dir;

	if (!value || !hl_session_join(&session, o->collect.output.pattern, value))
		return NULL;
	dir = hl_session_open_dir(&session, &o->collect.output);
	if (dir >= 0) {
		close(dir);
		return value;
	}
	if (!o->quiet)
		hl_cli_error("%s" HL_SESSION_SUFFIX " cannot be used: %s; the traces of process %s "
			     "and of its children are elsewhere",
			session.trace, hl_record_session_error(dir), pid);
	return NULL;
}

static int run_collect(void *state, int argc, char **argv)
{
	struct record_options o = {0};
	struct hl_collector_start start = {.control_fd = -1, .region_fd = REGION_FD};
	char why[HL_RECORD_SENTENCE];
	int err, keep_fds[3] = {REGION_FD};
	bool child;

	if (argc != 1 || fcntl(REGION_FD, F_GETFD) < 0)
		return hl_cli_usage("is an internal command; libheaplapse.so starts it");
	start.region_pid = strtoull(argv[0], NULL, 10);
	hl_record_init(&o);
	if (o.env_problem)
		return refuse_recording(o.env_problem);
	if (hl_machine_check_space() < 0)
		return refuse_recording(
			"the collector has too little address space; raise the hard limit to "
			"at least 80 MiB (ulimit -H -v 80000)");
	err = hl_record_finish_options(&o);
	start.session = joined_session(&o, argv[0]);
	child = start.session || has_recorded_parent(start.region_pid);
	if (child) /* otherwise it would replace the trace of its parent */
		o.collect.output.overwrite = false;
	if (!err && (!start.session || o.collect.output.own_names))
		err = hl_trace_output_check(&o.collect.output, argv[0], start.region_pid, NULL);
	if (err && !is_name_taken(err)) {
		hl_record_format_output_error(why, sizeof(why), &o, err, "HEAPLAPSE_OUTPUT");
		return refuse_recording(why);
	}
	if (err && !o.quiet && !child)
		o.collect.output.on_renamed = print_renamed;
	err = hl_churn_log_check(&o, argv[0]);
	if (err) {
		snprintf(why, sizeof(why), "HEAPLAPSE_CHURN_LOG=%.80s cannot be written: %s",
			o.collect.output.churn_log, hl_churn_log_error_text(err));
		return refuse_recording(why);
	}
	err = hl_record_check_log_file(
		why, sizeof(why), &o, argv[0], start.region_pid, "HEAPLAPSE_LOG_FILE");
	if (err)
		return refuse_recording(why);
	keep_fds[1] = o.collect.output.dir_fd;
	keep_fds[2] = STDERR_FILENO;
	keep_stderr = o.summary || o.verbose || hl_log_to_stderr(&o);
	hl_collector_detach(keep_fds, keep_stderr || o.collect.output.on_renamed ? 3 : 2);
	summary_dir = keep_fds[1];
	start.verbose = o.verbose;
	start.on_snapshot = print_sentence;
	traces.wanted = o.embed;
	traces.summary = o.summary;
	start.on_trace = on_trace;
	fcntl(REGION_FD, F_SETFD, FD_CLOEXEC);
	start.settings = o.collect;
	if (!o.exit_wait_given)
		start.settings.exit_wait_ms = HL_RECORD_EXIT_WAIT_MS;
	err = hl_collector_run(&start);
	embed_all();
	return err < 0 ? HL_EXIT_IO : HL_EXIT_OK;
}

const struct hl_cmd hl_cmd_collect = {
	.name = "collect",
	.summary = "the collector under a bare LD_PRELOAD",
	.usage = "PID",
	.hidden = true,
	.run = run_collect,
};
