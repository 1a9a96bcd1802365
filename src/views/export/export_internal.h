/*
 * export_internal.h - what formats share: asking, names, and lines of text made fast.
 */
#ifndef HL_VIEWS_EXPORT_EXPORT_INTERNAL_H
#define HL_VIEWS_EXPORT_EXPORT_INTERNAL_H

#include <string.h>

#include "base/fmt.h"
#include "util/json.h"
#include "util/strbuf.h"
#include "util/vec.h"
#include "views/export/export.h"

/* --- asking; all 0 or -errno with hl_model_error() --- */

/* The question by this key; its answer is the caller's to free. */
int hl_export_ask(struct hl_export_job *x, enum hl_key key, struct hl_answer *a);
/* By stack and as a tree, outermost frame first, nothing left out; with --group the group stands
 * outside of it. Both are the caller's. */
int hl_export_tree(struct hl_export_job *x, bool calls, struct hl_answer *a, struct hl_tree *t);
/* Finds the peak of the blocks that the filter chooses, once: x->peak. */
int hl_export_find_peak(struct hl_export_job *x);
/* The lives of the blocks; sets the query. */
int hl_export_lives(struct hl_export_job *x, struct hl_lives *l);

/* Finds the realloc chains of the blocks. False: they are not known, as of samples or a damaged
 * trace; the blocks are written without. */
bool hl_export_chains(struct hl_export_job *x);

static inline uint64_t hl_export_cost(const struct hl_export_job *x, const struct hl_value *v)
{
	return x->by_blocks ? v->blocks : v->bytes;
}

/* --- names --- */

/* "malloc"; NULL: not known, as in an imported trace. */
static inline const char *hl_export_call(const struct hl_block *b)
{
	return b->func < HL_FUNC_COUNT && b->func != HL_FUNC_UNKNOWN ? hl_call_name(b->func) : NULL;
}
/* "parse", or for code without a name "0x1234 [libfoo.so]". */
void hl_export_name(struct hl_strbuf *b, const struct hl_frame *f);
/* The part after the last slash. */
const char *hl_export_base(const char *path);
/* Was there a symbol for it, and not only an address? */
bool hl_export_is_named(const struct hl_frame *f);
/* The command line, words separated by spaces; what would break a line is escaped. */
void hl_export_command(struct hl_strbuf *b, const struct hl_meta *meta);
/* Any text for XML and HTML, also between double quotes. */
void hl_export_xml(struct hl_strbuf *b, const char *s);

/* Nodes that an answer by stack has a number for, and all above them: a byte for each node. NULL:
 * no memory. */
uint8_t *hl_export_needed(struct hl_model *m, const struct hl_answer *a);

/* The path of a tree's node, outermost first. */
struct hl_export_path {
	uint32_t *nodes;
	size_t len, cap;
};
int hl_export_path(struct hl_export_path *p, const struct hl_tree *t, uint32_t node);

/* Frames numbered in the order in which they are first used, for tables. */
struct hl_export_frames {
	HL_VEC(uint32_t) list;    /* of the model */
	HL_VEC(uint32_t) numbers; /* by the model's number: here, plus 1 */
};
/* Where a node's frames are called from, for viewers that want an address: each module has a place
 * of its own. 0: not known. */
uint64_t hl_export_address(struct hl_model *m, uint32_t node);
int hl_export_frame_number(struct hl_export_frames *f, uint32_t frame, uint32_t *number);
void hl_export_frames_fini(struct hl_export_frames *f);

/* --- lines: stdio asks too much of each character where there are 10^8 of them --- */

struct hl_line {
	char text[1024];
	size_t len;
};

static inline void hl_line_put(struct hl_line *l, const char *s, size_t n)
{
	memcpy(l->text + l->len, s, n);
	l->len += n;
}
/* A literal, or a short name of ours. */
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

/* --- the formats --- */
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
int hl_export_heaptrack(struct hl_export_job *x);
int hl_export_pprof(struct hl_export_job *x);
int hl_export_replay(struct hl_export_job *x);

#endif
