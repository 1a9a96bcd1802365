/* target_examine.c - what `doctor` says about a program beyond what makes `record` refuse it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/elf_file.h"
#include "cli/target.h"
#include "symbol/symbol.h"
#include "util/elf_note.h"

static void say(struct target *t, enum hl_verdict verdict, const char *check, const char *what)
{
	hl_findings_add(&t->findings, verdict, check, NULL, "%s", what);
}

/* Another allocator that it is linked to; NULL: libc's. */
static const char *linked_allocator(const struct hl_elf_file *f)
{
	static const char *const signs[] = {"libjemalloc", "libtcmalloc", "libmimalloc"};
	const char *name;

	for (unsigned i = 0; (name = hl_elf_file_needed(f, i)) != NULL; i++)
		for (size_t k = 0; k < HL_ARRAY_LEN(signs); k++)
			if (!strncmp(name, signs[k], strlen(signs[k])))
				return name;
	return NULL;
}

/* Allocators inside the program that the loader does not know of. */
static void examine_allocator(const struct hl_elf_file *f, struct target *t)
{
	static const char *const names[] = {
		"malloc", "_rjem_malloc", "je_malloc", "mi_malloc", "tc_malloc"};
	const char *linked = linked_allocator(f);
	uint64_t exported = hl_elf_file_defines(f, SHT_DYNSYM, names, 1);
	uint64_t inside = hl_elf_file_defines(f, SHT_SYMTAB, names, HL_ARRAY_LEN(names));

	if (exported)
		return; /* said already */
	for (size_t i = 0; i < HL_ARRAY_LEN(names); i++)
		if (inside >> i & 1) {
			hl_findings_add(&t->findings, HL_VERDICT_PARTIAL, "allocator",
				"build it with the allocator as a shared library, or without",
				"it has an allocator inside (%s) that is not exported: what it "
				"takes from there is not seen; what libraries allocate is",
				names[i]);
			return;
		}
	if (linked)
		hl_findings_add(&t->findings, HL_VERDICT_OK, "allocator", NULL,
			"%s, a shared library: every call to it is seen", linked);
	else
		say(t, HL_VERDICT_OK, "allocator", "the system's: every call to it is seen");
}

/* Some functions without tables are in most programs: those written in assembly. */
#define BARE_PERCENT 1

static void examine_stacks(const struct hl_elf_file *f, struct target *t)
{
	struct hl_unwindable u;

	if (!hl_elf_file_has_segment(f, PT_GNU_EH_FRAME))
		hl_findings_add(&t->findings, HL_VERDICT_PARTIAL, "stacks",
			"link it with --eh-frame-hdr and do not strip .eh_frame",
			"it has no unwind tables (.eh_frame_hdr): stacks end at its functions");
	else if (hl_symbols_unwindable(f->fd, &u) && u.bare_bytes / BARE_PERCENT > u.bytes / 100)
		hl_findings_add(&t->findings, HL_VERDICT_PARTIAL, "stacks",
			"compile all of it with -fasynchronous-unwind-tables",
			"%" PRIu64 " of its %" PRIu64 " functions (%.0f %% of their code) have no "
			"unwind tables: stacks through them are followed by frame pointers, or end "
			"there",
			u.bare_functions, u.functions,
			100.0 * (double)u.bare_bytes / (double)u.bytes);
	else
		say(t, HL_VERDICT_OK, "stacks", "it has unwind tables (.eh_frame)");
}

static void examine_names(const struct hl_elf_file *f, const char *path, struct target *t)
{
	struct hl_symbols_module *m;
	struct hl_symbols *s = NULL;
	uint8_t id[HL_BUILD_ID_MAX];
	size_t len = hl_elf_file_build_id(f, id);
	char *real = realpath(path, NULL);

	if (real && hl_symbols_new(&s) == 0 && hl_symbols_add(s, real, id, len, &m) == 0) {
		enum hl_symbols_state state = hl_symbols_state(m);
		const char *note = hl_symbols_note(m), *advice = hl_symbols_advice(m);

		if (state == HL_SYMBOLS_FULL)
			say(t, HL_VERDICT_OK, "names", "files, lines and inlined calls are known");
		else
			hl_findings_add(&t->findings, HL_VERDICT_NOTE, "names",
				"compile it with -g, or get its debug file before you read the "
				"trace",
				"%s%s%s%s", *note ? note : "no debug information",
				*advice ? " (" : "", advice, *advice ? ")" : "");
		if (!len)
			hl_findings_add(&t->findings, HL_VERDICT_NOTE, "build-id",
				"link it with -Wl,--build-id",
				"it has no build-id: once it is rebuilt, its names are not found");
	}
	if (s)
		hl_symbols_free(s);
	free(real);
}

static void examine_loader(const struct hl_elf_file *f, struct target *t)
{
	if (hl_elf_file_has_segment(f, PT_GNU_RELRO) && f->bind_now)
		say(t, HL_VERDICT_OK, "loader",
			"full RELRO, which is no matter: nothing in the program is changed");
	else
		say(t, HL_VERDICT_OK, "loader", "dynamically linked, by glibc's loader");
	if (hl_elf_file_mentions(f, "dlopen"))
		say(t, HL_VERDICT_NOTE, "plugins",
			"it can load plugins; one that it opens with RTLD_DEEPBIND gets libc's "
			"malloc past the recorder, which cannot be known before");
}

void hl_target_examine(struct target *t)
{
	struct hl_elf_file f;
	Elf64_Ehdr head;
	int fd;

	if (t->is_script && !t->cannot_run)
		hl_findings_add(&t->findings, HL_VERDICT_OK, "script", NULL,
			"%s is a script; what is recorded is %s, and each program it starts",
			t->path, t->image);
	if (hl_findings_first(&t->findings, HL_VERDICT_FAILS))
		return;
	fd = open(t->image, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		hl_findings_add(&t->findings, HL_VERDICT_NOTE, "file",
			"ask as a user who may read it", "%s cannot be judged: %s", t->image,
			strerror(errno));
		return;
	}
	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
		memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
		say(t, HL_VERDICT_NOTE, "file", "no ELF file: /bin/sh will read it as a script");
	} else if (hl_elf_file_read(&f, fd, &head) == 0) {
		examine_loader(&f, t);
		examine_allocator(&f, t);
		examine_stacks(&f, t);
		examine_names(&f, t->image, t);
		hl_elf_file_free(&f);
	}
	close(fd);
}
