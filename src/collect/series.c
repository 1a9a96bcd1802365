/* series.c - see series.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "collect/series.h"

void hl_series_fini(struct hl_series *s)
{
	hl_strings_fini(&s->names);
	hl_vec_free(&s->last);
	hl_strings_fini(&s->made);
}

int hl_series_name(char *buf, size_t n, const char *name, uint32_t number)
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

uint32_t hl_series_first(const struct hl_series *s, const char *name)
{
	uint32_t id;

	return hl_strings_find(&s->names, name, &id) && id < s->last.len ? s->last.data[id] + 1 : 1;
}

uint32_t hl_series_find(
	uint32_t from, bool (*is_taken)(const void *arg, uint32_t number), const void *arg)
{
	uint32_t taken = from - 1, free_one = from, step = 1;

	while (free_one <= HL_SERIES_MAX && is_taken(arg, free_one)) {
		taken = free_one;
		free_one = hl_min_u32(free_one + step, HL_SERIES_MAX + 1);
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

void hl_series_took(struct hl_series *s, const char *name, uint32_t number)
{
	uint32_t id;

	s->files++;
	/* Most names are used once; those would only fill memory. */
	if (number == 1 || hl_strings_add(&s->names, name, &id))
		return;
	while (s->last.len <= id)
		if (hl_vec_push(&s->last, 0))
			return;
	s->last.data[id] = number;
}

int hl_series_keep(struct hl_series *s, const char *path)
{
	uint32_t id;

	return hl_strings_add(&s->made, path, &id);
}

bool hl_series_has(const struct hl_series *s, const char *path)
{
	uint32_t id;

	return hl_strings_find(&s->made, path, &id);
}
