/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice.h - makes a smaller trace from a trace.
 *
 * All data that remains is exact: a block that is kept has its own time, size, stack, threads and
 * free. A block that is live when the range begins is in the slice from its own allocation on, so
 * that lifetimes, and what is live at any moment of the range, are those of the whole run. Times
 * are not shifted. Thread numbers do not change; stacks and allocations are numbered anew.
 */
#ifndef HL_MODEL_SLICE_SLICE_H
#define HL_MODEL_SLICE_SLICE_H

#include "model/query/filter.h"
#include "model/model.h"
#include "model/query/time_spec.h"
#include "util/strbuf.h"

enum hl_anonymity {
	HL_NAMES_KEPT,
	HL_ANONYMIZE_NAMES, /* functions, files, modules */
	HL_ANONYMIZE_ALL,   /* also program, command, texts, process and thread ids, addresses */
};

struct hl_slice {
	struct hl_time_spec from, to; /* the start is HL_TIME_SPEC_NS 0 */
	struct hl_filter *filter;     /* bound by the caller; NULL: all blocks */
	const char *filter_text;      /* stored in the slice as a description; NULL: no filter */
	uint64_t min_life_ns; /* stored in the slice as its description; `filter` contains the term
				 too */
	enum hl_anonymity anonymity;
};

struct hl_slice_done {
	uint64_t blocks, bytes;      /* allocations in the slice */
	struct hl_left_out left_out; /* allocations that are not */
	bool before_damage;          /* a part of the trace is lost, and the slice ends at to_ns */
	uint64_t to_ns;
};

/* Appends a short description of how a trace was cut: "from 1 s to 2 s; names are made up". */
void hl_slice_describe(const struct hl_slice_info *cut, struct hl_strbuf *out);

/*
 * Writes the slice to fd, an empty file, and closes fd in every case. Returns 0 or -errno:
 * -ENOENT, -EBADMSG, -ENODATA and -EOVERFLOW with hl_model_error(); other errors are about writing.
 * After an error the file is unusable.
 */
int hl_slice_write(
	struct hl_model *m, const struct hl_slice *s, int fd, struct hl_slice_done *done);

#endif
