/* tags_draw.c - see tags_draw.h. */
#include "cli/tags_draw.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

#include "cli/bmp.h"
#include "cli/cli.h"
#include "tags/sink.h"

/* Suffixes, and what graphviz calls them; a BMP is made from a PNG (bmp.h). */
static const struct {
	const char *suffix;
	enum hl_tags_form form;
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

bool hl_tags_form_of(const char *path, enum hl_tags_form *form)
{
	int i = find_suffix(path);

	if (i >= 0)
		*form = suffixes[i].form;
	return i >= 0;
}

static int flush(struct hl_sink *s)
{
	errno = 0;
	if (fwrite(s->room, 1, s->len, s->arg) == s->len)
		return 0;
	return errno ? -errno : -EIO;
}

void hl_tags_print(FILE *to, const struct hl_tag_report *r, enum hl_tags_form form, uint64_t least)
{
	char room[8192];
	struct hl_sink s = {.room = room, .cap = sizeof(room), .flush = flush, .arg = to};

	if (form == HL_TAGS_TEXT)
		hl_tag_text(&s, r, least);
	else if (form == HL_TAGS_JSON)
		hl_tag_json(&s, r);
	else
		hl_tag_dot(&s, r);
	hl_sink_end(&s);
}

/* dot, with our end of its stdin; -1 with errno. */
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

static int complain_dot(const char *path, int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		hl_cli_error("%s needs graphviz to be drawn: install it (apt install graphviz), or "
			     "write a .dot",
			path);
	else
		hl_cli_error("graphviz could not draw %s: see what it says above; every graphviz "
			     "draws .svg, not every one .gif, .jpg and .svgz",
			path);
	return HL_EXIT_IO;
}

/* shown: the file as the user knows it. */
static int draw(
	const char *path, const char *option, const char *shown, const struct hl_tag_report *r)
{
	void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* it may not want all of it */
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
	signal(SIGPIPE, before);
	if (pid < 0 || !to) {
		hl_cli_error("graphviz cannot be started: %s", strerror(errno));
		return HL_EXIT_IO;
	}
	return status ? complain_dot(shown, status) : HL_EXIT_OK;
}

/* What graphviz has written to `png`, as BMP. */
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
	hl_cli_error("%s cannot be written: %s; .png works", path, strerror(-err));
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
	status = draw(name, "-Tpng", path, r);
	if (status == HL_EXIT_OK)
		status = write_bmp(path, png);
	close(png);
	return status;
}

static int write_plain(
	const char *path, const struct hl_tag_report *r, enum hl_tags_form form, uint64_t least)
{
	FILE *to = fopen(path, "we");
	int bad;

	if (!to) {
		hl_cli_error("%s cannot be written: %s", path, strerror(errno));
		return HL_EXIT_IO;
	}
	hl_tags_print(to, r, form, least);
	bad = ferror(to);
	bad |= fclose(to);
	if (bad) {
		hl_cli_error(
			"%s could not be written whole: %s", path, strerror(errno ? errno : EIO));
		return HL_EXIT_IO;
	}
	return HL_EXIT_OK;
}

/* Is there a folder to write to? graphviz says it worse. */
static int check_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : NULL;
	int err = folder && access(folder, X_OK) < 0 ? errno : 0;

	free(folder);
	if (!err)
		return HL_EXIT_OK;
	hl_cli_error("%s cannot be written: %s", path, strerror(err));
	return HL_EXIT_IO;
}

int hl_tags_write(
	const char *path, const struct hl_tag_report *r, enum hl_tags_form form, uint64_t least)
{
	if (form != HL_TAGS_PICTURE)
		return write_plain(path, r, form, least);
	if (check_folder(path))
		return HL_EXIT_IO;
	if (!suffixes[find_suffix(path)].option)
		return draw_bmp(path, r);
	return draw(path, suffixes[find_suffix(path)].option, path, r);
}
