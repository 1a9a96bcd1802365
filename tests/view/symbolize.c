/*
 * symbolize.c - what src/symbol says about the offsets on stdin (hexadecimal, one a line).
 *
 * usage: symbolize FILE [BUILD-ID]; "*" as BUILD-ID takes the file's own. For each offset one
 * line for each frame, "function|file|line|inlined", then an empty line; the note goes first.
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

int main(int argc, char **argv)
{
	struct hl_symbols_module *m;
	struct hl_symbols *s;
	uint8_t id[64] = {0};
	size_t id_len = 0, n;
	uint64_t offset;

	if (argc < 2)
		return 2;
	if (argc > 2 && strcmp(argv[2], "*") == 0)
		id_len = own_build_id(argv[1], id, sizeof(id));
	else if (argc > 2)
		for (const char *p = argv[2]; p[0] && p[1] && id_len < sizeof(id); p += 2)
			sscanf(p, "%2hhx", &id[id_len++]);
	if (hl_symbols_new(&s) || hl_symbols_add(s, argv[1], id, id_len, &m))
		return 1;
	printf("%s\n", hl_symbols_note(m));
	while (scanf("%" SCNx64, &offset) == 1) {
		const struct hl_symbol_frame *f;

		if (hl_symbols_frames(m, offset, &f, &n))
			return 1;
		for (size_t i = 0; i < n; i++)
			printf("%s|%s|%u|%d\n", f[i].function, f[i].file ? f[i].file : "?",
				f[i].line, f[i].inlined);
		putchar('\n');
	}
	hl_symbols_free(s);
	return 0;
}
