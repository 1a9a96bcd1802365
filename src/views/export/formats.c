/*
 * formats.c - the table of formats.
 */
#include <errno.h>

#include "views/export/export_internal.h"

/* A table has rows for all of them. A tree has its stacks below the group; and where it is made of
 * single events, only what each of them tells (course.h). */
#define TABLE_GROUPS ((1u << HL_GROUP_COUNT) - 1)
#define TREE_GROUPS  (TABLE_GROUPS & ~(1u << HL_GROUP_STACK))
#define EVENT_GROUPS \
	(TREE_GROUPS & ~(1u << HL_GROUP_CALL | 1u << HL_GROUP_LIFE | 1u << HL_GROUP_POOL))

const struct hl_export_format hl_export_formats[] = {
	{.name = "json",
		.suffix = ".json",
		.viewer = "your own programs: every allocation and stack (export-json.md)",
		.usual = HL_EXPORT_ALL,
		.single = true,
		.rests = true,
		.write = hl_export_json},
	{.name = "collapsed",
		.suffix = ".txt",
		.viewer = "flamegraph.pl, inferno, speedscope: one line for each stack",
		.groups = TREE_GROUPS,
		.write = hl_export_collapsed},
	{.name = "pprof",
		.suffix = ".pb.gz",
		.viewer = "go tool pprof, Pyroscope, Parca, Grafana: stacks with four costs",
		.binary = true,
		.groups = TREE_GROUPS,
		.write = hl_export_pprof},
	{.name = "heaptrack",
		.suffix = ".zst",
		.viewer = "heaptrack_gui, heaptrack_print: every allocation (also .gz, or plain)",
		.usual = HL_EXPORT_ALL,
		.single = true,
		.unweighted = true,
		.write = hl_export_heaptrack},
	{.name = "massif",
		.suffix = ".massif",
		.viewer = "ms_print, massif-visualizer: the heap over time, with trees",
		.course = true,
		.groups = TREE_GROUPS,
		.write = hl_export_massif},
	{.name = "dhat",
		.suffix = ".json",
		.viewer = "dh_view.html of Valgrind, Firefox Profiler: stacks with lifetimes",
		.usual = HL_EXPORT_ALL,
		.single = true,
		.rests = true,
		.groups = EVENT_GROUPS,
		.write = hl_export_dhat},
	{.name = "speedscope",
		.suffix = ".speedscope.json",
		.viewer = "speedscope.app: flame graphs of bytes and of blocks",
		.groups = TREE_GROUPS,
		.write = hl_export_speedscope},
	{.name = "svg",
		.suffix = ".svg",
		.viewer = "any browser: a flame graph to search and to zoom into",
		.groups = TREE_GROUPS,
		.write = hl_export_svg},
	{.name = "html",
		.suffix = ".html",
		.viewer = "any browser: a page to mail, with timeline, flame graphs, trees, sites",
		.people = true,
		.excuses = true,
		.groups = TREE_GROUPS,
		.write = hl_export_html},
	{.name = "dot",
		.suffix = ".dot",
		.viewer = "Graphviz, xdot: who calls whom, and what it costs",
		.groups = TREE_GROUPS,
		.write = hl_export_dot},
	{.name = "gprof2dot",
		.suffix = ".json",
		.viewer = "gprof2dot -f json: memtrail's graphs",
		.groups = TREE_GROUPS,
		.write = hl_export_gprof2dot},
	{.name = "csv",
		.suffix = ".csv",
		.viewer = "spreadsheets, SQL: every allocation, or with --group a table",
		.usual = HL_EXPORT_ALL,
		.groups = TABLE_GROUPS,
		.tabled = true,
		.single = true,
		.rests = true,
		.write = hl_export_csv},
	{.name = "parquet",
		.suffix = ".parquet",
		.viewer = "DuckDB, ClickHouse, Spark, Trino, pandas: tables (export-parquet.md)",
		.usual = HL_EXPORT_ALL,
		.binary = true,
		.single = true,
		.tables = hl_export_parquet_tables,
		.write = hl_export_parquet},
	{.name = "chrome",
		.suffix = ".trace.json",
		.viewer = "Perfetto, chrome://tracing: counters over time, and marks",
		.course = true,
		.heap = true,
		.write = hl_export_chrome},
	{.name = "firefox",
		.suffix = ".json",
		.viewer = "profiler.firefox.com: counters, marks, and the trees of a question",
		.heap = true,
		.groups = TREE_GROUPS,
		.write = hl_export_firefox},
	{.name = "replay",
		.suffix = ".replay",
		.viewer = "heaplapse-replay: the same calls again, on any allocator",
		.usual = HL_EXPORT_ALL,
		.binary = true,
		.heap = true,
		.single = true,
		.unweighted = true,
		.write = hl_export_replay},
	{0},
};

const struct hl_export_format *hl_export_find(const char *name)
{
	for (const struct hl_export_format *f = hl_export_formats; f->name; f++) {
		if (strcmp(f->name, name) == 0)
			return f;
	}
	return NULL;
}

static bool asks_for_own_peak(const struct hl_export_format *f, const struct hl_export_job *x)
{
	return x->own_peak && !f->course && x->query.quantity == HL_QUANTITY_LIVE &&
	       x->query.to.kind == HL_WHEN_PEAK;
}

/*
 * Which formats have what this one cannot say of a trace with sums. Those with `rests` have all
 * that was allocated or left, those of sums what `report` knows.
 */
static int name_others(const struct hl_export_format *f, struct hl_export_job *x)
{
	struct hl_query all = {
		.quantity = x->query.quantity, .to = x->query.to, .filter = x->query.filter};
	struct hl_strbuf b = {0};
	size_t said;

	hl_strbuf_puts(&b, hl_model_error(x->m));
	said = b.len;
	if (!f->rests && hl_rest_check(x->m, &all) == 0)
		hl_strbuf_puts(&b, "; json, csv and dhat have the blocks that were kept and the "
				   "sums of the rest");
	if (hl_query_sums_suffice(x->m, &x->query))
		hl_strbuf_puts(&b, "; pprof, svg and collapsed have the sums");
	if (b.len == said)
		hl_strbuf_puts(&b, "; json, csv and dhat take --allocated and --leaks of this "
				   "trace, with filters on stacks: fn: (not of malloc and its "
				   "like), file:, module:");
	hl_model_set_error(x->m, hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
	return -ENODATA;
}

/* Are the single blocks known, or the sums of those that are not? */
static int check_lives(
	const struct hl_export_format *f, struct hl_export_job *x, struct hl_rest *rest)
{
	struct hl_query q = x->query;
	int err = hl_query_check_lives(x->m, &q);

	if (err != -ENODATA || !hl_model_withholds(x->m) || !hl_model_has_order(x->m))
		return err;
	if (x->grouped)
		q.key = hl_group_key(x->group);
	if (!f->rests || hl_rest_check(x->m, &q))
		return name_others(f, x);
	x->rest = rest;
	return hl_rest_begin(rest, x->m, &x->query);
}

int hl_export_write(const struct hl_export_format *f, struct hl_export_job *x)
{
	bool table = f->tabled && x->grouped;
	struct hl_rest rest = {0};
	int err = 0;

	if (!x->asked && f->usual == HL_EXPORT_ALL && !table) {
		x->query.quantity = HL_QUANTITY_ALLOCATED;
		x->query.from = (struct hl_when){0};
		x->query.to = (struct hl_when){.kind = HL_WHEN_END};
		x->what = "allocated";
	}
	/* As `report`: all that a profile of another tool knows of a moment is what was in use. */
	if (!x->asked && f->usual == HL_EXPORT_PEAK && !hl_model_has_order(x->m)) {
		x->query.quantity = HL_QUANTITY_LIVE;
		x->query.to = (struct hl_when){.kind = HL_WHEN_END};
		x->what = "live at the end";
	}
	/* Before anything is written, of which stdout cannot be freed again. */
	if (f->single && !table)
		err = check_lives(f, x, &rest);
	if (!err && asks_for_own_peak(f, x)) {
		err = hl_export_find_peak(x);
		x->query.to = x->has_peak ? x->peak.when : x->query.to;
		if (err == -ENODATA && f->excuses)
			err = 0;
	}
	if (!err)
		err = f->write(x);
	hl_rest_fini(&rest);
	x->rest = NULL;
	return err;
}
