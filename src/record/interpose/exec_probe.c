/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_probe.c - examines a program that is about to be executed: can it be recorded?
 *
 * Some programs cannot run with the recorder in LD_PRELOAD: the address sanitizer must be the first
 * library and ends the program if it is not, musl's loader cannot load us and gives up, the loader
 * of another machine complains on stderr. These are executed without the recorder. Others ignore
 * LD_PRELOAD: static programs, which pass it on to their own children, and programs that gain
 * rights. Each program that is not recorded is announced once, by the first process of the
 * recording that executes it.
 *
 * All contents of the file are untrusted. Only the stack is used as memory: we may be between vfork
 * and exec, or in a signal handler.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include "base/bits.h"
#include "base/hash.h"
#include "record/arch/syscall.h"
#include "record/interpose/preload_list.h"
#include "record/session/recorder.h"
#include "record/interpose/exec_probe.h"
#include "record/session/lifecycle.h"
#include "ring/announced_programs.h"

#define PHDRS_MAX   64u
#define DYNS_MAX    4096u
#define NEEDED_MAX  512u
#define NAME_BYTES  32u
#define FIRST_BYTES 128u

/* Shared with all processes of the recording; under a bare LD_PRELOAD with those of this program
 * image. NULL: programs are not examined. */
static struct hl_announced *announced;

static bool read_at(long fd, void *buf, size_t n, uint64_t offset)
{
	return hl_sys4(SYS_pread64, fd, buf, n, offset) == (long)n;
}

static bool is_sanitizer(const char *name)
{
	static const char *const names[] = {
		"libasan.so", "libhwasan.so", "libclang_rt.asan", "libclang_rt.hwasan"};

	for (size_t i = 0; i < HL_ARRAY_LEN(names); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

/* The offset in the file of an address; UINT64_MAX: it is in no segment. */
static uint64_t find_offset(long fd, const Elf64_Ehdr *e, uint64_t address)
{
	Elf64_Phdr ph;

	for (uint32_t i = 0; i < hl_min_u32(e->e_phnum, PHDRS_MAX); i++)
		if (read_at(fd, &ph, sizeof(ph), e->e_phoff + i * sizeof(ph)) &&
			ph.p_type == PT_LOAD && address - ph.p_vaddr < ph.p_filesz)
			return ph.p_offset + (address - ph.p_vaddr);
	return UINT64_MAX;
}

static uint64_t find_strings(long fd, const Elf64_Ehdr *e, const Elf64_Phdr *dynamic)
{
	Elf64_Dyn d;

	for (uint32_t i = 0; i < hl_min_u64(dynamic->p_filesz / sizeof(d), DYNS_MAX); i++) {
		if (!read_at(fd, &d, sizeof(d), dynamic->p_offset + i * sizeof(d)) ||
			d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_STRTAB)
			return find_offset(fd, e, d.d_un.d_ptr);
	}
	return UINT64_MAX;
}

/* The libraries come first in the section, and the sanitizer's is among the first of them. */
static bool needs_sanitizer(long fd, const Elf64_Ehdr *e, const Elf64_Phdr *dynamic)
{
	uint64_t strings = find_strings(fd, e, dynamic);
	char name[NAME_BYTES + 1] = "";
	Elf64_Dyn d;

	for (uint32_t i = 0; strings != UINT64_MAX && i < NEEDED_MAX; i++) {
		if (!read_at(fd, &d, sizeof(d), dynamic->p_offset + i * sizeof(d)) ||
			d.d_tag != DT_NEEDED)
			return false;
		if (read_at(fd, name, NAME_BYTES, strings + d.d_un.d_val) && is_sanitizer(name))
			return true;
	}
	return false;
}

static bool has_entry(long fd, const Elf64_Phdr *dynamic, int64_t tag)
{
	Elf64_Dyn d;

	for (uint32_t i = 0; i < hl_min_u64(dynamic->p_filesz / sizeof(d), DYNS_MAX); i++) {
		if (!read_at(fd, &d, sizeof(d), dynamic->p_offset + i * sizeof(d)) ||
			d.d_tag == DT_NULL)
			break;
		if (d.d_tag == tag)
			return true;
	}
	return false;
}

static bool is_musl(long fd, const Elf64_Phdr *interp)
{
	char name[NAME_BYTES] = "";

	return read_at(fd, name, hl_min_u64(interp->p_filesz, NAME_BYTES - 1), interp->p_offset) &&
	       !strncmp(name, "/lib/ld-musl", 12);
}

/* Neither a static program nor a loader that is executed directly has an interpreter. Only the
 * loader has a DT_SONAME, and it loads the recorder. */
static void examine_segments(struct hl_exec_probe *n, long fd, const Elf64_Ehdr *e)
{
	Elf64_Phdr ph, interp = {0}, dynamic = {0};

	for (uint32_t i = 0; i < hl_min_u32(e->e_phnum, PHDRS_MAX); i++) {
		if (!read_at(fd, &ph, sizeof(ph), e->e_phoff + i * sizeof(ph)))
			return;
		if (ph.p_type == PT_INTERP)
			interp = ph;
		if (ph.p_type == PT_DYNAMIC)
			dynamic = ph;
	}
	if (!interp.p_type && e->e_phnum && !has_entry(fd, &dynamic, DT_SONAME)) {
		n->why = "is statically linked";
		return;
	}
	if (interp.p_type && is_musl(fd, &interp))
		n->why = "uses musl's libc";
	else if (dynamic.p_type && needs_sanitizer(fd, e, &dynamic))
		n->why = "is built with the address sanitizer, which must be the first library";
	n->strip_preload = n->why != NULL;
}

/* True if the kernel lets this file change our user, group or capabilities. */
static bool may_gain_rights(long fd)
{
	struct statfs fs;

	return hl_sys5(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 &&
	       !(hl_sys2(SYS_fstatfs, fd, &fs) == 0 && fs.f_flags & ST_NOSUID);
}

static bool has_capabilities(long fd)
{
	struct vfs_cap_data caps = {0};
	long n = hl_sys4(SYS_fgetxattr, fd, "security.capability", &caps, sizeof(caps));

	if (n == -ERANGE) /* of a user namespace: it is one word longer */
		return true;
	return n > 0 && (caps.magic_etc & VFS_CAP_FLAGS_EFFECTIVE || caps.data[0].permitted ||
				caps.data[1].permitted);
}

/* As the kernel decides about AT_SECURE, for which the loader ignores LD_PRELOAD. */
static const char *examine_rights(long fd, const struct stat *st)
{
	uint32_t uid = (uint32_t)hl_sys0(SYS_getuid), gid = (uint32_t)hl_sys0(SYS_getgid);
	uint32_t euid = (uint32_t)hl_sys0(SYS_geteuid), egid = (uint32_t)hl_sys0(SYS_getegid);
	bool gains = may_gain_rights(fd);

	if (gains && st->st_mode & S_ISUID)
		euid = st->st_uid;
	if (gains && (st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
		egid = st->st_gid;
	if (euid != uid || egid != gid)
		return st->st_mode & (S_ISUID | S_ISGID)
			       ? "is setuid or setgid: the loader ignores LD_PRELOAD for it"
			       : "runs as another user than the real one: the loader ignores "
				 "LD_PRELOAD for it";
	if (gains && uid != 0 && has_capabilities(fd))
		return "has file capabilities: the loader ignores LD_PRELOAD for it";
	return NULL;
}

static void examine_path(struct hl_exec_probe *n, long dir, const char *path, int depth);

/* Examines the interpreter that a script names. */
static void examine_script(struct hl_exec_probe *n, char *first, int depth)
{
	char *name = first + 2, *end;

	while (*name == ' ' || *name == '\t')
		name++;
	for (end = name; *end && *end != ' ' && *end != '\t' && *end != '\n'; end++)
		;
	if (end == name || !*end)
		return;
	*end = '\0';
	n->by_script = true;
	examine_path(n, AT_FDCWD, name, depth + 1);
}

static void examine_file(struct hl_exec_probe *n, long fd, const struct stat *st, int depth)
{
	union {
		Elf64_Ehdr elf;
		char text[FIRST_BYTES + 1];
	} first = {.text = ""};
	long len = hl_sys4(SYS_pread64, fd, &first, FIRST_BYTES, 0);

	if (len > 2 && first.text[0] == '#' && first.text[1] == '!') {
		if (depth < 4)
			examine_script(n, first.text, depth);
		return;
	}
	if (len >= 0 && (len < (long)sizeof(first.elf) || memcmp(first.text, ELFMAG, SELFMAG) != 0))
		return;
	n->why = examine_rights(fd, st);
	if (n->why || len < 0) /* executable but not readable */
		return;
	if (first.text[EI_CLASS] != ELFCLASS64 || first.elf.e_machine != HL_ARCH_ELF_MACHINE) {
		n->why = "is for another architecture";
		n->strip_preload = true;
	} else if (first.elf.e_phentsize == sizeof(Elf64_Phdr)) {
		examine_segments(n, fd, &first.elf);
	}
}

/* Includes the change time, because a new file may get the inode number of a deleted one.
 * Never 0. */
static uint64_t file_id(const struct stat *st)
{
	uint64_t file = hl_hash_pair(st->st_dev, st->st_ino);

	return hl_hash_pair(hl_hash_pair(file, (uint64_t)st->st_ctim.tv_sec),
		       (uint64_t)st->st_ctim.tv_nsec) |
	       1;
}

static void examine(struct hl_exec_probe *n, long fd, int depth)
{
	struct stat st;

	if (hl_sys2(SYS_fstat, fd, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		return; /* it will not run */
	if (depth == 0)
		n->id = file_id(&st);
	examine_file(n, fd, &st, depth);
}

static void examine_path(struct hl_exec_probe *n, long dir, const char *path, int depth)
{
	long fd = hl_sys4(SYS_openat, dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);

	if (fd == -EACCES)
		fd = hl_sys4(SYS_openat, dir, path, O_PATH | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	examine(n, fd, depth);
	hl_sys1(SYS_close, fd);
}

static bool is_preload(const char *variable)
{
	return !strncmp(variable, "LD_PRELOAD=", 11);
}

/* If the recorder is not in the environment, the program is not meant to be recorded, and nothing
 * is announced. */
static bool should_probe(char *const envp[])
{
	if (!announced || hl_rec.no_syscalls)
		return false;
	for (; envp && *envp; envp++)
		if (is_preload(*envp) && hl_preload_contains(*envp + 11, HL_PRELOAD_OURS))
			return true;
	return false;
}

struct hl_exec_probe hl_exec_probe_path(int dir, const char *path, char *const envp[])
{
	struct hl_exec_probe n = {0};

	if (should_probe(envp))
		examine_path(&n, dir, path, 0);
	return n;
}

struct hl_exec_probe hl_exec_probe_fd(int fd, char *const envp[])
{
	struct hl_exec_probe n = {0};

	if (should_probe(envp))
		examine(&n, fd, 0);
	return n;
}

/* Makes DIR/FILE from a part of PATH that has `len` bytes. False: it is too long. */
static bool join_path(char *full, size_t size, const char *dir, size_t len, const char *file)
{
	size_t file_len = strlen(file);

	if (len + file_len + 2 > size)
		return false;
	memcpy(full, dir, len);
	full[len] = '/';
	memcpy(full + len + (len > 0), file, file_len + 1);
	return true;
}

/* As execvp does: the first file of this name in PATH that can be executed. */
struct hl_exec_probe hl_exec_probe_file(const char *file, const char *path, char *const envp[])
{
	struct hl_exec_probe n = {0};
	char full[1024];

	if (strchr(file, '/') || !path)
		return hl_exec_probe_path(AT_FDCWD, file, envp);
	if (!should_probe(envp))
		return n;
	for (const char *at = path;; at++) {
		const char *end = strchr(at, ':');
		size_t len = end ? (size_t)(end - at) : strlen(at);

		if (!join_path(full, sizeof(full), at, len, file))
			return n;
		if (hl_sys3(SYS_faccessat, AT_FDCWD, full, 1 /* X_OK */) == 0) {
			examine_path(&n, AT_FDCWD, full, 0);
			if (n.id) /* else it is a directory */
				return n;
		}
		if (!end)
			return n;
		at = end;
	}
}

/* --- the environment without the recorder --- */

size_t hl_exec_probe_env_bytes(char *const envp[])
{
	size_t n = 1, bytes = 0;

	for (; envp && *envp; envp++, n++)
		if (is_preload(*envp))
			bytes += strlen(*envp) + 1;
	return n * sizeof(*envp) + bytes;
}

/* Copies the list without the recorder. Returns the end of the copy. */
static char *copy_other_preloads(char *to, const char *list)
{
	char *first = to;

	while (*list) {
		const char *end = hl_preload_end(list);

		if (end > list &&
			!hl_preload_has_name(list, (size_t)(end - list), HL_PRELOAD_OURS)) {
			if (to > first)
				*to++ = ':';
			memcpy(to, list, (size_t)(end - list));
			to += end - list;
		}
		list = *end ? end + 1 : end;
	}
	*to++ = '\0';
	return to;
}

char *const *hl_exec_probe_env(char *const envp[], void *room)
{
	char **copy = room, *text;
	size_t n = 0;

	for (; envp && envp[n]; n++)
		copy[n] = envp[n];
	copy[n] = NULL;
	text = (char *)(copy + n + 1);
	for (size_t i = 0; i < n; i++)
		if (is_preload(copy[i])) {
			char *variable = text;

			memcpy(text, copy[i], 11);
			text = copy_other_preloads(text + 11, copy[i] + 11);
			copy[i] = variable;
		}
	return copy;
}

void hl_exec_probe_announce(const struct hl_exec_probe *n, const char *path)
{
	switch (hl_announced_add(announced, n->id)) {
	case HL_ANNOUNCED_NEW:
		hl_print_message4(path ? path : "a program",
			" is not recorded: ", n->by_script ? "its interpreter " : "it ", n->why);
		break;
	case HL_ANNOUNCED_FULL:
		hl_print_message("more programs are not recorded", "too many to name each of them");
		break;
	case HL_ANNOUNCED_KNOWN:
		break;
	}
}

void hl_exec_probe_begin(int fd)
{
	long p = hl_sys6(SYS_mmap, 0, sizeof(*announced), PROT_READ | PROT_WRITE,
		fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

	if (p > 0 || p < -4095)
		announced = (struct hl_announced *)p;
}

void hl_exec_probe_end(void)
{
	if (announced)
		hl_sys2(SYS_munmap, announced, sizeof(*announced));
	announced = NULL;
}

/* LD_PRELOAD=... without the recorder, in new memory, because the variable may be a constant. NULL:
 * the recorder is the only entry. */
static char *preload_without_us(const char *variable)
{
	char *copy = hl_arch_map(strlen(variable) + 1);

	if (!copy)
		return NULL;
	memcpy(copy, variable, 11);
	copy_other_preloads(copy + 11, variable + 11);
	if (copy[11])
		return copy;
	hl_arch_unmap(copy, strlen(variable) + 1);
	return NULL;
}

void hl_exec_probe_strip_env(char **envp)
{
	char **to = envp;

	for (; envp && *envp; envp++) {
		char *variable = *envp;

		if (!strncmp(variable, "HEAPLAPSE_SOCKET=", 17))
			continue;
		if (is_preload(variable))
			variable = preload_without_us(variable);
		if (variable)
			*to++ = variable;
	}
	if (to)
		*to = NULL;
}
