/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_image.c - opens ELF files safely.
 *
 * Paths come from traces and from other ELF files, so they may name anything. Only regular files
 * are opened: opening a device can have side effects, opening a FIFO can block forever.
 */
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/symbol_internal.h"

/* Larger files are mapped: reading them would need as much memory as their debug sections are
 * large. Smaller ones are read, so that a rebuild that truncates the file meanwhile causes no
 * SIGBUS. The mapping is private because dwarf.c changes section headers. */
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
	/* It may have been replaced since the stat. */
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -ENOEXEC;
	}
	*size = (uint64_t)st.st_size;
	return fd;
}

/* Programs, libraries, and the files of dwz, which have type relocatable. */
static bool is_usable(const struct hl_elf_image *img)
{
	const uint8_t *id;
	GElf_Ehdr ehdr;

	if (!img->elf || elf_kind(img->elf) != ELF_K_ELF || !gelf_getehdr(img->elf, &ehdr))
		return false;
	return ehdr.e_type == ET_EXEC || ehdr.e_type == ET_DYN ||
	       (ehdr.e_type == ET_REL && hl_elf_image_build_id(img, &id));
}

static int init_image(struct hl_elf_image *img, int fd, uint64_t size, const char *path)
{
	elf_version(EV_CURRENT);
	img->fd = fd;
	img->path = strdup(path);
	img->elf = elf_begin(fd, size > READ_MAX ? ELF_C_READ_MMAP_PRIVATE : ELF_C_READ, NULL);
	if (!img->path || !is_usable(img)) {
		hl_elf_image_close(img);
		return -ENOEXEC;
	}
	return 0;
}

int hl_elf_image_open(struct hl_elf_image *img, const char *path)
{
	uint64_t size = 0;
	int fd;

	memset(img, 0, sizeof(*img));
	fd = open_regular(path, &size);
	return fd < 0 ? fd : init_image(img, fd, size, path);
}

int hl_elf_image_open_fd(struct hl_elf_image *img, int fd, const char *path)
{
	struct stat st;

	memset(img, 0, sizeof(*img));
	if (fstat(fd, &st) == 0)
		return init_image(img, fd, (uint64_t)st.st_size, path);
	close(fd);
	return -EIO;
}

void hl_elf_image_close(struct hl_elf_image *img)
{
	if (!img->path && !img->elf)
		return;
	elf_end(img->elf);
	close(img->fd);
	free(img->path);
	memset(img, 0, sizeof(*img));
}

static uint64_t to_unix_ns(const struct timespec *t)
{
	return t->tv_sec < 0 ? 0 : (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

bool hl_elf_image_is_newer(const struct hl_elf_image *img, uint64_t unix_ns, bool check_ctime)
{
	struct stat st;

	if (fstat(img->fd, &st) < 0)
		return true;
	return to_unix_ns(&st.st_mtim) > unix_ns ||
	       (check_ctime && to_unix_ns(&st.st_ctim) > unix_ns);
}

size_t hl_elf_image_build_id(const struct hl_elf_image *img, const uint8_t **id)
{
	const void *p;
	ssize_t n = dwelf_elf_gnu_build_id(img->elf, &p);

	if (n <= 0)
		return 0;
	*id = p;
	return (size_t)n;
}
