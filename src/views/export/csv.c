/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv.c - one row for each allocation, or with --group for each row of report's table, for
 * spreadsheets and similar programs.
 *
 * The format is RFC 4180, except that lines end with \n. Unknown values are empty. If some blocks
 * are aggregated, a row for each of their stacks follows, without an id, and there are two more
 * columns. Names come from the program and may be harmful to a terminal or a spreadsheet: see
 * put_quoted().
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/scan/realloc_chains.h"
#include "model/tags/roles.h"
#include "util/safe_text.h"
#include "model/stack/stack_rules.h"
#include "views/export/export_internal.h"

struct writer {
	struct hl_export_job *x;
	char **sites; /* per node: the columns of its site, quoted; NULL: not built yet */
	char *no_stack_site;
	char **threads, **tags, **pools; /* quoted names; NULL: no name */
	uint32_t n_threads, n_tags, n_pools;
	bool chains;
};

/*
 * Quotes every string, because most names have commas. Control characters, and bytes that are not
 * UTF-8, are escaped as in the text views, so that a row is one line and `cat` sends no escape
 * sequence to the terminal. A name that a spreadsheet would interpret as a formula gets an
 * apostrophe in front.
 */
static void put_quoted(struct hl_strbuf *b, const char *s)
{
	struct hl_strbuf shown = {0};

	hl_text_escape(&shown, s ? s : "");
	hl_strbuf_putc(b, '"');
	if (shown.len > 0 && strchr("=+-@", shown.data[0]))
		hl_strbuf_putc(b, '\'');
	for (const char *c = hl_strbuf_str(&shown); *c; c++) {
		if (*c == '"')
			hl_strbuf_putc(b, '"');
		hl_strbuf_putc(b, *c);
	}
	hl_strbuf_putc(b, '"');
	hl_strbuf_fini(&shown);
}

/* Any of several processes may have sums. */
static bool has_sums(const struct hl_export_job *x)
{
	return x->aggregated || x->process;
}

/* The first columns of a file with several processes. */
static void put_process(const struct hl_export_job *x)
{
	const struct hl_meta *meta = &hl_model_info(x->m)->meta;
	struct hl_strbuf name = {0};

	if (!x->process)
		return;
	put_quoted(&name, meta->program);
	fprintf(x->out, "%" PRIu64 ",%s,", meta->pid, hl_strbuf_str(&name));
	hl_strbuf_fini(&name);
}

/* Builds the columns of a site: function, file, line, module. */
static int build_site(struct writer *w, uint32_t node, char **out)
{
	struct hl_strbuf b = {0};
	const struct hl_frame *f;
	uint32_t frame;
	int err = hl_model_find_site(w->x->m, node, &frame);

	if (err)
		return err;
	f = hl_model_frame(w->x->m, frame);
	hl_strbuf_putc(&b, ',');
	put_quoted(&b, f->function);
	hl_strbuf_putc(&b, ',');
	if (f->file)
		put_quoted(&b, f->file);
	hl_strbuf_putc(&b, ',');
	if (f->line)
		hl_strbuf_printf(&b, "%u", f->line);
	hl_strbuf_putc(&b, ',');
	if (f->module)
		put_quoted(&b, f->module);
	*out = b.data;
	return hl_strbuf_error(&b);
}

/* Names come from the program and have any length, so they do not go through the fixed-size
 * hl_line. */
static void put_name(struct writer *w, char **names, uint32_t n, uint32_t i)
{
	putc_unlocked(',', w->x->out);
	if (i < n && names[i])
		fputs_unlocked(names[i], w->x->out);
}

static void put_number(struct hl_line *l, uint64_t v, bool known)
{
	hl_line_put(l, ",", 1);
	if (known)
		hl_line_u64(l, v);
}

static void put_chain(struct hl_line *l, const struct writer *w, const struct hl_block *b)
{
	struct hl_chain c = hl_chain_of(w->x->m, b);

	put_number(l, c.length, w->chains);
	put_number(l, c.position, w->chains);
	put_number(l, c.first_size, w->chains);
	put_number(l, c.last_size, w->chains);
	put_number(l, c.free_ns - c.alloc_ns, w->chains && c.free_ns != UINT64_MAX);
}

static int put_block(void *arg, const struct hl_block *b)
{
	struct writer *w = arg;
	bool freed = b->free_ns != UINT64_MAX, stack = b->node != HL_NODE_NONE;
	char **site = stack ? &w->sites[b->node] : &w->no_stack_site;
	int err = *site ? 0 : build_site(w, b->node, site);
	struct hl_line l;

	if (err)
		return err;
	l.len = 0;
	put_process(w->x);
	hl_line_u64(&l, hl_export_id(w->x->m, b));
	put_number(&l, b->node, stack);
	put_number(&l, b->thread, true);
	hl_line_str(&l, ",");
	if (hl_export_call(b))
		hl_line_str(&l, hl_export_call(b));
	put_number(&l, b->size, true);
	hl_line_str(&l, ",0x");
	hl_line_hex(&l, b->addr);
	put_number(&l, b->alloc_ns, true);
	put_number(&l, b->free_ns, freed);
	put_number(&l, b->free_thread, freed);
	put_number(&l, b->blocks, true);
	put_number(&l, b->bytes, true);
	hl_line_write(&l, w->x->out);
	put_name(w, w->threads, w->n_threads, b->thread);
	put_name(w, w->tags, w->n_tags, b->tag);
	put_name(w, w->pools, w->n_pools, b->pool);
	fputs_unlocked(*site, w->x->out);
	put_number(&l, b->free_node, freed && b->free_node != HL_NODE_NONE);
	put_chain(&l, w, b);
	hl_line_str(&l, has_sums(w->x) ? ",,\n" : "\n");
	hl_line_write(&l, w->x->out);
	return ferror_unlocked(w->x->out) ? -EIO : 0;
}

static int put_aggregated(struct writer *w, const struct hl_aggregated_row *r)
{
	bool stack = r->node != HL_NODE_NONE;
	char **site = stack ? &w->sites[r->node] : &w->no_stack_site;
	int err = *site ? 0 : build_site(w, r->node, site);
	struct hl_line l;

	if (err)
		return err;
	l.len = 0;
	put_process(w->x);
	put_number(&l, r->node, stack);
	hl_line_str(&l, ",,,,,,,"); /* columns thread to freed_by */
	put_number(&l, r->allocated.blocks, true);
	put_number(&l, r->allocated.bytes, true);
	hl_line_str(&l, ",,,");
	hl_line_write(&l, w->x->out);
	fputs_unlocked(*site, w->x->out);
	hl_line_str(&l, ",,,,,,"); /* columns freed_stack to chain_lifetime_ns */
	put_number(&l, r->allocated.blocks - r->live_at_end.blocks, true);
	put_number(&l, r->allocated.bytes - r->live_at_end.bytes, true);
	hl_line_str(&l, "\n");
	hl_line_write(&l, w->x->out);
	return ferror_unlocked(w->x->out) ? -EIO : 0;
}

static void free_names(char **names, uint32_t n)
{
	for (uint32_t i = 0; names && i < n; i++)
		free(names[i]);
	free(names);
}

/* Appends the name of thread, tag or pool i; nothing if it has none. */
typedef void (*append_name_fn)(struct hl_model *m, uint32_t i, struct hl_strbuf *to);

static void append_thread_name(struct hl_model *m, uint32_t i, struct hl_strbuf *to)
{
	const char *name = hl_model_thread_name(m, i);

	hl_strbuf_puts(to, name ? name : "");
}

static void append_tag_name(struct hl_model *m, uint32_t i, struct hl_strbuf *to)
{
	hl_model_put_tag(m, i, to);
}

static void append_pool_name(struct hl_model *m, uint32_t i, struct hl_strbuf *to)
{
	hl_strbuf_puts(to, hl_model_pool_name(m, i));
}

static int quote_all(struct hl_model *m, append_name_fn append_name, uint32_t n, char ***out)
{
	char **names = *out = calloc((size_t)n + 1, sizeof(*names));
	int err = names ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !err; i++) {
		struct hl_strbuf name = {0}, quoted = {0};

		append_name(m, i, &name);
		if (name.len > 0)
			put_quoted(&quoted, hl_strbuf_str(&name));
		err = hl_strbuf_error(&name) ? -ENOMEM : hl_strbuf_error(&quoted);
		names[i] = quoted.data;
		hl_strbuf_fini(&name);
	}
	return err;
}

static int build_names(struct writer *w)
{
	struct hl_model *m = w->x->m;
	uint32_t n_threads = 0;
	int err = hl_reader_n_threads(hl_model_reader(m), &n_threads);

	w->n_threads = n_threads;
	w->n_tags = hl_model_n_tags(m);
	w->n_pools = hl_model_n_pools(m);
	if (!err)
		err = quote_all(m, append_thread_name, w->n_threads, &w->threads);
	if (!err)
		err = quote_all(m, append_tag_name, w->n_tags, &w->tags);
	return err ? err : quote_all(m, append_pool_name, w->n_pools, &w->pools);
}

static void put_header(struct hl_export_job *x)
{
	fprintf(x->out,
		"%sid,stack,thread,call,size,address,allocated_ns,freed_ns,freed_by,blocks,bytes,"
		"thread_name,tag,pool,function,file,line,module,freed_stack,chain_length,"
		"chain_position,chain_first_size,chain_last_size,chain_lifetime_ns%s\n",
		x->process ? "pid,program," : "", has_sums(x) ? ",freed_blocks,freed_bytes" : "");
}

static int put_allocations(struct hl_export_job *x)
{
	struct writer w = {.x = x};
	struct hl_lifetimes l = {.block = put_block, .arg = &w};
	uint32_t n = hl_model_n_nodes(x->m);
	int err = build_names(&w);

	w.sites = calloc((size_t)n + 1, sizeof(*w.sites));
	if (x->is_first)
		put_header(x);
	w.chains = !err && hl_export_chains(x);
	if (!err)
		err = w.sites ? hl_export_lifetimes(x, &l) : -ENOMEM;
	for (size_t i = 0; x->aggregated && i < x->aggregated->n && !err; i++)
		err = put_aggregated(&w, &x->aggregated->rows[i]);
	free_names(w.sites, n);
	free(w.no_stack_site);
	free_names(w.threads, w.n_threads);
	free_names(w.tags, w.n_tags);
	free_names(w.pools, w.n_pools);
	return err;
}

static int put_table(struct hl_export_job *x)
{
	struct hl_strbuf b = {0};
	struct hl_answer a;
	struct hl_table t = {0};
	bool estimated = hl_model_has_estimates(x->m), known = !hl_model_has_aggregated(x->m);
	bool has_margin = estimated || x->process; /* any of several processes may have estimates */
	int err = hl_export_query(x, hl_group_key(x->group), &a);

	if (!err)
		err = hl_table_build(&t, x->m, &a, x->group, false);
	if (x->is_first)
		fprintf(x->out, "%s%s,bytes,blocks%s\n", x->process ? "pid,program," : "",
			hl_group_name(x->group), has_margin ? ",bytes_margin" : "");
	for (size_t i = 0; i < t.n && !err; i++) {
		struct hl_line l = {.len = 0};

		hl_strbuf_reset(&b);
		put_quoted(&b, t.rows[i].name);
		put_process(x);
		fputs(hl_strbuf_str(&b), x->out);
		put_number(&l, t.rows[i].value.bytes, true);
		put_number(&l, t.rows[i].value.blocks, true);
		if (has_margin)
			put_number(&l, hl_value_margin(&t.rows[i].value), estimated && known);
		hl_line_str(&l, "\n");
		hl_line_write(&l, x->out);
		err = hl_strbuf_error(&b);
	}
	hl_strbuf_fini(&b);
	hl_table_fini(&t);
	hl_answer_fini(&a);
	return err;
}

int hl_export_csv(struct hl_export_job *x)
{
	int err = hl_model_find_wrappers(x->m); /* before a scan that finds sites */

	if (err)
		return err;
	return x->grouped ? put_table(x) : put_allocations(x);
}
