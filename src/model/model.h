/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - a trace that can be queried.
 *
 * All views use the model, so that no two of them disagree. The model produces no output. Functions
 * return 0, or -errno with a message in hl_model_error().
 */
#ifndef HL_MODEL_MODEL_H
#define HL_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/read/reader.h"

struct hl_model;
struct hl_source_places;
struct hl_symbols;
struct hl_work;

/* Returns 0, or -errno with *why filled in. The caller closes *out. */
int hl_model_open(struct hl_model **out, const char *path, struct hl_reader_refusal *why);
/* The same for any source, which belongs to the model in every case. `name` is for messages. */
int hl_model_open_source(struct hl_model **out, struct hl_byte_source *source, const char *name,
	struct hl_reader_refusal *why);
void hl_model_close(struct hl_model *m);

/*
 * Reads what was added to a trace that is still being written. Afterwards every query is answered
 * as by a model that is opened now: a refresh is the only thing that changes what a model knows, so
 * all queries between two refreshes are about one moment.
 *
 * A model is used by one thread, and a refresh is made between queries: free the plans, filters,
 * answers and lists that were made from it before. Numbers of frames are void then, too. Symbols
 * that were looked up stay, and so do the strings of frames.
 *
 * *changed: there is something new (hl_reader_refresh); otherwise everything stays valid. Returns
 * 0, or -errno with hl_model_error(): -ENOENT: the file was deleted or renamed; -ESTALE: replaced
 * or truncated. After both, the model still answers for what it had. After any other error it can
 * only be closed.
 */
int hl_model_refresh(struct hl_model *m, bool *changed);
/* The writer of the trace was alive when it was opened or refreshed: there may be more. */
bool hl_model_is_running(const struct hl_model *m);

/* The returned objects are valid as long as the model. */
const struct hl_trace_info *hl_model_info(const struct hl_model *m);
struct hl_reader *hl_model_reader(struct hl_model *m);
/* Must be configured before the first query about frames. */
struct hl_symbols *hl_model_symbols(struct hl_model *m);
/* Where the source files are; *places belongs to the caller and must outlive the model. NULL: at
 * the recorded paths. */
void hl_model_set_sources(struct hl_model *m, const struct hl_source_places *places);
/* The message of the last error: one sentence. */
const char *hl_model_error(const struct hl_model *m);
void hl_model_set_error(struct hl_model *m, const char *text);
/*
 * The work of all queries, for the caller to observe and to stop (util/work/work.h). A query that
 * was stopped returns -ECANCELED or -ETIME and has no result; the model can be queried again.
 */
struct hl_work *hl_model_work(struct hl_model *m);
/* Discards queries that were announced and not made: what they refer to may be freed then. */
void hl_model_drop_prefetched(struct hl_model *m);

/* The end is known and no event is missing. */
bool hl_model_is_complete(const struct hl_model *m);
/* Some blocks are aggregated: their events are not in the trace. */
bool hl_model_has_aggregated(const struct hl_model *m);
/* The mode that aggregated them, for messages, to be put after the word "mode". */
const char *hl_model_sums_mode(const struct hl_model *m);
/* Are all or some of its values estimates? */
bool hl_model_has_samples(const struct hl_model *m);
/* Why the trace has no allocation, as one sentence without a full stop. NULL if it has one, or if
 * an unreadable part may have some. */
const char *hl_model_empty_reason(const struct hl_model *m);
/* May blocks that are live at the end be called leaked? Only if no event was missed and the program
 * ended by itself. */
bool hl_model_leaks_are_certain(const struct hl_model *m);
/* Values are from samples, and their accuracy is known. */
bool hl_model_has_estimates(const struct hl_model *m);
/* The order of the events is known. False for a profile of another tool. */
bool hl_model_has_event_order(const struct hl_model *m);
/* Which event directly follows which is known. False for samples. */
bool hl_model_has_adjacency(const struct hl_model *m);
/* The end of the recording, as far as it is known. */
uint64_t hl_model_end_ns(const struct hl_model *m);
/* The base of a trace that begins late; is_late is false for all others. */
const struct hl_base *hl_model_base(const struct hl_model *m);
/* Are the totals of the run known? Not if the end of a base is lost. Returns 0, or -ENODATA with
 * hl_model_error(). */
int hl_model_check_base(struct hl_model *m);
/* The highest live bytes of the run were reached before the base. */
bool hl_model_peak_is_before_base(const struct hl_model *m);

/* One frame as it is shown. Strings are valid as long as the model. */
struct hl_frame {
	const char *function;     /* if it has no name: [...] [lost] [no stack] [jit 0x..] 0x.. */
	const char *display_name; /* the function for display: template lists may be shortened */
	const char *file;         /* NULL: not known */
	const char *module;       /* path; NULL: none */
	/* Code without a symbol, if its bounds are known: the start of its function as text, 0x..,
	 * and the bounds. NULL: a name, or not known. */
	const char *entry;
	uint64_t start, end;
	uint32_t line;   /* 0: not known */
	bool fold;       /* not one frame but a run of frames, see stack/tree.h */
	uint32_t run_of; /* fold: the outermost frame of such a run */
	bool group;      /* not code but a group that stacks are divided by: see group_tree.h */
};
/* Frames are numbered: frames with equal function, file, line and module have the same number. */
const struct hl_frame *hl_model_frame(const struct hl_model *m, uint32_t frame);

/* The name of its function. Addresses of one function without a name have the same. */
static inline const char *hl_frame_function_name(const struct hl_frame *f)
{
	return f->entry ? f->entry : f->function;
}

struct hl_frame_ref {
	uint32_t frame;
	bool inlined; /* into the next outer frame */
};
/*
 * The frames of one node alone, outermost first; there is at least one. Valid until the next call.
 * HL_NODE_NONE is the stack of blocks without a stack.
 */
int hl_model_node_frames(
	struct hl_model *m, uint32_t node, const struct hl_frame_ref **refs, size_t *n);
/* HL_NODE_NONE for an outermost or a lost node. Always less than `node`, so that loops over parents
 * end. */
uint32_t hl_model_parent(struct hl_model *m, uint32_t node);
uint32_t hl_model_n_nodes(const struct hl_model *m);
/* The number of events decoded so far; and the limit for a query that decodes the same events
 * repeatedly, in proportion to the file size. */
uint64_t hl_model_events_decoded(const struct hl_model *m);
uint64_t hl_model_events_limit(const struct hl_model *m);

/* The modules that frames were looked up in, and why the lookup in one was incomplete ("" if it was
 * complete). */
size_t hl_model_n_module_notes(const struct hl_model *m);
void hl_model_module_note(struct hl_model *m, size_t i, const char **path, const char **note);
/* The number of frames of these modules so far, and for each module, by the same index, the number
 * of frames without a name. Returns 0 or -ENOMEM. */
int hl_model_count_nameless(struct hl_model *m, size_t *frames, size_t *nameless);
/* Advice for the user; "" if nothing is known. May take 0.2 s in all, so call it only for modules
 * that are shown. */
const char *hl_model_advice(struct hl_model *m, size_t i);

#endif
