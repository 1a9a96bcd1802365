/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roles.c - scopes, named threads, pools, marks and snapshots in three phases, to be sliced.
 *
 * Each name contains "secret". Phases end with a mark; blocks outlive them, and so do blocks of
 * pools. In the second phase one block of a pool is freed right after its allocation, and another
 * one with events between that a filter can remove.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "heaplapse.h"

static void *kept[3][64];
static char pool[3][64][64];

static void *run_thread(void *arg)
{
	int phase = *(int *)arg;

	heaplapse_thread_name("secret-worker");
	heaplapse_tag_push("secret-job");
	for (int i = 32; i < 64; i++)
		kept[phase][i] = malloc((size_t)(500 + i));
	heaplapse_tag_pop();
	return NULL;
}

__attribute__((noinline)) static void fill_pools(int phase)
{
	for (int i = 0; i < 64; i++)
		heaplapse_alloc(
			i % 2 ? "secret-odd" : "secret-even", pool[phase][i], (size_t)(i + 1));
	for (int i = 0; i < 16; i++)
		heaplapse_free(i % 2 ? "secret-odd" : "secret-even", pool[phase][i]);
}

__attribute__((noinline)) static void use_once(int phase)
{
	heaplapse_alloc("secret-odd", pool[phase][1], 40); /* temporary */
	heaplapse_free("secret-odd", pool[phase][1]);
	heaplapse_alloc("secret-odd", pool[phase][3], 40); /* the events between are smaller */
	heaplapse_alloc("secret-odd", pool[phase][5], 1);
	heaplapse_free("secret-odd", pool[phase][5]);
	heaplapse_free("secret-odd", pool[phase][3]);
}

static void run_phase(int phase)
{
	pthread_t t;

	heaplapse_tag_push("secret-outer");
	for (int i = 0; i < 16; i++)
		kept[phase][i] = malloc((size_t)(100 + i));
	heaplapse_tag_push("secret-inner");
	for (int i = 16; i < 32; i++)
		kept[phase][i] = malloc((size_t)(300 + i));
	heaplapse_snapshot(phase == 1 ? "secret-inside" : "secret-elsewhere");
	heaplapse_tag_pop();
	for (int i = 0; i < 2000; i++)
		free(malloc((size_t)(i % 99)));
	heaplapse_tag_pop();
	pthread_create(&t, NULL, run_thread, &phase);
	pthread_join(t, NULL);
	fill_pools(phase);
	use_once(phase);
	for (int i = 0; i < 64 && phase > 0; i += 2)
		free(kept[phase - 1][i]);
	for (int i = 16; i < 64 && phase > 0; i += 3)
		heaplapse_free(i % 2 ? "secret-odd" : "secret-even", pool[phase - 1][i]);
	usleep(60000);
}

int main(void)
{
	char name[32];

	for (int phase = 0; phase < 3; phase++) {
		run_phase(phase);
		snprintf(name, sizeof(name), "secret-%d", phase);
		heaplapse_mark(name);
	}
	usleep(60000);
	return 0;
}
