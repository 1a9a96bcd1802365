/*
 * series.h - traces of one run that get the same name: NAME.hlt, then NAME.2.hlt, NAME.3.hlt ...
 *
 * The last number of each name is kept, so that the next trace finds its number in one step,
 * however many there are. Numbers that other files have are passed in logarithmic time. Nothing
 * here creates a file; whether a name was free is decided by the call that takes it.
 */
#ifndef HL_COLLECT_SERIES_H
#define HL_COLLECT_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/strings.h"
#include "util/vec.h"

#define HL_SERIES_MAX 100000000u /* numbers go up to this */

/* A zeroed series is an empty one. */
struct hl_series {
	struct hl_strings names; /* that got a number above 1 */
	HL_VEC(uint32_t) last;   /* the highest number of each */
	struct hl_strings made;  /* files of this run; see hl_series_keep */
	uint32_t files;          /* how many were made */
};

void hl_series_fini(struct hl_series *s);

/* The name with its number before the suffix .hlt; number 1 is the name itself. 0 or -ENAMETOOLONG.
 */
int hl_series_name(char *buf, size_t n, const char *name, uint32_t number);

/* The number to try first. */
uint32_t hl_series_first(const struct hl_series *s, const char *name);

/*
 * A number >= from that is not taken, and whose predecessor is taken or below from. Without gaps it
 * is the smallest free one. Calls is_taken about 2 log2(n) times when n numbers are taken.
 * HL_SERIES_MAX + 1: there is none.
 */
uint32_t hl_series_find(
	uint32_t from, bool (*is_taken)(const void *arg, uint32_t number), const void *arg);

/* A file of this name was made with this number. Without memory the next search takes longer. */
void hl_series_took(struct hl_series *s, const char *name, uint32_t number);

/* Remembers the path of a file that was made, for hl_series_has. */
int hl_series_keep(struct hl_series *s, const char *path);
bool hl_series_has(const struct hl_series *s, const char *path);

#endif
