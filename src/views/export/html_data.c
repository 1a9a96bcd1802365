/*
 * html_data.c - what the script of a page draws from, as JSON; see html.h.
 *
 * Trees are lists of their nodes, callers before those they call, in columns. Each tree has its
 * largest nodes, by their share of the bytes or of the blocks, whichever is more; since no node has
 * more than its parent, what is there hangs together. `other` has what is missing below a node, so
 * that a node is the sum of its own, its children and that.
 */
#include <errno.h>
#include <stdlib.h>

#include "util/strings.h"
#include "util/text.h"
#include "views/export/html.h"

#define DEPTH_MAX 500  /* deeper frames are left out: nobody reads a recursion to its end */
#define STEPS     4096 /* 64 for each halving of the share */
/* From the other end stacks are not merged: of many, what has less of the whole has no callers told
 * apart. */
#define STACKS_FEW 2000
#define LEAST_PART 20000
#define TURNS_MAX  64

struct writer {
	struct hl_page *p;
	struct hl_json j;
	struct hl_export_frames frames;
	struct hl_strings strings;
};

/* --- which nodes --- */

struct node {
	uint32_t depth, frame;
	struct hl_value total;
};

/* What is left out below the node `at`, or below the whole: NOBODY. */
struct other {
	uint32_t at;
	uint64_t nodes;
	struct hl_value value;
};
#define NOBODY UINT32_MAX

struct cut {
	const struct hl_tree *t;
	struct hl_value total;
	uint32_t *below;  /* of each node: itself and all below it */
	uint32_t *depths; /* from 1 */
	uint32_t depth_max;
	unsigned last; /* the last step whose nodes are kept */
	HL_VEC(struct node) nodes;
	HL_VEC(struct other) others;
};

/* The smaller the share, the higher. */
static unsigned step_of(const struct cut *c, const struct hl_value *v)
{
	double bytes = c->total.bytes ? (double)v->bytes / (double)c->total.bytes : 0;
	double blocks = c->total.blocks ? (double)v->blocks / (double)c->total.blocks : 0;
	uint64_t share = (uint64_t)((bytes > blocks ? bytes : blocks) * 0x1p62);
	unsigned halvings = share ? (unsigned)__builtin_clzll(share) : 63;

	return halvings * 64 + 63 - (unsigned)(share << halvings >> 57 & 63);
}

static bool is_kept(const struct cut *c, uint32_t node)
{
	return c->depths[node] <= c->depth_max && step_of(c, &c->t->nodes[node].total) <= c->last;
}

/* Parents come before their children. */
static int measure(struct cut *c)
{
	const struct hl_tree *t = c->t;

	c->below = calloc(t->n_nodes, sizeof(*c->below));
	c->depths = calloc(t->n_nodes, sizeof(*c->depths));
	if (!c->below || !c->depths)
		return -ENOMEM;
	for (uint32_t i = 1; i < t->n_nodes; i++)
		c->depths[i] = c->depths[t->nodes[i].parent] + 1;
	for (uint32_t i = t->n_nodes; i-- > 0;) {
		c->below[i]++;
		if (i > 0)
			c->below[t->nodes[i].parent] += c->below[i];
	}
	return 0;
}

/* As many steps as there is room for. */
static int choose_last(struct cut *c, size_t room)
{
	size_t *count = calloc(STEPS, sizeof(*count)), sum = 0;

	if (!count)
		return -ENOMEM;
	c->depth_max = room / 4 < DEPTH_MAX ? (uint32_t)(room / 4) + 1 : DEPTH_MAX;
	for (uint32_t i = 1; i < c->t->n_nodes; i++) {
		if (c->depths[i] <= c->depth_max)
			count[step_of(c, &c->t->nodes[i].total)]++;
	}
	for (c->last = 0, sum = count[0]; c->last + 1 < STEPS; c->last++) {
		sum += count[c->last + 1];
		if (sum > room)
			break;
	}
	free(count);
	return 0;
}

static int keep(struct cut *c)
{
	struct place {
		uint32_t node, next; /* next: how many of its children have been seen */
		struct other other;
	};
	HL_VEC(struct place) path = {0};
	int err = hl_vec_push(&path, ((struct place){.other.at = NOBODY}));

	while (path.len > 0 && !err) {
		struct place *p = &path.data[path.len - 1];
		const struct hl_tree_node *n = &c->t->nodes[p->node], *child;
		uint32_t at;

		if (p->next == n->n_children) {
			if (p->other.nodes > 0)
				err = hl_vec_push(&c->others, p->other);
			path.len--;
			continue;
		}
		at = c->t->children[n->first_child + p->next++];
		child = &c->t->nodes[at];
		if (!is_kept(c, at)) {
			p->other.nodes += c->below[at];
			hl_value_add(&p->other.value, &child->total);
			continue;
		}
		err = hl_vec_push(
			&c->nodes, ((struct node){c->depths[at], child->frame, child->total}));
		if (!err)
			err = hl_vec_push(&path, ((struct place){.node = at,
							 .other.at = (uint32_t)c->nodes.len - 1}));
	}
	hl_vec_free(&path);
	return err;
}

static void cut_fini(struct cut *c)
{
	free(c->below);
	free(c->depths);
	hl_vec_free(&c->nodes);
	hl_vec_free(&c->others);
}

/* --- trees --- */

static int put_frames_of(struct writer *w, const struct cut *c)
{
	int err = 0;

	hl_json_key(&w->j, "frame");
	hl_json_begin_array(&w->j);
	for (size_t i = 0; i < c->nodes.len && !err; i++) {
		uint32_t number;

		err = hl_export_frame_number(&w->frames, c->nodes.data[i].frame, &number);
		hl_json_u64(&w->j, number);
	}
	hl_json_end_array(&w->j);
	return err;
}

#define PUT_COLUMN(w, name, list, member)                             \
	do {                                                          \
		hl_json_key(&(w)->j, name);                           \
		hl_json_begin_array(&(w)->j);                         \
		for (size_t i = 0; i < (list)->len; i++)              \
			hl_json_u64(&(w)->j, (list)->data[i].member); \
		hl_json_end_array(&(w)->j);                           \
	} while (0)

static void put_others(struct writer *w, const struct cut *c)
{
	hl_json_key(&w->j, "other");
	hl_json_begin_array(&w->j);
	for (size_t i = 0; i < c->others.len; i++) {
		const struct other *o = &c->others.data[i];

		hl_json_begin_array(&w->j);
		hl_json_i64(&w->j, o->at == NOBODY ? -1 : (int64_t)o->at);
		hl_json_u64(&w->j, o->nodes);
		hl_json_u64(&w->j, o->value.bytes);
		hl_json_u64(&w->j, o->value.blocks);
		hl_json_end_array(&w->j);
	}
	hl_json_end_array(&w->j);
}

static int put_cut(struct writer *w, const struct hl_tree *t, const struct hl_value *total)
{
	struct cut c = {.t = t, .total = *total};
	int err = measure(&c);

	if (!err)
		err = choose_last(&c, w->p->room.nodes);
	if (!err)
		err = keep(&c);
	if (!err) {
		hl_json_begin_object(&w->j);
		PUT_COLUMN(w, "depth", &c.nodes, depth);
		PUT_COLUMN(w, "bytes", &c.nodes, total.bytes);
		PUT_COLUMN(w, "blocks", &c.nodes, total.blocks);
		err = put_frames_of(w, &c);
		put_others(w, &c);
		hl_json_end_object(&w->j);
	}
	cut_fini(&c);
	return err;
}

static size_t n_stacks(const struct hl_answer *a)
{
	size_t n = 0;

	for (uint32_t i = 0; i <= a->n_keys; i++)
		n += a->values[i].blocks > 0;
	return n;
}

/* What libc does before main is at the outer end of every stack, and left out as in report. */
static int put_tree(struct writer *w, const struct hl_page_question *q, bool inverted)
{
	const struct hl_answer *a = &q->a;
	struct hl_tree_opts opts = {.calls = true,
		.by_blocks = w->p->x->by_blocks,
		.no_starts = true,
		.inverted = inverted};
	struct hl_tree t;
	int err;

	if (inverted) {
		opts.depth = TURNS_MAX;
		opts.least = n_stacks(a) > STACKS_FEW
				     ? hl_export_cost(w->p->x, &a->total) / LEAST_PART
				     : 0;
	}
	if (w->p->x->grouped)
		err = hl_tree_build_divided(&t, w->p->x->m, &q->divided, &opts);
	else
		err = hl_tree_build(&t, w->p->x->m, a, &opts);
	if (!err)
		err = put_cut(w, &t, &a->total);
	hl_tree_fini(&t);
	return err;
}

/* --- questions --- */

static void put_value(struct hl_json *j, const struct hl_value *v)
{
	hl_json_u64(j, v->bytes);
	hl_json_u64(j, v->blocks);
}

static void put_bound(struct hl_json *j, uint64_t v)
{
	if (v == UINT64_MAX)
		hl_json_string(j, NULL);
	else
		hl_json_u64(j, v);
}

/* Rows: name, bytes, blocks; the rest as one: how many, bytes, blocks. A sentence if there are
 * none to be had. */
static void put_list(struct writer *w, const struct hl_table *t, const char *why)
{
	size_t n = t->n < w->p->room.rows ? t->n : w->p->room.rows;
	struct hl_value rest = {0};

	if (why[0]) {
		hl_json_string(&w->j, why);
		return;
	}
	hl_json_begin_object(&w->j);
	hl_json_key(&w->j, "rows");
	hl_json_begin_array(&w->j);
	for (size_t i = 0; i < n; i++) {
		struct hl_strbuf name = {0};

		hl_page_cut(&name, t->rows[i].shown, w->p->room.name);
		hl_json_begin_array(&w->j);
		hl_json_string(&w->j, hl_strbuf_str(&name));
		put_value(&w->j, &t->rows[i].value);
		hl_json_end_array(&w->j);
		hl_strbuf_fini(&name);
	}
	hl_json_end_array(&w->j);
	for (size_t i = n; i < t->n; i++)
		hl_value_add(&rest, &t->rows[i].value);
	hl_json_key(&w->j, "other");
	hl_json_begin_array(&w->j);
	hl_json_u64(&w->j, t->n - n);
	put_value(&w->j, &rest);
	hl_json_end_array(&w->j);
	hl_json_end_object(&w->j);
}

static const char *const list_names[HL_PAGE_LISTS] = {"sizes", "lives", "threads", "tags"};

static int put_question(struct writer *w, const struct hl_page_question *q)
{
	struct hl_json *j = &w->j;
	int err = 0;

	hl_json_begin_object(j);
	hl_json_key_string(j, "id", q->id);
	hl_json_key_string(j, "name", q->name);
	hl_json_key_string(j, "what", q->what);
	hl_json_key_bool(j, "moment", q->query.quantity == HL_QUANTITY_LIVE);
	hl_json_key_u64(j, "from_ns", q->a.from_ns);
	hl_json_key_u64(j, "to_ns", q->a.to_ns);
	hl_json_key_u64(j, "bytes", q->a.total.bytes);
	hl_json_key_u64(j, "blocks", q->a.total.blocks);
	hl_json_key_u64(j, "margin", hl_value_margin(&q->a.total));
	if (q->a.moved)
		hl_json_key_u64(j, "asked_ns", q->a.asked_ns);
	if (q->why[0]) {
		hl_json_key_string(j, "unknown", q->why);
	} else {
		hl_json_key(j, "down");
		err = put_tree(w, q, false);
		hl_json_key(j, "up");
		if (!err)
			err = put_tree(w, q, true);
	}
	for (unsigned k = 0; k < HL_PAGE_LISTS; k++) {
		if (!w->p->has[k])
			continue;
		hl_json_key(j, list_names[k]);
		put_list(w, &q->lists[k], q->lists_why[k]);
	}
	hl_json_end_object(j);
	return err;
}

/* --- sites --- */

static int put_site(struct writer *w, size_t i)
{
	const struct hl_page_site *s = &w->p->sites.data[i];
	const struct hl_site_stat *stat = i < w->p->n_stats ? &w->p->stats[i] : NULL;
	struct hl_json *j = &w->j;
	uint32_t number;
	int err = hl_export_frame_number(&w->frames, s->frame, &number);

	hl_json_begin_object(j);
	hl_json_key_u64(j, "frame", number);
	hl_json_key(j, "values");
	hl_json_begin_array(j);
	for (size_t k = 0; k < w->p->n; k++)
		put_value(j, &s->values[k]);
	hl_json_end_array(j);
	if (stat) {
		hl_json_key(j, "life");
		put_bound(j, stat->median_ns);
		hl_json_key(j, "live");
		hl_json_begin_array(j);
		for (unsigned k = 0; k < HL_SPARK_POINTS; k++)
			hl_json_u64(j, stat->live[k]);
		hl_json_end_array(j);
	}
	hl_json_end_object(j);
	return err;
}

static int put_sites(struct writer *w)
{
	struct hl_page *p = w->p;
	size_t n = p->sites.len < p->room.sites ? p->sites.len : p->room.sites;
	struct hl_json *j = &w->j;
	int err = 0;

	hl_json_key(j, "sites");
	hl_json_begin_object(j);
	hl_json_key_string(j, "unknown", p->stats_why[0] ? p->stats_why : NULL);
	hl_json_key(j, "rows");
	hl_json_begin_array(j);
	for (size_t i = 0; i < n && !err; i++)
		err = put_site(w, i);
	hl_json_end_array(j);
	hl_json_key_u64(j, "other_sites", p->sites.len - n);
	hl_json_key(j, "other");
	hl_json_begin_array(j);
	for (size_t k = 0; k < p->n; k++) {
		struct hl_value rest = hl_page_other_sites(p, k, n);

		put_value(j, &rest);
	}
	hl_json_end_array(j);
	hl_json_end_object(j);
	return err;
}

/* --- the heap over time --- */

static void put_marks(struct writer *w)
{
	size_t n = w->p->n_marks < w->p->room.marks ? w->p->n_marks : w->p->room.marks;

	hl_json_key(&w->j, "marks");
	hl_json_begin_array(&w->j);
	for (size_t i = 0; i < n; i++) {
		struct hl_strbuf name = {0};

		hl_page_cut(&name, w->p->marks[i].name, w->p->room.name);
		hl_json_begin_array(&w->j);
		hl_json_u64(&w->j, w->p->marks[i].time_ns);
		hl_json_string(&w->j, w->p->marks[i].snapshot ? "snapshot" : "mark");
		hl_json_string(&w->j, hl_strbuf_str(&name));
		hl_json_end_array(&w->j);
		hl_strbuf_fini(&name);
	}
	hl_json_end_array(&w->j);
}

/* A column that is lost, or without a sample, is null. */
static void put_timeline(struct writer *w)
{
	const struct hl_page *p = w->p;
	struct hl_json *j = &w->j;

	hl_json_key(j, "timeline");
	hl_json_begin_object(j);
	hl_json_key_u64(j, "end_ns", hl_model_end_ns(p->x->m));
	hl_json_key(j, "live");
	hl_json_begin_array(j);
	for (size_t i = 0; i < HL_PAGE_COLUMNS && p->columns; i++) {
		if (p->columns[i].lost)
			hl_json_string(j, NULL);
		else
			hl_json_u64(j, p->columns[i].max_bytes);
	}
	hl_json_end_array(j);
	hl_json_key(j, "rss");
	hl_json_begin_array(j);
	for (size_t i = 0; i < HL_PAGE_COLUMNS && p->n_rss; i++) {
		if (p->rss[i])
			hl_json_u64(j, p->rss[i]);
		else
			hl_json_string(j, NULL);
	}
	hl_json_end_array(j);
	put_marks(w);
	hl_json_end_object(j);
}

/* --- frames and names, when it is known which --- */

enum frame_kind { OWN, LIBRARY, CALLED, UNKNOWN, GROUP };

static enum frame_kind kind_of(const struct hl_frame *f)
{
	if (f->group)
		return GROUP;
	if (!f->module && !f->file)
		return f->function[0] == '[' ? UNKNOWN : CALLED;
	return hl_frame_is_program(f) ? OWN : LIBRARY;
}

static int put_name(struct writer *w, const char *name)
{
	struct hl_strbuf b = {0};
	uint32_t id = 0;
	int err;

	if (!name) {
		hl_json_i64(&w->j, -1);
		return 0;
	}
	hl_page_cut(&b, name, w->p->room.name);
	err = hl_strbuf_error(&b);
	if (!err)
		err = hl_strings_add(&w->strings, hl_strbuf_str(&b), &id);
	hl_json_u64(&w->j, id);
	hl_strbuf_fini(&b);
	return err;
}

/* function, as it is shown (-1: the same), file, line, module, kind */
static int put_frame(struct writer *w, const struct hl_frame *f)
{
	struct hl_strbuf name = {0};
	int err;

	hl_export_name(&name, f);
	hl_json_begin_array(&w->j);
	err = put_name(w, hl_strbuf_str(&name));
	if (!err)
		err = put_name(w, strcmp(f->shown, f->function) != 0 ? f->shown : NULL);
	if (!err)
		err = put_name(w, f->file);
	hl_json_u64(&w->j, f->line);
	if (!err)
		err = put_name(w, f->module);
	hl_json_u64(&w->j, kind_of(f));
	hl_json_end_array(&w->j);
	hl_strbuf_fini(&name);
	return err;
}

static int put_frames(struct writer *w)
{
	int err = 0;

	hl_json_key(&w->j, "frames");
	hl_json_begin_array(&w->j);
	for (size_t i = 0; i < w->frames.list.len && !err; i++)
		err = put_frame(w, hl_model_frame(w->p->x->m, w->frames.list.data[i]));
	hl_json_end_array(&w->j);
	hl_json_key(&w->j, "strings");
	hl_json_begin_array(&w->j);
	for (size_t i = 0; i < w->strings.len; i++)
		hl_json_string(&w->j, hl_strings_get(&w->strings, (uint32_t)i));
	hl_json_end_array(&w->j);
	return err;
}

/* --- all of it --- */

static int put_all(struct writer *w)
{
	struct hl_json *j = &w->j;
	int err = 0;

	hl_json_begin_object(j);
	hl_json_key_u64(j, "first", w->p->first);
	hl_json_key_bool(j, "by_blocks", w->p->x->by_blocks);
	hl_json_key(j, "questions");
	hl_json_begin_array(j);
	for (size_t i = 0; i < w->p->n && !err; i++)
		err = put_question(w, &w->p->questions[i]);
	hl_json_end_array(j);
	if (!err)
		err = put_sites(w);
	put_timeline(w);
	if (!err)
		err = put_frames(w);
	hl_json_end_object(j);
	return err;
}

/* In JSON a < stands only in strings, and there it may be written in another way: so nothing in
 * them can end the script element, or begin a comment. */
static int make_safe(char **text, size_t *len)
{
	const char *s = *text, *next;
	struct hl_strbuf b = {0};
	int err;

	while ((next = strchr(s, '<'))) {
		hl_strbuf_add(&b, s, (size_t)(next - s));
		hl_strbuf_puts(&b, "\\u003c");
		s = next + 1;
	}
	hl_strbuf_puts(&b, s);
	err = hl_strbuf_error(&b);
	free(*text);
	*text = b.data;
	*len = b.len;
	return err;
}

int hl_page_data(struct hl_page *p, char **text, size_t *len)
{
	struct writer w = {.p = p};
	FILE *out = open_memstream(text, len);
	int err = out ? 0 : -ENOMEM;

	if (!err) {
		hl_json_init(&w.j, out);
		err = put_all(&w);
		if (fclose(out) != 0 && !err)
			err = -ENOMEM;
	}
	hl_export_frames_fini(&w.frames);
	hl_strings_fini(&w.strings);
	return err ? err : make_safe(text, len);
}
