/* tags_input.h - where trees of tags come from: a running program, a snapshot, a trace. */
#ifndef HL_CLI_TAGS_INPUT_H
#define HL_CLI_TAGS_INPUT_H

#include "model/tag_book.h"

/* A pid, unless there is a file of that name; a trace by its first bytes, or its suffix where these
 * are not those of a snapshot; else a snapshot. 0, or an exit status with a message. */
int hl_tags_input(const char *word, struct hl_tag_book *b);

#endif
