/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_json.c - the changes between two snapshots, as JSON.
 */
#include <inttypes.h>
#include <stdio.h>

#include "model/stack/runtime_frames.h"
#include "views/json/json.h"

static void json_sums(struct hl_json *j, const char *key, const struct hl_sums *s)
{
	hl_json_key(j, key);
	hl_json_begin_object(j);
	hl_json_key_u64(j, "allocated_bytes", s->alloc_bytes);
	hl_json_key_u64(j, "allocated_blocks", s->alloc_blocks);
	hl_json_key_u64(j, "freed_bytes", s->free_bytes);
	hl_json_key_u64(j, "freed_blocks", s->free_blocks);
	hl_json_end_object(j);
}

static void json_frame(void *arg, const struct hl_frame *f, bool inlined)
{
	hl_json_begin_object(arg);
	hl_json_frame(arg, f);
	hl_json_end_object(arg);
}

static int json_source(struct hl_json *j, struct hl_model *m, const struct hl_stack_change *s)
{
	char id[24];
	int err;

	snprintf(id, sizeof(id), "%016" PRIx64, s->id);
	hl_json_begin_object(j);
	hl_json_key_string(j, "source", id);
	hl_json_key_u64(j, "live_bytes", hl_sums_live_bytes(&s->total));
	hl_json_key_u64(j, "live_blocks", hl_sums_live_blocks(&s->total));
	json_sums(j, "change", &s->change);
	json_sums(j, "total", &s->total);
	hl_json_key(j, "stack");
	hl_json_begin_array(j);
	err = hl_model_each_frame(m, s->node, NULL, json_frame, j);
	hl_json_end_array(j);
	hl_json_end_object(j);
	return err;
}

int hl_json_log_changes(struct hl_json *j, struct hl_model *m, const struct hl_snapshot_list *log,
	size_t from, size_t to, const struct hl_snapshot_changes *page)
{
	const struct hl_moment *x = to ? hl_snapshot_list_moment(log, to) : NULL;
	int err = 0;

	hl_json_begin_object(j);
	hl_json_key_u64(j, "snapshot", to ? to + hl_snapshot_list_before(log) : 0);
	hl_json_key_u64_or_null(j, "since_snapshot",
		from                            ? from + hl_snapshot_list_before(log)
		: hl_snapshot_list_is_late(log) ? UINT64_MAX
						: 0);
	hl_json_key_u64(j, "time_ns", page->time_ns);
	hl_json_key_bool(j, "moved", page->before_damage);
	hl_json_key_string(j, "cause", x ? hl_moment_cause_name(x) : "start");
	hl_json_key_string(j, "label", x ? x->label : "");
	hl_json_key_u64(j, "threshold", x ? x->threshold : 0);
	hl_json_key_u64(j, "churn_bytes", hl_sums_churn(&page->change));
	hl_json_key_u64(j, "churn_threshold", x ? x->churn_bytes : 0);
	hl_json_key_u64(j, "live_bytes", hl_sums_live_bytes(&page->total));
	hl_json_key_u64(j, "live_blocks", hl_sums_live_blocks(&page->total));
	json_sums(j, "change", &page->change);
	json_sums(j, "total", &page->total);
	hl_json_key(j, "sources");
	hl_json_begin_array(j);
	for (size_t i = 0; i < page->n && !err; i++)
		err = json_source(j, m, &page->sources[i]);
	hl_json_end_array(j);
	hl_json_end_object(j);
	return err;
}
