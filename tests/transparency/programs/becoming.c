/* SPDX-License-Identifier: Apache-2.0 */
/* becoming.c - holds a block of 8 MiB and becomes the program that its arguments name. */
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept;

int main(int argc, char **argv)
{
	kept = malloc(8u << 20);
	if (argc < 2 || !kept)
		return 1;
	execv(argv[1], argv + 1);
	return 1;
}
