/*
 * image.c - ELF files: opening them safely, and finding those that belong together.
 *
 * Paths come from traces and from other ELF files, so they may name anything. What is not a
 * regular file is not even opened: opening a device can act, opening a FIFO can wait for ever.
 */
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/symbol_internal.h"
#include "util/strbuf.h"

#define DEBUG_DIR "/usr/lib/debug"
/* Larger files are mapped: reading their debug sections would take their size in memory. Smaller
 * ones are read, so that a rebuild that truncates the file while we look is no SIGBUS. */
#define READ_MAX (UINT64_C(256) << 20)

static int open_regular(const char *path, uint64_t *size)
{
	struct stat st;
	int fd;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* It may have been replaced since. */
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -ENOEXEC;
	}
	*size = (uint64_t)st.st_size;
	return fd;
}

int hl_image_open(struct hl_image *img, const char *path)
{
	uint64_t size = 0;
	GElf_Ehdr ehdr;
	int fd;

	memset(img, 0, sizeof(*img));
	elf_version(EV_CURRENT);
	fd = open_regular(path, &size);
	if (fd < 0)
		return fd;
	img->fd = fd;
	img->path = strdup(path);
	img->elf = elf_begin(fd, size > READ_MAX ? ELF_C_READ_MMAP : ELF_C_READ, NULL);
	if (!img->path || !img->elf || elf_kind(img->elf) != ELF_K_ELF ||
		!gelf_getehdr(img->elf, &ehdr) ||
		(ehdr.e_type != ET_EXEC && ehdr.e_type != ET_DYN)) {
		hl_image_close(img);
		return -ENOEXEC;
	}
	return 0;
}

void hl_image_close(struct hl_image *img)
{
	if (!img->path && !img->elf)
		return;
	elf_end(img->elf);
	close(img->fd);
	free(img->path);
	memset(img, 0, sizeof(*img));
}

size_t hl_image_build_id(const struct hl_image *img, const uint8_t **id)
{
	const void *p;
	ssize_t n = dwelf_elf_gnu_build_id(img->elf, &p);

	if (n <= 0)
		return 0;
	*id = p;
	return (size_t)n;
}

static int open_with_id(struct hl_image *img, const char *path, const uint8_t *want, size_t len)
{
	const uint8_t *id = NULL;
	int err = hl_image_open(img, path);

	if (err)
		return err;
	if (hl_image_build_id(img, &id) == len && memcmp(id, want, len) == 0)
		return 0;
	hl_image_close(img);
	return -ENOENT;
}

/* /usr/lib/debug/.build-id/ab/cdef....debug */
static int open_by_id(struct hl_image *img, const uint8_t *id, size_t len)
{
	struct hl_strbuf path = {0};
	int err;

	if (len < 2)
		return -ENOENT;
	hl_strbuf_printf(&path, DEBUG_DIR "/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < len; i++)
		hl_strbuf_printf(&path, "%02x", id[i]);
	hl_strbuf_puts(&path, ".debug");
	err = hl_strbuf_error(&path);
	if (!err)
		err = open_with_id(img, hl_strbuf_str(&path), id, len);
	hl_strbuf_fini(&path);
	return err;
}

/* The CRC-32 of a debuglink, for files so old that they have no build-id. */
static uint32_t crc_of_file(int fd)
{
	uint32_t crc = UINT32_MAX;
	uint8_t buf[16384];
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
		return open_with_id(img, path, id, len);
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
	const char *path = of->path, *slash = strrchr(path, '/'), *name;
	struct hl_strbuf at = {0};
	GElf_Word crc;
	int err = -ENOENT;

	name = dwelf_elf_gnu_debuglink(of->elf, &crc);
	if (!name || !*name || strchr(name, '/') || !slash || path[0] != '/')
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

int hl_image_open_debug(const struct hl_image *of, struct hl_image *debug)
{
	const uint8_t *id = NULL;
	size_t len = hl_image_build_id(of, &id);

	if (len && open_by_id(debug, id, len) == 0)
		return 0;
	return open_by_link(debug, of);
}

int hl_image_open_alt(const struct hl_image *of, Dwarf *dwarf, struct hl_image *alt)
{
	const char *name, *path = of->path, *slash = strrchr(path, '/');
	struct hl_strbuf at = {0};
	const void *id;
	ssize_t len = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id);
	int err;

	if (len <= 0)
		return -ENOENT;
	if (open_by_id(alt, id, (size_t)len) == 0)
		return 0;
	if (name[0] != '/' && slash)
		hl_strbuf_printf(&at, "%.*s/", (int)(slash - path), path);
	hl_strbuf_puts(&at, name);
	err = hl_strbuf_error(&at);
	if (!err)
		err = open_with_id(alt, hl_strbuf_str(&at), id, (size_t)len);
	hl_strbuf_fini(&at);
	return err;
}
