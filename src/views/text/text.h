/*
 * text.h - a trace as text for people and as JSON for programs.
 *
 * All of it goes to a stream of the caller; its errors stay in the stream. Names are escaped:
 * none can act on a terminal or break a line. JSON has "schema": 1; names in it never change
 * their meaning, new ones may be added.
 */
#ifndef HL_VIEWS_TEXT_TEXT_H
#define HL_VIEWS_TEXT_TEXT_H

#include <stdio.h>

#include "model/model.h"
#include "model/query.h"
#include "model/tree.h"

void hl_text_info(FILE *out, struct hl_model *m);
void hl_json_info(FILE *out, struct hl_model *m);

struct hl_text_tree_opts {
	const char *what;   /* what is shown, for the head: "live at the peak" */
	double min_percent; /* frames below this share of the total are left out */
	bool unicode;       /* lines as box-drawing characters */
};
/* 0 or -ENOMEM. */
int hl_text_tree(FILE *out, struct hl_model *m, const struct hl_answer *a, const struct hl_tree *t,
	const struct hl_text_tree_opts *opts);
/* The modules that could not tell everything, with what would help; nothing if there are none. */
void hl_text_notes(FILE *out, struct hl_model *m);
/* Never leaves anything out. 0 or -ENOMEM. */
int hl_json_tree(FILE *out, struct hl_model *m, const struct hl_answer *a, const struct hl_tree *t);

#endif
