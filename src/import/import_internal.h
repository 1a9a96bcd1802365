/*
 * import_internal.h - what the readers of foreign formats share: where bytes come from, where the
 * trace goes, and how to say what is wrong.
 */
#ifndef HL_IMPORT_IMPORT_INTERNAL_H
#define HL_IMPORT_IMPORT_INTERNAL_H

#include "base/attr.h"
#include "import/import.h"
#include "import/input.h"
#include "trace/writer.h"
#include "util/map.h"

struct hl_import {
	struct hl_input in;
	uint64_t total; /* bytes of the input, 0 if not known */
	int out;        /* until there is a writer */
	struct hl_writer *writer;
	struct hl_import_result *result;
	uint64_t taken; /* memory, see hl_import_take */
	/* Of a place in a module that comes again with other names: it gets an offset of its own.
	 */
	struct hl_map places;
	uint64_t n_odd;
};

/* Keeps the sentence; returns err. */
int hl_import_fail(struct hl_import *im, int err, const char *fmt, ...) hl_printf(3, 4);
/* Of the input: its own sentence. */
int hl_import_input_failed(struct hl_import *im, int err);
/* Counts memory that is going to be used; -EFBIG with a sentence if the input is too short for it.
 */
int hl_import_take(struct hl_import *im, uint64_t bytes);
/* Opens the writer, and defines its one thread. */
int hl_import_begin(struct hl_import *im, const struct hl_meta *meta);
/*
 * A place of the code, with its names: innermost first, as both formats have them, the last being
 * the function that really stands there; they are turned around. *offset: what its nodes are to
 * have.
 */
int hl_import_place(struct hl_import *im, uint32_t module, uint64_t address,
	struct hl_name_frame *names, size_t n, uint64_t *offset);
/* After an error of the writer. */
int hl_import_write_failed(struct hl_import *im, int err);
void hl_import_tick(struct hl_import *im);

/* The formats. `head`: the first bytes of the input, which were read already. */
#define HL_IMPORT_HEAD 4096
int hl_import_heaptrack(struct hl_import *im, const uint8_t *head, size_t n);
int hl_import_pprof(struct hl_import *im, const uint8_t *head, size_t n);

#endif
