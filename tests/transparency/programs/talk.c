/* SPDX-License-Identifier: Apache-2.0 */
/*
 * talk.c - every function of heaplapse.h, with labels that are difficult for a file or a terminal.
 * C and C++; with talk_more.c as a second source file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heaplapse.h"

#ifdef __cplusplus
extern "C"
#endif
	void
	talk_more(void);

static void make_blocks(int n, size_t size)
{
	for (int i = 0; i < n; i++)
		free(malloc(size));
}

int main(void)
{
	char *longest = (char *)malloc(100001);

	memset(longest, 'x', 100000);
	longest[100000] = '\0';
	make_blocks(10, 6001);
	heaplapse_mark("first");
	heaplapse_mark("two\nlines\r\t\"quoted\" \\ \x1b[31m");
	heaplapse_mark("\xff\xfe broken \xc3");
	heaplapse_mark("");
	heaplapse_mark(NULL);
	heaplapse_mark(longest);
	heaplapse_snapshot("picture");
	heaplapse_snapshot(NULL);
	talk_more();
	heaplapse_stop();
	heaplapse_stop();
	heaplapse_mark("never");
	make_blocks(20, 6002);
	heaplapse_start();
	heaplapse_start();
	make_blocks(30, 6003);
	heaplapse_mark("last");
	heaplapse_stop();
	make_blocks(40, 6004);
	free(longest);
	puts("talked");
	return 11;
}
