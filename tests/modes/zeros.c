/* SPDX-License-Identifier: Apache-2.0 */
/* zeros.c - prints whether memory that was written to and freed is allocated again as zeros. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	unsigned char *volatile p;
	int dirty = 0;

	for (int i = 0; i < 100; i++) {
		p = malloc(1000);
		for (int k = 0; k < 1000; k++)
			dirty |= p[k];
		memset(p, 0xaa, 1000);
		free(p);
	}
	puts(dirty ? "dirty" : "zeros");
	return 0;
}
