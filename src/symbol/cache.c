/*
 * cache.c - the answers of one module: read, learn, write back; see cache_internal.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "symbol/cache_internal.h"
#include "util/strings.h"

void hl_cache_load(struct hl_cache *c, const char *dir, const uint8_t *id, size_t len)
{
	hl_cache_read(&c->disk, dir, id, len);
}

bool hl_cache_loaded(const struct hl_cache *c)
{
	return c->disk.memory != NULL;
}

void hl_cache_forget(struct hl_cache *c)
{
	free(c->disk.memory);
	memset(&c->disk, 0, sizeof(c->disk));
}

void hl_cache_fini(struct hl_cache *c)
{
	hl_cache_forget(c);
	hl_vec_free(&c->learned.sites);
	hl_vec_free(&c->learned.frames);
}

static const struct hl_cache_site *find(const struct hl_cache_data *d, uint64_t offset)
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

static struct hl_symbol_frame frame_at(const struct hl_cache_data *d, uint32_t i)
{
	const struct hl_cache_frame *f = &d->frames[i];

	return (struct hl_symbol_frame){
		.function = d->text + f->function,
		.file = f->file == HL_CACHE_NONE ? NULL : d->text + f->file,
		.line = f->line,
		.inlined = f->inlined != 0,
	};
}

bool hl_cache_get(const struct hl_cache *c, uint64_t offset, struct hl_frames *into, int *err)
{
	const struct hl_cache_site *s = find(&c->disk, offset);

	*err = 0;
	for (uint32_t i = 0; s && i < s->n && !*err; i++)
		*err = hl_vec_push(&into->v, frame_at(&c->disk, s->first + i));
	return s != NULL;
}

void hl_cache_put(struct hl_cache *c, uint64_t offset, const struct hl_frames *frames)
{
	struct hl_cache_site s = {.offset = offset,
		.first = (uint32_t)c->learned.frames.len,
		.n = (uint32_t)frames->v.len};

	for (size_t i = 0; i < frames->v.len; i++) {
		if (hl_vec_push(&c->learned.frames, frames->v.data[i]))
			return;
	}
	/* Without memory it is not learned, and that is all. */
	if (hl_vec_push(&c->learned.sites, s))
		return;
}

/* A file in the making. */
struct build {
	HL_VEC(struct hl_cache_site) sites;
	HL_VEC(struct hl_cache_frame) frames;
	struct hl_strings strings;
	HL_VEC(uint32_t) places; /* of strings in the text */
	struct hl_strbuf text;
};

static int add_text(struct build *b, const char *s, uint32_t *at)
{
	uint32_t id;
	int err;

	*at = HL_CACHE_NONE;
	if (!s)
		return 0;
	err = hl_strings_add(&b->strings, s, &id);
	if (!err && id == b->places.len) {
		if (b->text.len > INT32_MAX)
			return -EFBIG;
		err = hl_vec_push(&b->places, (uint32_t)b->text.len);
		hl_strbuf_add(&b->text, s, strlen(s) + 1);
	}
	if (!err)
		*at = b->places.data[id];
	return err;
}

static int add_frame(struct build *b, const struct hl_symbol_frame *f)
{
	struct hl_cache_frame out = {.line = f->line, .inlined = f->inlined};
	int err = add_text(b, f->function, &out.function);

	if (!err)
		err = add_text(b, f->file, &out.file);
	return err ? err : hl_vec_push(&b->frames, out);
}

static int add_site(struct build *b, uint64_t offset, uint32_t n)
{
	struct hl_cache_site s = {.offset = offset, .first = (uint32_t)b->frames.len - n, .n = n};

	return hl_vec_push(&b->sites, s);
}

static int add_learned(struct build *b, const struct hl_cache *c)
{
	int err = 0;

	for (size_t i = 0; i < c->learned.sites.len && !err; i++) {
		const struct hl_cache_site *s = &c->learned.sites.data[i];

		for (uint32_t k = 0; k < s->n && !err; k++)
			err = add_frame(b, &c->learned.frames.data[s->first + k]);
		if (!err)
			err = add_site(b, s->offset, s->n);
	}
	return err;
}

static int by_offset(const void *pa, const void *pb)
{
	const struct hl_cache_site *a = pa, *b = pb;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* What others wrote and we did not learn ourselves. Learned sites are sorted. */
static int add_disk(struct build *b, const struct hl_cache_data *d)
{
	struct hl_cache_data mine = {.n_sites = (uint32_t)b->sites.len, .sites = b->sites.data};
	int err = 0;

	for (uint32_t i = 0; i < d->n_sites && !err; i++) {
		const struct hl_cache_site *s = &d->sites[i];

		/* The array may have moved; its first part has not changed. */
		mine.sites = b->sites.data;
		if (find(&mine, s->offset))
			continue;
		for (uint32_t k = 0; k < s->n && !err; k++) {
			struct hl_symbol_frame f = frame_at(d, s->first + k);

			err = add_frame(b, &f);
		}
		if (!err)
			err = add_site(b, s->offset, s->n);
	}
	return err;
}

/* Who asked twice has learned twice. */
static void drop_doubles(struct build *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->sites.len; i++) {
		if (n == 0 || b->sites.data[n - 1].offset != b->sites.data[i].offset)
			b->sites.data[n++] = b->sites.data[i];
	}
	b->sites.len = n;
}

static int build_and_write(struct build *b, const struct hl_cache *c,
	const struct hl_cache_data *disk, const char *dir, const uint8_t *id, size_t len)
{
	struct hl_cache_data d = {.state = c->state};
	int err = add_learned(b, c);

	if (err)
		return err;
	qsort(b->sites.data, b->sites.len, sizeof(*b->sites.data), by_offset);
	drop_doubles(b);
	if (disk->state == c->state)
		err = add_disk(b, disk);
	if (!err)
		err = hl_strbuf_error(&b->text);
	if (err)
		return err;
	qsort(b->sites.data, b->sites.len, sizeof(*b->sites.data), by_offset);
	d.n_sites = (uint32_t)b->sites.len;
	d.sites = b->sites.data;
	d.n_frames = (uint32_t)b->frames.len;
	d.frames = b->frames.data;
	d.n_text = (uint32_t)b->text.len;
	d.text = b->text.data;
	return hl_cache_write(&d, dir, id, len);
}

bool hl_cache_save(struct hl_cache *c, const char *dir, const uint8_t *id, size_t len)
{
	struct hl_cache_data disk;
	struct build b = {0};
	int err;

	if (c->learned.sites.len == 0 || hl_cache_folder(dir) != 0)
		return false;
	hl_cache_read(&disk, dir, id, len);
	/* Someone with debug information was faster: that is worth more. */
	if (disk.memory && disk.state < c->state)
		err = -EEXIST;
	else
		err = build_and_write(&b, c, &disk, dir, id, len);
	free(disk.memory);
	hl_vec_free(&b.sites);
	hl_vec_free(&b.frames);
	hl_vec_free(&b.places);
	hl_strings_fini(&b.strings);
	hl_strbuf_fini(&b.text);
	return err == 0;
}

struct old {
	time_t used;
	uint64_t bytes;
	char name[2 * HL_CACHE_ID_MAX + 1];
};

static int by_age(const void *pa, const void *pb)
{
	const struct old *a = pa, *b = pb;

	return a->used < b->used ? -1 : a->used > b->used;
}

void hl_cache_prune(const char *dir, uint64_t max_bytes)
{
	HL_VEC(struct old) files = {0};
	DIR *d = opendir(dir);
	uint64_t all = 0;
	struct dirent *e;

	while (d && (e = readdir(d)) != NULL) {
		struct old f = {0};
		struct stat st;

		if (strlen(e->d_name) >= sizeof(f.name) ||
			fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISREG(st.st_mode))
			continue;
		strcpy(f.name, e->d_name);
		f.used = st.st_mtime;
		f.bytes = (uint64_t)st.st_size;
		all += f.bytes;
		/* What a killed process left is an hour old at most. */
		if (f.name[0] == '.' && f.used + 3600 < time(NULL))
			f.used = 0;
		if (hl_vec_push(&files, f))
			break;
	}
	if (files.len)
		qsort(files.data, files.len, sizeof(*files.data), by_age);
	for (size_t i = 0; i < files.len && (all > max_bytes || files.data[i].used == 0); i++) {
		if (unlinkat(dirfd(d), files.data[i].name, 0) == 0)
			all -= files.data[i].bytes;
	}
	if (d)
		closedir(d);
	hl_vec_free(&files);
}
