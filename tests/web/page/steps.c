/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - allocates 1 MiB for each line of its input, and answers with a line. It frees nothing.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	char c = '\n';

	do {
		if (c != '\n')
			continue;
		if (write(1, "\n", 1) != 1)
			return 1;
	} while (read(0, &c, 1) == 1 && memset(malloc(1 << 20), 1, 1 << 20));
	return 0;
}
