/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_extract.c - writes the embedded files of a trace to a directory.
 *
 * Their paths are untrusted: nothing is written outside the directory, through a symbolic link, or
 * over an existing file.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/files/trace_file.h"
#include "collect/output/trace_output.h"
#include "util/strbuf.h"
#include "util/safe_text.h"

struct extract {
	struct hl_trace_opts common; /* must be the first member */
	const char *dir;
	bool list;
};

static const char *set_dir(void *state, const char *value)
{
	((struct extract *)state)->dir = value;
	return *value ? NULL : "a directory";
}

static const char *set_list(void *state, const char *value)
{
	((struct extract *)state)->list = true;
	return NULL;
}

static void put_hex(struct hl_strbuf *b, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hl_strbuf_printf(b, "%02x", bytes[i]);
}

static const char *kind_name(unsigned kind)
{
	static const char *const names[] = {"module", "debug", "shared"};

	return kind < HL_ARRAY_LEN(names) ? names[kind] : "unknown";
}

static void print_file(const struct hl_embedded_file *f)
{
	struct hl_strbuf id = {0}, path = {0};

	put_hex(&id, f->build_id, f->build_id_len);
	hl_text_escape(&path, f->path);
	printf("%-6s %12" PRIu64 "  %-40s  %s\n", kind_name(f->kind), f->size,
		id.len ? hl_strbuf_str(&id) : "-", hl_strbuf_str(&path));
	hl_strbuf_fini(&id);
	hl_strbuf_fini(&path);
}

/* Builds the path below the output directory. Debug files go where --sysroot and --symbols find
 * them. */
static void build_output_path(const struct hl_embedded_file *f, struct hl_strbuf *path)
{
	if (f->kind == HL_EMBEDDED_MODULE || f->build_id_len < 2) {
		hl_strbuf_puts(path, f->path);
		return;
	}
	hl_strbuf_printf(path, "usr/lib/debug/.build-id/%02x/", f->build_id[0]);
	put_hex(path, f->build_id + 1, f->build_id_len - 1);
	hl_strbuf_puts(path, ".debug");
}

/* Opens the subdirectory `name`, creating it if needed, and closes `dir`. Returns a descriptor or
 * -errno. */
static int enter_directory(int dir, const char *name)
{
	int next = -1, err = 0;

	if (strcmp(name, "..") == 0)
		err = -EXDEV;
	else if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
		err = -errno;
	if (!err) {
		next = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		err = next < 0 ? -errno : 0;
	}
	close(dir);
	return err ? err : next;
}

/* Opens the directory of a file below `root`; *base is the file's name in it. Returns a descriptor
 * or -errno. */
static int open_parent(int root, char *path, const char **base)
{
	int dir = fcntl(root, F_DUPFD_CLOEXEC, 0);
	char *rest, *name, *next;

	name = strtok_r(path, "/", &rest);
	for (; dir >= 0 && name; name = next) {
		next = strtok_r(NULL, "/", &rest);
		if (strcmp(name, ".") == 0 && next)
			continue;
		if (!next)
			break;
		dir = enter_directory(dir, name);
	}
	*base = name;
	if (dir >= 0 && (!name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)) {
		close(dir);
		return -EXDEV;
	}
	return dir;
}

/* The file gets its name only when it is complete, and only if no file has that name. */
static int write_file(struct hl_model *m, size_t i, int dir, const char *base)
{
	int fd = hl_trace_output_create_unnamed(dir), err, got;
	bool named = fd < 0;

	if (named)
		fd = hl_trace_output_link_name(dir, base, -1);
	if (fd < 0)
		return fd;
	err = hl_reader_copy_file(hl_model_reader(m), i, fd);
	if (!err && !named) {
		got = hl_trace_output_link_name(dir, base, fd);
		err = got < 0 ? got : 0;
	} else if (err && named) {
		unlinkat(dir, base, 0);
	}
	close(fd);
	return err;
}

static const char *error_text(int err)
{
	switch (-err) {
	case EXDEV:
		return "its path leads out of the directory";
	case EEXIST:
		return "the file exists and is not overwritten; choose another directory with -d";
	case ELOOP:
	case ENOTDIR:
		return "a component of its path is a link or a file, not a directory";
	case EILSEQ:
		return "its path has control characters";
	case EBADMSG:
		return "it is damaged";
	}
	return strerror(-err);
}

/* False for names with control characters, which a user could neither see nor type, and for
 * truncated names. */
static bool is_usable_name(const struct hl_embedded_file *f)
{
	for (const char *c = f->path; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	return !f->path_truncated;
}

static int extract_one(struct hl_model *m, size_t i, int root)
{
	struct hl_strbuf path = {0};
	struct hl_embedded_file f;
	const char *base;
	int dir, err = hl_reader_file(hl_model_reader(m), i, &f);

	if (err)
		return err;
	build_output_path(&f, &path);
	err = is_usable_name(&f) ? hl_strbuf_error(&path) : -EILSEQ;
	if (!err) {
		dir = path.len ? open_parent(root, path.data, &base) : -EXDEV;
		err = dir < 0 ? dir : write_file(m, i, dir, base);
		if (dir >= 0)
			close(dir);
	}
	if (err)
		hl_cli_error("skipped %s: %s", f.path, error_text(err));
	hl_strbuf_fini(&path);
	return err;
}

static int extract_all(struct hl_model *m, const char *directory, size_t n, size_t *failed)
{
	int root, err = 0;

	if (mkdir(directory, 0700) < 0 && errno != EEXIST)
		err = -errno;
	root = err ? -1 : open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0) {
		hl_cli_error("%s: %s; choose another directory with -d", directory,
			strerror(err ? -err : errno));
		return HL_EXIT_IO;
	}
	for (size_t i = 0; i < n; i++)
		*failed += extract_one(m, i, root) != 0;
	close(root);
	hl_cli_info(
		"extracted %zu file%s to %s", n - *failed, n - *failed == 1 ? "" : "s", directory);
	return *failed ? HL_EXIT_IO : 0;
}

static int extract_files(struct extract *s, struct hl_model *m, const char *trace)
{
	const char *slash = strrchr(trace, '/');
	struct hl_strbuf directory = {0};
	struct hl_embedded_file f;
	size_t n = 0, failed = 0;
	int status = 0, err = hl_reader_n_files(hl_model_reader(m), &n);

	if (err) {
		hl_cli_error("%s", strerror(-err));
		return HL_EXIT_IO;
	}
	for (size_t i = 0; s->list && i < n; i++)
		if (hl_reader_file(hl_model_reader(m), i, &f) == 0)
			print_file(&f);
	if (n == 0)
		hl_cli_info("%s has no embedded files; heaplapse embed adds them", trace);
	if (n == 0 || s->list)
		return 0;
	hl_strbuf_printf(&directory, "%s.files", slash ? slash + 1 : trace);
	status = extract_all(m, s->dir ? s->dir : hl_strbuf_str(&directory), n, &failed);
	hl_strbuf_fini(&directory);
	return status;
}

static int run_extract(void *state, int argc, char **argv)
{
	struct extract *s = state;
	struct hl_model *m;
	int status;

	if (argc == 0)
		return hl_cli_usage("which trace? for example: heaplapse extract app.hlt");
	status = hl_trace_file_open(argc, argv, &m);
	if (status)
		return status;
	status = extract_files(s, m, argv[0]);
	if (hl_model_info(m)->damaged)
		hl_cli_error("the trace is damaged: %s", hl_model_info(m)->damage);
	if (!status)
		return hl_trace_file_close(m, &s->common, NULL);
	hl_model_close(m);
	return status;
}

static const struct hl_opt extract_opts[] = {
	{'d', "directory", "DIR", "write below DIR (default: FILE.files in the current directory)",
		set_dir},
	{'l', "list", NULL, "only list the files: kind, size, build-id, path", set_list},
	HL_OPT_STRICT,
	{0},
};

static const struct hl_example extract_examples[] = {
	{"--list app.hlt", "list the embedded files"},
	{"-d root app.hlt", "write them to root/"},
	{0},
};

const struct hl_cmd hl_cmd_extract = {
	.name = "extract",
	.summary = "extract the files that are embedded in a trace",
	.usage = "[options] FILE",
	.examples = extract_examples,
	.about = "Files are written below DIR at the path that they had on the recorded machine, "
		 "debug\n"
		 "files by build-id. report --sysroot=DIR and gdb find them there.\n",
	.opts = extract_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct extract),
	.run = run_extract,
};
