/* opened PLUGIN... - opens each and calls its go(); knows no C++ itself. */
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
