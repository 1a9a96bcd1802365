/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heaptrack_import.c - heaptrack's interpreted recordings, file formats 1 to 3.
 *
 * The lines have hexadecimal numbers. Strings (s), code locations (i), stacks (t) and kinds of
 * blocks (a: size and stack) are numbered in the order of their lines; + and - refer to a kind. A
 * free does not say which block of its kind it frees. The newest is assumed, so that a free right
 * after an allocation of its kind is temporary, as heaptrack counts it. Only live blocks and the
 * tables are kept in memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "import/import_internal.h"
#include "trace/totals.h"
#include "util/strbuf.h"
#include "util/vec.h"

#define LINE_MAX_BYTES (UINT64_C(1) << 20)
#define BUF_SIZE       (2 * LINE_MAX_BYTES)
#define NS_PER_MS      UINT64_C(1000000)
#define MS_MAX         UINT32_MAX /* 49 days; later times are set to this */
#define NEWEST_FORMAT  3
#define BYTES_MAX      (UINT64_C(1) << 63) /* of all allocations together */

struct location {
	uint32_t module;
	uint64_t offset;
};

struct kind {
	uint64_t size;
	uint32_t node;
	uint32_t newest; /* index of the run with its newest live block; 0: none */
	size_t first;    /* first kind with this size and stack; it has the blocks of all */
};

/*
 * Live blocks of one kind that were allocated in one millisecond at equal distances of ordinals. A
 * program with a repeated pattern has a small file, and so needs little memory here. Free slots are
 * linked by `next`.
 */
struct run {
	uint64_t ordinal; /* of the first block */
	uint32_t stride, count;
	uint32_t ms, next; /* next: the previous run of the same kind */
};

struct heaptrack {
	struct hl_import *im;
	char *buf; /* input; [at, len) is not read yet */
	size_t at, len;
	uint64_t line;       /* one-based number of the current line */
	const char *p, *end; /* the rest of the current line */

	uint64_t version, format, page_size;
	bool attached;
	struct hl_strbuf command;

	HL_VEC(char) text;
	HL_VEC(size_t) strings;   /* offsets in text */
	HL_VEC(uint32_t) modules; /* by string: module id + 1; 0: not a module yet */
	uint32_t n_modules, n_nodes;
	HL_VEC(struct location) locations;
	HL_VEC(uint32_t) nodes; /* by stack */
	HL_VEC(struct kind) kinds;
	struct hl_pair_map kind_ids; /* (size, stack) -> first kind */
	size_t last_alloc_kind;      /* of the previous event; SIZE_MAX: it was not an allocation */
	HL_VEC(struct run) runs;     /* the first one is not used */
	uint32_t free_list;          /* first slot of the free list of `runs`; 0: it is empty */
	uint64_t ms, n_allocs, n_events, bytes;
};

static int fail_at(struct heaptrack *h, const char *fmt, ...) hl_printf(2, 3);
static int fail_at(struct heaptrack *h, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return hl_import_fail(h->im, -EBADMSG, "line %llu: %s", (unsigned long long)h->line, text);
}

/* --- numbers and lines --- */

hl_inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The next number of the line, after one space or at the start of the line; false: there is
 * none. */
hl_inline bool next_hex(struct heaptrack *h, uint64_t *v)
{
	const char *p = h->p;
	uint64_t n = 0;
	int digit;

	p += p < h->end && *p == ' ';
	if (p == h->end || hex_digit(*p) < 0)
		return false;
	for (; p < h->end && (digit = hex_digit(*p)) >= 0; p++) {
		if (n >> 60)
			return false;
		n = n << 4 | (unsigned)digit;
	}
	if (p < h->end && *p != ' ')
		return false;
	h->p = p;
	*v = n;
	return true;
}

static int fail_number(struct heaptrack *h, const char *what)
{
	return fail_at(h, "%s is not a hexadecimal number, or is missing", what);
}

static int read_more(struct heaptrack *h, bool *end)
{
	size_t got;
	int err;

	memmove(h->buf, h->buf + h->at, h->len - h->at);
	h->len -= h->at;
	h->at = 0;
	*end = false;
	if (h->len >= LINE_MAX_BYTES)
		return fail_at(h, "is longer than 1 MiB");
	err = hl_import_input_read(&h->im->in, h->buf + h->len, BUF_SIZE - h->len, &got);
	if (err)
		return hl_import_input_failed(h->im, err);
	err = hl_import_tick(h->im);
	if (err)
		return err;
	*end = got == 0;
	h->len += got;
	return 0;
}

/* Sets p and end to the next line; *more is false if there is none. A line without a newline is not
 * complete and is not returned. */
static int next_line(struct heaptrack *h, bool *more)
{
	char *nl = NULL;
	size_t seen = h->at;
	bool end = false;
	int err;

	h->line++;
	for (; h->at < h->len && h->buf[h->at] == '\n'; h->line++) /* there may be millions */
		seen = ++h->at;
	while (!(nl = memchr(h->buf + seen, '\n', h->len - seen))) {
		seen = h->len - h->at;
		err = read_more(h, &end);
		if (err == -EBADMSG && h->im->in.error[0] && h->n_events > 0) {
			h->im->in.truncated = true; /* damaged from here on: keep the part before */
			end = true;
		} else if (err) {
			return err;
		}
		if (end) {
			h->im->result->truncated |= h->len > h->at;
			*more = false;
			return 0;
		}
	}
	h->p = h->buf + h->at;
	h->end = nl;
	h->at = (size_t)(nl - h->buf) + 1;
	*more = true;
	return 0;
}

/* --- the header --- */

static int read_version(struct heaptrack *h)
{
	if (h->version)
		return fail_at(h, "a second version");
	if (!next_hex(h, &h->version))
		return fail_number(h, "the version");
	if (!next_hex(h, &h->format))
		h->format = 0;
	if (h->format == 0)
		return fail_at(h, "file format 0 of heaptrack before 1.0 is not supported");
	if (h->format > NEWEST_FORMAT)
		return fail_at(h, "file format %" PRIu64 " is newer than %d, the newest supported",
			h->format, NEWEST_FORMAT);
	snprintf(h->im->result->source, sizeof(h->im->result->source),
		"heaptrack %" PRIu64 ".%" PRIu64 ".%" PRIu64 ", file format %" PRIu64,
		h->version >> 16 & 0xffff, h->version >> 8 & 0xff, h->version & 0xff, h->format);
	return 0;
}

/* Writes META, when the first line comes that needs the writer. */
static int begin_trace(struct heaptrack *h)
{
	struct hl_meta meta = {.arch = "",
		.clock = "stamps of heaptrack",
		.mode = "imported",
		.allocator = "",
		.started_off = h->attached,
		.source = h->im->result->source,
		.unknown = HL_UNKNOWN_ADDRESSES | HL_UNKNOWN_THREADS | HL_UNKNOWN_CALLS |
			   HL_UNKNOWN_TIMES | HL_UNKNOWN_LIFETIMES};
	char *text;

	if (h->im->writer)
		return 0;
	hl_strbuf_putc(&h->command, '\0');
	if (hl_strbuf_error(&h->command))
		return hl_import_fail(h->im, -ENOMEM, "out of memory");
	text = h->command.data;
	meta.command = text;
	meta.command_len = h->command.len > 1 ? (uint32_t)hl_min_u64(h->command.len, 1u << 18) : 0;
	for (size_t i = 0; i + 1 < h->command.len; i++) /* word ends are not marked */
		text[i] = text[i] == ' ' ? '\0' : text[i];
	meta.program = text;
	return hl_import_open_writer(h->im, &meta);
}

static int read_command(struct heaptrack *h)
{
	h->p += h->p < h->end && *h->p == ' ';
	if (!h->im->writer && h->command.len == 0)
		hl_strbuf_add(&h->command, h->p, (size_t)(h->end - h->p));
	return 0;
}

static int read_system(struct heaptrack *h)
{
	uint64_t pages;

	if (!next_hex(h, &h->page_size) || !next_hex(h, &pages))
		return fail_number(h, "a size of the system");
	if (h->page_size == 0 || h->page_size > 1u << 30)
		return fail_at(h, "no size of pages");
	return 0;
}

/* heaptrack attached to a running program. */
static int read_attached(struct heaptrack *h)
{
	struct hl_extra x = {
		.kind = HL_EXTRA_STOP, .time_ns = h->ms * NS_PER_MS, .node = HL_NODE_NONE};
	int err;

	h->attached = true;
	if (!h->im->writer)
		return 0;
	err = hl_writer_add_extra(h->im->writer, &x);
	x.kind = HL_EXTRA_START;
	if (!err)
		err = hl_writer_add_extra(h->im->writer, &x);
	return err ? hl_import_write_failed(h->im, err) : 0;
}

/* --- tables --- */

static int fail_no_memory(struct heaptrack *h)
{
	return hl_import_fail(h->im, -ENOMEM, "out of memory");
}

static int read_string(struct heaptrack *h)
{
	uint64_t len;
	int err;

	if (h->format >= 3) {
		if (!next_hex(h, &len))
			return fail_number(h, "the length of a string");
		h->p += h->p < h->end;
		if (len > (uint64_t)(h->end - h->p))
			return fail_at(h, "a string of %" PRIu64 " bytes, of which %td are present",
				len, h->end - h->p);
		h->end = h->p + len;
	} else {
		h->p += h->p < h->end && *h->p == ' ';
	}
	len = (uint64_t)(h->end - h->p);
	err = hl_import_count_memory(h->im, 2 * (len + 1 + sizeof(size_t) + sizeof(uint32_t)));
	if (err)
		return err;
	if (hl_vec_reserve(&h->text, h->text.len + len + 1) < 0 ||
		hl_vec_push(&h->strings, h->text.len) < 0 || hl_vec_push(&h->modules, 0) < 0)
		return fail_no_memory(h);
	memcpy(h->text.data + h->text.len, h->p, len);
	h->text.data[h->text.len + len] = '\0';
	h->text.len += len + 1;
	return 0;
}

static int get_string(struct heaptrack *h, uint64_t number, const char **s)
{
	*s = NULL;
	if (number > h->strings.len)
		return fail_at(h, "string %" PRIx64 " does not exist: there are %zx so far", number,
			h->strings.len);
	if (number)
		*s = h->text.data + h->strings.data[number - 1];
	return 0;
}

static int get_module(struct heaptrack *h, uint64_t number, uint32_t *id)
{
	struct hl_module def = {0};
	int err = get_string(h, number, &def.path);

	*id = HL_MODULE_NONE;
	if (err || !number)
		return err;
	if (!h->modules.data[number - 1]) {
		err = hl_writer_add_module(h->im->writer, &def);
		if (err)
			return hl_import_write_failed(h->im, err);
		h->modules.data[number - 1] = ++h->n_modules;
	}
	*id = h->modules.data[number - 1] - 1;
	return 0;
}

/* Reads the frames of a location, innermost first: function, file and line. The last frame may have
 * no file and line. */
static int read_frames(struct heaptrack *h, struct hl_name_frame *names, size_t max, size_t *n)
{
	uint64_t function, file, line = 0;
	int err = 0;

	for (*n = 0; !err && next_hex(h, &function);) {
		struct hl_name_frame name = {0};

		err = get_string(h, function, &name.function);
		if (!err && next_hex(h, &file)) {
			err = get_string(h, file, &name.file);
			if (!err && !next_hex(h, &line))
				err = fail_number(h, "a line");
			name.line = !err && line <= UINT32_MAX ? (uint32_t)line : 0;
		}
		if (!err && *n < max)
			names[(*n)++] = name;
	}
	if (!err && h->p != h->end && !(h->end - h->p == 1 && *h->p == ' '))
		err = fail_number(h, "a string");
	return err;
}

static int read_location(struct heaptrack *h)
{
	struct hl_name_frame names[256];
	struct location location = {0};
	uint64_t address = 0, module = 0;
	size_t n = 0;
	int err = begin_trace(h);

	if (!err && (!next_hex(h, &address) || !next_hex(h, &module)))
		err = fail_number(h, "an address or its module");
	if (!err)
		err = get_module(h, module, &location.module);
	if (!err)
		err = read_frames(h, names, HL_ARRAY_LEN(names), &n);
	if (!err && n == 1 && !names[0].function && !names[0].file)
		n = 0;
	if (!err)
		err = hl_import_add_location(
			h->im, location.module, address, names, n, &location.offset);
	if (!err)
		err = hl_import_count_memory(h->im, 2 * sizeof(location));
	if (!err && hl_vec_push(&h->locations, location) < 0)
		err = fail_no_memory(h);
	return err;
}

/* Memory of a node, including that in the writer. */
#define NODE_BYTES (2 * (sizeof(uint32_t) + sizeof(struct hl_node_totals) + 1))

static int read_stack(struct heaptrack *h)
{
	uint64_t location, parent;
	uint32_t parent_node, node;
	int err = begin_trace(h);

	if (err)
		return err;
	if (!next_hex(h, &location) || !next_hex(h, &parent))
		return fail_number(h, "the instruction pointer or the caller of a stack");
	if (location > h->locations.len)
		return fail_at(h,
			"instruction pointer %" PRIx64 " does not exist: there are %zx so far",
			location, h->locations.len);
	if (parent > h->nodes.len)
		return fail_at(h,
			"stack %zx is called by stack %" PRIx64 ", which does not come before it",
			h->nodes.len + 1, parent);
	parent_node = parent ? h->nodes.data[parent - 1] : HL_NODE_NONE;
	node = parent_node; /* an unknown location adds no node */
	if (location) {
		const struct location *at = &h->locations.data[location - 1];
		struct hl_node def = {parent_node, at->module, at->offset};

		err = hl_writer_add_node(h->im->writer, &def);
		if (err)
			return hl_import_write_failed(h->im, err);
		node = h->n_nodes++;
	}
	err = hl_import_count_memory(h->im, NODE_BYTES);
	if (!err && hl_vec_push(&h->nodes, node) < 0)
		err = fail_no_memory(h);
	return err;
}

static int read_kind(struct heaptrack *h)
{
	struct kind kind = {.node = HL_NODE_NONE};
	uint64_t stack;
	uint32_t first;
	int err = begin_trace(h);

	if (err)
		return err;
	if (!next_hex(h, &kind.size) || !next_hex(h, &stack))
		return fail_number(h, "a size or its stack");
	if (stack > h->nodes.len)
		return fail_at(h, "stack %" PRIx64 " does not exist: there are %zx so far", stack,
			h->nodes.len);
	if (stack)
		kind.node = h->nodes.data[stack - 1];
	err = hl_import_count_memory(h->im, 2 * sizeof(kind) + 2 * sizeof(struct hl_pair_map_slot));
	first = hl_pair_map_get(&h->kind_ids, kind.size, stack);
	kind.first = first == HL_PAIR_MAP_NONE ? h->kinds.len : first;
	if (!err && h->kinds.len >= HL_PAIR_MAP_NONE)
		err = fail_no_memory(h);
	if (!err && first == HL_PAIR_MAP_NONE)
		err = hl_pair_map_put(&h->kind_ids, kind.size, stack, (uint32_t)h->kinds.len);
	if (!err && hl_vec_push(&h->kinds, kind) < 0)
		err = fail_no_memory(h);
	return err;
}

/* --- events --- */

static int add_run(struct heaptrack *h, struct kind *kind, uint64_t ordinal, uint32_t ms)
{
	struct run r = {.ordinal = ordinal, .count = 1, .ms = ms, .next = kind->newest};
	uint32_t slot = h->free_list;
	int err = 0;

	if (slot) {
		h->free_list = h->runs.data[slot].next;
		h->runs.data[slot] = r;
	} else {
		slot = (uint32_t)h->runs.len;
		err = hl_import_count_memory(h->im, 2 * sizeof(r));
		if (!err && (slot == UINT32_MAX || hl_vec_push(&h->runs, r) < 0))
			err = fail_no_memory(h);
	}
	kind->newest = slot;
	return err;
}

static int push_block(struct heaptrack *h, struct kind *kind, uint64_t ordinal, uint32_t ms)
{
	struct run *r = &h->runs.data[kind->newest];

	if (!kind->newest || r->ms != ms || r->count == UINT32_MAX ||
		ordinal - r->ordinal > UINT32_MAX)
		return add_run(h, kind, ordinal, ms);
	if (r->count == 1)
		r->stride = (uint32_t)(ordinal - r->ordinal);
	else if (ordinal != r->ordinal + (uint64_t)r->stride * r->count)
		return add_run(h, kind, ordinal, ms);
	r->count++;
	return 0;
}

static uint64_t newest_ordinal(const struct heaptrack *h, const struct kind *kind)
{
	const struct run *r = &h->runs.data[kind->newest];

	return r->ordinal + (uint64_t)r->stride * (r->count - 1);
}

/* Removes the newest block of a kind that has one. */
static void pop_block(struct heaptrack *h, struct kind *kind, uint64_t *ordinal, uint32_t *ms)
{
	uint32_t slot = kind->newest;
	struct run *r = &h->runs.data[slot];

	*ordinal = newest_ordinal(h, kind);
	*ms = r->ms;
	if (--r->count > 0)
		return;
	kind->newest = r->next;
	r->next = h->free_list;
	h->free_list = slot;
}

hl_inline int get_kind(struct heaptrack *h, struct kind **kind, size_t *kind_id)
{
	uint64_t number;

	if (hl_unlikely(!next_hex(h, &number)))
		return fail_number(h, "the number of a kind");
	if (hl_unlikely(number >= h->kinds.len))
		return fail_at(h, "kind %" PRIx64 " does not exist: there are %zx so far", number,
			h->kinds.len);
	if (hl_unlikely(h->p < h->end))
		return fail_at(h, "more than one number: this is a raw recording; convert it with "
				  "heaptrack --interpret");
	*kind_id = number;
	*kind = &h->kinds.data[h->kinds.data[number].first];
	return 0;
}

static int read_alloc(struct heaptrack *h)
{
	struct kind *kind = NULL;
	struct hl_event e;
	int err = get_kind(h, &kind, &h->last_alloc_kind);

	if (err)
		return err;
	if (kind->size > BYTES_MAX - h->bytes)
		return fail_at(h, "more bytes are allocated than possible");
	h->bytes += kind->size;
	err = push_block(h, kind, h->n_allocs, (uint32_t)h->ms);
	if (err)
		return err;
	e = (struct hl_event){.time_ns = h->ms * NS_PER_MS,
		.size = kind->size,
		.bytes = kind->size,
		.blocks = 1,
		.ordinal = h->n_allocs++,
		.node = kind->node,
		.free_node = HL_NODE_NONE,
		.op = HL_OP_ALLOC,
		.func = HL_FUNC_UNKNOWN};
	h->n_events++;
	err = hl_writer_add_event(h->im->writer, &e);
	return hl_unlikely(err) ? hl_import_write_failed(h->im, err) : 0;
}

/*
 * Chooses the block that is freed: the newest. If `other` (the previous event allocated a block of
 * another kind with the same size and stack) and the newest is that block, the free is not of a
 * temporary block: the next older block is freed instead, or the event is marked if there is none.
 */
static int choose_freed_block(
	struct heaptrack *h, struct kind *kind, bool other, struct hl_event *e, uint32_t *ms)
{
	bool is_other_block = other && newest_ordinal(h, kind) + 1 == h->n_allocs;
	uint64_t newest;
	uint32_t alloc_ms;

	pop_block(h, kind, &e->ordinal, ms);
	if (!is_other_block)
		return 0;
	if (!kind->newest) {
		e->flags |= HL_EVENT_SPLIT;
		return 0;
	}
	newest = e->ordinal;
	alloc_ms = *ms;
	pop_block(h, kind, &e->ordinal, ms);
	return push_block(h, kind, newest, alloc_ms);
}

static int read_free(struct heaptrack *h)
{
	size_t kind_id = 0, last_alloc_kind = h->last_alloc_kind;
	struct kind *kind = NULL;
	struct hl_event e;
	uint32_t ms = 0;
	int err = get_kind(h, &kind, &kind_id);

	h->last_alloc_kind = SIZE_MAX;
	if (err)
		return err;
	if (!kind->newest)
		return fail_at(h, "a block is freed that is not live");
	e = (struct hl_event){.time_ns = h->ms * NS_PER_MS,
		.size = kind->size,
		.bytes = kind->size,
		.blocks = 1,
		.node = kind->node,
		.free_node = HL_NODE_NONE,
		.op = HL_OP_FREE,
		.func = HL_FUNC_UNKNOWN};
	err = choose_freed_block(
		h, kind, last_alloc_kind != SIZE_MAX && last_alloc_kind != kind_id, &e, &ms);
	if (err)
		return err;
	e.alloc_ns = ms * NS_PER_MS;
	h->n_events++;
	err = hl_writer_add_event(h->im->writer, &e);
	return hl_unlikely(err) ? hl_import_write_failed(h->im, err) : 0;
}

static int read_stamp(struct heaptrack *h)
{
	uint64_t ms;

	if (!next_hex(h, &ms))
		return fail_number(h, "a time");
	h->ms = hl_max_u64(h->ms, hl_min_u64(ms, MS_MAX)); /* never back */
	return 0;
}

static int read_rss(struct heaptrack *h)
{
	struct hl_rss_sample s = {.time_ns = h->ms * NS_PER_MS};
	uint64_t pages;
	int err = begin_trace(h);

	if (err)
		return err;
	if (!next_hex(h, &pages) || pages > UINT64_MAX / h->page_size)
		return fail_number(h, "a number of pages");
	s.rss_bytes = pages * h->page_size;
	err = hl_writer_add_rss(h->im->writer, &s);
	return err ? hl_import_write_failed(h->im, err) : 0;
}

/* --- the file --- */

static int read_line(struct heaptrack *h)
{
	char type = h->p < h->end ? *h->p++ : '#';

	switch (type) {
	case '+':
		return read_alloc(h);
	case '-':
		return read_free(h);
	case 's':
		return read_string(h);
	case 'i':
		return read_location(h);
	case 't':
		return read_stack(h);
	case 'a':
		return read_kind(h);
	case 'c':
		return read_stamp(h);
	case 'R':
		return read_rss(h);
	case 'v':
		return read_version(h);
	case 'X':
		return read_command(h);
	case 'I':
		return read_system(h);
	case 'A':
		return read_attached(h);
	case '#':
	case 'S': /* suppressions of leaks, for heaptrack's own reports */
		return 0;
	case 'x':
	case 'm':
		return fail_at(h, "a raw recording without names; convert it with heaptrack "
				  "--interpret (heaptrack_interpret in lib/heaptrack/libexec)");
	default:
		return fail_at(h, "unknown kind of line");
	}
}

static int finish_trace(struct heaptrack *h)
{
	struct hl_end end = {.duration_ns = h->ms * NS_PER_MS};
	struct hl_counters none = {0};
	int err = begin_trace(h);

	if (err)
		return err;
	end.kind = h->im->in.truncated || h->im->result->truncated ? HL_END_LOST : HL_END_STOPPED;
	h->im->result->events = h->n_events;
	err = hl_writer_end(h->im->writer, &end, &none);
	return err ? hl_import_write_failed(h->im, err) : 0;
}

int hl_import_heaptrack(struct hl_import *im, const uint8_t *head, size_t n)
{
	struct heaptrack h = {.im = im,
		.buf = malloc(BUF_SIZE),
		.len = n,
		.page_size = 4096,
		.last_alloc_kind = SIZE_MAX};
	bool more = true;
	int err = 0;

	if (!h.buf || hl_vec_push(&h.runs, ((struct run){0})) < 0)
		err = fail_no_memory(&h);
	else
		memcpy(h.buf, head, n);
	while (!err && more) {
		err = next_line(&h, &more);
		if (!err && more)
			err = read_line(&h);
	}
	if (!err)
		err = finish_trace(&h);
	free(h.buf);
	hl_strbuf_fini(&h.command);
	hl_vec_free(&h.text);
	hl_vec_free(&h.strings);
	hl_vec_free(&h.modules);
	hl_vec_free(&h.locations);
	hl_vec_free(&h.nodes);
	hl_vec_free(&h.kinds);
	hl_pair_map_fini(&h.kind_ids);
	hl_vec_free(&h.runs);
	return err;
}
