/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_name.h - shortens names of functions, as demanglers write them, for display.
 *
 * The names are untrusted: any string is allowed. What is not understood stays as it is, or is cut
 * in its middle.
 */
#ifndef HL_UTIL_CODE_NAME_CODE_NAME_H
#define HL_UTIL_CODE_NAME_CODE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "util/strbuf.h"

/* Appends the name with each template argument list replaced by "<", the ellipsis and ">". */
void hl_code_name_drop_lists(struct hl_strbuf *out, const char *name, const char *ellipsis);

/*
 * Forms of a name. Form 0 is the name. Each further one leaves out more: the return type and the
 * suffix of a clone, parameters, template arguments, leading namespaces one by one, the class. The
 * last form is the function's own name: "put" of "void shop::Cache<K>::put<int>(K const&) const".
 * A lambda or a closure includes the function around it, an operator() the class.
 */
enum hl_code_name_kept {
	HL_CODE_NAME_CUT,      /* a part of the function's own name */
	HL_CODE_NAME_FUNCTION, /* the function's own name */
	HL_CODE_NAME_CLASS,    /* and its class, if it has one */
	HL_CODE_NAME_WHOLE,
};
/* Appends form n. Returns false and appends nothing if there are fewer forms. */
bool hl_code_name_form(struct hl_strbuf *out, const char *name, unsigned n, const char *ellipsis,
	enum hl_code_name_kept *kept);
/* Appends the first form that has at most `columns` characters; if none has, the last one without
 * its middle. */
enum hl_code_name_kept hl_code_name_fit(
	struct hl_strbuf *out, const char *name, size_t columns, const char *ellipsis);
/* Appends at most `columns` characters, which include the function's own name, or a part of it, and
 * the place at the offset `differs`, where the name differs from another. */
void hl_code_name_fit_difference(struct hl_strbuf *out, const char *name, size_t columns,
	size_t differs, const char *ellipsis);

/* Appends a text of any kind in at most `columns` characters: a longer one without its middle.
 * head_thirds of three parts of the rest are from its beginning. */
void hl_code_name_cut(struct hl_strbuf *out, const char *text, size_t len, size_t columns,
	unsigned head_thirds, const char *ellipsis);
/* The number of characters in the first len bytes. */
size_t hl_code_name_columns(const char *s, size_t len);

#endif
