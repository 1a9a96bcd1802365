/* SPDX-License-Identifier: Apache-2.0 */
/* opened.c - opened PLUGIN...: opens each plugin and calls its go(); does not use C++ itself. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *plugin = dlopen(argv[i], RTLD_NOW);
		void (*go)(void) = plugin ? (void (*)(void))dlsym(plugin, "go") : NULL;

		if (!go)
			return puts(dlerror()), 1;
		go();
	}
	return 0;
}
