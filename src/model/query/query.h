/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query.h - queries: a quantity, a range of time, a filter and a key. The answer has a value for
 * each value of the key. All views use these functions; no view computes numbers of its own.
 */
#ifndef HL_MODEL_QUERY_QUERY_H
#define HL_MODEL_QUERY_QUERY_H

#include "model/scan/block_table.h"
#include "model/query/filter.h"
#include "model/model.h"
#include "model/query/pattern.h"
#include "model/query/sums.h"
#include "model/query/time_spec.h"

struct hl_suppressions;

enum hl_quantity {
	HL_QUANTITY_LIVE,      /* blocks live at `to`; @peak is exactly the event of the peak */
	HL_QUANTITY_ALLOCATED, /* allocations from `from` to `to` */
	HL_QUANTITY_TEMPORARY, /* of these, blocks freed at once, by `to` */
	HL_QUANTITY_GROWTH,    /* of these, blocks still live at `to` */
};
/* For example "live". */
const char *hl_quantity_name(enum hl_quantity q);

/* The keys of an answer. All keys but the lifetime are of the block's allocation. */
enum hl_key {
	HL_KEY_STACK,    /* nodes of the call tree; none: blocks without a stack */
	HL_KEY_THREAD,   /* threads, numbered from 0 */
	HL_KEY_CALL,     /* enum hl_func */
	HL_KEY_SIZE,     /* 0: size 0; else 1 + log2 of the size */
	HL_KEY_LIFETIME, /* powers of ten, see hl_lifetime_bounds; none: not freed by the end */
	HL_KEY_INTERVAL, /* number of snapshots before the allocation */
	HL_KEY_TAG,      /* tags of the trace; none: outside of any scope */
	HL_KEY_POOL,     /* the program's own pools; none: the heap */
};

/* A lifetime class: lifetimes from *lo_ns to less than *hi_ns; UINT64_MAX: no upper bound. */
#define HL_LIFETIME_CLASSES 11
void hl_lifetime_bounds(unsigned life, uint64_t *lo_ns, uint64_t *hi_ns);

struct hl_query {
	enum hl_quantity quantity;
	enum hl_key key;
	struct hl_time_spec from, to;
	struct hl_filter *filter;             /* NULL: all blocks; the query binds it */
	struct hl_suppressions *suppressions; /* blocks that match are left out; NULL: none */
	uint64_t temporary_ns; /* temporary blocks: shorter lifetime than this; 0: freed by the very
				  next event */
	const struct hl_pattern *pool; /* blocks of pools with such a name; NULL: the heap's */
	bool decode;                   /* never use sums; for tests that compare both methods */
	/* Of a list of all allocations (scan/lifetimes.h) in a trace that begins late: it begins
	 * with the blocks of the base. Sums never include these. */
	bool with_base;
};

struct hl_value {
	uint64_t bytes, blocks;
	double variance; /* of the bytes, if they are estimated from samples; else 0 */
};

/* The 95 % confidence interval of an estimate: the true value is within this many bytes of it. 0 if
 * it is not an estimate. */
uint64_t hl_value_margin(const struct hl_value *v);
static inline void hl_value_add(struct hl_value *to, const struct hl_value *v)
{
	to->bytes += v->bytes;
	to->blocks += v->blocks;
	to->variance += v->variance;
}

struct hl_answer {
	enum hl_quantity quantity;
	enum hl_key key;
	uint64_t from_ns, to_ns; /* the range of the values; for live values both are the moment */
	struct hl_value total;
	struct hl_value *values; /* n_keys + 1 values; the last is for none */
	uint32_t n_keys;
	bool pool;                 /* values of pools, not of the heap */
	bool has_unknown_accuracy; /* contains estimates whose accuracy is not known */
	/* The file is damaged and the exact value is not known. The values are of the latest moment
	 * before asked_ns that is known. */
	bool before_damage;
	uint64_t asked_ns;
};

/* Answers a query. The caller frees *a with hl_answer_fini. Returns 0, or -errno with
 * hl_model_error(); -ENOENT: there is no such mark. */
int hl_model_query(struct hl_model *m, const struct hl_query *q, struct hl_answer *a);
/* Announces that the query will be made; see prefetch.h. */
void hl_query_prefetch(struct hl_model *m, const struct hl_query *q);
void hl_answer_fini(struct hl_answer *a);

/* Resolves times, filter and suppressions for this trace. Returns 0, or -errno with
 * hl_model_error(). */
int hl_query_bind(const struct hl_query *q, struct hl_model *m);
/* The positions where a range ends and begins. Events at exactly that time are inside the range. */
struct hl_position hl_query_to(struct hl_model *m, const struct hl_time_spec *when);
struct hl_position hl_query_from(struct hl_model *m, const struct hl_time_spec *when);
/* Does a keyframe have the sums by stack at the peak? */
bool hl_query_peak_in_keyframe(struct hl_model *m);
/* The value that a block contributes. */
struct hl_value hl_block_value(const struct hl_model *m, const struct hl_block *b);
/* Does the query count this block, which a stream over the query's range delivered? Returns 1; 0 if
 * it does not, or if a suppression hides the block; or -errno. */
int hl_query_counts(const struct hl_query *q, struct hl_model *m, const struct hl_block *b,
	const struct hl_value *value);
/* Sets which blocks the stream delivers, among them those that hl_query_counts may count, and what
 * is known about them: what the query and its key need. Set begin, block and arg. */
struct hl_block_stream;
void hl_query_init_stream(struct hl_block_stream *s, struct hl_model *m, const struct hl_query *q);
/*
 * Delivers each block that the query counts once, in no order, to views whose numbers are not by a
 * key. Reads every event of the range. Sets *a without values: its times are known from begin() on,
 * its total at the end. The query's key is not used. Returns 0, or -errno with hl_model_error().
 */
struct hl_block_sink {
	void (*begin)(void *arg); /* discard all results: a scan begins or begins again */
	int (*block)(void *arg, const struct hl_block *b, const struct hl_value *value);
	bool with_frees; /* block() uses the free of a block, also one after the range */
	void *arg;
};
int hl_query_blocks(struct hl_model *m, const struct hl_query *q, const struct hl_block_sink *sink,
	struct hl_answer *a);
/* The number of keys; and the key of a block. A key that is not below that number means "none". */
int hl_key_count(struct hl_model *m, enum hl_key key, uint32_t *n);
uint32_t hl_key_of(struct hl_model *m, enum hl_key key, const struct hl_block *b);

#endif
