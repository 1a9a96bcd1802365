/* SPDX-License-Identifier: Apache-2.0 */
/* truth.c - reads a complete trace, to store it or to compare it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "truth.h"

#define MUST(x)                                                                         \
	do {                                                                            \
		if (!(x)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

void truth_read(struct truth *t, const char *path)
{
	struct hl_reader_refusal why;
	const struct hl_trace_info *info;
	struct hl_reader *r;

	memset(t, 0, sizeof(*t));
	MUST(hl_reader_open(&r, path, &why) == 0);
	MUST(hl_reader_info(r, &info) == 0 && !info->damaged && info->has_end);
	t->info = *info;
	t->n_chunks = hl_reader_n_chunks(r);
	t->chunks = calloc(t->n_chunks, sizeof(*t->chunks));
	for (size_t i = 0; i < t->n_chunks; i++) {
		t->chunks[i].info = *hl_reader_chunk(r, i);
		MUST(hl_reader_decode(r, i, &t->chunks[i].events) == 0);
		if (t->chunks[i].info.has_summary)
			MUST(hl_reader_summary(r, i, &t->chunks[i].summary) == 0);
	}
	/* A role whose definition is lost is a thread of its own. */
	MUST(hl_reader_roles(r, &(const struct hl_role *){NULL}, &t->n_threads) == 0 &&
		t->n_threads > 0);
	MUST(hl_reader_n_nodes(r, &t->n_nodes) == 0 && hl_reader_n_tags(r, &t->n_tags) == 0 &&
		hl_reader_n_modules(r, &t->n_modules) == 0);
	t->nodes = calloc(t->n_nodes, sizeof(*t->nodes));
	for (uint32_t i = 0; i < t->n_nodes; i++)
		MUST(hl_reader_node(r, i, &t->nodes[i]) == 0);
	t->n_keyframes = hl_reader_n_keyframes(r);
	t->keyframes = calloc(t->n_keyframes, sizeof(*t->keyframes));
	for (size_t i = 0; i < t->n_keyframes; i++) {
		struct truth_keyframe *k = &t->keyframes[i];

		k->info = *hl_reader_keyframe(r, i);
		k->nodes = calloc(t->n_nodes, sizeof(*k->nodes));
		MUST(hl_reader_load_keyframe(r, i, k->nodes, t->n_nodes) == 0);
		MUST(hl_reader_keyframe_totals(r, i, &k->totals) == 0);
	}
	MUST(hl_reader_n_live_sets(r) == 1);
	MUST(hl_reader_load_live_set(r, 0, &t->live, &t->n_live) == 0);
	MUST(hl_reader_rss(r, &t->rss, &t->n_rss) == 0);
	hl_reader_close(r);
}

void truth_free(struct truth *t)
{
	for (size_t i = 0; i < t->n_chunks; i++) {
		hl_chunk_events_free(&t->chunks[i].events);
		hl_summary_free(&t->chunks[i].summary);
	}
	for (size_t i = 0; i < t->n_keyframes; i++)
		free(t->keyframes[i].nodes);
	free(t->chunks);
	free(t->keyframes);
	free(t->nodes);
	free(t->live);
	free(t->rss);
}

static const struct truth_chunk *true_chunk(const struct truth *t, uint64_t seq)
{
	for (size_t i = 0; i < t->n_chunks; i++)
		if (t->chunks[i].info.seq == seq)
			return &t->chunks[i];
	return NULL;
}

static bool same_extras(const struct hl_chunk_events *a, const struct hl_chunk_events *b)
{
	if (a->n_extras != b->n_extras)
		return false;
	for (size_t i = 0; i < a->n_extras; i++) {
		struct hl_extra x = a->extras[i], y = b->extras[i];
		bool text = x.text && y.text ? strcmp(x.text, y.text) == 0 : x.text == y.text;

		if (!text || x.time_ns != y.time_ns || x.addr != y.addr || x.size != y.size ||
			x.value != y.value || x.value2 != y.value2 || x.thread != y.thread ||
			x.node != y.node || x.kind != y.kind || a->extras_at[i] != b->extras_at[i])
			return false;
	}
	return true;
}

static bool same_info(const struct hl_chunk_info *a, const struct hl_chunk_info *b)
{
	return a->first_event == b->first_event && a->first_ordinal == b->first_ordinal &&
	       a->n_events == b->n_events && a->n_extras == b->n_extras && a->t0_ns == b->t0_ns &&
	       a->t1_ns == b->t1_ns && a->live_bytes == b->live_bytes &&
	       a->live_blocks == b->live_blocks && a->max_live_bytes == b->max_live_bytes &&
	       a->has_summary == b->has_summary;
}

/* If a part of a base is lost, so are the ordinals of its blocks. */
static bool same_events(const struct hl_chunk_events *a, const struct hl_chunk_events *b,
	const struct hl_base *base)
{
	if (a->n_events != b->n_events)
		return false;
	for (size_t i = 0; i < a->n_events; i++) {
		struct hl_event e = a->events[i];

		if (e.ordinal < base->blocks && b->events[i].ordinal < base->blocks)
			e.ordinal = b->events[i].ordinal;
		if (memcmp(&e, &b->events[i], sizeof(e)))
			return false;
	}
	return true;
}

static bool base_is_lost(const struct hl_reader *r)
{
	for (size_t i = 0; i < hl_reader_n_base_chunks(r); i++)
		if (hl_reader_chunk(r, i)->lost)
			return true;
	return false;
}

static void compare_chunks(const struct truth *t, struct hl_reader *r, struct seen *s)
{
	static const struct hl_base none;
	struct hl_chunk_events c = {0};
	struct hl_summary sum = {0};

	for (size_t i = 0; i < hl_reader_n_chunks(r); i++) {
		struct hl_chunk_info info = *hl_reader_chunk(r, i);
		const struct truth_chunk *want = true_chunk(t, info.seq);

		if (hl_reader_decode(r, i, &c) == 0) {
			s->good_chunks++;
			if (!want || !same_info(&info, &want->info) ||
				!same_events(&c, &want->events,
					base_is_lost(r) ? &t->info.meta.base : &none) ||
				c.follows_alloc != want->events.follows_alloc ||
				!same_extras(&c, &want->events))
				s->wrong = "a chunk was read, but not as it was written";
		} else {
			s->bad_chunks++;
			if (!hl_reader_error(r)[0])
				s->wrong = "a chunk was refused without a word";
			if (!hl_reader_chunk(r, i)->lost)
				s->wrong = "an unreadable chunk is not called lost";
		}
		if (hl_reader_summary(r, i, &sum) == 0) {
			s->good_summaries++;
			if (!want || sum.n != want->summary.n ||
				memcmp(sum.rows, want->summary.rows, sum.n * sizeof(*sum.rows)))
				s->wrong = "a summary was read, but not as it was written";
		}
	}
	hl_chunk_events_free(&c);
	hl_summary_free(&sum);
}

static void compare_tables(const struct truth *t, struct hl_reader *r, struct seen *s)
{
	uint32_t nodes = 0, threads = 0, modules = 0, tags = 0;
	struct hl_module m;
	struct hl_tag tag;
	struct hl_node n;
	uint64_t tid;

	hl_reader_n_nodes(r, &nodes);
	hl_reader_n_threads(r, &threads);
	hl_reader_n_modules(r, &modules);
	hl_reader_n_tags(r, &tags);
	if (nodes > t->n_nodes || threads > t->n_threads || modules > t->n_modules ||
		tags > t->n_tags)
		s->wrong = "tables are longer than they were";
	for (uint32_t i = 0; i < nodes; i++) {
		if (hl_reader_node(r, i, &n))
			continue;
		s->nodes++;
		if (memcmp(&n, &t->nodes[i], sizeof(n)))
			s->wrong = "a node is another one";
	}
	for (uint32_t i = 0; i < threads; i++)
		s->threads += hl_reader_thread(r, i, &tid) == 0;
	for (uint32_t i = 0; i < modules; i++)
		s->modules += hl_reader_module(r, i, &m) == 0;
	for (uint32_t i = 0; i < tags; i++) {
		if (hl_reader_tag(r, i, &tag) == 0 && strcmp(tag.name, i ? "inner" : "outer") != 0)
			s->wrong = "a tag is another one";
	}
}

static void compare_keyframes(const struct truth *t, struct hl_reader *r, struct seen *s)
{
	struct hl_node_totals *nodes = calloc(t->n_nodes + 1, sizeof(*nodes));
	struct hl_totals totals;
	size_t k = 0;

	for (size_t i = 0; i < hl_reader_n_keyframes(r); i++) {
		const struct hl_keyframe_info *info = hl_reader_keyframe(r, i);

		if (hl_reader_load_keyframe(r, i, nodes, t->n_nodes) != 0) {
			if (!info->lost)
				s->wrong = "an unreadable keyframe is not called lost";
			continue;
		}
		while (k < t->n_keyframes && t->keyframes[k].info.first_event != info->first_event)
			k++;
		if (k == t->n_keyframes ||
			memcmp(nodes, t->keyframes[k].nodes, t->n_nodes * sizeof(*nodes)))
			s->wrong = "a keyframe was read, but not as it was written";
		else if (hl_reader_keyframe_totals(r, i, &totals) != 0 ||
			 memcmp(&totals, &t->keyframes[k].totals, sizeof(totals)))
			s->wrong = "the totals of a keyframe are not what they were";
		s->good_keyframes++;
	}
	free(nodes);
}

static void compare_rest(const struct truth *t, struct hl_reader *r, struct seen *s)
{
	struct hl_live_block *live;
	struct hl_rss_sample *rss;
	size_t n;

	for (size_t i = 0; i < hl_reader_n_live_sets(r); i++) {
		if (hl_reader_load_live_set(r, i, &live, &n) != 0)
			continue;
		s->good_sets++;
		if (n != t->n_live ||
			(!base_is_lost(r) && memcmp(live, t->live, n * sizeof(*live))))
			s->wrong = "a live set is another one";
		free(live);
	}
	hl_reader_rss(r, &rss, &n);
	s->rss = n;
	for (size_t i = 0; i < n; i++)
		if (n > t->n_rss || rss[i].rss_bytes > t->rss[t->n_rss - 1].rss_bytes)
			s->wrong = "there are RSS samples that never were";
	free(rss);
}

static void compare_info(const struct truth *t, const struct hl_trace_info *i, struct seen *s)
{
	const struct hl_totals *a = &i->totals, *b = &t->info.totals;

	if (a->sums.alloc_blocks > b->sums.alloc_blocks ||
		a->sums.alloc_bytes > b->sums.alloc_bytes ||
		a->sums.free_blocks > b->sums.free_blocks ||
		a->sums.free_bytes > b->sums.free_bytes || a->peak_bytes > b->peak_bytes ||
		a->temporary > b->temporary || a->events > b->events || a->stacks > b->stacks ||
		a->peak_time_ns > b->peak_time_ns || i->threads > t->info.threads ||
		a->implicit_frees > b->implicit_frees)
		s->wrong = "totals are more than the truth";
	if (a->events == b->events &&
		(memcmp(&a->sums, &b->sums, sizeof(a->sums)) || a->peak_bytes != b->peak_bytes ||
			a->peak_blocks != b->peak_blocks || a->peak_time_ns != b->peak_time_ns ||
			a->stacks != b->stacks || a->temporary != b->temporary ||
			i->threads != t->info.threads))
		s->wrong = "all events were counted, but the totals are not the truth";
	if (i->meta.program[0] && strcmp(i->meta.program, "/usr/bin/prog") != 0)
		s->wrong = "META is another one";
}

static void collect(const struct hl_trace_info *i, struct seen *s)
{
	s->damaged = i->damaged;
	s->has_end = i->has_end;
	s->end_kind = i->end.kind;
	s->lost_chunks = i->lost_chunks;
	s->lost_events = i->lost_events;
	s->lost_exact = i->lost_events_exact;
	s->events = i->totals.events;
	memcpy(s->damage, i->damage, sizeof(s->damage));
	if (i->damaged != (i->damage[0] != '\0'))
		s->wrong = "damage without a sentence, or a sentence without damage";
}

void truth_compare(const struct truth *t, const char *path, struct seen *s)
{
	struct hl_reader_refusal why;
	const struct hl_trace_info *info;
	struct hl_reader *r;

	memset(s, 0, sizeof(*s));
	if (hl_reader_open(&r, path, &why) != 0) {
		s->refused = true;
		memcpy(s->why, why.text, sizeof(s->why));
		if (!why.text[0])
			s->wrong = "refused without a word";
		return;
	}
	if (hl_reader_info(r, &info) != 0)
		s->wrong = "no info";
	compare_info(t, info, s);
	compare_chunks(t, r, s);
	compare_keyframes(t, r, s);
	compare_tables(t, r, s);
	compare_rest(t, r, s);
	hl_reader_info(r, &info);
	compare_info(t, info, s);
	collect(info, s);
	hl_reader_close(r);
}

void read_all(const char *path)
{
	struct hl_reader_refusal why;
	const struct hl_trace_info *info;
	struct hl_chunk_events c = {0};
	struct hl_summary sum = {0};
	struct hl_node_totals nodes[512];
	struct hl_live_block *live;
	struct hl_rss_sample *rss;
	struct hl_totals totals;
	struct hl_module m;
	struct hl_node n;
	struct hl_reader *r;
	uint32_t n_nodes = 0;
	size_t len;

	if (hl_reader_open(&r, path, &why) != 0)
		return;
	hl_reader_info(r, &info);
	for (size_t i = 0; i < hl_reader_n_chunks(r); i++) {
		hl_reader_decode(r, i, &c);
		hl_reader_summary(r, i, &sum);
	}
	for (size_t i = 0; i < hl_reader_n_keyframes(r); i++) {
		hl_reader_load_keyframe(r, i, nodes, 512);
		hl_reader_keyframe_totals(r, i, &totals);
	}
	hl_reader_n_nodes(r, &n_nodes);
	for (uint32_t i = 0; i < n_nodes && i < 512; i++)
		if (hl_reader_node(r, i, &n) == 0 && n.module != HL_MODULE_NONE)
			hl_reader_module(r, n.module, &m);
	for (size_t i = 0; i < hl_reader_n_live_sets(r); i++)
		if (hl_reader_load_live_set(r, i, &live, &len) == 0)
			free(live);
	hl_reader_rss(r, &rss, &len);
	free(rss);
	hl_reader_info(r, &info);
	hl_chunk_events_free(&c);
	hl_summary_free(&sum);
	hl_reader_close(r);
}
