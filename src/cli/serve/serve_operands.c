/* SPDX-License-Identifier: Apache-2.0 */
/* serve_operands.c - see serve_operands.h. */
#include "cli/serve/serve_operands.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/files/trace_file.h"
#include "model/session/session.h"
#include "util/strbuf.h"

static int add_path(struct hl_serve_operands *o, const char *path)
{
	char *copy;

	for (size_t i = 0; i < o->paths.len; i++) {
		if (strcmp(o->paths.data[i], path) == 0)
			return 0;
	}
	copy = strdup(path);
	if (!copy || hl_vec_push(&o->paths, copy)) {
		free(copy);
		hl_cli_error("%s", strerror(ENOMEM));
		return HL_EXIT_IO;
	}
	return 0;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool has_session(const char *directory)
{
	struct hl_strbuf b = {0};
	struct stat st;
	bool has;

	hl_strbuf_printf(&b, "%s/session", directory);
	has = stat(hl_strbuf_str(&b), &st) == 0;
	hl_strbuf_fini(&b);
	return has;
}

/* The characters of a directory's name are not a pattern. */
static int add_directory(struct hl_serve_operands *o, const char *directory)
{
	struct hl_strbuf pattern = {0};
	glob_t found = {0};
	int status = 0;

	for (const char *s = directory; *s; s++) {
		if (strchr("*?[\\", *s))
			hl_strbuf_putc(&pattern, '\\');
		hl_strbuf_putc(&pattern, *s);
	}
	hl_strbuf_puts(&pattern, "/*.hlt");
	glob(hl_strbuf_str(&pattern), 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc && !status; i++) {
		if (!is_directory(found.gl_pathv[i]))
			status = add_path(o, found.gl_pathv[i]);
	}
	if (!status && found.gl_pathc == 0) {
		hl_cli_error("%s has no trace (*.hlt); record one into it: heaplapse record -o "
			     "%s/app.hlt ./app",
			directory, directory);
		status = HL_EXIT_IO;
	}
	globfree(&found);
	hl_strbuf_fini(&pattern);
	return status;
}

static int add_session(struct hl_serve_operands *o, const char *path)
{
	struct hl_session_list *s;
	int status = 0, err = hl_session_list_open(&s, path);

	if (err)
		return add_path(o, path); /* serving it shows the reason */
	for (size_t i = 0; i < s->files.len && !status; i++)
		status = add_path(o, s->files.data[i].path);
	if (!status && s->files.len == 0)
		status = add_path(o, path);
	hl_session_list_free(s);
	return status;
}

static int add_operand(struct hl_serve_operands *o, const char *path)
{
	if (is_directory(path) && !has_session(path))
		return add_directory(o, path);
	return add_session(o, path);
}

int hl_serve_operands_find(struct hl_serve_operands *o, int argc, char **argv)
{
	char *newest = NULL;
	int status = 0;

	if (argc == 0) {
		status = hl_trace_file_find_newest(&newest);
		if (!status)
			status = add_operand(o, newest);
		free(newest);
	}
	for (int i = 0; i < argc && !status; i++)
		status = add_operand(o, argv[i]);
	return status;
}

void hl_serve_operands_fini(struct hl_serve_operands *o)
{
	for (size_t i = 0; i < o->paths.len; i++)
		free(o->paths.data[i]);
	hl_vec_free(&o->paths);
}
