/*
 * tag_book.h - trees of tags apart from where they came from: merged, added up, compared.
 *
 * A book is a report with the memory it lies in. New books are made of old ones; names are copied.
 */
#ifndef HL_MODEL_TAG_BOOK_H
#define HL_MODEL_TAG_BOOK_H

#include "model/pattern.h"
#include "tags/report.h"
#include "util/vec.h"

struct hl_tag_book {
	struct hl_tag_report r;
	HL_VEC(void *) memory;
};

/* A zeroed book is an empty one. */
void hl_tag_book_fini(struct hl_tag_book *b);
/* Zeroed memory that lives as long as the book; NULL: there is none. */
void *hl_tag_book_more(void *book, size_t bytes);

/* What becomes one. */
struct hl_tag_merge {
	const struct hl_pattern *pattern;
	const char *name; /* of the result */
};
struct hl_tag_merges {
	const struct hl_tag_merge *threads, *scopes;
	size_t n_threads, n_scopes;
	bool by_name; /* threads of one name are one */
	bool one;     /* all threads are one */
};

/*
 * Adds what `from` has to `to`, which holds the books added before by the same merges, or takes it
 * away (numbers go below zero as two's complement does). Scopes are the same if their names are,
 * in scopes that are the same. Settled afterwards. 0 or -ENOMEM.
 */
int hl_tag_book_add(struct hl_tag_book *to, const struct hl_tag_book *from,
	const struct hl_tag_merges *m, bool take_away);

/* Do their numbers mean the same? */
bool hl_tag_book_alike(const struct hl_tag_book *a, const struct hl_tag_book *b);

/* Reads a snapshot. 0; -EBADMSG: it is none, -EPIPE: it is cut short, -EPROTO: of a later version,
 * -EFBIG: over 2 GiB, -ENOMEM. */
int hl_tag_book_from_json(struct hl_tag_book *b, const char *text, size_t len);

struct hl_model;
/* The tags of a trace. 0; -ENOENT: it holds none; else hl_model_error(). */
int hl_tags_from_trace(struct hl_model *m, struct hl_tag_book *b);

#endif
