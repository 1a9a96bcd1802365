/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_set.h - the output file of an export, or its files if a format has several tables.
 *
 * Either all files are created or none. -o app.parquet is the first table, and the others are next
 * to it: app.stacks.parquet. Anything but a regular file (stdout, a pipe, a device) gets one table.
 */
#ifndef HL_VIEWS_EXPORT_OUTPUT_SET_H
#define HL_VIEWS_EXPORT_OUTPUT_SET_H

#include "views/export/export.h"
#include "views/export/output_file.h"

struct hl_output_set {
	struct hl_output_file *outputs[HL_EXPORT_TABLES]; /* NULL: not wanted */
	char *paths[HL_EXPORT_TABLES];
	const char *failed; /* path of the file that an error is about */
};

/* Returns the index of a table of the format, or -1. */
int hl_export_find_table(const struct hl_export_format *f, const char *name);

/* Sets the path of each file. table: the only table to write, to `path` itself; -1: all tables.
 * Returns 0 or -ENOMEM. */
int hl_output_set_init(
	struct hl_output_set *s, const struct hl_export_format *f, const char *path, int table);
/* Opens the files for x. Returns 0, or -errno with no file open. */
int hl_output_set_open(
	struct hl_output_set *s, const struct hl_export_format *f, struct hl_export_job *x);
/* Returns whether a write error is known. */
bool hl_output_set_failed(const struct hl_output_set *s);
/* Gives the files their names if all data was written. Returns 0 or -errno. */
int hl_output_set_finish(struct hl_output_set *s);
void hl_output_set_drop(struct hl_output_set *s);
void hl_output_set_fini(struct hl_output_set *s);

#endif
