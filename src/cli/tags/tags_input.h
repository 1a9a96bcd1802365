/* SPDX-License-Identifier: Apache-2.0 */
/* tags_input.h - reads trees of tags from a running program, a snapshot or a trace. */
#ifndef HL_CLI_TAGS_TAGS_INPUT_H
#define HL_CLI_TAGS_TAGS_INPUT_H

#include "model/tags/tag_trees.h"

/* A number is a pid, unless a file has that name. A file is a trace if its first byte is that of a
 * trace, or if its first byte is not that of a snapshot but its suffix is that of a trace.
 * Otherwise it is a snapshot. Returns 0, or prints a message
 * and returns an exit status. */
int hl_tags_input(const char *word, struct hl_tag_trees *b);

#endif
