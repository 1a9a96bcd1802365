/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.h - filter expressions that select events or blocks: "fn:parse* size:>=4K -thread:0".
 *
 * Terms are separated by spaces and all must hold. Terms or values separated by a comma are
 * alternatives. A leading - (or !) negates a term with all its values, also after a comma. A value
 * with spaces or commas is in double quotes. A word without a key is a part of a function's name;
 * after a comma it has the key of the preceding term.
 *   fn:NAME                  a function of the stack matches, or the called one (malloc)
 *   file:NAME  module:NAME   a frame of the stack matches; see pattern.h for NAME
 *   call:malloc              the function that the program called: its whole name, as -g call or
 *                            dump prints it, or NAME as for fn
 *   thread:N  thread:NAME    the thread, numbered from 0 as it appeared, or its last name
 *   tag:PATH                 the scope that the block was allocated in, as -g tag prints it
 *   size:>=N  size:A..B      requested bytes; K, M, G, T are binary
 *   time:A..B                when; either end may be left out, times as in time_spec.h. @peak and
 *                            @mark:NAME are positions between two events, as in queries
 *   addr:0x7f..  addr:A..B   the block contains this address, or begins in this range
 *   life:<1ms  life:A..B     lifetime of the block; infinite if it is not freed
 *   alive:T                  the block is live at this moment
 *   chain-length:>=N         number of blocks in its realloc chain, see realloc_chains.h
 *   chain-position:N         which of them the block is, from 1; last: the last
 *   chain-first:N chain-last:N  requested bytes of the first and the last block of the chain
 *   chain-life:<1s           from the first block's allocation to the last one's free
 *   chain-alive:T            a block of the chain is live at this moment
 *   depth:>=N                number of frames of the stack, without inlined calls
 *   stack:N                  the stack with this number: its node, as dump and JSON print it
 *   freed-fn:NAME freed-file:NAME freed-module:NAME freed-stack:N
 *                            the same of the stack that freed the block (record --free-stacks)
 *   freed-thread:N|NAME      the thread that freed it
 *   group-allocated:>=N      number of blocks of the whole run that have the same stack: the
 *                            block's group, see stack_groups.h
 *   group-leaked:100%        how many of the group are live at the end; also a share of it
 *   group-interval:>1s       from the first to the last allocation of the group; also a share of
 *                            the run
 *   group-peak:A..B          when the live bytes of the group first had their maximum
 *   op:alloc|free            the kind of event (dump only)
 * function is a synonym of fn, func of call; = is equivalent to a colon, and both may be left out
 * before < and >. A regular expression begins and ends with / and may contain spaces and commas;
 * for files and modules, which may be paths, it must be quoted if it has spaces.
 */
#ifndef HL_MODEL_QUERY_FILTER_H
#define HL_MODEL_QUERY_FILTER_H

#include "model/scan/block_table.h"
#include "model/model.h"

struct hl_filter;

struct hl_filter_error {
	size_t at; /* byte offset in the expression */
	char text[448];
};

/* Returns 0, -EINVAL with *error filled in, or -ENOMEM. */
int hl_filter_parse(struct hl_filter **out, const char *expr, struct hl_filter_error *error);
void hl_filter_free(struct hl_filter *f);
/* Adds the terms of another expression, which must hold, too. Returns as hl_filter_parse; after an
 * error the filter can only be freed. */
int hl_filter_add(struct hl_filter *f, const char *expr, struct hl_filter_error *error);
/* Adds a term: one of these NAMEs (negated: none of them) must match `key`, which is fn, file or
 * module. */
int hl_filter_add_names(struct hl_filter *f, const char *key, bool negated,
	const char *const *names, size_t n, struct hl_filter_error *error, size_t *bad_name);

/* Resolves times for this recording; must be called before the first match. Returns 0, or -errno
 * with hl_model_error(); -ENOENT: there is no such mark or no such time. */
int hl_filter_bind(struct hl_filter *f, struct hl_model *m);

/* The subjects of the terms of a filter, ORed. */
#define HL_FILTER_OP              1u
#define HL_FILTER_FUNC            2u
#define HL_FILTER_THREAD          4u
#define HL_FILTER_SIZE            8u
#define HL_FILTER_TIME            16u
#define HL_FILTER_FUNCTION        32u
#define HL_FILTER_FILE            64u
#define HL_FILTER_MODULE          128u
#define HL_FILTER_ADDR            256u
#define HL_FILTER_LIFETIME        512u
#define HL_FILTER_ALIVE           1024u
#define HL_FILTER_TAG             2048u
#define HL_FILTER_CHAIN_LENGTH    4096u
#define HL_FILTER_CHAIN_POSITION  8192u
#define HL_FILTER_CHAIN_FIRST     16384u
#define HL_FILTER_CHAIN_LAST      32768u
#define HL_FILTER_CHAIN_LIFETIME  65536u
#define HL_FILTER_CHAIN_ALIVE     131072u
#define HL_FILTER_DEPTH           (1u << 18)
#define HL_FILTER_NODE            (1u << 19)
#define HL_FILTER_GROUP_ALLOCATED (1u << 20)
#define HL_FILTER_GROUP_LEAKED    (1u << 21)
#define HL_FILTER_GROUP_INTERVAL  (1u << 22)
#define HL_FILTER_GROUP_PEAK      (1u << 23)
#define HL_FILTER_FREED_FUNCTION  (1u << 24)
#define HL_FILTER_FREED_FILE      (1u << 25)
#define HL_FILTER_FREED_MODULE    (1u << 26)
#define HL_FILTER_FREED_NODE      (1u << 27)
#define HL_FILTER_FREED_THREAD    (1u << 28)
/* About realloc chains, which hl_filter_bind loads. */
#define HL_FILTER_CHAIN                                                              \
	(HL_FILTER_CHAIN_LENGTH | HL_FILTER_CHAIN_POSITION | HL_FILTER_CHAIN_FIRST | \
		HL_FILTER_CHAIN_LAST | HL_FILTER_CHAIN_LIFETIME | HL_FILTER_CHAIN_ALIVE)
/* About the group of a block, which hl_filter_bind loads; the second need a pass over all events.
 */
#define HL_FILTER_GROUP_TIMES (HL_FILTER_GROUP_INTERVAL | HL_FILTER_GROUP_PEAK)
#define HL_FILTER_GROUP       (HL_FILTER_GROUP_ALLOCATED | HL_FILTER_GROUP_LEAKED | HL_FILTER_GROUP_TIMES)
/* About the names of single frames. */
#define HL_FILTER_FRAMES (HL_FILTER_FUNCTION | HL_FILTER_FILE | HL_FILTER_MODULE)
/* About the stack that freed a block: by the names of its frames, or at all. */
#define HL_FILTER_FREED_FRAMES \
	(HL_FILTER_FREED_FUNCTION | HL_FILTER_FREED_FILE | HL_FILTER_FREED_MODULE)
#define HL_FILTER_FREED_STACK (HL_FILTER_FREED_FRAMES | HL_FILTER_FREED_NODE)
/* HL_FILTER_STACK: depends on the stack of the allocation only. HL_FILTER_FREE_TIME: known only
 * when the block is freed. */
#define HL_FILTER_STACK (HL_FILTER_FRAMES | HL_FILTER_DEPTH | HL_FILTER_NODE | HL_FILTER_GROUP)
#define HL_FILTER_FREE_TIME                                                                        \
	(HL_FILTER_LIFETIME | HL_FILTER_ALIVE | HL_FILTER_CHAIN_LIFETIME | HL_FILTER_CHAIN_ALIVE | \
		HL_FILTER_FREED_STACK | HL_FILTER_FREED_THREAD)
unsigned hl_filter_subjects(const struct hl_filter *f);
/* The same without the calls that fn: terms match, too. */
unsigned hl_filter_term_subjects(const struct hl_filter *f);
/* In a trace that begins late, terms about realloc chains and groups may match other blocks than in
 * a trace of the whole run: a sentence about that; NULL: the filter has no such term. */
const char *hl_filter_base_limit(const struct hl_filter *f, const struct hl_model *m);
/* The offset of the first term about one of these subjects, for messages. */
size_t hl_filter_term_offset(const struct hl_filter *f, unsigned subjects);

/*
 * For queries about events: finds the blocks for which the terms about frees hold. Reads the trace
 * if there are such terms. Returns 0, or -errno with hl_model_error(); -ENODATA: a part of the
 * trace is lost.
 */
int hl_filter_load_frees(struct hl_filter *f, struct hl_model *m);

/*
 * Does the filter hold for this event? Returns 0 or -errno. Unless hl_filter_load_frees was called,
 * the lifetime of a block is not known at its allocation, and life and alive do not hold; a free
 * has the lifetime within a quarter of an octave. before: number of events of the recording before
 * it.
 */
int hl_filter_event(struct hl_filter *f, struct hl_model *m, const struct hl_event *e,
	uint64_t before, bool *holds);
/* For a block: by its allocation and, for life and alive, its free. */
int hl_filter_block(struct hl_filter *f, struct hl_model *m, const struct hl_block *b, bool *holds);
/* For side events: terms about time and thread; for mmap, munmap and mremap also about size,
 * address, stack and call. Any other term does not hold. */
bool hl_filter_extra(
	struct hl_filter *f, struct hl_model *m, const struct hl_extra *x, uint64_t before);
/* For a filter with terms about functions, files and modules only: does it hold for this
 * frame alone? */
bool hl_filter_frame(const struct hl_filter *f, const struct hl_frame *frame);
/* For a filter that is about stacks only. */
int hl_filter_node(struct hl_filter *f, struct hl_model *m, uint32_t node, bool *holds);

#endif
