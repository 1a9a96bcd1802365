/* SPDX-License-Identifier: Apache-2.0 */
/* record_summary.c - see record_summary.h. */
#include "cli/record/record_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "model/query/suppress.h"
#include "util/strbuf.h"
#include "util/terminal/terminal.h"
#include "util/safe_text.h"

#define COST_MIN_NS UINT64_C(100000000)
#define STACK_BYTES (8u << 20)

static const char *style(enum hl_style s)
{
	return hl_cli_style(2, s);
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* Prints " peak 12.4 MiB in 162 blocks, at 30.7 ms". */
static void print_row(const char *name, const char *value, const char *detail)
{
	fprintf(stderr, "  %-12s%s%12s%s%s%s\n", name, style(HL_STYLE_BOLD), value,
		style(HL_STYLE_PLAIN), detail[0] ? "  " : "", detail);
}

static void print_title(const struct hl_trace_info *info)
{
	struct hl_strbuf name = {0};
	const char *base = info->meta.program ? strrchr(info->meta.program, '/') : NULL;
	char took[HL_TEXT_SIZE_MAX];

	hl_text_escape(&name, base ? base + 1 : info->meta.program ? info->meta.program : "?");
	fprintf(stderr, "%sheaplapse:%s recorded %s for %s\n", style(HL_STYLE_BOLD),
		style(HL_STYLE_PLAIN), hl_strbuf_str(&name),
		hl_text_duration(took, info->end.duration_ns));
	hl_strbuf_fini(&name);
}

/* Live blocks at the end: those that `report --leaks` shows, and those that it suppresses by
 * default. Names are looked up only for stacks that end in libc and similar libraries. */
struct remaining {
	struct hl_value left, kept;
};

static int query_kept(struct hl_model *m, struct hl_value *kept)
{
	struct hl_query q = {.to.kind = HL_TIME_SPEC_END};
	const struct hl_sums *sums = &hl_model_info(m)->totals.sums;
	struct hl_answer a;
	int err = hl_suppressions_new(&q.suppressions);

	if (!err)
		err = hl_suppressions_add_defaults(q.suppressions);
	if (!err)
		err = hl_model_query(m, &q, &a);
	if (!err) {
		*kept = (struct hl_value){.bytes = hl_sums_live_bytes(sums) - a.total.bytes,
			.blocks = hl_sums_live_blocks(sums) - a.total.blocks};
		hl_answer_fini(&a);
	}
	hl_suppressions_free(q.suppressions);
	return err;
}

/* If the two cannot be distinguished, all blocks count as `left`. */
static struct remaining find_remaining(struct hl_model *m)
{
	const struct hl_sums *sums = &hl_model_info(m)->totals.sums;
	struct remaining r = {.left = {hl_sums_live_bytes(sums), hl_sums_live_blocks(sums)}};

	if (r.left.blocks == 0 || query_kept(m, &r.kept) || r.kept.blocks > r.left.blocks)
		r.kept = (struct hl_value){0};
	r.left.bytes -= r.kept.bytes;
	r.left.blocks -= r.kept.blocks;
	return r;
}

static void print_rest(const struct hl_model *m, const struct remaining *r)
{
	char value[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX], kept[HL_TEXT_SIZE_MAX], detail[128];
	int len = snprintf(detail, sizeof(detail), "in %s block%s",
		hl_text_count(n, r->left.blocks), plural(r->left.blocks));

	if (r->kept.blocks > 0)
		snprintf(detail + len, sizeof(detail) - (size_t)len,
			", plus %s held by the runtime", hl_text_bytes(kept, r->kept.bytes));
	print_row(hl_model_leaks_are_certain(m) ? "leaked" : "live at end",
		hl_text_bytes(value, r->left.bytes), detail);
}

static void print_peak(const struct hl_totals *t)
{
	char value[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX], at[HL_TEXT_SIZE_MAX], detail[128];

	snprintf(detail, sizeof(detail), "in %s block%s, at %s", hl_text_count(n, t->peak_blocks),
		plural(t->peak_blocks), hl_text_duration(at, t->peak_time_ns));
	print_row("peak", hl_text_bytes(value, t->peak_bytes), detail);
}

static void print_counts(const struct hl_model *m)
{
	const struct hl_trace_info *info = hl_model_info(m);
	const struct hl_totals *t = &info->totals;
	uint64_t allocs = t->sums.alloc_blocks, dropped = info->counters.dropped_events;
	char value[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX], detail[128];

	snprintf(detail, sizeof(detail), "%s in total", hl_text_bytes(n, t->sums.alloc_bytes));
	print_row("allocations", hl_text_count(value, allocs), detail);
	snprintf(detail, sizeof(detail), "%.1f%% freed by the very next event",
		allocs ? (double)t->temporary * 100 / (double)allocs : 0);
	if (hl_model_has_adjacency(m))
		print_row("temporary", hl_text_count(value, t->temporary), detail);
	print_row("threads", hl_text_count(value, info->threads), "");
	if (dropped)
		print_row("DROPPED", hl_text_count(value, dropped),
			"events: the collector was killed or could not keep up");
}

/* Prints the share of the run that recording took. Only for runs that are long enough for
 * meaningful samples. */
static void print_cost(const struct hl_trace_info *info)
{
	const struct hl_cost *c = &info->cost;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t parallelism = hl_min_u64(info->threads, cpus > 0 ? (uint64_t)cpus : 1);
	double run = (double)info->end.duration_ns,
	       all = run * (double)(parallelism ? parallelism : 1);
	char value[HL_TEXT_SIZE_MAX], detail[128];
	double share;

	if (!info->has_end || c->hook_ns == 0 || info->end.duration_ns < COST_MIN_NS)
		return;
	/* An estimate from samples: on a busy machine the sum may exceed the whole. */
	share = (double)(c->hook_ns + c->wait_ns) * 100 / all;
	snprintf(value, sizeof(value), "~%.1f%%", share < 99.9 ? share : 99.9);
	snprintf(detail, sizeof(detail), "of the run (%.1f%% waiting); collector: %.0f%% of a CPU",
		(double)c->wait_ns * 100 / all, (double)c->collector_ns * 100 / run);
	print_row("overhead", value, detail);
}

/* Quotes a word if the shell would interpret it, so that the line can be copied. */
static void put_shell_word(struct hl_strbuf *b, const char *word)
{
	bool plain = *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789_-+=./:,@%") == strlen(word);

	if (plain) {
		hl_strbuf_puts(b, word);
		return;
	}
	hl_strbuf_putc(b, '\'');
	for (; *word; word++) {
		char str[2] = {*word, 0};

		if (*word == '\'')
			hl_strbuf_puts(b, "'\\''");
		else
			hl_strbuf_puts(b, str);
	}
	hl_strbuf_putc(b, '\'');
}

static void print_next_step(
	const char *label, const char *command, const char *path, const char *what)
{
	struct hl_strbuf raw = {0}, line = {0};

	put_shell_word(&raw, program_invocation_name);
	hl_strbuf_printf(&raw, " %s ", command);
	put_shell_word(&raw, path);
	hl_text_escape(&line, hl_strbuf_str(&raw));
	fprintf(stderr, "  %-6s%s  %s# %s%s\n", label, hl_strbuf_str(&line), style(HL_STYLE_DIM),
		what, style(HL_STYLE_PLAIN));
	hl_strbuf_fini(&raw);
	hl_strbuf_fini(&line);
}

/* Most blocks were freed at once, and they were many, so they cost time. */
static bool has_churn(const struct hl_model *m)
{
	const struct hl_totals *t = &hl_model_info(m)->totals;

	return hl_model_has_adjacency(m) && t->temporary >= 1000 &&
	       t->temporary >= t->sums.alloc_blocks / 2;
}

static void print_trace_path(const struct hl_model *m, const char *path, bool leaks)
{
	const struct hl_trace_info *info = hl_model_info(m);
	struct hl_strbuf shown = {0};
	char size[HL_TEXT_SIZE_MAX];

	hl_text_escape(&shown, path);
	fprintf(stderr, "  %-12s%s (%s)\n", "trace", hl_strbuf_str(&shown),
		hl_text_bytes(size, info->file_bytes));
	hl_strbuf_fini(&shown);
	print_next_step("next:", "report", path, "which stacks held the memory at the peak");
	if (leaks)
		print_next_step("", "report --leaks", path, "memory that was never freed");
	if (has_churn(m))
		print_next_step(
			"", "report --temporary", path, "which stacks allocate temporary blocks");
}

void hl_summary_print_tags(const char *program, uint64_t pid)
{
	const char *stats = getenv("HEAPLAPSE_STATS_JSON"), *slash = strrchr(program, '/'),
		   *place = stats ? strstr(stats, "%p") : NULL;
	struct hl_strbuf shown = {0};
	char path[PATH_MAX];

	if (place && snprintf(path, sizeof(path), "%.*s%" PRIu64 "%s", (int)(place - stats), stats,
			     pid, place + 2) < (int)sizeof(path))
		stats = path;
	hl_text_escape(&shown, slash ? slash + 1 : program);
	fprintf(stderr, "heaplapse: recorded %s in mode tags\n", hl_strbuf_str(&shown));
	hl_strbuf_fini(&shown);
	if (stats && *stats)
		print_next_step("next:", "tags", stats, "memory by scope");
}

static void *print_all(void *arg)
{
	const char *path = arg;
	struct hl_reader_refusal why;
	struct hl_model *m;
	struct remaining remaining;

	if (hl_model_open(&m, path, &why) < 0) {
		hl_cli_error("%s", why.text);
		return NULL;
	}
	print_title(hl_model_info(m));
	print_peak(&hl_model_info(m)->totals);
	remaining = find_remaining(m);
	print_rest(m, &remaining);
	print_counts(m);
	print_cost(hl_model_info(m));
	print_trace_path(m, path, remaining.left.blocks > 0);
	hl_model_close(m);
	return NULL;
}

/* Looking up names takes libdw about 100 KiB of stack. Our stack may be as small as the program's,
 * so a thread with its own stack size is used. */
void hl_summary_print(const char *path)
{
	void *arg = (void *)(uintptr_t)path;
	pthread_attr_t attr;
	pthread_t thread;
	int err = pthread_attr_init(&attr);

	if (!err)
		err = pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (!err)
		err = pthread_create(&thread, &attr, print_all, arg);
	if (err)
		print_all(arg);
	else
		pthread_join(thread, NULL);
}
