/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debian_package_internal.h - the Debian package that has a file's debug information.
 */
#ifndef HL_SYMBOL_LOCATE_DEBIAN_PACKAGE_INTERNAL_H
#define HL_SYMBOL_LOCATE_DEBIAN_PACKAGE_INTERNAL_H

#include "symbol/symbol_internal.h"

/* True if a list of dpkg (one path per line) contains this path, with or without /usr. */
bool hl_debian_package_contains(const char *list, size_t len, const char *path);
#define HL_DEBIAN_ADMIN_DIR "/var/lib/dpkg"
/* The package that owns the file that the path leads to, or NULL. admin_dir: dpkg's directory. The
 * elapsed time is subtracted from the budget. The caller frees the result. */
char *hl_debian_package_find(const char *admin_dir, const char *path, uint64_t *budget_ns);
/* The package with its debug information. The caller frees the result. */
char *hl_debian_package_debug(const char *package);

#endif
