/*
 * target.c - see target.h. What `record` needs to know before each start is judged first, from few
 * reads; the rest is for `doctor`, in target_examine.c.
 */
#include <elf.h>
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

#include "cli/elf_file.h"
#include "cli/target.h"

#define HEAD_BYTES   1024u /* the kernel reads 256 of a script */
#define SCRIPT_DEPTH 5     /* the kernel goes as far */

/* 0 or -errno, as exec would find it. */
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
		int len = (int)strcspn(path, ":"), one;

		snprintf(full, sizeof(full), "%.*s%s%s", len, path, len ? "/" : "./", program);
		one = try_path(full, t);
		if (one == 0)
			return 0;
		if (one == -EACCES)
			err = one;
		if (!path[len])
			return err;
	}
}

static void refuse(struct target *t, const char *check, const char *problem, const char *remedy)
{
	hl_findings_add(&t->findings, HL_VERDICT_FAILS, check, remedy, "%s", problem);
}

/* The kernel needs another file to run it: the loader, or what interprets a script. */
static bool judge_helper(
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

static void judge_sanitizer(const struct hl_elf_file *f, struct target *t)
{
	static const char *const signs[] = {"libasan.so", "libtsan.so", "libmsan.so", "liblsan.so",
		"libhwasan.so", "__asan_init", "__tsan_init", "__msan_init", "__hwasan_init",
		"__lsan_init"};

	for (size_t i = 0; i < HL_ARRAY_LEN(signs); i++)
		if (hl_elf_file_mentions(f, signs[i]))
			return refuse(t, "sanitizer",
				"it is built with a sanitizer, which replaces malloc itself",
				"build it without -fsanitize");
}

/* The loader asks the program first, and LD_PRELOAD only after that. */
static void judge_allocator(const struct hl_elf_file *f, struct target *t)
{
	static const char *const names[] = {"malloc"};

	if (hl_elf_file_defines(f, SHT_DYNSYM, names, 1))
		hl_findings_add(&t->findings, HL_VERDICT_PARTIAL, "allocator",
			"link its allocator as a shared library, or build it without",
			"it brings its own malloc, which the loader finds before the recorder's: "
			"what it and its libraries allocate by malloc is not seen, only C++'s new "
			"and delete where they come from libstdc++");
}

static void judge_dynamic(int fd, const Elf64_Ehdr *e, struct target *t)
{
	struct hl_elf_file f;

	if (hl_elf_file_read(&f, fd, e) < 0) {
		refuse(t, "file", "its ELF headers cannot be read", "check that the file is whole");
	} else if (!hl_elf_file_is_whole(&f)) {
		refuse(t, "file", "its segments reach beyond the end of the file: it is cut off",
			"copy or build it again");
	} else if (!f.interp[0]) {
		refuse(t, "linking", "it is statically linked: its malloc cannot be replaced",
			"link it dynamically (without -static)");
	} else if (strstr(f.interp, "ld-musl")) {
		refuse(t, "loader", "it uses musl's libc, and the recorder needs glibc",
			"build it against glibc");
	} else if (judge_helper(t, "loader", "its loader", f.interp,
			   "install the libc that it was built against, or build it here")) {
		judge_sanitizer(&f, t);
		judge_allocator(&f, t);
	}
	hl_elf_file_free(&f);
}

static void judge_elf(int fd, const unsigned char *head, struct target *t)
{
	const Elf64_Ehdr *e = (const void *)head;

	if (head[EI_CLASS] != ELFCLASS64 || head[EI_DATA] != ELFDATA2LSB ||
		e->e_machine != EM_X86_64)
		return refuse(t, "architecture",
			"it is for another architecture than this heaplapse (x86_64)",
			"use a heaplapse built for it");
	judge_dynamic(fd, e, t);
}

static void judge_privileges(int fd, struct target *t)
{
	struct stat st;
	char caps[64];

	if (fstat(fd, &st) == 0 && ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
					   (st.st_mode & S_ISGID && st.st_gid != getegid())))
		refuse(t, "privileges",
			"it is setuid or setgid: the loader ignores LD_PRELOAD for it",
			"record a copy without these bits, as the user it would become");
	else if (geteuid() != 0 && fgetxattr(fd, "security.capability", caps, sizeof(caps)) > 0)
		refuse(t, "privileges",
			"it has file capabilities: the loader ignores LD_PRELOAD for it",
			"record a copy without them");
}

static void judge(const char *path, struct target *t, int depth);

/* The first word that is no option and sets no variable, found in PATH: what env will run, for the
 * caller to free; NULL: none. */
static char *behind_env(char *words)
{
	static struct target found; /* `record` may have little stack */
	char *rest, *word = strtok_r(words, " \t\r", &rest);

	while (word && (word[0] == '-' || strchr(word, '=')))
		word = strtok_r(NULL, " \t\r", &rest);
	return word && find_in_path(word, &found) == 0 ? strdup(found.path) : NULL;
}

static void judge_script(char *head, struct target *t, int depth)
{
	char *name = head + 2 + strspn(head + 2, " \t"), *base, *words, *path = NULL;

	t->is_script = true;
	name[strcspn(name, "\n")] = '\0';
	words = name + strcspn(name, " \t"); /* a \r is a part of the name, for the kernel too */
	if (*words)
		*words++ = '\0';
	if (!*name || !judge_helper(t, "script", "its interpreter", name,
			      "install it, or correct the first line of the script"))
		return;
	if (depth == 0) {
		t->cannot_run = -ELOOP;
		return refuse(t, "script", "its interpreter is a script itself, and so on",
			"name a program as interpreter in the first line");
	}
	base = strrchr(name, '/');
	if (strcmp(base ? base + 1 : name, "env") == 0)
		path = behind_env(words);
	judge(path ? path : name, t, depth - 1);
	free(path);
}

static void judge(const char *path, struct target *t, int depth)
{
	unsigned char head[HEAD_BYTES + 1] = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	snprintf(t->image, sizeof(t->image), "%s", path);
	if (fd < 0)
		return; /* executable but not readable: the loader will say */
	n = read(fd, head, HEAD_BYTES);
	if (n >= (ssize_t)sizeof(Elf64_Ehdr) && !memcmp(head, ELFMAG, SELFMAG)) {
		judge_elf(fd, head, t);
		if (!hl_findings_first(&t->findings, HL_VERDICT_FAILS))
			judge_privileges(fd, t);
	} else if (n > 2 && head[0] == '#' && head[1] == '!') {
		judge_script((char *)head, t, depth);
	}
	close(fd);
}

static void judge_name(struct target *t)
{
	const char *slash = strrchr(t->path, '/');

	if (strcmp(slash ? slash + 1 : t->path, "valgrind") == 0)
		hl_findings_add(&t->findings, HL_VERDICT_PARTIAL, "valgrind",
			"record the program itself, without valgrind",
			"valgrind runs programs on a malloc of its own: what they allocate there "
			"is not seen");
}

int hl_target_find(const char *program, struct target *t)
{
	int err;

	memset(t, 0, sizeof(*t));
	err = find_in_path(program, t);
	if (err)
		return err;
	judge(t->path, t, SCRIPT_DEPTH);
	judge_name(t);
	return 0;
}

void hl_target_judge(const char *path, const char *name, struct target *t)
{
	memset(t, 0, sizeof(*t));
	snprintf(t->path, sizeof(t->path), "%s", name);
	t->is_running = true;
	judge(path, t, SCRIPT_DEPTH);
}

void hl_target_fini(struct target *t)
{
	hl_findings_fini(&t->findings);
}

const char *hl_target_why_not(const char *program, int err)
{
	struct stat st;

	if (err == -ENOENT)
		return strchr(program, '/') ? "there is no such file" : "command not found";
	if (err == -EACCES && stat(program, &st) == 0)
		return S_ISDIR(st.st_mode) ? "is a folder, not a program"
					   : "is not executable; if it is a program: chmod +x";
	return strerror(-err);
}
