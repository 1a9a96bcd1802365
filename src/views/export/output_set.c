/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_set.c - see output_set.h.
 */
#include "views/export/output_set.h"

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

/* Returns whether other files can be next to it. */
static bool is_regular_file(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && (stat(path, &st) < 0 || S_ISREG(st.st_mode));
}

/* "app.parquet", "stacks" -> "app.stacks.parquet" */
static char *make_table_path(const char *path, const char *table, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);
	char *table_path;

	if (n > m && strcmp(path + n - m, suffix) == 0)
		n -= m;
	return asprintf(&table_path, "%.*s.%s%s", (int)n, path, table, suffix) < 0 ? NULL
										   : table_path;
}

int hl_output_set_init(
	struct hl_output_set *s, const struct hl_export_format *f, const char *path, int table)
{
	int first = table < 0 ? 0 : table, no_memory = 0;

	memset(s, 0, sizeof(*s));
	s->paths[first] = strdup(path);
	no_memory = !s->paths[first];
	for (int i = 1; table < 0 && f->tables && f->tables[i] && is_regular_file(path); i++) {
		s->paths[i] = make_table_path(path, f->tables[i], f->suffix);
		no_memory |= !s->paths[i];
	}
	if (no_memory)
		hl_output_set_fini(s);
	return no_memory ? -ENOMEM : 0;
}

int hl_output_set_open(
	struct hl_output_set *s, const struct hl_export_format *f, struct hl_export_job *x)
{
	int err = 0;

	for (int i = 0; i < HL_EXPORT_TABLES && !err; i++) {
		if (!s->paths[i])
			continue;
		s->failed = s->paths[i];
		err = hl_output_file_open(&s->outputs[i], s->paths[i], !f->binary);
		if (err)
			s->outputs[i] = NULL;
		else
			x->tables[i] = hl_output_file_stream(s->outputs[i]);
		if (!err && !x->out)
			x->out = x->tables[i];
	}
	if (err)
		hl_output_set_drop(s);
	return err;
}

bool hl_output_set_failed(const struct hl_output_set *s)
{
	for (int i = 0; i < HL_EXPORT_TABLES; i++) {
		if (s->outputs[i] && ferror(hl_output_file_stream(s->outputs[i])))
			return true;
	}
	return false;
}

static int flush_all(struct hl_output_set *s)
{
	int err = 0;

	for (int i = 0; i < HL_EXPORT_TABLES && !err; i++) {
		if (!s->outputs[i])
			continue;
		s->failed = s->paths[i];
		err = hl_output_file_flush(s->outputs[i]);
	}
	return err;
}

int hl_output_set_finish(struct hl_output_set *s)
{
	int err = flush_all(s);

	/* The first file appears last, so that a reader that sees it finds the others. */
	for (int i = HL_EXPORT_TABLES; i-- > 0 && !err;) {
		if (!s->outputs[i])
			continue;
		s->failed = s->paths[i];
		err = hl_output_file_finish(s->outputs[i]);
		s->outputs[i] = NULL;
	}
	if (err)
		hl_output_set_drop(s);
	return err;
}

void hl_output_set_drop(struct hl_output_set *s)
{
	for (int i = 0; i < HL_EXPORT_TABLES; i++) {
		if (s->outputs[i])
			hl_output_file_drop(s->outputs[i]);
		s->outputs[i] = NULL;
	}
}

void hl_output_set_fini(struct hl_output_set *s)
{
	for (int i = 0; i < HL_EXPORT_TABLES; i++)
		free(s->paths[i]);
	memset(s, 0, sizeof(*s));
}
