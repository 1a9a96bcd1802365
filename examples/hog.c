/*
 * hog.c - an example of a hog: all records are in memory at once, though one at a time would be
 * enough.
 *
 * Nothing leaks; the memory is held far longer than needed. docs/tutorial.md finds it.
 */
#include <stdlib.h>

#define RECORDS 2000
#define WORDS   1024

struct record {
	unsigned word[WORDS];
};

static struct record *record_read(unsigned number)
{
	struct record *r = malloc(sizeof(*r));

	for (unsigned i = 0; i < WORDS; i++)
		r->word[i] = number * 31 + i;
	return r;
}

/* A record is needed only while it is summed. */
static unsigned long record_sum(const struct record *r)
{
	unsigned long sum = 0;

	for (unsigned i = 0; i < WORDS; i++)
		sum += r->word[i];
	return sum;
}

static struct record **load_all(void)
{
	struct record **all = calloc(RECORDS, sizeof(*all));

	for (unsigned i = 0; i < RECORDS; i++)
		all[i] = record_read(i);
	return all;
}

static unsigned long report_make(void)
{
	struct record **all = load_all();
	unsigned long sum = 0;

	for (unsigned i = 0; i < RECORDS; i++)
		sum += record_sum(all[i]);
	for (unsigned i = 0; i < RECORDS; i++)
		free(all[i]);
	free(all);
	return sum;
}

int main(void)
{
	char *settings = calloc(1, 20000);
	unsigned long sum = report_make();

	free(settings);
	return sum == 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
