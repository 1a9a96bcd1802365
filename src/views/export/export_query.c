/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_query.c - functions that formats share: queries and names; see export_internal.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "model/scan/realloc_chains.h"
#include "model/stack/group_tree.h"
#include "util/safe_text.h"
#include "util/vec.h"
#include "views/export/export_internal.h"

#define MODULE_SHIFT 32

static void note_time(struct hl_export_job *x, int err, const struct hl_answer *a)
{
	if (err)
		return;
	x->to_ns = a->to_ns;
	x->before_damage |= a->before_damage;
}

int hl_export_query(struct hl_export_job *x, enum hl_key key, struct hl_answer *a)
{
	struct hl_query q = x->query;
	int err;

	q.key = key;
	err = hl_model_query(x->m, &q, a);
	note_time(x, err, a);
	return err;
}

/* The group is the outermost frame. */
static int build_grouped_tree(struct hl_export_job *x, const struct hl_tree_opts *opts,
	struct hl_answer *a, struct hl_tree *t)
{
	struct hl_grouped_stacks d;
	int err = hl_model_group_stacks(x->m, &x->query, x->group, &d);

	if (!err && opts->with_called_functions)
		err = hl_model_find_called_functions(x->m, &d.by_stack);
	if (!err)
		err = hl_tree_build_grouped(t, x->m, &d, opts);
	*a = d.by_stack;
	d.by_stack = (struct hl_answer){0};
	hl_grouped_stacks_fini(&d);
	note_time(x, err, a);
	return err;
}

static int build_tree(struct hl_export_job *x, const struct hl_tree_opts *opts, struct hl_answer *a,
	struct hl_tree *t)
{
	int err;

	memset(t, 0, sizeof(*t));
	if (x->grouped)
		return build_grouped_tree(x, opts, a, t);
	err = hl_export_query(x, HL_KEY_STACK, a);
	if (!err && opts->with_called_functions)
		err = hl_model_find_called_functions(x->m, a);
	return err ? err : hl_tree_build(t, x->m, a, opts);
}

int hl_export_tree(struct hl_export_job *x, bool calls, struct hl_answer *a, struct hl_tree *t)
{
	struct hl_tree_opts opts = {.with_called_functions = calls, .by_blocks = x->by_blocks};

	return build_tree(x, &opts, a, t);
}

int hl_export_folded_tree(struct hl_export_job *x, struct hl_answer *a, struct hl_tree *t)
{
	struct hl_tree_opts opts = {.with_called_functions = x->full_stacks,
		.by_blocks = x->by_blocks,
		.fold = !x->full_stacks,
		.omit_runtime_frames = !x->full_stacks};

	return build_tree(x, &opts, a, t);
}

int hl_export_find_peak(struct hl_export_job *x)
{
	int err = x->has_peak ? 0 : hl_peak_find(x->m, &x->query, &x->peak);

	x->has_peak = !err;
	x->before_damage |= x->peak.before_damage;
	return err;
}

int hl_export_lifetimes(struct hl_export_job *x, struct hl_lifetimes *l)
{
	int err;

	l->query = &x->query;
	l->aggregated = x->aggregated;
	err = hl_model_lifetimes(x->m, l);
	if (!err) {
		x->to_ns = l->end_ns;
		x->before_damage |= l->before_damage;
	}
	return err;
}

bool hl_export_chains(struct hl_export_job *x)
{
	return hl_model_may_have_chains(x->m) && hl_model_load_chains(x->m) == 0;
}

const char *hl_export_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

uint64_t hl_export_begin_ns(const struct hl_export_job *x)
{
	uint64_t start = hl_model_info(x->m)->meta.start_unix_ns;

	return x->process && start > x->start_unix_ns ? start - x->start_unix_ns : 0;
}

bool hl_export_is_named(const struct hl_frame *f)
{
	return strncmp(f->function, "0x", 2) != 0;
}

void hl_export_name(struct hl_strbuf *b, const struct hl_frame *f)
{
	hl_strbuf_puts(b, f->function);
	if (!hl_export_is_named(f) && f->module)
		hl_strbuf_printf(b, " [%s]", hl_export_basename(f->module));
}

void hl_export_command(struct hl_strbuf *b, const struct hl_meta *meta)
{
	const char *s = meta->command, *end = s ? s + meta->command_len : NULL;

	if (s == end)
		hl_text_escape(b, meta->program);
	while (s < end) {
		struct hl_strbuf word = {0};

		hl_strbuf_add(&word, s, strnlen(s, (size_t)(end - s)));
		hl_strbuf_puts(b, s == meta->command ? "" : " ");
		hl_text_escape(b, hl_strbuf_str(&word));
		s += word.len + 1;
		hl_strbuf_fini(&word);
	}
}

void hl_export_xml(struct hl_strbuf *b, const char *s)
{
	struct hl_strbuf safe = {0};

	hl_text_escape(&safe, s);
	for (const char *c = hl_strbuf_str(&safe); *c; c++) {
		if (*c == '&')
			hl_strbuf_puts(b, "&amp;");
		else if (*c == '<')
			hl_strbuf_puts(b, "&lt;");
		else if (*c == '>')
			hl_strbuf_puts(b, "&gt;");
		else if (*c == '"')
			hl_strbuf_puts(b, "&quot;");
		else
			hl_strbuf_putc(b, *c);
	}
	hl_strbuf_fini(&safe);
}

uint8_t *hl_export_mark_needed_nodes(struct hl_model *m, const struct hl_answer *a)
{
	uint8_t *needed = calloc((size_t)a->n_keys + 1, 1);

	/* Callers have lower numbers than the nodes that they call. */
	for (uint32_t i = a->n_keys; needed && i-- > 0;) {
		uint32_t parent;

		needed[i] |= a->values[i].blocks > 0;
		parent = needed[i] ? hl_model_parent(m, i) : HL_NODE_NONE;
		if (parent != HL_NODE_NONE)
			needed[parent] = 1;
	}
	return needed;
}

int hl_export_path(struct hl_export_path *p, const struct hl_tree *t, uint32_t node)
{
	size_t n = 0;

	for (uint32_t i = node; i != 0; i = t->nodes[i].parent)
		n++;
	if (hl_vec_grow((void **)&p->nodes, &p->cap, n + 1, sizeof(*p->nodes)))
		return -ENOMEM;
	p->len = n;
	for (uint32_t i = node; i != 0; i = t->nodes[i].parent)
		p->nodes[--n] = i;
	return 0;
}

uint64_t hl_export_address(struct hl_model *m, uint32_t node)
{
	struct hl_node def;

	if (node == HL_NODE_NONE || hl_reader_node(hl_model_reader(m), node, &def) != 0)
		return 0;
	/* The address of the call, not the return address. */
	return def.offset - (def.offset > 0) +
	       (def.module == HL_MODULE_NONE ? 0 : (def.module + UINT64_C(1)) << MODULE_SHIFT);
}

int hl_export_frame_number(struct hl_export_frames *f, uint32_t frame, uint32_t *number)
{
	int err = 0;

	while (f->numbers.len <= frame && !err)
		err = hl_vec_push(&f->numbers, 0);
	if (!err && !f->numbers.data[frame]) {
		err = hl_vec_push(&f->list, frame);
		f->numbers.data[frame] = (uint32_t)f->list.len;
	}
	*number = err ? 0 : f->numbers.data[frame] - 1;
	return err;
}

void hl_export_frames_fini(struct hl_export_frames *f)
{
	hl_vec_free(&f->list);
	hl_vec_free(&f->numbers);
}

/* --- several processes --- */

struct hl_export_tail *hl_export_tail_new(void)
{
	struct hl_export_tail *t = calloc(1, sizeof(*t));

	if (t)
		t->out = open_memstream(&t->text, &t->len);
	if (t && t->out)
		return t;
	free(t);
	return NULL;
}

int hl_export_tail_end(struct hl_export_tail *t, FILE *out)
{
	int err = fclose(t->out) ? -ENOMEM : 0;

	t->out = NULL;
	if (!err)
		fwrite(t->text, 1, t->len, out);
	return err;
}

void hl_export_tail_free(void *tail)
{
	struct hl_export_tail *t = tail;

	if (t && t->out)
		fclose(t->out);
	if (t)
		free(t->text);
	free(t);
}
