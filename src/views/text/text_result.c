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

int hl_text_result(FILE *out, struct hl_result *r, const struct hl_text_opts *style)
{
	struct hl_text_opts opts = *style;
	int err;

	opts.quantity_text = r->heading;
	opts.limits = r->limits;
	err = renderers[r->part.view->id](out, r, &opts);
	if (!err && r->suppressions && r->part.view != &hl_view_process)
		hl_text_suppressed(out, r->suppressions, &opts);
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
	const struct hl_value *grown = &s->tree.answer.total;
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
	struct hl_text_opts own = *opts;
	const struct hl_snapshot_result *s;
	int err = 0, failed = 0;

	for (bool first = true; !failed && (s = hl_snapshots_next(r->data, &err)) != NULL;
		first = false) {
		if (!first)
			putc('\n', out);
		own.quantity_text = s->heading;
		r->before_damage |= s->tree.answer.before_damage;
		failed = hl_text_put_tree(out, r->m, &s->tree, &own);
		if (!failed && s->growth)
			put_change(out, s, &own);
	}
	return failed ? failed : err;
}
