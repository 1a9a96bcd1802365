/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.c - opens a trace, and properties of the whole trace; see model.h.
 */
#include "model/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/mode.h"
#include "model/model_internal.h"
#include "model/query/key_index.h"
#include "model/scan/prefetch.h"
#include "util/safe_text.h"

/* Numbers the segments in the order of the file: chunks, and keyframes between chunks. */
static int number_segments(struct hl_model *m)
{
	size_t n = hl_reader_n_chunks(m->reader), n_keys = hl_reader_n_keyframes(m->reader), k = 0;

	m->chunk_segment = calloc(n + 1, sizeof(*m->chunk_segment));
	m->key_segment = calloc(n_keys + 1, sizeof(*m->key_segment));
	if (!m->chunk_segment || !m->key_segment)
		return -ENOMEM;
	for (size_t i = 0; i <= n; i++) {
		for (; k < n_keys && hl_reader_keyframe(m->reader, k)->chunk <= i; k++) {
			m->n_segments += hl_reader_keyframe(m->reader, k)->disjoint;
			m->key_segment[k] = m->n_segments;
		}
		m->chunk_segment[i] = m->n_segments;
		m->n_segments += i < n && hl_reader_chunk(m->reader, i)->disjoint;
	}
	return 0;
}

/* If the keyframe of the base is lost, the time of the peak decides. */
static void load_base(struct hl_model *m)
{
	size_t key = hl_reader_base_keyframe(m->reader);
	const struct hl_totals *all = &m->info->totals;
	struct hl_totals t;

	m->n_base_chunks = hl_reader_n_base_chunks(m->reader);
	if (key != SIZE_MAX && hl_reader_keyframe_totals(m->reader, key, &t) == 0)
		m->base_peak_bytes = t.peak_bytes;
	else if (m->info->meta.base.is_late && all->peak_time_ns <= m->info->meta.base.time_ns)
		m->base_peak_bytes = all->peak_bytes;
}

/* Modules keep their numbers. */
static int grow_modules(struct hl_model *m)
{
	uint32_t n = m->n_modules;
	struct hl_model_module *p;
	int err = hl_reader_n_modules(m->reader, &n);

	if (err || (m->modules && n <= m->n_modules))
		return err;
	p = realloc(m->modules, ((size_t)n + 1) * sizeof(*p));
	if (!p)
		return -ENOMEM;
	memset(p + m->n_modules, 0, (n - m->n_modules + 1) * sizeof(*p));
	m->modules = p;
	m->n_modules = n;
	return 0;
}

int hl_model_load(struct hl_model *m)
{
	int err = hl_reader_info(m->reader, &m->info);

	if (!err)
		err = hl_reader_n_nodes(m->reader, &m->n_nodes);
	if (!err)
		err = grow_modules(m);
	if (!err)
		err = hl_reader_roles(m->reader, &m->roles, &m->n_roles);
	if (!err)
		err = hl_reader_n_tags(m->reader, &m->n_tags);
	if (err)
		return hl_model_fail(m, err);
	load_base(m);
	m->bad_chunks = calloc(hl_reader_n_chunks(m->reader) + 1, 1);
	m->bad_keyframes = calloc(hl_reader_n_keyframes(m->reader) + 1, 1);
	m->bad_sets = calloc(hl_reader_n_live_sets(m->reader) + 1, 1);
	if (!m->bad_chunks || !m->bad_keyframes || !m->bad_sets || number_segments(m) < 0)
		return hl_model_fail(m, -ENOMEM);
	return 0;
}

static int make_symbols(struct hl_model *m)
{
	int err = hl_symbols_new(&m->symbols);

	if (err)
		return hl_model_fail(m, err);
	hl_symbols_process(m->symbols, m->info->meta.pid, m->info->meta.start_unix_ns);
	hl_symbols_use_embedded(m->symbols, hl_model_open_embedded, m);
	return 0;
}

int hl_model_open_source(struct hl_model **out, struct hl_byte_source *source, const char *name,
	struct hl_reader_refusal *why)
{
	struct hl_model *m = calloc(1, sizeof(*m));
	int err;

	if (!m) {
		hl_byte_source_close(source);
		snprintf(why->text, sizeof(why->text), "out of memory");
		return -ENOMEM;
	}
	err = hl_reader_open_source(&m->reader, source, name, why);
	if (err) {
		free(m);
		return err;
	}
	err = hl_model_load(m);
	if (!err)
		err = make_symbols(m);
	if (err) {
		snprintf(why->text, sizeof(why->text), "%s", hl_model_error(m));
		hl_model_close(m);
		return err;
	}
	*out = m;
	return 0;
}

int hl_model_open(struct hl_model **out, const char *path, struct hl_reader_refusal *why)
{
	struct hl_byte_source *source;
	int err = hl_byte_source_open(&source, path, why);

	return err ? err : hl_model_open_source(out, source, path, why);
}

void hl_model_close(struct hl_model *m)
{
	if (!m)
		return;
	hl_prefetch_fini(m);
	hl_chains_free(m->chains);
	hl_stack_groups_free(m->groups);
	hl_key_index_free(m->key_index);
	hl_model_frames_fini(m);
	hl_symbols_free(m->symbols);
	free(m->modules);
	free(m->bad_chunks);
	free(m->bad_keyframes);
	free(m->bad_sets);
	free(m->chunk_segment);
	free(m->key_segment);
	hl_model_marks_fini(m);
	hl_chunk_events_free(&m->decoded.events);
	free(m->funcs);
	hl_pair_map_fini(&m->calls);
	hl_reader_close(m->reader);
	free(m);
}

uint64_t hl_model_events_decoded(const struct hl_model *m)
{
	return m->events_decoded;
}

/*
 * A real recording has at most 7 events per byte. The limit is high enough to scan a heap of 10^8
 * blocks at random addresses once for each slice (address_slices.h). A small file that claims many
 * events is forged: its limit is reached in a second or two.
 */
#define EVENTS_LIMIT_MIN      (UINT64_C(1) << 26)
#define BYTES_IN_LIMIT_MIN    (UINT64_C(1) << 20)
#define EVENTS_LIMIT_PER_BYTE 1024

uint64_t hl_model_events_limit(const struct hl_model *m)
{
	uint64_t bytes = hl_reader_data_bytes(m->reader);

	return EVENTS_LIMIT_MIN +
	       (bytes > BYTES_IN_LIMIT_MIN ? (bytes - BYTES_IN_LIMIT_MIN) * EVENTS_LIMIT_PER_BYTE
					   : 0);
}

/* An upper bound for any file: a chunk has at most 65,536 events, and its header alone is 112
 * bytes. */
#define ORDINALS_PER_BYTE_MAX 600

int hl_model_n_ordinals(struct hl_model *m, bool pool, uint64_t *n)
{
	*n = 0;
	for (size_t i = 0; i < hl_reader_n_chunks(m->reader); i++) {
		const struct hl_chunk_info *c = hl_reader_chunk(m->reader, i);

		if (c->header_lost)
			continue;
		if (pool)
			*n += c->n_extras; /* blocks of pools have ordinals of their own */
		else
			*n = hl_max_u64(*n, c->first_ordinal + c->n_events);
	}
	if (*n / ORDINALS_PER_BYTE_MAX <= m->info->file_bytes)
		return 0;
	snprintf(m->error, sizeof(m->error),
		"the trace claims more allocations than its size allows: it is forged or damaged");
	return -EBADMSG;
}

static void describe_stop(struct hl_model *m, int err)
{
	const struct hl_work *w = &m->work;

	snprintf(m->error, sizeof(m->error), "%s at %.0f %% of %s",
		err == -ETIME ? "the time limit was reached" : "it was cancelled",
		w->stopped_percent, w->stopped_what ? w->stopped_what : "the work");
}

int hl_model_fail(struct hl_model *m, int err)
{
	if (err == -E2BIG)
		return err; /* marks.c has set a message of its own */
	if (err == -EBADMSG)
		snprintf(m->error, sizeof(m->error), "%s", hl_reader_error(m->reader));
	else if (err == -EOVERFLOW)
		snprintf(m->error, sizeof(m->error),
			"too many blocks are live at once for this query; use a --filter such as "
			"size:>=4K (or the file is forged)");
	else if (err == -ETIME || err == -ECANCELED)
		describe_stop(m, err);
	else
		snprintf(m->error, sizeof(m->error), "%s", strerror(-err));
	return err;
}

struct hl_work *hl_model_work(struct hl_model *m)
{
	return &m->work;
}

void hl_model_drop_prefetched(struct hl_model *m)
{
	hl_prefetch_fini(m);
}

int hl_model_lost_before(struct hl_model *m)
{
	snprintf(m->error, sizeof(m->error),
		"the individual blocks of that moment are not known: an earlier part of the file "
		"is lost (see heaplapse info); formats that need only sums can be exported");
	return -ENODATA;
}

const struct hl_base *hl_model_base(const struct hl_model *m)
{
	return &m->info->meta.base;
}

bool hl_model_peak_is_before_base(const struct hl_model *m)
{
	return m->info->meta.base.is_late && m->base_peak_bytes > 0 &&
	       m->base_peak_bytes >= m->info->totals.peak_bytes;
}

int hl_model_before_base(struct hl_model *m, const char *what)
{
	char begin[HL_TEXT_SIZE_MAX];

	hl_text_duration_up(begin, m->info->meta.base.time_ns);
	snprintf(m->error, sizeof(m->error),
		"%s is before %s of the run, where this trace begins; earlier events are in the "
		"file before this one",
		what, begin);
	return -ENOENT;
}

bool hl_model_base_is_lost(const struct hl_model *m)
{
	for (size_t i = 0; i < m->n_base_chunks; i++)
		if (m->bad_chunks[i] || hl_reader_chunk(m->reader, i)->lost)
			return true;
	return false;
}

int hl_model_lost_base(struct hl_model *m)
{
	snprintf(m->error, sizeof(m->error),
		"the blocks that were live where this trace begins are not known: a part of the "
		"file is lost (see heaplapse info)");
	return -ENODATA;
}

int hl_model_check_base(struct hl_model *m)
{
	return m->info->base_lost ? hl_model_lost_base(m) : 0;
}

void hl_model_set_sources(struct hl_model *m, const struct hl_source_places *places)
{
	m->sources = places;
}

const char *hl_model_error(const struct hl_model *m)
{
	return m->error;
}

void hl_model_set_error(struct hl_model *m, const char *text)
{
	snprintf(m->error, sizeof(m->error), "%s", text);
}

const struct hl_trace_info *hl_model_info(const struct hl_model *m)
{
	return m->info;
}

struct hl_reader *hl_model_reader(struct hl_model *m)
{
	return m->reader;
}

uint32_t hl_model_n_nodes(const struct hl_model *m)
{
	return m->n_nodes;
}

/* Nothing is missing except what was not recorded in a pause, and frees of known blocks are
 * recorded even then. */
static bool is_complete_except_pauses(const struct hl_trace_info *i)
{
	/* Events while recording was off are missing too. */
	return !i->meta.started_off && i->stops == 0 && i->has_end && i->end.kind != HL_END_LOST &&
	       i->end.kind != HL_END_RUNNING && !i->damaged && i->counters.dropped_events == 0 &&
	       !i->meta.taken_over;
}

bool hl_model_is_complete(const struct hl_model *m)
{
	return is_complete_except_pauses(m->info) && m->info->pauses == 0;
}

bool hl_model_has_aggregated(const struct hl_model *m)
{
	return m->info->aggregated.alloc_blocks > 0 || m->info->aggregated.free_blocks > 0 ||
	       m->n_segments > 0;
}

/* meta.mode is the mode at the start; ctl can change it. */
const char *hl_model_sums_mode(const struct hl_model *m)
{
	const char *mode = m->info->meta.mode;

	if (strcmp(mode, hl_mode_name(HL_MODE_COUNT)) == 0 ||
		strcmp(mode, hl_mode_name(HL_MODE_CULL)) == 0)
		return mode;
	return "count or cull, for part of the run";
}

bool hl_model_has_samples(const struct hl_model *m)
{
	return hl_model_has_estimates(m) ||
	       strcmp(m->info->meta.mode, hl_mode_name(HL_MODE_SAMPLE)) == 0;
}

const char *hl_model_empty_reason(const struct hl_model *m)
{
	if (m->info->totals.events > 0 || m->info->damaged)
		return NULL;
	if (strcmp(m->info->meta.mode, hl_mode_name(HL_MODE_TAGS)) == 0)
		return "the trace has no allocations: with --mode=tags the counters are in a "
		       "separate file (heaplapse.tags.PID.json unless --stats-json named another); "
		       "show it with heaplapse tags FILE";
	if (hl_model_has_samples(m))
		return "the trace has no samples: the program allocated too little for the "
		       "sampling rate; record it with a smaller --mode=sample=BYTES, or with "
		       "--mode=trace";
	return "the trace has no allocations: the program made none, or none while it was recorded";
}

bool hl_model_leaks_are_certain(const struct hl_model *m)
{
	return hl_model_is_complete(m) && m->info->end.kind == HL_END_EXIT &&
	       strcmp(m->info->meta.mode, hl_mode_name(HL_MODE_TAGS)) != 0 &&
	       m->info->counters.unknown_frees == 0 && m->info->counters.implicit_frees == 0 &&
	       m->info->totals.implicit_frees == 0;
}

bool hl_model_has_estimates(const struct hl_model *m)
{
	/* The accuracy of another tool's profile is known only to that tool. */
	return m->info->totals.samples && !(m->info->meta.unknown & HL_UNKNOWN_ORDER);
}

bool hl_model_has_event_order(const struct hl_model *m)
{
	return !(m->info->meta.unknown & HL_UNKNOWN_ORDER);
}

bool hl_model_has_adjacency(const struct hl_model *m)
{
	return hl_model_has_event_order(m) && !hl_model_has_samples(m);
}

uint64_t hl_model_end_ns(const struct hl_model *m)
{
	size_t n = hl_reader_n_chunks(m->reader);
	uint64_t end = m->info->end.duration_ns;

	while (n > 0 && hl_reader_chunk(m->reader, n - 1)->header_lost)
		n--;
	return n > 0 ? hl_max_u64(end, hl_reader_chunk(m->reader, n - 1)->t1_ns) : end;
}
