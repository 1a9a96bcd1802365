/*
 * filter.h - which events or blocks are meant: "fn:parse* size:>=4K -thread:0".
 *
 * Terms are separated by spaces and all must hold; terms or values with a comma between them are
 * alternatives; a leading - (or !) turns a term with all its values round, behind a comma too; a
 * value with spaces or commas stands in double quotes. A word without a key is a part of a
 * function's name; behind a comma it has the key of what stands before it.
 *   fn:NAME                  a function of the stack fits, or the one that was called (malloc)
 *   file:NAME  module:NAME   a frame of the stack fits; see pattern.h for NAME
 *   call:malloc              the function that the program called: its whole name, as -g call or
 *                            dump has it, or NAME as for fn
 *   thread:N  thread:NAME    the thread, numbered from 0 as it appeared, or its last name
 *   tag:PATH                 the scope that the block was allocated in, as -g tag has it
 *   size:>=N  size:A..B      requested bytes; K, M, G, T are binary
 *   time:A..B                when; either end may be left out, times as in when.h. @peak and
 *                            @mark:NAME are places between two events, as they are for queries
 *   addr:0x7f..  addr:A..B   the block holds this address, or begins in this range
 *   life:<1ms  life:A..B     how long the block lives; one that is not freed lives for ever
 *   alive:T                  the block exists at this moment
 *   chain-length:>=N         how many blocks its realloc chain has, see chains.h
 *   chain-position:N         which of them the block is, from 1; last: the last
 *   chain-first:N chain-last:N  requested bytes of the first and the last block of the chain
 *   chain-life:<1s           from the first block's birth to the last one's death
 *   chain-alive:T            a block of the chain exists at this moment
 *   op:alloc|free            the kind of event (dump only)
 * function is another word for fn, func for call; = is as good as a colon, and may be left out
 * before < and >. A regular expression begins and ends with / and may have spaces and commas in it,
 * but those for files and modules, which may be paths, need quotes for spaces.
 */
#ifndef HL_MODEL_FILTER_H
#define HL_MODEL_FILTER_H

#include "model/block.h"
#include "model/model.h"

struct hl_filter;

struct hl_filter_error {
	size_t at; /* byte in the expression */
	char text[192];
};

/* -EINVAL with *error filled in, or -ENOMEM. */
int hl_filter_parse(struct hl_filter **out, const char *expr, struct hl_filter_error *error);
void hl_filter_free(struct hl_filter *f);
/* And also one of these NAMEs (negated: none of them) for `key`: fn, file or module. */
int hl_filter_add_names(struct hl_filter *f, const char *key, bool negated,
	const char *const *names, size_t n, struct hl_filter_error *error, size_t *bad_name);

/* Turns times into those of this recording; before the first match. 0, or -ENOENT with
 * hl_model_error(): there is no such mark, or no such time. */
int hl_filter_bind(struct hl_filter *f, struct hl_model *m);

/* What a filter is about. */
#define HL_FILTER_OP             1u
#define HL_FILTER_FUNC           2u
#define HL_FILTER_THREAD         4u
#define HL_FILTER_SIZE           8u
#define HL_FILTER_TIME           16u
#define HL_FILTER_FUNCTION       32u
#define HL_FILTER_FILE           64u
#define HL_FILTER_MODULE         128u
#define HL_FILTER_ADDR           256u
#define HL_FILTER_LIFE           512u
#define HL_FILTER_ALIVE          1024u
#define HL_FILTER_TAG            2048u
#define HL_FILTER_CHAIN_LENGTH   4096u
#define HL_FILTER_CHAIN_POSITION 8192u
#define HL_FILTER_CHAIN_FIRST    16384u
#define HL_FILTER_CHAIN_LAST     32768u
#define HL_FILTER_CHAIN_LIFE     65536u
#define HL_FILTER_CHAIN_ALIVE    131072u
/* About realloc chains, which hl_filter_bind loads. */
#define HL_FILTER_CHAIN                                                              \
	(HL_FILTER_CHAIN_LENGTH | HL_FILTER_CHAIN_POSITION | HL_FILTER_CHAIN_FIRST | \
		HL_FILTER_CHAIN_LAST | HL_FILTER_CHAIN_LIFE | HL_FILTER_CHAIN_ALIVE)
/* Known of a stack alone; known only when the block is dead. */
#define HL_FILTER_STACK (HL_FILTER_FUNCTION | HL_FILTER_FILE | HL_FILTER_MODULE)
#define HL_FILTER_DEATH \
	(HL_FILTER_LIFE | HL_FILTER_ALIVE | HL_FILTER_CHAIN_LIFE | HL_FILTER_CHAIN_ALIVE)
unsigned hl_filter_subjects(const struct hl_filter *f);
/* Where the first term about one of these subjects stands, for messages. */
size_t hl_filter_place_of(const struct hl_filter *f, unsigned subjects);

/*
 * For questions about events: finds out for which blocks the terms about deaths hold. Reads the
 * trace if there are such terms. 0 or -errno with hl_model_error(); -ENODATA: a part of it is lost.
 */
int hl_filter_learn_deaths(struct hl_filter *f, struct hl_model *m);

/*
 * Does it hold for this event? 0 or -errno. Unless hl_filter_learn_deaths has found it out, it is
 * not known of an allocation how long the block will live: life and alive do not hold. A free says
 * it within a quarter of an octave. before: how many events of the recording come before it.
 */
int hl_filter_event(struct hl_filter *f, struct hl_model *m, const struct hl_event *e,
	uint64_t before, bool *holds);
/* For a block, by its allocation and, for life and alive, its death. */
int hl_filter_block(struct hl_filter *f, struct hl_model *m, const struct hl_block *b, bool *holds);
/* For things between the events: terms about time and thread, of mmap and its like also about size,
 * address, stack and call; any other term does not hold. */
bool hl_filter_extra(
	struct hl_filter *f, struct hl_model *m, const struct hl_extra *x, uint64_t before);
/* For a filter about nothing but stacks. */
int hl_filter_node(struct hl_filter *f, struct hl_model *m, uint32_t node, bool *holds);

#endif
