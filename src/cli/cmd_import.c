/*
 * cmd_import.c - a trace from a recording or a profile of another tool.
 *
 * The trace has its name only when it is whole: until then it is a file without one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "import/import.h"
#include "util/strbuf.h"
#include "util/text.h"

struct import {
	const char *output;
	bool overwrite, quiet;
};

static const char *set_output(void *state, const char *value)
{
	((struct import *)state)->output = value;
	return *value ? NULL : "a name for the trace";
}

static const char *set_overwrite(void *state, const char *value)
{
	((struct import *)state)->overwrite = true;
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

static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* A file that has no name, or where that is not possible one with a name of its own in *temp. */
static int open_nameless(const char *path, char **temp)
{
	char *folder = folder_of(path);
	int fd = folder ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;

	*temp = NULL;
	if (fd < 0 && folder && errno != ENOENT && errno != ENOTDIR && errno != EACCES &&
		asprintf(temp, "%s/.heaplapse-XXXXXX", folder) > 0)
		fd = mkostemp(*temp, O_CLOEXEC);
	free(folder);
	return fd;
}

/* Under `name`, which must not be there yet. */
static int link_to(int fd, const char *temp, const char *name)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (temp)
		return link(temp, name);
	return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/* In place of what has the name now, in one step. */
static int replace(int fd, const char *temp, const char *name)
{
	char *other = NULL;
	int err = -1;

	if (temp)
		return rename(temp, name);
	if (asprintf(&other, "%s.%ld", name, (long)getpid()) < 0)
		return -1;
	if (link_to(fd, NULL, other) == 0) {
		err = rename(other, name);
		if (err)
			unlink(other);
	}
	free(other);
	return err;
}

static int no_output(const char *name, int err)
{
	if (err == EEXIST)
		hl_cli_error("%s exists and is not overwritten; choose another name with -o, or "
			     "-f to replace it",
			name);
	else
		hl_cli_error("%s cannot be written: %s", name, strerror(err));
	return HL_EXIT_IO;
}

/* --- the work --- */

static void say_done(const char *name, const struct hl_import_result *r)
{
	char events[HL_TEXT_SIZE_MAX], bytes[HL_TEXT_SIZE_MAX];

	hl_cli_error("%s: %s events of %s, %s; heaplapse report %s shows them", name,
		hl_text_count(events, r->events), r->source, hl_text_bytes(bytes, r->bytes), name);
}

static int import_to(struct import *s, int in, uint64_t size, const char *input, const char *name)
{
	struct hl_import_result r;
	char *temp = NULL;
	int out = open_nameless(name, &temp), keep, err = 0, status = HL_EXIT_IO;

	if (out < 0)
		return no_output(name, errno);
	keep = fcntl(out, F_DUPFD_CLOEXEC, 0); /* the writer closes its own */
	if (keep < 0) {
		err = errno;
		close(out);
		no_output(name, err);
	} else if (hl_import(in, size, out, &r) < 0) {
		hl_cli_error("%s: %s", input, r.text);
	} else if ((s->overwrite ? replace(keep, temp, name) : link_to(keep, temp, name)) < 0) {
		no_output(name, errno);
	} else {
		status = HL_EXIT_OK;
		if (r.cut)
			hl_cli_error(
				"%s ends in its middle: %s has what comes before", input, name);
		if (r.notes[0])
			hl_cli_error("%s: %s", input, r.notes);
		if (!s->quiet)
			say_done(name, &r);
	}
	if (keep >= 0)
		close(keep);
	if (temp)
		unlink(temp);
	free(temp);
	return status;
}

static int run_import(void *state, int argc, char **argv)
{
	struct import *s = state;
	struct hl_strbuf name = {0};
	struct stat st;
	int in, status;

	if (argc != 1)
		return argc ? hl_cli_usage(
				      "takes one file, but \"%s\" follows \"%s\"", argv[1], argv[0])
			    : hl_cli_usage(
				      "which file? a recording of heaptrack, or a heap profile "
				      "of pprof");
	if (s->output)
		hl_strbuf_puts(&name, s->output);
	else
		default_name(&name, argv[0]);
	in = open(argv[0], O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (in < 0 || fstat(in, &st) < 0 || S_ISDIR(st.st_mode)) {
		hl_cli_error("%s cannot be read: %s", argv[0],
			strerror(in >= 0 && S_ISDIR(st.st_mode) ? EISDIR : errno));
		status = HL_EXIT_IO;
	} else if (!s->overwrite && access(hl_strbuf_str(&name), F_OK) == 0) {
		status = no_output(hl_strbuf_str(&name), EEXIST);
	} else {
		status = import_to(s, in, S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0, argv[0],
			hl_strbuf_str(&name));
	}
	if (in >= 0)
		close(in);
	hl_strbuf_fini(&name);
	return status;
}

static const struct hl_opt import_opts[] = {
	{'o', "output", "FILE", "the trace (default: the name of what is read, with .hlt, here)",
		set_output},
	{'f', "overwrite", NULL, "replace FILE if it exists", set_overwrite},
	{'q', "quiet", NULL, "say nothing when all went well", set_quiet},
	{0},
};

static const struct hl_example import_examples[] = {
	{"heaptrack.app.4711.zst", "writes heaptrack.app.4711.hlt"},
	{"-o app.hlt heap.pb.gz", "a heap profile of Go, jemalloc or tcmalloc"},
	{0},
};

const struct hl_cmd hl_cmd_import = {
	.name = "import",
	.summary = "make a trace of a heaptrack recording or pprof profile",
	.usage = "[options] FILE",
	.examples = import_examples,
	.about = "FILE is a recording of heaptrack (file formats 1 to 3) or a heap profile of "
		 "pprof,\n"
		 "packed by zstd or gzip or not at all. What it does not know, the trace does not\n"
		 "know either: heaplapse info lists it.\n",
	.opts = import_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct import),
	.run = run_import,
};
