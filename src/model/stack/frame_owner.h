/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_owner.h - whose code a frame is, for the colours of pictures.
 *
 * A frame of a shared library that is not the program itself is a library's. Runtime libraries are
 * the C, C++ and Rust libraries, the loader and allocators; their templates belong to them also
 * where they are compiled into the program. A folded run of frames is what its outermost frame is.
 */
#ifndef HL_MODEL_STACK_FRAME_OWNER_H
#define HL_MODEL_STACK_FRAME_OWNER_H

#include "model/model.h"

/* The script of the page of `export -f html` has the same numbers. */
enum hl_frame_owner {
	HL_OWNER_PROGRAM,
	HL_OWNER_LIBRARY,
	HL_OWNER_CALLED, /* a function of the malloc family */
	HL_OWNER_UNKNOWN,
	HL_OWNER_GROUP,
	HL_OWNER_RUNTIME,
};

enum hl_frame_owner hl_model_frame_owner(const struct hl_model *m, const struct hl_frame *f);
/* Its name in JSON: "program". */
const char *hl_frame_owner_name(enum hl_frame_owner owner);

#endif
