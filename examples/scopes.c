/*
 * scopes.c - memory by activity: nested named scopes.
 *
 * `heaplapse report --leaks -g tag` shows them. There is nothing to link, and the scopes have no
 * effect on a program that is not recorded.
 */
#include <stdlib.h>

#include "heaplapse.h"

static void *kept[200];
static int n_kept;

static void keep(size_t size)
{
	kept[n_kept++] = malloc(size);
}

/* Called from two scopes: two tags that end in the same name. */
static void make_mesh(int parts, size_t size)
{
	HEAPLAPSE_SCOPE("mesh");

	for (int i = 0; i < parts; i++)
		keep(size);
}

static void render(void)
{
	HEAPLAPSE_SCOPE("render");

	for (int frame = 0; frame < 20; frame++) {
		make_mesh(4, 64);
		{
			HEAPLAPSE_SCOPE("texture");
			keep(1000);
		}
	}
}

int main(void)
{
	{
		HEAPLAPSE_SCOPE("load");
		make_mesh(20, 160);
	}
	render();
	for (int i = 0; i < 5; i++)
		keep(32);
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
