/*
 * churn.c - an example of churn: one block per line, allocated and freed at once, over and over.
 *
 * The heap is small at every moment; the cost is time. docs/tutorial.md finds it.
 */
#include <stdlib.h>
#include <string.h>

#define LINES 20000

/* Allocates a new block for each result, although all of them would fit into one. */
static char *join(const char *a, const char *b)
{
	char *s = malloc(strlen(a) + strlen(b) + 1);

	strcpy(s, a);
	strcat(s, b);
	return s;
}

static size_t line_format(const char *name, const char *text)
{
	char *line = join(name, text);
	size_t len = strlen(line);

	free(line);
	return len;
}

int main(void)
{
	char *name = malloc(16);
	size_t bytes = 0;

	strcpy(name, "moon: ");
	for (int i = 0; i < LINES; i++)
		bytes += line_format(name, i % 2 ? "waxing" : "waning crescent");
	free(name);
	return bytes == 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
