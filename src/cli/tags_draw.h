/* tags_draw.h - a report of tags to a stream or a file, in one of its forms. */
#ifndef HL_CLI_TAGS_DRAW_H
#define HL_CLI_TAGS_DRAW_H

#include <stdio.h>

#include "tags/report.h"

enum hl_tags_form {
	HL_TAGS_TEXT,
	HL_TAGS_JSON,
	HL_TAGS_DOT,
	HL_TAGS_PICTURE, /* of DOT, by graphviz */
};

/* What the suffix of a file says; HL_TAGS_TEXT if it says nothing. */
enum hl_tags_form hl_tags_form_of(const char *path);
void hl_tags_print(FILE *to, const struct hl_tag_report *r, enum hl_tags_form form, uint64_t least);
/* 0, or an exit status with a message. Scopes with less than `least` hundredths of a percent of all
 * are left out of a text. */
int hl_tags_write(
	const char *path, const struct hl_tag_report *r, enum hl_tags_form form, uint64_t least);

#endif
