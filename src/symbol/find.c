/*
 * find.c - where the files of a module may be.
 *
 * The order: what the user named (--symbols), the system's debug files, debuginfod. A file is
 * taken only if its build-id is the wanted one (or, where there is none, by name and CRC).
 */
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "symbol/find_internal.h"

#define DEBUG_DIR "/usr/lib/debug"

int hl_finder_open_with_id(struct hl_image *img, const char *path, const uint8_t *want, size_t len)
{
	const uint8_t *id = NULL;
	int err = hl_image_open(img, path);

	if (err)
		return err;
	if (hl_image_build_id(img, &id) == len && (len == 0 || memcmp(id, want, len) == 0))
		return 0;
	hl_image_close(img);
	return -ENOENT;
}

/* Appends "ab/cdef....debug". */
static void put_id_path(struct hl_strbuf *b, const uint8_t *id, size_t len)
{
	hl_strbuf_printf(b, "%02x/", id[0]);
	for (size_t i = 1; i < len; i++)
		hl_strbuf_printf(b, "%02x", id[i]);
	hl_strbuf_puts(b, ".debug");
}

/* DIR/.build-id/ab/cdef....debug, or DIR/ab/cdef....debug */
int hl_finder_open_in_tree(
	struct hl_image *img, const char *dir, const char *sub, const uint8_t *id, size_t len)
{
	struct hl_strbuf path = {0};
	int err;

	if (len < 2)
		return -ENOENT;
	hl_strbuf_printf(&path, "%s%s", dir, sub);
	put_id_path(&path, id, len);
	err = hl_strbuf_error(&path);
	if (!err)
		err = hl_finder_open_with_id(img, hl_strbuf_str(&path), id, len);
	hl_strbuf_fini(&path);
	return err;
}

/* The CRC-32 of a debuglink, for files so old that they have no build-id. */
static uint32_t crc_of_file(int fd)
{
	uint32_t crc = UINT32_MAX;
	uint8_t buf[4096];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buf, sizeof(buf), at)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			crc ^= buf[i];
			for (int bit = 0; bit < 8; bit++)
				crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
		}
		at += n;
	}
	return ~crc;
}

static int open_linked(
	struct hl_image *img, const char *path, const struct hl_image *of, uint32_t crc)
{
	const uint8_t *id = NULL;
	size_t len = hl_image_build_id(of, &id);
	int err;

	if (len)
		return hl_finder_open_with_id(img, path, id, len);
	err = hl_image_open(img, path);
	if (!err && crc_of_file(img->fd) != crc) {
		hl_image_close(img);
		err = -ENOENT;
	}
	return err;
}

/* The three places where gdb looks: beside the file, in .debug beside it, in the global tree. */
static int open_by_link(struct hl_image *img, const struct hl_image *of)
{
	static const char *const forms[] = {"%.*s/%s", "%.*s/.debug/%s", DEBUG_DIR "%.*s/%s"};
	const char *path = of->path, *slash = path ? strrchr(path, '/') : NULL, *name;
	struct hl_strbuf at = {0};
	GElf_Word crc;
	int err = -ENOENT;

	if (!of->elf || !slash || path[0] != '/')
		return -ENOENT;
	name = dwelf_elf_gnu_debuglink(of->elf, &crc);
	if (!name || !*name || strchr(name, '/'))
		return -ENOENT;
	for (size_t i = 0; i < HL_ARRAY_LEN(forms) && err; i++) {
		hl_strbuf_reset(&at);
		hl_strbuf_printf(&at, forms[i], (int)(slash - path), path, name);
		err = hl_strbuf_error(&at);
		if (!err)
			err = open_linked(img, hl_strbuf_str(&at), of, crc);
	}
	hl_strbuf_fini(&at);
	return err;
}

/* The system's own trees of debug files. */
static int open_installed(
	const struct hl_finder *f, struct hl_image *img, const uint8_t *id, size_t len)
{
	struct hl_strbuf dir = {0};
	int err = -ENOENT;

	if (f->sysroot) {
		hl_strbuf_printf(&dir, "%s" DEBUG_DIR, f->sysroot);
		err = hl_strbuf_error(&dir);
		if (!err)
			err = hl_finder_open_in_tree(
				img, hl_strbuf_str(&dir), "/.build-id/", id, len);
		hl_strbuf_fini(&dir);
	}
	return err ? hl_finder_open_in_tree(img, DEBUG_DIR, "/.build-id/", id, len) : 0;
}

int hl_finder_debug(struct hl_finder *f, const struct hl_image *of, const uint8_t *id, size_t len,
	struct hl_image *debug)
{
	if (len && open_installed(f, debug, id, len) == 0)
		return 0;
	return open_by_link(debug, of);
}

int hl_finder_fetch(struct hl_finder *f, const char *what, const uint8_t *id, size_t len,
	struct hl_image *debug)
{
	char *path = NULL;
	int err = hl_debuginfod_find(f->debuginfod, what, id, len, &path);

	if (!err)
		err = hl_finder_open_with_id(debug, path, id, len);
	free(path);
	return err;
}

static int open_alt_by_name(struct hl_image *alt, const struct hl_image *of, const char *name,
	const void *id, size_t len)
{
	const char *path = of->path, *slash = strrchr(path, '/');
	struct hl_strbuf at = {0};
	int err;

	if (name[0] != '/' && slash)
		hl_strbuf_printf(&at, "%.*s/", (int)(slash - path), path);
	hl_strbuf_puts(&at, name);
	err = hl_strbuf_error(&at);
	if (!err)
		err = hl_finder_open_with_id(alt, hl_strbuf_str(&at), id, len);
	hl_strbuf_fini(&at);
	return err;
}

int hl_finder_alt(
	struct hl_finder *f, const struct hl_image *of, Dwarf *dwarf, struct hl_image *alt)
{
	const char *name;
	const void *id;
	ssize_t n = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id);
	size_t len = n > 0 ? (size_t)n : 0;

	if (n <= 0)
		return -ENODATA;
	if (hl_finder_named(f, NULL, id, len, alt) == 0 || open_installed(f, alt, id, len) == 0 ||
		open_alt_by_name(alt, of, name, id, len) == 0)
		return 0;
	return hl_finder_fetch(f, name, id, len, alt);
}

/* The place on this machine of `path` below the sysroot, as a program chrooted there sees it. */
static int path_in_root(const char *root, const char *path, struct hl_strbuf *out)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;
	char link[64], real[4096];
	ssize_t n;

	if (dir < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	close(dir);
	if (fd < 0 && errno != ENOSYS)
		return -errno;
	if (fd < 0) { /* before Linux 5.6: links that are absolute lead outside, to other ids */
		hl_strbuf_printf(out, "%s%s", root, path);
		return hl_strbuf_error(out);
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, real, sizeof(real));
	close(fd);
	if (n <= 0 || (size_t)n == sizeof(real))
		return -ENOENT;
	hl_strbuf_add(out, real, (size_t)n);
	return hl_strbuf_error(out);
}

int hl_finder_image(struct hl_finder *f, const char *path, struct hl_image *img)
{
	struct hl_strbuf at = {0};
	int err;

	if (!f->sysroot)
		return hl_image_open(img, path);
	err = path_in_root(f->sysroot, path, &at);
	if (!err)
		err = hl_image_open(img, hl_strbuf_str(&at));
	hl_strbuf_fini(&at);
	return err;
}

static int add_path(struct hl_finder *f, const char *path)
{
	char *copy = strdup(path);

	if (!copy || hl_vec_push(&f->paths, copy)) {
		free(copy);
		return -ENOMEM;
	}
	return 0;
}

int hl_finder_init(struct hl_finder *f, const struct hl_symbols_config *c)
{
	int err = 0;

	memset(f, 0, sizeof(*f));
	for (size_t i = 0; i < c->n_paths && !err; i++)
		err = add_path(f, c->paths[i]);
	if (!err && c->sysroot && *c->sysroot && !(f->sysroot = strdup(c->sysroot)))
		err = -ENOMEM;
	if (!err && c->debuginfod)
		err = hl_debuginfod_new(&f->debuginfod, c);
	return err;
}

void hl_finder_fini(struct hl_finder *f)
{
	hl_finder_named_fini(f);
	hl_debuginfod_free(f->debuginfod);
	for (size_t i = 0; i < f->paths.len; i++)
		free(f->paths.data[i]);
	hl_vec_free(&f->paths);
	free(f->sysroot);
	memset(f, 0, sizeof(*f));
}
