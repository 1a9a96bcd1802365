/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interpreter.h - what a recording shows of a program that a language runtime interprets.
 *
 * Only calls of malloc and its relatives are recorded, with the stacks of machine code. A user of
 * Python, Java or JavaScript expects objects and functions of that language. Views say in one line
 * what is recorded, and which option shows more.
 */
#ifndef HL_MODEL_VIEWS_INTERPRETER_H
#define HL_MODEL_VIEWS_INTERPRETER_H

#include "model/model.h"
#include "util/elf_file.h"
#include "util/strbuf.h"

struct hl_interpreter {
	const char *language;
	const char *brief; /* fits into one line of the summary */
	const char *text;  /* one or two sentences without the last full stop */
};

/* NULL: it is none. By the name of the program or library, whose path may be longer. */
const struct hl_interpreter *hl_interpreter_by_program(const char *path);
const struct hl_interpreter *hl_interpreter_by_library(const char *path);
/* By the contents of a program. Only Go is recognized so: its programs have any name. */
const struct hl_interpreter *hl_interpreter_by_file(const struct hl_elf_file *f);

/* The interpreter of a trace. `library`: the file name of the library that has it, if the program
 * itself is another and has stacks with frames of the library; else NULL. */
struct hl_interpreter_found {
	const struct hl_interpreter *is; /* NULL: none */
	const char *library;             /* belongs to the model */
};
/* Returns 0, or -errno with hl_model_error(). */
int hl_interpreter_find(struct hl_model *m, struct hl_interpreter_found *found);
/* Appends the sentence for people: "Perl in libperl.so.5.36: ...". Names in it are not escaped. */
void hl_interpreter_put(struct hl_strbuf *b, const struct hl_interpreter_found *found);

#endif
