/* SPDX-License-Identifier: Apache-2.0 */
/* base_extras.c - see base_extras.h. The model reads mappings in the same way
 * (model/views/mappings.c). */
#include "collect/match/base_extras.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "util/radix_sort.h"

#define PAGE         UINT64_C(4096)
#define MAPPINGS_MAX 65536u /* the kernel's default limit for a process is about the same */

/* --- names --- */

static int add_name(struct hl_base_extras *b, const struct hl_extra *x, uint64_t owner)
{
	int err = hl_vec_reserve(&b->names, b->names.len + 1);

	if (!err)
		err = hl_pair_map_put(&b->by_owner, x->kind, owner, (uint32_t)b->names.len);
	if (!err)
		b->names.data[b->names.len++] = *x;
	return err;
}

static void note_name(struct hl_base_extras *b, const struct hl_extra *x)
{
	uint64_t owner = x->kind == HL_EXTRA_POOL ? x->value : x->thread;
	uint32_t at = hl_pair_map_get(&b->by_owner, x->kind, owner);
	struct hl_extra named = *x;

	named.text = strdup(x->text ? x->text : "");
	if (!named.text) {
		b->incomplete = true;
	} else if (at != HL_PAIR_MAP_NONE) {
		free((char *)b->names.data[at].text);
		b->names.data[at] = named;
	} else if (add_name(b, &named, owner)) {
		free((char *)named.text);
		b->incomplete = true;
	}
}

/* --- mappings --- */

static uint64_t page_down(uint64_t addr)
{
	return addr / PAGE * PAGE;
}

/* The end of the last page. Values of a hostile program must not overflow. */
static uint64_t end_of(uint64_t addr, uint64_t size)
{
	return size > UINT64_MAX - PAGE - addr ? UINT64_MAX / PAGE * PAGE
					       : page_down(addr + size + PAGE - 1);
}

static uint64_t mapping_end(const struct hl_extra *m)
{
	return end_of(m->addr, m->size);
}

/* The index of the first mapping that ends above addr. */
static size_t find_mapping(const struct hl_base_extras *b, uint64_t addr)
{
	size_t lo = 0, hi = b->mappings.len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (mapping_end(&b->mappings.data[mid]) <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Replaces n mappings at index `at` by k others. */
static void splice_mappings(
	struct hl_base_extras *b, size_t at, size_t n, const struct hl_extra *new_ones, size_t k)
{
	size_t rest = b->mappings.len - at - n;

	if (b->mappings.len + k - n > MAPPINGS_MAX ||
		hl_vec_reserve(&b->mappings, b->mappings.len + k)) {
		b->incomplete = true;
		return;
	}
	memmove(&b->mappings.data[at + k], &b->mappings.data[at + n], rest * sizeof(*new_ones));
	if (k > 0)
		memcpy(&b->mappings.data[at], new_ones, k * sizeof(*new_ones));
	b->mappings.len += k - n;
}

/* Removes [from, to), whole pages. */
static void unmap_pages(struct hl_base_extras *b, uint64_t from, uint64_t to)
{
	size_t at = find_mapping(b, from);

	while (at < b->mappings.len && page_down(b->mappings.data[at].addr) < to) {
		struct hl_extra left[2], m = b->mappings.data[at];
		uint64_t end = mapping_end(&m);
		size_t k = 0, before = b->mappings.len;

		if (page_down(m.addr) < from) {
			left[k] = m;
			left[k++].size = from - m.addr;
		}
		if (end > to) {
			left[k] = m;
			left[k].addr = to;
			left[k++].size = end - to;
		}
		splice_mappings(b, at, 1, left, k);
		if (b->mappings.len != before + k - 1)
			return;
		at += k;
	}
}

static void map_pages(struct hl_base_extras *b, const struct hl_extra *m)
{
	if (m->size > 0 && page_down(m->addr) < mapping_end(m))
		splice_mappings(b, find_mapping(b, m->addr), 0, m, 1);
}

/* An mmap with the value 0 undoes a munmap that failed: the range belongs again to the mapping
 * below it. */
static void note_mmap(struct hl_base_extras *b, const struct hl_extra *x)
{
	size_t at = find_mapping(b, page_down(x->addr) - 1);
	struct hl_extra m = *x;

	if (x->value == 0) {
		if (x->addr < PAGE || at >= b->mappings.len || b->mappings.data[at].addr >= x->addr)
			return;
		m = b->mappings.data[at];
		m.addr = x->addr;
		m.size = x->size;
	}
	unmap_pages(b, page_down(x->addr), end_of(x->addr, x->size));
	map_pages(b, &m);
}

/* With an old size of 0 mremap makes a second mapping of the same memory. */
static void note_mremap(struct hl_base_extras *b, const struct hl_extra *x)
{
	size_t at = find_mapping(b, x->value);
	bool is_known =
		at < b->mappings.len && page_down(b->mappings.data[at].addr) <= page_down(x->value);
	struct hl_extra m = is_known ? b->mappings.data[at] : *x;

	if (x->size == 0)
		return;
	if (!is_known)
		m.value2 = x->value2; /* it stays an mremap, whose protection is not known */
	m.addr = x->addr;
	m.size = x->size;
	if (x->value2 == 0) {
		m.time_ns = x->time_ns;
		m.node = x->node;
		m.thread = x->thread;
	} else {
		unmap_pages(b, page_down(x->value), end_of(x->value, x->value2));
	}
	unmap_pages(b, page_down(x->addr), end_of(x->addr, x->size));
	map_pages(b, &m);
}

void hl_base_extras_note(struct hl_base_extras *b, const struct hl_extra *x)
{
	switch (x->kind) {
	case HL_EXTRA_THREAD_NAME:
	case HL_EXTRA_POOL:
		note_name(b, x);
		break;
	case HL_EXTRA_MODE:
		b->mode = *x;
		b->has_mode = true;
		break;
	case HL_EXTRA_START:
	case HL_EXTRA_STOP:
		b->on_off = *x;
		b->on_off.text = NULL;
		b->has_on_off = true;
		break;
	case HL_EXTRA_MMAP:
		note_mmap(b, x);
		break;
	case HL_EXTRA_MREMAP:
		note_mremap(b, x);
		break;
	case HL_EXTRA_MUNMAP:
		unmap_pages(b, page_down(x->addr), end_of(x->addr, x->size));
		break;
	}
}

static int append(hl_extras *to, const struct hl_extra *x, size_t n)
{
	if (n == 0)
		return 0;
	if (hl_vec_reserve(to, to->len + n))
		return -ENOMEM;
	memcpy(to->data + to->len, x, n * sizeof(*x));
	to->len += n;
	return 0;
}

int hl_base_extras_list(const struct hl_base_extras *b, hl_extras *to)
{
	int err = append(to, b->names.data, b->names.len);

	if (!err)
		err = append(to, &b->mode, b->has_mode);
	if (!err)
		err = append(to, &b->on_off, b->has_on_off);
	if (!err)
		err = append(to, b->mappings.data, b->mappings.len);
	return err;
}

int hl_extras_sort(hl_extras *list)
{
	size_t n = list->len;
	struct hl_radix_item *items = malloc((n + 1) * 2 * sizeof(*items));
	hl_extras sorted = {0};
	int err = items && hl_vec_reserve(&sorted, n) == 0 ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++)
		items[i] = (struct hl_radix_item){list->data[i].time_ns, &list->data[i]};
	if (!err) {
		hl_radix_sort(items, items + n, n);
		for (size_t i = 0; i < n; i++)
			sorted.data[i] = *(const struct hl_extra *)items[i].value;
		memcpy(list->data, sorted.data, n * sizeof(*sorted.data));
	}
	hl_vec_free(&sorted);
	free(items);
	return err;
}

void hl_base_extras_fini(struct hl_base_extras *b)
{
	for (size_t i = 0; i < b->names.len; i++)
		free((char *)b->names.data[i].text);
	hl_vec_free(&b->names);
	hl_vec_free(&b->mappings);
	hl_pair_map_fini(&b->by_owner);
}
