/*
 * cmd_import.c - a trace from a recording or a profile of another tool.
 *
 * The trace has its name only when it is whole (new_file.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/new_file.h"
#include "import/import.h"
#include "util/strbuf.h"
#include "util/text.h"

struct import {
	struct hl_new_file out;
	bool quiet;
};

static const char *set_output(void *state, const char *value)
{
	((struct import *)state)->out.path = value;
	return hl_new_file_wrong_name(value);
}

static const char *set_overwrite(void *state, const char *value)
{
	((struct import *)state)->out.overwrite = true;
	return NULL;
}

static const char *set_force(void *state, const char *value)
{
	((struct import *)state)->out.anywhere = true;
	return NULL;
}

static const char *set_quiet(void *state, const char *value)
{
	((struct import *)state)->quiet = true;
	return NULL;
}

/* --- the name of the trace --- */

/* heaptrack.app.4711.zst -> heaptrack.app.4711.hlt, here. */
static void default_name(struct hl_strbuf *name, const char *input)
{
	static const char *const endings[] = {".zst", ".gz", ".pb"};
	const char *slash = strrchr(input, '/');

	hl_strbuf_puts(name, slash ? slash + 1 : input);
	for (size_t i = 0; i < HL_ARRAY_LEN(endings); i++) {
		size_t n = strlen(endings[i]);

		if (name->len > n && !strcmp(name->data + name->len - n, endings[i])) {
			name->len -= n;
			name->data[name->len] = '\0';
		}
	}
	hl_strbuf_puts(name, ".hlt");
}

/* --- the work --- */

static void say_done(const char *name, const struct hl_import_result *r)
{
	char events[HL_TEXT_SIZE_MAX], bytes[HL_TEXT_SIZE_MAX];

	hl_cli_error("%s: %s events of %s, %s; heaplapse report %s shows them", name,
		hl_text_count(events, r->events), r->source, hl_text_bytes(bytes, r->bytes), name);
}

static void say_all(struct import *s, const char *input, const struct hl_import_result *r)
{
	if (r->cut)
		hl_cli_error("%s ends in its middle: %s has what comes before", input, s->out.path);
	if (r->notes[0])
		hl_cli_error("%s: %s", input, r->notes);
	if (!s->quiet)
		say_done(s->out.path, r);
}

static int import_from(struct import *s, int in, uint64_t size, const char *input)
{
	struct hl_import_result r;
	int status = hl_new_file_open(&s->out), out;

	if (status)
		return status;
	out = fcntl(s->out.fd, F_DUPFD_CLOEXEC, 0); /* the writer closes its own */
	if (out < 0)
		return hl_new_file_drop(&s->out, -errno);
	if (hl_import(in, size, out, &r) < 0) {
		hl_cli_error("%s: %s", input, r.text);
		return hl_new_file_drop(&s->out, 0);
	}
	status = hl_new_file_keep(&s->out);
	if (!status)
		say_all(s, input, &r);
	return status;
}

static bool is_same(const struct stat *st, const char *path)
{
	struct stat other;

	return stat(path, &other) == 0 && other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

/* Never a file called "-"; and of stdin our own copy, which may be closed. */
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
	if (!s->out.path) {
		default_name(&name, input);
		s->out.path = hl_strbuf_str(&name);
	}
	in = open_input(argv[0]);
	if (in < 0 || fstat(in, &st) < 0 || S_ISDIR(st.st_mode))
		hl_cli_error("%s cannot be read: %s", input,
			strerror(in >= 0 && S_ISDIR(st.st_mode) ? EISDIR : errno));
	else if (is_same(&st, s->out.path))
		hl_cli_error("%s is what is read; give the trace another name with -o", input);
	else
		status = import_from(s, in, S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0, input);
	if (in >= 0)
		close(in);
	hl_strbuf_fini(&name);
	return status;
}

static const struct hl_opt import_opts[] = {
	{'o', "output", "FILE", "the trace (default: the name of what is read, with .hlt, here)",
		set_output},
	{'f', "overwrite", NULL, "replace FILE if it exists", set_overwrite},
	{0, "force", NULL, "write also into a folder that everybody may change", set_force},
	{'q', "quiet", NULL, "say nothing when all went well", set_quiet},
	{0},
};

static const struct hl_example import_examples[] = {
	{"heaptrack.app.4711.zst", "writes heaptrack.app.4711.hlt"},
	{"-o app.hlt heap.pb.gz", "a heap profile of Go or tcmalloc"},
	{0},
};

const struct hl_cmd hl_cmd_import = {
	.name = "import",
	.summary = "make a trace of a heaptrack recording or pprof profile",
	.usage = "[options] FILE",
	.examples = import_examples,
	.about = "FILE is a recording of heaptrack (file formats 1 to 3) or a heap profile of "
		 "pprof,\n"
		 "packed by zstd or gzip or not at all; - is stdin. What it does not know, the "
		 "trace\n"
		 "does not know either: heaplapse info lists it.\n",
	.opts = import_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct import),
	.run = run_import,
};
