/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refresh.c - the model of a trace that has grown.
 *
 * What depends on the end of the trace is made again: sums, wrappers, the numbers of frames, which
 * are in the order of their first use. Names of addresses and marks never change, so they stay.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/model_internal.h"
#include "model/scan/prefetch.h"

static void free_flags(struct hl_model *m)
{
	free(m->bad_chunks);
	free(m->bad_keyframes);
	free(m->bad_sets);
	free(m->chunk_segment);
	free(m->key_segment);
	m->bad_chunks = m->bad_keyframes = m->bad_sets = NULL;
	m->chunk_segment = m->key_segment = NULL;
	m->n_bad = 0;
	m->n_segments = 0;
}

static void forget(struct hl_model *m, bool names)
{
	hl_prefetch_fini(m);
	hl_chains_free(m->chains);
	m->chains = NULL;
	hl_stack_groups_free(m->groups);
	m->groups = NULL;
	hl_model_forget_frames(m, names);
	if (names)
		hl_model_marks_fini(m);
	m->marks_loaded = false;
	hl_chunk_events_free(&m->decoded.events);
	m->decoded = (struct hl_chunk_cache){0};
	m->events_decoded = 0;
	free(m->funcs);
	m->funcs = NULL;
	hl_pair_map_fini(&m->calls);
	m->calls_noted = 0;
	free_flags(m);
	m->base_peak_bytes = 0;
}

int hl_model_refresh(struct hl_model *m, bool *changed)
{
	struct hl_refreshed found;
	int err = hl_reader_refresh(m->reader, &found);

	*changed = found.changed;
	if (err) {
		snprintf(m->error, sizeof(m->error), "%s", hl_reader_error(m->reader));
		return err;
	}
	if (!found.changed)
		return 0;
	forget(m, found.names);
	err = hl_model_load(m);
	if (!err)
		hl_symbols_process(m->symbols, m->info->meta.pid, m->info->meta.start_unix_ns);
	return err;
}

bool hl_model_is_running(const struct hl_model *m)
{
	return hl_reader_is_running(m->reader);
}
