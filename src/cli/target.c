/*
 * target.c - see target.h. Reads the ELF header, the program headers and the dynamic section of the
 * file; everything in it is checked against the file's size.
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

#include "cli/target.h"

#define HEAD_BYTES   4096u
#define STRINGS_MAX  (4u << 20)
#define SCRIPT_DEPTH 5

static int try_path(const char *path, struct target *t)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return -EACCES;
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

static void refuse(struct target *t, const char *problem, const char *remedy)
{
	t->problem = problem;
	t->remedy = remedy;
}

/* Reads [offset, offset + n) or nothing. */
static bool read_at(int fd, void *buf, size_t n, uint64_t offset)
{
	return pread(fd, buf, n, (off_t)offset) == (ssize_t)n;
}

/* The file offset of an address, from the loaded segments. */
static bool file_offset(const Elf64_Phdr *ph, unsigned n, uint64_t addr, uint64_t *out)
{
	for (unsigned i = 0; i < n; i++)
		if (ph[i].p_type == PT_LOAD && addr >= ph[i].p_vaddr &&
			addr - ph[i].p_vaddr < ph[i].p_filesz) {
			*out = ph[i].p_offset + (addr - ph[i].p_vaddr);
			return true;
		}
	return false;
}

/* Does the dynamic string table name a sanitizer's runtime, or its init function? */
static bool has_sanitizer(int fd, const Elf64_Phdr *ph, unsigned n, const Elf64_Phdr *dynamic)
{
	static const char *const signs[] = {"libasan.so", "libtsan.so", "libmsan.so", "liblsan.so",
		"libhwasan.so", "__asan_init", "__tsan_init", "__msan_init", "__hwasan_init",
		"__lsan_init"};
	uint64_t strings = 0, size = 0, at;
	bool found = false;
	char *text;

	for (uint64_t o = 0; o + sizeof(Elf64_Dyn) <= dynamic->p_filesz && o < 65536;
		o += sizeof(Elf64_Dyn)) {
		Elf64_Dyn d;

		if (!read_at(fd, &d, sizeof(d), dynamic->p_offset + o) || d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_STRTAB)
			strings = d.d_un.d_ptr;
		if (d.d_tag == DT_STRSZ)
			size = d.d_un.d_val;
	}
	if (!size || size > STRINGS_MAX || !file_offset(ph, n, strings, &at))
		return false;
	text = malloc(size);
	if (text && read_at(fd, text, size, at))
		for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]) && !found; i++)
			found = memmem(text, size, signs[i], strlen(signs[i])) != NULL;
	free(text);
	return found;
}

static void judge_dynamic(int fd, const Elf64_Ehdr *e, struct target *t)
{
	Elf64_Phdr ph[64];
	const Elf64_Phdr *dynamic = NULL;
	char interp[256] = "";
	unsigned n = e->e_phnum < 64 ? e->e_phnum : 64;

	if (e->e_phentsize != sizeof(ph[0]) || !read_at(fd, ph, n * sizeof(ph[0]), e->e_phoff))
		return refuse(t, "its ELF headers cannot be read", "check that the file is whole");
	for (unsigned i = 0; i < n; i++) {
		if (ph[i].p_type == PT_DYNAMIC)
			dynamic = &ph[i];
		if (ph[i].p_type == PT_INTERP && ph[i].p_filesz < sizeof(interp))
			read_at(fd, interp, ph[i].p_filesz, ph[i].p_offset);
	}
	if (!interp[0])
		return refuse(t, "it is statically linked: its malloc cannot be replaced",
			"link it dynamically (without -static)");
	if (strstr(interp, "ld-musl"))
		return refuse(t, "it uses musl's libc, and the recorder needs glibc",
			"build it against glibc");
	if (dynamic && has_sanitizer(fd, ph, n, dynamic))
		refuse(t, "it is built with a sanitizer, which replaces malloc itself",
			"build it without -fsanitize");
}

static void judge_elf(int fd, const unsigned char *head, struct target *t)
{
	const Elf64_Ehdr *e = (const void *)head;

	if (head[EI_CLASS] != ELFCLASS64 || head[EI_DATA] != ELFDATA2LSB ||
		e->e_machine != EM_X86_64)
		return refuse(t, "it is for another architecture than this heaplapse (x86_64)",
			"use a heaplapse built for it");
	judge_dynamic(fd, e, t);
}

static void judge_privileges(int fd, struct target *t)
{
	struct stat st;
	char caps[64];

	if (fstat(fd, &st) == 0 && ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
					   (st.st_mode & S_ISGID && st.st_gid != getegid())))
		refuse(t, "it is setuid or setgid: the loader ignores LD_PRELOAD for it",
			"record a copy without these bits, as the user it would become");
	else if (geteuid() != 0 && fgetxattr(fd, "security.capability", caps, sizeof(caps)) > 0)
		refuse(t, "it has file capabilities: the loader ignores LD_PRELOAD for it",
			"record a copy without them");
}

static void judge(const char *path, struct target *t, int depth);

static void judge_script(char *head, struct target *t, int depth)
{
	char *name = head + 2 + strspn(head + 2, " \t");

	name[strcspn(name, " \t\r\n")] = '\0';
	if (*name)
		judge(name, t, depth - 1);
}

static void judge(const char *path, struct target *t, int depth)
{
	unsigned char head[HEAD_BYTES + 1] = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	if (fd < 0 || depth == 0) {
		if (fd >= 0)
			close(fd);
		return; /* executable but not readable: the loader will say */
	}
	n = read(fd, head, HEAD_BYTES);
	if (n >= (ssize_t)sizeof(Elf64_Ehdr) && !memcmp(head, ELFMAG, SELFMAG)) {
		judge_elf(fd, head, t);
		if (!t->problem)
			judge_privileges(fd, t);
	} else if (n > 2 && head[0] == '#' && head[1] == '!') {
		judge_script((char *)head, t, depth);
	}
	close(fd);
}

int hl_target_find(const char *program, struct target *t)
{
	int err;

	memset(t, 0, sizeof(*t));
	err = find_in_path(program, t);
	if (err)
		return err;
	judge(t->path, t, SCRIPT_DEPTH);
	return 0;
}
