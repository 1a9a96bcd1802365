/*
 * disguise.c - made-up names; see disguise.h.
 *
 * Numbers are given in the order of first use, so that they say nothing but that.
 */
#include "model/disguise.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/attr.h"
#include "model/model_internal.h"
#include "model/suppress.h"

/* One kind of names: the originals, and beside them what they become. */
struct kind {
	const char *prefix;
	struct hl_strings names;
	struct hl_strings made_up;
};

struct hl_disguise {
	struct hl_model *m;
	bool all;
	uint64_t shift; /* of addresses */
	struct kind functions, files, modules, texts, tags, threads, pools;
	struct hl_map offsets; /* (module, offset) -> its number among all */
	uint32_t n_offsets;
	HL_VEC(struct hl_name_frame) frames;
};

int hl_disguise_new(struct hl_disguise **out, struct hl_model *m, bool all)
{
	struct hl_disguise *d = calloc(1, sizeof(*d));
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
	if (all && getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
		free(d);
		return -EIO;
	}
	/* Whole pages of 2 MiB: what lay on one lies on one. */
	d->shift = all ? ((uint64_t)random % (1u << 18) + 1) << 21 : 0;
	*out = d;
	return 0;
}

static void kind_fini(struct kind *k)
{
	hl_strings_fini(&k->names);
	hl_strings_fini(&k->made_up);
}

void hl_disguise_free(struct hl_disguise *d)
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
	hl_map_fini(&d->offsets);
	hl_vec_free(&d->frames);
	free(d);
}

/* "fn_12"; `as`: a name that stays, else NULL. */
static int make_up(struct kind *k, const char *name, const char *as, const char **out)
{
	uint32_t id, made;
	char text[32];
	int err = hl_strings_add(&k->names, name, &id);

	snprintf(text, sizeof(text), "%s%u", k->prefix, id + 1);
	if (!err)
		err = hl_strings_add(&k->made_up, as ? as : text, &made);
	if (!err)
		*out = hl_strings_get(&k->made_up, made);
	return err;
}

static int module_name(struct hl_disguise *d, const char *path, const char **out)
{
	/* [vdso] and the like are no names */
	return make_up(&d->modules, path, path[0] == '[' ? path : hl_runtime_module(path), out);
}

int hl_disguise_module(struct hl_disguise *d, struct hl_module *module)
{
	module->build_id_len = 0;
	return module_name(d, module->path, &module->path);
}

/* Its program is one of the modules. The rest says whose it is. */
int hl_disguise_meta(struct hl_disguise *d, struct hl_meta *meta)
{
	int err = 0;

	if (meta->allocator[0])
		err = module_name(d, meta->allocator, &meta->allocator);
	if (err || !d->all)
		return err;
	err = module_name(d, meta->program, &meta->program);
	meta->command = meta->program;
	meta->command_len = (uint32_t)strlen(meta->program) + 1;
	meta->pid = 1;
	meta->parent_pid = 0;
	return err;
}

/* Where stacks begin, in every program; `main` is where people begin to read. */
static bool stays(const char *function)
{
	static const char *const names[] = {"main", "_start", "clone3", "__clone3", "__GI___clone3",
		"start_thread", "clone", "__clone", "__GI___clone"};

	for (size_t i = 0; i < HL_ARRAY_LEN(names); i++)
		if (strcmp(function, names[i]) == 0)
			return true;
	return function[0] == '[' || strncmp(function, "__libc_start_", 13) == 0;
}

/* An address, or what stands for a stack that was cut or lost. */
static bool is_nameless(const struct hl_frame *f)
{
	return strncmp(f->function, "0x", 2) == 0 || strncmp(f->function, "[jit 0x", 7) == 0 ||
	       (f->function[0] == '[' && !f->module);
}

static int add_frame(struct hl_disguise *d, const struct hl_frame_ref *ref)
{
	const struct hl_frame *f = hl_model_frame(d->m, ref->frame);
	struct hl_name_frame named = {.line = f->line, .inlined = ref->inlined};
	bool as_is = stays(f->function) || (f->module && hl_runtime_module(f->module));
	int err = make_up(&d->functions, f->function, as_is ? f->function : NULL, &named.function);

	if (!err && f->file)
		err = make_up(&d->files, f->file, NULL, &named.file);
	return err ? err : hl_vec_push(&d->frames, named);
}

static int add_names(
	struct hl_disguise *d, struct hl_writer *w, uint32_t id, const struct hl_node *node)
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

int hl_disguise_node(struct hl_disguise *d, struct hl_writer *w, uint32_t id, struct hl_node *node)
{
	uint64_t module = (uint32_t)(node->module + 1), offset = node->offset;
	uint32_t known;
	int err = 0;

	if (node->module == HL_MODULE_NONE && offset == HL_OFFSET_CUT)
		return 0;
	known = hl_map_get(&d->offsets, module, offset);
	node->offset = ((uint64_t)(known == HL_MAP_NONE ? d->n_offsets : known) + 1) * 16;
	if (known == HL_MAP_NONE) {
		err = hl_map_put(&d->offsets, module, offset, d->n_offsets++);
		if (!err)
			err = add_names(d, w, id, node);
	}
	return err;
}

int hl_disguise_tag(struct hl_disguise *d, const char **name)
{
	return d->all ? make_up(&d->tags, *name, NULL, name) : 0;
}

int hl_disguise_label(struct hl_disguise *d, const char **label)
{
	return d->all ? make_up(&d->texts, *label, NULL, label) : 0;
}

static struct kind *kind_of(struct hl_disguise *d, uint8_t extra)
{
	return extra == HL_EXTRA_THREAD_NAME ? &d->threads
	       : extra == HL_EXTRA_POOL      ? &d->pools
					     : &d->texts;
}

int hl_disguise_extra(struct hl_disguise *d, struct hl_extra *x)
{
	if (!d->all)
		return 0;
	x->addr += x->addr ? d->shift : 0;
	if (x->kind == HL_EXTRA_MREMAP)
		x->value += x->value ? d->shift : 0;
	return x->text ? make_up(kind_of(d, x->kind), x->text, NULL, &x->text) : 0;
}

void hl_disguise_event(const struct hl_disguise *d, struct hl_event *e)
{
	e->addr += e->addr ? d->shift : 0;
}
