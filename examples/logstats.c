/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logstats.c - counts the requests of a web server's log by page.
 *
 * What a profile shows:
 *   held at the peak, live at the end, growing
 *             page_add(): the key of a page contains the number of the session, so every second
 *             line makes a new entry. table_free() frees the buckets and not the entries.
 *   churn     request_parse(): three strings per line, freed before the next line.
 * All memory comes from xmalloc() and xstrndup(), which are never the answer to a question.
 *
 *	gcc -g -O2 -o logstats examples/logstats.c && ./logstats 100000
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_BUCKETS 4096

struct request {
	char *method, *path, *agent;
	unsigned long bytes;
};

struct page {
	struct page *next;
	char *key;
	unsigned long hits, bytes;
};

struct table {
	struct page **bucket;
	unsigned long n_pages;
};

static void *xmalloc(size_t size)
{
	void *memory = malloc(size);

	if (!memory) {
		fputs("logstats: out of memory\n", stderr);
		exit(1);
	}
	return memory;
}

static char *xstrndup(const char *text, size_t length)
{
	char *copy = xmalloc(length + 1);

	memcpy(copy, text, length);
	copy[length] = 0;
	return copy;
}

/* Takes the text up to the next space. */
static char *field_take(const char **at)
{
	size_t length = strcspn(*at, " ");
	char *field = xstrndup(*at, length);

	*at += length + ((*at)[length] == ' ');
	return field;
}

static void request_parse(struct request *request, const char *line)
{
	request->method = field_take(&line);
	request->path = field_take(&line);
	request->bytes = strtoul(line, (char **)&line, 10);
	line += strspn(line, " ");
	request->agent = xstrndup(line, strlen(line));
}

static void request_free(struct request *request)
{
	free(request->method);
	free(request->path);
	free(request->agent);
}

static unsigned long key_hash(const char *key)
{
	unsigned long hash = 5381;

	while (*key)
		hash = hash * 33 + (unsigned char)*key++;
	return hash;
}

static struct table *table_new(void)
{
	struct table *table = xmalloc(sizeof(*table));

	table->bucket = xmalloc(N_BUCKETS * sizeof(*table->bucket));
	memset(table->bucket, 0, N_BUCKETS * sizeof(*table->bucket));
	table->n_pages = 0;
	return table;
}

static struct page *page_add(struct table *table, const char *key)
{
	struct page **first = &table->bucket[key_hash(key) % N_BUCKETS];
	struct page *page = xmalloc(sizeof(*page));

	page->key = xstrndup(key, strlen(key));
	page->hits = page->bytes = 0;
	page->next = *first;
	*first = page;
	table->n_pages++;
	return page;
}

static struct page *page_find(struct table *table, const char *key)
{
	struct page *page = table->bucket[key_hash(key) % N_BUCKETS];

	while (page && strcmp(page->key, key) != 0)
		page = page->next;
	return page;
}

/* The key is the whole path, with the session: this is the mistake. */
static void request_count(struct table *table, const struct request *request)
{
	struct page *page = page_find(table, request->path);

	if (!page)
		page = page_add(table, request->path);
	page->hits++;
	page->bytes += request->bytes;
}

static void table_free(struct table *table)
{
	free(table->bucket);
	free(table);
}

/* Line n of the log. */
static void line_make(char *line, size_t size, unsigned long n)
{
	snprintf(line, size, "%s /shop/item/%lu?session=%06lx %lu Mozilla/5.0 (X11; Linux x86_64)",
		n % 7 ? "GET" : "POST", n / 2 * 31 % 200, n / 2 * 2654435761 & 0xffffff,
		200 + n % 5000);
}

int main(int argc, char **argv)
{
	unsigned long n_lines = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000;
	struct table *table = table_new();
	struct request request;
	char line[256];

	for (unsigned long n = 0; n < n_lines; n++) {
		line_make(line, sizeof(line), n);
		request_parse(&request, line);
		request_count(table, &request);
		request_free(&request);
	}
	printf("%lu lines, %lu pages\n", n_lines, table->n_pages);
	table_free(table);
	return 0;
}
