/* SPDX-License-Identifier: Apache-2.0 */
/* findings.c - see findings.h. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/findings.h"

#include "cli/cli.h"
#include "util/json_writer.h"
#include "util/strbuf.h"
#include "util/terminal/terminal.h"
#include "util/safe_text.h"
#include "util/terminal/wrap.h"

#define CHECK_COLUMN 9  /* column of the names of the checks */
#define TEXT_COLUMN  22 /* column of the sentences */

static const struct {
	const char *word;
	enum hl_style style;
} verdicts[] = {
	[HL_VERDICT_OK] = {"ok", HL_STYLE_GREEN},
	[HL_VERDICT_NOTE] = {"note", HL_STYLE_CYAN},
	[HL_VERDICT_PARTIAL] = {"partial", HL_STYLE_YELLOW},
	[HL_VERDICT_FAILS] = {"fails", HL_STYLE_RED},
};

void hl_findings_fini(struct hl_findings *f)
{
	for (size_t i = 0; i < f->v.len; i++)
		free(f->v.data[i].text);
	hl_vec_free(&f->v);
}

void hl_findings_add(struct hl_findings *f, enum hl_verdict verdict, const char *check,
	const char *remedy, const char *what, ...)
{
	struct hl_finding finding = {.verdict = verdict, .check = check, .remedy = remedy};
	struct hl_strbuf text = {0};
	va_list args;

	va_start(args, what);
	hl_strbuf_vprintf(&text, what, args);
	va_end(args);
	finding.text = strdup(hl_strbuf_str(&text));
	hl_strbuf_fini(&text);
	if (!finding.text || hl_vec_push(&f->v, finding))
		free(finding.text);
}

const struct hl_finding *hl_findings_first(const struct hl_findings *f, enum hl_verdict at_least)
{
	for (size_t i = 0; i < f->v.len; i++)
		if (f->v.data[i].verdict >= at_least)
			return &f->v.data[i];
	return NULL;
}

static void print_finding(const struct hl_finding *finding)
{
	struct hl_strbuf raw = {0}, text = {0};
	unsigned width = hl_term_width(1);

	hl_strbuf_printf(&raw, "%s%s%s", finding->text, finding->remedy ? "; " : "",
		finding->remedy ? finding->remedy : "");
	hl_text_escape(&text, hl_strbuf_str(&raw));
	printf("%s%-*s%s%-*s ", hl_cli_style(1, verdicts[finding->verdict].style), CHECK_COLUMN - 1,
		verdicts[finding->verdict].word, hl_cli_style(1, HL_STYLE_PLAIN),
		TEXT_COLUMN - CHECK_COLUMN, finding->check);
	if (width > TEXT_COLUMN + 20)
		hl_wrap(stdout, hl_strbuf_str(&text), TEXT_COLUMN, TEXT_COLUMN, width);
	else
		puts(hl_strbuf_str(&text));
	hl_strbuf_fini(&raw);
	hl_strbuf_fini(&text);
}

void hl_findings_print(const struct hl_findings *f, enum hl_verdict from)
{
	for (size_t i = 0; i < f->v.len; i++)
		if (f->v.data[i].verdict >= from)
			print_finding(&f->v.data[i]);
}

enum hl_verdict hl_findings_worst(const struct hl_findings *f, const struct hl_findings *other)
{
	enum hl_verdict worst = HL_VERDICT_FAILS;

	while (worst > HL_VERDICT_OK && !hl_findings_first(f, worst) &&
		!(other && hl_findings_first(other, worst)))
		worst--;
	return worst;
}

static void put_findings(struct hl_json *j, const char *key, const struct hl_findings *f)
{
	hl_json_key(j, key);
	hl_json_begin_array(j);
	for (size_t i = 0; i < f->v.len; i++) {
		const struct hl_finding *finding = &f->v.data[i];

		hl_json_begin_object(j);
		hl_json_key_string(j, "verdict", verdicts[finding->verdict].word);
		hl_json_key_string(j, "check", finding->check);
		hl_json_key_string(j, "what", finding->text);
		hl_json_key_string(j, "remedy", finding->remedy);
		hl_json_end_object(j);
	}
	hl_json_end_array(j);
}

void hl_findings_json(
	const struct hl_findings *f, const struct hl_findings *machine, const char *subject)
{
	enum hl_verdict worst = hl_findings_worst(f, machine);
	struct hl_json j;

	hl_json_init(&j, stdout);
	hl_json_begin_object(&j);
	hl_json_key_u64(&j, "schema", 1);
	hl_json_key_string(&j, "subject", subject);
	hl_json_key_string(&j, "verdict", verdicts[worst].word);
	hl_json_key_bool(&j, "works", worst < HL_VERDICT_FAILS);
	put_findings(&j, "checks", f);
	put_findings(&j, "machine", machine);
	hl_json_end_object(&j);
	putchar('\n');
}
