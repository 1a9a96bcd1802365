/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_program.c - many blocks that live shortly, and one that is kept: for an overview of each
 * mode of recording.
 */
#include <stdlib.h>

static void *volatile kept;

static void churn(void)
{
	for (int i = 0; i < 60000; i++) {
		void *volatile p = malloc(100 + (size_t)i % 50);

		free(p);
	}
}

int main(void)
{
	kept = malloc(7000);
	churn();
	return 0;
}
