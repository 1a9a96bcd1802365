/* SPDX-License-Identifier: Apache-2.0 */
/*
 * anonymize.c - made-up names; see anonymize.h.
 *
 * Made-up names are numbered in the order of first use, so that they reveal only that order.
 */
#include "model/slice/anonymize.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/attr.h"
#include "model/model_internal.h"
#include "model/query/suppress.h"

/* One kind of name: the originals and their made-up names. */
struct kind {
	const char *prefix;
	struct hl_string_table names;
	struct hl_string_table made_up;
};

struct hl_anonymizer {
	struct hl_model *m;
	bool all;
	uint64_t shift; /* added to addresses */
	struct kind functions, files, modules, texts, tags, threads, pools, mappings;
	struct hl_pair_map offsets; /* (module, offset) -> its number among all */
	uint32_t n_offsets;
	HL_VEC(struct hl_name_frame) frames;
};

int hl_anonymize_new(struct hl_anonymizer **out, struct hl_model *m, bool all)
{
	struct hl_anonymizer *d = calloc(1, sizeof(*d));
	uint32_t random = 0;

	if (!d)
		return -ENOMEM;
	d->m = m;
	d->all = all;
	d->functions.prefix = "fn_";
	d->files.prefix = "file_";
	d->modules.prefix = "module_";
	d->texts.prefix = "text_";
	d->tags.prefix = "tag_";
	d->threads.prefix = "thread_";
	d->pools.prefix = "pool_";
	d->mappings.prefix = "map_";
	if (all && getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
		free(d);
		return -EIO;
	}
	/* A multiple of 2 MiB: blocks on one page, also on a huge page, remain on one page. */
	d->shift = all ? ((uint64_t)random % (1u << 18) + 1) << 21 : 0;
	*out = d;
	return 0;
}

static void kind_fini(struct kind *k)
{
	hl_string_table_fini(&k->names);
	hl_string_table_fini(&k->made_up);
}

void hl_anonymize_free(struct hl_anonymizer *d)
{
	if (!d)
		return;
	kind_fini(&d->functions);
	kind_fini(&d->files);
	kind_fini(&d->modules);
	kind_fini(&d->texts);
	kind_fini(&d->tags);
	kind_fini(&d->threads);
	kind_fini(&d->pools);
	kind_fini(&d->mappings);
	hl_pair_map_fini(&d->offsets);
	hl_vec_free(&d->frames);
	free(d);
}

/* For example "fn_12". `as`: the name to use instead, or NULL. */
static int make_up(struct kind *k, const char *name, const char *as, const char **out)
{
	uint32_t id, made;
	char text[32];
	int err = hl_string_table_add(&k->names, name, &id);

	snprintf(text, sizeof(text), "%s%u", k->prefix, id + 1);
	if (!err)
		err = hl_string_table_add(&k->made_up, as ? as : text, &made);
	if (!err)
		*out = hl_string_table_get(&k->made_up, made);
	return err;
}

static int make_up_module(struct hl_anonymizer *d, const char *path, const char **out)
{
	/* [vdso] and similar are not names */
	return make_up(&d->modules, path, path[0] == '[' ? path : hl_runtime_module(path), out);
}

int hl_anonymize_module(struct hl_anonymizer *d, struct hl_module *module)
{
	module->build_id_len = 0;
	return make_up_module(d, module->path, &module->path);
}

/* The program is renamed as a module. Command and process ids would identify the run. */
int hl_anonymize_meta(struct hl_anonymizer *d, struct hl_meta *meta)
{
	int err = 0;

	if (meta->allocator[0])
		err = make_up_module(d, meta->allocator, &meta->allocator);
	if (err || !d->all)
		return err;
	err = make_up_module(d, meta->program, &meta->program);
	meta->command = meta->program;
	meta->command_len = (uint32_t)strlen(meta->program) + 1;
	meta->pid = 1;
	meta->parent_pid = 0;
	return err;
}

/* The outermost functions of every program. `main` is where readers start. */
static bool is_kept_name(const char *function)
{
	static const char *const names[] = {"main", "_start", "clone3", "__clone3", "__GI___clone3",
		"start_thread", "clone", "__clone", "__GI___clone"};

	for (size_t i = 0; i < HL_ARRAY_LEN(names); i++)
		if (strcmp(function, names[i]) == 0)
			return true;
	return function[0] == '[' || strncmp(function, "__libc_start_", 13) == 0;
}

/* An address, or the placeholder of a truncated or lost stack. */
static bool is_nameless(const struct hl_frame *f)
{
	return strncmp(f->function, "0x", 2) == 0 || strncmp(f->function, "[jit 0x", 7) == 0 ||
	       (f->function[0] == '[' && !f->module);
}

static int add_frame(struct hl_anonymizer *d, const struct hl_frame_ref *ref)
{
	const struct hl_frame *f = hl_model_frame(d->m, ref->frame);
	struct hl_name_frame named = {.line = f->line, .inlined = ref->inlined};
	bool as_is = is_kept_name(f->function) || (f->module && hl_runtime_module(f->module));
	int err = make_up(&d->functions, f->function, as_is ? f->function : NULL, &named.function);

	if (!err && f->file)
		err = make_up(&d->files, f->file, NULL, &named.file);
	return err ? err : hl_vec_push(&d->frames, named);
}

static int add_names(
	struct hl_anonymizer *d, struct hl_writer *w, uint32_t id, const struct hl_node *node)
{
	const struct hl_frame_ref *refs;
	struct hl_named_site site = {.module = node->module, .offset = node->offset};
	size_t n;
	int err = hl_model_node_frames(d->m, id, &refs, &n);

	d->frames.len = 0;
	if (err || (n == 1 && is_nameless(hl_model_frame(d->m, refs->frame))))
		return err;
	for (size_t i = 0; i < n && !err; i++)
		err = add_frame(d, &refs[i]);
	site.frames = d->frames.data;
	site.n_frames = d->frames.len;
	return err ? err : hl_writer_add_names(w, &site);
}

int hl_anonymize_node(
	struct hl_anonymizer *d, struct hl_writer *w, uint32_t id, struct hl_node *node)
{
	uint64_t module = (uint32_t)(node->module + 1), offset = node->offset;
	uint32_t known;
	int err = 0;

	if (node->module == HL_MODULE_NONE && offset == HL_OFFSET_REMOVED_FRAMES)
		return 0;
	known = hl_pair_map_get(&d->offsets, module, offset);
	node->offset = ((uint64_t)(known == HL_PAIR_MAP_NONE ? d->n_offsets : known) + 1) * 16;
	if (known == HL_PAIR_MAP_NONE) {
		err = hl_pair_map_put(&d->offsets, module, offset, d->n_offsets++);
		if (!err)
			err = add_names(d, w, id, node);
	}
	return err;
}

int hl_anonymize_tag(struct hl_anonymizer *d, const char **name)
{
	return d->all ? make_up(&d->tags, *name, NULL, name) : 0;
}

int hl_anonymize_label(struct hl_anonymizer *d, const char **label)
{
	return d->all ? make_up(&d->texts, *label, NULL, label) : 0;
}

static struct kind *kind_of(struct hl_anonymizer *d, uint8_t extra)
{
	return extra == HL_EXTRA_THREAD_NAME ? &d->threads
	       : extra == HL_EXTRA_POOL      ? &d->pools
					     : &d->texts;
}

int hl_anonymize_extra(struct hl_anonymizer *d, struct hl_extra *x)
{
	if (!d->all)
		return 0;
	x->addr += x->addr ? d->shift : 0;
	if (x->kind == HL_EXTRA_MREMAP)
		x->value += x->value ? d->shift : 0;
	return x->text ? make_up(kind_of(d, x->kind), x->text, NULL, &x->text) : 0;
}

/* Names that the kernel gives to mappings of every program. [anon:NAME] is not one of them. */
static bool is_kernel_name(const char *name)
{
	static const char *const names[] = {
		"[heap]", "[stack]", "[vdso]", "[vvar]", "[vvar_vclock]", "[vsyscall]", "[?]"};

	for (size_t i = 0; i < HL_ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

int hl_anonymize_mapping(struct hl_anonymizer *d, struct hl_map_entry *m)
{
	m->start += d->shift;
	m->end += d->shift;
	if (!m->name[0] || is_kernel_name(m->name))
		return 0;
	return m->name[0] == '/' ? make_up_module(d, m->name, &m->name)
				 : make_up(&d->mappings, m->name, NULL, &m->name);
}

void hl_anonymize_event(const struct hl_anonymizer *d, struct hl_event *e)
{
	e->addr += e->addr ? d->shift : 0;
}
