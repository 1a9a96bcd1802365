/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed_modules.h - embedded files: the program, its libraries and their debug files in the trace
 * itself.
 */
#ifndef HL_MODEL_SLICE_EMBED_MODULES_H
#define HL_MODEL_SLICE_EMBED_MODULES_H

#include "model/model.h"
#include "trace/edit/append_files.h"

/* The result for one module. */
struct hl_embedded {
	const char *path;
	const char *error_text; /* short reason; NULL: it is in the trace now */
	bool was_there;         /* it was embedded before */
};

struct hl_embedding {
	uint64_t files, bytes; /* newly embedded */
	/* Called for each module; may be NULL. */
	void (*module)(void *arg, const struct hl_embedded *module);
	void *arg;
};

/*
 * Copies the trace to fd, an empty file, and closes fd. Embeds all files that the trace's names
 * come from, as the model's own search finds them. Returns 0 or -errno: -EBUSY while the trace is
 * being written; -EBADMSG with hl_model_error(); other errors are about reading a file or writing
 * the new one.
 */
int hl_model_embed(struct hl_model *m, int fd, struct hl_embedding *e);

/* Copies the embedded files of the trace to another trace; damaged ones are left out. Returns 0 or
 * -errno; *write_err: the same if it is the writer's error. */
struct hl_writer;
int hl_model_copy_embedded(struct hl_model *m, struct hl_writer *to, int *write_err);

#endif
