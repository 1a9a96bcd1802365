/*
 * takeover.c - see takeover.h. The program announces a module once; when the collector that heard
 * it is dead, the maps of the process say what it was. Files are read as hostile: every length is
 * checked.
 */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/takeover.h"
#include "util/elf_note.h"
#include "util/procfs.h"

#define PHDR_MAX 64u

struct mapped {
	struct hl_range range;
	char path[PATH_MAX];
};

/* The bias of an ELF file that is mapped from `start` on, and its build-id. False when it is no
 * such file. */
static bool read_headers(int fd, uint64_t start, uint64_t *bias, uint8_t *id, uint32_t *id_len)
{
	Elf64_Phdr ph[PHDR_MAX];
	Elf64_Ehdr e;
	bool found = false;

	if (pread(fd, &e, sizeof(e), 0) != sizeof(e) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
		e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof(ph[0]) ||
		e.e_phnum > PHDR_MAX)
		return false;
	if (pread(fd, ph, e.e_phnum * sizeof(ph[0]), (off_t)e.e_phoff) !=
		(ssize_t)(e.e_phnum * sizeof(ph[0])))
		return false;
	*id_len = 0;
	for (unsigned i = 0; i < e.e_phnum; i++) {
		if (ph[i].p_type == PT_LOAD && !found) {
			*bias = start - (ph[i].p_vaddr - ph[i].p_offset % 4096) / 4096 * 4096;
			found = true;
		}
		if (ph[i].p_type == PT_NOTE && !*id_len)
			*id_len = hl_elf_build_id(fd, &ph[i], id);
	}
	return found;
}

static void add(struct hl_proc *p, struct mapped *m)
{
	uint8_t id[HL_BUILD_ID_MAX];
	uint32_t id_len = 0;
	struct stat st;
	int fd;

	if (!m->path[0])
		return;
	fd = open(m->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		read_headers(fd, m->range.start, &m->range.bias, id, &id_len))
		hl_proc_module(p, m->range, m->path, id, id_len);
	close(fd);
}

/* One line of maps. A file's segments lie side by side; its first begins a module. */
static void take_line(struct hl_proc *p, struct mapped *m, const char *line)
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
	add(p, m);
	m->range = (struct hl_range){.start = start, .end = end};
	snprintf(m->path, sizeof(m->path), "%s", offset == 0 ? path : "");
}

void hl_takeover_modules(struct hl_proc *p)
{
	FILE *f = hl_procfs_file(p->pid, "maps");
	char line[PATH_MAX + 128];
	struct mapped m = {.path = ""};

	if (!f)
		return;
	while (fgets(line, sizeof(line), f))
		take_line(p, &m, line);
	add(p, &m);
	fclose(f);
}
