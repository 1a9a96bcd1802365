/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_rules.h - what a frame is, by its names alone: code of the program, plumbing or start-up.
 *
 * Plumbing is code between the program and the allocator that was not written for this program: the
 * C library and the loader, the C++ and Rust standard libraries, other allocators. The rules are a
 * table in frame_rules.c. They do not know a trace: stack_rules.h adds the rules of the user and
 * the allocation wrappers.
 */
#ifndef HL_MODEL_STACK_FRAME_RULES_H
#define HL_MODEL_STACK_FRAME_RULES_H

#include "model/model.h"
#include "util/strbuf.h"

enum hl_frame_kind {
	HL_FRAME_OWN,      /* code of the program, and all that is not known to be something else */
	HL_FRAME_PLUMBING, /* see above, and what --fold adds */
	HL_FRAME_STARTUP,  /* calls main or the function of a thread; see also runtime_frames.h */
	HL_FRAME_WRAPPER,  /* a function of the program that passes on requests for memory */
};

/* Never HL_FRAME_WRAPPER. *allocates, unless it is NULL: the frame is plumbing that does little
 * more than allocate a block (operator new, strdup), so its caller may be a wrapper. */
enum hl_frame_kind hl_frame_kind_by_name(const struct hl_frame *f, bool *allocates);
/* The frame has an address instead of a name, or stands for frames that are not known. */
bool hl_frame_is_nameless(const struct hl_frame *f);
/* The frame stands for the callers that could not be unwound. */
bool hl_frame_is_end(const struct hl_frame *f);
enum hl_allocator_name {
	HL_NAME_OTHER,
	HL_NAME_NEW,       /* has the word "new" or "alloc": alloc_node, PyTuple_New */
	HL_NAME_ALLOC,     /* ends in "alloc": pcache1Alloc, but not tuple_dealloc */
	HL_NAME_ALLOCATOR, /* like the malloc family: xmalloc, g_strdup, sqlite3DbMallocRaw; or
			      ends in the word "allocate" */
};
enum hl_allocator_name hl_frame_allocator_name(const struct hl_frame *f);
/* An outermost frame of a libc, or of the program around main, by its name (runtime_frames.h).
 * outermost: no frame that is not such a frame is outside of it. */
bool hl_frame_is_startup(const struct hl_frame *f, bool outermost);
/* __libc_start_main and its callees. */
bool hl_frame_calls_main(const struct hl_frame *f);
bool hl_frame_in_libc(const struct hl_frame *f);

/* Appends the name of what a run of plumbing belongs to, by its outermost frame, which the program
 * called: "std::map", "alloc::vec", "strdup", "libfoo". */
void hl_frame_put_family(struct hl_strbuf *b, const struct hl_frame *f);

#endif
