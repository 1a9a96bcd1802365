/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.c - see program.h. The checks here run before each `record` and need few reads. The
 * checks for `doctor` only are in program_examine.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/doctor/program.h"
#include "record/arch/cpu.h"
#include "util/elf_file.h"

#define HEAD_BYTES   1024u /* the kernel reads 256 bytes of a script */
#define SCRIPT_DEPTH 5     /* the limit of the kernel */

/* Returns 0 or -errno, as exec would. */
static int try_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) && access(path, X_OK) == 0 ? 0 : -EACCES;
}

static int try_path(const char *path, struct target *t)
{
	int err = try_executable(path);

	if (err)
		return err;
	if (strlen(path) >= sizeof(t->path))
		return -ENAMETOOLONG;
	strcpy(t->path, path);
	return 0;
}

static int find_in_path(const char *program, struct target *t)
{
	const char *path = getenv("PATH");
	int err = -ENOENT;

	if (!*program)
		return -ENOENT;
	if (strchr(program, '/'))
		return try_path(program, t);
	for (path = path ? path : "/bin:/usr/bin";; path += strcspn(path, ":") + 1) {
		char full[PATH_MAX];
		int len = (int)strcspn(path, ":"), try_err;

		snprintf(full, sizeof(full), "%.*s%s%s", len, path, len ? "/" : "./", program);
		try_err = try_path(full, t);
		if (try_err == 0)
			return 0;
		if (try_err == -EACCES)
			err = try_err;
		if (!path[len])
			return err;
	}
}

static void add_failure(
	struct target *t, const char *check, const char *problem, const char *remedy)
{
	hl_findings_add(&t->findings, HL_VERDICT_FAILS, check, remedy, "%s", problem);
}

/* Checks another file that the kernel needs to run the program: the loader, or the interpreter of a
 * script. */
static bool check_helper_file(
	struct target *t, const char *check, const char *what, const char *path, const char *remedy)
{
	int err = t->is_running ? 0 : try_executable(path);

	if (!err)
		return true;
	t->cannot_run = err;
	hl_findings_add(&t->findings, HL_VERDICT_FAILS, check, remedy, "%s, %s, %s", what, path,
		err == -ENOENT   ? "does not exist"
		: err == -EACCES ? "is not executable"
				 : strerror(-err));
	return false;
}

static void check_sanitizer(struct hl_elf_file *f, struct target *t)
{
	static const char *const markers[] = {"libasan.so", "libtsan.so", "libmsan.so",
		"liblsan.so", "libhwasan.so", "__asan_init", "__tsan_init", "__msan_init",
		"__hwasan_init", "__lsan_init"};

	for (size_t i = 0; i < HL_ARRAY_LEN(markers); i++)
		if (hl_elf_file_mentions(f, markers[i]))
			return add_failure(t, "sanitizer",
				"it is built with a sanitizer, which replaces malloc itself",
				"build it without -fsanitize");
}

/* The loader searches the program before LD_PRELOAD. */
static void check_allocator(const struct hl_elf_file *f, struct target *t)
{
	static const char *const names[] = {"malloc"};

	if (hl_elf_file_defines(f, SHT_DYNSYM, names, 1))
		hl_findings_add(&t->findings, HL_VERDICT_PARTIAL, "allocator",
			"link its allocator as a shared library, or build it without its own "
			"malloc",
			"it defines its own malloc, which the loader finds before the recorder's: "
			"calls of malloc are not recorded, only C++ new and delete from libstdc++");
}

static void check_linking(struct hl_elf_file *f, struct target *t)
{
	char loader[256];

	hl_elf_file_loader(f, loader, sizeof(loader));
	if (!loader[0]) {
		add_failure(t, "linking", "it is statically linked: its malloc cannot be replaced",
			"link it dynamically (without -static)");
	} else if (strstr(loader, "ld-musl")) {
		add_failure(t, "loader", "it uses musl libc, but the recorder needs glibc",
			"build it against glibc");
	} else if (check_helper_file(t, "loader", "its loader", loader,
			   "install the libc that it was built against, or build it here")) {
		check_sanitizer(f, t);
		check_allocator(f, t);
	}
}

static void check_privileges(int fd, struct target *t)
{
	struct stat st;
	char caps[64];

	if (fstat(fd, &st) == 0 && ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
					   (st.st_mode & S_ISGID && st.st_gid != getegid())))
		add_failure(t, "privileges",
			"it is setuid or setgid: the loader ignores LD_PRELOAD for it",
			"record a copy without these bits, as the user it would become");
	else if (geteuid() != 0 && fgetxattr(fd, "security.capability", caps, sizeof(caps)) > 0)
		add_failure(t, "privileges",
			"it has file capabilities: the loader ignores LD_PRELOAD for it",
			"record a copy without them");
}

/* Returns false if it is not an ELF file. */
static bool check_elf(int fd, struct target *t)
{
	struct hl_elf_file f;
	int err = hl_elf_file_open(&f, fd);

	if (err == -ENOEXEC)
		return false;
	if (err == -ENOTSUP || f.head.e_machine != HL_ARCH_ELF_MACHINE)
		add_failure(t, "architecture",
			"it is built for another architecture than this heaplapse (" HL_ARCH_NAME
			")",
			"use a heaplapse built for it");
	else if (err || f.n_segments == 0)
		add_failure(t, "file", "its ELF headers cannot be read",
			"check that the file is complete");
	else if (!hl_elf_file_is_whole(&f))
		add_failure(t, "file",
			"its segments extend beyond the end of the file: it is truncated",
			"copy or build it again");
	else
		check_linking(&f, t);
	hl_elf_file_close(&f);
	if (!hl_findings_first(&t->findings, HL_VERDICT_FAILS))
		check_privileges(fd, t);
	return true;
}

static void check_file(const char *path, struct target *t, int depth);

/* Returns the path of the program that env will run: the first word that is not an option and does
 * not set a variable, searched in PATH. NULL if there is none. The caller frees it. */
static char *find_env_program(char *words)
{
	static struct target found; /* `record` may have a small stack */
	char *rest, *word = strtok_r(words, " \t\r", &rest);

	while (word && (word[0] == '-' || strchr(word, '=')))
		word = strtok_r(NULL, " \t\r", &rest);
	return word && find_in_path(word, &found) == 0 ? strdup(found.path) : NULL;
}

static void check_script(char *head, struct target *t, int depth)
{
	char *name = head + 2 + strspn(head + 2, " \t"), *base, *words, *path = NULL;

	t->is_script = true;
	name[strcspn(name, "\n")] = '\0';
	words = name + strcspn(name, " \t"); /* a \r is part of the name, for the kernel too */
	if (*words)
		*words++ = '\0';
	if (!*name || !check_helper_file(t, "script", "its interpreter", name,
			      "install it, or correct the first line of the script"))
		return;
	if (depth == 0) {
		t->cannot_run = -ELOOP;
		return add_failure(t, "script",
			"its interpreter is a script whose interpreter is a script, too many "
			"levels deep",
			"name a program, not a script, in the first line");
	}
	base = strrchr(name, '/');
	if (strcmp(base ? base + 1 : name, "env") == 0)
		path = find_env_program(words);
	check_file(path ? path : name, t, depth - 1);
	free(path);
}

static void check_file(const char *path, struct target *t, int depth)
{
	char head[HEAD_BYTES + 1] = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	snprintf(t->image, sizeof(t->image), "%s", path);
	if (fd < 0)
		return; /* executable but not readable: the loader will report it */
	if (!check_elf(fd, t) && read(fd, head, HEAD_BYTES) > 2 && head[0] == '#' && head[1] == '!')
		check_script(head, t, depth);
	close(fd);
}

static void check_name(struct target *t)
{
	const char *slash = strrchr(t->path, '/');

	if (strcmp(slash ? slash + 1 : t->path, "valgrind") == 0)
		hl_findings_add(&t->findings, HL_VERDICT_PARTIAL, "valgrind",
			"record the program itself, without valgrind",
			"valgrind replaces malloc: allocations of the program are not recorded");
}

int hl_program_find(const char *program, struct target *t)
{
	int err;

	memset(t, 0, sizeof(*t));
	err = find_in_path(program, t);
	if (err)
		return err;
	check_file(t->path, t, SCRIPT_DEPTH);
	check_name(t);
	return 0;
}

void hl_program_check_file(const char *path, const char *name, struct target *t)
{
	memset(t, 0, sizeof(*t));
	snprintf(t->path, sizeof(t->path), "%s", name);
	t->is_running = true;
	check_file(path, t, SCRIPT_DEPTH);
}

void hl_program_fini(struct target *t)
{
	hl_findings_fini(&t->findings);
}

const char *hl_program_error_text(const char *program, int err)
{
	struct stat st;

	if (err == -ENOENT)
		return strchr(program, '/') ? "there is no such file" : "command not found";
	if (err == -EACCES && stat(program, &st) == 0)
		return S_ISDIR(st.st_mode) ? "is a directory, not a program"
					   : "is not executable (chmod +x makes it so)";
	return strerror(-err);
}
