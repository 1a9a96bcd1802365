/*
 * dwarf_walk_internal.h - the functions and inlined calls of a unit, in one pass over its bytes.
 *
 * libdw reads an entry's attributes anew for each question about it, and most entries of a C++
 * unit are types that nobody asks about. Here each abbreviation is read once into a shape, which
 * mostly is a number of bytes to skip.
 */
#ifndef HL_SYMBOL_DWARF_WALK_INTERNAL_H
#define HL_SYMBOL_DWARF_WALK_INTERNAL_H

#include <elfutils/libdw.h>
#include <stdint.h>

/*
 * Called for each entry with code of its own: DW_TAG_subprogram, DW_TAG_inlined_subroutine. Other
 * than 0 ends the walk.
 */
typedef int hl_dwarf_visit(void *user, Dwarf_Die *die, unsigned tag, uint32_t depth);

/*
 * 0, -ENOMEM or what visit returned. A damaged unit ends where the damage is; one that claims
 * more bytes than there are has nothing.
 */
int hl_dwarf_walk(Dwarf_Die *unit, hl_dwarf_visit *visit, void *user);

#endif
