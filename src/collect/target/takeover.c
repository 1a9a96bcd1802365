/* SPDX-License-Identifier: Apache-2.0 */
/*
 * takeover.c - see takeover.h. The program announces a module once. When the collector that
 * received it is dead, the process's maps show which modules are loaded. Files are treated as
 * hostile; see elf_file.h.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/target/takeover.h"
#include "util/elf_file.h"
#include "util/procfs.h"

struct mapped_module {
	struct hl_module_range range;
	char path[PATH_MAX];
};

/* Reads the bias of an ELF file that is mapped from `start` on, and its build-id. False: not such a
 * file. */
static bool read_headers(int fd, uint64_t start, uint64_t *bias, uint8_t *id, uint32_t *id_len)
{
	struct hl_elf_file f;
	GElf_Phdr ph;
	bool found = hl_elf_file_open(&f, fd) == 0 && hl_elf_file_find_segment(&f, PT_LOAD, &ph);

	if (found) {
		*bias = start - (ph.p_vaddr - ph.p_offset % 4096) / 4096 * 4096;
		*id_len = hl_elf_file_build_id(&f, id);
	}
	hl_elf_file_close(&f);
	return found;
}

static void add_module(struct hl_target *p, struct mapped_module *m)
{
	uint8_t id[HL_BUILD_ID_MAX];
	uint32_t id_len = 0;
	int fd;

	if (!m->path[0])
		return;
	fd = open(m->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return;
	if (read_headers(fd, m->range.start, &m->range.bias, id, &id_len))
		hl_target_add_module(p, m->range, m->path, id, id_len);
	close(fd);
}

/* Reads one line of maps. The segments of a file are adjacent; its first one begins a module. */
static void read_maps_line(struct hl_target *p, struct mapped_module *m, const char *line)
{
	unsigned long long start, end, offset;
	char path[PATH_MAX] = "";

	if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %4095[^\n]", &start, &end, &offset, path) <
			4 ||
		path[0] != '/')
		return;
	if (offset != 0 && !strcmp(path, m->path)) {
		m->range.end = end;
		return;
	}
	add_module(p, m);
	m->range = (struct hl_module_range){.start = start, .end = end};
	snprintf(m->path, sizeof(m->path), "%s", offset == 0 ? path : "");
}

void hl_takeover_modules(struct hl_target *p)
{
	FILE *f = hl_procfs_fopen(p->pid, "maps");
	char line[PATH_MAX + 128];
	struct mapped_module m = {.path = ""};

	if (!f)
		return;
	while (fgets(line, sizeof(line), f))
		read_maps_line(p, &m, line);
	add_module(p, &m);
	fclose(f);
}
