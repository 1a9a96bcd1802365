/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_internal.h - internals of the reader: the list of chunks, loading a chunk, tables.
 *
 * A row holds what is known of a chunk before it is read: from the index, or from its header. Only
 * hl_load_chunk, hl_load_column and hl_chunk_column read the chunk itself, and they check all data
 * that they return.
 */
#ifndef HL_TRACE_READ_READER_INTERNAL_H
#define HL_TRACE_READ_READER_INTERNAL_H

#include <pthread.h>
#include <zstd.h>

#include "base/attr.h"
#include "base/varint.h"
#include "trace/format/format_internal.h"
#include "trace/read/reader.h"
#include "util/pair_map.h"
#include "util/string_table.h"
#include "util/vec.h"

struct hl_chunk_row {
	struct hl_chunk_header head;
	uint64_t at;
	size_t chunk; /* EVENTS: its index in `chunks` */
	bool bad;     /* found damaged when read */
	bool is_base; /* LIVESET of the base: it is in `chunks` too */
};

#define HL_NO_ROW       SIZE_MAX
#define HL_META_STRINGS 7 /* number of columns from HL_COL_PROGRAM on */

struct hl_keyframe_rows {
	size_t row;    /* row of its first part */
	size_t before; /* index of the keyframe it builds on; HL_NO_ROW for a full one */
	uint32_t parts;
};

struct hl_live_set_rows {
	size_t row;
	uint32_t parts;
};

/* Consecutive ids whose definitions were found: ids [first, first + n) are at data[at...]. */
struct hl_segment {
	uint32_t first, n;
	size_t at;
};
typedef HL_VEC(struct hl_segment) hl_segments;

struct hl_module_entry {
	size_t path, build_id; /* offsets in `strings` */
	uint32_t build_id_len;
};

struct hl_tag_entry {
	size_t name;
	uint32_t parent;
};

/* A role that is not the first role of its thread. */
struct hl_role_entry {
	uint32_t role, first, tag;
};

struct hl_tables {
	int state;       /* 0: not read, or there are new rows; 1: read; else -errno */
	size_t next_row; /* the rows before it were read */
	uint32_t n_modules, n_nodes, n_threads, n_tags; /* n_threads counts roles */
	hl_segments module_segs, node_segs, thread_segs, tag_segs;
	HL_VEC(struct hl_module_entry) modules;
	HL_VEC(struct hl_node) nodes;
	HL_VEC(uint64_t) threads;
	HL_VEC(struct hl_tag_entry) tags;
	HL_VEC(struct hl_role_entry) role_entries;
	/* Built from role_entries if there are any. */
	size_t n_numbered; /* role_entries that are in `roles` */
	HL_VEC(struct hl_role) roles;
	HL_VEC(uint32_t) first_roles; /* by thread number */
	HL_VEC(uint8_t) strings;
};

/* The names of one code address: frames[first .. first + n). */
struct hl_site_names {
	size_t first, n;
};

struct hl_stored_names {
	int state;                  /* 0: not read, 1: read, else -errno */
	struct hl_pair_map ids;     /* (module + 1, offset) to index in `sites` */
	struct hl_pair_map modules; /* keys are module + 1 of modules with names */
	HL_VEC(struct hl_site_names) sites;
	HL_VEC(struct hl_name_frame) frames;
	struct hl_string_table strings;
	size_t bytes; /* total length of texts, counted for each chunk that has them */
};

struct hl_file_entry {
	struct hl_embedded_file file;
	char *path;
	uint8_t *id;
	uint64_t number, n_have; /* n_have: bytes of the pieces so far */
	size_t row, n_rows;      /* its pieces are consecutive rows */
};

struct hl_files {
	int state; /* 0: not read, 1: read, else -errno */
	HL_VEC(struct hl_file_entry) v;
	uint64_t bytes;
};

/* Sums of the readable events of a trace without END, which grow with it: the totals in `info`, and
 * bitmaps of the nodes and threads already counted. reader_info.c */
struct hl_readable_sums {
	bool begun;
	size_t n_keys;            /* keyframes that the trace had ... */
	size_t key;               /* ... and the one at which the sums begin; or HL_NO_ROW */
	size_t next;              /* the next chunk to add */
	uint8_t *nodes, *threads; /* NULL: nothing was added */
	size_t n_nodes, n_threads;
	bool seen_is_complete; /* false: earlier ones are unknown, so no new ones are counted */
};

struct hl_reader {
	struct hl_byte_source *source;
	uint64_t file_bytes, sync, bytes_read, events_decoded;
	uint64_t data_bytes; /* without holes, which cost a forger nothing; limits depend on it */
	char error[256];

	/*
	 * The reader whose source and lists of chunks are used here too; NULL: they are its own.
	 * Only the owner changes them: `bad` and `lost`. A reader that shares them, in another
	 * thread, reads neither.
	 */
	const struct hl_reader *shared;
	unsigned workers;   /* see hl_reader_set_workers */
	bool workers_given; /* ... which was called */
	int (*create_thread)(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
		void *arg); /* pthread_create; replaced by tests */

	HL_VEC(struct hl_chunk_row) rows;
	uint64_t scan_at;   /* where the search for more rows goes on: the end of the last one */
	uint64_t scan_next; /* their lowest sequence number */
	size_t list_row;    /* the rows before it are in the lists below */
	HL_VEC(struct hl_chunk_info) chunks;
	HL_VEC(size_t) chunk_rows; /* parallel to chunks; HL_NO_ROW if the chunk is gone */
	HL_VEC(struct hl_keyframe_info) keys;
	HL_VEC(struct hl_keyframe_rows) key_places;
	HL_VEC(struct hl_live_set_info) sets;
	HL_VEC(struct hl_live_set_rows) set_places;
	size_t end_row; /* row of END, or HL_NO_ROW */

	/* The base of a trace that begins late; reader_base.c. */
	size_t n_base_chunks;    /* the first of `chunks` */
	size_t base_key;         /* index in `keys`, or HL_NO_ROW */
	uint64_t base_next_part; /* while chunks are listed: the next LIVESET chunk ... */
	bool base_ended;         /* ... and whether the base is complete */
	int base_state;          /* of base_ordinals; 0: not read, 1: read, else -errno */
	bool base_has_gap;       /* some of base_ordinals are not known */
	HL_VEC(uint64_t)
	base_ordinals; /* in the run, ascending; the index is the reader's ordinal */

	/* Damage found so far, for the sentence in info. */
	bool head_damaged, index_rebuilt, summary_damaged, contradicts, running, stopped;
	uint64_t tail_bytes, junk_bytes, skipped_bytes;
	bool has_partial_head; /* the file ends inside a chunk whose header is complete */
	struct hl_chunk_header partial_head;
	uint64_t lost_chunks, lost_events;
	bool lost_unknown;

	ZSTD_DCtx *zstd;
	uint8_t *packed, *raw; /* one chunk; raw has 16 spare bytes after every column */

	char *meta_strings[HL_META_STRINGS];
	char *slice_filter;
	struct hl_tables tables;
	struct hl_stored_names names;
	struct hl_files files;
	struct hl_trace_info info;
	bool info_ready;
	struct hl_readable_sums sums;
};

/* The chunk that was loaded last. Its data is in the reader's buffers. */
struct hl_chunk {
	struct hl_chunk_header head;
	struct hl_chunk_column columns[HL_COLUMNS_MAX];
	uint32_t raw_at[HL_COLUMNS_MAX];
};

/* A cursor in an unpacked column. Reading beyond the end sets `bad` and returns 0. */
struct hl_column_cursor {
	const uint8_t *p, *end;
	bool bad;
};

static inline uint64_t hl_column_cursor_varint(struct hl_column_cursor *c)
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

static inline const uint8_t *hl_column_cursor_bytes(struct hl_column_cursor *c, uint64_t len)
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

/* True if the column was read exactly to its end without an error. */
static inline bool hl_column_cursor_done(const struct hl_column_cursor *c)
{
	return !c->bad && c->p == c->end;
}

/* reader.c: the buffers for one chunk. Returns 0 or -ENOMEM; hl_reader_close frees them. */
int hl_make_buffers(struct hl_reader *r);
/* Reads the header of the file, the list of chunks and META. Returns 0, or -errno with *why set. */
int hl_reader_load(struct hl_reader *r, const char *name, struct hl_reader_refusal *why);
/* Frees everything that was read from the file. Source, buffers and settings stay. */
void hl_reader_unload(struct hl_reader *r);

/* reader_chunk.c */
int hl_pread(struct hl_reader *r, void *buf, size_t len, uint64_t at);
int hl_reader_fail(struct hl_reader *r, const char *fmt, ...) hl_printf(2, 3);
/* Reads a whole chunk and checks its headers and padding. hl_chunk_column checks the columns. */
int hl_load_chunk(struct hl_reader *r, size_t row, struct hl_chunk *c);
/* Unpacks and checks a column. Returns -ENOENT with an empty cursor if the chunk does not have
 * it. */
int hl_chunk_column(
	struct hl_reader *r, struct hl_chunk *c, uint16_t id, struct hl_column_cursor *cur);
/* Reads only the headers and one column. */
int hl_load_column(struct hl_reader *r, size_t row, struct hl_chunk *c, uint16_t id);
/* Checks the checksums of all columns, also of unused ones. */
int hl_check_columns(struct hl_reader *r, const struct hl_chunk *c);
/* Records that the chunk cannot be read. Returns -EBADMSG. */
int hl_mark_bad(struct hl_reader *r, size_t row);

/*
 * reader_share.c: a reader of the same trace for decoding chunks in another thread. It has its own
 * buffers and error, and marks no damage. The caller closes it before `r`.
 */
int hl_reader_share(struct hl_reader **out, const struct hl_reader *r);
/* Counts a chunk that another reader decoded as if r had. Returns 0, or what hl_reader_decode_some
 * returns for a chunk that is known to be damaged. */
int hl_reader_adopt(struct hl_reader *r, size_t chunk, struct hl_chunk_events *c);
unsigned hl_default_workers(const struct hl_reader *r);

/* reader_index.c: fills `rows` and the lists made from them. */
int hl_find_chunks(struct hl_reader *r);
/* Adds the rows of a file that has grown, from scan_at on. Returns 0 or -ENOMEM. */
int hl_find_more_chunks(struct hl_reader *r);
/* Lists the rows from list_row on. While the writer runs, the parts of a keyframe or live set that
 * is not complete wait for the rest. */
int hl_list_chunks(struct hl_reader *r);
/* Adds an entry to `chunks`. row: HL_NO_ROW if the chunk is gone. Returns 0 or -ENOMEM. */
int hl_list_chunk(struct hl_reader *r, const struct hl_chunk_info *info, size_t row);

/* reader_base.c */
/* Finds the base, in META or in the chunks, before chunks are listed. */
void hl_find_base(struct hl_reader *r);
int hl_read_base_info(struct hl_reader *r, struct hl_chunk *c);
bool hl_is_base_part(const struct hl_reader *r, const struct hl_chunk_header *h);
/* Lists a LIVESET chunk of the base, after the parts that are missing before it. HL_NO_ROW: the
 * base is complete; all parts that were not found are missing. */
int hl_list_base_part(struct hl_reader *r, size_t row);
/* Reads the ordinals of the base's blocks once. Returns 0 or -errno. Damage is no error. */
int hl_base_load(struct hl_reader *r);
/* Replaces the ordinals of the run by those of the reader. Returns 0, or -EBADMSG if a block was
 * not live at the base. */
int hl_base_map_events(struct hl_reader *r, struct hl_event *events, size_t n, bool has_flags);
int hl_base_map_ordinal(const struct hl_reader *r, uint64_t *ordinal);
static inline uint64_t hl_base_event_shift(const struct hl_reader *r)
{
	return r->info.meta.base.events - r->info.meta.base.blocks;
}
static inline uint64_t hl_base_ordinal_shift(const struct hl_reader *r)
{
	return r->info.meta.base.allocs - r->info.meta.base.blocks;
}

/* reader_info.c */
int hl_read_meta(struct hl_reader *r);
void hl_describe_damage(struct hl_reader *r);
void hl_readable_sums_fini(struct hl_readable_sums *s);

/* slice_info.c */
int hl_read_slice_info(struct hl_reader *r, struct hl_chunk *c);
int hl_read_left_out(struct hl_reader *r, struct hl_chunk *c);
int hl_read_parted(struct hl_reader *r, struct hl_chunk *c, struct hl_chunk_events *into);
int hl_read_linked(struct hl_reader *r, struct hl_chunk *c, struct hl_chunk_events *into);

/* symbol_names.c */
void hl_stored_names_fini(struct hl_stored_names *n);

/* embedded_files.c */
void hl_files_fini(struct hl_files *f);

/* reader_tables.c */
int hl_tables_read(struct hl_reader *r);
void hl_tables_free(struct hl_tables *t);
/* The first role of the same thread. Call hl_tables_read before. */
static inline uint32_t hl_first_role(const struct hl_tables *t, uint32_t role)
{
	return role < t->roles.len ? t->first_roles.data[t->roles.data[role].thread] : role;
}

/* Limit for the texts of tables: memory is bounded by the size of the file. */
#define HL_STRING_TABLE_MAX(file_bytes) \
	((16u << 20) + 16 * hl_min_u64(file_bytes, 15u << 20)) /* at most 256 MiB */

/* reader_keyframe.c */
/* Reads the rows of a LIVESET chunk. Ordinals are those of the run. func: may be NULL. */
int hl_read_live_part(struct hl_reader *r, size_t row, struct hl_chunk *c, struct hl_live_block *to,
	uint8_t *func);
struct hl_key_row {
	uint32_t node;
	struct hl_sums sums;
	uint64_t peak_bytes, peak_blocks;
	struct hl_sums aggregated; /* the aggregated part of the sums */
	uint32_t called; /* 1 + function of the first aggregated allocation; 0: not known */
};
/* Calls fn for each row of one part of a keyframe. */
typedef int hl_key_fn(void *arg, const struct hl_key_row *row);
int hl_key_part_rows(struct hl_reader *r, size_t row, hl_key_fn *fn, void *arg);
/* The process totals in a keyframe's first part or in END, and the numbers after them. */
struct hl_process_numbers {
	struct hl_totals totals;
	struct hl_sums aggregated; /* not set by hl_read_process_numbers */
	struct hl_counters counters;
	uint64_t threads, n_modules, n_nodes, n_threads;
	bool has_lifetimes; /* totals.lifetimes are set; not by hl_read_process_numbers either */
};
int hl_read_process_numbers(struct hl_column_cursor *cur, struct hl_process_numbers *n);
int hl_key_load_totals(struct hl_reader *r, size_t key, struct hl_process_numbers *n);
/* Reads the sums of aggregated blocks (column WITHHELD) of a chunk with process totals; zeros if it
 * has none. Returns 0 or -EBADMSG. */
int hl_read_aggregated(
	struct hl_reader *r, struct hl_chunk *c, const struct hl_totals *all, struct hl_sums *s);
/* Reads the lifetimes (column LIFETIMES) that belong to these totals. Older traces have none, and
 * neither has a trace without frees. Returns 0 or -EBADMSG. */
int hl_read_lifetimes(struct hl_reader *r, struct hl_chunk *c, struct hl_process_numbers *n);
/* Sets bits for the nodes that allocated and the threads that had events up to a keyframe. Ids
 * beyond the arrays are ignored. */
int hl_key_seen_ids(struct hl_reader *r, size_t key, uint8_t *nodes, size_t n_nodes,
	uint8_t *threads, size_t n_threads);

#endif
