/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_internal.h - functions that formats share: queries, names, and fast formatting of lines.
 */
#ifndef HL_VIEWS_EXPORT_EXPORT_INTERNAL_H
#define HL_VIEWS_EXPORT_EXPORT_INTERNAL_H

#include <string.h>

#include "base/fmt.h"
#include "util/json_writer.h"
#include "util/strbuf.h"
#include "util/vec.h"
#include "views/export/export.h"

/* --- queries; all return 0, or -errno with hl_model_error() --- */

/* Runs the query with this key. The caller frees the answer. */
int hl_export_query(struct hl_export_job *x, enum hl_key key, struct hl_answer *a);
/* Queries by stack and builds the tree, outermost frame first, with nothing left out. With --group
 * the group is the outermost frame. The caller frees both. */
int hl_export_tree(struct hl_export_job *x, bool calls, struct hl_answer *a, struct hl_tree *t);
/* The same for people: plumbing is folded, frames before main are omitted, and stacks end at their
 * sites; unless --full-stacks was given. */
int hl_export_folded_tree(struct hl_export_job *x, struct hl_answer *a, struct hl_tree *t);
/* Finds the peak of the selected blocks and caches it in x->peak. */
int hl_export_find_peak(struct hl_export_job *x);
/* Iterates over the blocks of the query with their lifetimes; sets l->query. */
int hl_export_lifetimes(struct hl_export_job *x, struct hl_lifetimes *l);

/* Loads the realloc chains of the blocks. Returns false if they are not known, as for samples or a
 * damaged trace; the blocks are then written without them. */
bool hl_export_chains(struct hl_export_job *x);

static inline uint64_t hl_export_cost(const struct hl_export_job *x, const struct hl_value *v)
{
	return x->by_blocks ? v->blocks : v->bytes;
}

/* --- names --- */

/* The id of a block: its ordinal in the run, also if the trace begins late. */
static inline uint64_t hl_export_id(struct hl_model *m, const struct hl_block *b)
{
	return b->pool == UINT32_MAX ? hl_reader_run_ordinal(hl_model_reader(m), b->ordinal)
				     : b->ordinal;
}

/* Returns "malloc"; NULL if it is not known, as in an imported trace. */
static inline const char *hl_export_call(const struct hl_block *b)
{
	return b->func < HL_FUNC_COUNT && b->func != HL_FUNC_UNKNOWN
		       ? hl_called_function_name(b->func)
		       : NULL;
}
/* Appends "parse", or for code without a symbol "0x1234 [libfoo.so]". */
void hl_export_name(struct hl_strbuf *b, const struct hl_frame *f);
/* Returns the part after the last slash. */
const char *hl_export_basename(const char *path);
/* When the process began, on the time axis of a file: 0 if the file has one process. */
uint64_t hl_export_begin_ns(const struct hl_export_job *x);
/* Returns whether the frame has a symbol, not only an address. */
bool hl_export_is_named(const struct hl_frame *f);
/* Appends the command line, words separated by spaces; line breaks and control characters are
 * escaped. */
void hl_export_command(struct hl_strbuf *b, const struct hl_meta *meta);
/* Appends text escaped for XML and HTML, also for use between double quotes. */
void hl_export_xml(struct hl_strbuf *b, const char *s);

/* Returns a byte for each node: 1 for nodes with a value in an answer by stack, and for all their
 * callers. NULL if there is no memory. The caller frees it. */
uint8_t *hl_export_mark_needed_nodes(struct hl_model *m, const struct hl_answer *a);

/* The path to a node of a tree, outermost first. */
struct hl_export_path {
	uint32_t *nodes;
	size_t len, cap;
};
int hl_export_path(struct hl_export_path *p, const struct hl_tree *t, uint32_t node);

/* Frames numbered in the order of their first use, for tables. */
struct hl_export_frames {
	HL_VEC(uint32_t) list;    /* the frames' numbers in the model */
	HL_VEC(uint32_t) numbers; /* by the model's number: the number here, plus 1 */
};
/* Returns an address of a node's call, for viewers that need one. Each module has its own address
 * range. 0 if it is not known. */
uint64_t hl_export_address(struct hl_model *m, uint32_t node);
int hl_export_frame_number(struct hl_export_frames *f, uint32_t frame, uint32_t *number);
void hl_export_frames_fini(struct hl_export_frames *f);

/* --- lines: stdio costs too much per character for 10^8 of them --- */

struct hl_line {
	char text[1024];
	size_t len;
};

static inline void hl_line_put(struct hl_line *l, const char *s, size_t n)
{
	memcpy(l->text + l->len, s, n);
	l->len += n;
}
/* For literals and short names of heaplapse only: the length is not checked. */
static inline void hl_line_str(struct hl_line *l, const char *s)
{
	hl_line_put(l, s, strlen(s));
}
static inline void hl_line_u64(struct hl_line *l, uint64_t v)
{
	l->len += hl_fmt_u64(l->text + l->len, v);
}
static inline void hl_line_hex(struct hl_line *l, uint64_t v)
{
	unsigned digits = v ? (67u - (unsigned)__builtin_clzll(v)) / 4 : 1;

	for (unsigned i = digits; i-- > 0; v >>= 4)
		l->text[l->len + i] = "0123456789abcdef"[v & 15];
	l->len += digits;
}
static inline void hl_line_write(struct hl_line *l, FILE *out)
{
	fwrite_unlocked(l->text, 1, l->len, out);
	l->len = 0;
}

/* --- several processes --- */

/* A part of the file that follows the processes: the text of those so far. */
struct hl_export_tail {
	FILE *out; /* NULL: it is complete */
	char *text;
	size_t len, n; /* n: the format's own number of what it has */
};
/* NULL: not enough memory. The caller frees it with hl_export_tail_free. */
struct hl_export_tail *hl_export_tail_new(void);
/* Writes the text. Returns 0 or -ENOMEM. */
int hl_export_tail_end(struct hl_export_tail *t, FILE *out);
/* The drop of a format that keeps only a tail. */
void hl_export_tail_free(void *tail);

/* --- formats --- */
int hl_export_chrome(struct hl_export_job *x);
int hl_export_collapsed(struct hl_export_job *x);
int hl_export_csv(struct hl_export_job *x);
int hl_export_firefox(struct hl_export_job *x);
int hl_export_dhat(struct hl_export_job *x);
int hl_export_dot(struct hl_export_job *x);
int hl_export_gprof2dot(struct hl_export_job *x);
int hl_export_html(struct hl_export_job *x);
int hl_export_json(struct hl_export_job *x);
int hl_export_massif(struct hl_export_job *x);
int hl_export_speedscope(struct hl_export_job *x);
int hl_export_parquet(struct hl_export_job *x);
extern const char *const hl_export_parquet_tables[];
int hl_export_svg(struct hl_export_job *x);
void hl_export_svg_drop(void *kept);
int hl_export_heaptrack(struct hl_export_job *x);
int hl_export_pprof(struct hl_export_job *x);
void hl_export_pprof_drop(void *kept);
int hl_export_replay(struct hl_export_job *x);

#endif
