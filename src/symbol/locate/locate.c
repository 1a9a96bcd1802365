/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locate.c - finds the files of a module.
 *
 * The order: files that the user named (--symbols), files embedded in the trace, the system's debug
 * files, debuginfod. A file is used only if its build-id matches or, without build-ids, its name
 * and CRC.
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

#include "symbol/locate/locate_internal.h"

#define DEBUG_DIR "/usr/lib/debug"

int hl_locator_open_with_id(
	struct hl_elf_image *img, const char *path, const uint8_t *want, size_t len)
{
	const uint8_t *id = NULL;
	int err = hl_elf_image_open(img, path);

	if (err)
		return err;
	if (hl_elf_image_build_id(img, &id) == len && (len == 0 || memcmp(id, want, len) == 0))
		return 0;
	hl_elf_image_close(img);
	return -ENOENT;
}

int hl_locator_embedded(struct hl_locator *f, enum hl_symbols_file kind, const char *path,
	const uint8_t *id, size_t len, struct hl_elf_image *img)
{
	const uint8_t *has = NULL;
	int fd, err;

	if (!f->embedded.open)
		return -ENOENT;
	fd = f->embedded.open(f->embedded.arg, kind, path, id, len);
	if (fd < 0)
		return fd;
	err = hl_elf_image_open_fd(img, fd, path);
	if (err)
		return err;
	if (hl_elf_image_build_id(img, &has) == len && (len == 0 || memcmp(has, id, len) == 0))
		return 0;
	hl_elf_image_close(img); /* the content does not match its entry */
	return -ENOENT;
}

/* Appends "ab/cdef....debug". */
static void append_id_path(struct hl_strbuf *b, const uint8_t *id, size_t len)
{
	hl_strbuf_printf(b, "%02x/", id[0]);
	for (size_t i = 1; i < len; i++)
		hl_strbuf_printf(b, "%02x", id[i]);
	hl_strbuf_puts(b, ".debug");
}

/* Opens DIR/.build-id/ab/cdef....debug, or DIR/ab/cdef....debug. */
int hl_locator_open_in_tree(
	struct hl_elf_image *img, const char *dir, const char *sub, const uint8_t *id, size_t len)
{
	struct hl_strbuf path = {0};
	int err;

	if (len < 2)
		return -ENOENT;
	hl_strbuf_printf(&path, "%s%s", dir, sub);
	append_id_path(&path, id, len);
	err = hl_strbuf_error(&path);
	if (!err)
		err = hl_locator_open_with_id(img, hl_strbuf_str(&path), id, len);
	hl_strbuf_fini(&path);
	return err;
}

/* The CRC-32 of a debuglink, for old files without a build-id. */
static uint32_t compute_crc(int fd)
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
	struct hl_elf_image *img, const char *path, const struct hl_elf_image *of, uint32_t crc)
{
	const uint8_t *id = NULL;
	size_t len = hl_elf_image_build_id(of, &id);
	int err;

	if (len)
		return hl_locator_open_with_id(img, path, id, len);
	err = hl_elf_image_open(img, path);
	if (!err && compute_crc(img->fd) != crc) {
		hl_elf_image_close(img);
		err = -ENOENT;
	}
	return err;
}

/* The three places where gdb searches: the file's directory, .debug in it, the global tree. */
static int open_by_link(struct hl_elf_image *img, const struct hl_elf_image *of)
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

/* The system's trees of debug files. */
static int open_installed(
	const struct hl_locator *f, struct hl_elf_image *img, const uint8_t *id, size_t len)
{
	struct hl_strbuf dir = {0};
	int err = -ENOENT;

	if (f->sysroot) {
		hl_strbuf_printf(&dir, "%s" DEBUG_DIR, f->sysroot);
		err = hl_strbuf_error(&dir);
		if (!err)
			err = hl_locator_open_in_tree(
				img, hl_strbuf_str(&dir), "/.build-id/", id, len);
		hl_strbuf_fini(&dir);
	}
	return err ? hl_locator_open_in_tree(img, DEBUG_DIR, "/.build-id/", id, len) : 0;
}

int hl_locator_debug(struct hl_locator *f, const struct hl_elf_image *of, const uint8_t *id,
	size_t len, struct hl_elf_image *debug)
{
	if (len && hl_locator_embedded(
			   f, HL_SYMBOLS_FILE_DEBUG, of->path ? of->path : "", id, len, debug) == 0)
		return 0;
	if (len && open_installed(f, debug, id, len) == 0)
		return 0;
	return open_by_link(debug, of);
}

int hl_locator_fetch(struct hl_locator *f, const char *what, const uint8_t *id, size_t len,
	struct hl_elf_image *debug)
{
	char *path = NULL;
	int err = hl_debuginfod_find(f->debuginfod, what, id, len, &path);

	if (!err)
		err = hl_locator_open_with_id(debug, path, id, len);
	free(path);
	return err;
}

static int open_alt_by_name(struct hl_elf_image *alt, const struct hl_elf_image *of,
	const char *name, const void *id, size_t len)
{
	const char *path = of->path, *slash = strrchr(path, '/');
	struct hl_strbuf at = {0};
	int err;

	if (name[0] != '/' && slash)
		hl_strbuf_printf(&at, "%.*s/", (int)(slash - path), path);
	hl_strbuf_puts(&at, name);
	err = hl_strbuf_error(&at);
	if (!err)
		err = hl_locator_open_with_id(alt, hl_strbuf_str(&at), id, len);
	hl_strbuf_fini(&at);
	return err;
}

int hl_locator_dwz(
	struct hl_locator *f, const struct hl_elf_image *of, Dwarf *dwarf, struct hl_elf_image *alt)
{
	const char *name;
	const void *id;
	ssize_t n = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id);
	size_t len = n > 0 ? (size_t)n : 0;

	if (n <= 0)
		return -ENODATA;
	if (hl_locator_user_file(f, NULL, id, len, alt) == 0 ||
		hl_locator_embedded(f, HL_SYMBOLS_FILE_SHARED, name, id, len, alt) == 0 ||
		open_installed(f, alt, id, len) == 0 ||
		open_alt_by_name(alt, of, name, id, len) == 0)
		return 0;
	return hl_locator_fetch(f, name, id, len, alt);
}

/* Resolves `path` below the sysroot as a program chrooted there would, to a path on this
 * machine. */
static int resolve_in_root(const char *root, const char *path, struct hl_strbuf *out)
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
	if (fd < 0) { /* before Linux 5.6: absolute links lead outside, to other ids */
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

int hl_locator_image(struct hl_locator *f, const char *path, struct hl_elf_image *img)
{
	struct hl_strbuf at = {0};
	int err;

	if (!f->sysroot)
		return hl_elf_image_open(img, path);
	err = resolve_in_root(f->sysroot, path, &at);
	if (!err)
		err = hl_elf_image_open(img, hl_strbuf_str(&at));
	hl_strbuf_fini(&at);
	return err;
}

static int add_path(struct hl_locator *f, const char *path)
{
	char *copy = strdup(path);

	if (!copy || hl_vec_push(&f->paths, copy)) {
		free(copy);
		return -ENOMEM;
	}
	return 0;
}

int hl_locator_init(struct hl_locator *f, const struct hl_symbols_config *c)
{
	const struct hl_embedded_source embedded = f->embedded; /* set before options */
	int err = 0;

	memset(f, 0, sizeof(*f));
	f->embedded = embedded;
	for (size_t i = 0; i < c->n_paths && !err; i++)
		err = add_path(f, c->paths[i]);
	if (!err && c->sysroot && *c->sysroot && !(f->sysroot = strdup(c->sysroot)))
		err = -ENOMEM;
	if (!err && c->debuginfod)
		err = hl_debuginfod_new(&f->debuginfod, c);
	return err;
}

void hl_locator_fini(struct hl_locator *f)
{
	hl_locator_named_fini(f);
	hl_debuginfod_free(f->debuginfod);
	for (size_t i = 0; i < f->paths.len; i++)
		free(f->paths.data[i]);
	hl_vec_free(&f->paths);
	free(f->sysroot);
	*f = (struct hl_locator){.embedded = f->embedded};
}
