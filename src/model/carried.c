/*
 * carried.c - files in the trace: put there, and given to whoever asks for names; see carried.h.
 */
#include "model/carried.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/model_internal.h"
#include "trace/writer.h"
#include "util/elf_note.h"

_Static_assert((int)HL_CARRIED_MODULE == (int)HL_SYMBOLS_FILE_MODULE &&
		       (int)HL_CARRIED_DEBUG == (int)HL_SYMBOLS_FILE_DEBUG &&
		       (int)HL_CARRIED_SHARED == (int)HL_SYMBOLS_FILE_SHARED,
	"kinds of files are passed on as they are");

/* --- out of the trace --- */

/* The content of a file in memory: a descriptor, or -errno. */
static int unpack(struct hl_model *m, size_t i)
{
	int fd = memfd_create("heaplapse", MFD_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = hl_reader_copy_file(m->reader, i, fd);
	if (err)
		close(fd);
	return err ? err : fd;
}

static bool is_it(
	const struct hl_carried *f, unsigned kind, const char *path, const uint8_t *id, size_t len)
{
	if (f->kind != kind || f->build_id_len != len)
		return false;
	return len ? memcmp(f->build_id, id, len) == 0 : strcmp(f->path, path) == 0;
}

/* SIZE_MAX: none. */
static size_t find(
	struct hl_model *m, unsigned kind, const char *path, const uint8_t *id, size_t len)
{
	struct hl_carried f;
	size_t n;

	if (hl_reader_n_files(m->reader, &n) < 0)
		return SIZE_MAX;
	for (size_t i = 0; i < n; i++)
		if (hl_reader_file(m->reader, i, &f) == 0 && is_it(&f, kind, path, id, len))
			return i;
	return SIZE_MAX;
}

int hl_model_open_carried(
	void *arg, enum hl_symbols_file kind, const char *path, const uint8_t *id, size_t len)
{
	size_t i = find(arg, kind, path, id, len);

	return i == SIZE_MAX ? -ENOENT : unpack(arg, i);
}

int hl_model_carry_over(struct hl_model *m, struct hl_writer *to, int *write_err)
{
	struct hl_carried f;
	size_t n;
	int fd, err = hl_reader_n_files(m->reader, &n);

	for (size_t i = 0; i < n && !err; i++) {
		fd = unpack(m, i);
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

/* --- into the trace --- */

/* A file that is in the new trace; ids are short, and few modules are many. */
struct known {
	uint8_t kind;
	size_t len;
	uint8_t id[64];
};

struct embedding {
	struct hl_model *m;
	struct hl_extension *x;
	struct hl_embedding *e;
	HL_VEC(struct known) known;
	bool was_there, added, told;
};

/* Was a file with this id put in for another module? */
static bool is_known(struct embedding *b, unsigned kind, const uint8_t *id, size_t len)
{
	for (size_t i = 0; i < b->known.len; i++) {
		const struct known *k = &b->known.data[i];

		if (k->kind == kind && k->len == len && memcmp(k->id, id, len) == 0)
			return true;
	}
	return false;
}

static int remember(struct embedding *b, unsigned kind, const uint8_t *id, size_t len)
{
	struct known k = {.kind = (uint8_t)kind, .len = len};

	if (len == 0 || len > sizeof(k.id))
		return 0;
	memcpy(k.id, id, len);
	return hl_vec_push(&b->known, k);
}

static void tell(struct embedding *b, const struct hl_embedded *one)
{
	if (b->e->module)
		b->e->module(b->e->arg, one);
}

/* It would be taken before the whole one wherever names are looked up. */
static int leave_out_cut(struct embedding *b, enum hl_symbols_file kind, const char *path)
{
	tell(b, &(struct hl_embedded){.path = path,
			.why_not = "it is cut off: it ends before what its headers say"});
	b->told |= kind == HL_SYMBOLS_FILE_MODULE;
	return 0;
}

static int take_file(void *arg, enum hl_symbols_file kind, const char *path, int fd,
	const uint8_t *id, size_t len)
{
	struct embedding *b = arg;
	struct hl_carried f = {
		.kind = (uint8_t)kind, .path = path, .build_id = id, .build_id_len = (uint32_t)len};
	struct stat st;
	int err;

	if (find(b->m, kind, path, id, len) != SIZE_MAX) {
		b->was_there |= kind == HL_SYMBOLS_FILE_MODULE;
		return 0;
	}
	if (hl_elf_is_cut(fd, kind == HL_SYMBOLS_FILE_MODULE))
		return leave_out_cut(b, kind, path);
	b->added |= kind == HL_SYMBOLS_FILE_MODULE;
	if (is_known(b, kind, id, len))
		return 0;
	if (fstat(fd, &st) < 0)
		return -errno;
	f.size = (uint64_t)st.st_size;
	err = hl_extend_add_file(b->x, &f, fd);
	if (!err)
		err = remember(b, kind, id, len);
	b->e->files += !err;
	b->e->bytes += err ? 0 : f.size;
	return err;
}

static const char *why_not(struct hl_symbols_module *symbols)
{
	switch (hl_symbols_state(symbols)) {
	case HL_SYMBOLS_REBUILT:
		return "it was rebuilt since the recording";
	case HL_SYMBOLS_CHANGED:
		return "it was changed since the recording (it has no build-id to be sure)";
	default:
		return "the file is not there or not readable";
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
	b->was_there = b->added = b->told = false;
	if (!err)
		err = hl_symbols_files(symbols, take_file, b);
	if (err)
		return err;
	one.path = def.path;
	one.was_there = b->was_there;
	one.why_not = b->was_there || b->added ? NULL : why_not(symbols);
	if (!b->told)
		tell(b, &one);
	return 0;
}

int hl_model_embed(struct hl_model *m, int fd, struct hl_embedding *e)
{
	struct embedding b = {.m = m, .e = e};
	int err = hl_extend_begin(&b.x, m->reader, fd), end;

	e->files = e->bytes = 0;
	if (err) {
		close(fd);
		return err == -EBADMSG ? hl_model_fail(m, err) : err;
	}
	hl_progress_begin("embedding files");
	for (uint32_t i = 0; i < m->n_modules && !err; i++) {
		hl_progress_tick(i, m->n_modules);
		err = embed_module(&b, i);
	}
	hl_progress_end();
	end = hl_extend_end(b.x);
	hl_vec_free(&b.known);
	return err ? err : end;
}
