/*
 * tags.c - memory counted by purpose: scopes in C.
 *
 *	cc -o tags tags.c -lpthread
 *	HEAPLAPSE_STATS_JSON=tags.json heaplapse record --mode=tags ./tags
 *	heaplapse tags tags.json
 *
 * If it is linked to the library (-lheaplapse), it counts without `heaplapse record`. Without
 * either, the scopes have no effect.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <heaplapse.h>

#define TEXTURES 16

static void *textures[TEXTURES], *answer;

static void load_textures(void)
{
	HEAPLAPSE_FUNCTION_SCOPE();

	for (int i = 0; i < TEXTURES; i++)
		textures[i] = malloc(64 * 1024);
}

static void draw(int frames)
{
	HEAPLAPSE_SCOPE("draw");

	for (int i = 0; i < frames; i++) {
		HEAPLAPSE_SCOPE("vertices");
		char *buffer = malloc(1000), *larger = realloc(buffer, 2000);

		free(larger ? larger : buffer);
	}
}

static void *work(void *name)
{
	heaplapse_thread_name(name);
	heaplapse_tag_push("request");
	answer = malloc(5000);
	heaplapse_tag_pop();
	free(answer);
	return NULL;
}

int main(void)
{
	struct heaplapse_stat stat;
	char name[] = "worker";
	pthread_t thread;

	heaplapse_thread_name("main");
	{
		HEAPLAPSE_SCOPE("render");
		load_textures();
		draw(100);
	}
	pthread_create(&thread, NULL, work, name);
	pthread_join(thread, NULL);
	if (heaplapse_stats_get("main/render/draw", &stat) == 0)
		printf("draw: %llu blocks, all freed: %s\n",
			(unsigned long long)stat.total_allocated_blocks,
			stat.total_allocated_bytes == stat.total_freed_bytes ? "yes" : "no");
	for (int i = 0; i < TEXTURES; i++)
		free(textures[i]);
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
