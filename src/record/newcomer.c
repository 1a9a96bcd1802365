/*
 * newcomer.c - the program that is about to be executed: can it be recorded?
 *
 * Some cannot bear us in their LD_PRELOAD: the address sanitizer wants to be the first library and
 * ends the program if it is not, musl's loader cannot load us and gives up, a loader of another
 * machine complains on stderr. These are executed without us. Others ignore LD_PRELOAD: static
 * programs, which hand it on to their own children, and programs that gain rights. Each program
 * that is not recorded is announced once, by whatever process of the recording executes it first.
 * Everything in the file is read as hostile. No memory but the stack: we may be between vfork and
 * exec, or in a handler.
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
#include "record/preload.h"
#include "record/recorder.h"
#include "ring/announced.h"

#define PHDRS_MAX   64u
#define DYNS_MAX    4096u
#define NEEDED_MAX  512u
#define NAME_BYTES  32u
#define FIRST_BYTES 128u

/* Shared with all processes of the recording; under a bare LD_PRELOAD with those of this image.
 * NULL: nothing is judged. */
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

/* Where in the file the address lies; UINT64_MAX: nowhere. */
static uint64_t offset_of(long fd, const Elf64_Ehdr *e, uint64_t address)
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
			return offset_of(fd, e, d.d_un.d_ptr);
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

/* A loader that is executed itself has no interpreter either, but a name as a library: it loads
 * us. */
static void judge_segments(struct hl_newcomer *n, long fd, const Elf64_Ehdr *e)
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
		n->why = "is built with the address sanitizer, which wants to be the first library";
	n->strips = n->why != NULL;
}

/* Does the kernel let this file change who we are? */
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

	if (n == -ERANGE) /* of a user namespace: a word longer */
		return true;
	return n > 0 && (caps.magic_etc & VFS_CAP_FLAGS_EFFECTIVE || caps.data[0].permitted ||
				caps.data[1].permitted);
}

/* As the kernel decides for AT_SECURE, where the loader ignores LD_PRELOAD. */
static const char *judge_rights(long fd, const struct stat *st)
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

static void judge_path(struct hl_newcomer *n, long dir, const char *path, int depth);

/* The interpreter that a script names. */
static void judge_script(struct hl_newcomer *n, char *first, int depth)
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
	judge_path(n, AT_FDCWD, name, depth + 1);
}

static void judge_file(struct hl_newcomer *n, long fd, const struct stat *st, int depth)
{
	union {
		Elf64_Ehdr elf;
		char text[FIRST_BYTES + 1];
	} first = {.text = ""};
	long len = hl_sys4(SYS_pread64, fd, &first, FIRST_BYTES, 0);

	if (len > 2 && first.text[0] == '#' && first.text[1] == '!') {
		if (depth < 4)
			judge_script(n, first.text, depth);
		return;
	}
	if (len >= 0 && (len < (long)sizeof(first.elf) || memcmp(first.text, ELFMAG, SELFMAG) != 0))
		return;
	n->why = judge_rights(fd, st);
	if (n->why || len < 0) /* it may be executed and not read */
		return;
	if (first.text[EI_CLASS] != ELFCLASS64 || first.elf.e_machine != HL_ARCH_ELF_MACHINE) {
		n->why = "is for another architecture";
		n->strips = true;
	} else if (first.elf.e_phentsize == sizeof(Elf64_Phdr)) {
		judge_segments(n, fd, &first.elf);
	}
}

/* The time, because a file that is made anew may get the old one's number. Never 0. */
static uint64_t file_id(const struct stat *st)
{
	uint64_t file = hl_hash_pair(st->st_dev, st->st_ino);

	return hl_hash_pair(hl_hash_pair(file, (uint64_t)st->st_ctim.tv_sec),
		       (uint64_t)st->st_ctim.tv_nsec) |
	       1;
}

static void judge(struct hl_newcomer *n, long fd, int depth)
{
	struct stat st;

	if (hl_sys2(SYS_fstat, fd, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		return; /* it will not run */
	if (depth == 0)
		n->id = file_id(&st);
	judge_file(n, fd, &st, depth);
}

static void judge_path(struct hl_newcomer *n, long dir, const char *path, int depth)
{
	long fd = hl_sys4(SYS_openat, dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);

	if (fd == -EACCES)
		fd = hl_sys4(SYS_openat, dir, path, O_PATH | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	judge(n, fd, depth);
	hl_sys1(SYS_close, fd);
}

static bool is_preload(const char *variable)
{
	return !strncmp(variable, "LD_PRELOAD=", 11);
}

/* Without us in its environment a program is not to be recorded, and nobody is to be told. */
static bool may_ask(char *const envp[])
{
	if (!announced || hl_rec.no_syscalls)
		return false;
	for (; envp && *envp; envp++)
		if (is_preload(*envp) && hl_preload_lists(*envp + 11, HL_PRELOAD_OURS))
			return true;
	return false;
}

struct hl_newcomer hl_newcomer_judge(int dir, const char *path, char *const envp[])
{
	struct hl_newcomer n = {0};

	if (may_ask(envp))
		judge_path(&n, dir, path, 0);
	return n;
}

struct hl_newcomer hl_newcomer_judge_fd(int fd, char *const envp[])
{
	struct hl_newcomer n = {0};

	if (may_ask(envp))
		judge(&n, fd, 0);
	return n;
}

/* DIR/FILE, for a part of PATH of so many bytes; false: too long. */
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

/* As execvp does: the first of this name in PATH that can be executed. */
struct hl_newcomer hl_newcomer_judge_file(const char *file, const char *path, char *const envp[])
{
	struct hl_newcomer n = {0};
	char full[1024];

	if (strchr(file, '/') || !path)
		return hl_newcomer_judge(AT_FDCWD, file, envp);
	if (!may_ask(envp))
		return n;
	for (const char *at = path;; at++) {
		const char *end = strchr(at, ':');
		size_t len = end ? (size_t)(end - at) : strlen(at);

		if (!join_path(full, sizeof(full), at, len, file))
			return n;
		if (hl_sys3(SYS_faccessat, AT_FDCWD, full, 1 /* X_OK */) == 0) {
			judge_path(&n, AT_FDCWD, full, 0);
			if (n.id) /* else it is a folder */
				return n;
		}
		if (!end)
			return n;
		at = end;
	}
}

/* --- the environment without us --- */

size_t hl_newcomer_room(char *const envp[])
{
	size_t n = 1, bytes = 0;

	for (; envp && *envp; envp++, n++)
		if (is_preload(*envp))
			bytes += strlen(*envp) + 1;
	return n * sizeof(*envp) + bytes;
}

/* The list without us; its end. */
static char *copy_others(char *to, const char *list)
{
	char *first = to;

	while (*list) {
		const char *end = hl_preload_end(list);

		if (end > list && !hl_preload_is(list, (size_t)(end - list), HL_PRELOAD_OURS)) {
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

char *const *hl_newcomer_env(char *const envp[], void *room)
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
			text = copy_others(text + 11, copy[i] + 11);
			copy[i] = variable;
		}
	return copy;
}

void hl_newcomer_announce(const struct hl_newcomer *n, const char *path)
{
	switch (hl_announced_add(announced, n->id)) {
	case HL_ANNOUNCED_NEW:
		hl_life_message4(path ? path : "a program",
			" is not recorded: ", n->by_script ? "its interpreter " : "it ", n->why);
		break;
	case HL_ANNOUNCED_FULL:
		hl_life_message(
			"more programs are not recorded", "too many for each of them to be named");
		break;
	case HL_ANNOUNCED_KNOWN:
		break;
	}
}

void hl_newcomer_begin(int fd)
{
	long p = hl_sys6(SYS_mmap, 0, sizeof(*announced), PROT_READ | PROT_WRITE,
		fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

	if (p > 0 || p < -4095)
		announced = (struct hl_announced *)p;
}

void hl_newcomer_end(void)
{
	if (announced)
		hl_sys2(SYS_munmap, announced, sizeof(*announced));
	announced = NULL;
}

/* LD_PRELOAD=... without us, in memory of its own, for the variable may be a constant; NULL: nothing
 * else is in it. */
static char *preload_without_us(const char *variable)
{
	char *copy = hl_arch_map(strlen(variable) + 1);

	if (!copy)
		return NULL;
	memcpy(copy, variable, 11);
	copy_others(copy + 11, variable + 11);
	if (copy[11])
		return copy;
	hl_arch_unmap(copy, strlen(variable) + 1);
	return NULL;
}

void hl_newcomer_leave(char **envp)
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
