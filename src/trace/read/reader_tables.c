/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_tables.c - reads modules, nodes, threads and tags from the TABLE chunks.
 *
 * A lost TABLE chunk leaves a gap in the ids. The definitions found are stored in segments, so
 * memory is proportional to the content of the file and not to the highest id. An undamaged file
 * has one segment. A file that has grown continues where reading ended.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "trace/read/reader_internal.h"

void hl_tables_free(struct hl_tables *t)
{
	hl_vec_free(&t->module_segs);
	hl_vec_free(&t->node_segs);
	hl_vec_free(&t->thread_segs);
	hl_vec_free(&t->modules);
	hl_vec_free(&t->nodes);
	hl_vec_free(&t->threads);
	hl_vec_free(&t->tag_segs);
	hl_vec_free(&t->tags);
	hl_vec_free(&t->role_entries);
	hl_vec_free(&t->roles);
	hl_vec_free(&t->first_roles);
	hl_vec_free(&t->strings);
}

/* Adds ids [first, first + n), which begin at data[at]. Ids never decrease. */
static int add_segment(hl_segments *segs, uint32_t *limit, uint64_t first, uint64_t n, size_t at)
{
	struct hl_segment *last = segs->len ? &segs->data[segs->len - 1] : NULL;

	*limit = (uint32_t)(first + n);
	if (n == 0)
		return 0;
	if (last && last->first + last->n == first) {
		last->n += (uint32_t)n;
		return 0;
	}
	return hl_vec_push(segs, ((struct hl_segment){(uint32_t)first, (uint32_t)n, at}));
}

/* The index of id in its array, or HL_NO_ROW. */
static size_t find_id(const hl_segments *segs, uint32_t id)
{
	size_t lo = 0, hi = segs->len;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		const struct hl_segment *s = &segs->data[mid];

		if (id < s->first)
			hi = mid;
		else if (id - s->first >= s->n)
			lo = mid + 1;
		else
			return s->at + (id - s->first);
	}
	return HL_NO_ROW;
}

static int read_string(
	struct hl_reader *r, struct hl_column_cursor *cur, size_t *string_at, uint32_t *len_out)
{
	struct hl_tables *t = &r->tables;
	uint64_t len = hl_column_cursor_varint(cur);
	const uint8_t *bytes = hl_column_cursor_bytes(cur, len);

	if (!bytes || t->strings.len + len + 1 > HL_STRING_TABLE_MAX(r->data_bytes))
		return -EBADMSG;
	if (hl_vec_reserve(&t->strings, t->strings.len + len + 1) < 0)
		return -ENOMEM;
	*string_at = t->strings.len;
	*len_out = (uint32_t)len;
	memcpy(t->strings.data + t->strings.len, bytes, len);
	t->strings.data[t->strings.len + len] = '\0';
	t->strings.len += len + 1;
	return 0;
}

static int read_modules(
	struct hl_reader *r, struct hl_column_cursor *cur, uint64_t first, uint64_t n)
{
	struct hl_tables *t = &r->tables;
	size_t at = t->modules.len;
	int err = 0;

	for (uint64_t i = 0; i < n && !err; i++) {
		struct hl_module_entry m;
		uint32_t path_len;

		err = read_string(r, cur, &m.path, &path_len);
		if (!err)
			err = read_string(r, cur, &m.build_id, &m.build_id_len);
		if (!err)
			err = hl_vec_push(&t->modules, m);
	}
	if (!err && !hl_column_cursor_done(cur))
		err = -EBADMSG;
	if (err) {
		t->modules.len = at;
		return err;
	}
	return add_segment(&t->module_segs, &t->n_modules, first, n, at);
}

static int read_nodes(
	struct hl_tables *t, struct hl_column_cursor cur[3], uint64_t first, uint64_t n)
{
	uint64_t last_offset[64] = {0};
	size_t at = t->nodes.len;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t up = hl_column_cursor_varint(&cur[0]),
			 module = hl_column_cursor_varint(&cur[1]);
		uint64_t delta = hl_column_cursor_varint(&cur[2]);
		struct hl_node node = {
			.parent = up ? (uint32_t)(first + i - up) : HL_NODE_NONE,
			.module = (uint32_t)module - 1,
		};
		uint64_t *last = &last_offset[node.module & 63];

		/* a parent has a lower id than its child, so there are no cycles */
		if (up > first + i || module > HL_MODULES_MAX || cur[0].bad || cur[1].bad ||
			cur[2].bad) {
			t->nodes.len = at;
			return -EBADMSG;
		}
		node.offset = *last += (uint64_t)hl_unzigzag(delta);
		if (hl_vec_push(&t->nodes, node) < 0)
			return -ENOMEM;
	}
	if (!hl_column_cursor_done(&cur[0]) || !hl_column_cursor_done(&cur[1]) ||
		!hl_column_cursor_done(&cur[2])) {
		t->nodes.len = at;
		return -EBADMSG;
	}
	return add_segment(&t->node_segs, &t->n_nodes, first, n, at);
}

static int read_threads(
	struct hl_tables *t, struct hl_column_cursor *cur, uint64_t first, uint64_t n)
{
	size_t at = t->threads.len;

	for (uint64_t i = 0; i < n && !cur->bad; i++)
		if (hl_vec_push(&t->threads, hl_column_cursor_varint(cur)) < 0)
			return -ENOMEM;
	if (!hl_column_cursor_done(cur)) {
		t->threads.len = at;
		return -EBADMSG;
	}
	return add_segment(&t->thread_segs, &t->n_threads, first, n, at);
}

static int read_tags(struct hl_reader *r, struct hl_column_cursor *cur, uint64_t first, uint64_t n)
{
	struct hl_tables *t = &r->tables;
	size_t at = t->tags.len;
	int err = 0;

	for (uint64_t i = 0; i < n && !err; i++) {
		uint64_t up = hl_column_cursor_varint(cur);
		struct hl_tag_entry tag = {.parent = up ? (uint32_t)(first + i - up) : HL_TAG_NONE};
		uint32_t len;

		/* a parent has a lower id than its child, as with nodes */
		err = up > first + i ? -EBADMSG : read_string(r, cur, &tag.name, &len);
		if (!err)
			err = hl_vec_push(&t->tags, tag);
	}
	if (!err && !hl_column_cursor_done(cur))
		err = -EBADMSG;
	if (err) {
		t->tags.len = at;
		return err;
	}
	return add_segment(&t->tag_segs, &t->n_tags, first, n, at);
}

/* Reads which of the ids [first, first + n) are roles of earlier threads. */
static int read_roles(struct hl_tables *t, struct hl_column_cursor *cur, uint64_t first, uint64_t n)
{
	size_t at = t->role_entries.len;
	uint64_t role = first;

	while (cur->p < cur->end) {
		uint64_t step = hl_column_cursor_varint(cur), back = hl_column_cursor_varint(cur);
		uint64_t tag = hl_column_cursor_varint(cur);
		bool is_duplicate = t->role_entries.len > at && step == 0;

		if (cur->bad || is_duplicate || step >= first + n - role || back == 0 ||
			back > role + step || tag >= t->n_tags) {
			t->role_entries.len = at;
			return -EBADMSG;
		}
		role += step;
		if (hl_vec_push(
			    &t->role_entries, ((struct hl_role_entry){(uint32_t)role,
						      (uint32_t)(role - back), (uint32_t)tag})) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool are_ids_valid(uint64_t first, uint64_t n, uint32_t n_defined, uint32_t max)
{
	return first >= n_defined && first <= max && n <= max - first;
}

static int read_table_chunk(struct hl_reader *r, struct hl_chunk *c)
{
	struct hl_tables *t = &r->tables;
	struct hl_column_cursor cur[8];
	uint64_t v[8] = {0};
	int err;

	for (int i = 0; i < 8; i++) {
		uint16_t id = (uint16_t)(i ? HL_COL_MODULES + i - 1 : HL_COL_NUMBERS);

		if (hl_chunk_column(r, c, id, &cur[i]) == -EBADMSG)
			return -EBADMSG;
	}
	v[6] = t->n_tags; /* default: files without tags do not have these numbers */
	for (int i = 0; i < 8 && (i < 6 || cur[0].p < cur[0].end); i++)
		v[i] = hl_column_cursor_varint(&cur[0]);
	if (cur[0].bad || !are_ids_valid(v[0], v[1], t->n_modules, HL_MODULES_MAX) ||
		!are_ids_valid(v[2], v[3], t->n_nodes, hl_nodes_limit(r->data_bytes)) ||
		!are_ids_valid(v[4], v[5], t->n_threads, hl_threads_limit(r->data_bytes)) ||
		!are_ids_valid(v[6], v[7], t->n_tags, hl_tags_limit(r->data_bytes)))
		return hl_reader_fail(r,
			"Chunk %llu has a table that does not match the preceding chunks.",
			(unsigned long long)c->head.seq);
	err = read_modules(r, &cur[1], v[0], v[1]);
	if (!err)
		err = read_nodes(t, &cur[2], v[2], v[3]);
	if (!err)
		err = read_threads(t, &cur[5], v[4], v[5]);
	if (!err)
		err = read_tags(r, &cur[6], v[6], v[7]);
	if (!err)
		err = read_roles(t, &cur[7], v[4], v[5]);
	return err;
}

/* Assigns numbers to threads, if some ids are only roles. An id whose definition is lost counts as
 * a thread of its own. */
static int number_threads(struct hl_tables *t)
{
	size_t n = t->role_entries.len, next = t->n_numbered;

	if (n == 0)
		return 0;
	if (hl_vec_reserve(&t->roles, t->n_threads) < 0)
		return -ENOMEM;
	for (uint32_t id = (uint32_t)t->roles.len; id < t->n_threads; id++) {
		struct hl_role role = {(uint32_t)t->first_roles.len, HL_TAG_NONE};

		if (next < n && t->role_entries.data[next].role == id) {
			const struct hl_role_entry *e = &t->role_entries.data[next++];

			role = (struct hl_role){t->roles.data[e->first].thread, e->tag};
		} else if (hl_vec_push(&t->first_roles, id) < 0) {
			return -ENOMEM;
		}
		t->roles.data[t->roles.len++] = role;
	}
	t->n_numbered = next;
	return 0;
}

/* Ids that events use count as existing even if their definition is lost. */
static void raise_limits(struct hl_reader *r, size_t from)
{
	uint32_t nodes_max = hl_nodes_limit(r->data_bytes);
	uint32_t threads_max = hl_threads_limit(r->data_bytes);
	struct hl_tables *t = &r->tables;

	for (size_t i = from; i < r->rows.len; i++) {
		const struct hl_chunk_header *h = &r->rows.data[i].head;

		if (h->type != HL_CHUNK_EVENTS)
			continue;
		t->n_nodes = hl_max_u32(t->n_nodes, hl_min_u32((uint32_t)h->aux, nodes_max));
		t->n_threads =
			hl_max_u32(t->n_threads, hl_min_u32((uint32_t)(h->aux >> 32), threads_max));
	}
}

int hl_tables_read(struct hl_reader *r)
{
	const size_t from = r->tables.next_row;
	struct hl_chunk c;
	int err = 0;

	if (r->tables.state)
		return r->tables.state < 0 ? r->tables.state : 0;
	for (size_t i = from; i < r->rows.len && err != -ENOMEM; i++) {
		if (r->rows.data[i].head.type != HL_CHUNK_TABLE)
			continue;
		if (hl_load_chunk(r, i, &c) < 0)
			continue;
		err = read_table_chunk(r, &c);
		if (err == -EBADMSG)
			hl_mark_bad(r, i);
	}
	if (err == -ENOMEM)
		return r->tables.state = err;
	raise_limits(r, from);
	r->tables.next_row = r->rows.len;
	err = number_threads(&r->tables);
	if (err)
		return r->tables.state = err;
	r->tables.state = 1;
	return hl_base_load(r);
}

int hl_reader_n_nodes(struct hl_reader *r, uint32_t *n)
{
	int err = hl_tables_read(r);

	*n = r->tables.n_nodes;
	return err;
}

int hl_reader_n_modules(struct hl_reader *r, uint32_t *n)
{
	int err = hl_tables_read(r);

	*n = r->tables.n_modules;
	return err;
}

int hl_reader_n_threads(struct hl_reader *r, uint32_t *n)
{
	int err = hl_tables_read(r);

	*n = r->tables.roles.len ? (uint32_t)r->tables.first_roles.len : r->tables.n_threads;
	return err;
}

int hl_reader_n_tags(struct hl_reader *r, uint32_t *n)
{
	int err = hl_tables_read(r);

	*n = r->tables.n_tags;
	return err;
}

int hl_reader_roles(struct hl_reader *r, const struct hl_role **roles, uint32_t *n)
{
	int err = hl_tables_read(r);

	*roles = r->tables.roles.len ? r->tables.roles.data : NULL;
	*n = (uint32_t)r->tables.roles.len;
	return err;
}

/* Returns -EINVAL for an id that never existed, -EBADMSG for one whose definition is lost. */
static int find_definition(struct hl_reader *r, const hl_segments *segs, uint32_t n, uint32_t id,
	const char *what, size_t *at)
{
	int err = hl_tables_read(r);

	if (err)
		return err;
	if (id >= n && r->lost_chunks == 0)
		return -EINVAL;
	*at = find_id(segs, id);
	if (*at == HL_NO_ROW)
		return hl_reader_fail(r, "The definition of %s %u is lost.", what, id);
	return 0;
}

int hl_reader_node(struct hl_reader *r, uint32_t id, struct hl_node *node)
{
	size_t at;
	int err = hl_tables_read(r);

	if (!err)
		err = find_definition(r, &r->tables.node_segs, r->tables.n_nodes, id, "node", &at);
	if (!err)
		*node = r->tables.nodes.data[at];
	return err;
}

int hl_reader_module(struct hl_reader *r, uint32_t id, struct hl_module *module)
{
	const struct hl_tables *t = &r->tables;
	size_t at;
	int err = hl_tables_read(r);

	if (!err)
		err = find_definition(r, &t->module_segs, t->n_modules, id, "module", &at);
	if (err)
		return err;
	*module = (struct hl_module){
		.path = (const char *)t->strings.data + t->modules.data[at].path,
		.build_id = t->strings.data + t->modules.data[at].build_id,
		.build_id_len = t->modules.data[at].build_id_len,
	};
	return 0;
}

int hl_reader_tag(struct hl_reader *r, uint32_t id, struct hl_tag *tag)
{
	const struct hl_tables *t = &r->tables;
	size_t at;
	int err = hl_tables_read(r);

	if (!err)
		err = find_definition(r, &t->tag_segs, t->n_tags, id, "tag", &at);
	if (!err)
		*tag = (struct hl_tag){
			.name = (const char *)t->strings.data + t->tags.data[at].name,
			.parent = t->tags.data[at].parent};
	return err;
}

int hl_reader_thread(struct hl_reader *r, uint32_t number, uint64_t *tid)
{
	const struct hl_tables *t = &r->tables;
	uint32_t id = number;
	size_t at;
	int err = hl_tables_read(r);

	if (!err && t->roles.len)
		id = number < t->first_roles.len ? t->first_roles.data[number] : t->n_threads;
	if (!err)
		err = find_definition(
			r, &r->tables.thread_segs, r->tables.n_threads, id, "thread", &at);
	if (!err)
		*tid = r->tables.threads.data[at];
	return err;
}
