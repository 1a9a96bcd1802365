/* findings.c - see findings.h. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/findings.h"
#include "util/json.h"
#include "util/strbuf.h"
#include "util/terminal.h"
#include "util/text.h"
#include "util/wrap.h"

#define CHECK_AT 9  /* columns, where the names of the checks ... */
#define WHAT_AT  22 /* ... and the sentences begin */

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
		free(f->v.data[i].what);
	hl_vec_free(&f->v);
}

void hl_findings_add(struct hl_findings *f, enum hl_verdict verdict, const char *check,
	const char *remedy, const char *what, ...)
{
	struct hl_finding one = {.verdict = verdict, .check = check, .remedy = remedy};
	struct hl_strbuf text = {0};
	va_list args;

	va_start(args, what);
	hl_strbuf_vprintf(&text, what, args);
	va_end(args);
	one.what = strdup(hl_strbuf_str(&text));
	hl_strbuf_fini(&text);
	if (!one.what || hl_vec_push(&f->v, one))
		free(one.what);
}

const struct hl_finding *hl_findings_first(const struct hl_findings *f, enum hl_verdict at_least)
{
	for (size_t i = 0; i < f->v.len; i++)
		if (f->v.data[i].verdict >= at_least)
			return &f->v.data[i];
	return NULL;
}

static void print_one(const struct hl_finding *one)
{
	struct hl_strbuf raw = {0}, text = {0};
	unsigned width = hl_term_width(1);

	hl_strbuf_printf(
		&raw, "%s%s%s", one->what, one->remedy ? "; " : "", one->remedy ? one->remedy : "");
	hl_text_escape(&text, hl_strbuf_str(&raw));
	printf("%s%-*s%s%-*s ", hl_term_style(1, verdicts[one->verdict].style), CHECK_AT - 1,
		verdicts[one->verdict].word, hl_term_style(1, HL_STYLE_PLAIN), WHAT_AT - CHECK_AT,
		one->check);
	if (width > WHAT_AT + 20)
		hl_wrap(stdout, hl_strbuf_str(&text), WHAT_AT, WHAT_AT, width);
	else
		puts(hl_strbuf_str(&text));
	hl_strbuf_fini(&raw);
	hl_strbuf_fini(&text);
}

void hl_findings_print(const struct hl_findings *f, enum hl_verdict from)
{
	for (size_t i = 0; i < f->v.len; i++)
		if (f->v.data[i].verdict >= from)
			print_one(&f->v.data[i]);
}

enum hl_verdict hl_findings_worst(const struct hl_findings *f, const struct hl_findings *other)
{
	enum hl_verdict worst = HL_VERDICT_FAILS;

	while (worst > HL_VERDICT_OK && !hl_findings_first(f, worst) &&
		!(other && hl_findings_first(other, worst)))
		worst--;
	return worst;
}

static void put_list(struct hl_json *j, const char *key, const struct hl_findings *f)
{
	hl_json_key(j, key);
	hl_json_begin_array(j);
	for (size_t i = 0; i < f->v.len; i++) {
		const struct hl_finding *one = &f->v.data[i];

		hl_json_begin_object(j);
		hl_json_key_string(j, "verdict", verdicts[one->verdict].word);
		hl_json_key_string(j, "check", one->check);
		hl_json_key_string(j, "what", one->what);
		hl_json_key_string(j, "remedy", one->remedy);
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
	put_list(&j, "checks", f);
	put_list(&j, "machine", machine);
	hl_json_end_object(&j);
	putchar('\n');
}
