/*
 * model.c - opening a trace, and what is true of the whole of it; see model.h.
 */
#include "model/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/mode.h"
#include "model/model_internal.h"
#include "model/question.h"
#include "util/text.h"

/* Numbers them in the order of the file: chunks, and keyframes between chunks. */
static int find_stretches(struct hl_model *m)
{
	size_t n = hl_reader_n_chunks(m->reader), n_keys = hl_reader_n_keyframes(m->reader), k = 0;

	m->chunk_stretch = calloc(n + 1, sizeof(*m->chunk_stretch));
	m->key_stretch = calloc(n_keys + 1, sizeof(*m->key_stretch));
	if (!m->chunk_stretch || !m->key_stretch)
		return -ENOMEM;
	for (size_t i = 0; i <= n; i++) {
		for (; k < n_keys && hl_reader_keyframe(m->reader, k)->chunk <= i; k++) {
			m->n_stretches += hl_reader_keyframe(m->reader, k)->apart;
			m->key_stretch[k] = m->n_stretches;
		}
		m->chunk_stretch[i] = m->n_stretches;
		m->n_stretches += i < n && hl_reader_chunk(m->reader, i)->apart;
	}
	return 0;
}

static int load(struct hl_model *m)
{
	int err = hl_reader_info(m->reader, &m->info);

	if (!err)
		err = hl_reader_n_nodes(m->reader, &m->n_nodes);
	if (!err)
		err = hl_reader_n_modules(m->reader, &m->n_modules);
	if (!err)
		err = hl_reader_roles(m->reader, &m->roles, &m->n_roles);
	if (!err)
		err = hl_reader_n_tags(m->reader, &m->n_tags);
	if (err)
		return hl_model_fail(m, err);
	m->modules = calloc((size_t)m->n_modules + 1, sizeof(*m->modules));
	m->bad_chunks = calloc(hl_reader_n_chunks(m->reader) + 1, 1);
	m->bad_keyframes = calloc(hl_reader_n_keyframes(m->reader) + 1, 1);
	m->bad_sets = calloc(hl_reader_n_live_sets(m->reader) + 1, 1);
	if (!m->modules || !m->bad_chunks || !m->bad_keyframes || !m->bad_sets ||
		find_stretches(m) < 0)
		return hl_model_fail(m, -ENOMEM);
	err = hl_symbols_new(&m->symbols);
	if (!err)
		hl_symbols_process(m->symbols, m->info->meta.pid, m->info->meta.start_unix_ns);
	if (!err)
		hl_symbols_carry(m->symbols, hl_model_open_carried, m);
	return err;
}

int hl_model_open(struct hl_model **out, const char *path, struct hl_reader_refusal *why)
{
	struct hl_model *m = calloc(1, sizeof(*m));
	int err;

	if (!m) {
		snprintf(why->text, sizeof(why->text), "out of memory");
		return -ENOMEM;
	}
	err = hl_reader_open(&m->reader, path, why);
	if (err) {
		free(m);
		return err;
	}
	err = load(m);
	if (err) {
		snprintf(why->text, sizeof(why->text), "%s", hl_model_error(m));
		hl_model_close(m);
		return err;
	}
	*out = m;
	return 0;
}

void hl_model_close(struct hl_model *m)
{
	if (!m)
		return;
	hl_questions_fini(m);
	hl_chains_free(m->chains);
	hl_model_frames_fini(m);
	hl_symbols_free(m->symbols);
	free(m->modules);
	free(m->bad_chunks);
	free(m->bad_keyframes);
	free(m->bad_sets);
	free(m->chunk_stretch);
	free(m->key_stretch);
	hl_vec_free(&m->marks);
	hl_vec_free(&m->modes);
	hl_vec_free(&m->snapshots);
	hl_chunk_events_free(&m->decoded.events);
	hl_vec_free(&m->thread_names);
	hl_vec_free(&m->pools);
	free(m->funcs);
	hl_map_fini(&m->calls);
	hl_reader_close(m->reader);
	free(m);
}

uint64_t hl_model_events_decoded(const struct hl_model *m)
{
	return m->events_decoded;
}

/*
 * What is recorded takes a byte for at most 7 events, so that a heap of 10^8 blocks which lie in
 * any order may be read for each of its parts (parts.h). A small file that claims many is forged:
 * of it so many are read as take a second or two.
 */
#define EVENTS_FREE      (UINT64_C(1) << 26)
#define FREE_BYTES       (UINT64_C(1) << 20)
#define EVENTS_EACH_BYTE 1024

uint64_t hl_model_events_limit(const struct hl_model *m)
{
	uint64_t bytes = hl_reader_data_bytes(m->reader);

	return EVENTS_FREE + (bytes > FREE_BYTES ? (bytes - FREE_BYTES) * EVENTS_EACH_BYTE : 0);
}

/* No file has more of them: a chunk has at most 65,536, and its head alone takes 112 bytes. */
#define EVENTS_PER_BYTE 600

int hl_model_n_ordinals(struct hl_model *m, bool pool, uint64_t *n)
{
	*n = 0;
	for (size_t i = 0; i < hl_reader_n_chunks(m->reader); i++) {
		const struct hl_chunk_info *c = hl_reader_chunk(m->reader, i);

		if (c->gone)
			continue;
		if (pool)
			*n += c->n_extras; /* blocks of pools have ordinals of their own */
		else
			*n = hl_max_u64(*n, c->first_ordinal + c->n_events);
	}
	if (*n / EVENTS_PER_BYTE <= m->info->file_bytes)
		return 0;
	snprintf(m->error, sizeof(m->error),
		"the trace speaks of more allocations than it has room for: it is forged or "
		"damaged");
	return -EBADMSG;
}

int hl_model_fail(struct hl_model *m, int err)
{
	if (err == -E2BIG)
		return err; /* has been refused in words of its own: marks.c */
	if (err == -EBADMSG)
		snprintf(m->error, sizeof(m->error), "%s", hl_reader_error(m->reader));
	else if (err == -EOVERFLOW)
		snprintf(m->error, sizeof(m->error),
			"more blocks are alive at once than this question can be asked of; a "
			"--filter, such as size:>=4K, makes them fewer (or the file is forged)");
	else
		snprintf(m->error, sizeof(m->error), "%s", strerror(-err));
	return err;
}

int hl_model_no_events(struct hl_model *m, const char *what)
{
	char held[HL_TEXT_SIZE_MAX], all[HL_TEXT_SIZE_MAX];

	snprintf(m->error, sizeof(m->error),
		"%s needs every single event, and of %s of %s blocks the trace has only sums (mode "
		"%s); peak, leaks and allocated by stack, and heaplapse log, are exact; record "
		"with --mode=trace to have every event",
		what, hl_text_count(held, m->info->withheld.alloc_blocks),
		hl_text_count(all, m->info->totals.sums.alloc_blocks), hl_model_sums_mode(m));
	return -ENODATA;
}

int hl_model_no_order(struct hl_model *m, const char *what)
{
	snprintf(m->error, sizeof(m->error),
		"%s needs the order of events, which is not known: the trace was imported from "
		"%.200s, which has sums alone; --leaks is what was in use, --allocated all that "
		"was allocated",
		what, m->info->meta.source);
	return -ENODATA;
}

int hl_model_lost_before(struct hl_model *m)
{
	snprintf(m->error, sizeof(m->error),
		"the single blocks of that moment are not known: a part of the file before it is "
		"lost (heaplapse info says which); their sums are, as formats of sums have them");
	return -ENODATA;
}

int hl_model_no_neighbours(struct hl_model *m)
{
	snprintf(m->error, sizeof(m->error),
		"which blocks were freed by the very next event is not known: the recording has "
		"samples, between which others happened; --temporary=TIME takes those that lived "
		"for less than that");
	return -ENODATA;
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

/* Nothing is missing but what a pause has left out, and that is no free of a block that is known.
 */
static bool is_sound(const struct hl_trace_info *i)
{
	/* What happened while recording was off is missing too. */
	return !i->meta.start_off && i->stops == 0 && i->has_end && i->end.kind != HL_END_LOST &&
	       i->end.kind != HL_END_RUNNING && !i->damaged && i->counters.dropped_events == 0 &&
	       !i->meta.continued;
}

bool hl_model_complete(const struct hl_model *m)
{
	return is_sound(m->info) && m->info->pauses == 0;
}

bool hl_model_withholds(const struct hl_model *m)
{
	return m->info->withheld.alloc_blocks > 0 || m->info->withheld.free_blocks > 0 ||
	       m->n_stretches > 0;
}

/* meta.mode is the mode at the start, and ctl can change it. */
const char *hl_model_sums_mode(const struct hl_model *m)
{
	const char *mode = m->info->meta.mode;

	if (strcmp(mode, hl_mode_name(HL_MODE_COUNT)) == 0 ||
		strcmp(mode, hl_mode_name(HL_MODE_CULL)) == 0)
		return mode;
	return "count or cull, for a part of the run";
}

bool hl_model_samples(const struct hl_model *m)
{
	return hl_model_estimates(m) ||
	       strcmp(m->info->meta.mode, hl_mode_name(HL_MODE_SAMPLE)) == 0;
}

const char *hl_model_why_empty(const struct hl_model *m)
{
	if (m->info->totals.events > 0 || m->info->damaged)
		return NULL;
	if (strcmp(m->info->meta.mode, hl_mode_name(HL_MODE_TAGS)) == 0)
		return "no allocation is in the trace: with --mode=tags the sums of the scopes are "
		       "in a file of their own (heaplapse.tags.PID.json unless --stats-json named "
		       "another), which heaplapse tags FILE shows";
	if (hl_model_samples(m))
		return "no sample is in the trace: the program allocated little beside what one "
		       "sample stands for; record it with a smaller --mode=sample=BYTES, or with "
		       "--mode=trace";
	return "no allocation is in the trace: either the program made none, or not where it was "
	       "recorded";
}

bool hl_model_may_say_leaked(const struct hl_model *m)
{
	return hl_model_complete(m) && m->info->end.kind == HL_END_EXIT &&
	       strcmp(m->info->meta.mode, hl_mode_name(HL_MODE_TAGS)) != 0 &&
	       m->info->counters.unknown_frees == 0 && m->info->counters.implicit_frees == 0 &&
	       m->info->totals.implicit_frees == 0;
}

bool hl_model_estimates(const struct hl_model *m)
{
	/* How good the numbers of another tool's profile are only that tool knows. */
	return m->info->totals.samples && !(m->info->meta.unknown & HL_UNKNOWN_ORDER);
}

bool hl_model_has_order(const struct hl_model *m)
{
	return !(m->info->meta.unknown & HL_UNKNOWN_ORDER);
}

bool hl_model_has_neighbours(const struct hl_model *m)
{
	return hl_model_has_order(m) && !hl_model_samples(m);
}

uint64_t hl_model_end_ns(const struct hl_model *m)
{
	size_t n = hl_reader_n_chunks(m->reader);
	uint64_t end = m->info->end.duration_ns;

	while (n > 0 && hl_reader_chunk(m->reader, n - 1)->gone)
		n--;
	return n > 0 ? hl_max_u64(end, hl_reader_chunk(m->reader, n - 1)->t1_ns) : end;
}
