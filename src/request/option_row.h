/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_row.h - a setting as a row of a table: its name, its values, its help and its setter.
 *
 * The rows serve every source of key/value pairs: the command line, the environment, and requests
 * from elsewhere. Help, manual pages and completion are made from the same rows.
 */
#ifndef HL_REQUEST_OPTION_ROW_H
#define HL_REQUEST_OPTION_ROW_H

#include <stdbool.h>
#include <stddef.h>

/*
 * `set` stores the value. It returns NULL, or a description of a valid value ("a size such as
 * 64K"). A row without help text is not listed. An array of rows ends with {0}.
 */
struct hl_opt {
	char short_name;       /* 0: none */
	const char *long_name; /* without dashes; NULL: none */
	/* The value: "FILE"; "[WHEN]" for an optional value, given as --x=WHEN; NULL for none. If
	 * the value is one of a few words, their list: "on|off", or with a placeholder to show in
	 * front, "BY:bytes|blocks" or "[HOW]:names|full". Help, completion and the message for an
	 * invalid word are made from the list. */
	const char *arg;
	const char *help;
	const char *(*set)(void *state, const char *value); /* value is NULL if none was given */
};

/* Rows whose setters receive a part of the caller's state: its address plus `offset`. An array of
 * tables ends with {0}. */
struct hl_opt_table {
	const struct hl_opt *rows;
	size_t offset;
};

static inline bool hl_opt_is_end(const struct hl_opt *o)
{
	return !o->short_name && !o->long_name;
}

/* Returned by a setter if the word is not in the list of hl_opt.arg. */
#define HL_OPT_NOT_LISTED "one of its values"
/* Returns the index of `word` in a list such as "on|off"; -1 if it is not in it. */
int hl_word_find(const char *list, const char *word);
int hl_word_find_n(const char *list, const char *word, size_t len);
/* Returns the list of valid words; NULL if the option takes other values. */
const char *hl_opt_values(const struct hl_opt *o);
bool hl_opt_arg_optional(const struct hl_opt *o);
/* Returns the length of the part of `arg` that help shows. */
int hl_opt_arg_len(const struct hl_opt *o);
/* Calls the setter. Returns NULL, or a description of a valid value. If that is a list of words, it
 * is written to `text`. */
#define HL_OPT_TEXT_MAX 256
const char *hl_opt_store_value(
	const struct hl_opt *o, void *state, const char *value, char text[HL_OPT_TEXT_MAX]);
/* Stores a key/value pair by its row; value may be NULL. o == NULL: no row has the key. Returns
 * true, or false with a sentence in `why`. */
bool hl_opt_store_pair(const struct hl_opt *o, const char *key, const char *value, void *state,
	char *why, size_t why_size);

#endif
