/* SPDX-License-Identifier: Apache-2.0 */
/* microhttpd_load.c - see microhttpd_load.h. */
#define HL_MICROHTTPD_NAMES /* the functions have their own names here */
#include "views/web/microhttpd_load.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libmicrohttpd.so.12"

struct hl_microhttpd hl_microhttpd;

static const struct {
	const char *name;
	size_t offset;
} functions[] = {
#define X(name) {#name, offsetof(struct hl_microhttpd, name)},
	HL_MICROHTTPD_FUNCTIONS(X)
#undef X
};

int hl_microhttpd_load(struct hl_web_failure *why)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		snprintf(why->text, sizeof(why->text),
			"libmicrohttpd cannot be loaded: %.300s; apt install libmicrohttpd12",
			dlerror());
		return -ENOENT;
	}
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *function = dlsym(library, functions[i].name);

		if (!function) {
			snprintf(why->text, sizeof(why->text), "%s has no function %s", LIBRARY,
				functions[i].name);
			return -ENOENT;
		}
		memcpy((char *)&hl_microhttpd + functions[i].offset, &function, sizeof(function));
	}
	return 0;
}
