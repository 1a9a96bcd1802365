/*
 * cache_file.c - the file of one build-id: a head, sites, frames, text; see cache_internal.h.
 *
 * In the machine's own byte order; the head tells. Nothing is believed before the checksum and
 * every index are.
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

#include "symbol/cache_internal.h"

#define VERSION   2
#define FILE_MAX  (UINT64_C(512) << 20)
#define ORDER     UINT32_C(0x01020304)
#define CHAIN_MAX 1024

struct head {
	char magic[8];
	uint32_t order, version;
	uint32_t state, id_len;
	uint32_t n_sites, n_frames, n_text, zero;
	uint64_t hash; /* of the head with 0 here, and of what follows */
	uint8_t id[HL_CACHE_ID_MAX];
};
_Static_assert(sizeof(struct head) == 112, "no padding, sites are aligned");

static const char magic[8] = "HLsym\r\n\x1a";

static uint64_t hash_of(const struct head *h, const void *body, size_t len)
{
	struct head copy = *h;

	copy.hash = 0;
	return XXH3_64bits_withSeed(body, len, XXH3_64bits(&copy, sizeof(copy)));
}

static bool is_private_folder(const char *dir)
{
	struct stat st;

	return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       (st.st_mode & 022) == 0;
}

/* The folder that `path` is in; false if that is not there. */
static bool stat_above(const char *path, struct stat *st)
{
	const char *slash = strrchr(path, '/');
	char *above = slash > path ? strndup(path, (size_t)(slash - path)) : strdup("/");
	bool ok = above && stat(above, st) == 0;

	free(above);
	return ok;
}

/* Under sudo the home may be another user's: what root makes there the user cannot use. */
static int make_folder(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0)
		return 0;
	if (geteuid() == 0 && stat_above(path, &st) && st.st_uid != 0)
		return -EPERM;
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int hl_cache_folder(const char *dir)
{
	char *path = strdup(dir), *slash;
	int err = 0;

	if (!path)
		return -ENOMEM;
	for (slash = strchr(path + 1, '/'); slash && !err; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		err = make_folder(path);
		*slash = '/';
	}
	if (!err)
		err = make_folder(path);
	if (!err && (slash = strrchr(path, '/')) != NULL && slash > path) {
		if (!is_private_folder(path))
			err = -EPERM;
		*slash = 0;
		if (!err && !is_private_folder(path))
			err = -EPERM;
	}
	free(path);
	return err;
}

static int path_of(struct hl_strbuf *b, const char *dir, const uint8_t *id, size_t len)
{
	if (len < 4 || len > HL_CACHE_ID_MAX)
		return -ENOENT;
	hl_strbuf_printf(b, "%s/", dir);
	for (size_t i = 0; i < len; i++)
		hl_strbuf_printf(b, "%02x", id[i]);
	return hl_strbuf_error(b);
}

/* The whole file, if it is one that only we can have written. */
static int slurp(const char *path, void **data, size_t *len)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	size_t got = 0;
	ssize_t n = 1;

	if (fd < 0)
		return -ENOENT;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
		(st.st_mode & 022) || (uint64_t)st.st_size > FILE_MAX ||
		(size_t)st.st_size < sizeof(struct head) || !(*data = malloc((size_t)st.st_size))) {
		close(fd);
		return -ENOENT;
	}
	while (got < (size_t)st.st_size && n > 0) {
		n = read(fd, (char *)*data + got, (size_t)st.st_size - got);
		got += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	*len = got;
	return 0;
}

static bool head_fits(const struct head *h, size_t len, const uint8_t *id, size_t id_len)
{
	uint64_t size = sizeof(*h) + (uint64_t)h->n_sites * sizeof(struct hl_cache_site) +
			(uint64_t)h->n_frames * sizeof(struct hl_cache_frame) + h->n_text;

	return memcmp(h->magic, magic, sizeof(magic)) == 0 && h->order == ORDER &&
	       h->version == VERSION && h->state <= HL_SYMBOLS_NOTHING && h->id_len == id_len &&
	       memcmp(h->id, id, id_len) == 0 && size == len &&
	       hash_of(h, h + 1, len - sizeof(*h)) == h->hash;
}

static bool text_fits(const struct hl_cache_data *d, uint32_t at)
{
	return at < d->n_text;
}

static bool body_fits(const struct hl_cache_data *d)
{
	if (d->n_text && d->text[d->n_text - 1])
		return false;
	for (uint32_t i = 0; i < d->n_sites; i++) {
		const struct hl_cache_site *s = &d->sites[i];

		if ((i && s->offset <= d->sites[i - 1].offset) || s->n > CHAIN_MAX ||
			s->first > d->n_frames || s->n > d->n_frames - s->first)
			return false;
	}
	for (uint32_t i = 0; i < d->n_frames; i++) {
		const struct hl_cache_frame *f = &d->frames[i];

		if (!text_fits(d, f->function) ||
			(f->file != HL_CACHE_NONE && !text_fits(d, f->file)))
			return false;
	}
	return true;
}

int hl_cache_read(struct hl_cache_data *d, const char *dir, const uint8_t *id, size_t len)
{
	struct hl_strbuf path = {0};
	const struct head *h;
	size_t size = 0;
	int err = path_of(&path, dir, id, len);

	memset(d, 0, sizeof(*d));
	if (!err)
		err = slurp(hl_strbuf_str(&path), &d->memory, &size);
	hl_strbuf_fini(&path);
	if (err)
		return err;
	h = d->memory;
	if (size >= sizeof(*h) && head_fits(h, size, id, len)) {
		d->state = h->state;
		d->n_sites = h->n_sites;
		d->n_frames = h->n_frames;
		d->n_text = h->n_text;
		d->sites = (const void *)(h + 1);
		d->frames = (const void *)(d->sites + d->n_sites);
		d->text = (const char *)(d->frames + d->n_frames);
		if (body_fits(d))
			return 0;
	}
	free(d->memory);
	memset(d, 0, sizeof(*d));
	return -ENOENT;
}

static int write_all(int fd, const void *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		data = (const char *)data + n;
		len -= (size_t)n;
	}
	return 0;
}

/* Under a name that nobody else has (mkostemp: O_EXCL, 0600), then in one step under its own. */
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
	err = write_all(fd, data->data, data->len);
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

/* A file without frames has no memory for them either. */
static void add_part(struct hl_strbuf *b, const void *data, size_t len)
{
	if (len)
		hl_strbuf_add(b, data, len);
}

int hl_cache_write(const struct hl_cache_data *d, const char *dir, const uint8_t *id, size_t len)
{
	struct hl_strbuf path = {0}, data = {0};
	struct head h = {.order = ORDER,
		.version = VERSION,
		.state = d->state,
		.id_len = (uint32_t)len,
		.n_sites = d->n_sites,
		.n_frames = d->n_frames,
		.n_text = d->n_text};
	int err = path_of(&path, dir, id, len);

	if (err)
		goto out;
	memcpy(h.magic, magic, sizeof(magic));
	memcpy(h.id, id, len);
	hl_strbuf_add(&data, &h, sizeof(h));
	add_part(&data, d->sites, d->n_sites * sizeof(*d->sites));
	add_part(&data, d->frames, d->n_frames * sizeof(*d->frames));
	add_part(&data, d->text, d->n_text);
	err = hl_strbuf_error(&data);
	if (err)
		goto out;
	h.hash = hash_of(&h, data.data + sizeof(h), data.len - sizeof(h));
	memcpy(data.data, &h, sizeof(h));
	err = data.len > FILE_MAX ? -EFBIG : write_and_rename(&data, dir, hl_strbuf_str(&path));
out:
	hl_strbuf_fini(&path);
	hl_strbuf_fini(&data);
	return err;
}
