/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload.c - reload ALPHA BETA TIMES: one thread loads alpha, runs it and unloads it; the other
 * loads beta at its address as soon as alpha is unmapped, before the first thread's dlclose() has
 * returned. Prints how often the address was the same.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static const char *paths[2];
static sem_t go, back;
static uintptr_t base_of_alpha;
static int same;

static uintptr_t load_and_run(const char *path, void **handle)
{
	void *(*run)(int);
	struct link_map *map;

	*handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!*handle)
		exit(2);
	run = (void *(*)(int))dlsym(*handle, "plugin_run");
	run(10);
	dlinfo(*handle, RTLD_DI_LINKMAP, &map);
	return map->l_addr;
}

static void *second(void *arg)
{
	int times = (int)(intptr_t)arg;

	for (int i = 0; i < times; i++) {
		void *handle;

		sem_wait(&go);
		while (msync((void *)base_of_alpha, 4096, MS_ASYNC) == 0 || errno != ENOMEM)
			;
		same += load_and_run(paths[1], &handle) == base_of_alpha;
		sem_post(&back);
		sem_wait(&go);
		dlclose(handle);
		sem_post(&back);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int times = atoi(argv[3]);
	pthread_t t;

	paths[0] = argv[1];
	paths[1] = argv[2];
	sem_init(&go, 0, 0);
	sem_init(&back, 0, 0);
	pthread_create(&t, NULL, second, (void *)(intptr_t)times);
	for (int i = 0; i < times; i++) {
		void *handle;

		base_of_alpha = load_and_run(paths[0], &handle);
		sem_post(&go);
		dlclose(handle);
		sem_wait(&back);
		sem_post(&go);
		sem_wait(&back);
	}
	pthread_join(t, NULL);
	printf("%d\n", same);
	return 0;
}
