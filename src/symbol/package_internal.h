/*
 * package_internal.h - which Debian package has a file's debug information.
 */
#ifndef HL_SYMBOL_PACKAGE_INTERNAL_H
#define HL_SYMBOL_PACKAGE_INTERNAL_H

#include "symbol/symbol_internal.h"

/* Does a list of dpkg (a path on each line) name this path, with or without /usr? */
bool hl_package_lists(const char *list, size_t len, const char *path);
/* The package of a file, or NULL. Takes the time it used from the budget. The caller frees it. */
char *hl_package_find(const char *path, uint64_t *budget_ns);
/* The package with its debug information. The caller frees it. */
char *hl_package_debug(const char *package);

#endif
