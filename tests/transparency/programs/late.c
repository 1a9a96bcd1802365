/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late.c - a program without C++ that opens C++ plugins with RTLD_LOCAL and closes them again.
 *
 *	late TIMES PLUGIN...
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 0;

	alarm(15);
	for (int i = 0; i < times; i++)
		for (int k = 2; k < argc; k++) {
			void *plugin = dlopen(argv[k], RTLD_NOW | RTLD_LOCAL);
			int (*work)(void) =
				plugin ? (int (*)(void))dlsym(plugin, "plugin_work") : NULL;

			if (!work || work() != 0 || dlclose(plugin)) {
				fprintf(stderr, "%s: %s\n", argv[k], work ? "wrong" : dlerror());
				return 1;
			}
		}
	return 0;
}
