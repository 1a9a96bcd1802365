/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info_json.c - the properties and totals of a whole trace, as JSON.
 */
#include <string.h>

#include "base/mode.h"
#include "model/views/import_limits.h"
#include "model/views/marks.h"
#include "model/totals/short_lived.h"
#include "model/totals/trace_totals.h"
#include "views/json/json.h"

static void json_command(struct hl_json *j, const struct hl_meta *meta)
{
	const char *s = meta->command, *end = s ? s + meta->command_len : NULL;

	hl_json_key(j, "command");
	hl_json_begin_array(j);
	/* In a forged file the last argument may lack its NUL; the reader appends one to the
	 * whole. */
	for (; s < end; s += strnlen(s, (size_t)(end - s)) + 1)
		hl_json_string(j, s);
	hl_json_end_array(j);
}

static void json_totals(struct hl_json *j, const struct hl_model *m)
{
	struct hl_trace_total rows[HL_TRACE_TOTALS];

	hl_trace_totals(m, rows);
	hl_json_key(j, "totals");
	hl_json_begin_object(j);
	for (size_t k = 0; k < HL_TRACE_TOTALS; k++) {
		if (rows[k].known)
			hl_json_key_u64(j, rows[k].key, rows[k].value);
		else
			hl_json_key_string(j, rows[k].key, NULL);
	}
	hl_json_end_object(j);
}

static void json_short_lived(struct hl_json *j, struct hl_model *m)
{
	struct hl_short_lived s;
	bool known = hl_short_lived_find(m, HL_SHORT_LIVED_EVENTS, &s) == 0;

	hl_json_key(j, "short_lived");
	if (!known) {
		hl_json_string(j, NULL);
		return;
	}
	hl_json_begin_object(j);
	hl_json_key_u64(j, "below_ns", s.bound_ns);
	hl_json_key_u64(j, "blocks", s.blocks);
	hl_json_key_u64(j, "allocations", s.allocations);
	hl_json_end_object(j);
}

static void json_margin(struct hl_json *j, struct hl_model *m, const char *key, uint64_t margin)
{
	hl_json_key(j, key);
	if (hl_trace_margins_are_known(m))
		hl_json_u64(j, margin);
	else
		hl_json_string(j, NULL);
}

static void json_estimate(struct hl_json *j, struct hl_model *m)
{
	uint64_t allocated, live;

	hl_json_key(j, "estimate");
	if (!hl_trace_margins(m, &allocated, &live)) {
		hl_json_string(j, NULL);
		return;
	}
	hl_json_begin_object(j);
	hl_json_key_u64(j, "samples", hl_model_info(m)->totals.samples);
	json_margin(j, m, "bytes_allocated_margin", allocated);
	json_margin(j, m, "live_bytes_end_margin", live);
	hl_json_end_object(j);
}

static void json_modes(struct hl_json *j, struct hl_model *m)
{
	const struct hl_mode_change *c;
	size_t n = 0;

	hl_json_key(j, "mode_changes");
	hl_json_begin_array(j);
	for (size_t i = 0; hl_trace_mode_changes(m, &c, &n) && i < n; i++) {
		hl_json_begin_object(j);
		hl_json_key_u64(j, "time_ns", c[i].time_ns);
		hl_json_key_string(j, "mode", hl_mode_name(c[i].mode));
		hl_json_key_u64(j, "sample_bytes", c[i].sample_bytes);
		hl_json_key_bool(j, "paused", c[i].paused);
		hl_json_key_bool(j, "stopped", c[i].stopped);
		hl_json_end_object(j);
	}
	hl_json_end_array(j);
}

static void json_damage(struct hl_json *j, const struct hl_trace_info *i)
{
	hl_json_key(j, "damage");
	if (!i->damaged) {
		hl_json_string(j, NULL);
		return;
	}
	hl_json_begin_object(j);
	hl_json_key_string(j, "text", i->damage);
	hl_json_key_u64(j, "lost_chunks", i->lost_chunks);
	hl_json_key_u64(j, "lost_events", i->lost_events);
	hl_json_key_bool(j, "lost_events_exact", i->lost_events_exact);
	hl_json_end_object(j);
}

static void json_unwritten(struct hl_json *j, const struct hl_trace_info *i)
{
	hl_json_key(j, "unwritten");
	if (i->has_end || !i->unwritten.error) {
		hl_json_string(j, NULL);
		return;
	}
	hl_json_begin_object(j);
	hl_json_key_string(j, "reason", strerror((int)i->unwritten.error));
	hl_json_key_u64_or_null(j, "events", i->unwritten.events);
	hl_json_end_object(j);
}

static void json_cost(struct hl_json *j, const struct hl_cost *c)
{
	hl_json_key(j, "cost");
	hl_json_begin_object(j);
	hl_json_key_u64(j, "wait_ns", c->wait_ns);
	hl_json_key_u64(j, "unwinds", c->unwinds);
	hl_json_key_u64(j, "frames_walked", c->frames_walked);
	hl_json_key_u64(j, "frames_verified", c->frames_verified);
	hl_json_key_u64(j, "rule_misses", c->rule_misses);
	hl_json_key_u64(j, "collector_ns", c->collector_ns);
	hl_json_key_u64(j, "hook_ns", c->hook_ns);
	hl_json_end_object(j);
}

static void json_cut(struct hl_json *j, const struct hl_trace_info *i)
{
	const struct hl_slice_info *c = &i->meta.slice;

	hl_json_key(j, "cut");
	if (!c->flags) {
		hl_json_string(j, NULL);
		return;
	}
	hl_json_begin_object(j);
	hl_json_key_bool(j, "range", c->flags & HL_SLICE_RANGE);
	hl_json_key_u64(j, "from_ns", c->from_ns);
	hl_json_key_u64_or_null(j, "to_ns", c->to_ns);
	hl_json_key_u64(j, "min_life_ns", c->min_life_ns);
	hl_json_key_bool(j, "filtered", c->flags & HL_SLICE_FILTER);
	hl_json_key_string(j, "filter", c->filter);
	hl_json_key_string(j, "made_up",
		c->flags & HL_SLICE_ALL     ? "full"
		: c->flags & HL_SLICE_NAMES ? "names"
					    : NULL);
	hl_json_key_u64(j, "left_out_allocations", i->left_out.blocks);
	hl_json_key_u64(j, "left_out_bytes", i->left_out.bytes);
	hl_json_key_u64(j, "older_allocations", i->left_out.older_blocks);
	hl_json_key_u64(j, "older_bytes", i->left_out.older_bytes);
	hl_json_end_object(j);
}

static void json_base(struct hl_json *j, const struct hl_base *b)
{
	hl_json_key(j, "base");
	if (!b->is_late) {
		hl_json_string(j, NULL);
		return;
	}
	hl_json_begin_object(j);
	hl_json_key_u64(j, "time_ns", b->time_ns);
	hl_json_key_u64(j, "events_before", b->events);
	hl_json_key_u64(j, "allocations_before", b->allocs);
	hl_json_key_u64(j, "live_blocks", b->blocks);
	hl_json_end_object(j);
}

static void json_unknown(struct hl_json *j, uint32_t unknown)
{
	hl_json_key(j, "unknown");
	hl_json_begin_array(j);
	for (const struct hl_import_limit *l = hl_import_limits; l->bit; l++) {
		if (unknown & l->bit)
			hl_json_string(j, l->key);
	}
	hl_json_end_array(j);
}

void hl_json_info(FILE *out, struct hl_model *m)
{
	const struct hl_trace_info *i = hl_model_info(m);
	struct hl_json j;

	hl_json_init(&j, out);
	hl_json_begin_object(&j);
	hl_json_key_u64(&j, "schema", 1);
	hl_json_key_string(&j, "program", i->meta.program);
	hl_json_key_u64(&j, "pid", i->meta.pid);
	json_command(&j, &i->meta);
	hl_json_key_string(&j, "arch", i->meta.arch);
	hl_json_key_u64(&j, "start_unix_ns", i->meta.start_unix_ns);
	hl_json_key_u64(&j, "duration_ns", i->end.duration_ns);
	hl_json_key(&j, "end");
	hl_json_begin_object(&j);
	hl_json_key_string(&j, "kind", hl_end_kind_name(i->end.kind));
	hl_json_key(&j, "value");
	hl_json_i64(&j, i->end.value);
	if (i->end.kind == HL_END_SIGNAL)
		hl_json_key_bool(&j, "oom", i->end.oom);
	hl_json_end_object(&j);
	hl_json_key_bool(&j, "complete", hl_model_is_complete(m));
	hl_json_key_string(&j, "mode", i->meta.mode);
	json_totals(&j, m);
	json_short_lived(&j, m);
	json_damage(&j, i);
	json_unwritten(&j, i);
	json_cut(&j, i);
	json_base(&j, &i->meta.base);
	json_cost(&j, &i->cost);
	json_modes(&j, m);
	json_estimate(&j, m);
	hl_json_key_bool(&j, "zero_memory", i->meta.zeroed);
	hl_json_key_u64(&j, "file_bytes", i->file_bytes);
	hl_json_key_string(&j, "source", i->meta.source[0] ? i->meta.source : NULL);
	json_unknown(&j, i->meta.unknown);
	hl_json_end_object(&j);
	putc('\n', out);
}
