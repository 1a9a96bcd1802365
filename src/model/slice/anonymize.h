/* SPDX-License-Identifier: Apache-2.0 */
/*
 * anonymize.h - made-up names for a slice that must not reveal which program was recorded.
 *
 * Equal names become equal made-up names, and different names remain different: trees keep their
 * shape. Names that every program has are kept: the outermost functions (main, _start ...), and the
 * libraries of the C and C++ runtime with their functions, which the built-in suppressions match.
 * Frames without a name remain nameless.
 */
#ifndef HL_MODEL_SLICE_ANONYMIZE_H
#define HL_MODEL_SLICE_ANONYMIZE_H

#include "model/model.h"
#include "trace/write/writer.h"

struct hl_anonymizer;

/* all: also replace what is not a name of code. */
int hl_anonymize_new(struct hl_anonymizer **out, struct hl_model *m, bool all);
void hl_anonymize_free(struct hl_anonymizer *d);

/* Each function changes its argument in place. New strings in it belong to the anonymizer. Returns
 * 0 or -errno. */
int hl_anonymize_meta(struct hl_anonymizer *d, struct hl_meta *meta);
int hl_anonymize_module(struct hl_anonymizer *d, struct hl_module *module);
/* `id`: the node in the model's trace. Its names are written to w for node->module, which is the
 * module's number in the new trace. */
int hl_anonymize_node(
	struct hl_anonymizer *d, struct hl_writer *w, uint32_t id, struct hl_node *node);
int hl_anonymize_tag(struct hl_anonymizer *d, const char **name);
/* The label of a snapshot; becomes the same as an equal text of a side event. */
int hl_anonymize_label(struct hl_anonymizer *d, const char **label);
int hl_anonymize_extra(struct hl_anonymizer *d, struct hl_extra *extra);
/* A mapping of a sample. A file that is a module gets the name of the module. */
int hl_anonymize_mapping(struct hl_anonymizer *d, struct hl_map_entry *m);
void hl_anonymize_event(const struct hl_anonymizer *d, struct hl_event *event);

#endif
