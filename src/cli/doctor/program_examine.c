/* SPDX-License-Identifier: Apache-2.0 */
/* program_examine.c - the checks of a program that only `doctor` makes. They never make `record`
 * refuse the program. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor/program.h"
#include "model/views/interpreter.h"
#include "symbol/symbol.h"
#include "util/elf_file.h"

static void add_finding(
	struct target *t, enum hl_verdict verdict, const char *check, const char *what)
{
	hl_findings_add(&t->findings, verdict, check, NULL, "%s", what);
}

/* Returns the name of another allocator that the program is linked with; NULL if it uses libc's. */
static const char *find_linked_allocator(struct hl_elf_file *f)
{
	static const char *const prefixes[] = {"libjemalloc", "libtcmalloc", "libmimalloc"};
	const char *name;

	for (unsigned i = 0; (name = hl_elf_file_needed(f, i)) != NULL; i++)
		for (size_t k = 0; k < HL_ARRAY_LEN(prefixes); k++)
			if (!strncmp(name, prefixes[k], strlen(prefixes[k])))
				return name;
	return NULL;
}

/* Finds allocators inside the program that the loader does not see. */
static void examine_allocator(struct hl_elf_file *f, struct target *t)
{
	static const char *const names[] = {
		"malloc", "_rjem_malloc", "je_malloc", "mi_malloc", "tc_malloc"};
	const char *linked = find_linked_allocator(f);
	uint64_t exported = hl_elf_file_defines(f, SHT_DYNSYM, names, 1);
	uint64_t inside = hl_elf_file_defines(f, SHT_SYMTAB, names, HL_ARRAY_LEN(names));

	if (exported)
		return; /* already reported */
	for (size_t i = 0; i < HL_ARRAY_LEN(names); i++)
		if (inside >> i & 1) {
			hl_findings_add(&t->findings, HL_VERDICT_PARTIAL, "allocator",
				"link the allocator as a shared library, or build without it",
				"it contains an allocator (%s) that is not exported: the program's "
				"own allocations are not recorded, those of libraries are",
				names[i]);
			return;
		}
	if (linked)
		hl_findings_add(&t->findings, HL_VERDICT_OK, "allocator", NULL,
			"%s, a shared library: every call is recorded", linked);
	else
		add_finding(t, HL_VERDICT_OK, "allocator", "libc: every call is recorded");
}

/* Most programs have some functions without unwind tables: those written in assembly. */
#define MAX_BARE_PERCENT 1

static void examine_stacks(const struct hl_elf_file *f, struct target *t)
{
	struct hl_unwind_coverage u;

	if (!hl_elf_file_has_segment(f, PT_GNU_EH_FRAME))
		hl_findings_add(&t->findings, HL_VERDICT_PARTIAL, "stacks",
			"link it with --eh-frame-hdr and do not strip .eh_frame",
			"it has no unwind tables (.eh_frame_hdr): stacks are truncated at its "
			"functions");
	else if (hl_symbols_unwind_coverage(f->fd, &u) &&
		 u.uncovered_bytes / MAX_BARE_PERCENT > u.bytes / 100)
		hl_findings_add(&t->findings, HL_VERDICT_PARTIAL, "stacks",
			"compile all sources with -fasynchronous-unwind-tables",
			"%" PRIu64 " of its %" PRIu64
			" functions (%.0f %% of the code) have no unwind tables: their stacks are "
			"unwound by frame pointers or are truncated",
			u.uncovered_functions, u.functions,
			100.0 * (double)u.uncovered_bytes / (double)u.bytes);
	else
		add_finding(t, HL_VERDICT_OK, "stacks", "it has unwind tables (.eh_frame)");
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
			add_finding(t, HL_VERDICT_OK, "names",
				"debug information: files, lines and inlined calls are shown");
		else
			hl_findings_add(&t->findings, HL_VERDICT_NOTE, "names",
				"compile it with -g, or install its debug file", "%s%s%s%s",
				*note ? note : "no debug information", *advice ? " (" : "", advice,
				*advice ? ")" : "");
		if (!len)
			hl_findings_add(&t->findings, HL_VERDICT_NOTE, "build-id",
				"link it with -Wl,--build-id",
				"it has no build-id: if it is rebuilt, names may be wrong or "
				"missing");
	}
	if (s)
		hl_symbols_free(s);
	free(real);
}

static void examine_loader(struct hl_elf_file *f, struct target *t)
{
	if (hl_elf_file_has_segment(f, PT_GNU_RELRO) && hl_elf_file_binds_now(f))
		add_finding(t, HL_VERDICT_OK, "loader",
			"full RELRO (not a problem: the program is not modified)");
	else
		add_finding(t, HL_VERDICT_OK, "loader", "dynamically linked with glibc");
	if (hl_elf_file_mentions(f, "dlopen"))
		add_finding(t, HL_VERDICT_NOTE, "plugins",
			"it can load plugins; a plugin opened with RTLD_DEEPBIND would bypass the "
			"recorder");
}

/* Returns the interpreter that the program is linked with, and the name of its library. */
static const struct hl_interpreter *find_linked_interpreter(
	struct hl_elf_file *f, const char **library)
{
	const struct hl_interpreter *found = NULL;

	for (unsigned i = 0; !found && (*library = hl_elf_file_needed(f, i)) != NULL; i++)
		found = hl_interpreter_by_library(*library);
	return found;
}

/* Says what of an interpreted program is recorded. */
static void examine_interpreter(struct hl_elf_file *f, struct target *t)
{
	const struct hl_interpreter *found = hl_interpreter_by_program(t->image);
	const char *library = NULL;

	if (!found)
		found = hl_interpreter_by_file(f);
	if (!found)
		found = find_linked_interpreter(f, &library);
	if (found)
		hl_findings_add(&t->findings, HL_VERDICT_NOTE, found->language, NULL, "%s%s%s",
			library ? library : "", library ? ": " : "", found->text);
}

void hl_program_examine(struct target *t)
{
	struct hl_elf_file f;
	int fd, err;

	if (t->is_script && !t->cannot_run)
		hl_findings_add(&t->findings, HL_VERDICT_OK, "script", NULL,
			"%s is a script; its interpreter %s and each program it starts are "
			"recorded",
			t->path, t->image);
	if (hl_findings_first(&t->findings, HL_VERDICT_FAILS))
		return;
	fd = open(t->image, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		hl_findings_add(&t->findings, HL_VERDICT_NOTE, "file",
			"run this as a user who can read it", "cannot examine %s: %s", t->image,
			strerror(errno));
		return;
	}
	err = hl_elf_file_open(&f, fd);
	if (err == -ENOEXEC) {
		add_finding(
			t, HL_VERDICT_NOTE, "file", "not an ELF file: /bin/sh runs it as a script");
	} else if (!err) {
		examine_loader(&f, t);
		examine_allocator(&f, t);
		examine_stacks(&f, t);
		examine_names(&f, t->image, t);
		examine_interpreter(&f, t);
	}
	hl_elf_file_close(&f);
	close(fd);
}
