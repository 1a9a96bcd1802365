/* SPDX-License-Identifier: Apache-2.0 */
/* tags_draw.c - see tags_draw.h. */
#include "cli/tags/tags_draw.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

#include "cli/tags/bmp.h"
#include "cli/cli.h"
#include "tags/text_sink.h"

/* Suffixes and the option of Graphviz for each. A BMP is made from a PNG (bmp.h). */
static const struct {
	const char *suffix;
	enum hl_tags_format form;
	const char *option;
} suffixes[] = {
	{".txt", HL_TAGS_TEXT, NULL},
	{".json", HL_TAGS_JSON, NULL},
	{".dot", HL_TAGS_DOT, NULL},
	{".gv", HL_TAGS_DOT, NULL},
	{".svg", HL_TAGS_PICTURE, "-Tsvg"},
	{".svgz", HL_TAGS_PICTURE, "-Tsvgz"},
	{".png", HL_TAGS_PICTURE, "-Tpng"},
	{".pdf", HL_TAGS_PICTURE, "-Tpdf"},
	{".gif", HL_TAGS_PICTURE, "-Tgif"},
	{".jpg", HL_TAGS_PICTURE, "-Tjpg"},
	{".jpeg", HL_TAGS_PICTURE, "-Tjpg"},
	{".bmp", HL_TAGS_PICTURE, NULL},
};

static int find_suffix(const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < HL_ARRAY_LEN(suffixes); i++) {
		size_t n = strlen(suffixes[i].suffix);

		if (len > n && !strcasecmp(path + len - n, suffixes[i].suffix))
			return (int)i;
	}
	return -1;
}

bool hl_tags_format_of_path(const char *path, enum hl_tags_format *form)
{
	int i = find_suffix(path);

	if (i >= 0)
		*form = suffixes[i].form;
	return i >= 0;
}

static int flush_sink(struct hl_text_sink *s)
{
	errno = 0;
	if (fwrite(s->buf, 1, s->len, s->arg) == s->len)
		return 0;
	return errno ? -errno : -EIO;
}

void hl_tags_print(
	FILE *to, const struct hl_tag_report *r, enum hl_tags_format form, uint64_t min_share)
{
	char buf[8192];
	struct hl_text_sink s = {.buf = buf, .cap = sizeof(buf), .flush = flush_sink, .arg = to};

	if (form == HL_TAGS_TEXT)
		hl_tag_text(&s, r, min_share);
	else if (form == HL_TAGS_JSON)
		hl_tag_json(&s, r);
	else
		hl_tag_dot(&s, r);
	hl_text_sink_end(&s);
}

/* Starts dot. *to is a stream to its stdin. Returns -1 with errno on failure. */
static pid_t start_dot(const char *option, const char *path, FILE **to)
{
	int pipes[2];
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		signal(SIGPIPE, SIG_DFL);
		dup2(pipes[0], 0);
		execlp("dot", "dot", option, "-o", path, (char *)NULL);
		_exit(errno == ENOENT ? 127 : 126);
	}
	close(pipes[0]);
	*to = pid > 0 ? fdopen(pipes[1], "w") : NULL;
	if (!*to)
		close(pipes[1]);
	return pid;
}

static int print_dot_error(const char *path, int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		hl_cli_error("%s needs graphviz: install it (apt install graphviz), or write a "
			     ".dot file",
			path);
	else
		hl_cli_error("graphviz could not draw %s: see its message above; not every "
			     "graphviz supports .gif, .jpg and .svgz, all support .svg",
			path);
	return HL_EXIT_IO;
}

/* Draws to `path`. shown: the name of the file in messages. */
static int draw_graph(
	const char *path, const char *option, const char *shown, const struct hl_tag_report *r)
{
	void (*old_handler)(int) =
		signal(SIGPIPE, SIG_IGN); /* dot may exit before it has read everything */
	FILE *to = NULL;
	pid_t pid = start_dot(option, path, &to);
	int status = 0;

	if (to) {
		hl_tags_print(to, r, HL_TAGS_DOT, 0);
		fclose(to);
	}
	if (pid > 0)
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	signal(SIGPIPE, old_handler);
	if (pid < 0 || !to) {
		hl_cli_error("graphviz cannot be started: %s", strerror(errno));
		return HL_EXIT_IO;
	}
	return status ? print_dot_error(shown, status) : HL_EXIT_OK;
}

/* Converts the picture in `png` to BMP. */
static int write_bmp(const char *path, int png)
{
	off_t n = lseek(png, 0, SEEK_END);
	void *map = n > 0 ? mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, png, 0) : MAP_FAILED;
	FILE *to = map != MAP_FAILED ? fopen(path, "we") : NULL;
	int err = to ? hl_bmp_from_png(to, map, (size_t)n) : -errno;

	if (to && (ferror(to) | fclose(to)) && !err)
		err = errno ? -errno : -EIO;
	if (map != MAP_FAILED)
		munmap(map, (size_t)n);
	if (!err)
		return HL_EXIT_OK;
	hl_cli_error("cannot write %s: %s; use .png", path, strerror(-err));
	return HL_EXIT_IO;
}

static int draw_bmp(const char *path, const struct hl_tag_report *r)
{
	int status, png = memfd_create("png", 0); /* dot inherits it */
	char name[64];

	if (png < 0) {
		hl_cli_error("%s cannot be drawn: %s", path, strerror(errno));
		return HL_EXIT_IO;
	}
	snprintf(name, sizeof(name), "/proc/self/fd/%d", png);
	status = draw_graph(name, "-Tpng", path, r);
	if (status == HL_EXIT_OK)
		status = write_bmp(path, png);
	close(png);
	return status;
}

static int write_plain(const char *path, const struct hl_tag_report *r, enum hl_tags_format form,
	uint64_t min_share)
{
	FILE *to = fopen(path, "we");
	int failed;

	if (!to) {
		hl_cli_error("%s cannot be written: %s", path, strerror(errno));
		return HL_EXIT_IO;
	}
	hl_tags_print(to, r, form, min_share);
	failed = ferror(to);
	failed |= fclose(to);
	if (failed) {
		hl_cli_error("%s is incomplete: %s", path, strerror(errno ? errno : EIO));
		return HL_EXIT_IO;
	}
	return HL_EXIT_OK;
}

/* Checks that the directory exists, because the message of Graphviz is less clear. */
static int check_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : NULL;
	int err = directory && access(directory, X_OK) < 0 ? errno : 0;

	free(directory);
	if (!err)
		return HL_EXIT_OK;
	hl_cli_error("%s cannot be written: %s", path, strerror(err));
	return HL_EXIT_IO;
}

int hl_tags_write(const char *path, const struct hl_tag_report *r, enum hl_tags_format form,
	uint64_t min_share)
{
	if (form != HL_TAGS_PICTURE)
		return write_plain(path, r, form, min_share);
	if (check_directory(path))
		return HL_EXIT_IO;
	if (!suffixes[find_suffix(path)].option)
		return draw_bmp(path, r);
	return draw_graph(path, suffixes[find_suffix(path)].option, path, r);
}
