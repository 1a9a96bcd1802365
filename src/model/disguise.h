/*
 * disguise.h - made-up names for a slice that shall not tell whose program it is of.
 *
 * The same name always becomes the same made-up name, and different ones stay different: trees keep
 * their shape. Names that every program has stay: where stacks begin (main, _start ...), and the
 * libraries of the C and C++ runtime with their functions, by which reports know what is nobody's
 * leak. What no name is known of stays nameless.
 */
#ifndef HL_MODEL_DISGUISE_H
#define HL_MODEL_DISGUISE_H

#include "model/model.h"
#include "trace/writer.h"

struct hl_disguise;

/* all: also what is not a name of code. */
int hl_disguise_new(struct hl_disguise **out, struct hl_model *m, bool all);
void hl_disguise_free(struct hl_disguise *d);

/* Each changes what it is given; strings in it are then the disguise's. 0 or -errno. */
int hl_disguise_meta(struct hl_disguise *d, struct hl_meta *meta);
int hl_disguise_module(struct hl_disguise *d, struct hl_module *module);
/* `id`: the node in the model's trace. Its names go to the writer, with node->module as it is
 * there. */
int hl_disguise_node(struct hl_disguise *d, struct hl_writer *w, uint32_t id, struct hl_node *node);
int hl_disguise_tag(struct hl_disguise *d, const char **name);
/* Of a snapshot; the same as of an extra with this text. */
int hl_disguise_label(struct hl_disguise *d, const char **label);
int hl_disguise_extra(struct hl_disguise *d, struct hl_extra *extra);
void hl_disguise_event(const struct hl_disguise *d, struct hl_event *event);

#endif
