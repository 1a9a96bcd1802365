/*
 * lookup.h - a function in the objects that are loaded, found without the loader's lock.
 */
#ifndef HL_RECORD_LOOKUP_H
#define HL_RECORD_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The definition of `name` in the object that `prefer` lies in, else in the first that was loaded,
 * but never in the one that `skip` lies in. NULL if there is none.
 */
void *hl_lookup(const char *name, uintptr_t skip, uintptr_t prefer);

/* The first in the order of loading, but in neither of the two objects that hold these addresses.
 */
void *hl_lookup_beyond(const char *name, uintptr_t skip, uintptr_t skip_too);

/* The first that was loaded after the object that `skip` lies in. */
void *hl_lookup_after(const char *name, uintptr_t skip);

/*
 * As the loader would bind a call from the object that `caller` lies in, if that came by dlopen:
 * the one that was opened, then what it needs, in breadth; but never in the one that `skip` lies
 * in.
 */
void *hl_lookup_in_scope(const char *name, uintptr_t skip, uintptr_t caller);

/* The last part of a path. */
const char *hl_lookup_file_name(const char *path);

#endif
