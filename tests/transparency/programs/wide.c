/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wide.c - wide ROUNDS THREADS [LIBRARY]: a program with large unwind tables, of which every entry
 * is needed. Each thread calls each of 65,536 functions ROUNDS times, far apart, and allocates
 * below it; with LIBRARY the first thread meanwhile loads and unloads that. Prints how many bytes
 * of files and of shared memory are resident at the end.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FUNCTIONS   65536u
#define THREADS_MAX 16

/*
 * Every function calls its argument. Their frames differ, so that no function can use the rule of
 * another; the DW_CFA_nop padding in their entries makes 7 MiB of .eh_frame.
 */
extern char wide[];
__asm__(".text\n"
	".balign 32\n"
	".type wide, @function\n"
	"wide:\n"
	".set n, 0\n"
	".rept 65536\n"
	".cfi_startproc\n"
	".cfi_escape 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n"
	".cfi_escape 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n"
	".cfi_escape 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n"
	"sub $(8 + 16 * ((n * 7 + n / 256) % 61)), %rsp\n"
	".cfi_def_cfa_offset 16 + 16 * ((n * 7 + n / 256) % 61)\n"
	"call *%rdi\n"
	"add $(8 + 16 * ((n * 7 + n / 256) % 61)), %rsp\n"
	"ret\n"
	".cfi_endproc\n"
	".balign 32\n"
	".set n, n + 1\n"
	".endr\n"
	".size wide, . - wide\n");

static int rounds;
static _Atomic int n_working;

__attribute__((noinline)) static void *allocate(void)
{
	void *p = malloc(77);

	*(volatile char *)p = 1;
	return p;
}

__attribute__((noinline)) static void *work(void *arg)
{
	uint32_t at = (uint32_t)(uintptr_t)arg * 9973;

	for (uint32_t i = 0; i < FUNCTIONS * (uint32_t)rounds; i++) {
		at = (at + 40503) % FUNCTIONS; /* odd: visits each function once per round */
		free(((void *(*)(void *(*)(void)))(wide + 32 * at))(allocate));
	}
	atomic_fetch_sub(&n_working, 1);
	return NULL;
}

static void load_and_unload(const char *path)
{
	for (int i = 0; i < 100 && (i == 0 || atomic_load(&n_working)); i++) {
		void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

		if (!handle)
			exit(2);
		((void *(*)(int))dlsym(handle, "plugin_run"))(1);
		dlclose(handle);
		usleep(1000); /* each makes all rules void: some must be used in between */
	}
}

/* The kernel's exact count; that of /proc/self/status may lag behind. */
static long resident_of_files(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "re");
	long rss = 0, anonymous = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		sscanf(line, "Rss: %ld kB", &rss);
		sscanf(line, "Anonymous: %ld kB", &anonymous);
	}
	if (file)
		fclose(file);
	return (rss - anonymous) * 1024;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t t[THREADS_MAX];

	rounds = argc > 1 ? atoi(argv[1]) : 1;
	if (threads > THREADS_MAX)
		return 2;
	atomic_store(&n_working, threads);
	for (int i = 1; i < threads; i++)
		pthread_create(&t[i], NULL, work, (void *)(uintptr_t)i);
	if (argc > 3) {
		atomic_fetch_sub(&n_working, 1);
		load_and_unload(argv[3]);
	} else {
		work(NULL);
	}
	for (int i = 1; i < threads; i++)
		pthread_join(t[i], NULL);
	printf("%ld\n", resident_of_files());
	return 0;
}
