/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paused.c - heaplapse_pause() and heaplapse_resume(), with distinct block sizes.
 *
 *	paused run | ctl | late
 *
 * run: ten blocks of 3001 bytes before the pause; ten of 3002 in the pause, in which those of 3001
 * are freed or resized; ten of 3003 after it, when those of 3002 are freed. A child that is forked
 * in the pause allocates five of 3004, resumes, and allocates five of 3005. A start in the pause
 * does not end it.
 *
 * ctl: pauses, prints "paused PID", allocates blocks of 3002 bytes until it reads a line, then ten
 * of 3003.
 *
 * late: prints "ready PID", reads a line, stops, allocates ten of 3002, starts, and does the same
 * with a pause; then ten of 3003.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heaplapse.h"

static void make_blocks(char **blocks, int n, size_t size)
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

	make_blocks(before, 10, 3001);
	heaplapse_pause();
	heaplapse_pause();
	make_blocks(in, 5, 3002);
	heaplapse_stop();
	heaplapse_start();
	make_blocks(in + 5, 5, 3002);
	if (fork() == 0) {
		make_blocks(child, 5, 3004);
		heaplapse_resume();
		make_blocks(child + 5, 5, 3005);
		exit(0);
	}
	wait(&status);
	for (int i = 0; i < 9; i++)
		free(before[i]);
	before[9] = realloc(before[9], 3006);
	heaplapse_resume();
	for (int i = 0; i < 10; i++)
		free(in[i]);
	make_blocks(after, 10, 3003);
	return 0;
}

static int run_ctl(void)
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
	make_blocks(after, 10, 3003);
	return 0;
}

static int run_late(void)
{
	char *in[20], *after[10], byte;

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (read(0, &byte, 1) != 1)
		return 1;
	heaplapse_stop();
	make_blocks(in, 10, 3002);
	heaplapse_start();
	heaplapse_pause();
	make_blocks(in + 10, 10, 3002);
	heaplapse_resume();
	make_blocks(after, 10, 3003);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "late"))
		return run_late();
	return argc > 1 && !strcmp(argv[1], "ctl") ? run_ctl() : run();
}
