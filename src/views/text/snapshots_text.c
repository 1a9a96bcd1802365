/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshots_text.c - snapshots in the form of pmem's log.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/attr.h"
#include "util/strbuf.h"
#include "util/safe_text.h"
#include "views/text/snapshots_text.h"
#include "views/text/text_internal.h"

/* Prints one line of a stack: "  {2} main  t.c:7". On a terminal it is shortened. */
static void put_frame(
	FILE *out, unsigned n, const struct hl_frame *f, const struct hl_text_opts *opts)
{
	struct hl_label label = {.frame = f};
	struct hl_strbuf b = {0};
	const char *slash;

	if (opts->shorten) {
		label.reserved_columns = (size_t)fprintf(out, "  {%u} ", n);
		hl_put_label(out, &label, opts);
		putc('\n', out);
		return;
	}
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

/* A stack in the form of pmem's log. */
struct frame_printer {
	FILE *out;
	const struct hl_text_opts *opts;
	unsigned n;
};

static void print_frame(void *arg, const struct hl_frame *f, bool inlined)
{
	struct frame_printer *p = arg;

	put_frame(p->out, p->n++, f, p->opts);
}

static int put_source(FILE *out, struct hl_model *m, const struct hl_stack_change *s,
	const struct hl_runtime_frames *starts, const struct hl_text_opts *opts)
{
	struct frame_printer p = {.out = out, .opts = opts};
	struct hl_strbuf b = {0};

	hl_strbuf_printf(&b,
		"{%016" PRIx64 "} live:%" PRIu64 ", alloc:%" PRIu64 "/%" PRIu64 ", free:%" PRIu64
		"/%" PRIu64,
		s->id, hl_sums_live_bytes(&s->total), s->change.alloc_bytes, s->total.alloc_bytes,
		s->change.free_bytes, s->total.free_bytes);
	putc('\n', out);
	hl_put_wrapped(out, hl_strbuf_str(&b), HL_STYLE_PLAIN, 4, opts);
	hl_strbuf_fini(&b);
	return hl_model_each_frame(m, s->node, starts, print_frame, &p);
}

static void put_header(FILE *out, const struct hl_snapshot_list *log, size_t from, size_t to,
	const struct hl_snapshot_changes *page, const struct hl_text_opts *opts)
{
	const struct hl_moment *x = to ? hl_snapshot_list_moment(log, to) : NULL;
	char time[HL_TEXT_SIZE_MAX], live[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	uint64_t before = hl_snapshot_list_before(log);

	if (from + 1 == to)
		fprintf(out, "[%3" PRIu64 "]", to + before);
	else
		fprintf(out, "[%3" PRIu64 "] to [%3" PRIu64 "]", from ? from + before : 0,
			to ? to + before : 0);
	fputs("=========================================================\n", out);
	hl_strbuf_printf(&b, "churn=%" PRIu64 "/%" PRIu64 ", %s, at %s, live %s in %s blocks",
		hl_sums_churn(&page->change), x ? x->churn_bytes : 0,
		x ? hl_moment_cause_name(x) : "start", hl_text_duration(time, page->time_ns),
		hl_text_bytes(live, hl_sums_live_bytes(&page->total)),
		hl_text_count(blocks, hl_sums_live_blocks(&page->total)));
	if (x && x->label[0]) {
		hl_strbuf_puts(&b, ", \"");
		hl_text_escape(&b, x->label);
		hl_strbuf_puts(&b, "\"");
	}
	if (page->before_damage)
		hl_strbuf_puts(&b, ", the latest before the lost part");
	hl_put_wrapped(out, hl_strbuf_str(&b), HL_STYLE_PLAIN, 4, opts);
	hl_strbuf_fini(&b);
}

/* The lines keep the form of pmem's log, which has no units; the legend names them. */
static void put_legend_line(FILE *out, const struct hl_text_opts *opts, const char *fmt, ...)
	hl_printf(3, 4);
static void put_legend_line(FILE *out, const struct hl_text_opts *opts, const char *fmt, ...)
{
	struct hl_strbuf b = {0};
	va_list args;

	va_start(args, fmt);
	hl_strbuf_vprintf(&b, fmt, args);
	va_end(args);
	hl_put_wrapped(out, hl_strbuf_str(&b), HL_STYLE_PLAIN, 4, opts);
	hl_strbuf_fini(&b);
}

void hl_text_log_legend(
	FILE *out, const struct hl_model *m, const char *since, const struct hl_text_opts *opts)
{
	put_legend_line(out, opts, "# churn, live, alloc and free are in bytes.");
	put_legend_line(out, opts,
		"# churn=A/B: A allocated and freed %s; B triggers the next one (0: none).", since);
	put_legend_line(out, opts,
		"# {source}: a stack, the same number in every run; {0} is the innermost frame.");
	put_legend_line(
		out, opts, "# live:N now; alloc:A/B and free:A/B %s / since the start.", since);
	if (hl_model_has_samples(m))
		put_legend_line(out, opts, "# All numbers are estimates from samples.");
	fputc('\n', out);
}

int hl_text_log_changes(FILE *out, struct hl_model *m, const struct hl_snapshot_list *log,
	size_t from, size_t to, const struct hl_snapshot_changes *page,
	const struct hl_runtime_frames *starts, size_t limit, const struct hl_text_opts *opts)
{
	size_t n = limit && limit < page->n ? limit : page->n;
	int err = 0;

	put_header(out, log, from, to, page, opts);
	for (size_t i = 0; i < n && !err; i++)
		err = put_source(out, m, &page->sources[i], starts, opts);
	if (n < page->n)
		fprintf(out, "\n%zu more source%s changed; --limit 0 shows all\n", page->n - n,
			page->n - n == 1 ? "" : "s");
	fputc('\n', out);
	return err;
}
