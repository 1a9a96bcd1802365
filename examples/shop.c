/*
 * shop.c - simulates a day in a shop within a second: a run whose heap changes over time, to look
 * at in a viewer.
 *
 *   opening   the catalogue is loaded, and an index of it built that grows by doubling
 *   the day   customers fill baskets, pages are rendered for them and dropped at once; at noon and
 *             in the evening pictures are decoded, and freed when they have been shown
 *   closing   all is freed except the receipts, which leak
 *
 * docs/formats.md shows it in each viewer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "heaplapse.h"

#define ITEMS     3000
#define CUSTOMERS 600
#define PICTURES  24

struct item {
	char *name, *description;
};

struct index {
	struct item **slot;
	size_t used, room;
};

static struct item *catalogue[ITEMS];
static struct index by_name;
static char *receipts[CUSTOMERS];

/* Spreads the events over time. */
static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void *get(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static char *text_make(const char *what, int number, size_t size)
{
	char *text = get(malloc(size));

	snprintf(text, size, "%s %d", what, number);
	return text;
}

static struct item *item_load(int number)
{
	struct item *item = get(malloc(sizeof(*item)));

	item->name = text_make("item", number, 24);
	item->description =
		text_make("what there is to say of item", number, 80 + (size_t)number % 200);
	return item;
}

static void index_add(struct index *index, struct item *item)
{
	if (index->used == index->room) {
		index->room = index->room ? index->room * 2 : 64;
		index->slot = get(realloc(index->slot, index->room * sizeof(*index->slot)));
	}
	index->slot[index->used++] = item;
}

static void catalogue_load(void)
{
	for (int i = 0; i < ITEMS; i++) {
		catalogue[i] = item_load(i);
		index_add(&by_name, catalogue[i]);
		if (i % 100 == 0)
			pause_ms(6);
	}
}

static size_t page_render(const char *basket, int customer)
{
	char *head = text_make("dear customer", customer, 400);
	char *body = text_make(basket, customer, 2000);
	size_t length = strlen(head) + strlen(body);

	free(body);
	free(head);
	return length;
}

static size_t customer_serve(int customer)
{
	char *basket = text_make("basket of", customer, 1500);
	size_t length = 0;

	for (int i = 0; i < 5; i++)
		length += page_render(basket, customer);
	receipts[customer] = text_make("receipt", customer, 256);
	free(basket);
	return length;
}

static void *picture_decode(size_t width, size_t height)
{
	return memset(get(malloc(width * height * 4)), 128, width * height * 4);
}

static void pictures_show(int count)
{
	void *shown[PICTURES];

	for (int i = 0; i < count; i++) {
		shown[i] = picture_decode(128, 64);
		pause_ms(4);
	}
	for (int i = 0; i < count; i++)
		free(shown[i]);
}

static size_t customers_serve(int from, int to)
{
	size_t length = 0;

	for (int i = from; i < to; i++) {
		length += customer_serve(i);
		if (i % 10 == 0)
			pause_ms(6);
	}
	return length;
}

static void shop_close(void)
{
	for (int i = 0; i < ITEMS; i++) {
		free(catalogue[i]->name);
		free(catalogue[i]->description);
		free(catalogue[i]);
	}
	free(by_name.slot);
}

int main(void)
{
	size_t length = 0;

	catalogue_load();
	heaplapse_mark("open");
	length += customers_serve(0, CUSTOMERS / 2);
	heaplapse_mark("noon");
	pictures_show(PICTURES / 2);
	length += customers_serve(CUSTOMERS / 2, CUSTOMERS);
	heaplapse_mark("evening");
	pictures_show(PICTURES);
	heaplapse_mark("close");
	shop_close();
	pause_ms(50);
	fprintf(stderr, "%d customers were shown %zu letters\n", CUSTOMERS, length);
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
