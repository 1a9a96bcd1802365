/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_lookup.h - finds a function in the loaded objects without the loader's lock.
 */
#ifndef HL_RECORD_INTERPOSE_ELF_LOOKUP_H
#define HL_RECORD_INTERPOSE_ELF_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

/* The definition of `name` in the object that contains `prefer`, else in the first object in load
 * order that has one, but never in the object that contains `skip`. NULL if there is none. */
void *hl_elf_lookup(const char *name, uintptr_t skip, uintptr_t prefer);

/* The first definition in load order that is in neither of the objects that contain these
 * addresses. */
void *hl_elf_lookup_except(const char *name, uintptr_t skip, uintptr_t skip_too);

/* The first definition in the objects loaded after the one that contains `skip`. */
void *hl_elf_lookup_after(const char *name, uintptr_t skip);

/*
 * The definition to which the loader would bind a call from the object that contains `caller`, if
 * that object was loaded by dlopen: in the opened object, then in its dependencies in breadth-first
 * order, but never in the object that contains `skip`.
 */
void *hl_elf_lookup_in_scope(const char *name, uintptr_t skip, uintptr_t caller);

/* The part of a path after the last slash. */
const char *hl_elf_lookup_file_name(const char *path);

#endif
