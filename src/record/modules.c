/*
 * modules.c - which file a pc belongs to, told to the collector before the first event that needs
 * it.
 *
 * A MODULE record is committed before the module counts as announced, and rules of its code reach
 * other threads only after that: so no event with a pc of the module can be stamped before the
 * record. A table of fixed size holds what was announced; when it is full, modules are announced
 * again and again, which costs records, not correctness.
 */
#include <elf.h>
#include <link.h>
#include <string.h>

#include "base/bits.h"
#include "base/hash.h"
#include "base/path.h"
#include "record/arch/syscall.h"
#include "record/log.h"
#include "record/recorder.h"

#define KNOWN_MAX 1024u
#define ID_MAX    64u

struct known {
	_Atomic uintptr_t start; /* 0: empty; set last */
	struct hl_unwind_module module;
	uint64_t content; /* its name and build-id: another file may come to stand there */
};
static struct known known[KNOWN_MAX];
static _Atomic uint32_t n_known;

/* The GNU build-id note inside one segment, copied to id; its length or 0. */
static uint32_t note_build_id(const char *at, size_t len, uint8_t *id)
{
	while (len >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *n = (const void *)at;
		size_t name = hl_align_up(n->n_namesz, 4), desc = hl_align_up(n->n_descsz, 4);

		if (name > len || desc > len || sizeof(*n) + name + desc > len)
			return 0;
		if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !memcmp(n + 1, "GNU", 4) &&
			n->n_descsz <= ID_MAX) {
			memcpy(id, (const char *)(n + 1) + name, n->n_descsz);
			return n->n_descsz;
		}
		at += sizeof(*n) + name + desc;
		len -= sizeof(*n) + name + desc;
	}
	return 0;
}

/* Reads the build-id from the mapped image: its ELF header is at the start of the range. */
static uint32_t find_build_id(const struct hl_unwind_module *m, uint8_t *id)
{
	const ElfW(Ehdr) *ehdr = (const void *)m->start;
	size_t size = m->end - m->start;
	const ElfW(Phdr) * ph;

	if (size < sizeof(*ehdr) || memcmp(ehdr->e_ident, ELFMAG, SELFMAG) != 0)
		return 0;
	if (ehdr->e_phoff > 4096 || ehdr->e_phnum > 64 || ehdr->e_phentsize != sizeof(*ph))
		return 0; /* headers beyond the first page need not be mapped */
	ph = (const void *)(m->start + ehdr->e_phoff);
	for (unsigned i = 0; i < ehdr->e_phnum; i++) {
		uintptr_t at = m->bias + ph[i].p_vaddr;
		uint32_t n;

		if (ph[i].p_type != PT_NOTE || at < m->start || at >= m->end ||
			ph[i].p_memsz > m->end - at)
			continue;
		n = note_build_id((const char *)at, ph[i].p_memsz, id);
		if (n)
			return n;
	}
	return 0;
}

/* Room for one path at a time, since no stack may be asked for it. */
static char whole[HL_NAME_MAX + 1];
static atomic_flag whole_busy = ATOMIC_FLAG_INIT;

/*
 * The loader has the name that dlopen was given, which may begin in the working directory; only the
 * program knows that for sure, a short one is gone before the collector could ask. NULL: the name
 * as it is must do, for there is no room or nobody may ask.
 */
static const char *lock_whole_path(const char *name)
{
	long n;

	if (name[0] == '\0' || name[0] == '/' || name[0] == '[' || hl_rec.no_syscalls)
		return NULL;
	if (atomic_flag_test_and_set_explicit(&whole_busy, memory_order_acquire))
		return NULL;
	n = hl_sys2(SYS_getcwd, whole, sizeof(whole)); /* with its NUL */
	if (n > 1 && whole[0] == '/' && hl_path_join(whole, sizeof(whole), (size_t)n - 1, name))
		return whole;
	atomic_flag_clear_explicit(&whole_busy, memory_order_release);
	return NULL;
}

/* The record: four words, the build-id in whole words, the name. Small on the stack: we may be in a
 * handler on a tiny one. */
static bool announce(struct hl_thread *t, const struct hl_unwind_module *m)
{
	uint64_t words[4 + ID_MAX / 8] = {m->start, m->end, m->bias};
	const char *given = m->is_vdso ? "[vdso]" : m->name;
	const char *path = lock_whole_path(given), *name = path ? path : given;
	size_t name_len = strnlen(name, HL_NAME_MAX);
	bool done;
	uint32_t id_len = find_build_id(m, (uint8_t *)(words + 4));

	hl_log(HL_LEVEL_DEBUG, name[0] ? name : "the program itself, at", m->start);
	words[3] = (uint64_t)id_len << 8 | (uint64_t)name_len << 16;
	done = hl_emit_state(t, HL_REC_MODULE, words, 4 + (id_len + 7) / 8, name, name_len);
	if (path)
		atomic_flag_clear_explicit(&whole_busy, memory_order_release);
	return done;
}

static uint64_t content_of(const struct hl_unwind_module *m)
{
	uint8_t id[ID_MAX];
	uint32_t n = find_build_id(m, id);
	uint64_t h = m->bias;

	for (uint32_t i = 0; i < n; i++)
		h = hl_hash_u64(h ^ id[i]);
	for (const char *c = m->name; *c; c++)
		h = hl_hash_u64(h ^ (unsigned char)*c);
	return h;
}

static bool is_known(const struct hl_unwind_module *m, uint64_t content)
{
	uint32_t n = atomic_load_explicit(&n_known, memory_order_acquire);

	for (uint32_t i = 0; i < n && i < KNOWN_MAX; i++)
		if (atomic_load_explicit(&known[i].start, memory_order_acquire) == m->start &&
			known[i].module.end == m->end && known[i].content == content)
			return true;
	return false;
}

/* Whatever stood there before has gone, and would have to be announced again. */
static void forget_overlapped(const struct hl_unwind_module *m)
{
	uint32_t n = atomic_load_explicit(&n_known, memory_order_acquire);

	for (uint32_t i = 0; i < n && i < KNOWN_MAX; i++) {
		uintptr_t start = atomic_load_explicit(&known[i].start, memory_order_acquire);

		if (start && start < m->end && known[i].module.end > m->start)
			atomic_store_explicit(&known[i].start, 0, memory_order_release);
	}
}

static void remember(const struct hl_unwind_module *m, uint64_t content)
{
	uint32_t i;

	forget_overlapped(m);
	i = atomic_fetch_add(&n_known, 1);
	if (i >= KNOWN_MAX) {
		atomic_store(&n_known, KNOWN_MAX);
		return;
	}
	known[i].module = *m;
	known[i].content = content;
	atomic_store_explicit(&known[i].start, m->start, memory_order_release);
}

hl_cold void hl_modules_on_found(const struct hl_unwind_module *m)
{
	struct hl_thread *t = hl_tls.thread;
	uint64_t content = content_of(m);

	if (t && !is_known(m, content) && announce(t, m))
		remember(m, content);
}

void hl_modules_forget(void)
{
	uint32_t n = atomic_load(&n_known);

	for (uint32_t i = 0; i < n && i < KNOWN_MAX; i++)
		atomic_store(&known[i].start, 0);
	atomic_store(&n_known, 0);
}

hl_cold void hl_modules_announce_all(struct hl_thread *t)
{
	uint32_t n = atomic_load(&n_known);

	atomic_flag_clear(&whole_busy); /* whoever had it is not in the child */
	if (hl_unwind_unloading()) {
		/* Forked in the middle of a dlclose: some that we know may not be there any more.
		 * Each is announced when it is met. */
		hl_modules_forget();
		hl_unwind_unloads_left(hl_tls.unloads);
		return;
	}
	for (uint32_t i = 0; i < n && i < KNOWN_MAX; i++)
		if (atomic_load(&known[i].start))
			announce(t, &known[i].module);
}
