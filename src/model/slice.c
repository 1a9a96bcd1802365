/*
 * slice.c - cuts a trace; see slice.h.
 *
 * Two readings. The first (stream.h) finds which blocks are kept, with the words that all questions
 * use for ranges and filters; the second copies their events. Stacks, and the modules they lie in,
 * are written when the first event needs them, so that nothing of what was cut is left behind.
 */
#include "model/slice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "model/carried.h"
#include "model/disguise.h"
#include "model/kept.h"
#include "model/life.h"
#include "model/model_internal.h"
#include "model/query.h"
#include "model/stream.h"
#include "trace/writer.h"
#include "util/text.h"

struct cutting {
	struct hl_model *m;
	const struct hl_slice *s;
	struct hl_slice_done *done;
	struct hl_cut_note cut;
	struct hl_place from, to;
	struct hl_kept kept;
	struct hl_disguise *disguise; /* NULL: names are kept */
	struct hl_writer *w;
	int write_err;
	uint32_t *nodes, *modules; /* new numbers + 1; 0: not written yet */
	uint64_t last_alloc; /* ordinal of the last event if it is an allocation, plus 1; else 0 */
	uint32_t n_threads, n_new_nodes, n_new_modules;
	HL_VEC(uint32_t) path;
	struct hl_map named; /* places whose names are written */
};

static void add_part(struct hl_strbuf *out, const char *fmt, ...) hl_printf(2, 3);
static void add_part(struct hl_strbuf *out, const char *fmt, ...)
{
	va_list ap;

	if (out->len)
		hl_strbuf_puts(out, "; ");
	va_start(ap, fmt);
	hl_strbuf_vprintf(out, fmt, ap);
	va_end(ap);
}

void hl_cut_describe(const struct hl_cut_note *cut, struct hl_strbuf *out)
{
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX];

	if (cut->flags & HL_CUT_RANGE)
		add_part(out, "from %s to %s of the run", hl_text_duration(a, cut->from_ns),
			cut->to_ns == UINT64_MAX ? "the end" : hl_text_duration(b, cut->to_ns));
	if (cut->flags & HL_CUT_LIFE)
		add_part(out, "only blocks that lived at least %s",
			hl_text_duration(a, cut->min_life_ns));
	if (cut->flags & HL_CUT_FILTER && cut->filter && cut->filter[0])
		add_part(out, "only blocks that fit %s", cut->filter);
	else if (cut->flags & HL_CUT_FILTER)
		add_part(out, "only blocks that fit a filter");
	if (cut->flags & HL_CUT_ALL)
		add_part(out, "names, program, texts and addresses are made up");
	else if (cut->flags & HL_CUT_NAMES)
		add_part(out, "names of functions, files and modules are made up");
}

/* --- which blocks --- */

static void forget(void *arg)
{
	struct cutting *c = arg;

	hl_kept_fini(&c->kept);
}

static int keep(void *arg, const struct hl_block *b)
{
	struct cutting *c = arg;

	if (b->born == HL_PHASE_IN || (b->born == HL_PHASE_BEFORE && b->died != HL_PHASE_BEFORE))
		return hl_kept_add(&c->kept, b->ordinal);
	return 0;
}

static int choose(struct cutting *c)
{
	struct hl_stream stream = {.filter = c->s->filter,
		.from = hl_query_from(c->m, &c->s->from),
		.to = hl_query_to(c->m, &c->s->to),
		.older = true,
		.func = true, /* all births must be read: they are written again */
		.begin = forget,
		.block = keep,
		.arg = c};
	int err = hl_stream_blocks(c->m, &stream);

	c->from = stream.from;
	c->to = stream.to;
	hl_kept_count(&c->kept);
	return err;
}

/* --- tables --- */

/* Errors of the writer are told apart from those of the reader. */
static int wrote(struct cutting *c, int err)
{
	c->write_err = err;
	return err;
}

static int add_module(struct cutting *c, uint32_t module, uint32_t *number)
{
	struct hl_module def = {.path = "[lost]"};
	int err = 0;

	if (c->modules[module] == 0) {
		err = hl_reader_module(c->m->reader, module, &def);
		if (err == -EBADMSG)
			err = 0;
		if (!err && c->disguise)
			err = hl_disguise_module(c->disguise, &def);
		if (err)
			return err;
		err = wrote(c, hl_writer_add_module(c->w, &def));
		c->modules[module] = ++c->n_new_modules;
	}
	*number = c->modules[module] - 1;
	return err;
}

/* Names that the trace has itself go with the places that they are of; `module` is the old number.
 */
static int carry_names(struct cutting *c, uint32_t module, const struct hl_node *node)
{
	struct hl_named_site site = {.module = node->module, .offset = node->offset};
	uint64_t key = (uint32_t)(module + 1);
	int err = hl_reader_names(c->m->reader, module, node->offset, &site.frames, &site.n_frames);

	if (err || site.n_frames == 0 || hl_map_get(&c->named, key, node->offset) != HL_MAP_NONE)
		return err;
	err = hl_map_put(&c->named, key, node->offset, 0);
	return err ? err : wrote(c, hl_writer_add_names(c->w, &site));
}

/* Its parent, if it has one, is written. */
static int add_node(struct cutting *c, uint32_t id, struct hl_node *node)
{
	uint32_t module = node->module;
	int err = 0;

	node->parent = node->parent == HL_NODE_NONE ? HL_NODE_NONE : c->nodes[node->parent] - 1;
	if (module != HL_MODULE_NONE && module >= c->m->n_modules)
		node->module = HL_MODULE_NONE;
	else if (module != HL_MODULE_NONE)
		err = add_module(c, module, &node->module);
	if (!err && c->disguise)
		err = hl_disguise_node(c->disguise, c->w, id, node);
	else if (!err)
		err = carry_names(c, module, node);
	if (!err)
		err = wrote(c, hl_writer_add_node(c->w, node));
	c->nodes[id] = ++c->n_new_nodes;
	return err;
}

/* The new number of a stack, with all that it stands on. What the file has lost is no stack. */
static int map_node(struct cutting *c, uint32_t id, uint32_t *number)
{
	struct hl_node node;
	int err = 0;

	*number = HL_NODE_NONE;
	if (id == HL_NODE_NONE || id >= c->m->n_nodes)
		return 0;
	c->path.len = 0;
	for (uint32_t at = id; at != HL_NODE_NONE && c->nodes[at] == 0; at = node.parent) {
		err = hl_reader_node(c->m->reader, at, &node);
		if (err == -EBADMSG) /* an outermost one, of which nothing is known */
			node = (struct hl_node){HL_NODE_NONE, HL_MODULE_NONE, HL_OFFSET_CUT};
		else if (err)
			return err;
		err = hl_vec_push(&c->path, at);
		if (err)
			return err;
	}
	while (c->path.len > 0 && !err) {
		uint32_t at = c->path.data[--c->path.len];

		if (hl_reader_node(c->m->reader, at, &node) < 0)
			node = (struct hl_node){HL_NODE_NONE, HL_MODULE_NONE, HL_OFFSET_CUT};
		err = add_node(c, at, &node);
	}
	*number = c->nodes[id] - 1;
	return err;
}

static int add_threads(struct cutting *c)
{
	int err = hl_reader_n_threads(c->m->reader, &c->n_threads);

	for (uint32_t i = 0; i < c->n_threads && !err; i++) {
		uint64_t tid = 0;

		if (hl_reader_thread(c->m->reader, i, &tid) < 0)
			tid = 0; /* its definition is lost */
		if (c->s->anonymity == HL_ALL_MADE_UP)
			tid = (uint64_t)i + 1;
		err = wrote(c, hl_writer_add_thread(c->w, tid));
	}
	return err;
}

/* --- events --- */

/* How many events of the chunk come before a place. */
static size_t before(
	struct cutting *c, const struct hl_place *p, size_t chunk, const struct hl_chunk_events *e)
{
	if (chunk != p->chunk)
		return chunk < p->chunk ? e->n_events : 0;
	return hl_place_split(c->m, p, e);
}

static bool is_kept(const struct cutting *c, const struct hl_chunk_events *e, size_t i, size_t to)
{
	return i < to && hl_kept_has(&c->kept, e->events[i].ordinal);
}

/* Are both halves of the realloc that this event is one of in the slice? */
static bool is_pair(const struct cutting *c, const struct hl_chunk_events *e, size_t i, size_t to)
{
	size_t other = e->events[i].op == HL_OP_FREE ? i + 1 : i - 1;

	return (e->events[i].flags & HL_EVENT_MOVED) && other < e->n_events &&
	       (e->events[other].flags & HL_EVENT_MOVED) && is_kept(c, e, other, to);
}

static void count(struct cutting *c, const struct hl_event *e, bool older)
{
	if (e->op != HL_OP_ALLOC)
		return;
	c->done->blocks++;
	c->done->bytes += e->size;
	if (older || e->time_ns < c->cut.from_ns) {
		c->done->left_out.older_blocks++;
		c->done->left_out.older_bytes += e->size;
	}
}

/* The ordinal, plus 1, of the allocation that is the event just before this one in the run; 0: it
 * is none. */
static uint64_t alloc_before(
	const struct cutting *c, size_t chunk, const struct hl_chunk_events *e, size_t i)
{
	if (i > 0)
		return e->events[i - 1].op == HL_OP_ALLOC ? e->events[i - 1].ordinal + 1 : 0;
	return e->follows_alloc ? hl_reader_chunk(c->m->reader, chunk)->first_ordinal : 0;
}

/* What was between an allocation and a free is gone: they must not look as if it had never been. */
static void note_apart(struct cutting *c, struct hl_event *e, uint64_t before_it)
{
	if (e->op == HL_OP_FREE && c->last_alloc == e->ordinal + 1 && before_it != e->ordinal + 1)
		e->flags |= HL_EVENT_APART;
	c->last_alloc = e->op == HL_OP_ALLOC ? e->ordinal + 1 : 0;
}

static int copy_event(
	struct cutting *c, const struct hl_event *from, bool pair, bool older, uint64_t before_it)
{
	struct hl_event e = *from;
	int err = map_node(c, from->node, &e.node);

	if (!err && e.op == HL_OP_FREE)
		err = map_node(c, from->free_node, &e.free_node);
	if (err)
		return err;
	note_apart(c, &e, before_it);
	e.ordinal = hl_kept_rank(&c->kept, from->ordinal);
	if (!pair)
		e.flags &= (uint8_t)~HL_EVENT_MOVED;
	/* Of a block from an earlier chunk only the class of its life is known: any of it will do.
	 */
	if (e.op == HL_OP_FREE && e.birth_ns == UINT64_MAX)
		e.birth_ns = e.time_ns - hl_min_u64(e.time_ns, hl_life_class_ns(e.life_q));
	if (c->disguise)
		hl_disguise_event(c->disguise, &e);
	count(c, &e, older);
	return wrote(c, hl_writer_add_event(c->w, &e));
}

/* What stands before the range and must be known in it: all but what is of its moment alone. */
static bool lasts(uint8_t kind)
{
	return kind != HL_EXTRA_MARK && kind != HL_EXTRA_SNAPSHOT &&
	       kind != HL_EXTRA_UNKNOWN_FREE && kind != HL_EXTRA_DROPPED;
}

static int copy_extra(struct cutting *c, const struct hl_extra *from, bool older)
{
	struct hl_extra x = *from;
	int err;

	if (x.time_ns > c->cut.to_ns || x.thread >= c->n_threads)
		return 0;
	if ((older || x.time_ns < c->cut.from_ns) && !lasts(x.kind))
		return 0;
	err = map_node(c, from->node, &x.node);
	if (!err && c->disguise)
		err = hl_disguise_extra(c->disguise, &x);
	return err ? err : wrote(c, hl_writer_add_extra(c->w, &x));
}

static int copy_chunk(struct cutting *c, size_t chunk, const struct hl_chunk_events *e)
{
	size_t from = before(c, &c->from, chunk, e), to = before(c, &c->to, chunk, e), x = 0;
	int err = 0;

	for (size_t i = 0; i <= to && !err; i++) {
		for (; x < e->n_extras && e->extras_at[x] <= i && !err; x++)
			err = copy_extra(c, &e->extras[x], e->extras_at[x] < from);
		if (!err && is_kept(c, e, i, to))
			err = copy_event(c, &e->events[i], is_pair(c, e, i, to), i < from,
				alloc_before(c, chunk, e, i));
	}
	return err;
}

static int copy_events(struct cutting *c)
{
	size_t n = hl_min_u64(hl_place_end(&c->to), hl_reader_n_chunks(c->m->reader));
	struct hl_chunk_events events = {0};
	int err = 0;

	hl_progress_begin("writing the slice");
	for (size_t i = 0; i < n && !err; i++) {
		hl_progress_tick(i, n);
		err = hl_reader_decode(c->m->reader, i, &events);
		if (!err)
			err = copy_chunk(c, i, &events);
	}
	hl_progress_end();
	hl_chunk_events_free(&events);
	return err;
}

static int copy_rss(struct cutting *c)
{
	struct hl_rss_sample *samples = NULL;
	size_t n = 0;
	int err = hl_reader_rss(c->m->reader, &samples, &n);

	for (size_t i = 0; i < n && !err; i++)
		if (samples[i].time_ns >= c->cut.from_ns && samples[i].time_ns <= c->cut.to_ns)
			err = wrote(c, hl_writer_add_rss(c->w, &samples[i]));
	free(samples);
	return err == -EBADMSG ? 0 : err; /* the trace says itself that it is damaged */
}

/* --- the whole --- */

/* A moment after the end is the end. */
static bool reaches_end(const struct cutting *c)
{
	const struct hl_when *to = &c->s->to;

	if (to->kind == HL_WHEN_NS || to->kind == HL_WHEN_PERCENT)
		return hl_when_ns(to, c->m) >= hl_model_end_ns(c->m);
	return to->kind == HL_WHEN_END;
}

/* What the slice says of itself; one that was cut before says both. */
static void describe(struct cutting *c, struct hl_strbuf *filter)
{
	const struct hl_cut_note *old = &c->m->info->meta.cut;
	const struct hl_slice *s = c->s;
	bool ranged = s->from.kind != HL_WHEN_NS || s->from.ns || !reaches_end(c);

	c->cut = (struct hl_cut_note){.flags = old->flags,
		.from_ns = hl_max_u64(c->from.time_ns, old->from_ns),
		.to_ns = UINT64_MAX,
		.min_life_ns = hl_max_u64(s->min_life_ns, old->min_life_ns)};
	if (!reaches_end(c) || c->to.moved)
		c->cut.to_ns = c->to.time_ns;
	if (old->flags & HL_CUT_RANGE)
		c->cut.to_ns = hl_min_u64(c->cut.to_ns, old->to_ns);
	c->cut.flags |= ranged || c->to.moved ? HL_CUT_RANGE : 0;
	c->cut.flags |= s->min_life_ns ? HL_CUT_LIFE : 0;
	c->cut.flags |= s->filter_text ? HL_CUT_FILTER : 0;
	c->cut.flags |= s->anonymity ? HL_CUT_NAMES : 0;
	c->cut.flags |= s->anonymity == HL_ALL_MADE_UP ? HL_CUT_ALL : 0;
	if (!s->anonymity) {
		hl_strbuf_puts(filter, old->filter ? old->filter : "");
		if (s->filter_text)
			hl_strbuf_printf(filter, "%s%s", filter->len ? " " : "", s->filter_text);
	}
	c->cut.filter = hl_strbuf_str(filter);
}

static struct hl_end end_of(const struct cutting *c)
{
	struct hl_end end = c->m->info->end;

	if (!c->m->info->has_end || c->to.moved)
		end = (struct hl_end){.kind = HL_END_LOST, .duration_ns = hl_model_end_ns(c->m)};
	else if (!reaches_end(c))
		end = (struct hl_end){.kind = HL_END_STOPPED};
	end.duration_ns = c->cut.to_ns != UINT64_MAX ? c->to.time_ns : end.duration_ns;
	return end;
}

/* The counters stay those of the whole recording: they say how far it can be trusted. */
static int finish(struct cutting *c)
{
	const struct hl_trace_info *i = c->m->info;
	struct hl_left_out *left = &c->done->left_out;
	struct hl_end end = end_of(c);

	left->blocks = i->totals.sums.alloc_blocks - c->done->blocks + i->left_out.blocks;
	left->bytes = i->totals.sums.alloc_bytes - c->done->bytes + i->left_out.bytes;
	hl_writer_set_left_out(c->w, left);
	hl_writer_set_cost(c->w, &i->cost);
	return wrote(c, hl_writer_end(c->w, &end, &i->counters));
}

static int write_trace(struct cutting *c, int fd)
{
	struct hl_meta meta = c->m->info->meta;
	struct hl_strbuf filter = {0};
	int err;

	describe(c, &filter);
	meta.cut = c->cut;
	err = hl_strbuf_error(&filter);
	if (!err && c->disguise)
		err = hl_disguise_meta(c->disguise, &meta);
	if (!err)
		err = wrote(c, hl_writer_open(&c->w, fd, &meta));
	hl_strbuf_fini(&filter);
	c->cut.filter = NULL;
	if (err) {
		close(fd);
		return err;
	}
	err = add_threads(c);
	if (!err)
		err = copy_events(c);
	if (!err)
		err = copy_rss(c);
	if (!err && !c->disguise) /* they would tell the names */
		err = hl_model_carry_over(c->m, c->w, &c->write_err);
	if (!err)
		err = finish(c);
	hl_writer_close(c->w);
	return err;
}

/* Nothing of the model failed when the writer did: the error is about the new file. */
static int fail(struct cutting *c, int err)
{
	return err && !c->write_err ? hl_model_fail(c->m, err) : err;
}

int hl_slice_write(struct hl_model *m, const struct hl_slice *s, int fd, struct hl_slice_done *done)
{
	struct cutting c = {.m = m,
		.s = s,
		.done = done,
		.nodes = calloc((size_t)m->n_nodes + 1, sizeof(*c.nodes)),
		.modules = calloc((size_t)m->n_modules + 1, sizeof(*c.modules))};
	int err = c.nodes && c.modules ? 0 : -ENOMEM;

	memset(done, 0, sizeof(*done));
	if (!err && s->anonymity)
		err = hl_disguise_new(&c.disguise, m, s->anonymity == HL_ALL_MADE_UP);
	if (err) {
		close(fd);
		err = hl_model_fail(m, err);
		goto out;
	}
	err = choose(&c); /* says itself what is wrong */
	if (err) {
		close(fd);
		goto out;
	}
	done->moved = c.to.moved;
	done->to_ns = c.to.time_ns;
	err = fail(&c, write_trace(&c, fd));
out:
	hl_disguise_free(c.disguise);
	hl_kept_fini(&c.kept);
	hl_vec_free(&c.path);
	hl_map_fini(&c.named);
	free(c.nodes);
	free(c.modules);
	return err;
}
