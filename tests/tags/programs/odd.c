/* SPDX-License-Identifier: Apache-2.0 */
/*
 * odd.c - unusual names and calls: empty, long and wild names; pops without a push; thousands of
 * threads; a fork. Prints the results of its own queries.
 */
#include <heaplapse.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *kept[8];

static void names(void)
{
	static char name[10001];
	struct heaplapse_stat stat;
	char path[10100];
	int err;

	memset(name, 'x', 10000);
	for (int i = 0; i < 5; i++) {
		heaplapse_tag_push(name);
		kept[0] = realloc(kept[0], 1000);
		heaplapse_tag_pop();
	}
	heaplapse_tag_push("");
	kept[1] = malloc(2000);
	heaplapse_tag_push(NULL);
	kept[2] = malloc(3000);
	heaplapse_tag_pop();
	heaplapse_tag_pop();
	heaplapse_tag_push("\"\\\n\xff\x1b[31m");
	heaplapse_tag_pop();
	for (int i = 0; i < 7; i++)
		heaplapse_tag_pop();
	snprintf(path, sizeof(path), "main/%s", name);
	err = heaplapse_stats_get(path, &stat);
	printf("long: %d, %llu\n", err, (unsigned long long)stat.entered);
	printf("prefix: %d\n", heaplapse_stats_get("main/xxx", &stat) < 0);
	err = heaplapse_stats_get("main/", &stat);
	printf("empty: %d, %llu\n", err, (unsigned long long)stat.total_allocated_blocks);
}

static void switches(void)
{
	struct heaplapse_stat stat;

	HEAPLAPSE_SCOPE("switched");
	heaplapse_tags_disable();
	heaplapse_tags_disable();
	kept[3] = malloc(100);
	heaplapse_tags_enable();
	kept[4] = malloc(100);
	heaplapse_tag_push("inside");
	heaplapse_tags_enable();
	heaplapse_tags_enable();
	kept[5] = malloc(100);
	heaplapse_tag_pop();
	kept[6] = malloc(100);
	heaplapse_stats_get("main/switched", &stat);
	printf("switched: %llu of them\n", (unsigned long long)stat.total_allocated_blocks);
	heaplapse_stop();
	kept[7] = malloc(100);
	heaplapse_start();
	heaplapse_stats_get("main/switched", &stat);
	printf("stopped: %llu of them\n", (unsigned long long)stat.total_allocated_blocks);
}

static void nest_scopes(int left)
{
	HEAPLAPSE_SCOPE("deep");
	if (left)
		nest_scopes(left - 1);
	else
		free(malloc(10));
}

static void *run_brief_thread(void *arg)
{
	char name[32];

	snprintf(name, sizeof(name), "brief %d", *(int *)arg);
	heaplapse_thread_name(name);
	heaplapse_tag_push("brief"); /* left open */
	*(void *volatile *)&kept[0] = realloc(kept[0], 100);
	return NULL;
}

static void threads(int n)
{
	for (int i = 0; i < n; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, run_brief_thread, &i);
		pthread_join(thread, NULL);
	}
}

int main(int argc, char **argv)
{
	int mode = argc > 1 ? atoi(argv[1]) : 0, status;

	heaplapse_thread_name("main");
	if (mode > 0) {
		threads(mode);
		return 0;
	}
	if (mode < 0) {
		nest_scopes(-mode);
		return 0;
	}
	names();
	switches();
	fflush(stdout);
	if (fork() == 0) {
		HEAPLAPSE_SCOPE("child");
		free(malloc(77));
		exit(0);
	}
	wait(&status);
	printf("child: %d\n", status);
	return 0;
}
