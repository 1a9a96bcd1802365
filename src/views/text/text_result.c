/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_result.c - renders a result with the renderer of its view.
 */
#include "base/attr.h"
#include "util/terminal/wrap.h"
#include "views/text/text_internal.h"

typedef int render_fn(FILE *out, struct hl_result *r, const struct hl_text_opts *opts);

#define X(name, renderer, ...) [HL_VIEW_ID_##name] = hl_text_##renderer,
static render_fn *const renderers[HL_VIEW_COUNT] = {HL_VIEWS(X)};
#undef X

void hl_put_truncated(FILE *out, const struct hl_text_opts *opts)
{
	const struct hl_row_limit *l = opts->rows;
	const char *option = hl_row_limit_option(l);
	char n[HL_TEXT_SIZE_MAX], bytes[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	if (!option)
		return;
	hl_strbuf_printf(&b, "left out by %s: %s row%s", option, hl_text_count(n, l->omitted),
		l->omitted == 1 ? "" : "s");
	if (!l->no_values && l->omitted_value.blocks > 0)
		hl_strbuf_printf(&b, " with %s in %s block%s",
			hl_text_size(bytes, l->omitted_value.bytes, opts),
			hl_text_count(n, l->omitted_value.blocks),
			l->omitted_value.blocks == 1 ? "" : "s");
	putc('\n', out);
	hl_put_wrapped(out, hl_strbuf_str(&b), HL_STYLE_PLAIN, 2, opts);
	hl_strbuf_fini(&b);
}

int hl_text_result(FILE *out, struct hl_result *r, const struct hl_text_opts *style)
{
	struct hl_text_opts opts = *style;
	struct hl_strbuf options = {0};
	int err;

	hl_request_put_options(r->plan->request, &options);
	opts.options = hl_strbuf_str(&options);
	opts.quantity_text = r->heading;
	opts.filter_text = hl_strbuf_str(&r->plan->filter_text);
	opts.limits = r->limits;
	opts.rows = r->rows;
	hl_row_limit_reset(r->rows);
	err = renderers[r->part.view->id](out, r, &opts);
	if (!err && r->suppressions && r->part.view != &hl_view_process)
		hl_text_suppressed(out, r->suppressions, &opts);
	hl_put_truncated(out, &opts);
	hl_strbuf_fini(&options);
	return err;
}

/* Rows of processes are printed together when all are known (hl_text_processes). */
int hl_text_process(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	return 0;
}

static void put_change(
	FILE *out, const struct hl_snapshot_result *s, const struct hl_text_opts *opts)
{
	const struct hl_value *grown = &s->answer->total;
	uint64_t freed = s->live_before.bytes + grown->bytes - s->live.bytes;
	char before[HL_TEXT_SIZE_MAX], new[HL_TEXT_SIZE_MAX], freed_text[HL_TEXT_SIZE_MAX],
		now[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	hl_strbuf_printf(&b, "%s live before, %s new, %s freed: %s live",
		hl_text_size(before, s->live_before.bytes, opts),
		hl_text_size(new, grown->bytes, opts), hl_text_size(freed_text, freed, opts),
		hl_text_size(now, s->live.bytes, opts));
	hl_wrap(out, hl_strbuf_str(&b), 0, 2, opts->shorten ? (unsigned)opts->width : 0);
	hl_strbuf_fini(&b);
}

int hl_text_snapshots(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	struct hl_snapshots_result *x = r->data;
	struct hl_text_opts own = *opts;
	const struct hl_snapshot_result *s;
	int err = 0, failed = 0;

	for (bool first = true; !failed && (s = hl_snapshots_next(x, &err)) != NULL;
		first = false) {
		if (!first)
			putc('\n', out);
		own.quantity_text = s->heading;
		r->before_damage |= s->answer->before_damage;
		own.limits = x->limits;
		failed = x->grouped ? hl_text_put_table(out, r->m, &s->table, &own)
				    : hl_text_put_tree(out, r->m, &s->tree, &own);
		own.filter_text = NULL; /* the first heading has it */
		if (!failed && s->growth)
			put_change(out, s, &own);
	}
	return failed ? failed : err;
}
