/*
 * files.c - see files.h.
 */
#include "views/export/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int hl_export_find_table(const struct hl_export_format *f, const char *name)
{
	for (int i = 0; f->tables && f->tables[i]; i++) {
		if (strcmp(f->tables[i], name) == 0)
			return i;
	}
	return -1;
}

/* Can there be others beside it? */
static bool is_plain(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && (stat(path, &st) < 0 || S_ISREG(st.st_mode));
}

/* "app.parquet", "stacks": "app.stacks.parquet" */
static char *path_beside(const char *path, const char *table, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);
	char *made;

	if (n > m && strcmp(path + n - m, suffix) == 0)
		n -= m;
	return asprintf(&made, "%.*s.%s%s", (int)n, path, table, suffix) < 0 ? NULL : made;
}

int hl_export_files_init(
	struct hl_export_files *s, const struct hl_export_format *f, const char *path, int table)
{
	int first = table < 0 ? 0 : table, missing = 0;

	memset(s, 0, sizeof(*s));
	s->paths[first] = strdup(path);
	missing = !s->paths[first];
	for (int i = 1; table < 0 && f->tables && f->tables[i] && is_plain(path); i++) {
		s->paths[i] = path_beside(path, f->tables[i], f->suffix);
		missing |= !s->paths[i];
	}
	if (missing)
		hl_export_files_fini(s);
	return missing ? -ENOMEM : 0;
}

int hl_export_files_open(
	struct hl_export_files *s, const struct hl_export_format *f, struct hl_export_job *x)
{
	int err = 0;

	for (int i = 0; i < HL_EXPORT_TABLES && !err; i++) {
		if (!s->paths[i])
			continue;
		s->failed = s->paths[i];
		err = hl_output_open(&s->outputs[i], s->paths[i], !f->binary);
		if (err)
			s->outputs[i] = NULL;
		else
			x->tables[i] = hl_output_file(s->outputs[i]);
		if (!err && !x->out)
			x->out = x->tables[i];
	}
	if (err)
		hl_export_files_drop(s);
	return err;
}

bool hl_export_files_failed(const struct hl_export_files *s)
{
	for (int i = 0; i < HL_EXPORT_TABLES; i++) {
		if (s->outputs[i] && ferror(hl_output_file(s->outputs[i])))
			return true;
	}
	return false;
}

static int flush_all(struct hl_export_files *s)
{
	int err = 0;

	for (int i = 0; i < HL_EXPORT_TABLES && !err; i++) {
		if (!s->outputs[i])
			continue;
		s->failed = s->paths[i];
		err = hl_output_flush(s->outputs[i]);
	}
	return err;
}

int hl_export_files_finish(struct hl_export_files *s)
{
	int err = flush_all(s);

	/* The first is the last to be there: whoever sees it finds the others. */
	for (int i = HL_EXPORT_TABLES; i-- > 0 && !err;) {
		if (!s->outputs[i])
			continue;
		s->failed = s->paths[i];
		err = hl_output_finish(s->outputs[i]);
		s->outputs[i] = NULL;
	}
	if (err)
		hl_export_files_drop(s);
	return err;
}

void hl_export_files_drop(struct hl_export_files *s)
{
	for (int i = 0; i < HL_EXPORT_TABLES; i++) {
		if (s->outputs[i])
			hl_output_drop(s->outputs[i]);
		s->outputs[i] = NULL;
	}
}

void hl_export_files_fini(struct hl_export_files *s)
{
	for (int i = 0; i < HL_EXPORT_TABLES; i++)
		free(s->paths[i]);
	memset(s, 0, sizeof(*s));
}
