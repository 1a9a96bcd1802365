/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mmap.c - mmap, munmap and mremap calls of the program itself (`record --mmap`). Calls that libc
 * makes for its arenas do not come through here.
 *
 * Before our constructor the hooks make the system calls directly: resolving names inside mmap
 * would recurse. Later they call the next function, which may belong to another preloaded library.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "record/arch/syscall.h"
#include "record/interpose/next.h"
#include "record/session/recorder.h"
#include "record/emit/emit.h"
#include "record/hooks/mmap.h"

/* The symbol names are given explicitly: <sys/mman.h> redirects one of the two names to
 * the other. */
hl_export void *hl_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off) __asm__(
	"mmap");
hl_export void *hl_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off) __asm__(
	"mmap64");
hl_export int munmap(void *addr, size_t len);
hl_export void *mremap(void *old, size_t old_len, size_t len, int flags, ...);

static struct {
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	void *(*mmap64)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
} real;

void hl_mmap_resolve(void)
{
	real.mmap = hl_next_find("mmap");
	real.mmap64 = hl_next_find("mmap64");
	real.munmap = hl_next_find("munmap");
	real.mremap = hl_next_find("mremap");
}

static long set_errno(long r)
{
	if (r < 0 && r > -4096) {
		errno = (int)-r;
		return -1;
	}
	return r;
}

#define recording_maps() (hl_unlikely(hl_rec.settings & HL_SET_MAPS))

static void *map_directly(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	return (void *)set_errno(hl_sys6(SYS_mmap, (long)addr, (long)len, prot, flags, fd, off));
}

hl_inline void *emit_mapped(void *p, size_t len, int prot, int flags, const struct hl_regs *regs)
{
	if (p != MAP_FAILED && recording_maps())
		hl_emit_map(regs, HL_REC_MAP, (uintptr_t)p, len,
			(uint32_t)prot | (uint64_t)(uint32_t)flags << 32, 0);
	return p;
}

void *hl_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	struct hl_regs regs;

	HL_ARCH_CAPTURE(&regs);
	return emit_mapped((real.mmap ? real.mmap : map_directly)(addr, len, prot, flags, fd, off),
		len, prot, flags, &regs);
}

void *hl_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	struct hl_regs regs;

	HL_ARCH_CAPTURE(&regs);
	return emit_mapped(
		(real.mmap64 ? real.mmap64 : map_directly)(addr, len, prot, flags, fd, off), len,
		prot, flags, &regs);
}

/* User memory ends below this address on every architecture. */
#define USER_END (UINT64_C(1) << 56)

/* True if the kernel would unmap this range. Then it refuses only for lack of its own memory. */
static bool may_unmap(uintptr_t addr, size_t len)
{
	return len && !(addr & 4095) && addr < USER_END && len <= USER_END - addr;
}

int munmap(void *addr, size_t len)
{
	bool recorded = recording_maps() && may_unmap((uintptr_t)addr, len);
	struct hl_regs regs;
	int r;

	/* Recorded before the call, like a free: afterwards another thread may map the range. */
	HL_ARCH_CAPTURE(&regs);
	if (recorded)
		hl_emit_map(&regs, HL_REC_UNMAP, (uintptr_t)addr, len, 0, 0);
	r = real.munmap ? real.munmap(addr, len) : (int)set_errno(hl_sys2(SYS_munmap, addr, len));
	/* The hole would have made too many mappings: the range is still mapped. */
	if (recorded && r < 0)
		hl_emit_map(&regs, HL_REC_MAP, (uintptr_t)addr, len, 0, 0);
	return r;
}

void *mremap(void *old, size_t old_len, size_t len, int flags, ...)
{
	struct hl_regs regs;
	void *to = NULL;
	va_list ap;
	void *p;

	HL_ARCH_CAPTURE(&regs);
	va_start(ap, flags);
	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP))
		to = va_arg(ap, void *);
	va_end(ap);
	if (real.mremap)
		p = real.mremap(old, old_len, len, flags, to);
	else
		p = (void *)set_errno(hl_sys5(SYS_mremap, old, old_len, len, flags, to));
	/* With DONTUNMAP the old range stays mapped, and also with an old length of 0. */
	if (p != MAP_FAILED && recording_maps())
		hl_emit_map(&regs, HL_REC_REMAP, (uintptr_t)p, len, (uintptr_t)old,
			flags & MREMAP_DONTUNMAP ? 0 : old_len);
	return p;
}
