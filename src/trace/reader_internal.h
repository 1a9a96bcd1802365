/*
 * reader_internal.h - the parts of the reader: rows of chunks, loading one of them, tables.
 *
 * A row is what is known of a chunk before it is read: from the index, or from its own head. Only
 * hl_load and hl_column touch the chunk itself, and check all they hand out.
 */
#ifndef HL_TRACE_READER_INTERNAL_H
#define HL_TRACE_READER_INTERNAL_H

#include <zstd.h>

#include "base/attr.h"
#include "base/varint.h"
#include "trace/format_internal.h"
#include "trace/reader.h"
#include "util/map.h"
#include "util/strings.h"
#include "util/vec.h"

struct hl_row {
	struct hl_chunk_head head;
	uint64_t at;
	size_t chunk; /* EVENTS: its place among the chunks */
	bool bad;     /* found damaged when read */
};

#define HL_NO_ROW       SIZE_MAX
#define HL_META_STRINGS 7 /* columns from HL_COL_PROGRAM on */

struct hl_key_place {
	size_t row;    /* of its first part */
	size_t before; /* the keyframe it builds on; HL_NO_ROW for a full one */
	uint32_t parts;
};

struct hl_set_place {
	size_t row;
	uint32_t parts;
};

/* Consecutive nodes whose definitions were found; ids [first, first + n) lie at data[at...]. */
struct hl_segment {
	uint32_t first, n;
	size_t at;
};
typedef HL_VEC(struct hl_segment) hl_segments;

struct hl_module_entry {
	size_t path, build_id; /* places in the string store */
	uint32_t build_id_len;
};

struct hl_tag_entry {
	size_t name;
	uint32_t parent;
};

/* A role that is not the first of its thread. */
struct hl_role_entry {
	uint32_t role, first, tag;
};

struct hl_tables {
	int state;                                      /* 0 not read yet, 1 read, else -errno */
	uint32_t n_modules, n_nodes, n_threads, n_tags; /* n_threads: roles */
	hl_segments module_segs, node_segs, thread_segs, tag_segs;
	HL_VEC(struct hl_module_entry) modules;
	HL_VEC(struct hl_node) nodes;
	HL_VEC(uint64_t) threads;
	HL_VEC(struct hl_tag_entry) tags;
	HL_VEC(struct hl_role_entry) role_entries;
	/* Made of these if there are any. */
	HL_VEC(struct hl_role) roles;
	HL_VEC(uint32_t) first_roles; /* by number of the thread */
	HL_VEC(uint8_t) strings;
};

/* The names of one place in the code: frames[first .. first + n). */
struct hl_site_names {
	size_t first, n;
};

struct hl_stored_names {
	int state;             /* 0 not read yet, 1 read, else -errno */
	struct hl_map ids;     /* of sites, by module + 1 and offset */
	struct hl_map modules; /* plus 1: those that have any */
	HL_VEC(struct hl_site_names) sites;
	HL_VEC(struct hl_name_frame) frames;
	struct hl_strings strings;
	size_t bytes; /* of texts, as often as chunks have them */
};

struct hl_file_entry {
	struct hl_carried what;
	char *path;
	uint8_t *id;
	uint64_t number, have; /* bytes in the pieces so far */
	size_t row, n_rows;    /* its pieces follow each other */
};

struct hl_files {
	int state; /* 0 not read yet, 1 read, else -errno */
	HL_VEC(struct hl_file_entry) v;
	uint64_t bytes;
};

struct hl_reader {
	int fd;
	uint64_t file_bytes, sync, bytes_read;
	uint64_t data_bytes; /* what limits go by: without holes, which cost a forger nothing */
	char error[256];

	HL_VEC(struct hl_row) rows;
	HL_VEC(struct hl_chunk_info) chunks;
	HL_VEC(size_t) chunk_rows; /* beside chunks; HL_NO_ROW where the chunk is gone */
	HL_VEC(struct hl_keyframe_info) keys;
	HL_VEC(struct hl_key_place) key_places;
	HL_VEC(struct hl_live_set_info) sets;
	HL_VEC(struct hl_set_place) set_places;
	size_t end_row; /* of END, or HL_NO_ROW */

	/* What is wrong, for the sentence in info. */
	bool head_damaged, index_rebuilt, summary_damaged, contradicts, running, stopped;
	uint64_t tail_bytes, junk_bytes, skipped_bytes;
	bool has_cut; /* the file ends in a chunk whose head is whole: */
	struct hl_chunk_head cut;
	uint64_t lost_chunks, lost_events;
	bool lost_unknown;

	ZSTD_DCtx *zstd;
	uint8_t *packed, *raw; /* one chunk; raw has zeros after every column */

	char *meta_strings[HL_META_STRINGS];
	char *cut_filter;
	struct hl_tables tables;
	struct hl_stored_names names;
	struct hl_files files;
	struct hl_trace_info info;
	bool info_ready;
};

/* The chunk that was loaded last: it lives in the reader's buffers. */
struct hl_chunk {
	struct hl_chunk_head head;
	struct hl_column columns[HL_COLUMNS_MAX];
	uint32_t raw_at[HL_COLUMNS_MAX];
};

/* A column being read. Reading beyond the end sets bad and gives 0. */
struct hl_cursor {
	const uint8_t *p, *end;
	bool bad;
};

static inline uint64_t hl_cursor_varint(struct hl_cursor *c)
{
	uint64_t v = 0;
	const uint8_t *next;

	if (hl_likely(c->p < c->end && *c->p < 0x80))
		return *c->p++;
	next = hl_varint_get(c->p, c->end, &v);
	if (hl_unlikely(!next)) {
		c->bad = true;
		c->p = c->end;
		return 0;
	}
	c->p = next;
	return v;
}

static inline const uint8_t *hl_cursor_bytes(struct hl_cursor *c, uint64_t len)
{
	const uint8_t *p = c->p;

	if (len > (uint64_t)(c->end - p)) {
		c->bad = true;
		c->p = c->end;
		return NULL;
	}
	c->p += len;
	return p;
}

/* Read to its very end, and nothing amiss. */
static inline bool hl_cursor_done(const struct hl_cursor *c)
{
	return !c->bad && c->p == c->end;
}

/* reader_chunk.c */
int hl_pread(struct hl_reader *r, void *buf, size_t len, uint64_t at);
int hl_fail(struct hl_reader *r, const char *fmt, ...) hl_printf(2, 3);
/* Reads row's chunk whole and checks its heads and padding; columns are checked by hl_column. */
int hl_load(struct hl_reader *r, size_t row, struct hl_chunk *c);
/* The column, unpacked and checked; -ENOENT with an empty cursor when the chunk has none. */
int hl_column(struct hl_reader *r, struct hl_chunk *c, uint16_t id, struct hl_cursor *cur);
/* Reads only heads and one column. */
int hl_load_column(struct hl_reader *r, size_t row, struct hl_chunk *c, uint16_t id);
/* The checksums of all columns, also of those that nobody asks for. */
int hl_check_columns(struct hl_reader *r, const struct hl_chunk *c);
/* Remembers that the chunk cannot be read; returns -EBADMSG. */
int hl_mark_bad(struct hl_reader *r, size_t row);

/* reader_index.c: fills rows and the lists made from them. */
int hl_find_chunks(struct hl_reader *r);
int hl_list_chunks(struct hl_reader *r);

/* reader_info.c */
int hl_read_meta(struct hl_reader *r);
void hl_describe_damage(struct hl_reader *r);

/* cut.c */
int hl_read_cut(struct hl_reader *r, struct hl_chunk *c);
int hl_read_left_out(struct hl_reader *r, struct hl_chunk *c);
int hl_read_parted(struct hl_reader *r, struct hl_chunk *c, struct hl_chunk_events *into);
int hl_read_linked(struct hl_reader *r, struct hl_chunk *c, struct hl_chunk_events *into);

/* names.c */
void hl_stored_names_fini(struct hl_stored_names *n);

/* carried.c */
void hl_files_fini(struct hl_files *f);

/* reader_tables.c */
int hl_tables_read(struct hl_reader *r);
void hl_tables_free(struct hl_tables *t);
/* The first role of the same thread; only after hl_tables_read. */
static inline uint32_t hl_first_role(const struct hl_tables *t, uint32_t role)
{
	return role < t->roles.len ? t->first_roles.data[t->roles.data[role].thread] : role;
}

/* Texts of tables: a file cannot make us keep many times itself. */
#define HL_STRINGS_MAX(file_bytes) \
	((16u << 20) + 16 * hl_min_u64(file_bytes, 15u << 20)) /* at most 256 MiB */

/* reader_keyframe.c */
struct hl_key_row {
	uint32_t node;
	struct hl_sums sums;
	uint64_t peak_bytes, peak_blocks;
	struct hl_sums withheld; /* of the sums */
	uint32_t called;         /* what is withheld called this function, plus 1; 0: not known */
};
/* One part of a keyframe, row by row. */
typedef int hl_key_fn(void *arg, const struct hl_key_row *row);
int hl_key_part_rows(struct hl_reader *r, size_t row, hl_key_fn *fn, void *arg);
/* The process totals that a keyframe's first part or END carries, and the numbers after them. */
struct hl_process_numbers {
	struct hl_totals totals;
	struct hl_sums withheld; /* hl_read_process_numbers leaves it alone */
	struct hl_counters counters;
	uint64_t threads, n_modules, n_nodes, n_threads;
};
int hl_read_process_numbers(struct hl_cursor *cur, struct hl_process_numbers *n);
int hl_key_numbers(struct hl_reader *r, size_t key, struct hl_process_numbers *n);
/* The column WITHHELD of a chunk that carries process totals; none: zeros. 0 or -EBADMSG. */
int hl_read_withheld(
	struct hl_reader *r, struct hl_chunk *c, const struct hl_totals *all, struct hl_sums *s);
/*
 * Which nodes allocated and which threads had events up to a keyframe, as bits; ids beyond the
 * arrays are left out.
 */
int hl_key_actors(struct hl_reader *r, size_t key, uint8_t *nodes, size_t n_nodes, uint8_t *threads,
	size_t n_threads);

#endif
