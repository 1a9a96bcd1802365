/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice_maps.c - the samples of the mappings in a slice: those in its range, encoded again.
 *
 * With shifted addresses the kernel's own mappings at the end of the address space would be beyond
 * it: they are left out.
 */
#include <errno.h>

#include "model/slice/slice_internal.h"
#include "trace/read/map_cursor.h"

typedef HL_VEC(struct hl_map_entry) map_entries;

static int copy_sample(
	struct hl_slice_writer *c, const struct hl_map_sample *from, map_entries *maps)
{
	struct hl_map_sample sample = *from;
	int err = 0;

	maps->len = 0;
	for (size_t i = 0; i < from->n && c->anonymizer && !err; i++) {
		struct hl_map_entry m = from->maps[i];

		err = hl_anonymize_mapping(c->anonymizer, &m);
		if (!err && m.end > from->maps[i].start && m.end > m.start)
			err = hl_vec_push(maps, m);
	}
	if (c->anonymizer) {
		sample.maps = maps->data;
		sample.n = maps->len;
	}
	return err ? err : hl_slice_writer_note_error(c, hl_writer_add_maps(c->w, &sample));
}

int hl_slice_writer_maps(struct hl_slice_writer *c)
{
	const struct hl_map_sample *sample;
	struct hl_map_cursor *cursor;
	map_entries maps = {0};
	int err = hl_map_cursor_open(&cursor, c->m->reader);

	while (!err && (err = hl_map_cursor_next(cursor, &sample)) == 0 && sample)
		if (sample->time_ns >= c->cut.from_ns && sample->time_ns <= c->cut.to_ns)
			err = copy_sample(c, sample, &maps);
	hl_map_cursor_close(cursor);
	hl_vec_free(&maps);
	return err;
}
