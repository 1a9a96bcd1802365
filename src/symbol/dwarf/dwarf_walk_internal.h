/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_walk_internal.h - the functions and inlined calls of a unit, in one pass over its bytes.
 *
 * libdw reads the attributes of an entry again for each query, and most entries of a C++ unit are
 * types, which are not needed here. This walk reads each abbreviation once into a shape; skipping
 * an entry is then mostly adding a fixed size.
 */
#ifndef HL_SYMBOL_DWARF_DWARF_WALK_INTERNAL_H
#define HL_SYMBOL_DWARF_DWARF_WALK_INTERNAL_H

#include <elfutils/libdw.h>
#include <stdint.h>

/*
 * Called for each DW_TAG_subprogram and DW_TAG_inlined_subroutine that has code. A return value
 * other than 0 ends the walk.
 */
typedef int hl_dwarf_visit(void *user, Dwarf_Die *die, unsigned tag, uint32_t depth);

/*
 * Returns 0, -ENOMEM or the result of visit. In a damaged unit the walk ends at the damage. A unit
 * that claims more bytes than exist is treated as empty.
 */
int hl_dwarf_walk(Dwarf_Die *unit, hl_dwarf_visit *visit, void *user);

#endif
