/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_import.c - makes a trace from a recording or profile of another tool.
 *
 * The trace gets its name only when it is complete (atomic_file.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/options/output_options.h"
#include "import/import.h"
#include "util/terminal/progress.h"
#include "util/work/work.h"
#include "util/strbuf.h"
#include "util/safe_text.h"

struct import {
	struct hl_output_options out;
};
HL_OUTPUT_SETTERS(struct import);

/* --- the name of the trace --- */

/* heaptrack.app.4711.zst -> heaptrack.app.4711.hlt, in the current directory. */
static void make_default_name(struct hl_strbuf *name, const char *input)
{
	static const char *const suffixes[] = {".zst", ".gz", ".pb"};
	const char *slash = strrchr(input, '/');

	hl_strbuf_puts(name, slash ? slash + 1 : input);
	for (size_t i = 0; i < HL_ARRAY_LEN(suffixes); i++) {
		size_t n = strlen(suffixes[i]);

		if (name->len > n && !strcmp(name->data + name->len - n, suffixes[i])) {
			name->len -= n;
			name->data[name->len] = '\0';
		}
	}
	hl_strbuf_puts(name, ".hlt");
}

/* --- the import --- */

static void print_done(const char *name, const struct hl_import_result *r)
{
	char events[HL_TEXT_SIZE_MAX], bytes[HL_TEXT_SIZE_MAX];

	hl_cli_info("wrote %s: %s events of %s, %s; show them with heaplapse report %s", name,
		hl_text_count(events, r->events), r->source, hl_text_bytes(bytes, r->bytes), name);
}

static void print_result(struct import *s, const char *input, const struct hl_import_result *r)
{
	if (r->truncated)
		hl_cli_error("%s is truncated: %s contains the events before that point", input,
			s->out.file.path);
	if (r->notes[0])
		hl_cli_error("%s: %s", input, r->notes);
	if (!s->out.quiet)
		print_done(s->out.file.path, r);
}

static int import_from(struct import *s, int in, uint64_t size, const char *input)
{
	struct hl_work work = {.progress = hl_progress_show};
	struct hl_import_result r;
	int status = hl_atomic_file_open(&s->out.file), out;

	if (status)
		return status;
	out = fcntl(s->out.file.fd, F_DUPFD_CLOEXEC, 0); /* the writer closes its own descriptor */
	if (out < 0)
		return hl_atomic_file_discard(&s->out.file, -errno);
	if (hl_import(in, size, out, &work, &r) < 0) {
		hl_cli_error("%s: %s", input, r.text);
		return hl_atomic_file_discard(&s->out.file, 0);
	}
	status = hl_atomic_file_commit(&s->out.file);
	if (!status)
		print_result(s, input, &r);
	return status;
}

static bool is_same_file(const struct stat *st, const char *path)
{
	struct stat other;

	return stat(path, &other) == 0 && other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

/* "-" is always stdin, never a file of that name. Returns a duplicate of stdin, which may be
 * closed. */
static int open_input(const char *operand)
{
	if (strcmp(operand, "-") != 0)
		return open(operand, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
}

static int run_import(void *state, int argc, char **argv)
{
	struct import *s = state;
	const char *input;
	struct hl_strbuf name = {0};
	int in, status = HL_EXIT_IO;
	struct stat st;

	if (argc != 1)
		return argc ? hl_cli_usage(
				      "takes one file, but \"%s\" follows \"%s\"", argv[1], argv[0])
			    : hl_cli_usage(
				      "which file? a recording of heaptrack, or a heap profile "
				      "of pprof");
	input = strcmp(argv[0], "-") != 0 ? argv[0] : "stdin";
	if (!s->out.file.path) {
		make_default_name(&name, input);
		s->out.file.path = hl_strbuf_str(&name);
	}
	in = open_input(argv[0]);
	if (in < 0 || fstat(in, &st) < 0 || S_ISDIR(st.st_mode))
		hl_cli_error("%s cannot be read: %s", input,
			strerror(in >= 0 && S_ISDIR(st.st_mode) ? EISDIR : errno));
	else if (is_same_file(&st, s->out.file.path))
		hl_cli_error("%s is the input file; choose another output file with -o", input);
	else
		status = import_from(s, in, S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0, input);
	if (in >= 0)
		close(in);
	hl_strbuf_fini(&name);
	return status;
}

static const struct hl_opt import_opts[] = {
	HL_OPT_OUTPUT("FILE", "write the trace to FILE (default: the input's name with .hlt, in "
			      "the current directory)"),
	HL_OPT_OVERWRITE("FILE"),
	HL_OPT_UNSAFE_DIR,
	HL_OPT_QUIET("print nothing on success"),
	{0},
};

static const struct hl_example import_examples[] = {
	{"heaptrack.app.4711.zst", "writes heaptrack.app.4711.hlt"},
	{"-o app.hlt heap.pb.gz", "a heap profile of Go or tcmalloc"},
	{0},
};

const struct hl_cmd hl_cmd_import = {
	.name = "import",
	.summary = "convert a heaptrack recording or pprof profile to a trace",
	.usage = "[options] FILE",
	.examples = import_examples,
	.about = "FILE is a recording of heaptrack (file formats 1 to 3) or a heap profile of "
		 "pprof,\n"
		 "compressed by zstd or gzip or uncompressed; - is stdin. Data that FILE does not "
		 "have is\n"
		 "missing in the trace, too; heaplapse info lists it.\n",
	.opts = import_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct import),
	.run = run_import,
};
