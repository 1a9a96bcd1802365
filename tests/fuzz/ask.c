/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.c - runs every query that the reader and the model support on a file with arbitrary content.
 *
 * The results are not compared with expected values, but they must be consistent with each other.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/bits.h"
#include "fuzz.h"
#include "model/scan/aggregated.h"
#include "model/scan/realloc_chains.h"
#include "model/views/site_history.h"
#include "model/query/sums_by_keys.h"
#include "model/query/filter_names.h"
#include "model/views/filtered_peak.h"
#include "model/views/address_rows.h"
#include "model/stack/group_tree.h"
#include "model/views/snapshots.h"
#include "model/views/page_usage.h"
#include "model/views/resident.h"
#include "model/views/source_lines.h"
#include "model/views/freeing_sites.h"
#include "model/blocks/block_groups.h"
#include "model/blocks/block_list.h"
#include "model/stack/flat_table.h"
#include "model/views/marks.h"
#include "model/views/mappings.h"
#include "model/views/site_stats.h"
#include "model/slice/slice.h"
#include "model/views/thread_stats.h"
#include "model/stack/tree.h"
#include "trace/read/event_text.h"
#include "trace/edit/append_files.h"
#include "trace/format/format_internal.h"
#include "trace/read/map_cursor.h"
#include "trace/read/reader.h"

/* Chunks and nodes are checked one by one up to this number; a fuzzer's file need not have many. */
#define FEW 64u

static void ask_chunk(struct hl_reader *r, size_t i)
{
	static const unsigned wants[] = {
		HL_WANT_ALL, 0, HL_WANT_NODE, HL_WANT_TIME | HL_WANT_FUNC | HL_WANT_ADDR};
	struct hl_chunk_events c = {0};
	struct hl_summary sum = {0};
	struct hl_roles roles = {0};
	char line[HL_EVENT_TEXT_MAX];

	hl_reader_roles(r, &roles.list, &roles.n);
	for (size_t w = 0; w < HL_ARRAY_LEN(wants); w++) {
		if (hl_reader_decode_some(r, i, wants[w], &c) != 0) {
			FUZZ_MUST(c.n_events == 0 && c.n_extras == 0);
			continue;
		}
		FUZZ_MUST(c.n_events == hl_reader_chunk(r, i)->n_events);
		if (wants[w] != HL_WANT_ALL)
			continue;
		for (size_t k = 0; k < c.n_events; k++)
			FUZZ_MUST(hl_event_text_event(line, sizeof(line), &c.events[k], &roles) <
				  HL_EVENT_TEXT_MAX);
		for (size_t k = 0; k < c.n_extras; k++) {
			FUZZ_MUST(c.extras_at[k] <= c.n_events);
			hl_event_text_extra(line, sizeof(line), &c.extras[k], &roles);
		}
	}
	hl_reader_summary(r, i, &sum);
	hl_summary_free(&sum);
	hl_chunk_events_free(&c);
}

static void ask_tables(struct hl_reader *r)
{
	uint32_t nodes = 0, modules = 0, threads = 0, tags = 0;
	struct hl_roles roles = {0};
	struct hl_tag tag;
	struct hl_module m;
	struct hl_node n;
	uint64_t tid;

	hl_reader_n_nodes(r, &nodes);
	hl_reader_n_modules(r, &modules);
	hl_reader_n_threads(r, &threads);
	for (uint32_t i = 0; i < nodes && i < FEW; i++)
		if (hl_reader_node(r, i, &n) == 0)
			FUZZ_MUST(n.parent == HL_NODE_NONE || n.parent < i);
	for (uint32_t i = 0; i < modules && i < FEW; i++)
		if (hl_reader_module(r, i, &m) == 0)
			FUZZ_MUST(m.path && m.build_id);
	for (uint32_t i = 0; i < threads && i < FEW; i++)
		hl_reader_thread(r, i, &tid);
	hl_reader_n_tags(r, &tags);
	hl_reader_roles(r, &roles.list, &roles.n);
	for (uint32_t i = 0; i < tags && i < FEW; i++)
		if (hl_reader_tag(r, i, &tag) == 0)
			FUZZ_MUST(tag.name && (tag.parent == HL_TAG_NONE || tag.parent < i));
	for (uint32_t i = 0; i < roles.n; i++)
		FUZZ_MUST(roles.list[i].thread < threads &&
			  (roles.list[i].tag == HL_TAG_NONE || roles.list[i].tag < tags));
	hl_reader_tag(r, UINT32_MAX, &tag);
	hl_reader_node(r, UINT32_MAX, &n);
}

static void ask_keyframes(struct hl_reader *r)
{
	uint32_t nodes = 0;
	struct hl_node_totals *totals;
	struct hl_snapshot_info snapshot;
	struct hl_sums *withheld;
	struct hl_totals all;

	hl_reader_n_nodes(r, &nodes);
	totals = calloc((size_t)nodes + 1, sizeof(*totals));
	withheld = calloc((size_t)nodes + 1, sizeof(*withheld));
	FUZZ_MUST(totals && withheld);
	for (size_t i = 0; i < hl_reader_n_keyframes(r) && i < FEW; i++) {
		hl_reader_load_keyframe(r, i, totals, nodes);
		hl_reader_keyframe_totals(r, i, &all);
		hl_reader_load_aggregated(r, i, withheld, NULL, nodes);
		if (hl_reader_snapshot(r, i, &snapshot) == 0)
			free(snapshot.label);
	}
	free(withheld);
	free(totals);
}

/* Names and embedded files. */
static void ask_embedded(struct hl_reader *r)
{
	const struct hl_name_frame *frames;
	struct hl_embedded_file file;
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	size_t n = 0, len;

	hl_reader_n_files(r, &n);
	for (size_t i = 0; i < n && i < FEW; i++) {
		FUZZ_MUST(hl_reader_file(r, i, &file) == 0 && file.path[strlen(file.path)] == 0);
		hl_reader_copy_file(r, i, fd);
	}
	close(fd);
	FUZZ_MUST(hl_reader_file(r, n, &file) < 0);
	if (hl_reader_names(r, 0, 16, &frames, &len) == 0)
		for (size_t i = 0; i < len; i++)
			FUZZ_MUST(frames[i].function != NULL);
}

static void must_be_complete(int fd)
{
	const struct hl_trace_info *info;
	struct hl_reader_refusal why;
	struct hl_reader *r;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	FUZZ_MUST(hl_reader_open(&r, path, &why) == 0);
	FUZZ_MUST(hl_reader_verify(r, NULL) == 0 && hl_reader_info(r, &info) == 0);
	FUZZ_MUST(!info->damaged);
	hl_reader_close(r);
}

/* Adds an embedded file: a complete trace must stay complete. */
static void ask_extend(struct hl_reader *r)
{
	const struct hl_embedded_file file = {.path = "/a", .size = 100};
	int fd = memfd_create("extended", MFD_CLOEXEC), keep = dup(fd);
	int data = memfd_create("data", MFD_CLOEXEC);
	struct hl_append_files *x;

	FUZZ_MUST(keep >= 0 && ftruncate(data, 100) == 0);
	if (hl_append_files_begin(&x, r, fd) == 0) {
		FUZZ_MUST(hl_append_files_add_file(x, &file, data) == 0);
		FUZZ_MUST(hl_append_files_end(x) == 0);
		must_be_complete(keep);
	} else {
		close(fd);
	}
	close(data);
	close(keep);
}

/* The rules that hold for every sample, also of a forged file. */
static void ask_map_samples(struct hl_reader *r)
{
	const struct hl_map_sample *s = NULL;
	struct hl_map_cursor *c;
	uint64_t time = 0;

	FUZZ_MUST(hl_map_cursor_open(&c, r) == 0);
	while (hl_map_cursor_next(c, &s) == 0 && s) {
		FUZZ_MUST(s->time_ns >= time && s->n <= HL_MAPS_MAX);
		time = s->time_ns;
		for (size_t i = 0; i < s->n; i++) {
			const struct hl_map_entry *m = &s->maps[i];

			FUZZ_MUST(m->start < m->end && (!i || m->start >= m[-1].end));
			FUZZ_MUST(m->perms < 16 && strlen(m->name) <= HL_MAP_NAME_MAX);
			for (unsigned k = 0; k < HL_MAP_AMOUNTS; k++)
				FUZZ_MUST(m->kib[k] < HL_MAP_AMOUNT_MAX);
		}
	}
	hl_map_cursor_close(c);
}

void fuzz_ask_reader(const char *path)
{
	struct hl_reader_refusal why;
	const struct hl_trace_info *info;
	struct hl_live_block *live;
	struct hl_rss_sample *rss;
	struct hl_reader *r;
	size_t n;

	if (hl_reader_open(&r, path, &why) != 0) {
		FUZZ_MUST(why.text[0] && why.text[strlen(why.text) - 1] == '.');
		return;
	}
	FUZZ_MUST(hl_reader_info(r, &info) == 0);
	ask_tables(r);
	ask_keyframes(r);
	for (size_t i = 0; i < hl_reader_n_chunks(r) && i < FEW; i++)
		ask_chunk(r, i);
	for (size_t i = 0; i < hl_reader_n_live_sets(r) && i < FEW; i++)
		if (hl_reader_load_live_set(r, i, &live, &n) == 0)
			free(live);
	hl_reader_rss(r, &rss, &n);
	free(rss);
	ask_map_samples(r);
	ask_embedded(r);
	FUZZ_MUST(hl_reader_verify(r, NULL) == 0 && hl_reader_info(r, &info) == 0);
	FUZZ_MUST(info->damaged == (info->damage[0] != '\0'));
	ask_extend(r);
	hl_reader_close(r);
}

static struct hl_byte_source *make_source(const uint8_t *data, size_t size)
{
	struct hl_byte_source *s;

	FUZZ_MUST(hl_byte_source_from_memory(&s, data, size) == 0);
	s->growing = true;
	return s;
}

static void set_length(struct hl_byte_source *s, size_t len)
{
	s->bytes = s->data_bytes = len;
}

static void ask_grown(struct hl_reader *r)
{
	const struct hl_trace_info *info;
	struct hl_chunk_events c = {0};

	FUZZ_MUST(hl_reader_info(r, &info) == 0);
	FUZZ_MUST(info->damaged == (info->damage[0] != '\0'));
	ask_tables(r);
	ask_keyframes(r);
	if (hl_reader_n_chunks(r) > 0)
		(void)hl_reader_decode(r, hl_reader_n_chunks(r) - 1, &c);
	hl_chunk_events_free(&c);
}

/* As long as nothing is damaged, a reader that has grown has the lists of a new one. */
static void must_be_like_new(struct hl_reader *r, const uint8_t *data, size_t size, size_t len)
{
	struct hl_byte_source *s = make_source(data, size);
	const struct hl_trace_info *a, *b;
	struct hl_reader_refusal why;
	struct hl_reader *fresh;

	set_length(s, len);
	if (hl_reader_open_source(&fresh, s, "t", &why) != 0)
		return;
	FUZZ_MUST(hl_reader_info(r, &a) == 0 && hl_reader_info(fresh, &b) == 0);
	if (!a->damaged && !b->damaged) {
		FUZZ_MUST(hl_reader_n_chunks(r) == hl_reader_n_chunks(fresh));
		FUZZ_MUST(hl_reader_n_keyframes(r) == hl_reader_n_keyframes(fresh));
		FUZZ_MUST(hl_reader_n_live_sets(r) == hl_reader_n_live_sets(fresh));
	}
	hl_reader_close(fresh);
}

#define GROW_STEPS 5

void fuzz_ask_growing(const uint8_t *data, size_t size)
{
	struct hl_byte_source *s = make_source(data, size);
	struct hl_refreshed found;
	struct hl_reader_refusal why;
	struct hl_reader *r;
	int err = 0;

	set_length(s, size / GROW_STEPS);
	if (hl_reader_open_source(&r, s, "t", &why) != 0)
		return;
	for (size_t i = 1; i <= GROW_STEPS && !err; i++) {
		ask_grown(r);
		set_length(s, size * i / GROW_STEPS);
		s->growing = i < GROW_STEPS || size % 2;
		err = hl_reader_refresh(r, &found);
		FUZZ_MUST(err != -ENOMEM);
		if (!err && s->growing)
			must_be_like_new(r, data, size, size * i / GROW_STEPS);
	}
	if (!err)
		ask_grown(r);
	hl_reader_close(r);
}

static void ask_query(struct hl_model *m, const struct hl_query *q)
{
	struct hl_answer a;

	if (hl_model_query(m, q, &a) != 0)
		return;
	if (q->key == HL_KEY_STACK) {
		struct hl_tree tree;
		struct hl_table table;
		struct hl_site_stat *stats = NULL;

		if (hl_tree_build(&tree, m, &a,
			    &(struct hl_tree_opts){.with_called_functions = true}) == 0)
			hl_tree_fini(&tree);
		if (hl_table_build(&table, m, &a, HL_GROUP_SITE, true) == 0) {
			hl_table_sort(&table, HL_SORT_BYTES);
			hl_sites_stats(m, &table, hl_min_u64(table.n, 8), NULL, &stats);
			free(stats);
			hl_table_fini(&table);
		}
	}
	hl_answer_fini(&a);
}

static void ask_log(struct hl_model *m)
{
	struct hl_snapshot_changes page;
	struct hl_snapshot_list *log;

	if (hl_snapshot_list_new(&log, m) != 0)
		return;
	for (size_t i = 1; i <= hl_snapshot_list_n(log) && i <= FEW; i++) {
		if (hl_snapshot_list_changes(log, i - 1, i, HL_SNAPSHOT_LIST_CHURN, &page) != 0)
			continue;
		for (size_t k = 0; k < page.n; k++)
			FUZZ_MUST(page.sources[k].total.free_bytes <=
				  page.sources[k].total.alloc_bytes);
	}
	hl_snapshot_list_free(log);
}

static int check_block(void *arg, const struct hl_block *b)
{
	uint64_t *blocks = arg;

	FUZZ_MUST(b->free_ns == UINT64_MAX || b->blocks > 0);
	*blocks += b->blocks;
	return 0;
}

/* The blocks of all freeing functions add up to the total. */
static void ask_freed_by(struct hl_model *m)
{
	struct hl_query q = {.quantity = HL_QUANTITY_ALLOCATED, .to = {.kind = HL_TIME_SPEC_END}};
	struct hl_freed_by f;
	uint64_t blocks = 0;

	if (hl_freed_by(&f, m, &q) != 0)
		return;
	for (size_t i = 0; i < f.n_freeings; i++)
		blocks += f.freeings[i].value.blocks;
	FUZZ_MUST(blocks == f.answer.total.blocks);
	hl_freed_by_fini(&f);
}

/* Pages in each order, and groups: they add up to the total. */
static void ask_blocks(struct hl_model *m)
{
	struct hl_query q = {.quantity = HL_QUANTITY_ALLOCATED, .to = {.kind = HL_TIME_SPEC_END}};
	struct hl_block_groups groups;
	uint64_t blocks = 0;

	for (unsigned k = 0; k < 8; k++) {
		const struct hl_block_page page = {.order = (enum hl_block_order)(k / 2),
			.reverse = k % 2,
			.offset = k,
			.limit = FEW};
		struct hl_block_list l;

		if (hl_block_list(&l, m, &q, &page) != 0)
			continue;
		FUZZ_MUST(l.n <= FEW && (!l.more || l.n == FEW));
		hl_block_list_fini(&l);
	}
	if (hl_block_groups(&groups, m, &q, HL_GROUP_ORDER_RUN_PEAK, false) != 0)
		return;
	for (size_t i = 0; i < groups.n; i++)
		blocks += groups.rows[i].value.blocks;
	FUZZ_MUST(blocks == groups.answer.total.blocks);
	hl_block_groups_fini(&groups);
}

static void ask_chains(struct hl_model *m)
{
	if (hl_model_load_chains(m) != 0)
		return;
	for (uint64_t i = 0; i < FEW; i++) {
		struct hl_chain c =
			hl_chain_of(m, &(struct hl_block){.ordinal = i, .pool = UINT32_MAX});

		FUZZ_MUST(c.position >= 1);
	}
}

static void ask_mmaps(struct hl_model *m)
{
	struct hl_mapping_list list;

	if (hl_mappings_largest(m, NULL, FEW, &list) != 0)
		return;
	FUZZ_MUST(list.maps.len <= FEW && list.maps.len <= list.sums.n);
	hl_mapping_list_fini(&list);
}

/* Each block is in one row. */
static void ask_address_space(struct hl_model *m, const struct hl_time_spec *when)
{
	struct hl_address_space s;
	struct hl_value all = {0};

	if (hl_address_space_at(&s, m, when, NULL) == 0) {
		for (size_t i = 0; i < s.n_rows; i++) {
			FUZZ_MUST(s.rows[i].start <= s.rows[i].end);
			FUZZ_MUST(s.rows[i].largest_gap <= s.rows[i].free_bytes);
			hl_value_add(&all, &s.rows[i].all);
		}
		FUZZ_MUST(all.blocks == s.all.blocks && all.bytes == s.all.bytes);
	}
	hl_address_space_fini(&s);
}

/* The own blocks of the lines of a file add up to its row. No file of this machine is read. */
static void ask_source(struct hl_model *m)
{
	static const struct hl_source_places nowhere = {.only_roots = true};
	const struct hl_query q = {
		.quantity = HL_QUANTITY_ALLOCATED, .to = {.kind = HL_TIME_SPEC_END}};
	struct hl_answer a;
	struct hl_table t;

	hl_model_set_sources(m, &nowhere);
	if (hl_model_query(m, &q, &a) != 0)
		return;
	if (hl_table_build(&t, m, &a, HL_GROUP_FILE, false) == 0) {
		for (size_t i = 0; i < t.n && i < 4; i++) {
			const char *name = t.rows[i].name;
			struct hl_source_lines s;
			uint64_t own = 0;

			if (hl_source_lines_make(&s, m, &a, name, strlen(name)) == 0) {
				for (size_t k = 0; k < s.n; k++)
					own += s.lines[k].own.bytes;
				FUZZ_MUST(own == s.own.bytes && own <= s.value.bytes);
				FUZZ_MUST(own == t.rows[i].value.bytes);
			}
			hl_source_lines_fini(&s);
		}
		hl_table_fini(&t);
	}
	hl_answer_fini(&a);
}

static void ask_resident(struct hl_model *m, uint64_t moment_ns)
{
	struct hl_time_range all = hl_time_range_all(m);
	struct hl_resident_point points[FEW];
	struct hl_resident x;
	uint64_t maps = 0, rss = 0;

	if (hl_resident_at(&x, m, moment_ns, &all, NULL, points, FEW) == 0) {
		for (size_t i = 0; i < x.n_groups; i++) {
			maps += x.groups[i].maps;
			rss += x.groups[i].use.rss;
		}
		FUZZ_MUST(maps == x.n_maps && rss == x.use.rss);
	}
	hl_resident_fini(&x);
}

/* The lifetimes of the heap's blocks, and of those of all pools, as exports read them. */
static void ask_lifetimes(struct hl_model *m, const struct hl_pattern *pool)
{
	struct hl_query q[2] = {
		{.quantity = HL_QUANTITY_ALLOCATED, .to = {.kind = HL_TIME_SPEC_END}, .pool = pool},
		{.quantity = HL_QUANTITY_LIVE, .to = {.kind = HL_TIME_SPEC_END}, .pool = pool}};
	struct hl_site_histories courses;
	struct hl_cross_sums cross[2];

	for (int i = 0; i < 2; i++) {
		uint64_t blocks = 0;
		struct hl_lifetimes l = {.query = &q[i], .block = check_block, .arg = &blocks};

		if (hl_model_lifetimes(m, &l) == 0)
			FUZZ_MUST(blocks == l.allocated.blocks);
	}
	hl_model_site_histories(&courses, m, &q[0], NULL);
	hl_site_histories_fini(&courses);
	for (int i = 0; i < 2 && !pool && hl_model_has_aggregated(m); i++) {
		struct hl_aggregated rest;

		if (hl_aggregated_begin(&rest, m, &q[i]) == 0) {
			hl_model_site_histories(&courses, m, &q[i], &rest);
			hl_site_histories_fini(&courses);
		}
		hl_aggregated_fini(&rest);
	}
	hl_model_cross_sums(m, q, cross, 2);
	for (int i = 0; i < 2; i++)
		hl_cross_sums_fini(&cross[i]);
}

/*
 * By group: groups of code, of roles, and one that needs every event. Their sums equal the total.
 */
static void ask_groups(struct hl_model *m)
{
	static const enum hl_group groups[] = {HL_GROUP_SITE, HL_GROUP_TAG, HL_GROUP_LIFETIME};

	for (size_t i = 0; i < HL_ARRAY_LEN(groups); i++) {
		const struct hl_query q = {
			.quantity = i % 2 ? HL_QUANTITY_LIVE : HL_QUANTITY_ALLOCATED,
			.to = {.kind = HL_TIME_SPEC_END}};
		struct hl_grouped_stacks d;
		struct hl_tree tree;

		if (hl_model_group_stacks(m, &q, groups[i], &d) == 0 &&
			hl_tree_build_grouped(&tree, m, &d,
				&(struct hl_tree_opts){.inverted = i == 0, .depth = 16}) == 0) {
			FUZZ_MUST(tree.nodes[0].total.blocks == d.by_stack.total.blocks);
			hl_tree_fini(&tree);
		}
		hl_grouped_stacks_fini(&d);
	}
}

/* No value of a range exceeds the peak of the run. */
static void ask_range(struct hl_model *m, struct hl_filter *filter)
{
	uint64_t end = hl_model_end_ns(m);
	const struct hl_time_range range = {end / 3, end / 2};
	struct hl_timeline_bin columns[8];
	struct hl_peak peak;

	if (hl_timeline_range(m, filter, &range, columns, HL_ARRAY_LEN(columns), &peak) != 0)
		return;
	for (size_t k = 0; k < HL_ARRAY_LEN(columns) && filter; k++)
		FUZZ_MUST(columns[k].max_bytes <= peak.bytes);
}

static void ask_names(struct hl_model *m, struct hl_filter *filter)
{
	hl_unmatched_terms unmatched = {0};

	hl_filter_find_unmatched(filter, m, &unmatched);
	hl_unmatched_terms_free(&unmatched);
}

/* Filters by allocation, by free and by stack. The peak is the highest column. */
static void ask_curves(struct hl_model *m)
{
	static const char *const filters[] = {
		"size:>=8", "life:<1ms", "fn:0x", "fn:mian,tag:a module:lib thread:x"};

	for (size_t i = 0; i < HL_ARRAY_LEN(filters); i++) {
		struct hl_filter_error error;
		struct hl_timeline_bin columns[8];
		struct hl_filter *filter;
		struct hl_peak peak;
		uint64_t most = 0;

		FUZZ_MUST(hl_filter_parse(&filter, filters[i], &error) == 0);
		if (hl_timeline(m, filter, columns, HL_ARRAY_LEN(columns), &peak) == 0) {
			for (size_t k = 0; k < HL_ARRAY_LEN(columns); k++)
				most = hl_max_u64(most, columns[k].max_bytes);
			FUZZ_MUST(most == peak.bytes);
			ask_query(m, &(struct hl_query){.filter = filter, .to = peak.when});
			ask_range(m, filter);
			ask_names(m, filter);
		}
		hl_filter_free(filter);
	}
}

/* A slice of any trace is a complete trace. */
static void ask_slice(struct hl_model *m, enum hl_anonymity anonymity)
{
	const struct hl_slice s = {
		.from = {.kind = anonymity ? HL_TIME_SPEC_NS : HL_TIME_SPEC_PERCENT, .percent = 30},
		.to = {.kind = HL_TIME_SPEC_END},
		.anonymity = anonymity};
	int fd = memfd_create("slice", MFD_CLOEXEC), keep = dup(fd);
	struct hl_slice_done done;

	FUZZ_MUST(keep >= 0);
	if (hl_slice_write(m, &s, fd, &done) == 0)
		must_be_complete(keep);
	close(keep);
}

/* Whether the trace can answer, which a plan asks before a part is run. A refusal has a reason. */
static void ask_checks(struct hl_model *m)
{
	for (unsigned k = 0; k < 4; k++) {
		const struct hl_query q = {
			.quantity = (enum hl_quantity)k, .to = {.kind = HL_TIME_SPEC_END}};
		const int found[] = {hl_freed_by_check(m, &q), hl_block_list_check(m, &q),
			hl_block_groups_check(m, &q), hl_aggregated_check(m, &q),
			hl_mappings_check(m, NULL), hl_model_check_base(m)};

		for (size_t i = 0; i < HL_ARRAY_LEN(found); i++)
			FUZZ_MUST(found[i] <= 0 && (found[i] == 0 || hl_model_error(m)[0]));
	}
}

void fuzz_ask_model(const char *path)
{
	static const struct hl_time_spec times[] = {{.kind = HL_TIME_SPEC_NS},
		{.kind = HL_TIME_SPEC_PEAK}, {.kind = HL_TIME_SPEC_PERCENT, .percent = 50},
		{.kind = HL_TIME_SPEC_END}};
	struct hl_reader_refusal why;
	struct hl_fragmentation f;
	struct hl_timeline_bin columns[8];
	struct hl_peak peak;
	const struct hl_mark *marks;
	struct hl_threads threads;
	struct hl_pattern_error error = {0};
	struct hl_pattern *pool;
	struct hl_model *m;
	size_t n;

	if (hl_model_open(&m, path, &why) != 0)
		return;
	for (unsigned i = 0; i < 8;
		i++) /* each quantity and each key, but not every pair of them */
		ask_query(m, &(struct hl_query){.quantity = (enum hl_quantity)(i % 4),
				     .key = (enum hl_key)(i < 3 ? HL_KEY_STACK : i - 2),
				     .from = times[i & 4 ? 0 : 2],
				     .to = times[1 + i % 3]});
	ask_checks(m);
	hl_model_marks(m, &marks, &n);
	ask_log(m);
	hl_timeline(m, NULL, columns, HL_ARRAY_LEN(columns), &peak);
	ask_range(m, NULL);
	ask_curves(m);
	if (hl_threads_build(&threads, m, NULL) == 0)
		hl_threads_fini(&threads);
	if (hl_fragmentation_at(&f, m, &times[3], NULL) == 0)
		hl_fragmentation_fini(&f);
	ask_freed_by(m);
	ask_blocks(m);
	ask_chains(m);
	ask_mmaps(m);
	ask_source(m);
	ask_address_space(m, &times[3]);
	ask_resident(m, hl_time_spec_ns(&times[3], m));
	ask_resident(m, HL_RESIDENT_HIGHEST);
	ask_lifetimes(m, NULL);
	ask_groups(m);
	FUZZ_MUST(hl_pattern_new(&pool, "*", 1, &error) == 0);
	ask_lifetimes(m, pool);
	hl_pattern_free(pool);
	ask_slice(m, HL_NAMES_KEPT);
	ask_slice(m, HL_ANONYMIZE_NAMES);
	ask_slice(m, HL_ANONYMIZE_ALL);
	hl_model_close(m);
}
