/*
 * maps.c - mmap, munmap, mremap of the program itself (`record --mmap`). libc's own maps for its
 * arenas do not come through here.
 *
 * The calls are made directly, not through the next function: they are system calls with nothing
 * between, and resolving names inside mmap would recurse in early start-up.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "record/arch/syscall.h"
#include "record/recorder.h"

/* Named by hand: <sys/mman.h> turns one of the two names into the other. */
hl_export void *hl_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off) __asm__(
	"mmap");
hl_export void *hl_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off) __asm__(
	"mmap64");
hl_export int munmap(void *addr, size_t len);
hl_export void *mremap(void *old, size_t old_len, size_t len, int flags, ...);

static long answer(long r)
{
	if (r < 0 && r > -4096) {
		errno = (int)-r;
		return -1;
	}
	return r;
}

#define recording_maps() (hl_unlikely(hl_rec.settings & HL_SET_MAPS))

hl_inline void *map(
	void *addr, size_t len, int prot, int flags, int fd, off_t off, const struct hl_regs *regs)
{
	long p = answer(hl_sys6(SYS_mmap, (long)addr, (long)len, prot, flags, fd, off));

	if (p != -1 && recording_maps())
		hl_emit_map(regs, HL_REC_MAP, (uint64_t)p, len,
			(uint32_t)prot | (uint64_t)(uint32_t)flags << 32, 0);
	return (void *)p;
}

void *hl_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	struct hl_regs regs;

	HL_ARCH_CAPTURE(&regs);
	return map(addr, len, prot, flags, fd, off, &regs);
}

void *hl_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	struct hl_regs regs;

	HL_ARCH_CAPTURE(&regs);
	return map(addr, len, prot, flags, fd, off, &regs);
}

/* No program of any architecture has memory beyond this. */
#define USER_END (UINT64_C(1) << 56)

/* Would the kernel unmap this? It refuses nothing else, but for want of memory of its own. */
static bool may_unmap(uintptr_t addr, size_t len)
{
	return len && !(addr & 4095) && addr < USER_END && len <= USER_END - addr;
}

int munmap(void *addr, size_t len)
{
	bool told = recording_maps() && may_unmap((uintptr_t)addr, len);
	struct hl_regs regs;
	long r;

	/* Recorded before, like a free: afterwards the range may be another thread's. */
	HL_ARCH_CAPTURE(&regs);
	if (told)
		hl_emit_map(&regs, HL_REC_UNMAP, (uintptr_t)addr, len, 0, 0);
	r = hl_sys2(SYS_munmap, addr, len);
	/* Too many maps for one more hole: what was there is still there. */
	if (told && r < 0)
		hl_emit_map(&regs, HL_REC_MAP, (uintptr_t)addr, len, 0, 0);
	return (int)answer(r);
}

void *mremap(void *old, size_t old_len, size_t len, int flags, ...)
{
	struct hl_regs regs;
	void *to = NULL;
	va_list ap;
	long p;

	HL_ARCH_CAPTURE(&regs);
	va_start(ap, flags);
	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP))
		to = va_arg(ap, void *);
	va_end(ap);
	p = answer(hl_sys5(SYS_mremap, old, old_len, len, flags, to));
	if (p != -1 && recording_maps())
		hl_emit_map(&regs, HL_REC_REMAP, (uint64_t)p, len, (uintptr_t)old, old_len);
	return (void *)p;
}
