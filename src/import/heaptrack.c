/*
 * heaptrack.c - heaptrack's interpreted recordings, file formats 1 to 3.
 *
 * Lines of hexadecimal numbers: strings (s), places in the code (i), stacks (t) and kinds of blocks
 * (a: size and stack) are numbered as they come; + and - name a kind. Which block of its kind a
 * free ends they do not say: it is taken to be the newest, so that one right after an allocation of
 * its kind is temporary, as heaptrack counts it. Only live blocks and the tables are kept.
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
#define MS_MAX         UINT32_MAX /* 49 days; what is later has that time */
#define NEWEST_FORMAT  3
#define BYTES_MAX      (UINT64_C(1) << 63) /* of all allocations */

struct place {
	uint32_t module;
	uint64_t offset;
};

struct kind {
	uint64_t size;
	uint32_t node;
	uint32_t newest; /* number of the run with its newest live block; 0: none */
	size_t first;    /* the first kind with this size and stack: it has the blocks of all */
};

/*
 * Live blocks of one kind, born in one millisecond at equal distances: a program that does the same
 * again and again leaves a small file, and shall need little memory here. Of a free slot `next` is
 * the next such.
 */
struct run {
	uint64_t ordinal; /* of the first */
	uint32_t stride, count;
	uint32_t ms, next; /* next: the run before it, of the same kind */
};

struct heaptrack {
	struct hl_import *im;
	char *buf; /* lines; at..len are not read yet */
	size_t at, len;
	uint64_t line;       /* number of the one that is being read, from 1 */
	const char *p, *end; /* what of it is left */

	uint64_t version, format, page_size;
	bool attached;
	struct hl_strbuf command;

	HL_VEC(char) text;
	HL_VEC(size_t) strings;   /* places in text */
	HL_VEC(uint32_t) modules; /* by string: id + 1; 0: is none yet */
	uint32_t n_modules, n_nodes;
	HL_VEC(struct place) places;
	HL_VEC(uint32_t) nodes; /* by stack */
	HL_VEC(struct kind) kinds;
	struct hl_map kind_ids;  /* the first by size and stack */
	size_t last;             /* kind of the event before this one, if it was an allocation */
	HL_VEC(struct run) runs; /* the first is nobody's */
	uint32_t unused;         /* the first free slot of these */
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

/* The next number of the line, behind one space or at its start; false: there is none. */
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

static int no_number(struct heaptrack *h, const char *what)
{
	return fail_at(h, "%s is no hexadecimal number, or is missing", what);
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
	err = hl_input_read(&h->im->in, h->buf + h->len, BUF_SIZE - h->len, &got);
	if (err)
		return hl_import_input_failed(h->im, err);
	hl_import_tick(h->im);
	*end = got == 0;
	h->len += got;
	return 0;
}

/* The next line into p..end; *more false: there is none. One without an end is not whole. */
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
			h->im->in.cut = true; /* damaged from here on: what is before stays */
			end = true;
		} else if (err) {
			return err;
		}
		if (end) {
			h->im->result->cut |= h->len > h->at;
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

/* --- the head --- */

static int read_version(struct heaptrack *h)
{
	if (h->version)
		return fail_at(h, "a second version");
	if (!next_hex(h, &h->version))
		return no_number(h, "the version");
	if (!next_hex(h, &h->format))
		h->format = 0;
	if (h->format == 0)
		return fail_at(h, "file format 0, of heaptrack before 1.0, is not known here");
	if (h->format > NEWEST_FORMAT)
		return fail_at(h, "file format %" PRIu64 " is newer than %d, the newest known here",
			h->format, NEWEST_FORMAT);
	snprintf(h->im->result->source, sizeof(h->im->result->source),
		"heaptrack %" PRIu64 ".%" PRIu64 ".%" PRIu64 ", file format %" PRIu64,
		h->version >> 16 & 0xffff, h->version >> 8 & 0xff, h->version & 0xff, h->format);
	return 0;
}

/* META is written when the first line comes that it can wait for no longer. */
static int begin(struct heaptrack *h)
{
	struct hl_meta meta = {.arch = "",
		.clock = "stamps of heaptrack",
		.mode = "imported",
		.allocator = "",
		.start_off = h->attached,
		.source = h->im->result->source,
		.unknown = HL_UNKNOWN_ADDRESSES | HL_UNKNOWN_THREADS | HL_UNKNOWN_CALLS |
			   HL_UNKNOWN_TIMES | HL_UNKNOWN_LIVES};
	char *text;

	if (h->im->writer)
		return 0;
	hl_strbuf_putc(&h->command, '\0');
	if (hl_strbuf_error(&h->command))
		return hl_import_fail(h->im, -ENOMEM, "out of memory");
	text = h->command.data;
	meta.command = text;
	meta.command_len = h->command.len > 1 ? (uint32_t)hl_min_u64(h->command.len, 1u << 18) : 0;
	for (size_t i = 0; i + 1 < h->command.len; i++) /* where a word ends it does not say */
		text[i] = text[i] == ' ' ? '\0' : text[i];
	meta.program = text;
	return hl_import_begin(h->im, &meta);
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
		return no_number(h, "a size of the system");
	if (h->page_size == 0 || h->page_size > 1u << 30)
		return fail_at(h, "no size of pages");
	return 0;
}

/* It came late to its program. */
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

static int no_memory(struct heaptrack *h)
{
	return hl_import_fail(h->im, -ENOMEM, "out of memory");
}

static int read_string(struct heaptrack *h)
{
	uint64_t len;
	int err;

	if (h->format >= 3) {
		if (!next_hex(h, &len))
			return no_number(h, "the length of a string");
		h->p += h->p < h->end;
		if (len > (uint64_t)(h->end - h->p))
			return fail_at(h, "a string of %" PRIu64 " bytes, of which %td are there",
				len, h->end - h->p);
		h->end = h->p + len;
	} else {
		h->p += h->p < h->end && *h->p == ' ';
	}
	len = (uint64_t)(h->end - h->p);
	err = hl_import_take(h->im, 2 * (len + 1 + sizeof(size_t) + sizeof(uint32_t)));
	if (err)
		return err;
	if (hl_vec_reserve(&h->text, h->text.len + len + 1) < 0 ||
		hl_vec_push(&h->strings, h->text.len) < 0 || hl_vec_push(&h->modules, 0) < 0)
		return no_memory(h);
	memcpy(h->text.data + h->text.len, h->p, len);
	h->text.data[h->text.len + len] = '\0';
	h->text.len += len + 1;
	return 0;
}

static int string_at(struct heaptrack *h, uint64_t number, const char **s)
{
	*s = NULL;
	if (number > h->strings.len)
		return fail_at(h, "string %" PRIx64 " is not there: there are %zx so far", number,
			h->strings.len);
	if (number)
		*s = h->text.data + h->strings.data[number - 1];
	return 0;
}

static int module_at(struct heaptrack *h, uint64_t number, uint32_t *id)
{
	struct hl_module def = {0};
	int err = string_at(h, number, &def.path);

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

/* The frames of a place, innermost first: function, file and line, of which the last may lack. */
static int read_frames(struct heaptrack *h, struct hl_name_frame *names, size_t max, size_t *n)
{
	uint64_t function, file, line = 0;
	int err = 0;

	for (*n = 0; !err && next_hex(h, &function);) {
		struct hl_name_frame name = {0};

		err = string_at(h, function, &name.function);
		if (!err && next_hex(h, &file)) {
			err = string_at(h, file, &name.file);
			if (!err && !next_hex(h, &line))
				err = no_number(h, "a line");
			name.line = !err && line <= UINT32_MAX ? (uint32_t)line : 0;
		}
		if (!err && *n < max)
			names[(*n)++] = name;
	}
	if (!err && h->p != h->end && !(h->end - h->p == 1 && *h->p == ' '))
		err = no_number(h, "a string");
	return err;
}

static int read_place(struct heaptrack *h)
{
	struct hl_name_frame names[256];
	struct place place = {0};
	uint64_t address = 0, module = 0;
	size_t n = 0;
	int err = begin(h);

	if (!err && (!next_hex(h, &address) || !next_hex(h, &module)))
		err = no_number(h, "an address or its module");
	if (!err)
		err = module_at(h, module, &place.module);
	if (!err)
		err = read_frames(h, names, HL_ARRAY_LEN(names), &n);
	if (!err && n == 1 && !names[0].function && !names[0].file)
		n = 0;
	if (!err)
		err = hl_import_place(h->im, place.module, address, names, n, &place.offset);
	if (!err)
		err = hl_import_take(h->im, 2 * sizeof(place));
	if (!err && hl_vec_push(&h->places, place) < 0)
		err = no_memory(h);
	return err;
}

/* What a node costs the writer, too. */
#define NODE_BYTES (2 * (sizeof(uint32_t) + sizeof(struct hl_node_totals) + 1))

static int read_stack(struct heaptrack *h)
{
	uint64_t place, parent;
	uint32_t above, node;
	int err = begin(h);

	if (err)
		return err;
	if (!next_hex(h, &place) || !next_hex(h, &parent))
		return no_number(h, "the place or the caller of a stack");
	if (place > h->places.len)
		return fail_at(h, "place %" PRIx64 " is not there: there are %zx so far", place,
			h->places.len);
	if (parent > h->nodes.len)
		return fail_at(h,
			"stack %zx is called by stack %" PRIx64 ", which does not come before it",
			h->nodes.len + 1, parent);
	above = parent ? h->nodes.data[parent - 1] : HL_NODE_NONE;
	node = above; /* a place that nothing is known of */
	if (place) {
		const struct place *at = &h->places.data[place - 1];
		struct hl_node def = {above, at->module, at->offset};

		err = hl_writer_add_node(h->im->writer, &def);
		if (err)
			return hl_import_write_failed(h->im, err);
		node = h->n_nodes++;
	}
	err = hl_import_take(h->im, NODE_BYTES);
	if (!err && hl_vec_push(&h->nodes, node) < 0)
		err = no_memory(h);
	return err;
}

static int read_kind(struct heaptrack *h)
{
	struct kind kind = {.node = HL_NODE_NONE};
	uint64_t stack;
	uint32_t first;
	int err = begin(h);

	if (err)
		return err;
	if (!next_hex(h, &kind.size) || !next_hex(h, &stack))
		return no_number(h, "a size or its stack");
	if (stack > h->nodes.len)
		return fail_at(h, "stack %" PRIx64 " is not there: there are %zx so far", stack,
			h->nodes.len);
	if (stack)
		kind.node = h->nodes.data[stack - 1];
	err = hl_import_take(h->im, 2 * sizeof(kind) + 2 * sizeof(struct hl_map_slot));
	first = hl_map_get(&h->kind_ids, kind.size, stack);
	kind.first = first == HL_MAP_NONE ? h->kinds.len : first;
	if (!err && h->kinds.len >= HL_MAP_NONE)
		err = no_memory(h);
	if (!err && first == HL_MAP_NONE)
		err = hl_map_put(&h->kind_ids, kind.size, stack, (uint32_t)h->kinds.len);
	if (!err && hl_vec_push(&h->kinds, kind) < 0)
		err = no_memory(h);
	return err;
}

/* --- events --- */

static int new_run(struct heaptrack *h, struct kind *kind, uint64_t ordinal, uint32_t ms)
{
	struct run r = {.ordinal = ordinal, .count = 1, .ms = ms, .next = kind->newest};
	uint32_t slot = h->unused;
	int err = 0;

	if (slot) {
		h->unused = h->runs.data[slot].next;
		h->runs.data[slot] = r;
	} else {
		slot = (uint32_t)h->runs.len;
		err = hl_import_take(h->im, 2 * sizeof(r));
		if (!err && (slot == UINT32_MAX || hl_vec_push(&h->runs, r) < 0))
			err = no_memory(h);
	}
	kind->newest = slot;
	return err;
}

static int push_block(struct heaptrack *h, struct kind *kind, uint64_t ordinal, uint32_t ms)
{
	struct run *r = &h->runs.data[kind->newest];

	if (!kind->newest || r->ms != ms || r->count == UINT32_MAX ||
		ordinal - r->ordinal > UINT32_MAX)
		return new_run(h, kind, ordinal, ms);
	if (r->count == 1)
		r->stride = (uint32_t)(ordinal - r->ordinal);
	else if (ordinal != r->ordinal + (uint64_t)r->stride * r->count)
		return new_run(h, kind, ordinal, ms);
	r->count++;
	return 0;
}

static uint64_t newest_of(const struct heaptrack *h, const struct kind *kind)
{
	const struct run *r = &h->runs.data[kind->newest];

	return r->ordinal + (uint64_t)r->stride * (r->count - 1);
}

/* There is one. */
static void pop_block(struct heaptrack *h, struct kind *kind, uint64_t *ordinal, uint32_t *ms)
{
	uint32_t slot = kind->newest;
	struct run *r = &h->runs.data[slot];

	*ordinal = newest_of(h, kind);
	*ms = r->ms;
	if (--r->count > 0)
		return;
	kind->newest = r->next;
	r->next = h->unused;
	h->unused = slot;
}

hl_inline int kind_at(struct heaptrack *h, struct kind **kind, size_t *said)
{
	uint64_t number;

	if (hl_unlikely(!next_hex(h, &number)))
		return no_number(h, "the number of a kind");
	if (hl_unlikely(number >= h->kinds.len))
		return fail_at(h, "kind %" PRIx64 " is not there: there are %zx so far", number,
			h->kinds.len);
	if (hl_unlikely(h->p < h->end))
		return fail_at(h,
			"more than one number: a raw recording, which heaptrack --interpret makes "
			"whole");
	*said = number;
	*kind = &h->kinds.data[h->kinds.data[number].first];
	return 0;
}

static int read_alloc(struct heaptrack *h)
{
	struct kind *kind = NULL;
	struct hl_event e;
	int err = kind_at(h, &kind, &h->last);

	if (err)
		return err;
	if (kind->size > BYTES_MAX - h->bytes)
		return fail_at(h, "more bytes are allocated than there can be");
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
 * The block that goes: the newest, but if that was allocated just now as of another kind, it is
 * none that came and went at once, and another one goes, if there is one.
 */
static int take_block(
	struct heaptrack *h, struct kind *kind, bool other, struct hl_event *e, uint32_t *ms)
{
	bool parted = other && newest_of(h, kind) + 1 == h->n_allocs;
	uint64_t newest;
	uint32_t born;

	pop_block(h, kind, &e->ordinal, ms);
	if (!parted)
		return 0;
	if (!kind->newest) {
		e->flags |= HL_EVENT_PARTED;
		return 0;
	}
	newest = e->ordinal;
	born = *ms;
	pop_block(h, kind, &e->ordinal, ms);
	return push_block(h, kind, newest, born);
}

static int read_free(struct heaptrack *h)
{
	size_t said = 0, last = h->last;
	struct kind *kind = NULL;
	struct hl_event e;
	uint32_t ms = 0;
	int err = kind_at(h, &kind, &said);

	h->last = SIZE_MAX;
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
	err = take_block(h, kind, last != SIZE_MAX && last != said, &e, &ms);
	if (err)
		return err;
	e.birth_ns = ms * NS_PER_MS;
	h->n_events++;
	err = hl_writer_add_event(h->im->writer, &e);
	return hl_unlikely(err) ? hl_import_write_failed(h->im, err) : 0;
}

static int read_stamp(struct heaptrack *h)
{
	uint64_t ms;

	if (!next_hex(h, &ms))
		return no_number(h, "a time");
	h->ms = hl_max_u64(h->ms, hl_min_u64(ms, MS_MAX)); /* as heaptrack: never back */
	return 0;
}

static int read_rss(struct heaptrack *h)
{
	struct hl_rss_sample s = {.time_ns = h->ms * NS_PER_MS};
	uint64_t pages;
	int err = begin(h);

	if (err)
		return err;
	if (!next_hex(h, &pages) || pages > UINT64_MAX / h->page_size)
		return no_number(h, "a number of pages");
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
		return read_place(h);
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
	case 'S': /* which leaks not to speak of: for its own reports */
		return 0;
	case 'x':
	case 'm':
		return fail_at(h,
			"a raw recording, without names; make it whole with heaptrack --interpret "
			"(heaptrack_interpret in lib/heaptrack/libexec)");
	default:
		return fail_at(h, "no line of heaptrack's begins like this");
	}
}

static int finish(struct heaptrack *h)
{
	struct hl_end end = {.duration_ns = h->ms * NS_PER_MS};
	struct hl_counters none = {0};
	int err = begin(h);

	if (err)
		return err;
	end.kind = h->im->in.cut || h->im->result->cut ? HL_END_LOST : HL_END_STOPPED;
	h->im->result->events = h->n_events;
	err = hl_writer_end(h->im->writer, &end, &none);
	return err ? hl_import_write_failed(h->im, err) : 0;
}

int hl_import_heaptrack(struct hl_import *im, const uint8_t *head, size_t n)
{
	struct heaptrack h = {
		.im = im, .buf = malloc(BUF_SIZE), .len = n, .page_size = 4096, .last = SIZE_MAX};
	bool more = true;
	int err = 0;

	if (!h.buf || hl_vec_push(&h.runs, ((struct run){0})) < 0)
		err = no_memory(&h);
	else
		memcpy(h.buf, head, n);
	while (!err && more) {
		err = next_line(&h, &more);
		if (!err && more)
			err = read_line(&h);
	}
	if (!err)
		err = finish(&h);
	free(h.buf);
	hl_strbuf_fini(&h.command);
	hl_vec_free(&h.text);
	hl_vec_free(&h.strings);
	hl_vec_free(&h.modules);
	hl_vec_free(&h.places);
	hl_vec_free(&h.nodes);
	hl_vec_free(&h.kinds);
	hl_map_fini(&h.kind_ids);
	hl_vec_free(&h.runs);
	return err;
}
