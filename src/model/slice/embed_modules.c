/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed_modules.c - embedded files: writes them into a trace, and opens them for symbol lookup; see
 * embed_modules.h.
 */
#include "model/slice/embed_modules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/model_internal.h"
#include "trace/write/writer.h"
#include "util/elf_file.h"

_Static_assert((int)HL_EMBEDDED_MODULE == (int)HL_SYMBOLS_FILE_MODULE &&
		       (int)HL_EMBEDDED_DEBUG == (int)HL_SYMBOLS_FILE_DEBUG &&
		       (int)HL_EMBEDDED_SHARED == (int)HL_SYMBOLS_FILE_SHARED,
	"kinds of files have the same values in both enums");

/* --- reading from the trace --- */

/* The content of an embedded file in a memfd. Returns a descriptor, or -errno. */
static int copy_to_memfd(struct hl_model *m, size_t i)
{
	int fd = memfd_create("heaplapse", MFD_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = hl_reader_copy_file(m->reader, i, fd);
	if (err)
		close(fd);
	return err ? err : fd;
}

static bool matches_file(const struct hl_embedded_file *f, unsigned kind, const char *path,
	const uint8_t *id, size_t len)
{
	if (f->kind != kind || f->build_id_len != len)
		return false;
	return len ? memcmp(f->build_id, id, len) == 0 : strcmp(f->path, path) == 0;
}

/* The index of an embedded file; SIZE_MAX: none. */
static size_t find_file(
	struct hl_model *m, unsigned kind, const char *path, const uint8_t *id, size_t len)
{
	struct hl_embedded_file f;
	size_t n;

	if (hl_reader_n_files(m->reader, &n) < 0)
		return SIZE_MAX;
	for (size_t i = 0; i < n; i++)
		if (hl_reader_file(m->reader, i, &f) == 0 && matches_file(&f, kind, path, id, len))
			return i;
	return SIZE_MAX;
}

int hl_model_open_embedded(
	void *arg, enum hl_symbols_file kind, const char *path, const uint8_t *id, size_t len)
{
	size_t i = find_file(arg, kind, path, id, len);

	return i == SIZE_MAX ? -ENOENT : copy_to_memfd(arg, i);
}

int hl_model_copy_embedded(struct hl_model *m, struct hl_writer *to, int *write_err)
{
	struct hl_embedded_file f;
	size_t n;
	int fd, err = hl_reader_n_files(m->reader, &n);

	for (size_t i = 0; i < n && !err; i++) {
		fd = copy_to_memfd(m, i);
		if (fd == -EBADMSG)
			continue;
		err = fd < 0 ? fd : hl_reader_file(m->reader, i, &f);
		if (!err)
			err = *write_err = hl_writer_add_file(to, &f, fd);
		if (fd >= 0)
			close(fd);
	}
	return err;
}

/* --- writing to the trace --- */

/* A file that is in the new trace. A linear list suffices: ids are short and modules are few. */
struct known_file {
	uint8_t kind;
	size_t len;
	uint8_t id[64];
};

struct embedding {
	struct hl_model *m;
	struct hl_append_files *x;
	struct hl_embedding *e;
	HL_VEC(struct known_file) known;
	bool was_there, added, reported;
};

/* Was a file with this id added for another module? */
static bool is_known(struct embedding *b, unsigned kind, const uint8_t *id, size_t len)
{
	for (size_t i = 0; i < b->known.len; i++) {
		const struct known_file *k = &b->known.data[i];

		if (k->kind == kind && k->len == len && memcmp(k->id, id, len) == 0)
			return true;
	}
	return false;
}

static int remember(struct embedding *b, unsigned kind, const uint8_t *id, size_t len)
{
	struct known_file k = {.kind = (uint8_t)kind, .len = len};

	if (len == 0 || len > sizeof(k.id))
		return 0;
	memcpy(k.id, id, len);
	return hl_vec_push(&b->known, k);
}

static void report_module(struct embedding *b, const struct hl_embedded *one)
{
	if (b->e->module)
		b->e->module(b->e->arg, one);
}

/* A truncated file is not added: symbol lookup would prefer it to the complete one. */
static int skip_truncated(struct embedding *b, enum hl_symbols_file kind, const char *path)
{
	report_module(
		b, &(struct hl_embedded){.path = path,
			   .error_text = "it is truncated: it is shorter than its headers say"});
	b->reported |= kind == HL_SYMBOLS_FILE_MODULE;
	return 0;
}

/* Is the file shorter than its headers say? The segments are checked only if `loaded` is set: debug
 * files have the segment headers of their program without the content. */
static bool is_truncated(int fd, bool loaded)
{
	struct hl_elf_file f;
	int err = hl_elf_file_open(&f, fd);
	bool truncated = err == -EBADMSG;

	if (!err)
		truncated = !hl_elf_file_has_sections(&f) || (loaded && !hl_elf_file_is_whole(&f));
	hl_elf_file_close(&f);
	return truncated;
}

static int add_file(void *arg, enum hl_symbols_file kind, const char *path, int fd,
	const uint8_t *id, size_t len)
{
	struct embedding *b = arg;
	struct hl_embedded_file f = {
		.kind = (uint8_t)kind, .path = path, .build_id = id, .build_id_len = (uint32_t)len};
	struct stat st;
	int err;

	if (find_file(b->m, kind, path, id, len) != SIZE_MAX) {
		b->was_there |= kind == HL_SYMBOLS_FILE_MODULE;
		return 0;
	}
	if (is_truncated(fd, kind == HL_SYMBOLS_FILE_MODULE))
		return skip_truncated(b, kind, path);
	b->added |= kind == HL_SYMBOLS_FILE_MODULE;
	if (is_known(b, kind, id, len))
		return 0;
	if (fstat(fd, &st) < 0)
		return -errno;
	f.size = (uint64_t)st.st_size;
	err = hl_append_files_add_file(b->x, &f, fd);
	if (!err)
		err = remember(b, kind, id, len);
	b->e->files += !err;
	b->e->bytes += err ? 0 : f.size;
	return err;
}

static const char *missing_reason(struct hl_symbols_module *symbols)
{
	switch (hl_symbols_state(symbols)) {
	case HL_SYMBOLS_REBUILT:
		return "it was rebuilt since the recording";
	case HL_SYMBOLS_CHANGED:
		return "it was changed since the recording (it has no build-id to check)";
	default:
		return "the file does not exist or is not readable";
	}
}

static int embed_module(struct embedding *b, uint32_t id)
{
	struct hl_symbols_module *symbols;
	struct hl_embedded one = {0};
	struct hl_module def;
	int err = hl_reader_module(b->m->reader, id, &def);

	if (err || !def.path[0] || def.path[0] == '[')
		return err == -EBADMSG ? 0 : err;
	err = hl_symbols_add(b->m->symbols, def.path, def.build_id, def.build_id_len, &symbols);
	b->was_there = b->added = b->reported = false;
	if (!err)
		err = hl_symbols_files(symbols, add_file, b);
	if (err)
		return err;
	one.path = def.path;
	one.was_there = b->was_there;
	one.error_text = b->was_there || b->added ? NULL : missing_reason(symbols);
	if (!b->reported)
		report_module(b, &one);
	return 0;
}

int hl_model_embed(struct hl_model *m, int fd, struct hl_embedding *e)
{
	struct embedding b = {.m = m, .e = e};
	int err = hl_append_files_begin(&b.x, m->reader, fd), end;

	e->files = e->bytes = 0;
	if (err) {
		close(fd);
		return err == -EBADMSG ? hl_model_fail(m, err) : err;
	}
	hl_work_begin(&m->work, HL_WORK_SHORT, "embedding files");
	for (uint32_t i = 0; i < m->n_modules && !err; i++) {
		err = hl_work_tick(&m->work, i, m->n_modules);
		if (!err)
			err = embed_module(&b, i);
	}
	hl_work_end(&m->work, HL_WORK_SHORT);
	end = hl_append_files_end(b.x);
	hl_vec_free(&b.known);
	return err ? err : end;
}
