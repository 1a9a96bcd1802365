/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_file.c - see parquet_file.h. The format is https://parquet.apache.org/docs/file-format/.
 * Its metadata is parquet.thrift of apache/parquet-format, which defines the field ids and enum
 * values used here.
 */
#include "views/export/parquet/parquet_file.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "util/string_table.h"
#include "util/safe_text.h"
#include "util/vec.h"
#include "views/export/parquet/parquet_encode.h"
#include "views/export/parquet/thrift.h"

#define MAGIC      "PAR1"
#define GROUP_ROWS (UINT32_C(1) << 20)
#define PAGE_ROWS  (UINT32_C(1) << 16)
/* Distance between the pages of two columns. Not a power of two, otherwise the values of one row
 * would all map to the same few cache lines. */
#define PAGE_STRIDE (PAGE_ROWS + 8)
/* Size of the distinct texts of one column at which a row group ends early. */
#define MAX_DICTIONARY_BYTES (UINT32_C(8) << 20)
/* Longer texts are not written as minimum or maximum. */
#define MAX_BOUND_BYTES 256
/* Higher levels gain little for numbers and cost as much as all other work. */
#define ZSTD_LEVEL 1

enum { TYPE_BOOLEAN = 0, TYPE_INT32 = 1, TYPE_INT64 = 2, TYPE_BYTE_ARRAY = 6 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DELTA = 5, ENCODING_DICTIONARY = 8 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
enum { REQUIRED = 0, OPTIONAL = 1, CONVERTED_UTF8 = 0, CODEC_ZSTD = 6 };

struct column {
	struct hl_parquet_column def;
	int64_t *page;          /* PAGE_ROWS values, part of hl_parquet.pages */
	struct hl_strbuf chunk; /* compressed pages of the row group */
	/* For the row group: */
	size_t plain;            /* bytes of the pages without compression */
	int64_t min, max, nulls; /* of numeric columns */
	size_t n_values;         /* number of values that are not null */
	/* For text columns, the dictionary of the row group: */
	HL_VEC(uint32_t) words;        /* by index in the dictionary: the text */
	HL_VEC(uint32_t) word_indices; /* by text: 1 + its index in the dictionary; 0: not in it */
	size_t word_bytes;
};

struct hl_parquet {
	FILE *to;
	uint64_t written; /* number of bytes written */
	unsigned n;
	struct column *columns;
	struct hl_string_table texts;
	size_t in_page, in_group;
	bool group_is_full;
	uint64_t rows;
	size_t n_groups, n_notes;
	struct hl_thrift groups, notes; /* for the footer */
	/* Buffers for one page. */
	struct hl_strbuf plain;
	struct hl_thrift page_header;
	int64_t *pages; /* for all columns */
	int64_t *values;
	uint32_t *levels;
	char *packed;
	size_t packed_cap;
	ZSTD_CCtx *zstd;
};

static bool is_text(const struct column *c)
{
	return c->def.type == HL_PARQUET_TEXT;
}

static int physical_type(const struct column *c)
{
	static const int types[] = {[HL_PARQUET_BOOL] = TYPE_BOOLEAN,
		[HL_PARQUET_I32] = TYPE_INT32,
		[HL_PARQUET_I64] = TYPE_INT64,
		[HL_PARQUET_TEXT] = TYPE_BYTE_ARRAY};

	return types[c->def.type];
}

static int get_encoding(const struct column *c)
{
	return is_text(c)          ? ENCODING_DICTIONARY
	       : c->def.increasing ? ENCODING_DELTA
				   : ENCODING_PLAIN;
}

static void write_bytes(struct hl_parquet *p, const void *data, size_t n)
{
	if (n > 0)
		fwrite(data, 1, n, p->to);
	p->written += n;
}

/* --- texts --- */

int hl_parquet_text(struct hl_parquet *p, const char *s, int64_t *value)
{
	struct hl_strbuf sanitized = {0};
	uint32_t id = 0;
	int err;

	*value = HL_PARQUET_NULL;
	if (!s)
		return 0;
	hl_text_sanitize(&sanitized, s);
	err = hl_strbuf_error(&sanitized);
	if (!err)
		err = hl_string_table_add(&p->texts, hl_strbuf_str(&sanitized), &id);
	hl_strbuf_fini(&sanitized);
	if (!err)
		*value = id;
	return err;
}

/* Returns the index of a text in the dictionary of the row group, adding it if needed. */
static int find_word_index(struct hl_parquet *p, struct column *c, int64_t text, int64_t *index)
{
	int err = 0;

	while (c->word_indices.len <= (size_t)text && !err)
		err = hl_vec_push(&c->word_indices, 0);
	if (!err && c->word_indices.data[text] == 0) {
		err = hl_vec_push(&c->words, (uint32_t)text);
		c->word_indices.data[text] = (uint32_t)c->words.len;
		c->word_bytes += strlen(hl_string_table_get(&p->texts, (uint32_t)text)) + 4;
		p->group_is_full |= c->word_bytes > MAX_DICTIONARY_BYTES;
	}
	*index = err ? 0 : (int64_t)c->word_indices.data[text] - 1;
	return err;
}

static void clear_dictionary(struct column *c)
{
	for (size_t i = 0; i < c->words.len; i++)
		c->word_indices.data[c->words.data[i]] = 0;
	c->words.len = 0;
	c->word_bytes = 0;
}

/* --- pages --- */

/* Compresses p->plain and appends it with its page header. */
static int put_page(struct hl_parquet *p, struct hl_strbuf *to, size_t *plain, int type,
	size_t n_values, int encoding)
{
	size_t need = ZSTD_compressBound(p->plain.len), n;
	struct hl_thrift *t = &p->page_header;

	if (hl_strbuf_error(&p->plain) || hl_vec_grow((void **)&p->packed, &p->packed_cap, need, 1))
		return -ENOMEM;
	n = ZSTD_compressCCtx(
		p->zstd, p->packed, p->packed_cap, p->plain.data, p->plain.len, ZSTD_LEVEL);
	if (ZSTD_isError(n))
		return -ENOMEM;
	hl_thrift_reset(t);
	hl_thrift_i32(t, 1, type);
	hl_thrift_i32(t, 2, (int32_t)p->plain.len);
	hl_thrift_i32(t, 3, (int32_t)n);
	hl_thrift_begin(t, type == PAGE_DATA ? 5 : 7);
	hl_thrift_i32(t, 1, (int32_t)n_values);
	hl_thrift_i32(t, 2, encoding);
	if (type == PAGE_DATA) {
		hl_thrift_i32(t, 3, ENCODING_RLE);
		hl_thrift_i32(t, 4, ENCODING_RLE);
	}
	hl_thrift_end(t);
	hl_thrift_end(t);
	hl_strbuf_add(to, t->out.data, t->out.len);
	hl_strbuf_add(to, p->packed, n);
	*plain += t->out.len + p->plain.len;
	return hl_strbuf_error(&t->out) ? -ENOMEM : hl_strbuf_error(to);
}

/* Writes which values of the page are not null, and collects those in p->values. Returns their
 * number. */
static size_t put_levels(struct hl_parquet *p, struct column *c)
{
	size_t n = 0, begin = p->plain.len;
	uint32_t len;

	for (size_t i = 0; i < p->in_page; i++) {
		bool present = c->page[i] != HL_PARQUET_NULL;

		p->levels[i] = present;
		p->values[n] = c->page[i];
		n += present;
	}
	c->nulls += (int64_t)(p->in_page - n);
	hl_parquet_put_u32(&p->plain, 0); /* the length, set below */
	hl_parquet_put_runs(&p->plain, p->levels, p->in_page, 1);
	if (!hl_strbuf_error(&p->plain)) {
		len = htole32((uint32_t)(p->plain.len - begin - sizeof(len)));
		memcpy(p->plain.data + begin, &len, sizeof(len));
	}
	return n;
}

static void update_bounds(struct column *c, const int64_t *v, size_t n)
{
	int64_t min = c->n_values ? c->min : INT64_MAX, max = c->n_values ? c->max : INT64_MIN;

	for (size_t i = 0; i < n; i++) {
		min = v[i] < min ? v[i] : min;
		max = v[i] > max ? v[i] : max;
	}
	c->min = min;
	c->max = max;
	c->n_values += n;
}

static void put_word_indices(struct hl_parquet *p, struct column *c, const int64_t *v, size_t n)
{
	unsigned width = hl_parquet_width(c->words.len);

	/* 0 bits would be enough for one word, but other writers do not do that. */
	if (c->words.len == 1)
		width = 1;
	for (size_t i = 0; i < n; i++)
		p->levels[i] = (uint32_t)v[i];
	hl_strbuf_putc(&p->plain, (char)width);
	hl_parquet_put_runs(&p->plain, p->levels, n, width);
}

static int end_column_page(struct hl_parquet *p, struct column *c)
{
	const int64_t *v = c->page;
	size_t n = p->in_page;

	hl_strbuf_reset(&p->plain);
	if (c->def.optional) {
		n = put_levels(p, c);
		v = p->values;
	}
	update_bounds(c, v, n);
	if (is_text(c))
		put_word_indices(p, c, v, n);
	else if (c->def.type == HL_PARQUET_BOOL)
		hl_parquet_put_bools(&p->plain, v, n);
	else if (c->def.type == HL_PARQUET_I32)
		hl_parquet_put_i32(&p->plain, v, n);
	else if (c->def.increasing)
		hl_parquet_put_deltas(&p->plain, v, n);
	else
		hl_parquet_put_i64(&p->plain, v, n);
	return put_page(p, &c->chunk, &c->plain, PAGE_DATA, p->in_page, get_encoding(c));
}

static int end_page(struct hl_parquet *p)
{
	int err = 0;

	for (unsigned i = 0; i < p->n && p->in_page > 0 && !err; i++)
		err = end_column_page(p, &p->columns[i]);
	p->in_page = 0;
	return err;
}

/* --- row groups --- */

/* The dictionary is in front of the pages that use it. */
static int put_dictionary(struct hl_parquet *p, struct column *c, struct hl_strbuf *to)
{
	hl_strbuf_reset(&p->plain);
	for (size_t i = 0; i < c->words.len; i++) {
		const char *s = hl_string_table_get(&p->texts, c->words.data[i]);
		size_t n = strlen(s);

		hl_parquet_put_u32(&p->plain, (uint32_t)n);
		hl_strbuf_add(&p->plain, s, n);
	}
	return put_page(p, to, &c->plain, PAGE_DICTIONARY, c->words.len, ENCODING_PLAIN);
}

static void put_text_bounds(struct hl_parquet *p, struct column *c)
{
	const char *min = NULL, *max = NULL;

	for (size_t i = 0; i < c->words.len; i++) {
		const char *s = hl_string_table_get(&p->texts, c->words.data[i]);

		min = !min || strcmp(s, min) < 0 ? s : min;
		max = !max || strcmp(s, max) > 0 ? s : max;
	}
	if (!min || strlen(min) > MAX_BOUND_BYTES || strlen(max) > MAX_BOUND_BYTES)
		return;
	hl_thrift_string(&p->groups, 5, max);
	hl_thrift_string(&p->groups, 6, min);
}

static void put_number_bounds(struct hl_parquet *p, struct column *c)
{
	size_t size = c->def.type == HL_PARQUET_BOOL ? 1 : c->def.type == HL_PARQUET_I32 ? 4 : 8;
	uint64_t min = htole64((uint64_t)c->min), max = htole64((uint64_t)c->max);

	if (c->n_values == 0)
		return;
	hl_thrift_bytes(&p->groups, 5, &max, size);
	hl_thrift_bytes(&p->groups, 6, &min, size);
}

static void put_statistics(struct hl_parquet *p, struct column *c)
{
	hl_thrift_begin(&p->groups, 12);
	hl_thrift_i64(&p->groups, 3, c->nulls);
	if (is_text(c))
		put_text_bounds(p, c);
	else
		put_number_bounds(p, c);
	hl_thrift_end(&p->groups);
}

/* Writes the footer's metadata for a column of this row group, which begins at `begin`. */
static void describe_chunk(struct hl_parquet *p, struct column *c, uint64_t begin, size_t words)
{
	struct hl_thrift *t = &p->groups;

	hl_thrift_element(t);
	hl_thrift_i64(t, 2, 0); /* file_offset: 0, no column metadata outside the footer */
	hl_thrift_begin(t, 3);
	hl_thrift_i32(t, 1, physical_type(c));
	hl_thrift_list(t, 2, HL_THRIFT_I32, is_text(c) ? 3 : 2);
	hl_thrift_varint(t, hl_zigzag(ENCODING_RLE));
	hl_thrift_varint(t, hl_zigzag(get_encoding(c)));
	if (is_text(c))
		hl_thrift_varint(t, hl_zigzag(ENCODING_PLAIN));
	hl_thrift_list(t, 3, HL_THRIFT_BINARY, 1);
	hl_thrift_varint(t, strlen(c->def.name));
	hl_strbuf_puts(&t->out, c->def.name);
	hl_thrift_i32(t, 4, CODEC_ZSTD);
	hl_thrift_i64(t, 5, (int64_t)p->in_group);
	hl_thrift_i64(t, 6, (int64_t)c->plain);
	hl_thrift_i64(t, 7, (int64_t)(words + c->chunk.len));
	hl_thrift_i64(t, 9, (int64_t)(begin + words));
	if (is_text(c))
		hl_thrift_i64(t, 11, (int64_t)begin);
	put_statistics(p, c);
	hl_thrift_end(t);
	hl_thrift_end(t);
}

static int put_chunk(struct hl_parquet *p, struct column *c, size_t *plain)
{
	struct hl_strbuf words = {0};
	uint64_t begin = p->written;
	int err = is_text(c) ? put_dictionary(p, c, &words) : 0;

	if (!err) {
		write_bytes(p, words.data, words.len);
		write_bytes(p, c->chunk.data, c->chunk.len);
		describe_chunk(p, c, begin, words.len);
	}
	hl_strbuf_fini(&words);
	*plain += c->plain;
	clear_dictionary(c);
	hl_strbuf_reset(&c->chunk);
	c->plain = 0;
	c->n_values = 0;
	c->nulls = 0;
	return err;
}

static int end_group(struct hl_parquet *p)
{
	struct hl_thrift *t = &p->groups;
	uint64_t begin = p->written;
	size_t plain = 0;
	int err = end_page(p);

	if (err || p->in_group == 0)
		return err;
	hl_thrift_element(t);
	hl_thrift_list(t, 1, HL_THRIFT_STRUCT, p->n);
	for (unsigned i = 0; i < p->n && !err; i++)
		err = put_chunk(p, &p->columns[i], &plain);
	hl_thrift_i64(t, 2, (int64_t)plain);
	hl_thrift_i64(t, 3, (int64_t)p->in_group);
	hl_thrift_i64(t, 5, (int64_t)begin);
	hl_thrift_i64(t, 6, (int64_t)(p->written - begin));
	hl_thrift_end(t);
	p->n_groups++;
	p->rows += p->in_group;
	p->in_group = 0;
	p->group_is_full = false;
	if (!err && ferror(p->to))
		err = -EIO;
	return err;
}

int hl_parquet_row(struct hl_parquet *p, const int64_t *values)
{
	int err = 0;

	for (unsigned i = 0; i < p->n; i++) {
		struct column *c = &p->columns[i];
		int64_t v = values[i];

		if (is_text(c) && v != HL_PARQUET_NULL)
			err |= find_word_index(p, c, v, &v);
		c->page[p->in_page] = v;
	}
	p->in_page++;
	p->in_group++;
	if (err)
		return -ENOMEM;
	if (p->in_group == GROUP_ROWS || p->group_is_full)
		return end_group(p);
	return p->in_page == PAGE_ROWS ? end_page(p) : 0;
}

/* --- file --- */

static void put_schema(struct hl_parquet *p, struct hl_thrift *t)
{
	hl_thrift_list(t, 2, HL_THRIFT_STRUCT, p->n + 1);
	hl_thrift_element(t);
	hl_thrift_string(t, 4, "schema");
	hl_thrift_i32(t, 5, (int32_t)p->n);
	hl_thrift_end(t);
	for (unsigned i = 0; i < p->n; i++) {
		const struct column *c = &p->columns[i];

		hl_thrift_element(t);
		hl_thrift_i32(t, 1, physical_type(c));
		hl_thrift_i32(t, 3, c->def.optional ? OPTIONAL : REQUIRED);
		hl_thrift_string(t, 4, c->def.name);
		if (is_text(c)) {
			hl_thrift_i32(t, 6, CONVERTED_UTF8);
			hl_thrift_begin(t, 10);
			hl_thrift_begin(t, 1);
			hl_thrift_end(t);
			hl_thrift_end(t);
		}
		hl_thrift_end(t);
	}
}

/* Numbers are ordered by value and texts by their bytes. Without this, readers ignore minimum and
 * maximum. */
static void put_orders(struct hl_parquet *p, struct hl_thrift *t)
{
	hl_thrift_list(t, 7, HL_THRIFT_STRUCT, p->n);
	for (unsigned i = 0; i < p->n; i++) {
		hl_thrift_element(t);
		hl_thrift_begin(t, 1);
		hl_thrift_end(t);
		hl_thrift_end(t);
	}
}

int hl_parquet_finish(struct hl_parquet *p)
{
	struct hl_thrift t = {0};
	int err = end_group(p);

	hl_thrift_i32(&t, 1, 2);
	put_schema(p, &t);
	hl_thrift_i64(&t, 3, (int64_t)p->rows);
	hl_thrift_list(&t, 4, HL_THRIFT_STRUCT, p->n_groups);
	hl_strbuf_add(&t.out, hl_strbuf_str(&p->groups.out), p->groups.out.len);
	hl_thrift_list(&t, 5, HL_THRIFT_STRUCT, p->n_notes);
	hl_strbuf_add(&t.out, hl_strbuf_str(&p->notes.out), p->notes.out.len);
	hl_thrift_string(&t, 6, "heaplapse version " HL_VERSION);
	put_orders(p, &t);
	hl_thrift_end(&t);
	hl_parquet_put_u32(&t.out, (uint32_t)t.out.len);
	hl_strbuf_puts(&t.out, MAGIC);
	if (!err && (hl_strbuf_error(&t.out) || hl_strbuf_error(&p->groups.out) ||
			    hl_strbuf_error(&p->notes.out)))
		err = -ENOMEM;
	if (!err) {
		write_bytes(p, t.out.data, t.out.len);
		err = ferror(p->to) ? -EIO : 0;
	}
	hl_strbuf_fini(&t.out);
	return err;
}

void hl_parquet_add_metadata(struct hl_parquet *p, const char *key, const char *value)
{
	struct hl_strbuf sanitized = {0};

	hl_text_sanitize(&sanitized, value);
	hl_thrift_element(&p->notes);
	hl_thrift_string(&p->notes, 1, key);
	hl_thrift_string(&p->notes, 2, hl_strbuf_str(&sanitized));
	hl_thrift_end(&p->notes);
	p->n_notes++;
	hl_strbuf_fini(&sanitized);
}

struct hl_parquet *hl_parquet_new(FILE *to, const struct hl_parquet_column *columns, unsigned n)
{
	struct hl_parquet *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->to = to;
	p->columns = calloc(n, sizeof(*p->columns));
	p->values = malloc(PAGE_ROWS * sizeof(*p->values));
	p->levels = malloc(PAGE_ROWS * sizeof(*p->levels));
	p->zstd = ZSTD_createCCtx();
	p->pages = malloc(n * sizeof(*p->pages) * PAGE_STRIDE);
	if (!p->columns || !p->values || !p->levels || !p->zstd || !p->pages) {
		hl_parquet_free(p);
		return NULL;
	}
	for (; p->n < n; p->n++) {
		p->columns[p->n].def = columns[p->n];
		p->columns[p->n].page = p->pages + (size_t)p->n * PAGE_STRIDE;
	}
	write_bytes(p, MAGIC, 4);
	return p;
}

void hl_parquet_free(struct hl_parquet *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < p->n; i++) {
		struct column *c = &p->columns[i];

		hl_strbuf_fini(&c->chunk);
		hl_vec_free(&c->words);
		hl_vec_free(&c->word_indices);
	}
	free(p->columns);
	free(p->pages);
	free(p->values);
	free(p->levels);
	free(p->packed);
	hl_string_table_fini(&p->texts);
	hl_strbuf_fini(&p->plain);
	hl_strbuf_fini(&p->page_header.out);
	hl_strbuf_fini(&p->groups.out);
	hl_strbuf_fini(&p->notes.out);
	ZSTD_freeCCtx(p->zstd);
	free(p);
}
