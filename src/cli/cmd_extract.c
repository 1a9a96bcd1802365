/*
 * cmd_extract.c - gives back the files that a trace carries.
 *
 * Their paths are hostile: nothing is written outside the folder, through a link, or over a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/trace_file.h"
#include "collect/output.h"
#include "util/strbuf.h"
#include "util/text.h"

struct extract {
	struct hl_trace_opts common; /* first */
	const char *dir;
	bool list;
};

static const char *set_dir(void *state, const char *value)
{
	((struct extract *)state)->dir = value;
	return *value ? NULL : "a folder";
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

static void show(const struct hl_carried *f)
{
	struct hl_strbuf id = {0}, path = {0};

	put_hex(&id, f->build_id, f->build_id_len);
	hl_text_escape(&path, f->path);
	printf("%-6s %12" PRIu64 "  %-40s  %s\n", kind_name(f->kind), f->size,
		id.len ? hl_strbuf_str(&id) : "-", hl_strbuf_str(&path));
	hl_strbuf_fini(&id);
	hl_strbuf_fini(&path);
}

/* Where it goes below the folder: debug files where --sysroot and --symbols find them. */
static void place_of(const struct hl_carried *f, struct hl_strbuf *path)
{
	if (f->kind == HL_CARRIED_MODULE || f->build_id_len < 2) {
		hl_strbuf_puts(path, f->path);
		return;
	}
	hl_strbuf_printf(path, "usr/lib/debug/.build-id/%02x/", f->build_id[0]);
	put_hex(path, f->build_id + 1, f->build_id_len - 1);
	hl_strbuf_puts(path, ".debug");
}

/* One folder further, made if it is not there; takes `dir`. A descriptor or -errno. */
static int step(int dir, const char *name)
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

/* The folder of a file below `root`, and the file's own name in it. */
static int walk(int root, char *path, const char **base)
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
		dir = step(dir, name);
	}
	*base = name;
	if (dir >= 0 && (!name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)) {
		close(dir);
		return -EXDEV;
	}
	return dir;
}

/* Under its name only when it is whole, and only if nothing has that name. */
static int write_file(struct hl_model *m, size_t i, int dir, const char *base)
{
	int fd = hl_output_nameless(dir), err, got;
	bool named = fd < 0;

	if (named)
		fd = hl_output_take_name(dir, base, -1);
	if (fd < 0)
		return fd;
	err = hl_reader_copy_file(hl_model_reader(m), i, fd);
	if (!err && !named) {
		got = hl_output_take_name(dir, base, fd);
		err = got < 0 ? got : 0;
	} else if (err && named) {
		unlinkat(dir, base, 0);
	}
	close(fd);
	return err;
}

static const char *why_not(int err)
{
	switch (-err) {
	case EXDEV:
		return "its path leads out of the folder";
	case EEXIST:
		return "there is such a file, which is not overwritten; choose another folder with "
		       "-d";
	case ELOOP:
	case ENOTDIR:
		return "there is a link or a file where its folder should be";
	case EILSEQ:
		return "its path has control characters";
	case EBADMSG:
		return "it is damaged";
	}
	return strerror(-err);
}

/* Nobody could see such a name, or type it. */
static bool is_nameable(const struct hl_carried *f)
{
	for (const char *c = f->path; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	return !f->path_cut;
}

static int extract_one(struct hl_model *m, size_t i, int root)
{
	struct hl_strbuf path = {0};
	struct hl_carried f;
	const char *base;
	int dir, err = hl_reader_file(hl_model_reader(m), i, &f);

	if (err)
		return err;
	place_of(&f, &path);
	err = is_nameable(&f) ? hl_strbuf_error(&path) : -EILSEQ;
	if (!err) {
		dir = path.len ? walk(root, path.data, &base) : -EXDEV;
		err = dir < 0 ? dir : write_file(m, i, dir, base);
		if (dir >= 0)
			close(dir);
	}
	if (err)
		hl_cli_error("%s is left out: %s", f.path, why_not(err));
	hl_strbuf_fini(&path);
	return err;
}

static int extract_all(struct hl_model *m, const char *folder, size_t n, size_t *failed)
{
	int root, err = 0;

	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		err = -errno;
	root = err ? -1 : open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0) {
		hl_cli_error("%s: %s; choose another folder with -d", folder,
			strerror(err ? -err : errno));
		return HL_EXIT_IO;
	}
	for (size_t i = 0; i < n; i++)
		*failed += extract_one(m, i, root) != 0;
	close(root);
	hl_cli_error("%zu file%s in %s", n - *failed, n - *failed == 1 ? "" : "s", folder);
	return *failed ? HL_EXIT_IO : 0;
}

static int run(struct extract *s, struct hl_model *m, const char *trace)
{
	const char *slash = strrchr(trace, '/');
	struct hl_strbuf folder = {0};
	struct hl_carried f;
	size_t n = 0, failed = 0;
	int status = 0, err = hl_reader_n_files(hl_model_reader(m), &n);

	if (err) {
		hl_cli_error("%s", strerror(-err));
		return HL_EXIT_IO;
	}
	for (size_t i = 0; s->list && i < n; i++)
		if (hl_reader_file(hl_model_reader(m), i, &f) == 0)
			show(&f);
	if (n == 0)
		hl_cli_error("%s carries no files; heaplapse embed puts them into it", trace);
	if (n == 0 || s->list)
		return 0;
	hl_strbuf_printf(&folder, "%s.files", slash ? slash + 1 : trace);
	status = extract_all(m, s->dir ? s->dir : hl_strbuf_str(&folder), n, &failed);
	hl_strbuf_fini(&folder);
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
	status = run(s, m, argv[0]);
	if (hl_model_info(m)->damaged)
		hl_cli_error("the trace is damaged: %s", hl_model_info(m)->damage);
	if (!status)
		return hl_trace_file_close(m, &s->common, NULL);
	hl_model_close(m);
	return status;
}

static const struct hl_opt extract_opts[] = {
	{'d', "directory", "DIR", "write below DIR (default: FILE's name and .files, here)",
		set_dir},
	{'l', "list", NULL, "only list them: kind, size, build-id, path", set_list},
	HL_OPT_STRICT,
	{0},
};

static const struct hl_example extract_examples[] = {
	{"--list app.hlt", "what is in it"},
	{"-d root app.hlt", "write them to root/"},
	{0},
};

const struct hl_cmd hl_cmd_extract = {
	.name = "extract",
	.summary = "give back the files that a trace carries",
	.usage = "[options] FILE",
	.examples = extract_examples,
	.about = "Below DIR they lie where they lay on the machine that was recorded, debug files "
		 "by their\n"
		 "build-id: report --sysroot=DIR takes them from there, and so does gdb.\n",
	.opts = extract_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct extract),
	.run = run_extract,
};
