/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshots_text.c - snapshots in the form of pmem's log, and as JSON.
 */
#include <inttypes.h>
#include <string.h>

#include "base/attr.h"
#include "util/strbuf.h"
#include "util/safe_text.h"
#include "views/text/snapshots_text.h"

const char *hl_snapshot_cause_name(uint32_t cause)
{
	static const char *const names[] = {[HL_SNAPSHOT_PROGRAM] = "asked",
		[HL_SNAPSHOT_CHURN] = "churn",
		[HL_SNAPSHOT_TIME] = "time",
		[HL_SNAPSHOT_LIVE] = "live",
		[HL_SNAPSHOT_RSS] = "rss",
		[HL_SNAPSHOT_CTL] = "ctl",
		[HL_SNAPSHOT_END] = "end",
		[HL_SNAPSHOT_MODE_CHANGE] = "mode",
		[HL_SNAPSHOT_SIGNAL] = "signal"};

	return cause < HL_ARRAY_LEN(names) ? names[cause] : "other";
}

static uint64_t get_churn(const struct hl_sums *s)
{
	return s->alloc_bytes + s->free_bytes;
}

/* Prints one line of a stack: "  {2} main  t.c:7". */
static void put_frame(FILE *out, unsigned n, const struct hl_frame *f)
{
	struct hl_strbuf b = {0};
	const char *slash;

	hl_text_escape(&b, f->display_name);
	if (f->file) {
		slash = strrchr(f->file, '/');
		hl_strbuf_puts(&b, "  ");
		hl_text_escape(&b, slash ? slash + 1 : f->file);
		if (f->line)
			hl_strbuf_printf(&b, ":%u", f->line);
	} else if (f->module) {
		slash = strrchr(f->module, '/');
		hl_strbuf_puts(&b, "  ");
		hl_text_escape(&b, slash ? slash + 1 : f->module);
	}
	fprintf(out, "  {%u} %s\n", n, hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

typedef void frame_fn(void *arg, unsigned n, const struct hl_frame *f);

/* Calls `fn` for each frame, innermost first, without the frames before main if `starts` is given.
 * A stack that ends in such a frame has all its frames. */
static int for_each_frame(struct hl_model *m, uint32_t node, const struct hl_runtime_frames *starts,
	frame_fn *fn, void *arg)
{
	const struct hl_frame_ref *refs;
	unsigned shown = 0;
	size_t n;

	if (node != HL_NODE_NONE && starts && hl_runtime_frames_contain(starts, node))
		starts = NULL;

	do {
		int err = hl_model_node_frames(m, node, &refs, &n);

		if (err)
			return err;
		while (n-- > 0)
			fn(arg, shown++, hl_model_frame(m, refs[n].frame));
		node = node == HL_NODE_NONE ? node : hl_model_parent(m, node);
	} while (node != HL_NODE_NONE && !(starts && hl_runtime_frames_contain(starts, node)));
	return 0;
}

static void text_frame(void *arg, unsigned n, const struct hl_frame *f)
{
	put_frame(arg, n, f);
}

static int put_source(FILE *out, struct hl_model *m, const struct hl_stack_change *s,
	const struct hl_runtime_frames *starts)
{
	fprintf(out,
		"\n{%016" PRIx64 "} live:%" PRIu64 ", alloc:%" PRIu64 "/%" PRIu64 ", free:%" PRIu64
		"/%" PRIu64 "\n",
		s->id, hl_sums_live_bytes(&s->total), s->change.alloc_bytes, s->total.alloc_bytes,
		s->change.free_bytes, s->total.free_bytes);
	return for_each_frame(m, s->node, starts, text_frame, out);
}

static void put_header(FILE *out, const struct hl_snapshot_list *log, size_t from, size_t to,
	const struct hl_snapshot_changes *page)
{
	const struct hl_moment *x = to ? hl_snapshot_list_moment(log, to) : NULL;
	char time[HL_TEXT_SIZE_MAX], live[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];
	struct hl_strbuf label = {0};

	if (from + 1 == to)
		fprintf(out, "[%3zu]", to);
	else
		fprintf(out, "[%3zu] to [%3zu]", from, to);
	fputs("=========================================================\n", out);
	fprintf(out, "churn=%" PRIu64 "/%" PRIu64 ", %s, at %s, live %s in %s blocks",
		get_churn(&page->change), x ? x->churn_bytes : 0,
		x ? hl_snapshot_cause_name(x->cause) : "start",
		hl_text_duration(time, page->time_ns),
		hl_text_bytes(live, hl_sums_live_bytes(&page->total)),
		hl_text_count(blocks, hl_sums_live_blocks(&page->total)));
	if (x && x->label[0]) {
		hl_text_escape(&label, x->label);
		fprintf(out, ", \"%s\"", hl_strbuf_str(&label));
	}
	if (page->before_damage)
		fputs(", the latest before the lost part", out);
	fputc('\n', out);
	hl_strbuf_fini(&label);
}

/* The lines keep the form of pmem's log, which has no units; the legend names them. */
void hl_text_snapshots_legend(FILE *out, const struct hl_model *m, const char *since)
{
	fprintf(out,
		"# churn, live, alloc and free are in bytes.\n"
		"# churn=A/B: A allocated and freed %s; B triggers the next one (0: none).\n"
		"# {source}: a stack, the same number in every run; {0} is the innermost frame.\n"
		"# live:N now; alloc:A/B and free:A/B %s / since the start.\n",
		since, since);
	if (hl_model_has_samples(m))
		fputs("# All numbers are estimates from samples.\n", out);
	fputc('\n', out);
}

int hl_text_snapshots(FILE *out, struct hl_model *m, const struct hl_snapshot_list *log,
	size_t from, size_t to, const struct hl_snapshot_changes *page,
	const struct hl_runtime_frames *starts, size_t limit)
{
	size_t n = limit && limit < page->n ? limit : page->n;
	int err = 0;

	put_header(out, log, from, to, page);
	for (size_t i = 0; i < n && !err; i++)
		err = put_source(out, m, &page->sources[i], starts);
	if (n < page->n)
		fprintf(out, "\n%zu more source%s changed; --limit 0 shows all\n", page->n - n,
			page->n - n == 1 ? "" : "s");
	fputc('\n', out);
	return err;
}

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

static void json_frame(void *arg, unsigned n, const struct hl_frame *f)
{
	struct hl_json *j = arg;

	hl_json_begin_object(j);
	hl_json_key_string(j, "function", f->function);
	hl_json_key_string(j, "file", f->file);
	hl_json_key_u64(j, "line", f->line);
	hl_json_key_string(j, "module", f->module);
	hl_json_end_object(j);
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
	err = for_each_frame(m, s->node, NULL, json_frame, j);
	hl_json_end_array(j);
	hl_json_end_object(j);
	return err;
}

int hl_json_snapshots(struct hl_json *j, struct hl_model *m, const struct hl_snapshot_list *log,
	size_t from, size_t to, const struct hl_snapshot_changes *page)
{
	const struct hl_moment *x = to ? hl_snapshot_list_moment(log, to) : NULL;
	int err = 0;

	hl_json_begin_object(j);
	hl_json_key_u64(j, "snapshot", to);
	hl_json_key_u64(j, "since_snapshot", from);
	hl_json_key_u64(j, "time_ns", page->time_ns);
	hl_json_key_bool(j, "moved", page->before_damage);
	hl_json_key_string(j, "cause", x ? hl_snapshot_cause_name(x->cause) : "start");
	hl_json_key_string(j, "label", x ? x->label : "");
	hl_json_key_u64(j, "threshold", x ? x->threshold : 0);
	hl_json_key_u64(j, "churn_bytes", get_churn(&page->change));
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
