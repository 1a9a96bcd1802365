/*
 * query.h - the questions: a quantity, a time, a filter; the answer is a number for each stack.
 */
#ifndef HL_MODEL_QUERY_H
#define HL_MODEL_QUERY_H

#include "model/filter.h"
#include "model/model.h"
#include "model/when.h"

enum hl_quantity {
	HL_QUANTITY_LIVE,      /* blocks at `to`; @peak is the very event of the peak */
	HL_QUANTITY_ALLOCATED, /* allocations from `from` to `to` */
};
/* "live" */
const char *hl_quantity_name(enum hl_quantity q);

struct hl_query {
	enum hl_quantity quantity;
	struct hl_when from, to;
	struct hl_filter *filter; /* of the blocks' allocations; NULL: all. Bound by the query */
};

struct hl_value {
	uint64_t bytes, blocks;
};

struct hl_answer {
	enum hl_quantity quantity;
	uint64_t from_ns, to_ns; /* what the numbers are of; for live both are the moment */
	struct hl_value total;
	struct hl_value *nodes; /* n_nodes + 1: by stack; the last: without one */
	uint32_t n_nodes;
	/* The file is damaged: what was asked for cannot be known exactly, and this is the latest
	 * moment before it that can. */
	bool moved;
	uint64_t asked_ns;
};

/* 0 or -errno with hl_model_error(). */
int hl_model_query(struct hl_model *m, const struct hl_query *q, struct hl_answer *a);
void hl_answer_fini(struct hl_answer *a);

#endif
