/*
 * query.h - the questions: a quantity, a range of time, a filter, a key; the answer is a number for
 * each value of the key. All views ask here, and no number is made anywhere else.
 */
#ifndef HL_MODEL_QUERY_H
#define HL_MODEL_QUERY_H

#include "model/block.h"
#include "model/filter.h"
#include "model/model.h"
#include "model/pattern.h"
#include "model/sums.h"
#include "model/when.h"

struct hl_suppressions;

enum hl_quantity {
	HL_QUANTITY_LIVE,      /* blocks at `to`; @peak is the very event of the peak */
	HL_QUANTITY_ALLOCATED, /* allocations from `from` to `to` */
	HL_QUANTITY_TEMPORARY, /* of these, the ones that were freed at once, by `to` */
	HL_QUANTITY_GROWTH,    /* of these, the ones that are alive at `to` */
};
/* "live" */
const char *hl_quantity_name(enum hl_quantity q);

/* What a number is given for. All but the lifetime are of the block's allocation. */
enum hl_key {
	HL_KEY_STACK,    /* nodes of the call tree; none: blocks without a stack */
	HL_KEY_THREAD,   /* threads, numbered from 0 */
	HL_KEY_CALL,     /* enum hl_func */
	HL_KEY_SIZE,     /* 0: size 0; else 1 + log2 of the size */
	HL_KEY_LIFE,     /* powers of ten, see hl_life_bounds; none: not freed by the end */
	HL_KEY_INTERVAL, /* how many snapshots came before */
	HL_KEY_TAG,      /* tags of the trace; none: outside of any scope */
	HL_KEY_POOL,     /* pools of the program's own; none: the heap */
};

/* Lifetimes from *lo to below *hi; UINT64_MAX: no end. */
#define HL_LIFE_CLASSES 11
void hl_life_bounds(unsigned life, uint64_t *lo_ns, uint64_t *hi_ns);

struct hl_query {
	enum hl_quantity quantity;
	enum hl_key key;
	struct hl_when from, to;
	struct hl_filter *filter;             /* NULL: all. Bound by the query */
	struct hl_suppressions *suppressions; /* what they fit is left out; NULL: nothing */
	uint64_t temporary_ns; /* temporary: lived shorter than this; 0: freed by the very next
				  event */
	const struct hl_pattern *pool; /* blocks of pools with such a name; NULL: the heap's */
	bool decode;                   /* never the short way: what tests compare with */
};

struct hl_value {
	uint64_t bytes, blocks;
	double variance; /* of the bytes, where they are estimated from samples; else 0 */
};

/* The truth lies within so many bytes of an estimate, in 95 cases of 100; 0: it is no estimate. */
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
	uint64_t from_ns, to_ns; /* what the numbers are of; for live both are the moment */
	struct hl_value total;
	struct hl_value *values; /* n_keys + 1; the last: none */
	uint32_t n_keys;
	bool pool;   /* of pools, not of the heap */
	bool unsure; /* estimates are among it, and how far off they are is in no sum */
	/* The file is damaged: what was asked for cannot be known exactly, and this is the latest
	 * moment before it that can. */
	bool moved;
	uint64_t asked_ns;
};

/* 0 or -errno with hl_model_error(); -ENOENT: there is no such mark. */
int hl_model_query(struct hl_model *m, const struct hl_query *q, struct hl_answer *a);
/* It is going to be asked: see question.h. */
void hl_query_expect(struct hl_model *m, const struct hl_query *q);
void hl_answer_fini(struct hl_answer *a);

/* Makes its times, filter and suppressions those of this trace. 0 or -errno with hl_model_error().
 */
int hl_query_bind(const struct hl_query *q, struct hl_model *m);
/* Can keyframes and summaries answer it, or does it take every event? */
bool hl_query_sums_suffice(const struct hl_model *m, const struct hl_query *q);
/* Are the events there that an answer by single blocks takes? 0 or -ENODATA with
 * hl_model_error(). */
int hl_query_check_events(struct hl_model *m, const struct hl_query *q);
/* The same for who wants to know of each block when it came and went. */
int hl_query_check_lives(struct hl_model *m, const struct hl_query *q);
/* Where a range ends, and where it begins: all that happens at that time belongs to it. */
struct hl_place hl_query_to(struct hl_model *m, const struct hl_when *when);
struct hl_place hl_query_from(struct hl_model *m, const struct hl_when *when);
/* Has the trace what the question takes? 0 or -ENODATA with hl_model_error(). */
int hl_query_check(struct hl_model *m, const struct hl_query *q);
/* What a block counts for. */
struct hl_value hl_block_value(const struct hl_model *m, const struct hl_block *b);
/* Is a block that a stream over the query's range hands over what is asked for? */
bool hl_query_counts(const struct hl_query *q, const struct hl_block *b);
/* How many keys there are, but none; and which of them a block has, up to that number for none. */
int hl_key_count(struct hl_model *m, enum hl_key key, uint32_t *n);
uint32_t hl_key_of(struct hl_model *m, enum hl_key key, const struct hl_block *b);

#endif
