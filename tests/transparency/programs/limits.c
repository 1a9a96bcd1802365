/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.c - reaches resource limits.
 *
 *	limits hog           allocates and touches blocks of 1 MiB until killed; a line for each
 *	limits resident      prints how many KiB of memory it has, after a hundred blocks
 *	limits truncate      tries to truncate every mapping that is a memfd; exits with 3
 *	limits pairs N       N pairs of malloc(500) and free in two threads; exits with 3
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int hog(void)
{
	for (int i = 1;; i++) {
		char *p = malloc(1 << 20);

		if (!p)
			return 98;
		for (int k = 0; k < 1 << 20; k += 4096)
			p[k] = 1;
		dprintf(1, "%d\n", i);
	}
}

static int resident(void)
{
	char text[256] = "";
	long pages = 0;
	int fd;

	for (int i = 0; i < 100; i++)
		free(malloc(100));
	fd = open("/proc/self/statm", O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return 98;
	sscanf(text, "%*d %ld", &pages);
	dprintf(1, "%ld\n", pages * 4);
	return 0;
}

/* /proc/self/map_files reopens a file whose descriptor was closed. */
static int truncate_mappings(void)
{
	DIR *dir = opendir("/proc/self/map_files");
	struct dirent *entry;
	int found = 0;

	while (dir && (entry = readdir(dir))) {
		char link[512] = "", path[300];
		int fd;

		snprintf(path, sizeof(path), "/proc/self/map_files/%s", entry->d_name);
		if (readlink(path, link, sizeof(link) - 1) <= 0 || !strstr(link, "memfd:heaplapse"))
			continue;
		fd = open(path, O_RDWR);
		if (fd < 0)
			return 77;
		if (ftruncate(fd, 0) == 0 || ftruncate(fd, 1 << 30) == 0)
			return 97;
		close(fd);
		found++;
	}
	return found ? 3 : 96;
}

static void *make_pairs(void *arg)
{
	for (long i = 0; i < (long)arg / 2; i++)
		free(malloc(500));
	return NULL;
}

static int in_two_threads(long n)
{
	pthread_t t;

	if (pthread_create(&t, NULL, make_pairs, (void *)n))
		return 98;
	make_pairs((void *)n);
	pthread_join(t, NULL);
	return 3;
}

int main(int argc, char **argv)
{
	if (!strcmp(argv[1], "hog"))
		return hog();
	if (!strcmp(argv[1], "resident"))
		return resident();
	if (!strcmp(argv[1], "truncate"))
		return truncate_mappings();
	return in_two_threads(atol(argv[2]));
}
