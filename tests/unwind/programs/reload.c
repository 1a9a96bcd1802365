/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload.c - two libraries that are loaded at the same pcs, one after the other, with different
 * frames. A cache of rules that does not notice the change is wrong here, like libunwind's. The
 * result is compared with the known chain.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "../truth.h"

struct unwind_truth unwind_truth;

__attribute__((noinline)) static void *call(void *(*fn)(void))
{
	void *p = fn();

	__asm__ volatile("" ::: "memory");
	return p;
}

int main(int argc, char **argv)
{
	int rounds = argc > 3 ? atoi(argv[3]) : 50, same = 0;
	void *last = NULL;

	if (argc < 3)
		return 2;
	for (int r = 0; r < rounds; r++) {
		void *lib = dlopen(argv[1 + r % 2], RTLD_NOW), *(*outer)(void), *(*inner)(void);

		if (!lib)
			return 2;
		outer = (void *(*)(void))dlsym(lib, "frames_outer");
		inner = (void *(*)(void))dlsym(lib, "frames_inner");
		same += last == (void *)outer;
		last = (void *)outer;
		unwind_truth.functions[0].lo = (void *)main;
		unwind_truth.functions[1].lo = (void *)call;
		unwind_truth.functions[2].lo = (void *)outer;
		unwind_truth.functions[3].lo = (void *)inner;
		for (int i = 0; i < 200; i++) {
			unwind_truth.depth = 4;
			free(call(outer));
			unwind_truth.depth = 0;
		}
		dlclose(lib);
	}
	if (same < rounds / 2)
		fprintf(stderr, "reload: the libraries did not overlap (%d of %d)\n", same, rounds);
	return same < rounds / 2;
}
