/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof_import_tables.c - strings, functions, mappings and locations of a profile.
 *
 * Ids are arbitrary numbers except 0. Fields come in any order, so there are two passes: one for
 * entries that others refer to, one for the entries that refer to them.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "import/pprof_import_internal.h"

#define FRAMES_MAX 256
#define TEXT_MAX   65535u

int hl_pprof_fail(struct pprof *p, const uint8_t *at, const char *what)
{
	return hl_import_fail(p->im, -EBADMSG, "byte %llu of the profile: %s",
		(unsigned long long)(at - p->data.data), what);
}

void hl_pprof_tables_fini(struct pprof *p)
{
	hl_vec_free(&p->strings);
	hl_vec_free(&p->types);
	hl_vec_free(&p->units);
	hl_vec_free(&p->functions);
	hl_vec_free(&p->locations);
	hl_vec_free(&p->text);
	hl_pair_map_fini(&p->function_ids);
	hl_pair_map_fini(&p->location_ids);
	hl_pair_map_fini(&p->mapping_ids);
	hl_vec_free(&p->biases);
}

struct pprof_text hl_pprof_string(const struct pprof *p, uint64_t number)
{
	return number < p->strings.len ? p->strings.data[number] : (struct pprof_text){"", 0};
}

static int no_memory(struct pprof *p)
{
	return hl_import_fail(p->im, -ENOMEM, "out of memory");
}

/* Maps an id to a table index; of two entries with one id the first counts. size: memory of the
 * entry. */
static int add_id(struct pprof *p, struct hl_pair_map *ids, uint64_t id, size_t number, size_t size)
{
	int err = hl_import_count_memory(p->im, 2 * (size + 2 * sizeof(struct hl_pair_map_slot)));

	if (err || hl_pair_map_get(ids, id, 0) != HL_PAIR_MAP_NONE)
		return err;
	return hl_pair_map_put(ids, id, 0, (uint32_t)number) ? no_memory(p) : 0;
}

/* --- entries that refer only to strings --- */

static int read_type(struct pprof *p, const struct hl_pb_field *f)
{
	struct hl_pb m = hl_pb_submessage(f);
	uint64_t type = 0, unit = 0;
	struct hl_pb_field in;

	while (hl_pb_next(&m, &in)) {
		type = in.number == 1 ? in.v : type;
		unit = in.number == 2 ? in.v : unit;
	}
	if (m.bad)
		return hl_pprof_fail(p, f->p, "no type of samples");
	if (p->types.len >= 64)
		return hl_pprof_fail(p, f->p, "more than 64 types of samples");
	return hl_vec_push(&p->types, type) || hl_vec_push(&p->units, unit) ? no_memory(p) : 0;
}

static int read_function(struct pprof *p, const struct hl_pb_field *f)
{
	struct hl_pb m = hl_pb_submessage(f);
	struct pprof_function function = {0};
	struct hl_pb_field in;
	uint64_t id = 0;
	int err;

	while (hl_pb_next(&m, &in)) {
		id = in.number == 1 ? in.v : id;
		function.name = in.number == 2 ? in.v : function.name;
		function.file = in.number == 4 ? in.v : function.file;
	}
	if (m.bad || id == 0)
		return hl_pprof_fail(p, f->p, "no function");
	err = add_id(p, &p->function_ids, id, p->functions.len, sizeof(function));
	if (!err && hl_vec_push(&p->functions, function) < 0)
		err = no_memory(p);
	return err;
}

static int read_string(struct pprof *p, const struct hl_pb_field *f)
{
	struct pprof_text text = {(const char *)f->p, f->len};
	int err = hl_import_count_memory(p->im, 2 * sizeof(text));

	if (!err && !f->is_bytes)
		err = hl_pprof_fail(p, p->data.data, "a string that is a number");
	if (!err && hl_vec_push(&p->strings, text) < 0)
		err = no_memory(p);
	return err;
}

int hl_pprof_read_tables(struct pprof *p)
{
	struct hl_pb m = hl_pprof_message(p);
	struct hl_pb_field f;
	int err = 0;

	while (!err && hl_pb_next(&m, &f)) {
		switch (f.number) {
		case PPROF_SAMPLE_TYPE:
			err = read_type(p, &f);
			break;
		case PPROF_FUNCTION:
			err = read_function(p, &f);
			break;
		case PPROF_STRING_TABLE:
			err = read_string(p, &f);
			break;
		case PPROF_TIME_NANOS:
			p->time_ns = f.v;
			break;
		case PPROF_DURATION_NANOS:
			p->duration_ns = f.v;
			break;
		case PPROF_PERIOD:
			p->period = f.v;
			break;
		default:
			break;
		}
	}
	return !err && m.bad ? hl_pprof_fail(p, m.p, "no field of a profile") : err;
}

/* --- mappings and locations --- */

static size_t read_build_id(const struct pprof_text *text, uint8_t id[64])
{
	size_t n = 0;

	for (size_t i = 0; i + 1 < text->len && n < 64; i += 2) {
		char two[3] = {text->p[i], text->p[i + 1], '\0'};

		if (!isxdigit((unsigned char)two[0]) || !isxdigit((unsigned char)two[1]))
			return 0; /* Go has build-ids of another form */
		id[n++] = (uint8_t)strtoul(two, NULL, 16);
	}
	return text->len % 2 ? 0 : n;
}

/* Appends a string to p->text, terminated by NUL; *at is its offset. String 0, or one that does not
 * exist, is empty. */
static int append_text(struct pprof *p, uint64_t number, size_t *at)
{
	struct pprof_text s = hl_pprof_string(p, number);
	size_t n = hl_min_u64(s.len, TEXT_MAX);

	*at = p->text.len;
	if (hl_vec_reserve(&p->text, p->text.len + n + 1) < 0)
		return no_memory(p);
	if (n)
		memcpy(p->text.data + p->text.len, s.p, n);
	p->text.data[p->text.len + n] = '\0';
	p->text.len += n + 1;
	return 0;
}

#define LOW_ADDRESS_END UINT64_C(0x10000000)

struct mapping {
	uint64_t id, start, offset, file, build_id;
};

static int parse_mapping(struct pprof *p, const struct hl_pb_field *f, struct mapping *to)
{
	struct hl_pb m = hl_pb_submessage(f);
	struct hl_pb_field in;

	*to = (struct mapping){0};
	while (hl_pb_next(&m, &in)) {
		to->id = in.number == 1 ? in.v : to->id;
		to->start = in.number == 2 ? in.v : to->start;
		to->offset = in.number == 4 ? in.v : to->offset;
		to->file = in.number == 5 ? in.v : to->file;
		to->build_id = in.number == 6 ? in.v : to->build_id;
	}
	return m.bad || to->id == 0 ? hl_pprof_fail(p, f->p, "no mapping") : 0;
}

struct pprof_text hl_pprof_program(struct pprof *p)
{
	struct hl_pb m = hl_pprof_message(p);
	struct hl_pb_field f;
	struct mapping map;

	while (hl_pb_next(&m, &f))
		if (f.number == PPROF_MAPPING && parse_mapping(p, &f, &map) == 0)
			return hl_pprof_string(p, map.file);
	return (struct pprof_text){"", 0};
}

static int write_mapping(struct pprof *p, const struct hl_pb_field *f)
{
	struct pprof_text id_text;
	struct hl_module def = {0};
	struct mapping map;
	uint8_t build_id[64];
	size_t at = 0;
	int err = parse_mapping(p, f, &map);

	p->text.len = 0;
	if (!err)
		err = add_id(p, &p->mapping_ids, map.id, p->n_mappings, 64);
	/* Programs linked to a low address have that address in the file too. */
	if (!err && hl_vec_push(&p->biases,
			    map.start < LOW_ADDRESS_END ? 0 : map.start - map.offset) < 0)
		err = no_memory(p);
	if (!err)
		err = append_text(p, map.file, &at);
	if (err)
		return err;
	id_text = hl_pprof_string(p, map.build_id);
	def.path = p->text.data + at;
	def.build_id = build_id;
	def.build_id_len = (uint32_t)read_build_id(&id_text, build_id);
	p->n_mappings++;
	err = hl_writer_add_module(p->im->writer, &def);
	return err ? hl_import_write_failed(p->im, err) : 0;
}

struct frame {
	size_t function, file; /* offsets in p->text */
	uint64_t line;
};

/* Reads one line of a location. Its strings go to p->text, which may move until all are there. */
static int read_frame(struct pprof *p, const struct hl_pb_field *f, struct frame *to)
{
	struct pprof_function function = {0};
	struct hl_pb m = hl_pb_submessage(f);
	struct hl_pb_field in;
	uint64_t id = 0;
	uint32_t number;
	int err;

	to->line = 0;
	while (hl_pb_next(&m, &in)) {
		id = in.number == 1 ? in.v : id;
		to->line = in.number == 2 ? in.v : to->line;
	}
	if (m.bad)
		return hl_pprof_fail(p, f->p, "no line of a location");
	number = hl_pair_map_get(&p->function_ids, id, 0);
	if (id && number == HL_PAIR_MAP_NONE)
		return hl_pprof_fail(p, f->p, "a line with an undefined function");
	if (id)
		function = p->functions.data[number];
	err = append_text(p, function.name, &to->function);
	return err ? err : append_text(p, function.file, &to->file);
}

struct location {
	uint64_t id, mapping, address;
	struct frame frames[FRAMES_MAX];
	size_t n;
};

static int parse_location(struct pprof *p, const struct hl_pb_field *f, struct location *to)
{
	struct hl_pb m = hl_pb_submessage(f);
	struct hl_pb_field in;
	int err = 0;

	to->id = to->mapping = to->address = to->n = 0;
	p->text.len = 0;
	while (!err && hl_pb_next(&m, &in)) {
		to->id = in.number == 1 ? in.v : to->id;
		to->mapping = in.number == 2 ? in.v : to->mapping;
		to->address = in.number == 3 ? in.v : to->address;
		if (in.number == 4 && to->n < FRAMES_MAX)
			err = read_frame(p, &in, &to->frames[to->n++]);
	}
	return !err && (m.bad || to->id == 0) ? hl_pprof_fail(p, f->p, "no location") : err;
}

static int write_location(struct pprof *p, const struct hl_pb_field *f)
{
	struct pprof_location at = {.module = HL_MODULE_NONE};
	struct hl_name_frame names[FRAMES_MAX];
	struct location loc;
	int err = parse_location(p, f, &loc);

	if (err)
		return err;
	if (loc.mapping) {
		at.module = hl_pair_map_get(&p->mapping_ids, loc.mapping, 0);
		if (at.module == HL_PAIR_MAP_NONE)
			return hl_pprof_fail(p, f->p, "a location with an undefined mapping");
		/* The address in the file; plus 1, because traces have the return address of a
		 * call. */
		loc.address += 1 - p->biases.data[at.module];
	}
	for (size_t i = 0; i < loc.n; i++)
		names[i] = (struct hl_name_frame){.function = p->text.data + loc.frames[i].function,
			.file = p->text.data + loc.frames[i].file,
			.line = loc.frames[i].line <= UINT32_MAX ? (uint32_t)loc.frames[i].line
								 : 0};
	err = add_id(p, &p->location_ids, loc.id, p->locations.len, sizeof(at));
	if (!err)
		err = hl_import_add_location(
			p->im, at.module, loc.address, names, loc.n, &at.offset);
	if (!err && hl_vec_push(&p->locations, at) < 0)
		err = no_memory(p);
	return err;
}

/* Calls `write` for all entries of one kind. */
static int write_entries(
	struct pprof *p, unsigned field, int (*write)(struct pprof *p, const struct hl_pb_field *f))
{
	struct hl_pb m = hl_pprof_message(p);
	struct hl_pb_field f;
	int err = 0;

	while (!err && hl_pb_next(&m, &f))
		if (f.number == field)
			err = write(p, &f);
	return err;
}

int hl_pprof_write_tables(struct pprof *p)
{
	int err = write_entries(p, PPROF_MAPPING, write_mapping);

	return err ? err : write_entries(p, PPROF_LOCATION, write_location);
}
