/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_index.c - a page that lists several traces, and its style sheet. It needs no script.
 */
#include <errno.h>
#include <inttypes.h>

#include "util/safe_text.h"
#include "views/web/web_internal.h"

static const char style[] =
	":root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}\n"
	"body{max-width:70rem;margin:2rem auto;padding:0 1rem}\n"
	"table{border-collapse:collapse;width:100%}\n"
	"th,td{text-align:left;padding:.4rem .6rem;border-bottom:1px solid #8886;"
	"overflow-wrap:anywhere}\n"
	".n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n"
	".error{color:#b3261e}\n"
	"@media (prefers-color-scheme:dark){.error{color:#f2b8b5}}\n"
	".scroll{overflow-x:auto}\n";

int hl_web_run_style(struct hl_web_query *q)
{
	fputs(style, q->out);
	return 0;
}

/* Names are of the trace, and of files: text, never markup. */
static void put_text(FILE *out, const char *name)
{
	struct hl_strbuf b = {0};

	hl_text_escape(&b, name);
	for (const char *s = hl_strbuf_str(&b); *s; s++) {
		switch (*s) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			putc(*s, out);
		}
	}
	hl_strbuf_fini(&b);
}

static void put_values(FILE *out, const struct hl_web_trace *t)
{
	const struct hl_trace_info *i = hl_model_info(t->cheap.m);
	char text[HL_TEXT_SIZE_MAX];

	fprintf(out, "<td><a href=\"/traces/%u\">", t->id);
	put_text(out, i->meta.program);
	fprintf(out, "</a></td><td class=\"n\">%" PRIu64 "</td>", i->meta.pid);
	fprintf(out, "<td class=\"n\">%s</td>", hl_text_bytes(text, i->totals.peak_bytes));
	fprintf(out, "<td class=\"n\">%s</td>",
		hl_text_bytes(text, hl_sums_live_bytes(&i->totals.sums)));
	fprintf(out, "<td class=\"n\">%s</td>", hl_text_count(text, i->totals.sums.alloc_blocks));
	fprintf(out, "<td class=\"n\">%s</td>",
		hl_text_duration(text, hl_model_end_ns(t->cheap.m)));
}

static void put_row(FILE *out, struct hl_web *w, struct hl_web_trace *t)
{
	int err = hl_web_trace_enter(w, t);

	fputs("<tr><td>", out);
	put_text(out, t->name);
	fprintf(out, "%s</td>", t->deleted ? " (deleted)" : "");
	if (err) {
		fputs("<td class=\"error\" colspan=\"6\">", out);
		put_text(out, t->problem);
		fputs("</td>", out);
	} else {
		put_values(out, t);
	}
	fputs("</tr>\n", out);
	hl_web_trace_leave(t);
}

int hl_web_run_index(struct hl_web_query *q)
{
	struct hl_row_limit rows;
	FILE *out = q->out;

	hl_row_limit_init(&rows, &q->request.budget);
	fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<title>Traces – heaplapse</title>\n"
	      "<link rel=\"stylesheet\" href=\"/style.css\">\n</head>\n<body>\n"
	      "<h1>Traces</h1>\n<div class=\"scroll\"><table>\n"
	      "<tr><th>trace</th><th>program</th><th class=\"n\">pid</th>"
	      "<th class=\"n\">peak</th><th class=\"n\">at the end</th>"
	      "<th class=\"n\">allocations</th><th class=\"n\">duration</th></tr>\n",
		out);
	for (size_t i = 0; i < q->web->n_traces && !hl_web_query_is_over(q); i++) {
		if (!hl_row_begin(&rows, out, NULL))
			continue;
		put_row(out, q->web, &q->web->traces[i]);
		hl_row_end(&rows);
	}
	fputs("</table></div>\n", out);
	if (rows.omitted)
		fprintf(out, "<p>%" PRIu64 " more traces are not shown.</p>\n", rows.omitted);
	fputs("<p>For programs: <a href=\"/api\">/api</a> lists the endpoints, "
	      "<a href=\"/metrics\">/metrics</a> is for Prometheus.</p>\n</body>\n</html>\n",
		out);
	return 0;
}
