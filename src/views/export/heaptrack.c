/*
 * heaptrack.c - heaptrack's own recordings, version 3 of its format: lines of hexadecimal numbers.
 *
 * Strings, addresses (i), stacks (t) and pairs of size and stack (a) are numbered as they come and
 * written before they are used. Its readers tell a temporary allocation by the number of such a
 * pair in two lines that follow each other. So the number 0, which they take for none, is never
 * used; and a block that is freed right behind the allocation of another one of its kind goes by a
 * second number for its kind.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "util/map.h"
#include "util/strings.h"
#include "util/text.h"
#include "util/vec.h"
#include "views/export/export_internal.h"

#define NS_PER_MS UINT64_C(1000000)
#define PAGE      4096
#define SECOND    (UINT64_C(1) << 32) /* in keys of kinds: its second number */

struct writer {
	struct hl_export_job *x;
	struct hl_lives lives;
	struct hl_strings strings;
	struct hl_map places; /* (module, offset) -> number of its i line */
	struct hl_map kinds;  /* (size, node) -> number of its a line */
	uint32_t *stacks;     /* number of each node's t line; 0: none yet. The last: no stack */
	uint32_t n_places, n_stacks, n_kinds;
	HL_VEC(uint32_t) path;
	uint32_t last; /* kind of the line before if that was an allocation */
	uint64_t ms;
	struct hl_rss_sample *rss;
	size_t n_rss, next_rss;
};

/* --- names --- */

/* The number of a string, from 1; 0 for none. */
static int string_of(struct writer *w, const char *s, uint32_t *id)
{
	size_t known = w->strings.len;
	struct hl_strbuf safe = {0};
	int err;

	*id = 0;
	if (!s || !s[0])
		return 0;
	hl_text_escape(&safe, s);
	err = hl_strbuf_error(&safe);
	if (!err)
		err = hl_strings_add(&w->strings, hl_strbuf_str(&safe), id);
	if (!err && w->strings.len > known)
		fprintf(w->x->out, "s %zx %s\n", safe.len, hl_strbuf_str(&safe));
	hl_strbuf_fini(&safe);
	*id += 1;
	return err;
}

struct names {
	uint32_t function, file, line;
};

/* What has no name is called by its place in the file: heaptrack would show an address, which is
 * that of no run. */
static int names_of(struct writer *w, const struct hl_frame *f, struct names *n)
{
	int err;

	*n = (struct names){.line = f->line};
	err = string_of(w, f->function, &n->function);
	return err ? err : string_of(w, f->file, &n->file);
}

/* One address with all that was inlined there, innermost first. */
static int put_place(struct writer *w, uint32_t node, uint64_t address)
{
	const struct hl_frame_ref *refs;
	HL_VEC(struct names) names = {0};
	uint32_t module = 0;
	size_t n = 0;
	int err = hl_model_node_frames(w->x->m, node, &refs, &n);

	if (!err && n > 0)
		err = string_of(w, hl_model_frame(w->x->m, refs[0].frame)->module, &module);
	for (size_t i = n; i-- > 0 && !err;) {
		struct names one;

		err = names_of(w, hl_model_frame(w->x->m, refs[i].frame), &one);
		if (!err)
			err = hl_vec_push(&names, one);
	}
	if (!err) {
		fprintf(w->x->out, "i %" PRIx64 " %" PRIx32, address, module);
		for (size_t i = 0; i < names.len && names.data[0].function; i++)
			fprintf(w->x->out, " %" PRIx32 " %" PRIx32 " %" PRIx32,
				names.data[i].function, names.data[i].file, names.data[i].line);
		fputs("\n", w->x->out);
		w->n_places++;
	}
	hl_vec_free(&names);
	return err;
}

static int place_of(struct writer *w, uint32_t node, uint32_t *place)
{
	uint64_t key = UINT64_MAX, address = 0;
	struct hl_node def = {0};
	int err = 0;

	if (node != HL_NODE_NONE && hl_reader_node(hl_model_reader(w->x->m), node, &def) == 0) {
		key = def.module;
		address = hl_export_address(w->x->m, node);
	} else {
		def.offset = node; /* lost, or none at all: each for itself */
	}
	*place = hl_map_get(&w->places, key, def.offset);
	if (*place != HL_MAP_NONE)
		return 0;
	err = put_place(w, node, address);
	*place = w->n_places;
	return err ? err : hl_map_put(&w->places, key, def.offset, *place);
}

/* --- stacks --- */

static uint32_t *stack_at(struct writer *w, uint32_t node)
{
	return &w->stacks[node == HL_NODE_NONE ? hl_model_n_nodes(w->x->m) : node];
}

/* Callers come first; a stack may be a million frames deep. */
static int put_stack(struct writer *w, uint32_t node)
{
	uint32_t parent = 0, at = node;
	int err = 0;

	w->path.len = 0;
	do {
		err = hl_vec_push(&w->path, at);
		at = at == HL_NODE_NONE ? HL_NODE_NONE : hl_model_parent(w->x->m, at);
	} while (!err && at != HL_NODE_NONE && !*stack_at(w, at));
	if (at != HL_NODE_NONE)
		parent = *stack_at(w, at);
	while (w->path.len > 0 && !err) {
		uint32_t place;

		at = w->path.data[--w->path.len];
		err = place_of(w, at, &place);
		if (err)
			break;
		fprintf(w->x->out, "t %" PRIx32 " %" PRIx32 "\n", place, parent);
		parent = *stack_at(w, at) = ++w->n_stacks;
	}
	return err;
}

/* which: 0, or SECOND. */
static int kind_of(struct writer *w, const struct hl_event *e, uint64_t which, uint32_t *kind)
{
	int err = 0;

	*kind = hl_map_get(&w->kinds, e->size, e->node | which);
	if (*kind != HL_MAP_NONE)
		return 0;
	if (!*stack_at(w, e->node))
		err = put_stack(w, e->node);
	if (err)
		return err;
	fprintf(w->x->out, "a %" PRIx64 " %" PRIx32 "\n", e->size, *stack_at(w, e->node));
	*kind = ++w->n_kinds;
	return hl_map_put(&w->kinds, e->size, e->node | which, *kind);
}

/* --- events --- */

static void put_ms(struct writer *w, uint64_t ms)
{
	if (ms <= w->ms)
		return;
	w->ms = ms;
	fprintf(w->x->out, "c %" PRIx64 "\n", ms);
}

static void put_time(struct writer *w, uint64_t ns)
{
	while (w->next_rss < w->n_rss && w->rss[w->next_rss].time_ns <= ns) {
		const struct hl_rss_sample *s = &w->rss[w->next_rss++];

		put_ms(w, s->time_ns / NS_PER_MS);
		fprintf(w->x->out, "R %" PRIx64 "\n", s->rss_bytes / PAGE);
	}
	put_ms(w, ns / NS_PER_MS);
}

static int put_event(void *arg, const struct hl_event *e)
{
	struct writer *w = arg;
	bool alloc = e->op == HL_OP_ALLOC;
	struct hl_line line;
	uint32_t kind;
	int err = kind_of(w, e, 0, &kind);

	if (!err && !alloc && kind == w->last &&
		(w->lives.previous != e->ordinal || e->flags & HL_EVENT_PARTED))
		err = kind_of(w, e, SECOND, &kind);
	if (err)
		return err;
	if (e->time_ns / NS_PER_MS > w->ms ||
		(w->next_rss < w->n_rss && w->rss[w->next_rss].time_ns <= e->time_ns))
		put_time(w, e->time_ns);
	line.len = 0;
	hl_line_put(&line, alloc ? "+ " : "- ", 2);
	hl_line_hex(&line, kind);
	hl_line_put(&line, "\n", 1);
	hl_line_write(&line, w->x->out);
	w->last = alloc ? kind : 0;
	return ferror_unlocked(w->x->out) ? -EIO : 0;
}

static void put_head(struct writer *w)
{
	struct hl_strbuf command = {0};

	hl_export_command(&command, &hl_model_info(w->x->m)->meta);
	/* The first a line is number 0, which is never used. */
	fprintf(w->x->out, "v 10400 3\nX %s\nI %x 0\na 0 0\n", hl_strbuf_str(&command), PAGE);
	hl_strbuf_fini(&command);
}

int hl_export_heaptrack(struct hl_export_job *x)
{
	struct writer w = {.x = x};
	int err;

	w.lives = (struct hl_lives){
		.want = HL_WANT_TIME | HL_WANT_OTHERS, .event = put_event, .arg = &w};
	w.stacks = calloc((size_t)hl_model_n_nodes(x->m) + 1, sizeof(*w.stacks));
	err = w.stacks ? hl_reader_rss(hl_model_reader(x->m), &w.rss, &w.n_rss) : -ENOMEM;
	if (!err) {
		put_head(&w);
		err = hl_export_lives(x, &w.lives);
	}
	if (!err)
		put_time(&w, w.lives.end_ns);
	hl_strings_fini(&w.strings);
	hl_map_fini(&w.places);
	hl_map_fini(&w.kinds);
	hl_vec_free(&w.path);
	free(w.stacks);
	free(w.rss);
	return err;
}
