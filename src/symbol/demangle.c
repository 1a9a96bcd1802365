/*
 * demangle.c - names as people wrote them: C++, Rust and D.
 *
 * libiberty's recursion limit stays on: names are hostile. Very long ones are left as they are,
 * since demangling can make a name exponentially longer.
 */
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbol_internal.h"

#define MANGLED_MAX   (64 * 1024)
#define DEMANGLED_MAX (256 * 1024)

char *hl_demangle(const char *name)
{
	int how = DMGL_PARAMS | DMGL_ANSI;
	char *out;

	if (name[0] != '_' || strnlen(name, MANGLED_MAX) == MANGLED_MAX)
		return NULL;
	/* DMGL_AUTO does not try D. "_Dmain" is D's, and so are all names of "_D" and a number. */
	if (name[1] == 'D' && ((name[2] >= '0' && name[2] <= '9') || strcmp(name, "_Dmain") == 0))
		how |= DMGL_DLANG;
	else
		how |= DMGL_AUTO;
	out = cplus_demangle(name, how);
	if (out && strlen(out) > DEMANGLED_MAX) {
		free(out);
		out = NULL;
	}
	return out;
}
