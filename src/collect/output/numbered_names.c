/* SPDX-License-Identifier: Apache-2.0 */
/* numbered_names.c - see numbered_names.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "collect/output/numbered_names.h"

void hl_numbered_names_fini(struct hl_numbered_names *s)
{
	hl_string_table_fini(&s->names);
	hl_vec_free(&s->last);
	hl_string_table_fini(&s->made);
}

int hl_numbered_names_name(char *buf, size_t n, const char *name, uint32_t number)
{
	size_t len = strlen(name), stem = len;
	int w;

	if (len > 4 && !strcmp(name + len - 4, ".hlt"))
		stem = len - 4;
	if (number == 1)
		w = snprintf(buf, n, "%s", name);
	else
		w = snprintf(buf, n, "%.*s.%u%s", (int)stem, name, number, name + stem);
	return w < 0 || (size_t)w >= n ? -ENAMETOOLONG : 0;
}

uint32_t hl_numbered_names_first(const struct hl_numbered_names *s, const char *name)
{
	uint32_t id;

	return hl_string_table_find(&s->names, name, &id) && id < s->last.len ? s->last.data[id] + 1
									      : 1;
}

uint32_t hl_numbered_names_find(
	uint32_t from, bool (*is_taken)(const void *arg, uint32_t number), const void *arg)
{
	uint32_t taken = from - 1, free_one = from, step = 1;

	while (free_one <= HL_NUMBERED_NAMES_MAX && is_taken(arg, free_one)) {
		taken = free_one;
		free_one = hl_min_u32(free_one + step, HL_NUMBERED_NAMES_MAX + 1);
		step *= 2;
	}
	while (free_one - taken > 1) {
		uint32_t middle = taken + (free_one - taken) / 2;

		if (is_taken(arg, middle))
			taken = middle;
		else
			free_one = middle;
	}
	return free_one;
}

void hl_numbered_names_set_last(struct hl_numbered_names *s, const char *name, uint32_t number)
{
	uint32_t id;

	s->files++;
	/* Most names are used once; storing them would only use memory. */
	if (number == 1 || hl_string_table_add(&s->names, name, &id))
		return;
	while (s->last.len <= id)
		if (hl_vec_push(&s->last, 0))
			return;
	s->last.data[id] = number;
}

int hl_numbered_names_remember(struct hl_numbered_names *s, const char *path)
{
	uint32_t id;

	return hl_string_table_add(&s->made, path, &id);
}

bool hl_numbered_names_has(const struct hl_numbered_names *s, const char *path)
{
	uint32_t id;

	return hl_string_table_find(&s->made, path, &id);
}
