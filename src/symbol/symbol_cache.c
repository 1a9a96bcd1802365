/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_cache.c - the cached addresses of one module: read, learn, write; see
 * symbol_cache_internal.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "symbol/symbol_cache_internal.h"
#include "util/string_table.h"

void hl_symbol_cache_load(struct hl_symbol_cache *c, const char *dir, const uint8_t *id, size_t len)
{
	hl_symbol_cache_read(&c->disk, dir, id, len);
}

bool hl_symbol_cache_loaded(const struct hl_symbol_cache *c)
{
	return c->disk.memory != NULL;
}

void hl_symbol_cache_unload(struct hl_symbol_cache *c)
{
	free(c->disk.memory);
	memset(&c->disk, 0, sizeof(c->disk));
}

void hl_symbol_cache_fini(struct hl_symbol_cache *c)
{
	hl_symbol_cache_unload(c);
	hl_vec_free(&c->learned.sites);
	hl_vec_free(&c->learned.frames);
}

static const struct hl_symbol_cache_site *find_site(
	const struct hl_symbol_cache_data *d, uint64_t offset)
{
	uint32_t lo = 0, hi = d->n_sites;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (d->sites[mid].offset < offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < d->n_sites && d->sites[lo].offset == offset ? &d->sites[lo] : NULL;
}

static struct hl_symbol_frame get_frame(const struct hl_symbol_cache_data *d, uint32_t i)
{
	const struct hl_symbol_cache_frame *f = &d->frames[i];

	return (struct hl_symbol_frame){
		.function = d->text + f->function,
		.file = f->file == HL_SYMBOL_CACHE_NONE ? NULL : d->text + f->file,
		.line = f->line,
		.inlined = f->inlined != 0,
	};
}

bool hl_symbol_cache_get(
	const struct hl_symbol_cache *c, uint64_t offset, struct hl_frames *into, int *err)
{
	const struct hl_symbol_cache_site *s = find_site(&c->disk, offset);

	*err = 0;
	for (uint32_t i = 0; s && i < s->n && !*err; i++)
		*err = hl_vec_push(&into->v, get_frame(&c->disk, s->first + i));
	if (s) {
		into->start = s->start;
		into->end = s->end;
	}
	return s != NULL;
}

void hl_symbol_cache_put(struct hl_symbol_cache *c, uint64_t offset, const struct hl_frames *frames)
{
	struct hl_symbol_cache_site s = {.offset = offset,
		.start = frames->start,
		.end = frames->end,
		.first = (uint32_t)c->learned.frames.len,
		.n = (uint32_t)frames->v.len};

	for (size_t i = 0; i < frames->v.len; i++) {
		if (hl_vec_push(&c->learned.frames, frames->v.data[i]))
			return;
	}
	/* Out of memory: the entry is not learned, which does no harm. */
	if (hl_vec_push(&c->learned.sites, s))
		return;
}

/* The content of a new file. */
struct file_builder {
	HL_VEC(struct hl_symbol_cache_site) sites;
	HL_VEC(struct hl_symbol_cache_frame) frames;
	struct hl_string_table strings;
	HL_VEC(uint32_t) text_offsets; /* offset in the text, by string id */
	struct hl_strbuf text;
};

static int add_text(struct file_builder *b, const char *s, uint32_t *at)
{
	uint32_t id;
	int err;

	*at = HL_SYMBOL_CACHE_NONE;
	if (!s)
		return 0;
	err = hl_string_table_add(&b->strings, s, &id);
	if (!err && id == b->text_offsets.len) {
		if (b->text.len > INT32_MAX)
			return -EFBIG;
		err = hl_vec_push(&b->text_offsets, (uint32_t)b->text.len);
		hl_strbuf_add(&b->text, s, strlen(s) + 1);
	}
	if (!err)
		*at = b->text_offsets.data[id];
	return err;
}

static int add_frame(struct file_builder *b, const struct hl_symbol_frame *f)
{
	struct hl_symbol_cache_frame out = {.line = f->line, .inlined = f->inlined};
	int err = add_text(b, f->function, &out.function);

	if (!err)
		err = add_text(b, f->file, &out.file);
	return err ? err : hl_vec_push(&b->frames, out);
}

/* Its frames are the last ones. */
static int add_site(struct file_builder *b, const struct hl_symbol_cache_site *s)
{
	struct hl_symbol_cache_site out = *s;

	out.first = (uint32_t)b->frames.len - s->n;
	return hl_vec_push(&b->sites, out);
}

static int add_learned(struct file_builder *b, const struct hl_symbol_cache *c)
{
	int err = 0;

	for (size_t i = 0; i < c->learned.sites.len && !err; i++) {
		const struct hl_symbol_cache_site *s = &c->learned.sites.data[i];

		for (uint32_t k = 0; k < s->n && !err; k++)
			err = add_frame(b, &c->learned.frames.data[s->first + k]);
		if (!err)
			err = add_site(b, s);
	}
	return err;
}

static int compare_offsets(const void *pa, const void *pb)
{
	const struct hl_symbol_cache_site *a = pa, *b = pb;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Adds entries of the file that were not learned in this run. Learned sites are sorted. */
static int add_from_disk(struct file_builder *b, const struct hl_symbol_cache_data *d)
{
	struct hl_symbol_cache_data known = {
		.n_sites = (uint32_t)b->sites.len, .sites = b->sites.data};
	int err = 0;

	for (uint32_t i = 0; i < d->n_sites && !err; i++) {
		const struct hl_symbol_cache_site *s = &d->sites[i];

		/* The array may have moved; its first part has not changed. */
		known.sites = b->sites.data;
		if (find_site(&known, s->offset))
			continue;
		for (uint32_t k = 0; k < s->n && !err; k++) {
			struct hl_symbol_frame f = get_frame(d, s->first + k);

			err = add_frame(b, &f);
		}
		if (!err)
			err = add_site(b, s);
	}
	return err;
}

/* An offset that was looked up twice was learned twice. */
static void remove_duplicates(struct file_builder *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->sites.len; i++) {
		if (n == 0 || b->sites.data[n - 1].offset != b->sites.data[i].offset)
			b->sites.data[n++] = b->sites.data[i];
	}
	b->sites.len = n;
}

static int build_and_write(struct file_builder *b, const struct hl_symbol_cache *c,
	const struct hl_symbol_cache_data *disk, const char *dir, const uint8_t *id, size_t len)
{
	struct hl_symbol_cache_data d = {.state = c->state};
	int err = add_learned(b, c);

	if (err)
		return err;
	qsort(b->sites.data, b->sites.len, sizeof(*b->sites.data), compare_offsets);
	remove_duplicates(b);
	if (disk->state == c->state)
		err = add_from_disk(b, disk);
	if (!err)
		err = hl_strbuf_error(&b->text);
	if (err)
		return err;
	qsort(b->sites.data, b->sites.len, sizeof(*b->sites.data), compare_offsets);
	d.n_sites = (uint32_t)b->sites.len;
	d.sites = b->sites.data;
	d.n_frames = (uint32_t)b->frames.len;
	d.frames = b->frames.data;
	d.n_text = (uint32_t)b->text.len;
	d.text = b->text.data;
	return hl_symbol_cache_write(&d, dir, id, len);
}

bool hl_symbol_cache_save(struct hl_symbol_cache *c, const char *dir, const uint8_t *id, size_t len)
{
	struct hl_symbol_cache_data disk;
	struct file_builder b = {0};
	int err;

	if (c->learned.sites.len == 0 || hl_symbol_cache_dir(dir) != 0)
		return false;
	hl_symbol_cache_read(&disk, dir, id, len);
	/* Another process has written names with debug information meanwhile; these are better. */
	if (disk.memory && disk.state < c->state)
		err = -EEXIST;
	else
		err = build_and_write(&b, c, &disk, dir, id, len);
	free(disk.memory);
	hl_vec_free(&b.sites);
	hl_vec_free(&b.frames);
	hl_vec_free(&b.text_offsets);
	hl_string_table_fini(&b.strings);
	hl_strbuf_fini(&b.text);
	return err == 0;
}

struct cache_file {
	time_t used;
	uint64_t bytes;
	char name[2 * HL_SYMBOL_CACHE_ID_MAX + 1];
};

static int compare_ages(const void *pa, const void *pb)
{
	const struct cache_file *a = pa, *b = pb;

	return a->used < b->used ? -1 : a->used > b->used;
}

void hl_symbol_cache_prune(const char *dir, uint64_t max_bytes)
{
	HL_VEC(struct cache_file) files = {0};
	DIR *d = opendir(dir);
	uint64_t all = 0;
	struct dirent *e;

	while (d && (e = readdir(d)) != NULL) {
		struct cache_file f = {0};
		struct stat st;

		if (strlen(e->d_name) >= sizeof(f.name) ||
			fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISREG(st.st_mode))
			continue;
		strcpy(f.name, e->d_name);
		f.used = st.st_mtime;
		f.bytes = (uint64_t)st.st_size;
		all += f.bytes;
		/* A temporary file older than an hour was left behind by a killed process: remove
		 * it first. */
		if (f.name[0] == '.' && f.used + 3600 < time(NULL))
			f.used = 0;
		if (hl_vec_push(&files, f))
			break;
	}
	if (files.len)
		qsort(files.data, files.len, sizeof(*files.data), compare_ages);
	for (size_t i = 0; i < files.len && (all > max_bytes || files.data[i].used == 0); i++) {
		if (unlinkat(dirfd(d), files.data[i].name, 0) == 0)
			all -= files.data[i].bytes;
	}
	if (d)
		closedir(d);
	hl_vec_free(&files);
}
