/*
 * find_named.c - the files and folders that the user named (--symbols).
 *
 * Cheap places first: the .build-id layout and the module's own name. Only when these fail are
 * all folders read, once, and the build-id of each ELF file below them is kept. Links to folders
 * are not followed; how much is read is bounded, since a folder may be "/".
 */
#include <dirent.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "symbol/find_internal.h"

#define FILES_MAX 100000
#define DEPTH_MAX 32

void hl_finder_named_fini(struct hl_finder *f)
{
	for (size_t i = 0; i < f->files.len; i++) {
		free(f->files.data[i].path);
		free(f->files.data[i].id);
	}
	hl_vec_free(&f->files);
}

static int note_file(struct hl_finder *f, const char *path)
{
	struct hl_named_file file = {0};
	const uint8_t *id = NULL;
	struct hl_image img;

	if (hl_image_open(&img, path) != 0)
		return 0;
	file.id_len = hl_image_build_id(&img, &id);
	if (file.id_len) {
		file.path = strdup(path);
		file.id = malloc(file.id_len);
		if (file.id)
			memcpy(file.id, id, file.id_len);
	}
	hl_image_close(&img);
	if (file.id_len == 0)
		return 0;
	if (!file.path || !file.id || hl_vec_push(&f->files, file)) {
		free(file.path);
		free(file.id);
		return -ENOMEM;
	}
	return 0;
}

static int list_folder(struct hl_finder *f, struct hl_strbuf *path, size_t depth, size_t *seen);

static int list_entry(struct hl_finder *f, struct hl_strbuf *path, size_t depth, size_t *seen)
{
	struct stat st;

	if (lstat(hl_strbuf_str(path), &st) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return depth < DEPTH_MAX ? list_folder(f, path, depth + 1, seen) : 0;
	return S_ISREG(st.st_mode) ? note_file(f, hl_strbuf_str(path)) : 0;
}

static int list_folder(struct hl_finder *f, struct hl_strbuf *path, size_t depth, size_t *seen)
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

static int list_all(struct hl_finder *f)
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
			err = list_folder(f, &path, 0, &seen);
	}
	hl_strbuf_fini(&path);
	return err;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* DIR/name, DIR/name.debug and, of a whole path, DIR/whole/path, DIR/whole/path.debug. */
static int open_by_name(
	const char *dir, const char *path, const uint8_t *id, size_t len, struct hl_image *img)
{
	const char *names[] = {last_part(path), path[0] == '/' ? path + 1 : NULL};
	struct hl_strbuf at = {0};
	int err = -ENOENT;

	for (size_t i = 0; i < 4 && names[i / 2] && err; i++) {
		hl_strbuf_reset(&at);
		hl_strbuf_printf(&at, "%s/%s%s", dir, names[i / 2], i % 2 ? "" : ".debug");
		err = hl_strbuf_error(&at);
		if (!err)
			err = hl_finder_open_with_id(img, hl_strbuf_str(&at), id, len);
	}
	hl_strbuf_fini(&at);
	return err;
}

/* A file on the command line stands for the module of its id, or without one for its name. */
static int open_itself(
	const char *file, const char *path, const uint8_t *id, size_t len, struct hl_image *img)
{
	if (len == 0 && (!path || strcmp(last_part(file), last_part(path)) != 0))
		return -ENOENT;
	return hl_finder_open_with_id(img, file, id, len);
}

/* Is there something in it that names code? */
static bool has_names(const struct hl_image *img)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(img->elf, scn)) != NULL) {
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_SYMTAB)
			return true;
	}
	return false;
}

/* Of files with one id, a stripped program and its debug file, the one with names wins. */
static int open_listed(struct hl_finder *f, const uint8_t *id, size_t len, struct hl_image *img)
{
	int err = list_all(f);

	if (err || len == 0)
		return err ? err : -ENOENT;
	err = -ENOENT;
	for (size_t i = 0; i < f->files.len; i++) {
		const struct hl_named_file *file = &f->files.data[i];
		struct hl_image found;

		if (file->id_len != len || memcmp(file->id, id, len) != 0 ||
			hl_finder_open_with_id(&found, file->path, id, len) != 0)
			continue;
		if (!err)
			hl_image_close(img);
		*img = found;
		err = 0;
		if (has_names(img))
			break;
	}
	return err;
}

int hl_finder_named(
	struct hl_finder *f, const char *path, const uint8_t *id, size_t len, struct hl_image *img)
{
	for (size_t i = 0; i < f->paths.len; i++) {
		const char *dir = f->paths.data[i];

		if (open_itself(dir, path, id, len, img) == 0 ||
			hl_finder_open_in_tree(img, dir, "/.build-id/", id, len) == 0 ||
			hl_finder_open_in_tree(img, dir, "/", id, len) == 0)
			return 0;
		if (!path || open_by_name(dir, path, id, len, img) != 0)
			continue;
		if (len == 0 || has_names(img))
			return 0;
		hl_image_close(img);
	}
	return f->paths.len ? open_listed(f, id, len, img) : -ENOENT;
}
