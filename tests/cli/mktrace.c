/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mktrace.c - writes a trace from a description, so that tests define its exact contents.
 *
 * usage: mktrace OUT < description. One item per line; %XX in a path is a byte:
 *   module PATH BUILD-ID|*|-        *: the file's own; -: none
 *   node PARENT|- MODULE|- OFFSET   offset in hexadecimal
 *   name MODULE OFFSET FUNCTION FILE|- LINE
 *                                   the trace has the name of this address; successive lines of one
 *                                   address are inlined calls, outermost first
 *   thread TID
 *   alloc TIME THREAD SIZE NODE|- FUNC [ADDRESS]
 *   free TIME THREAD ORDINAL FUNC
 *   extra TIME KIND VALUE TEXT
 *   rss TIME BYTES
 *   map START PAGES PERMS USE NAME|-  a mapping of the next sample: START in hexadecimal, PERMS
 * such as rw-p, USE the six amounts in KiB, with commas maps TIME READ                  a sample of
 * these mappings counters UNKNOWN IMPLICIT INHERITED LATE DROPPED file KIND PATH BUILD-ID SOURCE an
 * embedded file chunk                           starts a new chunk end KIND VALUE DURATION without
 * it the file is like that of a crash
 */
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/write/writer.h"

#define BLOCKS_MAX 100000

static struct hl_event allocations[BLOCKS_MAX];
static uint64_t n_allocations;
static struct hl_counters counters;
static struct hl_writer *w;

static void die(const char *what)
{
	fprintf(stderr, "mktrace: %s\n", what);
	exit(1);
}

static void unescape(char *s)
{
	char *to = s;
	unsigned byte;

	for (; *s; s++) {
		if (*s == '%' && sscanf(s + 1, "%2x", &byte) == 1) {
			*to++ = (char)byte;
			s += 2;
		} else {
			*to++ = *s;
		}
	}
	*to = 0;
}

static uint32_t id_of(const char *s)
{
	return strcmp(s, "-") == 0 ? UINT32_MAX : (uint32_t)strtoul(s, NULL, 10);
}

static void add_module(char *path, const char *id)
{
	struct hl_module m = {.path = path};
	uint8_t bytes[64];
	const void *own;
	Elf *elf = NULL;
	int fd = -1;

	unescape(path);
	m.build_id = bytes;
	if (strcmp(id, "*") == 0) {
		ssize_t n;

		elf_version(EV_CURRENT);
		fd = open(path, O_RDONLY);
		elf = elf_begin(fd, ELF_C_READ, NULL);
		n = elf ? dwelf_elf_gnu_build_id(elf, &own) : -1;
		if (n <= 0)
			die("the module has no build-id");
		m.build_id = own;
		m.build_id_len = (uint32_t)n;
	} else if (strcmp(id, "-") != 0) {
		for (; id[0] && id[1] && m.build_id_len < sizeof(bytes); id += 2)
			sscanf(id, "%2hhx", &bytes[m.build_id_len++]);
	}
	if (hl_writer_add_module(w, &m))
		die("module");
	elf_end(elf);
	if (fd >= 0)
		close(fd);
}

/* The frames of an address, which are complete when the next line is not about it. */
static struct hl_name_frame name_frames[16];
static struct hl_named_site named = {.frames = name_frames};

static void finish_names(void)
{
	if (named.n_frames > 0 && hl_writer_add_names(w, &named))
		die("name");
	for (size_t i = 0; i < named.n_frames; i++) {
		free((void *)(uintptr_t)name_frames[i].function);
		free((void *)(uintptr_t)name_frames[i].file);
	}
	named.n_frames = 0;
}

static void add_name(char **f)
{
	uint32_t module = id_of(f[0]);
	uint64_t offset = strtoull(f[1], NULL, 16);

	if (named.n_frames > 0 && (named.module != module || named.offset != offset))
		finish_names();
	if (named.n_frames == 16)
		die("too many inlined calls");
	unescape(f[2]);
	named.module = module;
	named.offset = offset;
	name_frames[named.n_frames] = (struct hl_name_frame){.function = strdup(f[2]),
		.file = strcmp(f[3], "-") ? strdup(f[3]) : NULL,
		.line = (uint32_t)strtoul(f[4], NULL, 10),
		.inlined = named.n_frames > 0};
	named.n_frames++;
}

static void add_alloc(char **f)
{
	struct hl_event *e = &allocations[n_allocations];

	if (n_allocations == BLOCKS_MAX)
		die("too many blocks");
	*e = (struct hl_event){.time_ns = strtoull(f[0], NULL, 10),
		.thread = id_of(f[1]),
		.size = strtoull(f[2], NULL, 10),
		.node = id_of(f[3]),
		.func = (uint8_t)id_of(f[4]),
		.op = HL_OP_ALLOC,
		.ordinal = n_allocations,
		.addr = f[5][0] ? strtoull(f[5], NULL, 16) : 0x1000 + n_allocations * 64,
		.free_node = HL_NODE_NONE};
	n_allocations++;
	if (hl_writer_add_event(w, e))
		die("alloc");
}

static void add_free(char **f)
{
	const struct hl_event *b = &allocations[strtoull(f[2], NULL, 10)];
	struct hl_event e = *b;

	e.time_ns = strtoull(f[0], NULL, 10);
	e.thread = id_of(f[1]);
	e.func = (uint8_t)id_of(f[3]);
	e.op = HL_OP_FREE;
	e.alloc_ns = b->time_ns;
	e.alloc_role = b->thread;
	e.lifetime_class = hl_lifetime_class(e.time_ns - b->time_ns);
	if (hl_writer_add_event(w, &e))
		die("free");
}

static void add_rss(char **f)
{
	struct hl_rss_sample s = {strtoull(f[0], NULL, 10), strtoull(f[1], NULL, 10)};

	if (hl_writer_add_rss(w, &s))
		die("rss");
}

static struct hl_map_entry mappings[64];
static size_t n_mappings;

static void add_mapping(char **f)
{
	struct hl_map_entry *m = &mappings[n_mappings++];
	char *amount = f[3], *save;

	if (n_mappings == sizeof(mappings) / sizeof(mappings[0]))
		die("too many mappings");
	*m = (struct hl_map_entry){.start = strtoull(f[0], NULL, 16)};
	m->end = m->start + strtoull(f[1], NULL, 10) * 4096;
	for (int i = 0; i < 3; i++)
		m->perms |= (uint8_t)((f[2][i] != '-') << i);
	m->perms |= f[2][3] == 's' ? HL_MAP_SHARED : 0;
	amount = strtok_r(amount, ",", &save);
	for (int i = 0; i < HL_MAP_AMOUNTS && amount; i++) {
		m->kib[i] = strtoull(amount, NULL, 10);
		amount = strtok_r(NULL, ",", &save);
	}
	unescape(f[4]);
	m->name = strdup(f[4][0] == '-' ? "" : f[4]);
}

static void add_maps(char **f)
{
	struct hl_map_sample s = {.time_ns = strtoull(f[0], NULL, 10),
		.read_ns = strtoull(f[1], NULL, 10),
		.maps = mappings,
		.n = n_mappings};

	if (hl_writer_add_maps(w, &s))
		die("maps");
	n_mappings = 0;
}

static void add_extra(char **f)
{
	struct hl_extra x = {.time_ns = strtoull(f[0], NULL, 10),
		.kind = (uint8_t)id_of(f[1]),
		.value = strtoull(f[2], NULL, 10),
		.text = f[3],
		.node = HL_NODE_NONE};

	unescape(f[3]);
	if (hl_writer_add_extra(w, &x))
		die("extra");
}

static void add_file(char **f)
{
	uint8_t id[32];
	struct hl_embedded_file file = {.kind = (uint8_t)id_of(f[0]), .path = f[1], .build_id = id};
	int fd = open(f[3], O_RDONLY);
	unsigned byte;

	unescape(f[1]);
	for (; f[2][0] != '-' && sscanf(f[2] + 2 * file.build_id_len, "%2x", &byte) == 1 &&
		file.build_id_len < sizeof(id);)
		id[file.build_id_len++] = (uint8_t)byte;
	file.size = (uint64_t)lseek(fd, 0, SEEK_END);
	if (fd < 0 || hl_writer_add_file(w, &file, fd))
		die("file");
	close(fd);
}

static void add_line(char **f)
{
	if (strcmp(f[0], "name") == 0) {
		add_name(f + 1);
		return;
	}
	finish_names();
	if (strcmp(f[0], "module") == 0) {
		add_module(f[1], f[2]);
	} else if (strcmp(f[0], "node") == 0) {
		struct hl_node n = {.parent = id_of(f[1]),
			.module = id_of(f[2]),
			.offset = strtoull(f[3], NULL, 16)};

		if (hl_writer_add_node(w, &n))
			die("node");
	} else if (strcmp(f[0], "thread") == 0) {
		hl_writer_add_thread(w, strtoull(f[1], NULL, 10));
	} else if (strcmp(f[0], "alloc") == 0) {
		add_alloc(f + 1);
	} else if (strcmp(f[0], "free") == 0) {
		add_free(f + 1);
	} else if (strcmp(f[0], "extra") == 0) {
		add_extra(f + 1);
	} else if (strcmp(f[0], "rss") == 0) {
		add_rss(f + 1);
	} else if (strcmp(f[0], "map") == 0) {
		add_mapping(f + 1);
	} else if (strcmp(f[0], "maps") == 0) {
		add_maps(f + 1);
	} else if (strcmp(f[0], "counters") == 0) {
		counters = (struct hl_counters){strtoull(f[1], NULL, 10), strtoull(f[2], NULL, 10),
			strtoull(f[3], NULL, 10), strtoull(f[4], NULL, 10),
			strtoull(f[5], NULL, 10), 0, 0};
	} else if (strcmp(f[0], "file") == 0) {
		add_file(f + 1);
	} else if (strcmp(f[0], "chunk") == 0) {
		hl_writer_flush(w);
	} else if (strcmp(f[0], "end") == 0) {
		struct hl_end end = {.kind = (uint8_t)id_of(f[1]),
			.value = atoi(f[2]),
			.duration_ns = strtoull(f[3], NULL, 10)};

		if (hl_writer_end(w, &end, &counters))
			die("end");
	} else {
		die(f[0]);
	}
}

int main(int argc, char **argv)
{
	static const struct hl_meta meta = {.program = "/bin/made-up",
		.command = "made-up\0--x\0a \x1b"
			   "b",
		.command_len = 17,
		.arch = "x86_64",
		.clock = "tsc",
		.mode = "trace",
		.allocator = "",
		.start_unix_ns = UINT64_C(1700000000000000001),
		.pid = 42};
	char line[8192];

	if (argc != 2 ||
		hl_writer_open(
			&w, open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), &meta))
		die("cannot write");
	while (fgets(line, sizeof(line), stdin)) {
		char *f[8] = {0}, *save;
		int n = 0;

		for (char *p = strtok_r(line, " \n", &save); p && n < 7;
			p = strtok_r(NULL, " \n", &save))
			f[n++] = p;
		for (int i = n; i < 7; i++)
			f[i] = line + sizeof(line) - 1;
		line[sizeof(line) - 1] = 0;
		if (n > 0)
			add_line(f);
	}
	hl_writer_flush(w);
	hl_writer_close(w);
	return 0;
}
