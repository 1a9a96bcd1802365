/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info_text.c - the properties and totals of a whole trace.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/attr.h"
#include "base/mode.h"
#include "model/views/marks.h"
#include "model/query/query.h"
#include "model/slice/slice.h"
#include "util/json_writer.h"
#include "util/terminal/terminal.h"
#include "util/safe_text.h"
#include "views/text/text.h"

static const char *end_name(unsigned kind)
{
	static const char *const names[] = {
		[HL_END_EXIT] = "exit",
		[HL_END_SIGNAL] = "signal",
		[HL_END_EXEC] = "exec",
		[HL_END_STOPPED] = "stopped",
		[HL_END_LOST] = "lost",
		[HL_END_RUNNING] = "running",
	};

	return kind < HL_ARRAY_LEN(names) ? names[kind] : "lost";
}

/* The totals, with the order and names of the JSON. */
struct total_row {
	const char *key, *label;
	uint64_t value;
	enum { COUNT, BYTES, TIME } unit;
};

#define N_ROWS          21
#define N_WITHHELD_ROWS 3 /* the last rows */

/* An imported trace may not have the information for a total. */
static bool is_known(const struct hl_model *m, const struct total_row *r)
{
	const struct hl_meta *meta = &hl_model_info(m)->meta;
	static const struct {
		const char *key;
		uint32_t needs;
	} rows[] = {
		{"allocations", HL_UNKNOWN_COUNTS},
		{"frees", HL_UNKNOWN_COUNTS},
		{"live_blocks_end", HL_UNKNOWN_COUNTS},
		{"peak_bytes", HL_UNKNOWN_ORDER},
		{"peak_blocks", HL_UNKNOWN_ORDER | HL_UNKNOWN_COUNTS},
		{"peak_time_ns", HL_UNKNOWN_ORDER},
		{"threads", HL_UNKNOWN_THREADS},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(rows) && meta->unknown; i++)
		if (meta->unknown & rows[i].needs && !strcmp(rows[i].key, r->key))
			return false;
	return strcmp(r->key, "temporary") != 0 || hl_model_has_adjacency(m);
}

static void fill_rows(const struct hl_trace_info *i, struct total_row rows[N_ROWS])
{
	const struct hl_totals *t = &i->totals;
	const struct hl_counters *c = &i->counters;
	const struct total_row r[N_ROWS] = {
		{"allocations", "allocations", t->sums.alloc_blocks, COUNT},
		{"bytes_allocated", "bytes allocated", t->sums.alloc_bytes, BYTES},
		{"frees", "frees", t->sums.free_blocks - t->implicit_frees, COUNT},
		{"bytes_freed", "bytes freed", t->sums.free_bytes - t->implicit_bytes, BYTES},
		{"live_blocks_end", "live blocks at end", hl_sums_live_blocks(&t->sums), COUNT},
		{"live_bytes_end", "live bytes at end", hl_sums_live_bytes(&t->sums), BYTES},
		{"peak_bytes", "peak bytes", t->peak_bytes, BYTES},
		{"peak_blocks", "peak blocks", t->peak_blocks, COUNT},
		{"peak_time_ns", "time of the peak", t->peak_time_ns, TIME},
		{"temporary", "temporary", t->temporary, COUNT},
		{"unknown_frees", "unknown frees", c->unknown_frees, COUNT},
		{"implicit_frees", "implicit frees", c->implicit_frees, COUNT},
		{"inherited_frees", "inherited frees", c->inherited_frees, COUNT},
		{"unrecorded_frees", "unrecorded frees", c->unrecorded_frees, COUNT},
		{"late_events", "late events", c->late_events, COUNT},
		{"dropped_events", "dropped events", c->dropped_events, COUNT},
		{"threads", "threads", i->threads, COUNT},
		{"stacks", "stacks", t->stacks, COUNT},
		{"withheld_blocks", "blocks in sums only", i->aggregated.alloc_blocks, COUNT},
		{"withheld_bytes", "bytes in sums only", i->aggregated.alloc_bytes, BYTES},
		{"early_blocks", "blocks written early", c->early_blocks, COUNT},
	};

	memcpy(rows, r, sizeof(r));
}

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
	struct total_row rows[N_ROWS];

	fill_rows(hl_model_info(m), rows);
	hl_json_key(j, "totals");
	hl_json_begin_object(j);
	for (size_t k = 0; k < N_ROWS; k++) {
		if (is_known(m, &rows[k]))
			hl_json_key_u64(j, rows[k].key, rows[k].value);
		else
			hl_json_key_string(j, rows[k].key, NULL);
	}
	hl_json_end_object(j);
}

/* --- estimates --- */

/* The margins of all allocated bytes and of the live bytes at the end. false: they are not
 * estimates. */
static bool get_margins(struct hl_model *m, uint64_t *allocated, uint64_t *live)
{
	struct hl_query q = {.quantity = HL_QUANTITY_ALLOCATED, .to.kind = HL_TIME_SPEC_END};
	struct hl_answer a;

	*allocated = *live = 0;
	if (!hl_model_has_estimates(m))
		return hl_model_has_samples(m);
	if (hl_model_has_aggregated(m))
		return true; /* aggregated blocks are exact; the error of the rest is unknown */
	if (hl_model_query(m, &q, &a) == 0) {
		*allocated = hl_value_margin(&a.total);
		hl_answer_fini(&a);
	}
	q.quantity = HL_QUANTITY_LIVE;
	if (hl_model_query(m, &q, &a) == 0) {
		*live = hl_value_margin(&a.total);
		hl_answer_fini(&a);
	}
	return true;
}

static bool margins_known(struct hl_model *m)
{
	return hl_model_info(m)->totals.sums.alloc_blocks && !hl_model_has_aggregated(m);
}

static void json_margin(struct hl_json *j, struct hl_model *m, const char *key, uint64_t margin)
{
	hl_json_key(j, key);
	if (margins_known(m))
		hl_json_u64(j, margin);
	else
		hl_json_string(j, NULL);
}

static void json_estimate(struct hl_json *j, struct hl_model *m)
{
	uint64_t allocated, live;

	hl_json_key(j, "estimate");
	if (!get_margins(m, &allocated, &live)) {
		hl_json_string(j, NULL);
		return;
	}
	hl_json_begin_object(j);
	hl_json_key_u64(j, "samples", hl_model_info(m)->totals.samples);
	json_margin(j, m, "bytes_allocated_margin", allocated);
	json_margin(j, m, "live_bytes_end_margin", live);
	hl_json_end_object(j);
}

static void text_estimate(FILE *out, struct hl_model *m)
{
	uint64_t allocated, live;
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX];

	if (!get_margins(m, &allocated, &live))
		return;
	if (!hl_model_info(m)->totals.samples) {
		fprintf(out, "%-20s%s\n", "estimates",
			hl_model_info(m)->totals.sums.alloc_blocks
				? "none: each sample represents only itself"
				: "no samples: too little was allocated");
		return;
	}
	if (!margins_known(m)) {
		fprintf(out, "%-20sfrom %s samples; their accuracy is not known\n", "estimates",
			hl_text_count(n, hl_model_info(m)->totals.samples));
		return;
	}
	fprintf(out,
		"%-20sfrom %s samples; 95 %% confidence: bytes allocated +- %s, live bytes at end "
		"+- %s\n",
		"estimates", hl_text_count(n, hl_model_info(m)->totals.samples),
		hl_text_bytes(a, allocated), hl_text_bytes(b, live));
}

/* --- changes of the mode --- */

static bool get_mode_changes(struct hl_model *m, const struct hl_mode_change **modes, size_t *n)
{
	const struct hl_trace_info *i = hl_model_info(m);

	/* If the trace has an end, that says whether there are changes; without changes no chunk is
	 * decoded. */
	if (i->has_end && !i->mode_changes && !i->stops && !i->meta.started_off)
		return false;
	return hl_model_modes(m, modes, n) == 0 && *n > 0;
}

static void json_modes(struct hl_json *j, struct hl_model *m)
{
	const struct hl_mode_change *c;
	size_t n = 0;

	hl_json_key(j, "mode_changes");
	hl_json_begin_array(j);
	for (size_t i = 0; get_mode_changes(m, &c, &n) && i < n; i++) {
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

#define MODES_SHOWN 20

static void text_modes(FILE *out, struct hl_model *m)
{
	const struct hl_mode_change *c;
	char at[HL_TEXT_SIZE_MAX], rate[HL_TEXT_SIZE_MAX];
	size_t n = 0, i;

	if (!get_mode_changes(m, &c, &n))
		return;
	for (i = 0; i < n && i < MODES_SHOWN; i++) {
		fprintf(out, "%-20sfrom %s: %s", "", hl_text_duration(at, c[i].time_ns),
			hl_mode_name(c[i].mode));
		if (c[i].sample_bytes)
			fprintf(out, ", one in %s", hl_text_bytes(rate, c[i].sample_bytes));
		fputs(c[i].stopped ? ", stopped\n" : c[i].paused ? ", paused\n" : "\n", out);
	}
	if (i < n)
		fprintf(out, "%-20sand %zu more changes (info --json lists them)\n", "", n - i);
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
	hl_json_key(j, "events");
	if (i->unwritten.events == UINT64_MAX)
		hl_json_string(j, NULL);
	else
		hl_json_u64(j, i->unwritten.events);
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
	hl_json_key(j, "to_ns");
	if (c->to_ns == UINT64_MAX)
		hl_json_string(j, NULL);
	else
		hl_json_u64(j, c->to_ns);
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
	hl_json_key_string(&j, "kind", end_name(i->end.kind));
	hl_json_key(&j, "value");
	hl_json_i64(&j, i->end.value);
	if (i->end.kind == HL_END_SIGNAL)
		hl_json_key_bool(&j, "oom", i->end.oom);
	hl_json_end_object(&j);
	hl_json_key_bool(&j, "complete", hl_model_is_complete(m));
	hl_json_key_string(&j, "mode", i->meta.mode);
	json_totals(&j, m);
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
	hl_json_key(&j, "unknown");
	hl_json_import_limits(&j, i->meta.unknown);
	hl_json_end_object(&j);
	putc('\n', out);
}

static void put_styled_line(FILE *out, const char *label, const char *text, const char *style)
{
	struct hl_strbuf b = {0};

	hl_text_escape(&b, text);
	fprintf(out, "%-20s%s%s%s\n", label, style, hl_strbuf_str(&b),
		style[0] ? hl_style_sequence(HL_STYLE_PLAIN) : "");
	hl_strbuf_fini(&b);
}

static void put_line(FILE *out, const char *label, const char *text)
{
	put_styled_line(out, label, text, "");
}

static void text_command(FILE *out, const struct hl_meta *meta)
{
	const char *s = meta->command, *end = s ? s + meta->command_len : NULL;
	struct hl_strbuf b = {0};

	for (; s < end; s += strnlen(s, (size_t)(end - s)) + 1)
		hl_strbuf_printf(&b, "%s%s", b.len ? " " : "", s);
	put_line(out, "command", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

void hl_text_unwritten(struct hl_strbuf *b, const struct hl_unwritten *u)
{
	char n[HL_TEXT_SIZE_MAX];

	hl_strbuf_puts(b, "the recording stops before the end: ");
	if (u->events == UINT64_MAX)
		hl_strbuf_puts(b, "an unknown number of events was not written");
	else
		hl_strbuf_printf(b, "%s event%s not written", hl_text_count(n, u->events),
			u->events == 1 ? " was" : "s were");
	hl_strbuf_printf(b, " (%s)", strerror((int)u->error));
}

static void text_unwritten(FILE *out, const struct hl_trace_info *i)
{
	struct hl_strbuf b = {0};

	hl_text_unwritten(&b, &i->unwritten);
	put_line(out, "end", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

static void text_end(FILE *out, const struct hl_trace_info *i)
{
	char text[80];

	if (!i->has_end && i->unwritten.error) {
		text_unwritten(out, i);
		return;
	}

	switch (i->end.kind) {
	case HL_END_EXIT:
		snprintf(text, sizeof(text), "exit status %" PRId32, i->end.value);
		break;
	case HL_END_SIGNAL:
		snprintf(text, sizeof(text), "killed by signal %" PRId32 "%s", i->end.value,
			i->end.oom ? ", by the kernel (out of memory)" : "");
		break;
	case HL_END_EXEC:
		snprintf(text, sizeof(text), "replaced by another program (exec)");
		break;
	case HL_END_STOPPED:
		snprintf(text, sizeof(text),
			i->meta.slice.flags & HL_SLICE_RANGE
				? "after the end of this slice (see cut)"
				: "the recording was stopped");
		break;
	case HL_END_RUNNING:
		snprintf(text, sizeof(text), "still being recorded");
		break;
	default:
		snprintf(text, sizeof(text),
			"not in the file: it was not observed, or the file is truncated");
	}
	put_line(out, "end", text);
}

static void text_start(FILE *out, uint64_t unix_ns)
{
	time_t s = (time_t)(unix_ns / 1000000000);
	char text[64];
	struct tm tm;

	if (!unix_ns)
		snprintf(text, sizeof(text), "not known");
	else if (!localtime_r(&s, &tm) ||
		 !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &tm))
		snprintf(text, sizeof(text), "%" PRIu64 " ns", unix_ns);
	put_line(out, "start", text);
}

static void text_row(FILE *out, const struct total_row *r, const struct hl_model *m)
{
	char exact[HL_TEXT_SIZE_MAX], round[HL_TEXT_SIZE_MAX];

	if (!is_known(m, r))
		fprintf(out, "%-20s%20s\n", r->label, "not known");
	else if (r->unit == TIME)
		fprintf(out, "%-20s%20s\n", r->label, hl_text_duration(round, r->value));
	else if (r->unit == BYTES)
		fprintf(out, "%-20s%20s  %s\n", r->label, hl_text_count(exact, r->value),
			hl_text_bytes(round, r->value));
	else
		fprintf(out, "%-20s%20s\n", r->label, hl_text_count(exact, r->value));
}

static void text_source(FILE *out, const struct hl_meta *meta)
{
	struct hl_strbuf b = {0};

	put_line(out, "imported from", meta->source);
	hl_text_import_limits(&b, meta->unknown);
	if (b.len)
		put_line(out, "not known", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

/* Notes that are necessary to interpret the totals. */
static void text_early(FILE *out, uint64_t blocks)
{
	char n[HL_TEXT_SIZE_MAX], text[160];

	snprintf(text, sizeof(text),
		"%s block%s written early, before the lifetime was known; record with a larger "
		"--pending",
		hl_text_count(n, blocks), blocks == 1 ? " was" : "s were");
	put_line(out, "note", text);
}

static void text_notes(FILE *out, const struct hl_trace_info *i)
{
	if (i->meta.forked)
		put_line(out, "note",
			"a fork child: blocks that its parent allocated are not counted");
	if (i->meta.taken_over)
		put_line(
			out, "note", "an earlier collector died: counting starts where it stopped");
	if (i->meta.started_off || i->stops)
		put_line(out, "note", "recording was off for part of the run");
	if (i->aggregated.alloc_blocks)
		put_line(out, "note",
			"blocks in sums only: included in all totals, but without events");
	if (i->counters.early_blocks)
		text_early(out, i->counters.early_blocks);
	if (i->meta.zeroed)
		put_line(out, "note", "memory was zeroed for the program (--zero-memory)");
	if (i->pauses)
		put_line(out, "note",
			"recording was paused for part of the run; only frees were recorded then");
	if (i->meta.source[0])
		text_source(out, &i->meta);
	else if (strcmp(i->meta.clock, "tsc") != 0)
		put_line(out, "clock", i->meta.clock);
}

void hl_text_base(struct hl_strbuf *b, const struct hl_base *base)
{
	char time[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX];

	hl_strbuf_printf(b, "begins at %s of the run; %s event%s before %s not in this file",
		hl_text_duration(time, base->time_ns), hl_text_count(n, base->events),
		base->events == 1 ? "" : "s", base->events == 1 ? "is" : "are");
}

static void text_base(FILE *out, const struct hl_base *base)
{
	struct hl_strbuf b = {0};

	if (!base->is_late)
		return;
	hl_text_base(&b, base);
	put_line(out, "base", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

static void text_cut(FILE *out, const struct hl_trace_info *i)
{
	const struct hl_left_out *omitted = &i->left_out;
	char blocks[HL_TEXT_SIZE_MAX], bytes[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	if (!i->meta.slice.flags)
		return;
	hl_slice_describe(&i->meta.slice, &b);
	put_line(out, "cut", hl_strbuf_str(&b));
	hl_strbuf_reset(&b);
	hl_strbuf_printf(&b, "%s allocations, %s", hl_text_count(blocks, omitted->blocks),
		hl_text_bytes(bytes, omitted->bytes));
	if (omitted->blocks && i->has_end)
		put_line(out, "left out", hl_strbuf_str(&b));
	hl_strbuf_reset(&b);
	hl_strbuf_printf(&b,
		"%s of the allocations, %s, were made before the range and were live when it began",
		hl_text_count(blocks, omitted->older_blocks),
		hl_text_bytes(bytes, omitted->older_bytes));
	if (omitted->older_blocks)
		put_line(out, "older", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

void hl_text_info(FILE *out, struct hl_model *m, bool color)
{
	const char *bold = color ? hl_style_sequence(HL_STYLE_BOLD) : "";
	const char *red = color ? hl_style_sequence(HL_STYLE_RED) : "";
	const struct hl_trace_info *i = hl_model_info(m);
	struct total_row rows[N_ROWS];
	char text[HL_TEXT_SIZE_MAX];

	put_styled_line(out, "program", i->meta.program, bold);
	text_command(out, &i->meta);
	if (i->meta.pid)
		fprintf(out, "%-20s%" PRIu64 "\n", "pid", i->meta.pid);
	if (i->meta.arch[0])
		put_line(out, "architecture", i->meta.arch);
	text_start(out, i->meta.start_unix_ns);
	put_line(out, "duration", hl_text_duration(text, i->end.duration_ns));
	text_end(out, i);
	put_line(out, "mode", i->meta.mode);
	text_modes(out, m);
	text_estimate(out, m);
	text_notes(out, i);
	text_cut(out, i);
	text_base(out, &i->meta.base);
	put_styled_line(out, "complete", hl_model_is_complete(m) ? "yes" : "no",
		hl_model_is_complete(m) ? "" : red);
	if (i->damaged)
		put_styled_line(out, "damage", i->damage, red);
	put_line(out, "file size", hl_text_bytes(text, i->file_bytes));
	putc('\n', out);
	fill_rows(i, rows);
	for (size_t k = 0; k < (i->aggregated.alloc_blocks ? N_ROWS : N_ROWS - N_WITHHELD_ROWS);
		k++)
		text_row(out, &rows[k], m);
}
