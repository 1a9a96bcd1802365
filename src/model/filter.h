/*
 * filter.h - which events or blocks are meant: "size>=4K function=parse !thread=0".
 *
 * Terms are separated by spaces and all must hold; a leading ! turns one round; a value with
 * spaces stands in double quotes.
 *   op=alloc|free          the kind of event (dump only)
 *   func=malloc            the function that the program called
 *   thread=N               the thread, numbered from 0 as it appeared
 *   size>=N  (> = <= <)    requested bytes; K, M, G are binary
 *   time=A..B              when; either end may be left out, times as in when.h
 *   function=NAME          a frame of the stack has NAME in its function's name
 */
#ifndef HL_MODEL_FILTER_H
#define HL_MODEL_FILTER_H

#include "model/model.h"

struct hl_filter;

struct hl_filter_error {
	size_t at; /* byte in the expression */
	char text[160];
};

/* -EINVAL with *error filled in, or -ENOMEM. */
int hl_filter_parse(struct hl_filter **out, const char *expr, struct hl_filter_error *error);
void hl_filter_free(struct hl_filter *f);

/* Turns times into those of this recording; before the first match. */
void hl_filter_bind(struct hl_filter *f, struct hl_model *m);

/* What a filter is about. */
#define HL_FILTER_OP       1u
#define HL_FILTER_FUNC     2u
#define HL_FILTER_THREAD   4u
#define HL_FILTER_SIZE     8u
#define HL_FILTER_TIME     16u
#define HL_FILTER_FUNCTION 32u
unsigned hl_filter_subjects(const struct hl_filter *f);
/* Where the first term about one of these subjects stands, for messages. */
size_t hl_filter_place_of(const struct hl_filter *f, unsigned subjects);

/* Does it hold for this event? For a block, give its allocation. 0 or -errno. */
int hl_filter_event(struct hl_filter *f, struct hl_model *m, const struct hl_event *e, bool *holds);
/* For things between the events: terms about time and thread only; any other term does not hold. */
bool hl_filter_extra(struct hl_filter *f, const struct hl_extra *x);
/* Only the terms about stacks. */
int hl_filter_node(struct hl_filter *f, struct hl_model *m, uint32_t node, bool *holds);

#endif
