/*
 * slice.h - a smaller trace from a trace.
 *
 * Whatever is left is exact: every block that is kept is kept with its own time, size, stack,
 * threads and death. A block that was live when the range begins is in the slice from its own birth
 * on, so that lifetimes and what is live at any moment of the range are those of the whole run.
 * Times are not shifted. Numbers of threads stay; those of stacks and allocations are given anew.
 */
#ifndef HL_MODEL_SLICE_H
#define HL_MODEL_SLICE_H

#include "model/filter.h"
#include "model/model.h"
#include "model/when.h"
#include "util/strbuf.h"

enum hl_anonymity {
	HL_NAMES_KEPT,
	HL_NAMES_MADE_UP, /* functions, files, modules */
	HL_ALL_MADE_UP, /* also program, command, texts, ids of processes and threads, addresses */
};

struct hl_slice {
	struct hl_when from, to;  /* the start is HL_WHEN_NS 0 */
	struct hl_filter *filter; /* bound here; NULL: all */
	const char *filter_text;  /* what the trace says of it; NULL: there was none */
	uint64_t min_life_ns;     /* the same; the filter has it too */
	enum hl_anonymity anonymity;
};

struct hl_slice_done {
	uint64_t blocks, bytes;      /* allocations in the slice */
	struct hl_left_out left_out; /* and those that are not */
	bool moved;                  /* a part of the trace is lost: the slice ends here: */
	uint64_t to_ns;
};

/* What a trace was cut to, in a few words: "from 1 s to 2 s; names are made up". */
void hl_cut_describe(const struct hl_cut_note *cut, struct hl_strbuf *out);

/*
 * Into fd, a new, empty file, which is closed. 0 or -errno: -ENOENT, -EBADMSG, -ENODATA and
 * -EOVERFLOW with hl_model_error(); else it is about writing. After an error the file is of no use.
 */
int hl_slice_write(
	struct hl_model *m, const struct hl_slice *s, int fd, struct hl_slice_done *done);

#endif
