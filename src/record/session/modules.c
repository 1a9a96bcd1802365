/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.c - announces to the collector which file a pc belongs to, before the first event that
 * needs it.
 *
 * A MODULE record is committed before the module counts as announced, and rules of its code reach
 * other threads only after that. So no event with a pc of the module can have a stamp before the
 * record. The announced modules are in a table of fixed size; if it is full, modules are announced
 * again and again, which costs records but not correctness.
 */
#include <elf.h>
#include <link.h>
#include <string.h>

#include "base/bits.h"
#include "base/hash.h"
#include "base/path_join.h"
#include "record/arch/syscall.h"
#include "record/session/debug_log.h"
#include "record/session/recorder.h"
#include "record/emit/emit.h"
#include "record/session/modules.h"

#define KNOWN_MAX 1024u
#define ID_MAX    64u

struct known {
	_Atomic uintptr_t start; /* 0: empty; set last */
	struct hl_unwind_module module;
	uint64_t content; /* hash of bias, build-id and name: another file may be loaded there */
};
static struct known known[KNOWN_MAX];
static _Atomic uint32_t n_known;

/* Copies the GNU build-id note inside one segment to id. Returns its length or 0. */
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

/* Reads the build-id from the mapped image, which begins with its ELF header. */
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

/* Memory for one path at a time: it is too large for the stack. */
static char abs_path[HL_NAME_MAX + 1];
static atomic_flag abs_path_busy = ATOMIC_FLAG_INIT;

/*
 * The loader has the name that was passed to dlopen, which may be relative to the working
 * directory. Only the program knows that directory for certain: a short-lived one ends before the
 * collector could ask. Returns the absolute path, with abs_path locked. NULL: the name must be used
 * as it is, because the buffer is in use, system calls are forbidden or the path is too long, or
 * because it needs no directory.
 */
static const char *lock_abs_path(const char *name)
{
	long n;

	if (name[0] == '\0' || name[0] == '/' || name[0] == '[' || hl_rec.no_syscalls)
		return NULL;
	if (atomic_flag_test_and_set_explicit(&abs_path_busy, memory_order_acquire))
		return NULL;
	n = hl_sys2(SYS_getcwd, abs_path, sizeof(abs_path)); /* with its NUL */
	if (n > 1 && abs_path[0] == '/' &&
		hl_path_join(abs_path, sizeof(abs_path), (size_t)n - 1, name))
		return abs_path;
	atomic_flag_clear_explicit(&abs_path_busy, memory_order_release);
	return NULL;
}

/* Sends the record: four words, the build-id in whole words, the name. Uses little stack: we may be
 * in a signal handler with a tiny one. */
static bool send_module(struct hl_thread *t, const struct hl_unwind_module *m)
{
	uint64_t words[4 + ID_MAX / 8] = {m->start, m->end, m->bias};
	const char *given = m->is_vdso ? "[vdso]" : m->name;
	const char *path = lock_abs_path(given), *name = path ? path : given;
	size_t name_len = strnlen(name, HL_NAME_MAX);
	bool done;
	uint32_t id_len = find_build_id(m, (uint8_t *)(words + 4));

	hl_debug_log(HL_LEVEL_DEBUG, name[0] ? name : "the program itself, at", m->start);
	words[3] = (uint64_t)id_len << 8 | (uint64_t)name_len << 16;
	done = hl_emit_state(t, HL_REC_MODULE, words, 4 + (id_len + 7) / 8, name, name_len);
	if (path)
		atomic_flag_clear_explicit(&abs_path_busy, memory_order_release);
	return done;
}

static uint64_t hash_content(const struct hl_unwind_module *m)
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

/* An older module in this range has been unloaded; if it comes back, it must be announced again. */
static void forget_overlapped(const struct hl_unwind_module *m)
{
	uint32_t n = atomic_load_explicit(&n_known, memory_order_acquire);

	for (uint32_t i = 0; i < n && i < KNOWN_MAX; i++) {
		uintptr_t start = atomic_load_explicit(&known[i].start, memory_order_acquire);

		if (start && start < m->end && known[i].module.end > m->start)
			atomic_store_explicit(&known[i].start, 0, memory_order_release);
	}
}

static void remember_module(const struct hl_unwind_module *m, uint64_t content)
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
	uint64_t content = hash_content(m);

	if (t && !is_known(m, content) && send_module(t, m))
		remember_module(m, content);
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

	atomic_flag_clear(&abs_path_busy); /* its holder does not exist in the child */
	if (hl_unwind_unloading()) {
		/* Forked in the middle of a dlclose: some known modules may be unloaded. Each is
		 * announced when it is found. */
		hl_modules_forget();
		hl_unwind_keep_unloads(hl_tls.unloads);
		return;
	}
	for (uint32_t i = 0; i < n && i < KNOWN_MAX; i++)
		if (atomic_load(&known[i].start))
			send_module(t, &known[i].module);
}
