/*
 * parts.c - pieces that several views are made of; see text_internal.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/text.h"
#include "views/text/text_internal.h"

double hl_percent(uint64_t part, uint64_t whole)
{
	return whole ? (double)part * 100 / (double)whole : 0;
}

uint64_t hl_least_bytes(uint64_t total, double min_percent)
{
	double least = (double)total * min_percent / 100;

	return least > 0 ? (uint64_t)least + ((double)(uint64_t)least < least) : 0;
}

void hl_put_frame(FILE *out, const struct hl_frame *f)
{
	struct hl_strbuf b = {0};
	const char *base;

	hl_text_escape(&b, f->function);
	if (f->file) {
		hl_strbuf_puts(&b, "  ");
		base = strrchr(f->file, '/');
		hl_text_escape(&b, base ? base + 1 : f->file);
		if (f->line)
			hl_strbuf_printf(&b, ":%" PRIu32, f->line);
	} else if (f->module) {
		hl_strbuf_puts(&b, "  [");
		base = strrchr(f->module, '/');
		hl_text_escape(&b, base ? base + 1 : f->module);
		hl_strbuf_puts(&b, "]");
	}
	fputs(hl_strbuf_str(&b), out);
	hl_strbuf_fini(&b);
}

void hl_put_head(FILE *out, struct hl_model *m, const struct hl_answer *a, const char *what)
{
	char from[HL_TEXT_SIZE_MAX], to[HL_TEXT_SIZE_MAX], all[HL_TEXT_SIZE_MAX];
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];

	hl_text_duration(to, a->to_ns);
	hl_text_duration(all, hl_model_end_ns(m));
	if (a->quantity == HL_QUANTITY_LIVE)
		fprintf(out, "%s, at %s of %s: ", what, to, all);
	else
		fprintf(out, "%s, from %s to %s of %s: ", what, hl_text_duration(from, a->from_ns),
			to, all);
	fprintf(out, "%s in %s block%s\n", hl_text_bytes(bytes, a->total.bytes),
		hl_text_count(blocks, a->total.blocks), a->total.blocks == 1 ? "" : "s");
}

void hl_text_process(FILE *out, struct hl_model *m, const struct hl_answer *a, const char *what)
{
	const struct hl_meta *meta = &hl_model_info(m)->meta;
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	hl_text_escape(&b, meta->program);
	fprintf(out, "%10s  %10s  %s (pid %" PRIu64 "), %s\n", hl_text_bytes(bytes, a->total.bytes),
		hl_text_count(blocks, a->total.blocks), hl_strbuf_str(&b), meta->pid, what);
	hl_strbuf_fini(&b);
}

void hl_put_hidden(FILE *out, uint64_t total, const struct hl_value *v, uint64_t count,
	const char *one, const char *many, const struct hl_text_opts *opts)
{
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];

	if (count == 0)
		return;
	fprintf(out, "\nhidden: %s in %s block%s (%.1f%%), %" PRIu64 " %s ",
		hl_text_bytes(bytes, v->bytes), hl_text_count(blocks, v->blocks),
		v->blocks == 1 ? "" : "s", hl_percent(v->bytes, total), count,
		count == 1 ? one : many);
	if (opts->limited)
		fprintf(out, "beyond -n %zu or below %g%% each; -n 0 --min 0 shows all\n",
			opts->limit, opts->min_percent);
	else
		fprintf(out, "below %g%% each; --min 0 shows all\n", opts->min_percent);
}

const char *hl_bar(unsigned eighths, bool unicode)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const plain[] = {" ", ".", ".", ":", ":", "+", "+", "#", "#"};

	return (unicode ? blocks : plain)[eighths > 8 ? 8 : eighths];
}

void hl_json_value(struct hl_json *j, const char *prefix, const struct hl_value *v)
{
	char key[64];

	snprintf(key, sizeof(key), "%s%sbytes", prefix, prefix[0] ? "_" : "");
	hl_json_key_u64(j, key, v->bytes);
	snprintf(key, sizeof(key), "%s%sblocks", prefix, prefix[0] ? "_" : "");
	hl_json_key_u64(j, key, v->blocks);
}

void hl_json_answer(struct hl_json *j, const struct hl_answer *a)
{
	hl_json_key_string(j, "quantity", hl_quantity_name(a->quantity));
	hl_json_key_u64(j, "from_ns", a->from_ns);
	hl_json_key_u64(j, "to_ns", a->to_ns);
	hl_json_value(j, "total", &a->total);
}

void hl_json_frame(struct hl_json *j, const struct hl_frame *f)
{
	hl_json_key_string(j, "function", f->function);
	hl_json_key_string(j, "file", f->file);
	hl_json_key_u64(j, "line", f->line);
	hl_json_key_string(j, "module", f->module);
}
