/*
 * carried.h - the program, its libraries and their debug files in the trace itself.
 */
#ifndef HL_MODEL_CARRIED_H
#define HL_MODEL_CARRIED_H

#include "model/model.h"
#include "trace/extend.h"

/* What became of one module. */
struct hl_embedded {
	const char *path;
	const char *why_not; /* in a few words; NULL: it is in the trace now */
	bool was_there;      /* it was before */
};

struct hl_embedding {
	uint64_t files, bytes;                                       /* that are new */
	void (*module)(void *arg, const struct hl_embedded *module); /* told of each; may be NULL */
	void *arg;
};

/*
 * Copies the trace to fd, a new, empty file, which is closed, with all files that it is told of:
 * those that its names come from, by the model's own search. 0 or -errno: -EBUSY while the trace is
 * being written; -EBADMSG with hl_model_error(); else it is about reading a file or writing the new
 * one.
 */
int hl_model_embed(struct hl_model *m, int fd, struct hl_embedding *e);

/* Copies what the trace carries to another; what is damaged is left out. 0 or -errno; *write_err:
 * the same if it is the writer's. */
struct hl_writer;
int hl_model_carry_over(struct hl_model *m, struct hl_writer *to, int *write_err);

#endif
