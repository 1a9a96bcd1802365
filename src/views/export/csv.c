/*
 * csv.c - one row for each allocation, or with --group for each row of report's table, for programs
 * that calculate with tables.
 *
 * RFC 4180 but for the ends of lines, which are \n. What is not known is empty.
 */
#include <errno.h>
#include <stdlib.h>

#include "views/export/export_internal.h"

struct writer {
	struct hl_export_job *x;
	char **sites; /* per node: the last columns, quoted; NULL: not made yet */
	char *nowhere;
};

/* Quotes whatever it is: most names have commas. */
static void put_quoted(struct hl_strbuf *b, const char *s)
{
	hl_strbuf_putc(b, '"');
	for (; s && *s; s++) {
		if (*s == '"')
			hl_strbuf_putc(b, '"');
		hl_strbuf_putc(b, *s);
	}
	hl_strbuf_putc(b, '"');
}

/* Where the stack is known by: function, file, line, module. */
static int make_site(struct writer *w, uint32_t node, char **out)
{
	struct hl_strbuf b = {0};
	const struct hl_frame *f;
	uint32_t frame;
	int err = hl_model_site(w->x->m, node, &frame);

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
	hl_strbuf_putc(&b, '\n');
	*out = b.data;
	return hl_strbuf_error(&b);
}

static void put_number(struct hl_line *l, uint64_t v, bool known)
{
	hl_line_put(l, ",", 1);
	if (known)
		hl_line_u64(l, v);
}

static int put_block(void *arg, const struct hl_block *b)
{
	struct writer *w = arg;
	bool freed = b->death_ns != UINT64_MAX, stack = b->node != HL_NODE_NONE;
	char **site = stack ? &w->sites[b->node] : &w->nowhere;
	int err = *site ? 0 : make_site(w, b->node, site);
	struct hl_line l;

	if (err)
		return err;
	l.len = 0;
	hl_line_u64(&l, b->ordinal);
	put_number(&l, b->node, stack);
	put_number(&l, b->thread, true);
	hl_line_str(&l, ",");
	if (b->func < HL_FUNC_COUNT)
		hl_line_str(&l, hl_call_name(b->func));
	put_number(&l, b->size, true);
	hl_line_str(&l, ",0x");
	hl_line_hex(&l, b->addr);
	put_number(&l, b->birth_ns, true);
	put_number(&l, b->death_ns, freed);
	put_number(&l, b->free_thread, freed);
	hl_line_write(&l, w->x->out);
	fputs_unlocked(*site, w->x->out);
	return ferror_unlocked(w->x->out) ? -EIO : 0;
}

static int put_allocations(struct hl_export_job *x)
{
	struct writer w = {.x = x};
	struct hl_lives l = {.block = put_block, .arg = &w};
	uint32_t n = hl_model_n_nodes(x->m);
	int err;

	w.sites = calloc((size_t)n + 1, sizeof(*w.sites));
	fputs("id,stack,thread,call,size,address,allocated_ns,freed_ns,freed_by,function,file,line,"
	      "module\n",
		x->out);
	err = w.sites ? hl_export_lives(x, &l) : -ENOMEM;
	for (uint32_t i = 0; w.sites && i < n; i++)
		free(w.sites[i]);
	free(w.sites);
	free(w.nowhere);
	return err;
}

static int put_table(struct hl_export_job *x)
{
	struct hl_strbuf b = {0};
	struct hl_answer a;
	struct hl_table t = {0};
	int err = hl_export_ask(x, hl_group_key(x->group), &a);

	if (!err)
		err = hl_table_build(&t, x->m, &a, x->group, false);
	fprintf(x->out, "%s,bytes,blocks\n", hl_group_name(x->group));
	for (size_t i = 0; i < t.n && !err; i++) {
		struct hl_line l = {.len = 0};

		hl_strbuf_reset(&b);
		put_quoted(&b, t.rows[i].name);
		fputs(hl_strbuf_str(&b), x->out);
		put_number(&l, t.rows[i].value.bytes, true);
		put_number(&l, t.rows[i].value.blocks, true);
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
	return x->grouped ? put_table(x) : put_allocations(x);
}
