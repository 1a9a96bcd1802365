/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_internal.h - shared by the readers of foreign formats: input, output and error messages.
 */
#ifndef HL_IMPORT_IMPORT_INTERNAL_H
#define HL_IMPORT_IMPORT_INTERNAL_H

#include "base/attr.h"
#include "import/import.h"
#include "import/import_input.h"
#include "trace/write/writer.h"
#include "util/pair_map.h"

struct hl_import {
	struct hl_import_input in;
	uint64_t total; /* bytes of the input, 0 if not known */
	struct hl_work *work;
	int out; /* -1 once a writer owns it */
	struct hl_writer *writer;
	struct hl_import_result *result;
	uint64_t memory_used; /* bytes, see hl_import_count_memory */
	/* (module, address) pairs in use. A pair that occurs again with other names gets a
	 * synthetic offset. */
	struct hl_pair_map addresses;
	uint64_t n_synthetic;
};

/* Stores the message and returns err. */
int hl_import_fail(struct hl_import *im, int err, const char *fmt, ...) hl_printf(3, 4);
/* The same with the message of the input. */
int hl_import_input_failed(struct hl_import *im, int err);
/* Counts memory that is about to be used; -EFBIG with a message if the input is too small for
 * it. */
int hl_import_count_memory(struct hl_import *im, uint64_t bytes);
/* Opens the writer and defines its only thread. */
int hl_import_open_writer(struct hl_import *im, const struct hl_meta *meta);
/*
 * Writes a code location with its names. `names` has the innermost frame first, as in both formats;
 * the last is the function that is not inlined. The order is reversed in place. *offset: the offset
 * for nodes of this location.
 */
int hl_import_add_location(struct hl_import *im, uint32_t module, uint64_t address,
	struct hl_name_frame *names, size_t n, uint64_t *offset);
/* The message for an error of the writer. Returns err. */
int hl_import_write_failed(struct hl_import *im, int err);
/* Reports the progress. Returns 0, or -errno with a message if the import is to stop. */
int hl_import_tick(struct hl_import *im);

/* The formats. `head`: the first bytes of the input, which have been read already. */
#define HL_IMPORT_HEAD 4096
int hl_import_heaptrack(struct hl_import *im, const uint8_t *head, size_t n);
int hl_import_pprof(struct hl_import *im, const uint8_t *head, size_t n);

#endif
