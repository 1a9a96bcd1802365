/* SPDX-License-Identifier: Apache-2.0 */
/* tags_draw.h - writes a report of tags to a stream or a file, in one of its formats. */
#ifndef HL_CLI_TAGS_TAGS_DRAW_H
#define HL_CLI_TAGS_TAGS_DRAW_H

#include <stdio.h>

#include "tags/tag_report.h"

enum hl_tags_format {
	HL_TAGS_TEXT,
	HL_TAGS_JSON,
	HL_TAGS_DOT,
	HL_TAGS_PICTURE, /* drawn from DOT by Graphviz */
};

/* Finds the format for the suffix of a file. Returns false if the suffix is not known. */
bool hl_tags_format_of_path(const char *path, enum hl_tags_format *form);
void hl_tags_print(
	FILE *to, const struct hl_tag_report *r, enum hl_tags_format form, uint64_t min_share);
/* Writes a file. Returns 0, or prints a message and returns an exit status. In text, scopes with
 * less than `min_share` hundredths of a percent of all bytes are left out. */
int hl_tags_write(const char *path, const struct hl_tag_report *r, enum hl_tags_format form,
	uint64_t min_share);

#endif
