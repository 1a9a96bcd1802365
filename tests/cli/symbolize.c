/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolize.c - prints the result of src/symbol for the offsets on stdin (hexadecimal, one per
 * line).
 *
 * usage: symbolize [--symbols PATH]... [--sysroot DIR] [--cache DIR] [--short] [--debuginfod] FILE
 * [BUILD-ID]
 *
 * "*" as BUILD-ID means the file's own. The module's note comes first. Then each offset has one
 * line for each frame, "function|file|line|inlined", and an empty line.
 */
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/symbol.h"

static size_t own_build_id(const char *path, uint8_t *id, size_t size)
{
	int fd = open(path, O_RDONLY);
	const void *p;
	ssize_t n;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	n = elf ? dwelf_elf_gnu_build_id(elf, &p) : -1;
	if (n < 0 || (size_t)n > size)
		n = 0;
	memcpy(id, n ? p : "", (size_t)n);
	elf_end(elf);
	close(fd);
	return (size_t)n;
}

static void fetching(void *user, const char *what, uint64_t done, uint64_t all)
{
	if (what)
		fprintf(stderr, "fetching %s %" PRIu64 " of %" PRIu64 "\n", what, done, all);
}

static void fetch_failed(void *user, const char *sentence)
{
	fprintf(stderr, "failed: %s\n", sentence);
}

/* Removes the options from argv. */
static void parse(int *argc, char ***argv, struct hl_symbols_config *c)
{
	static const char *paths[16];

	c->paths = paths;
	c->on_progress = fetching;
	c->on_fetch_failed = fetch_failed;
	while (*argc > 2 && strncmp((*argv)[1], "--", 2) == 0) {
		const char *word = (*argv)[1], *value = (*argv)[2];
		int used = 2;

		if (strcmp(word, "--symbols") == 0 && c->n_paths < 16)
			paths[c->n_paths++] = value;
		else if (strcmp(word, "--sysroot") == 0)
			c->sysroot = value;
		else if (strcmp(word, "--cache") == 0)
			c->cache_dir = value;
		else if (strcmp(word, "--short") == 0 && used--)
			c->ellipsis = "...";
		else if (strcmp(word, "--debuginfod") == 0 && used--)
			c->debuginfod = true;
		else
			exit(2);
		*argc -= used;
		*argv += used;
	}
}

int main(int argc, char **argv)
{
	struct hl_symbols_config config = {0};
	struct hl_symbols_module *m;
	struct hl_symbols *s;
	uint8_t id[64] = {0};
	size_t id_len = 0, n;
	uint64_t offset;

	parse(&argc, &argv, &config);
	if (argc < 2)
		return 2;
	if (argc > 2 && strcmp(argv[2], "*") == 0)
		id_len = own_build_id(argv[1], id, sizeof(id));
	else if (argc > 2)
		for (const char *p = argv[2]; p[0] && p[1] && id_len < sizeof(id); p += 2)
			sscanf(p, "%2hhx", &id[id_len++]);
	if (hl_symbols_new(&s) || hl_symbols_configure(s, &config) ||
		hl_symbols_add(s, argv[1], id, id_len, &m))
		return 1;
	if (!config.cache_dir) /* the note opens the files, and a test of the cache must not open
				  them */
		printf("%s\n", hl_symbols_note(m));
	while (scanf("%" SCNx64, &offset) == 1) {
		const struct hl_symbol_frame *f;

		if (hl_symbols_frames(m, offset, &f, &n))
			return 1;
		for (size_t i = 0; i < n; i++)
			printf("%s|%s|%u|%d\n", f[i].display_name, f[i].file ? f[i].file : "?",
				f[i].line, f[i].inlined);
		putchar('\n');
	}
	if (config.cache_dir)
		printf("%s\n", hl_symbols_note(m));
	hl_symbols_free(s);
	return 0;
}
