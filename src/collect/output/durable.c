/* SPDX-License-Identifier: Apache-2.0 */
/* durable.c - see durable.h. */
#include <stdlib.h>
#include <unistd.h>

#include "collect/output/durable.h"

struct hl_durable *hl_durable_new(int memfd, uint64_t before)
{
	struct hl_durable *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	pthread_mutex_init(&d->lock, NULL);
	d->memfd = memfd;
	atomic_store(&d->events, before);
	atomic_store(&d->refs, 1);
	return d;
}

void hl_durable_drop(struct hl_durable *d)
{
	if (!d || atomic_fetch_sub(&d->refs, 1) > 1)
		return;
	hl_durable_close(d);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

void hl_durable_close(struct hl_durable *d)
{
	pthread_mutex_lock(&d->lock);
	if (d->memfd >= 0)
		close(d->memfd);
	d->memfd = -1;
	pthread_mutex_unlock(&d->lock);
}
