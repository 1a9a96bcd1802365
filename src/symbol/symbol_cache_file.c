/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_cache_file.c - the file of one build-id: header, sites, frames, text; see
 * symbol_cache_internal.h.
 *
 * The byte order is the machine's own; the header records it. Nothing in the file is used before
 * the checksum and every index have been verified.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "symbol/symbol_cache_internal.h"
#include "util/fd_io.h"

#define VERSION             3
#define FILE_MAX            (UINT64_C(512) << 20)
#define BYTE_ORDER_MARK     UINT32_C(0x01020304)
#define FRAMES_PER_SITE_MAX 1024

struct header {
	char magic[8];
	uint32_t order, version;
	uint32_t state, id_len;
	uint32_t n_sites, n_frames, n_text, zero;
	uint64_t hash; /* of the header with 0 here, and of the rest */
	uint8_t id[HL_SYMBOL_CACHE_ID_MAX];
};
_Static_assert(sizeof(struct header) == 112, "no padding, sites are aligned");

static const char magic[8] = "HLsym\r\n\x1a";

static uint64_t compute_hash(const struct header *h, const void *body, size_t len)
{
	struct header copy = *h;

	copy.hash = 0;
	return XXH3_64bits_withSeed(body, len, XXH3_64bits(&copy, sizeof(copy)));
}

static bool is_private_dir(const char *dir)
{
	struct stat st;

	return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       (st.st_mode & 022) == 0;
}

/* Stats the parent directory of `path`; false if it does not exist. */
static bool stat_parent(const char *path, struct stat *st)
{
	const char *slash = strrchr(path, '/');
	char *parent = slash > path ? strndup(path, (size_t)(slash - path)) : strdup("/");
	bool ok = parent && stat(parent, st) == 0;

	free(parent);
	return ok;
}

/* Creates a directory. Under sudo the home directory may belong to another user, who could not use
 * a directory that root creates there; so that is refused. */
static int make_dir(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0)
		return 0;
	if (geteuid() == 0 && stat_parent(path, &st) && st.st_uid != 0)
		return -EPERM;
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int hl_symbol_cache_dir(const char *dir)
{
	char *path = strdup(dir), *slash;
	int err = 0;

	if (!path)
		return -ENOMEM;
	for (slash = strchr(path + 1, '/'); slash && !err; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		err = make_dir(path);
		*slash = '/';
	}
	if (!err)
		err = make_dir(path);
	if (!err && (slash = strrchr(path, '/')) != NULL && slash > path) {
		if (!is_private_dir(path))
			err = -EPERM;
		*slash = 0;
		if (!err && !is_private_dir(path))
			err = -EPERM;
	}
	free(path);
	return err;
}

static int make_path(struct hl_strbuf *b, const char *dir, const uint8_t *id, size_t len)
{
	if (len < 4 || len > HL_SYMBOL_CACHE_ID_MAX)
		return -ENOENT;
	hl_strbuf_printf(b, "%s/", dir);
	for (size_t i = 0; i < len; i++)
		hl_strbuf_printf(b, "%02x", id[i]);
	return hl_strbuf_error(b);
}

/* Reads the whole file, if only we can have written it. */
static int read_private_file(const char *path, void **data, size_t *len)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	int err;

	if (fd < 0)
		return -ENOENT;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
		(st.st_mode & 022) || (uint64_t)st.st_size > FILE_MAX ||
		(size_t)st.st_size < sizeof(struct header) ||
		!(*data = malloc((size_t)st.st_size))) {
		close(fd);
		return -ENOENT;
	}
	*len = (size_t)st.st_size;
	err = hl_fd_read_at(fd, *data, *len, 0);
	close(fd);
	if (!err)
		return 0;
	free(*data);
	*data = NULL;
	return -ENOENT;
}

static bool is_header_valid(const struct header *h, size_t len, const uint8_t *id, size_t id_len)
{
	uint64_t size = sizeof(*h) + (uint64_t)h->n_sites * sizeof(struct hl_symbol_cache_site) +
			(uint64_t)h->n_frames * sizeof(struct hl_symbol_cache_frame) + h->n_text;

	return memcmp(h->magic, magic, sizeof(magic)) == 0 && h->order == BYTE_ORDER_MARK &&
	       h->version == VERSION && h->state <= HL_SYMBOLS_STRIPPED && h->id_len == id_len &&
	       memcmp(h->id, id, id_len) == 0 && size == len &&
	       compute_hash(h, h + 1, len - sizeof(*h)) == h->hash;
}

static bool is_text_offset_valid(const struct hl_symbol_cache_data *d, uint32_t at)
{
	return at < d->n_text;
}

static bool is_body_valid(const struct hl_symbol_cache_data *d)
{
	if (d->n_text && d->text[d->n_text - 1])
		return false;
	for (uint32_t i = 0; i < d->n_sites; i++) {
		const struct hl_symbol_cache_site *s = &d->sites[i];

		if ((i && s->offset <= d->sites[i - 1].offset) || s->n > FRAMES_PER_SITE_MAX ||
			s->first > d->n_frames || s->n > d->n_frames - s->first ||
			s->start > s->end)
			return false;
	}
	for (uint32_t i = 0; i < d->n_frames; i++) {
		const struct hl_symbol_cache_frame *f = &d->frames[i];

		if (!is_text_offset_valid(d, f->function) ||
			(f->file != HL_SYMBOL_CACHE_NONE && !is_text_offset_valid(d, f->file)))
			return false;
	}
	return true;
}

int hl_symbol_cache_read(
	struct hl_symbol_cache_data *d, const char *dir, const uint8_t *id, size_t len)
{
	struct hl_strbuf path = {0};
	const struct header *h;
	size_t size = 0;
	int err = make_path(&path, dir, id, len);

	memset(d, 0, sizeof(*d));
	if (!err)
		err = read_private_file(hl_strbuf_str(&path), &d->memory, &size);
	hl_strbuf_fini(&path);
	if (err)
		return err;
	h = d->memory;
	if (size >= sizeof(*h) && is_header_valid(h, size, id, len)) {
		d->state = h->state;
		d->n_sites = h->n_sites;
		d->n_frames = h->n_frames;
		d->n_text = h->n_text;
		d->sites = (const void *)(h + 1);
		d->frames = (const void *)(d->sites + d->n_sites);
		d->text = (const char *)(d->frames + d->n_frames);
		if (is_body_valid(d))
			return 0;
	}
	free(d->memory);
	memset(d, 0, sizeof(*d));
	return -ENOENT;
}

/* Writes a temporary file that no other process has (mkostemp: O_EXCL, 0600), then renames it
 * atomically. */
static int write_and_rename(const struct hl_strbuf *data, const char *dir, const char *path)
{
	struct hl_strbuf temp = {0};
	int fd, err;

	hl_strbuf_printf(&temp, "%s/.new-XXXXXX", dir);
	err = hl_strbuf_error(&temp);
	fd = err ? -1 : mkostemp(temp.data, O_CLOEXEC);
	if (fd < 0) {
		err = err ? err : -errno;
		goto out;
	}
	err = hl_fd_write_all(fd, data->data, data->len);
	if (close(fd) < 0 && !err)
		err = -errno;
	if (!err && rename(temp.data, path) < 0)
		err = -errno;
	if (err)
		unlink(temp.data);
out:
	hl_strbuf_fini(&temp);
	return err;
}

/* Without frames the pointer may be NULL. */
static void append_part(struct hl_strbuf *b, const void *data, size_t len)
{
	if (len)
		hl_strbuf_add(b, data, len);
}

int hl_symbol_cache_write(
	const struct hl_symbol_cache_data *d, const char *dir, const uint8_t *id, size_t len)
{
	struct hl_strbuf path = {0}, data = {0};
	struct header h = {.order = BYTE_ORDER_MARK,
		.version = VERSION,
		.state = d->state,
		.id_len = (uint32_t)len,
		.n_sites = d->n_sites,
		.n_frames = d->n_frames,
		.n_text = d->n_text};
	int err = make_path(&path, dir, id, len);

	if (err)
		goto out;
	memcpy(h.magic, magic, sizeof(magic));
	memcpy(h.id, id, len);
	hl_strbuf_add(&data, &h, sizeof(h));
	append_part(&data, d->sites, d->n_sites * sizeof(*d->sites));
	append_part(&data, d->frames, d->n_frames * sizeof(*d->frames));
	append_part(&data, d->text, d->n_text);
	err = hl_strbuf_error(&data);
	if (err)
		goto out;
	h.hash = compute_hash(&h, data.data + sizeof(h), data.len - sizeof(h));
	memcpy(data.data, &h, sizeof(h));
	err = data.len > FILE_MAX ? -EFBIG : write_and_rename(&data, dir, hl_strbuf_str(&path));
out:
	hl_strbuf_fini(&path);
	hl_strbuf_fini(&data);
	return err;
}
