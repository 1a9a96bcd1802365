/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locate_user.c - the files and directories that the user named (--symbols).
 *
 * Fast lookups first: the .build-id layout and the module's own name. Only if these fail are all
 * directories read, once, and the build-ids of all ELF files below them remembered. Links to
 * directories are not followed. The number of files is limited, since a directory may be "/".
 */
#include <dirent.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "symbol/locate/locate_internal.h"

#define FILES_MAX 100000
#define DEPTH_MAX 32

void hl_locator_named_fini(struct hl_locator *f)
{
	for (size_t i = 0; i < f->files.len; i++) {
		free(f->files.data[i].path);
		free(f->files.data[i].id);
	}
	hl_vec_free(&f->files);
}

static int remember_file(struct hl_locator *f, const char *path)
{
	struct hl_named_file file = {0};
	const uint8_t *id = NULL;
	struct hl_elf_image img;

	if (hl_elf_image_open(&img, path) != 0)
		return 0;
	file.id_len = hl_elf_image_build_id(&img, &id);
	if (file.id_len) {
		file.path = strdup(path);
		file.id = malloc(file.id_len);
		if (file.id)
			memcpy(file.id, id, file.id_len);
	}
	hl_elf_image_close(&img);
	if (file.id_len == 0)
		return 0;
	if (!file.path || !file.id || hl_vec_push(&f->files, file)) {
		free(file.path);
		free(file.id);
		return -ENOMEM;
	}
	return 0;
}

static int list_dir(struct hl_locator *f, struct hl_strbuf *path, size_t depth, size_t *seen);

static int list_entry(struct hl_locator *f, struct hl_strbuf *path, size_t depth, size_t *seen)
{
	struct stat st;

	if (lstat(hl_strbuf_str(path), &st) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return depth < DEPTH_MAX ? list_dir(f, path, depth + 1, seen) : 0;
	return S_ISREG(st.st_mode) ? remember_file(f, hl_strbuf_str(path)) : 0;
}

static int list_dir(struct hl_locator *f, struct hl_strbuf *path, size_t depth, size_t *seen)
{
	DIR *dir = opendir(hl_strbuf_str(path));
	size_t len = path->len;
	struct dirent *e;
	int err = 0;

	while (dir && !err && *seen < FILES_MAX && (e = readdir(dir)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		++*seen;
		hl_strbuf_printf(path, "/%s", e->d_name);
		err = hl_strbuf_error(path);
		if (!err)
			err = list_entry(f, path, depth, seen);
		if (!path->err) {
			path->len = len;
			path->data[len] = 0;
		}
	}
	if (dir)
		closedir(dir);
	return err;
}

static int list_all(struct hl_locator *f)
{
	struct hl_strbuf path = {0};
	size_t seen = 0;
	int err = 0;

	if (f->listed)
		return 0;
	f->listed = true;
	for (size_t i = 0; i < f->paths.len && !err; i++) {
		hl_strbuf_reset(&path);
		hl_strbuf_puts(&path, f->paths.data[i]);
		err = hl_strbuf_error(&path);
		if (!err)
			err = list_dir(f, &path, 0, &seen);
	}
	hl_strbuf_fini(&path);
	return err;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Tries DIR/name, DIR/name.debug and, for an absolute path, DIR/whole/path,
 * DIR/whole/path.debug. */
static int open_by_name(
	const char *dir, const char *path, const uint8_t *id, size_t len, struct hl_elf_image *img)
{
	const char *names[] = {base_name(path), path[0] == '/' ? path + 1 : NULL};
	struct hl_strbuf at = {0};
	int err = -ENOENT;

	for (size_t i = 0; i < 4 && names[i / 2] && err; i++) {
		hl_strbuf_reset(&at);
		hl_strbuf_printf(&at, "%s/%s%s", dir, names[i / 2], i % 2 ? "" : ".debug");
		err = hl_strbuf_error(&at);
		if (!err)
			err = hl_locator_open_with_id(img, hl_strbuf_str(&at), id, len);
	}
	hl_strbuf_fini(&at);
	return err;
}

/* A file on the command line is for the module with its build-id, or, without one, with its
 * name. */
static int open_named_file(
	const char *file, const char *path, const uint8_t *id, size_t len, struct hl_elf_image *img)
{
	if (len == 0 && (!path || strcmp(base_name(file), base_name(path)) != 0))
		return -ENOENT;
	return hl_locator_open_with_id(img, file, id, len);
}

/* Has the file a symbol table? */
static bool has_names(const struct hl_elf_image *img)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(img->elf, scn)) != NULL) {
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_SYMTAB)
			return true;
	}
	return false;
}

/* Several files may have the same build-id (a stripped program and its debug file): the one with
 * names wins. */
static int open_listed(
	struct hl_locator *f, const uint8_t *id, size_t len, struct hl_elf_image *img)
{
	int err = list_all(f);

	if (err || len == 0)
		return err ? err : -ENOENT;
	err = -ENOENT;
	for (size_t i = 0; i < f->files.len; i++) {
		const struct hl_named_file *file = &f->files.data[i];
		struct hl_elf_image found;

		if (file->id_len != len || memcmp(file->id, id, len) != 0 ||
			hl_locator_open_with_id(&found, file->path, id, len) != 0)
			continue;
		if (!err)
			hl_elf_image_close(img);
		*img = found;
		err = 0;
		if (has_names(img))
			break;
	}
	return err;
}

int hl_locator_user_file(struct hl_locator *f, const char *path, const uint8_t *id, size_t len,
	struct hl_elf_image *img)
{
	for (size_t i = 0; i < f->paths.len; i++) {
		const char *dir = f->paths.data[i];

		if (open_named_file(dir, path, id, len, img) == 0 ||
			hl_locator_open_in_tree(img, dir, "/.build-id/", id, len) == 0 ||
			hl_locator_open_in_tree(img, dir, "/", id, len) == 0)
			return 0;
		if (!path || open_by_name(dir, path, id, len, img) != 0)
			continue;
		if (len == 0 || has_names(img))
			return 0;
		hl_elf_image_close(img);
	}
	return f->paths.len ? open_listed(f, id, len, img) : -ENOENT;
}
