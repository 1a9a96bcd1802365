/*
 * scopes.c - who holds the memory, by what the program is doing: named scopes, one in the other.
 *
 * `heaplapse report --leaks -g tag` shows them. There is nothing to link, and a program that is not
 * recorded does not notice.
 */
#include <stdlib.h>

#include "heaplapse.h"

static void *kept[200];
static int n_kept;

static void keep(size_t size)
{
	kept[n_kept++] = malloc(size);
}

/* Called from two places: two scopes of one name. */
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
