/* SPDX-License-Identifier: Apache-2.0 */
/* tag_capture.c - see tag_capture.h. */
#include "tags/tag_capture.h"

#include <errno.h>

#include "base/bits.h"

#define MAX_TREES (1u << 22)
#define MAX_NODES (1u << 28)
#define MAX_NAME  (1u << 24)

struct chunk {
	uint64_t nodes; /* address of the first */
	uint32_t used, row;
};

struct capture {
	const struct hl_tags_source *s;
	struct hl_tag_report *r;
	uint64_t trees; /* address of the first */
	struct chunk *chunks;
	uint32_t n_chunks;
};

static int read_at(const struct capture *c, uint64_t addr, void *to, size_t n)
{
	return c->s->read(c->s->arg, addr, to, n);
}

static int count_trees(struct capture *c, uint32_t *n)
{
	uint64_t at = c->trees;
	int err = 0;

	for (*n = 0; at && !err; ++*n) {
		if (*n == MAX_TREES)
			return -EBADMSG;
		err = read_at(c, at + offsetof(struct hl_tag_tree, next), &at, sizeof(at));
	}
	return err;
}

struct chunk_head {
	uint64_t next;
	uint32_t cap, used;
};
_Static_assert(sizeof(struct chunk_head) == offsetof(struct hl_tag_chunk, nodes), "as laid out");

/* Visits the chunks of a tree, up to `limit` rows: first to count them, then to note them. Nodes
 * that were added since the count are left for the next report. */
static int walk_chunks(struct capture *c, uint64_t tree, bool note, uint32_t *rows, uint32_t limit)
{
	uint64_t at;
	int err = read_at(c, tree + offsetof(struct hl_tag_tree, chunks), &at, sizeof(at));

	while (at && !err && *rows < limit) {
		struct chunk_head head;

		err = read_at(c, at, &head, sizeof(head));
		if (err)
			return err;
		if (head.used > head.cap || head.cap < HL_TAG_FIRST_CHUNK)
			return -EBADMSG;
		head.used = hl_min_u32(head.used, limit - *rows);
		if (note)
			c->chunks[c->n_chunks] = (struct chunk){
				at + offsetof(struct hl_tag_chunk, nodes), head.used, *rows};
		c->n_chunks++;
		*rows += head.used;
		at = head.used == head.cap ? head.next : 0;
	}
	return err;
}

static bool is_consistent(const struct hl_tag_node *n)
{
	return n->begun == n->ended;
}

/* In three steps: a single copy may read memory in any order. */
static int read_once(const struct capture *c, uint64_t at, struct hl_tag_node *n)
{
	const size_t first = sizeof(n->ended), last = offsetof(struct hl_tag_node, begun);
	int err = read_at(c, at, &n->ended, first);

	atomic_thread_fence(memory_order_acquire);
	if (!err)
		err = read_at(c, at + first, (char *)n + first, last - first);
	atomic_thread_fence(memory_order_acquire);
	return err ? err : read_at(c, at + last, &n->begun, sizeof(n->begun));
}

static int read_node(struct capture *c, uint64_t at, struct hl_tag_node *n)
{
	for (uint32_t i = 0; i < c->s->tries; i++) {
		int err = read_once(c, at, n);

		if (err || is_consistent(n))
			return err;
	}
	c->r->unsettled++;
	return 0;
}

static int copy_name(struct capture *c, const char *from, uint32_t len, const char **to)
{
	char *name;

	if (len > MAX_NAME)
		return -EBADMSG;
	if (c->s->in_place) {
		*to = from ? from : "";
		return 0;
	}
	name = c->s->alloc(c->s->arg, len + 1);
	if (!name)
		return -ENOMEM;
	*to = name;
	return len ? read_at(c, (uintptr_t)from, name, len) : 0;
}

/* The length of a thread's name is not stored: it ends with NUL. */
static int copy_thread_name(struct capture *c, const char *from, struct hl_tag_thread *t)
{
	uint32_t len = 0;
	char byte = 1;
	int err = 0;

	while (from && len < MAX_NAME) {
		err = read_at(c, (uintptr_t)from + len, &byte, 1);
		if (err || !byte)
			break;
		len++;
	}
	t->name_len = len;
	return err ? err : copy_name(c, from, len, &t->name);
}

static void copy_counters(struct hl_tag_row *row, const struct hl_tag_node *n)
{
	row->id = n->id;
	row->entered = n->entered;
	for (int i = 0; i < HL_TAG_CALLS; i++)
		row->calls[i] = n->calls[i];
	hl_tag_sums_from_node(&row->self, n);
}

/* The row of the node at this address. Only an earlier row can be a parent. */
static uint32_t find_row(const struct capture *c, uint32_t first_chunk, uint64_t at)
{
	for (uint32_t i = c->n_chunks; i-- > first_chunk;) {
		const struct chunk *k = &c->chunks[i];
		uint64_t n = (at - k->nodes) / sizeof(struct hl_tag_node);

		if (at >= k->nodes && n < k->used)
			return k->row + (uint32_t)n;
	}
	return HL_TAG_NO_ROW;
}

static int fill_scope(
	struct capture *c, uint32_t thread, uint32_t first_chunk, uint32_t i, uint64_t at)
{
	struct hl_tag_row *row = &c->r->rows[i];
	struct hl_tag_node n;
	int err = read_node(c, at, &n);

	if (err)
		return err;
	copy_counters(row, &n);
	row->thread = thread;
	row->name_len = n.name_len;
	row->parent = n.parent ? find_row(c, first_chunk, (uintptr_t)n.parent)
			       : c->r->threads[thread].first;
	if (row->parent >= i) /* HL_TAG_NO_ROW too */
		return -EBADMSG;
	return copy_name(c, n.name, n.name_len, &row->name);
}

static int fill_root(struct capture *c, uint32_t thread, uint64_t tree)
{
	struct hl_tag_thread *t = &c->r->threads[thread];
	struct hl_tag_row *row = &c->r->rows[t->first];
	struct hl_tag_node n;
	struct hl_tag_tree copy;
	int err = read_at(c, tree, &copy, sizeof(copy));

	if (!err)
		err = read_node(c, tree + offsetof(struct hl_tag_tree, disabled_node), &n);
	if (err)
		return err;
	hl_tag_sums_from_node(&t->disabled_sums, &n);
	t->tid = copy.tid;
	t->owners = copy.owners;
	t->unbalanced = copy.unbalanced;
	t->failed = copy.failed;
	err = read_node(c, tree + offsetof(struct hl_tag_tree, root), &n);
	if (!err)
		err = copy_thread_name(c, copy.name, t);
	if (err)
		return err;
	copy_counters(row, &n);
	row->entered = t->owners;
	row->thread = thread;
	row->parent = HL_TAG_NO_ROW;
	row->name = t->name;
	row->name_len = t->name_len;
	return 0;
}

static int fill_tree(struct capture *c, uint32_t thread, uint64_t tree)
{
	struct hl_tag_thread *t = &c->r->threads[thread];
	uint32_t first_chunk = c->n_chunks, rows = t->first + 1;
	int err = walk_chunks(c, tree, true, &rows, t->first + t->n);

	if (!err && rows != t->first + t->n)
		return -EBADMSG; /* nodes are never removed */
	for (uint32_t k = first_chunk; k < c->n_chunks && !err; k++)
		for (uint32_t i = 0; i < c->chunks[k].used && !err; i++)
			err = fill_scope(c, thread, first_chunk, c->chunks[k].row + i,
				c->chunks[k].nodes + i * sizeof(struct hl_tag_node));
	return err ? err : fill_root(c, thread, tree);
}

/* The list begins with the newest tree; the report has them in the order of creation. */
static int for_each_tree(
	struct capture *c, int (*each)(struct capture *c, uint32_t thread, uint64_t tree))
{
	uint64_t at = c->trees;
	int err = 0;

	for (uint32_t i = c->r->n_threads; i-- > 0 && !err;) {
		err = each(c, i, at);
		if (!err)
			err = read_at(c, at + offsetof(struct hl_tag_tree, next), &at, sizeof(at));
	}
	return err;
}

static int count_tree(struct capture *c, uint32_t thread, uint64_t tree)
{
	uint32_t rows = 0;
	int err = walk_chunks(c, tree, false, &rows, MAX_NODES);

	c->r->threads[thread].n = rows + 1;
	return err;
}

/* Allocates memory for the rows that were counted. */
static int allocate_rows(struct capture *c)
{
	uint64_t rows = 0;

	for (uint32_t i = 0; i < c->r->n_threads; i++) {
		c->r->threads[i].first = (uint32_t)rows;
		rows += c->r->threads[i].n;
		if (rows > MAX_NODES)
			return -EBADMSG;
	}
	c->r->n_rows = (uint32_t)rows;
	c->r->rows = c->s->alloc(c->s->arg, (rows + 1) * sizeof(*c->r->rows));
	return c->r->rows ? 0 : -ENOMEM;
}

static int read_head(struct capture *c, uint64_t at)
{
	struct hl_tags_head head;
	int err = read_at(c, at, &head, sizeof(head));

	if (err)
		return err;
	if (head.magic != HL_TAGS_MAGIC || head.abi != HL_TAGS_ABI ||
		head.node_bytes != sizeof(struct hl_tag_node))
		return -EPROTO;
	if (!head.running)
		return -ENODATA;
	c->trees = (uintptr_t)atomic_load(&head.trees);
	c->r->charge_owner = head.flags & HL_TAGS_OWNER;
	c->r->start_s = head.start_s;
	c->r->own_bytes = head.own_bytes;
	c->r->before_bytes = head.before_bytes;
	c->r->before_freed = head.before_freed;
	return 0;
}

int hl_tags_capture(const struct hl_tags_source *s, uint64_t head, struct hl_tag_report *r)
{
	struct capture c = {.s = s, .r = r};
	int err = read_head(&c, head);

	if (!err)
		err = count_trees(&c, &r->n_threads);
	if (err)
		return err;
	r->threads = s->alloc(s->arg, (r->n_threads + 1) * sizeof(*r->threads));
	if (!r->threads)
		return -ENOMEM;
	err = for_each_tree(&c, count_tree);
	if (!err)
		err = allocate_rows(&c);
	if (err)
		return err;
	c.chunks = s->alloc(s->arg, (c.n_chunks + 1) * sizeof(*c.chunks));
	c.n_chunks = 0;
	if (!c.chunks)
		return -ENOMEM;
	err = for_each_tree(&c, fill_tree);
	if (!err)
		hl_tag_report_finish(r);
	return err;
}
