/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_name_internal.h - the syntax of names, for both ways to shorten them.
 */
#ifndef HL_UTIL_CODE_NAME_CODE_NAME_INTERNAL_H
#define HL_UTIL_CODE_NAME_CODE_NAME_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

bool hl_code_name_is_char(char c);
/*
 * The length of an operator's name at s ("operator<<", "operator()"), 0 if there is none. After
 * "operator" in a conversion ("operator std::string") there is an ordinary name.
 */
size_t hl_code_name_operator_len(const char *name, const char *s);
/* Does the '<' at s open a list? op_end: end of the last operator name. */
bool hl_code_name_opens_list(const char *name, const char *s, const char *op_end);
/* The bracket that closes the one at s, or NULL. */
const char *hl_code_name_group_end(const char *name, const char *s);

#endif
