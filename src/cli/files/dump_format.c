/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_format.c - see dump_format.h.
 */
#include "cli/files/dump_format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/scan/realloc_chains.h"
#include "model/views/mappings.h"
#include "model/tags/roles.h"
#include "util/safe_text.h"
#include "views/json/json.h"
#include "views/text/text.h"

#define FRAME_INDENT "        "

/* --- begin and end --- */

static void put_header(struct hl_dump_format *f)
{
	const struct hl_meta *meta = &hl_model_info(f->m)->meta;
	uint64_t events = hl_model_info(f->m)->totals.events;
	struct hl_strbuf program = {0};

	hl_text_escape(&program, meta->program);
	printf("# %s, pid %" PRIu64 ", mode %s, %" PRIu64 " heap event%s; times in ns since the "
	       "start\n",
		hl_strbuf_str(&program), meta->pid, meta->mode, events, events == 1 ? "" : "s");
	puts("# alloc TIME THREAD CALL ADDRESS SIZE #BLOCK STACK MOVED");
	puts("# free  TIME THREAD CALL ADDRESS SIZE #BLOCK STACK MOVED life=CLASS by=THREAD "
	     "at=STACK");
	puts("# extra TIME THREAD KIND ADDRESS SIZE VALUE VALUE2 STACK TEXT");
	if (f->long_format)
		puts("# more: lived=NS; chain=POSITION/LENGTH chain-first=SIZE chain-last=SIZE "
		     "chain-lived=NS; prot= flags=");
	hl_strbuf_fini(&program);
}

static void begin_json(struct hl_dump_format *f)
{
	const struct hl_meta *meta = &hl_model_info(f->m)->meta;
	struct hl_json *j = &f->j;

	hl_json_init(j, stdout);
	hl_json_begin_object(j);
	hl_json_key_u64(j, "schema", 1);
	hl_json_key_string(j, "program", meta->program);
	hl_json_key_u64(j, "pid", meta->pid);
	hl_json_key_string(j, "mode", meta->mode);
	hl_json_key_u64(j, "duration_ns", hl_model_end_ns(f->m));
	hl_json_key(j, "events");
	hl_json_begin_array(j);
}

int hl_dump_format_begin(struct hl_dump_format *f, const char **why)
{
	int err = hl_reader_roles(hl_model_reader(f->m), &f->roles.list, &f->roles.n);

	*why = NULL;
	if (err)
		return err;
	if ((f->long_format || f->json) && hl_model_may_have_chains(f->m)) {
		f->chains = hl_model_load_chains(f->m) == 0;
		*why = f->chains ? NULL : hl_model_error(f->m);
	}
	if (f->json)
		begin_json(f);
	else if (f->header)
		put_header(f);
	return 0;
}

void hl_dump_format_end(struct hl_dump_format *f)
{
	if (f->json && f->j.out) {
		hl_json_end_array(&f->j);
		hl_json_key_bool(&f->j, "complete", hl_model_is_complete(f->m));
		hl_json_end_object(&f->j);
		putchar('\n');
	}
	hl_block_table_fini(&f->live_blocks);
	hl_strbuf_fini(&f->text);
}

/* --- lifetimes --- */

int hl_dump_format_track_event(
	struct hl_dump_format *f, const struct hl_event *e, uint64_t *life_ns)
{
	struct hl_block b = {.ordinal = e->ordinal,
		.size = e->size,
		.bytes = e->size,
		.blocks = 1,
		.alloc_ns = e->time_ns,
		.pool = UINT32_MAX};

	*life_ns = UINT64_MAX;
	if (!f->long_format && !f->json)
		return 0;
	if (e->op == HL_OP_ALLOC)
		return e->pair_index ? 0 : hl_block_table_put(&f->live_blocks, &b);
	b.alloc_ns = e->alloc_ns;
	if (e->pair_index || hl_block_table_take(&f->live_blocks, e->ordinal, &b))
		*life_ns = e->time_ns - b.alloc_ns;
	return 0;
}

/* --- text --- */

static uint64_t chain_lifetime(const struct hl_chain *c)
{
	return c->free_ns == UINT64_MAX ? UINT64_MAX : c->free_ns - c->alloc_ns;
}

static struct hl_chain find_chain(const struct hl_dump_format *f, const struct hl_event *e)
{
	const struct hl_block b = {
		.ordinal = e->ordinal, .size = e->size, .free_ns = UINT64_MAX, .pool = UINT32_MAX};

	return hl_chain_of(f->m, &b);
}

static void add_ns(struct hl_strbuf *b, const char *label, uint64_t ns)
{
	if (ns == UINT64_MAX)
		hl_strbuf_printf(b, " %s=-", label);
	else
		hl_strbuf_printf(b, " %s=%" PRIu64, label, ns);
}

static void add_long_fields(struct hl_dump_format *f, const struct hl_event *e, uint64_t life_ns)
{
	struct hl_chain c = find_chain(f, e);

	if (e->op == HL_OP_FREE)
		add_ns(&f->text, "lived", life_ns);
	if (!f->chains || c.length < 2)
		return;
	hl_strbuf_printf(&f->text,
		" chain=%" PRIu32 "/%" PRIu32 " chain-first=%" PRIu64 " chain-last=%" PRIu64,
		c.position, c.length, c.first_size, c.last_size);
	add_ns(&f->text, "chain-lived", chain_lifetime(&c));
}

/* Prints the frames of one stack. */
static int put_frames(struct hl_dump_format *f, uint32_t node)
{
	return node == HL_NODE_NONE ? 0 : hl_text_stack(stdout, f->m, node, FRAME_INDENT);
}

static int put_text_event(struct hl_dump_format *f, const struct hl_event *e, uint64_t life_ns)
{
	char line[HL_EVENT_TEXT_MAX + 1];
	struct hl_event shown = *e;
	int n, err = 0;

	shown.ordinal = hl_reader_run_ordinal(hl_model_reader(f->m), e->ordinal);
	n = hl_event_text_event(line, HL_EVENT_TEXT_MAX, &shown, &f->roles);

	hl_strbuf_reset(&f->text);
	if (f->long_format)
		add_long_fields(f, e, life_ns);
	else
		line[n++] = '\n';
	fwrite(line, 1, (size_t)n, stdout);
	if (f->long_format)
		puts(hl_strbuf_str(&f->text));
	if (!f->stacks)
		return hl_strbuf_error(&f->text);
	if (e->op == HL_OP_FREE && e->free_node != HL_NODE_NONE) {
		puts("      freed by");
		err = put_frames(f, e->free_node);
	}
	puts(e->node == HL_NODE_NONE ? "      allocated without a stack" : "      allocated by");
	return err ? err : put_frames(f, e->node);
}

static bool is_mapping(const struct hl_extra *x)
{
	return x->kind == HL_EXTRA_MMAP && x->value != 0;
}

static int put_text_extra(struct hl_dump_format *f, const struct hl_extra *x)
{
	size_t size = HL_EVENT_TEXT_MAX + (x->text ? 4 * strlen(x->text) : 0);
	char prot[HL_MAPPING_PROT_MAX], *line = malloc(size);

	if (!line)
		return -ENOMEM;
	hl_strbuf_reset(&f->text);
	hl_event_text_extra(line, size, x, &f->roles);
	hl_strbuf_puts(&f->text, line);
	free(line);
	if (f->long_format && is_mapping(x)) {
		hl_strbuf_printf(
			&f->text, " prot=%s flags=", hl_mapping_prot(prot, (uint32_t)x->value));
		hl_mapping_put_flags(&f->text, (uint32_t)(x->value >> 32));
	} else if (f->long_format && x->kind == HL_EXTRA_MREMAP) {
		hl_strbuf_printf(
			&f->text, " from=0x%" PRIx64 " from-size=%" PRIu64, x->value, x->value2);
	}
	puts(hl_strbuf_str(&f->text));
	return f->stacks ? put_frames(f, x->node) : 0;
}

/* --- JSON --- */

static void key_number(struct hl_json *j, const char *key, uint64_t v, bool known)
{
	hl_json_key(j, key);
	if (known)
		hl_json_u64(j, v);
	else
		hl_json_string(j, NULL);
}

static void key_hex(struct hl_json *j, const char *key, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, v);
	hl_json_key_string(j, key, text);
}

static int key_stack(struct hl_dump_format *f, const char *key, const char *frames, uint32_t node)
{
	key_number(&f->j, key, node, node != HL_NODE_NONE);
	if (!f->stacks)
		return 0;
	hl_json_key(&f->j, frames);
	return hl_json_stack(&f->j, f->m, node);
}

static void key_chain(struct hl_dump_format *f, const struct hl_event *e)
{
	struct hl_chain c = find_chain(f, e);
	struct hl_json *j = &f->j;

	if (!f->chains || c.length < 2)
		return;
	hl_json_key_u64(j, "chain_length", c.length);
	hl_json_key_u64(j, "chain_position", c.position);
	hl_json_key_u64(j, "chain_first_size", c.first_size);
	hl_json_key_u64(j, "chain_last_size", c.last_size);
	key_number(j, "chain_lifetime_ns", chain_lifetime(&c), c.free_ns != UINT64_MAX);
}

static int put_json_event(struct hl_dump_format *f, const struct hl_event *e, uint64_t life_ns)
{
	struct hl_role role = hl_model_role(f->m, e->thread);
	uint32_t tag = hl_model_owner_tag(f->m, e);
	struct hl_json *j = &f->j;
	int err;

	fputc('\n', stdout);
	hl_json_begin_object(j);
	hl_json_key_string(j, "event", e->op == HL_OP_ALLOC ? "alloc" : "free");
	hl_json_key_u64(j, "time_ns", e->time_ns);
	hl_json_key_u64(j, "thread", role.thread);
	hl_json_key_string(j, "call", hl_func_name(e->func));
	key_hex(j, "address", e->addr);
	hl_json_key_u64(j, "size", e->size);
	hl_json_key_u64(j, "id", hl_reader_run_ordinal(hl_model_reader(f->m), e->ordinal));
	hl_json_key_bool(j, "moved", e->flags & HL_EVENT_MOVED);
	key_number(j, "tag", tag, tag != HL_TAG_NONE);
	hl_json_key_u64(j, "blocks", e->blocks);
	hl_json_key_u64(j, "bytes", e->bytes);
	key_chain(f, e);
	err = key_stack(f, "stack", "frames", e->node);
	if (!err && e->op == HL_OP_FREE) {
		key_number(j, "lifetime_ns", life_ns, life_ns != UINT64_MAX);
		hl_json_key_u64(j, "allocated_by", hl_model_role(f->m, e->alloc_role).thread);
		err = key_stack(f, "freed_stack", "freed_frames", e->free_node);
	}
	hl_json_end_object(j);
	return err;
}

static void key_mapping(struct hl_json *j, const struct hl_extra *x)
{
	char prot[HL_MAPPING_PROT_MAX];
	struct hl_strbuf flags = {0};

	if (is_mapping(x)) {
		hl_mapping_put_flags(&flags, (uint32_t)(x->value >> 32));
		hl_json_key_string(j, "protection", hl_mapping_prot(prot, (uint32_t)x->value));
		hl_json_key_string(j, "flags", hl_strbuf_str(&flags));
		hl_strbuf_fini(&flags);
	} else if (x->kind == HL_EXTRA_MREMAP) {
		key_hex(j, "old_address", x->value);
		hl_json_key_u64(j, "old_size", x->value2);
	}
}

static int put_json_extra(struct hl_dump_format *f, const struct hl_extra *x)
{
	struct hl_json *j = &f->j;
	int err;

	fputc('\n', stdout);
	hl_json_begin_object(j);
	hl_json_key_string(j, "event", hl_extra_name(x->kind));
	hl_json_key_u64(j, "time_ns", x->time_ns);
	hl_json_key_u64(j, "thread", hl_model_role(f->m, x->thread).thread);
	key_hex(j, "address", x->addr);
	hl_json_key_u64(j, "size", x->size);
	hl_json_key_u64(j, "value", x->value);
	hl_json_key_u64(j, "value2", x->value2);
	hl_json_key_string(j, "text", x->text);
	key_mapping(j, x);
	err = key_stack(f, "stack", "frames", x->node);
	hl_json_end_object(j);
	return err;
}

int hl_dump_format_put_event(struct hl_dump_format *f, const struct hl_event *e, uint64_t life_ns)
{
	return f->json ? put_json_event(f, e, life_ns) : put_text_event(f, e, life_ns);
}

int hl_dump_format_put_extra(struct hl_dump_format *f, const struct hl_extra *x)
{
	return f->json ? put_json_extra(f, x) : put_text_extra(f, x);
}
