/*
 * lines.h - memory that another core is going to write next.
 *
 * What we have read stays in our caches. When the other core writes it again it has to ask us for
 * each line, and its stores wait: on processors with several last-level caches that share no core
 * (AMD's) about 80 ns a line if the two are in different ones, which nobody sees who only looks at
 * us. Lines that are in no cache it just takes (bench/handover.c measures both).
 */
#ifndef HL_UTIL_LINES_H
#define HL_UTIL_LINES_H

#include <stddef.h>

/* Lets go of all lines that lie whole in these bytes, where that pays. Only time depends on it. */
void hl_lines_let_go(const void *p, size_t n);

#endif
