/*
 * fragmented.c - an example of a fragmented heap: small live blocks pin the pages of large freed
 * blocks.
 *
 * Each document is parsed into a large buffer and leaves a small note. The buffers are freed, but
 * each of them is followed by a note, so the allocator cannot return their pages to the system.
 * docs/tutorial.md finds it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DOCUMENTS 5000

static char *notes[DOCUMENTS];
static char *buffers[DOCUMENTS];

static void note_keep(int i)
{
	notes[i] = malloc(40);
	snprintf(notes[i], 40, "document %d was fine", i);
}

static void document_parse(int i)
{
	buffers[i] = malloc(8000);
	memset(buffers[i], 'x', 8000);
	note_keep(i);
}

static void buffers_free(void)
{
	for (int i = 0; i < DOCUMENTS; i++)
		free(buffers[i]);
}

/* The resident memory of this process in MiB. */
static long resident(void)
{
	int fd = open("/proc/self/statm", O_RDONLY);
	char text[128] = {0};
	long pages = 0;

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		sscanf(text, "%*d %ld", &pages);
	close(fd);
	return pages * sysconf(_SC_PAGESIZE) / (1024 * 1024);
}

int main(void)
{
	for (int i = 0; i < DOCUMENTS; i++)
		document_parse(i);
	fprintf(stderr, "with all buffers: %ld MiB resident\n", resident());
	buffers_free();
	fprintf(stderr, "without them: %ld MiB resident\n", resident());
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
