/* SPDX-License-Identifier: Apache-2.0 */
/* picture.c - three snapshots: one block, two, one again. */
#include <stdlib.h>

#include "heaplapse.h"

int main(void)
{
	void *volatile kept = malloc(1000), *volatile gone;

	heaplapse_snapshot("one\x1b[31m");
	gone = malloc(5000);
	heaplapse_snapshot(NULL);
	free(gone);
	heaplapse_snapshot("less");
	free(kept);
	return 0;
}
