/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html_data.c - the data for the script of a page, as JSON; see html.h.
 *
 * A tree is a list of its nodes in columns, callers before the functions that they call. Each tree
 * has its largest nodes, by the larger of their shares of the bytes and of the blocks. The kept
 * nodes are always connected, because no node has more than its parent. `other` has the sum of the
 * nodes left out below a node, so that a node is the sum of itself, its children and `other`.
 */
#include <errno.h>
#include <stdlib.h>

#include "model/stack/frame_owner.h"
#include "util/string_table.h"
#include "util/safe_text.h"
#include "views/export/html/html.h"

#define DEPTH_MAX 500  /* deeper frames are left out: a deep recursion is not readable */
#define N_RANKS   4096 /* 64 for each halving of the share */
/* Inverted trees do not merge stacks. If there are many stacks, nodes with a small share of the
 * total are not divided by caller. */
#define MAX_FULL_STACKS    2000
#define MIN_SHARE_DIVISOR  20000
#define MAX_INVERTED_DEPTH 64

struct writer {
	struct hl_page *p;
	struct hl_json j;
	struct hl_export_frames frames;
	struct hl_string_table strings;
};

/* --- selection of nodes --- */

struct node {
	uint32_t depth, frame;
	struct hl_value total;
};

/* The nodes left out below node `at`; NO_NODE: below the root. */
struct omitted {
	uint32_t at;
	uint64_t nodes;
	struct hl_value value;
};
#define NO_NODE UINT32_MAX

struct pruned_tree {
	const struct hl_tree *t;
	struct hl_value total;
	uint32_t *subtree_sizes; /* per node: the nodes in its subtree, including itself */
	uint32_t *depths;        /* from 1 */
	uint32_t depth_max;
	unsigned last_rank; /* nodes up to this rank are kept */
	HL_VEC(struct node) nodes;
	HL_VEC(struct omitted) omitted_list;
};

/* Returns a rank: the smaller the share, the higher. */
static unsigned share_rank(const struct pruned_tree *c, const struct hl_value *v)
{
	double bytes = c->total.bytes ? (double)v->bytes / (double)c->total.bytes : 0;
	double blocks = c->total.blocks ? (double)v->blocks / (double)c->total.blocks : 0;
	uint64_t share = (uint64_t)((bytes > blocks ? bytes : blocks) * 0x1p62);
	unsigned halvings = share ? (unsigned)__builtin_clzll(share) : 63;

	return halvings * 64 + 63 - (unsigned)(share << halvings >> 57 & 63);
}

static bool is_kept(const struct pruned_tree *c, uint32_t node)
{
	return c->depths[node] <= c->depth_max &&
	       share_rank(c, &c->t->nodes[node].total) <= c->last_rank;
}

/* Parents are before their children. */
static int measure_tree(struct pruned_tree *c)
{
	const struct hl_tree *t = c->t;

	c->subtree_sizes = calloc(t->n_nodes, sizeof(*c->subtree_sizes));
	c->depths = calloc(t->n_nodes, sizeof(*c->depths));
	if (!c->subtree_sizes || !c->depths)
		return -ENOMEM;
	for (uint32_t i = 1; i < t->n_nodes; i++)
		c->depths[i] = c->depths[t->nodes[i].parent] + 1;
	for (uint32_t i = t->n_nodes; i-- > 0;) {
		c->subtree_sizes[i]++;
		if (i > 0)
			c->subtree_sizes[t->nodes[i].parent] += c->subtree_sizes[i];
	}
	return 0;
}

/* Chooses as many ranks as fit. */
static int choose_last_rank(struct pruned_tree *c, size_t room)
{
	size_t *count = calloc(N_RANKS, sizeof(*count)), sum = 0;

	if (!count)
		return -ENOMEM;
	c->depth_max = room / 4 < DEPTH_MAX ? (uint32_t)(room / 4) + 1 : DEPTH_MAX;
	for (uint32_t i = 1; i < c->t->n_nodes; i++) {
		if (c->depths[i] <= c->depth_max)
			count[share_rank(c, &c->t->nodes[i].total)]++;
	}
	for (c->last_rank = 0, sum = count[0]; c->last_rank + 1 < N_RANKS; c->last_rank++) {
		sum += count[c->last_rank + 1];
		if (sum > room)
			break;
	}
	free(count);
	return 0;
}

static int collect_nodes(struct pruned_tree *c)
{
	struct path_entry {
		uint32_t node, next; /* next: index of the next child to visit */
		struct omitted omitted;
	};
	HL_VEC(struct path_entry) path = {0};
	int err = hl_vec_push(&path, ((struct path_entry){.omitted.at = NO_NODE}));

	while (path.len > 0 && !err) {
		struct path_entry *p = &path.data[path.len - 1];
		const struct hl_tree_node *n = &c->t->nodes[p->node], *child;
		uint32_t at;

		if (p->next == n->n_children) {
			if (p->omitted.nodes > 0)
				err = hl_vec_push(&c->omitted_list, p->omitted);
			path.len--;
			continue;
		}
		at = c->t->children[n->first_child + p->next++];
		child = &c->t->nodes[at];
		if (!is_kept(c, at)) {
			p->omitted.nodes += c->subtree_sizes[at];
			hl_value_add(&p->omitted.value, &child->total);
			continue;
		}
		err = hl_vec_push(
			&c->nodes, ((struct node){c->depths[at], child->frame, child->total}));
		if (!err)
			err = hl_vec_push(
				&path, ((struct path_entry){.node = at,
					       .omitted.at = (uint32_t)c->nodes.len - 1}));
	}
	hl_vec_free(&path);
	return err;
}

static void free_pruned_tree(struct pruned_tree *c)
{
	free(c->subtree_sizes);
	free(c->depths);
	hl_vec_free(&c->nodes);
	hl_vec_free(&c->omitted_list);
}

/* --- trees --- */

static int put_node_frames(struct writer *w, const struct pruned_tree *c)
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

static void put_others(struct writer *w, const struct pruned_tree *c)
{
	hl_json_key(&w->j, "other");
	hl_json_begin_array(&w->j);
	for (size_t i = 0; i < c->omitted_list.len; i++) {
		const struct omitted *o = &c->omitted_list.data[i];

		hl_json_begin_array(&w->j);
		hl_json_i64(&w->j, o->at == NO_NODE ? -1 : (int64_t)o->at);
		hl_json_u64(&w->j, o->nodes);
		hl_json_u64(&w->j, o->value.bytes);
		hl_json_u64(&w->j, o->value.blocks);
		hl_json_end_array(&w->j);
	}
	hl_json_end_array(&w->j);
}

static int put_pruned_tree(struct writer *w, const struct hl_tree *t, const struct hl_value *total)
{
	struct pruned_tree c = {.t = t, .total = *total};
	int err = measure_tree(&c);

	if (!err)
		err = choose_last_rank(&c, w->p->limits.nodes);
	if (!err)
		err = collect_nodes(&c);
	if (!err) {
		hl_json_begin_object(&w->j);
		PUT_COLUMN(w, "depth", &c.nodes, depth);
		PUT_COLUMN(w, "bytes", &c.nodes, total.bytes);
		PUT_COLUMN(w, "blocks", &c.nodes, total.blocks);
		err = put_node_frames(w, &c);
		put_others(w, &c);
		hl_json_end_object(&w->j);
	}
	free_pruned_tree(&c);
	return err;
}

static size_t count_stacks(const struct hl_answer *a)
{
	size_t n = 0;

	for (uint32_t i = 0; i <= a->n_keys; i++)
		n += a->values[i].blocks > 0;
	return n;
}

/* Stacks are as in report: folded, from their sites to main. */
static int put_tree(struct writer *w, const struct hl_page_query *q, bool inverted)
{
	const struct hl_answer *a = &q->a;
	bool full = w->p->x->full_stacks;
	struct hl_tree_opts opts = {.with_called_functions = full,
		.by_blocks = w->p->x->by_blocks,
		.fold = !full,
		.omit_runtime_frames = !full,
		.inverted = inverted};
	struct hl_tree t;
	int err;

	if (inverted) {
		opts.depth = MAX_INVERTED_DEPTH;
		opts.min_value = count_stacks(a) > MAX_FULL_STACKS
					 ? hl_export_cost(w->p->x, &a->total) / MIN_SHARE_DIVISOR
					 : 0;
	}
	if (w->p->x->grouped)
		err = hl_tree_build_grouped(&t, w->p->x->m, &q->grouped, &opts);
	else
		err = hl_tree_build(&t, w->p->x->m, a, &opts);
	if (!err)
		err = put_pruned_tree(w, &t, &a->total);
	hl_tree_fini(&t);
	return err;
}

/* --- queries --- */

static void put_value(struct hl_json *j, const struct hl_value *v)
{
	hl_json_u64(j, v->bytes);
	hl_json_u64(j, v->blocks);
}

static void put_optional(struct hl_json *j, uint64_t v)
{
	if (v == UINT64_MAX)
		hl_json_string(j, NULL);
	else
		hl_json_u64(j, v);
}

/* Rows are name, bytes, blocks. `other` has the number, bytes and blocks of the remaining rows. If
 * the data is not known, a sentence replaces the table. */
static void put_list(struct writer *w, const struct hl_table *t, const char *why)
{
	size_t n = t->n < w->p->limits.rows ? t->n : w->p->limits.rows;
	struct hl_value remaining = {0};

	if (why[0]) {
		hl_json_string(&w->j, why);
		return;
	}
	hl_json_begin_object(&w->j);
	hl_json_key(&w->j, "rows");
	hl_json_begin_array(&w->j);
	for (size_t i = 0; i < n; i++) {
		struct hl_strbuf name = {0};

		hl_page_shorten_name(&name, t->rows[i].display_name, w->p->limits.name);
		hl_json_begin_array(&w->j);
		hl_json_string(&w->j, hl_strbuf_str(&name));
		put_value(&w->j, &t->rows[i].value);
		hl_json_end_array(&w->j);
		hl_strbuf_fini(&name);
	}
	hl_json_end_array(&w->j);
	for (size_t i = n; i < t->n; i++)
		hl_value_add(&remaining, &t->rows[i].value);
	hl_json_key(&w->j, "other");
	hl_json_begin_array(&w->j);
	hl_json_u64(&w->j, t->n - n);
	put_value(&w->j, &remaining);
	hl_json_end_array(&w->j);
	hl_json_end_object(&w->j);
}

static const char *const list_names[HL_PAGE_LISTS] = {"sizes", "lives", "threads", "tags"};

static int put_query(struct writer *w, const struct hl_page_query *q)
{
	struct hl_json *j = &w->j;
	int err = 0;

	hl_json_begin_object(j);
	hl_json_key_string(j, "id", q->id);
	hl_json_key_string(j, "name", q->name);
	hl_json_key_string(j, "what", q->title);
	hl_json_key_bool(j, "moment", q->query.quantity == HL_QUANTITY_LIVE);
	hl_json_key_u64(j, "from_ns", q->a.from_ns);
	hl_json_key_u64(j, "to_ns", q->a.to_ns);
	hl_json_key_u64(j, "bytes", q->a.total.bytes);
	hl_json_key_u64(j, "blocks", q->a.total.blocks);
	hl_json_key_u64(j, "margin", hl_value_margin(&q->a.total));
	if (q->a.before_damage)
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
		put_optional(j, stat->median_ns);
		hl_json_key(j, "live");
		hl_json_begin_array(j);
		for (unsigned k = 0; k < HL_SPARK_POINTS; k++) {
			if (k < stat->first_point)
				hl_json_string(j, NULL);
			else
				hl_json_u64(j, stat->live[k]);
		}
		hl_json_end_array(j);
	}
	hl_json_end_object(j);
	return err;
}

static int put_sites(struct writer *w)
{
	struct hl_page *p = w->p;
	size_t n = p->sites.len < p->limits.sites ? p->sites.len : p->limits.sites;
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
		struct hl_value remaining = hl_page_other_sites(p, k, n);

		put_value(j, &remaining);
	}
	hl_json_end_array(j);
	hl_json_end_object(j);
	return err;
}

/* --- heap over time --- */

static void put_marks(struct writer *w)
{
	size_t n = w->p->n_marks < w->p->limits.marks ? w->p->n_marks : w->p->limits.marks;

	hl_json_key(&w->j, "marks");
	hl_json_begin_array(&w->j);
	for (size_t i = 0; i < n; i++) {
		struct hl_strbuf name = {0};

		hl_page_shorten_name(&name, w->p->marks[i].name, w->p->limits.name);
		hl_json_begin_array(&w->j);
		hl_json_u64(&w->j, w->p->marks[i].time_ns);
		hl_json_string(&w->j, w->p->marks[i].snapshot ? "snapshot" : "mark");
		hl_json_string(&w->j, hl_strbuf_str(&name));
		hl_json_end_array(&w->j);
		hl_strbuf_fini(&name);
	}
	hl_json_end_array(&w->j);
}

/* A column that is lost or has no sample is null. */
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
		if (p->columns[i].lost || p->columns[i].before_base)
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

/* --- frames and names, after all uses are known --- */

static int put_name(struct writer *w, const char *name)
{
	struct hl_strbuf b = {0};
	uint32_t id = 0;
	int err;

	if (!name) {
		hl_json_i64(&w->j, -1);
		return 0;
	}
	hl_page_shorten_name(&b, name, w->p->limits.name);
	err = hl_strbuf_error(&b);
	if (!err)
		err = hl_string_table_add(&w->strings, hl_strbuf_str(&b), &id);
	hl_json_u64(&w->j, id);
	hl_strbuf_fini(&b);
	return err;
}

/* The columns are function, display name (-1: the same), file, line, module, kind. */
static int put_frame(struct writer *w, const struct hl_frame *f)
{
	struct hl_strbuf name = {0};
	int err;

	hl_export_name(&name, f);
	hl_json_begin_array(&w->j);
	err = put_name(w, hl_strbuf_str(&name));
	if (!err)
		err = put_name(
			w, strcmp(f->display_name, f->function) != 0 ? f->display_name : NULL);
	if (!err)
		err = put_name(w, f->file);
	hl_json_u64(&w->j, f->line);
	if (!err)
		err = put_name(w, f->module);
	hl_json_u64(&w->j, hl_model_frame_owner(w->p->x->m, f));
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
		hl_json_string(&w->j, hl_string_table_get(&w->strings, (uint32_t)i));
	hl_json_end_array(&w->j);
	return err;
}

/* --- document --- */

static int put_document(struct writer *w)
{
	struct hl_json *j = &w->j;
	int err = 0;

	hl_json_begin_object(j);
	hl_json_key_u64(j, "first", w->p->first);
	hl_json_key_bool(j, "by_blocks", w->p->x->by_blocks);
	hl_json_key(j, "questions");
	hl_json_begin_array(j);
	for (size_t i = 0; i < w->p->n && !err; i++)
		err = put_query(w, &w->p->queries[i]);
	hl_json_end_array(j);
	if (!err)
		err = put_sites(w);
	put_timeline(w);
	if (!err)
		err = put_frames(w);
	hl_json_end_object(j);
	return err;
}

/* In JSON the character < occurs only in strings, where it can be escaped. So no string can end the
 * script element or begin a comment. */
static int escape_for_script(char **text, size_t *len)
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
		err = put_document(&w);
		if (fclose(out) != 0 && !err)
			err = -ENOMEM;
	}
	hl_export_frames_fini(&w.frames);
	hl_string_table_fini(&w.strings);
	return err ? err : escape_for_script(text, len);
}
