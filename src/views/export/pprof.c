/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof.c - profile.proto of github.com/google/pprof, compressed by gzip.
 *
 * The sample types are Go's four in Go's order, because some readers know only these names and this
 * order. "alloc" values are of the requested range, or of the whole run; "inuse" values are of the
 * requested moment, or of the blocks of the range that are live at its end. So each value equals
 * one of `report`.
 *
 * A trace has no load addresses: each module gets its own address range, the n-th one at n << 32.
 * Code without a symbol has no line, so that a user of the file can look it up by build-id.
 *
 * Each of several processes is the outermost frame of its stacks and their label "process".
 * Strings, functions and the numbers of locations and modules are shared; everything else is of one
 * process.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model/query/suppress.h"
#include "model/stack/stack_rules.h"
#include "model/stack/group_tree.h"
#include "model/tags/roles.h"
#include "util/pair_map.h"
#include "util/string_table.h"
#include "util/safe_text.h"
#include "util/vec.h"
#include "views/export/export_internal.h"
#include "views/export/output_file.h"
#include "views/export/protobuf_write.h"

/* Fields of Profile. */
enum {
	SAMPLE_TYPE = 1,
	SAMPLE,
	MAPPING,
	LOCATION,
	FUNCTION,
	STRING_TABLE,
	TIME_NANOS = 9,
	DURATION_NANOS,
	PERIOD_TYPE,
	PERIOD,
	COMMENT,
	DEFAULT_SAMPLE_TYPE
};

#define MODULE_SHIFT 32
#define MODULE_BYTES (UINT64_C(1) << MODULE_SHIFT)
#define PAGE         4096
#define GZIP_LEVEL   6
#define NO_LOCATION  UINT32_MAX

enum { ALLOC, INUSE, N_KINDS };

/* A stack with its thread and tag. */
struct sample {
	uint32_t node;
	uint32_t group; /* the group's frame, outermost; HL_NODE_NONE: none */
	struct hl_role who;
	struct hl_value value[N_KINDS];
};

struct module_range {
	uint32_t id;    /* from 1; 0: the module is lost */
	uint64_t limit; /* end of the used addresses; 0: none is used */
	bool named, lines, inlines;
};

struct writer {
	/* Of the file. */
	FILE *out;
	struct hl_strbuf message, part; /* messages under construction */
	struct hl_string_table strings;
	struct hl_pair_map functions; /* (name, file) -> number from 0 */
	uint32_t n_functions, n_locations;
	uint32_t last_module;           /* the highest id so far */
	uint64_t start_unix_ns, end_ns; /* the end: since the start */
	int err;
	/* Of a process. */
	struct hl_export_job *x;
	uint32_t process;             /* its location; NO_LOCATION: not written yet */
	struct hl_pair_map locations; /* (module, offset) -> number from 0 */
	struct hl_pair_map groups;    /* frame of a group -> location */
	uint32_t *node_locations; /* location of each node; NO_LOCATION: none yet. The last entry is
				     for no stack */
	HL_VEC(struct sample) samples;
	struct hl_pair_map sample_index;
	struct module_range *modules;
	uint32_t n_modules;
};

static uint64_t intern_string(struct writer *w, const char *s)
{
	uint32_t id = 0;

	w->err = w->err ? w->err : hl_string_table_add(&w->strings, s ? s : "", &id);
	return id;
}

/* Writes w->message as a field of the profile and clears it. */
static void put_message(struct writer *w, unsigned field)
{
	uint8_t head[2 * HL_VARINT_MAX], *end = hl_varint_put(head, (uint64_t)field << 3 | 2);

	end = hl_varint_put(end, w->message.len);
	fwrite(head, 1, (size_t)(end - head), w->out);
	if (w->message.len)
		fwrite(w->message.data, 1, w->message.len, w->out);
	w->err = w->err ? w->err : hl_strbuf_error(&w->message);
	hl_strbuf_reset(&w->message);
}

static void put_number(struct writer *w, unsigned field, uint64_t v)
{
	struct hl_strbuf b = {0};

	hl_pb_u64(&b, field, v);
	if (b.len)
		fwrite(b.data, 1, b.len, w->out);
	hl_strbuf_fini(&b);
}

static void put_type(struct writer *w, unsigned field, const char *type, const char *unit)
{
	hl_pb_u64(&w->message, 1, intern_string(w, type));
	hl_pb_u64(&w->message, 2, intern_string(w, unit));
	put_message(w, field);
}

/* --- locations --- */

static uint32_t find_function(struct writer *w, const struct hl_frame *f)
{
	uint64_t name = intern_string(w, f->function), file = intern_string(w, f->file);
	uint32_t id = hl_pair_map_get(&w->functions, name, file);

	if (id != HL_PAIR_MAP_NONE || w->err)
		return id;
	id = w->n_functions++;
	w->err = hl_pair_map_put(&w->functions, name, file, id);
	hl_pb_u64(&w->message, 1, id + UINT64_C(1));
	hl_pb_u64(&w->message, 2, name);
	hl_pb_u64(&w->message, 3, name);
	hl_pb_u64(&w->message, 4, file);
	put_message(w, FUNCTION);
	return id;
}

static void add_line(struct writer *w, struct hl_strbuf *location, const struct hl_frame *f)
{
	hl_strbuf_reset(&w->part);
	hl_pb_u64(&w->part, 1, find_function(w, f) + UINT64_C(1));
	hl_pb_u64(&w->part, 2, f->line);
	hl_pb_message(location, 4, &w->part);
}

/* Lines are innermost first, frames of the model outermost first. */
static void add_lines(
	struct writer *w, struct hl_strbuf *location, uint32_t node, struct module_range *module)
{
	const struct hl_frame_ref *refs;
	size_t n = 0;

	w->err = w->err ? w->err : hl_model_node_frames(w->x->m, node, &refs, &n);
	for (size_t i = w->err ? 0 : n; i-- > 0;) {
		const struct hl_frame *f = hl_model_frame(w->x->m, refs[i].frame);

		if (module && !hl_export_is_named(f))
			continue;
		add_line(w, location, f);
		if (module) {
			module->named = true;
			module->lines |= f->line > 0;
			module->inlines |= n > 1;
		}
	}
}

static uint32_t put_location(struct writer *w, uint32_t node, const struct hl_node *def)
{
	struct module_range *module = NULL;
	struct hl_strbuf location = {0};

	hl_pb_u64(&location, 1, w->n_locations + UINT64_C(1));
	if (def && def->module < w->n_modules && w->modules[def->module].id && def->offset > 0 &&
		def->offset < MODULE_BYTES) {
		module = &w->modules[def->module];
		hl_pb_u64(&location, 2, module->id);
		/* The address of the call, not the return address. */
		hl_pb_u64(&location, 3, ((uint64_t)module->id << MODULE_SHIFT) + def->offset - 1);
		if (def->offset > module->limit)
			module->limit = def->offset;
	}
	add_lines(w, &location, node, module);
	hl_strbuf_add(&w->message, location.data, location.len);
	put_message(w, LOCATION);
	hl_strbuf_fini(&location);
	return w->n_locations++;
}

/* Equal addresses in different stacks share a location. */
static uint32_t find_location(struct writer *w, uint32_t node)
{
	uint32_t at = node == HL_NODE_NONE ? hl_model_n_nodes(w->x->m) : node;
	struct hl_node def;
	bool known =
		node != HL_NODE_NONE && hl_reader_node(hl_model_reader(w->x->m), node, &def) == 0;

	if (w->node_locations[at] != NO_LOCATION)
		return w->node_locations[at];
	w->node_locations[at] =
		known ? hl_pair_map_get(&w->locations, def.module, def.offset) : HL_PAIR_MAP_NONE;
	if (w->node_locations[at] != HL_PAIR_MAP_NONE)
		return w->node_locations[at];
	w->node_locations[at] = put_location(w, node, known ? &def : NULL);
	if (known && !w->err)
		w->err = hl_pair_map_put(
			&w->locations, def.module, def.offset, w->node_locations[at]);
	return w->node_locations[at];
}

/* A location without a module. */
static uint32_t put_bare_location(struct writer *w, const struct hl_frame *f)
{
	struct hl_strbuf location = {0};

	hl_pb_u64(&location, 1, w->n_locations + UINT64_C(1));
	add_line(w, &location, f);
	hl_strbuf_add(&w->message, location.data, location.len);
	put_message(w, LOCATION);
	hl_strbuf_fini(&location);
	return w->n_locations++;
}

static uint32_t group_location(struct writer *w, uint32_t frame)
{
	uint32_t at = hl_pair_map_get(&w->groups, frame, 0);

	if (at != HL_PAIR_MAP_NONE || w->err)
		return at;
	at = put_bare_location(w, hl_model_frame(w->x->m, frame));
	w->err = w->err ? w->err : hl_pair_map_put(&w->groups, frame, 0, at);
	return at;
}

static uint32_t process_location(struct writer *w)
{
	const struct hl_frame process = {.function = w->x->process};

	if (w->process == NO_LOCATION)
		w->process = put_bare_location(w, &process);
	return w->process;
}

/* --- samples --- */

static void add_label(struct writer *w, const char *key, const char *text)
{
	hl_strbuf_reset(&w->part);
	hl_pb_u64(&w->part, 1, intern_string(w, key));
	hl_pb_u64(&w->part, 2, intern_string(w, text));
	hl_pb_message(&w->message, 3, &w->part);
}

/* The label "thread" includes the name, because some readers show only one label. */
static void add_labels(struct writer *w, struct hl_role who)
{
	struct hl_strbuf text = {0};
	const char *name;

	if (who.thread == HL_NODE_NONE)
		return;
	hl_model_put_thread(w->x->m, who.thread, &text);
	add_label(w, "thread", hl_strbuf_str(&text));
	name = hl_model_thread_name(w->x->m, who.thread);
	if (name && name[0])
		add_label(w, "thread_name", name);
	if (who.tag != HL_TAG_NONE) {
		hl_strbuf_reset(&text);
		hl_model_put_tag(w->x->m, who.tag, &text);
		add_label(w, "tag", hl_strbuf_str(&text));
	}
	hl_strbuf_fini(&text);
}

/* Threads and tags already have labels. */
static void add_group_label(struct writer *w, uint32_t group)
{
	enum hl_group g = w->x->group;

	if (group != HL_NODE_NONE && g != HL_GROUP_THREAD && g != HL_GROUP_TAG)
		add_label(w, hl_group_name(g), hl_model_frame(w->x->m, group)->function);
}

static void put_sample(struct writer *w, const struct sample *s)
{
	uint32_t node = s->node;
	struct hl_strbuf ids = {0};

	do {
		hl_pb_put_varint(&ids, find_location(w, node) + UINT64_C(1));
		node = node == HL_NODE_NONE ? HL_NODE_NONE : hl_model_parent(w->x->m, node);
	} while (node != HL_NODE_NONE && !w->err);
	if (s->group != HL_NODE_NONE)
		hl_pb_put_varint(&ids, group_location(w, s->group) + UINT64_C(1));
	if (w->x->process)
		hl_pb_put_varint(&ids, process_location(w) + UINT64_C(1));
	hl_pb_message(&w->message, 1, &ids);
	hl_strbuf_reset(&ids);
	for (int k = 0; k < N_KINDS; k++) {
		hl_pb_put_varint(&ids, s->value[k].blocks);
		hl_pb_put_varint(&ids, s->value[k].bytes);
	}
	hl_pb_message(&w->message, 2, &ids);
	hl_strbuf_fini(&ids);
	if (w->x->process)
		add_label(w, "process", w->x->process);
	add_labels(w, s->who);
	add_group_label(w, s->group);
	put_message(w, SAMPLE);
}

/* d is NULL without groups. */
static int add_rows(
	struct writer *w, const struct hl_cross_sums *c, const struct hl_grouping *d, int kind)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct hl_cross_sums_row *r = &c->rows[i];
		uint32_t group = d ? hl_grouping_frame(d, r->node, r->key) : HL_NODE_NONE;
		uint64_t role = (uint64_t)r->role.thread << 32 | r->role.tag;
		uint64_t stack_key = (uint64_t)group << 32 | r->node;
		uint32_t at = hl_pair_map_get(&w->sample_index, stack_key, role);

		if (at == HL_PAIR_MAP_NONE) {
			at = (uint32_t)w->samples.len;
			if (hl_vec_push(&w->samples,
				    ((struct sample){
					    .node = r->node, .group = group, .who = r->role})) ||
				hl_pair_map_put(&w->sample_index, stack_key, role, at))
				return -ENOMEM;
		}
		hl_value_add(&w->samples.data[at].value[kind], &r->value);
	}
	return 0;
}

/* Makes the two queries. Returns false if the quantity cannot be in use. */
static bool make_queries(const struct hl_export_job *x, struct hl_query q[N_KINDS])
{
	static const struct hl_time_spec end = {.kind = HL_TIME_SPEC_END};

	q[ALLOC] = q[INUSE] = x->query;
	switch (x->query.quantity) {
	case HL_QUANTITY_LIVE:
		q[ALLOC].quantity = HL_QUANTITY_ALLOCATED;
		q[ALLOC].from = (struct hl_time_spec){0};
		q[ALLOC].to = end;
		q[ALLOC].suppressions = NULL;
		return true;
	case HL_QUANTITY_GROWTH:
		q[ALLOC].quantity = HL_QUANTITY_ALLOCATED;
		return true;
	case HL_QUANTITY_TEMPORARY:
		return false;
	case HL_QUANTITY_ALLOCATED:
		/* All live blocks were allocated since the start, so the query can use
		 * keyframes. */
		q[INUSE].quantity = x->query.from.kind == HL_TIME_SPEC_NS && x->query.from.ns == 0
					    ? HL_QUANTITY_LIVE
					    : HL_QUANTITY_GROWTH;
		return true;
	}
	return true;
}

static int run_queries(struct writer *w)
{
	struct hl_query q[N_KINDS];
	struct hl_cross_sums c[N_KINDS] = {0};
	struct hl_grouping d = {0};
	size_t n = make_queries(w->x, q) ? 2 : 1;
	int err;

	for (size_t i = 0; i < n && w->x->grouped; i++)
		q[i].key = hl_group_key(w->x->group);
	err = hl_model_cross_sums(w->x->m, q, c, n);
	if (!err && w->x->grouped)
		err = hl_grouping_make(&d, w->x->m, w->x->group, c, n);
	for (size_t i = 0; i < n && !err; i++) {
		err = add_rows(w, &c[i], w->x->grouped ? &d : NULL, (int)i);
		w->x->before_damage |= c[i].moved;
		if (c[i].moved || i == n - 1)
			w->x->to_ns = c[i].to_ns;
	}
	for (size_t i = 0; i < n; i++)
		hl_cross_sums_fini(&c[i]);
	hl_grouping_fini(&d);
	return err;
}

/* --- mappings and header --- */

/* The program itself is first: readers take the first mapping as the name of the profile. */
static void number_modules(struct writer *w)
{
	const char *program = hl_model_info(w->x->m)->meta.program;

	for (int own = 1; own >= 0; own--) {
		for (uint32_t i = 0; i < w->n_modules; i++) {
			struct hl_module module;

			if (hl_reader_module(hl_model_reader(w->x->m), i, &module) == 0 &&
				(strcmp(module.path, program) == 0) == own)
				w->modules[i].id = ++w->last_module;
		}
	}
}

static void put_mapping(
	struct writer *w, const struct module_range *p, const struct hl_module *module)
{
	uint64_t start = (uint64_t)p->id << MODULE_SHIFT;
	struct hl_strbuf id = {0};

	for (uint32_t k = 0; k < module->build_id_len; k++)
		hl_strbuf_printf(&id, "%02x", module->build_id[k]);
	hl_pb_u64(&w->message, 1, p->id);
	hl_pb_u64(&w->message, 2, start);
	hl_pb_u64(&w->message, 3, start + (p->limit + PAGE) / PAGE * PAGE);
	hl_pb_u64(&w->message, 5, intern_string(w, module->path));
	hl_pb_u64(&w->message, 6, intern_string(w, hl_strbuf_str(&id)));
	hl_pb_u64(&w->message, 7, p->named);
	hl_pb_u64(&w->message, 8, p->lines);
	hl_pb_u64(&w->message, 9, p->lines);
	hl_pb_u64(&w->message, 10, p->inlines);
	put_message(w, MAPPING);
	hl_strbuf_fini(&id);
}

/* In the order of their ids, which are after `last`. */
static void put_mappings(struct writer *w, uint32_t last)
{
	for (uint32_t id = last + 1; id <= w->last_module; id++) {
		for (uint32_t i = 0; i < w->n_modules; i++) {
			struct hl_module module;

			if (w->modules[i].id == id &&
				hl_reader_module(hl_model_reader(w->x->m), i, &module) == 0)
				put_mapping(w, &w->modules[i], &module);
		}
	}
}

static void put_comment(struct writer *w, const char *text)
{
	put_number(w, COMMENT, intern_string(w, text));
}

/* The blocks that are live at the end and not in the samples. */
static void put_suppressed(struct writer *w)
{
	const struct hl_suppressed *taken = NULL;
	struct hl_strbuf b = {0};
	size_t n = 0;

	if (w->x->query.suppressions)
		taken = hl_suppressions_counts(w->x->query.suppressions, &n);
	for (size_t i = 0; i < n; i++) {
		const struct hl_value *v = &taken[i].value;

		if (v->blocks == 0)
			continue;
		hl_strbuf_reset(&b);
		if (w->x->process)
			hl_strbuf_printf(&b, "%s: ", w->x->process);
		hl_strbuf_printf(&b, "suppressed: %" PRIu64 " bytes in %" PRIu64 " block%s: %s",
			v->bytes, v->blocks, v->blocks == 1 ? "" : "s", taken[i].pattern);
		put_comment(w, hl_strbuf_str(&b));
	}
	hl_strbuf_fini(&b);
}

/* Its stacks have them: viewers that hide functions need their names. */
static void put_wrappers(struct writer *w)
{
	struct hl_strbuf b = {0};
	size_t n = hl_model_n_wrappers(w->x->m);

	for (size_t i = 0; i < n; i++)
		hl_strbuf_printf(&b, "%s%s",
			i ? ", " : "allocation wrappers: ", hl_model_wrapper(w->x->m, i));
	if (n > 0)
		put_comment(w, hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

static void put_header(struct writer *w)
{
	bool live = w->x->query.quantity == HL_QUANTITY_LIVE ||
		    w->x->query.quantity == HL_QUANTITY_GROWTH;
	char comment[128];

	intern_string(w, ""); /* string 0 must be empty */
	put_type(w, SAMPLE_TYPE, "alloc_objects", "count");
	put_type(w, SAMPLE_TYPE, "alloc_space", "bytes");
	put_type(w, SAMPLE_TYPE, "inuse_objects", "count");
	put_type(w, SAMPLE_TYPE, "inuse_space", "bytes");
	put_type(w, PERIOD_TYPE, "space", "bytes");
	put_number(w, PERIOD, 1);
	put_number(w, DEFAULT_SAMPLE_TYPE, intern_string(w, live ? "inuse_space" : "alloc_space"));
	snprintf(comment, sizeof(comment), "heaplapse: %s", w->x->title);
	put_comment(w, comment);
}

static void put_footer(struct writer *w)
{
	put_number(w, TIME_NANOS, w->start_unix_ns);
	put_number(w, DURATION_NANOS, w->end_ns);
	for (size_t i = 0; i < w->strings.len; i++) {
		hl_text_sanitize(&w->message, hl_string_table_get(&w->strings, (uint32_t)i));
		put_message(w, STRING_TABLE);
	}
}

static void note_times(struct writer *w)
{
	const struct hl_export_job *x = w->x;
	uint64_t end = hl_export_begin_ns(x) + hl_model_end_ns(x->m);

	w->start_unix_ns = x->process ? x->start_unix_ns : hl_model_info(x->m)->meta.start_unix_ns;
	w->end_ns = end > w->end_ns ? end : w->end_ns;
}

static int put_process(struct writer *w)
{
	struct hl_model *m = w->x->m;
	size_t n = (size_t)hl_model_n_nodes(m) + 1;
	uint32_t last_module = w->last_module;
	int err = run_queries(w);

	if (!err)
		err = hl_model_find_wrappers(m);
	if (!err)
		err = hl_reader_n_modules(hl_model_reader(m), &w->n_modules);
	w->modules = calloc((size_t)w->n_modules + 1, sizeof(*w->modules));
	w->node_locations = malloc(n * sizeof(*w->node_locations));
	if (err || !w->modules || !w->node_locations)
		return err ? err : -ENOMEM;
	for (size_t i = 0; i < n; i++)
		w->node_locations[i] = NO_LOCATION;
	number_modules(w);
	note_times(w);
	if (w->x->is_first)
		put_header(w);
	put_suppressed(w);
	put_wrappers(w);
	for (size_t i = 0; i < w->samples.len && !w->err; i++)
		put_sample(w, &w->samples.data[i]);
	put_mappings(w, last_module);
	if (w->x->is_last)
		put_footer(w);
	return w->err;
}

static struct writer *make_writer(FILE *out)
{
	struct writer *w = calloc(1, sizeof(*w));

	if (w)
		w->out = hl_pack_gzip(out, GZIP_LEVEL);
	if (w && w->out)
		return w;
	free(w);
	return NULL;
}

static void end_process(struct writer *w)
{
	hl_pair_map_fini(&w->locations);
	hl_pair_map_fini(&w->groups);
	hl_pair_map_fini(&w->sample_index);
	hl_vec_free(&w->samples);
	free(w->modules);
	free(w->node_locations);
	w->locations = w->groups = w->sample_index = (struct hl_pair_map){0};
	w->modules = NULL;
	w->node_locations = NULL;
	w->n_modules = 0;
}

void hl_export_pprof_drop(void *kept)
{
	struct writer *w = kept;

	if (!w)
		return;
	fclose(w->out); /* write errors are in ferror(x->out) */
	hl_strbuf_fini(&w->message);
	hl_strbuf_fini(&w->part);
	hl_string_table_fini(&w->strings);
	hl_pair_map_fini(&w->functions);
	free(w);
}

int hl_export_pprof(struct hl_export_job *x)
{
	struct writer *w = x->is_first ? make_writer(x->out) : *x->kept;
	int err = -ENOMEM;

	if (w) {
		w->x = x;
		w->process = NO_LOCATION;
		err = put_process(w);
		end_process(w);
	}
	if (err || x->is_last) {
		hl_export_pprof_drop(w);
		w = NULL;
	}
	*x->kept = w;
	return err;
}
