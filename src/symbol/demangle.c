/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.c - demangles names of C++, Rust and D.
 *
 * libiberty's recursion limit stays enabled, because names may be malicious. Very long names are
 * not demangled, since demangling can make a name exponentially longer.
 */
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbol_internal.h"

#define MANGLED_MAX   (64 * 1024)
#define DEMANGLED_MAX (256 * 1024)

char *hl_demangle(const char *name)
{
	int options = DMGL_PARAMS | DMGL_ANSI;
	char *out;

	if (name[0] != '_' || strnlen(name, MANGLED_MAX) == MANGLED_MAX)
		return NULL;
	/* DMGL_AUTO does not try D. "_Dmain" and all names of "_D" followed by a digit are D. */
	if (name[1] == 'D' && ((name[2] >= '0' && name[2] <= '9') || strcmp(name, "_Dmain") == 0))
		options |= DMGL_DLANG;
	else
		options |= DMGL_AUTO;
	out = cplus_demangle(name, options);
	if (out && strlen(out) > DEMANGLED_MAX) {
		free(out);
		out = NULL;
	}
	return out;
}
