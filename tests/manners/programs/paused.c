/*
 * paused.c - heaplapse_pause() and heaplapse_resume(), by the sizes of blocks.
 *
 *	paused run | ctl | late
 *
 * run: ten blocks of 3001 bytes before, ten of 3002 in the pause, in which those of 3001 are freed
 * or resized; ten of 3003 after it, in which those of 3002 are freed. A child that is forked in the
 * pause makes five of 3004, resumes, and makes five of 3005. A start in the pause does not end it.
 * ctl: pauses, says "paused PID", makes blocks of 3002 bytes until one line is read, then ten of
 * 3003.
 * late: says "ready PID", reads a line, stops, makes ten of 3002, starts, and the same with a
 *pause; then ten of 3003.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heaplapse.h"

static void make(char **blocks, int n, size_t size)
{
	for (int i = 0; i < n; i++) {
		blocks[i] = malloc(size);
		__asm__ volatile("" ::"r"(blocks[i]) : "memory");
	}
}

static int run(void)
{
	char *before[10], *in[10], *after[10], *child[10];
	int status;

	make(before, 10, 3001);
	heaplapse_pause();
	heaplapse_pause();
	make(in, 5, 3002);
	heaplapse_stop();
	heaplapse_start();
	make(in + 5, 5, 3002);
	if (fork() == 0) {
		make(child, 5, 3004);
		heaplapse_resume();
		make(child + 5, 5, 3005);
		exit(0);
	}
	wait(&status);
	for (int i = 0; i < 9; i++)
		free(before[i]);
	before[9] = realloc(before[9], 3006);
	heaplapse_resume();
	for (int i = 0; i < 10; i++)
		free(in[i]);
	make(after, 10, 3003);
	return 0;
}

static int be_steered(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};
	char *after[10], *volatile p;

	heaplapse_pause();
	printf("paused %d\n", (int)getpid());
	fflush(stdout);
	while (poll(&input, 1, 1) == 0) {
		p = malloc(3002);
		free(p);
	}
	make(after, 10, 3003);
	return 0;
}

static int be_late(void)
{
	char *in[20], *after[10], byte;

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (read(0, &byte, 1) != 1)
		return 1;
	heaplapse_stop();
	make(in, 10, 3002);
	heaplapse_start();
	heaplapse_pause();
	make(in + 10, 10, 3002);
	heaplapse_resume();
	make(after, 10, 3003);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "late"))
		return be_late();
	return argc > 1 && !strcmp(argv[1], "ctl") ? be_steered() : run();
}
