/* subject.c - a program with static, inlined and nested calls, to be symbolized. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
	struct list *next;
	char name[16];
};

static inline struct list *push(struct list *to, const char *name)
{
	struct list *l = malloc(sizeof(*l));

	if (!l)
		abort();
	l->next = to;
	snprintf(l->name, sizeof(l->name), "%s", name);
	return l;
}

static inline struct list *push_twice(struct list *to, const char *name)
{
	return push(push(to, name), name);
}

static __attribute__((noinline)) struct list *fill(int n, char **names)
{
	struct list *l = NULL;

	for (int i = 0; i < n; i++)
		l = push_twice(l, names[i]);
	return l;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv)
{
	struct list *l;

	qsort(argv, (size_t)argc, sizeof(*argv), by_name);
	for (l = fill(argc, argv); l; l = l->next)
		puts(l->name);
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
