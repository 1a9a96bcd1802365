/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases.c - allocates a known number of blocks in phases, with a snapshot after each phase:
 *
 *   grow     ROUNDS blocks of 100 bytes that stay live
 *   churn    10 * ROUNDS blocks of 40 bytes, freed at once; another block is resized ROUNDS times
 *   shrink   half of the live blocks are freed
 *
 * With a second operand it then kills itself with SIGKILL, or (wait) sleeps for that time.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heaplapse.h"

#define KEEP __attribute__((noinline))

static char **kept;

KEEP static char *site_stay(size_t n)
{
	char *p = malloc(n);

	__asm__ volatile("" ::"r"(p) : "memory");
	return p;
}

KEEP static void site_churn(size_t n)
{
	char *p = malloc(n);

	__asm__ volatile("" ::"r"(p) : "memory");
	free(p);
}

KEEP static char *site_resize(char *p, size_t n)
{
	p = realloc(p, n);
	__asm__ volatile("" ::"r"(p) : "memory");
	return p;
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? (size_t)atol(argv[1]) : 1000;
	char *moving = NULL;

	kept = calloc(rounds, sizeof(*kept));
	for (size_t i = 0; i < rounds; i++)
		kept[i] = site_stay(100);
	heaplapse_snapshot("grown");
	for (size_t i = 0; i < rounds; i++) {
		for (int k = 0; k < 10; k++)
			site_churn(40);
		moving = site_resize(moving, 200 + i % 50);
	}
	heaplapse_snapshot("churned");
	for (size_t i = 0; i < rounds; i += 2)
		free(kept[i]);
	heaplapse_snapshot("shrunk");
	if (argc > 2 && strcmp(argv[2], "kill") == 0)
		raise(SIGKILL);
	if (argc > 2 && strcmp(argv[2], "wait") == 0)
		sleep(3);
	return 0;
}
