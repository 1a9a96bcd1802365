/* SPDX-License-Identifier: Apache-2.0 */
/* base_task.c - see base_task.h. */
#include "collect/output/base_task.h"

#include <stdlib.h>
#include <string.h>

#include "collect/match/sample_weight.h"

struct hl_base_task *hl_base_task_new(struct hl_live_table *l, const struct hl_base_place *place,
	const uint64_t *rates, uint64_t salt)
{
	struct hl_base_task *t = calloc(1, sizeof(*t));

	if (!t || hl_live_copy_begin(&t->copy, l, place->allocs, place->blocks)) {
		free(t);
		return NULL;
	}
	t->place = *place;
	t->salt = salt;
	if (rates)
		memcpy(t->rates, rates, sizeof(t->rates));
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	return t;
}

void hl_base_task_complete(struct hl_base_task *t)
{
	pthread_mutex_lock(&t->lock);
	t->complete = true;
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

void hl_base_task_free(struct hl_base_task *t)
{
	hl_live_copy_fini(&t->copy);
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->changed);
	free(t);
}

struct block_list {
	const struct hl_base_task *task;
	size_t at;
};

static int next_block(void *arg, struct hl_live_block *b, uint8_t *func)
{
	struct block_list *list = arg;
	const struct hl_base_task *t = list->task;

	*b = hl_sample_live_block(&t->copy.entries[list->at++], t->rates, t->salt);
	*func = hl_live_func(&t->copy.entries[list->at - 1]);
	return 0;
}

int hl_base_task_finish(struct hl_base_task *t, hl_chunk_sink *sink, void *arg)
{
	struct block_list list = {.task = t};
	const struct hl_base_blocks blocks = {next_block, &list};
	int err;

	pthread_mutex_lock(&t->lock);
	while (!t->complete)
		pthread_cond_wait(&t->changed, &t->lock);
	pthread_mutex_unlock(&t->lock);
	err = hl_live_copy_sort(&t->copy);
	if (!err && sink)
		err = hl_base_blocks_write(&t->place, &blocks, sink, arg);
	hl_base_task_free(t);
	return err;
}
