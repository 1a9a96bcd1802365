/*
 * model.h - a trace as something that can be asked.
 *
 * Every view asks here, so that no two of them disagree. The model does no output of its own; all
 * calls are 0 or -errno, with hl_model_error() for the sentence.
 */
#ifndef HL_MODEL_MODEL_H
#define HL_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/reader.h"

struct hl_model;
struct hl_symbols;

/* -errno with *why filled in. */
int hl_model_open(struct hl_model **out, const char *path, struct hl_reader_refusal *why);
void hl_model_close(struct hl_model *m);

/* All of these live as long as the model. */
const struct hl_trace_info *hl_model_info(const struct hl_model *m);
struct hl_reader *hl_model_reader(struct hl_model *m);
/* To be configured before the first question about frames. */
struct hl_symbols *hl_model_symbols(struct hl_model *m);
/* One sentence about the last error. */
const char *hl_model_error(const struct hl_model *m);
void hl_model_set_error(struct hl_model *m, const char *text);

/* The end is known and no event is missing. */
bool hl_model_complete(const struct hl_model *m);
/* Not all that happened is in events: some of it is in sums alone. */
bool hl_model_withholds(const struct hl_model *m);
/* The mode that left it in sums, to stand behind the word "mode". */
const char *hl_model_sums_mode(const struct hl_model *m);
/* Are its numbers estimates, or some of them? */
bool hl_model_samples(const struct hl_model *m);
/* Why there is no allocation in it, in one sentence without a full stop; NULL: there is one, or
 * what cannot be read may have had some. */
const char *hl_model_why_empty(const struct hl_model *m);
/* Blocks that are live at the end may be called leaked: nothing was missed, and the program left
 * by its own will. */
bool hl_model_may_say_leaked(const struct hl_model *m);
/* Numbers come from samples whose spread is known. */
bool hl_model_estimates(const struct hl_model *m);
/* It is known what came before what: not in a profile of another tool. */
bool hl_model_has_order(const struct hl_model *m);
/* It is known which event came next to which: of samples it is not. */
bool hl_model_has_neighbours(const struct hl_model *m);
/* When the recording ends, as far as is known. */
uint64_t hl_model_end_ns(const struct hl_model *m);

/* One frame as it is shown. Strings live as long as the model. */
struct hl_frame {
	const char *function; /* without a name: [...] [lost] [no stack] [jit 0x..] 0x.. */
	const char *shown;    /* the function for people: template lists may be shortened */
	const char *file;     /* NULL when not known */
	const char *module;   /* path; NULL when there is none */
	uint32_t line;        /* 0 when not known */
	bool group;           /* no code, but what stacks are divided by: see divide.h */
};
/* Frames are numbered: equal function, file, line and module have the same number. */
const struct hl_frame *hl_model_frame(const struct hl_model *m, uint32_t frame);

struct hl_frame_ref {
	uint32_t frame;
	bool inlined; /* into the frame outside of it */
};
/*
 * The frames of one node alone, outermost first, never none; valid until the next call.
 * HL_NODE_NONE is the stack of blocks that have none.
 */
int hl_model_node_frames(
	struct hl_model *m, uint32_t node, const struct hl_frame_ref **refs, size_t *n);
/* HL_NODE_NONE for an outermost or a lost one. Always less than `node`: climbing ends. */
uint32_t hl_model_parent(struct hl_model *m, uint32_t node);
uint32_t hl_model_n_nodes(const struct hl_model *m);
/* Events that were decoded so far; and how many an answer may decode that has to read the same ones
 * over and over: in proportion to the file. */
uint64_t hl_model_events_decoded(const struct hl_model *m);
uint64_t hl_model_events_limit(const struct hl_model *m);

/* The modules that frames were asked of, and why one could not tell everything ("" if it could). */
size_t hl_model_n_notes(const struct hl_model *m);
void hl_model_note(struct hl_model *m, size_t i, const char **path, const char **note);
/* Frames of these modules so far, and of each module, numbered as above, those without a name. 0 or
 * -ENOMEM. */
int hl_model_count_nameless(struct hl_model *m, size_t *frames, size_t *nameless);
/* What would help; "" if nothing is known. It may take 0.2 s in all: for what is shown only. */
const char *hl_model_advice(struct hl_model *m, size_t i);

#endif
