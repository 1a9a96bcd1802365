/*
 * newcomer.c - the program that is about to be executed: can it bear us in its LD_PRELOAD?
 *
 * A few cannot: the address sanitizer wants to be the first library and ends the program if it is
 * not, musl's loader cannot load us and gives up, a loader of another machine complains on stderr.
 * These are executed without us, and it is said once. Everything in the file is read as hostile. No
 * memory but the stack: we may be between vfork and exec, or in a handler.
 */
#include <elf.h>
#include <fcntl.h>
#include <string.h>

#include "base/bits.h"
#include "record/arch/syscall.h"
#include "record/recorder.h"

#define PHDRS_MAX   64u
#define DYNS_MAX    4096u
#define NEEDED_MAX  512u
#define NAME_BYTES  32u
#define FIRST_BYTES 128u

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

static const char *judge_segments(long fd, const Elf64_Ehdr *e)
{
	Elf64_Phdr ph;
	char name[NAME_BYTES] = "";

	for (uint32_t i = 0; i < hl_min_u32(e->e_phnum, PHDRS_MAX); i++) {
		if (!read_at(fd, &ph, sizeof(ph), e->e_phoff + i * sizeof(ph)))
			return NULL;
		if (ph.p_type == PT_INTERP &&
			read_at(fd, name, hl_min_u64(ph.p_filesz, NAME_BYTES - 1), ph.p_offset) &&
			!strncmp(name, "/lib/ld-musl", 12))
			return "it uses musl's libc";
		if (ph.p_type == PT_DYNAMIC && needs_sanitizer(fd, e, &ph))
			return "it is built with the address sanitizer, which wants to be the "
			       "first library";
	}
	return NULL;
}

static const char *judge_path(long dir, const char *path, int depth);

/* The interpreter that a script names. */
static const char *judge_script(char *first, int depth)
{
	char *name = first + 2, *end;

	while (*name == ' ' || *name == '\t')
		name++;
	for (end = name; *end && *end != ' ' && *end != '\t' && *end != '\n'; end++)
		;
	if (end == name || !*end)
		return NULL;
	*end = '\0';
	return judge_path(AT_FDCWD, name, depth + 1);
}

/* Why not; NULL when it can, or is no program at all. */
static const char *judge(long fd, int depth)
{
	union {
		Elf64_Ehdr elf;
		char text[FIRST_BYTES + 1];
	} first = {.text = ""};
	long n = hl_sys4(SYS_pread64, fd, &first, FIRST_BYTES, 0);

	if (n > 2 && first.text[0] == '#' && first.text[1] == '!')
		return depth < 4 ? judge_script(first.text, depth) : NULL;
	if (n < (long)sizeof(first.elf) || memcmp(first.text, ELFMAG, SELFMAG) != 0)
		return NULL;
	if (first.text[EI_CLASS] != ELFCLASS64 || first.elf.e_machine != HL_ARCH_ELF_MACHINE)
		return "it is for another architecture";
	return first.elf.e_phentsize == sizeof(Elf64_Phdr) ? judge_segments(fd, &first.elf) : NULL;
}

static const char *judge_path(long dir, const char *path, int depth)
{
	long fd = hl_sys4(SYS_openat, dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	const char *why;

	if (fd < 0)
		return NULL;
	why = judge(fd, depth);
	hl_sys1(SYS_close, fd);
	return why;
}

static bool may_ask(void)
{
	return hl_rec.region && !hl_rec.no_syscalls;
}

const char *hl_newcomer_judge(int dir, const char *path)
{
	return may_ask() ? judge_path(dir, path, 0) : NULL;
}

const char *hl_newcomer_judge_fd(int fd)
{
	return may_ask() ? judge(fd, 0) : NULL;
}

/* As execvp does: the first of this name in PATH. */
const char *hl_newcomer_judge_file(const char *file, const char *path)
{
	char full[1024];

	if (strchr(file, '/') || !path)
		return hl_newcomer_judge(AT_FDCWD, file);
	for (const char *at = path; may_ask(); at++) {
		const char *end = strchr(at, ':');
		size_t dir = end ? (size_t)(end - at) : strlen(at), len = strlen(file);
		long ok;

		if (dir + len + 2 > sizeof(full))
			return NULL;
		memcpy(full, at, dir);
		full[dir] = '/';
		memcpy(full + dir + (dir > 0), file, len + 1);
		ok = hl_sys3(SYS_faccessat, AT_FDCWD, full, 1 /* X_OK */);
		if (ok == 0)
			return judge_path(AT_FDCWD, full, 0);
		if (!end)
			return NULL;
		at = end;
	}
	return NULL;
}

static bool is_preload(const char *variable)
{
	return !strncmp(variable, "LD_PRELOAD=", 11);
}

size_t hl_newcomer_room(char *const envp[])
{
	size_t n = 1, bytes = 0;

	for (; envp && *envp; envp++, n++)
		if (is_preload(*envp))
			bytes += strlen(*envp) + 1;
	return n * sizeof(*envp) + bytes;
}

static bool is_ours(const char *word, size_t len)
{
	static const char name[] = "libheaplapse.so";
	size_t n = sizeof(name) - 1;

	return len >= n && !memcmp(word + len - n, name, n) &&
	       (len == n || word[len - n - 1] == '/');
}

/* The list without us; its end. */
static char *copy_others(char *to, const char *list)
{
	char *first = to;

	while (*list) {
		const char *end = list;

		while (*end && *end != ':' && *end != ' ')
			end++;
		if (end > list && !is_ours(list, (size_t)(end - list))) {
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

char *const *hl_newcomer_env(char *const envp[], void *room, const char *path, const char *why)
{
	static _Atomic bool told;
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
	if (!atomic_exchange(&told, true))
		hl_life_message3(path, " is not recorded: ", why);
	return copy;
}
