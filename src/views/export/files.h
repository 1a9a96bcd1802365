/*
 * files.h - the file that an export goes to, or the files where a format has several tables.
 *
 * All of them are there afterwards, or none is. -o app.parquet is the first table, and the others
 * lie beside it: app.stacks.parquet. What is no plain file (stdout, a pipe, a device) holds one
 * table.
 */
#ifndef HL_VIEWS_EXPORT_FILES_H
#define HL_VIEWS_EXPORT_FILES_H

#include "views/export/export.h"
#include "views/export/output.h"

struct hl_export_files {
	struct hl_output *outputs[HL_EXPORT_TABLES]; /* NULL: not wanted */
	char *paths[HL_EXPORT_TABLES];
	const char *failed; /* the path of the one that an error is about */
};

/* Which table of the format this is, or -1. */
int hl_export_find_table(const struct hl_export_format *f, const char *name);

/* Where each goes. table: this one alone, to `path` itself; -1: all. 0 or -ENOMEM. */
int hl_export_files_init(
	struct hl_export_files *s, const struct hl_export_format *f, const char *path, int table);
/* Opens them for x. 0 or -errno, and then none is open. */
int hl_export_files_open(
	struct hl_export_files *s, const struct hl_export_format *f, struct hl_export_job *x);
/* Did something not arrive, as far as is known? */
bool hl_export_files_failed(const struct hl_export_files *s);
/* Gives them their names if all has arrived. 0 or -errno. */
int hl_export_files_finish(struct hl_export_files *s);
void hl_export_files_drop(struct hl_export_files *s);
void hl_export_files_fini(struct hl_export_files *s);

#endif
