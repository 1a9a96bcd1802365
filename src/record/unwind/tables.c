/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables.c - large unwind tables are read through our own mappings (views), whose pages we can
 * release.
 *
 * Reading a table where the loader has mapped it adds its pages to the resident set of the program:
 * the kernel maps 64 KiB or more around each fault, which is 10 MiB for a compiler. These pages
 * cannot be released there, because it is expensive to find out what else the program has done with
 * that memory. So before the program runs we map the tables of each large object a second time,
 * from its file. Only we use such a view and it is never written to, so any of its pages may be
 * released at any time, even while another thread reads it.
 *
 * There are views only of the objects that the program started with. These are never unloaded, so a
 * view is valid forever. All other objects, and those whose file is missing or has changed, are
 * read in place. At most RESIDENT_MAX pieces of all views are resident; a race between threads can
 * add one piece each.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/bits.h"
#include "record/arch/syscall.h"
#include "record/unwind/cfi_internal.h"

#define VIEWS_MAX          32u
#define RESIDENT_MAX       16u
#define PIECE              ((uintptr_t)64 * 1024) /* the least that Linux maps around a fault */
#define REGION             ((uintptr_t)2 << 20)   /* the most that a fault maps, for large folios */
#define PIECE_USED         ((uintptr_t)1)
#define LARGE_HEADER_BYTES (32u * 1024) /* 4096 functions: .eh_frame is about 250 KiB then */
#define COMPARED_BYTES     1024u        /* of a file: headers, usually the build-id */

struct view {
	const void *object;   /* its link_map */
	uintptr_t start, end; /* the mapping */
	uintptr_t low, high;  /* the tables in it */
	uintptr_t header;
	uintptr_t shift;
};
static struct view views[VIEWS_MAX];
static _Atomic uint32_t n_views;

static _Atomic uintptr_t resident[RESIDENT_MAX]; /* piece that may be resident | PIECE_USED */
static _Atomic uint32_t clock_hand;

/*
 * The objects that the program started with: the first n_objects of the loader's list, whose order
 * never changes.
 */
static const struct link_map *first_object;
static uint32_t n_objects;

static const struct link_map *find_link_map(uintptr_t addr)
{
	struct dl_find_object found;

	return _dl_find_object((void *)addr, &found) == 0 ? found.dlfo_link_map : NULL;
}

/*
 * Called by the first hook, so before the first dlopen returns. A recorder that was itself loaded
 * by dlopen is after libc in the list, and cannot know which objects stay.
 */
void hl_tables_note_objects(void)
{
	const struct link_map *own, *libc, *m;
	bool before = false;

	if (first_object)
		return;
	own = find_link_map((uintptr_t)hl_tables_note_objects);
	libc = find_link_map((uintptr_t)getauxval);
	for (m = own; m; m = m->l_next)
		before |= m == libc;
	for (m = own; m && m->l_prev;)
		m = m->l_prev;
	first_object = m;
	for (; before && m; m = m->l_next)
		n_objects++;
}

/* Relocated tables differ from their file. */
static bool has_text_relocations(const struct link_map *m)
{
	for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_TEXTREL ||
			(d->d_tag == DT_FLAGS && (d->d_un.d_val & DF_TEXTREL)))
			return true;
	return false;
}

/* The segment that contains the header, if it is not writable. */
static const ElfW(Phdr) * find_tables_segment(const struct hl_object *o, size_t *header_size)
{
	const ElfW(Phdr) *segment = NULL;
	struct hl_segments s;

	*header_size = 0;
	if (!o->header || !hl_object_segments(o, &s))
		return NULL;
	for (size_t i = 0; i < s.count; i++) {
		uintptr_t at = o->module.bias + s.first[i].p_vaddr;

		if (s.first[i].p_type == PT_LOAD && at == o->low)
			segment = &s.first[i];
		if (s.first[i].p_type == PT_GNU_EH_FRAME && at == o->header)
			*header_size = s.first[i].p_memsz;
	}
	if (!segment || (segment->p_flags & PF_W) || *header_size > o->high - o->header)
		return NULL;
	return segment;
}

static long open_file(const struct hl_object *o)
{
	const char *name = o->module.name[0] ? o->module.name : "/proc/self/exe";

	return hl_sys3(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* Is this the file that the loader has mapped, and long enough for its last table? */
static bool is_same_file(long fd, const struct hl_object *o, uint64_t end)
{
	uint8_t bytes[COMPARED_BYTES];

	return hl_sys4(SYS_pread64, fd, bytes, sizeof(bytes), 0) == sizeof(bytes) &&
	       memcmp(bytes, (const void *)o->module.start, sizeof(bytes)) == 0 &&
	       hl_sys4(SYS_pread64, fd, bytes, 1, end - 1) == 1;
}

/*
 * The address of .eh_frame, from the first words of the header. Read from the file, to keep the
 * pages of the table out of the resident set.
 */
static uintptr_t find_eh_frame(long fd, const struct hl_object *o, uint64_t offset)
{
	uint8_t head[16];
	struct hl_byte_reader b = {.p = head + 4, .end = head + sizeof(head)};
	uintptr_t frames;

	if (hl_sys4(SYS_pread64, fd, head, sizeof(head), offset) != sizeof(head) || head[0] != 1)
		return 0;
	frames = hl_byte_reader_pointer(&b, head[1], o->header);
	if ((head[1] & 0x70) == 0x10)
		frames += o->header - (uintptr_t)head;
	return b.bad || frames < o->low || frames >= o->high ? 0 : frames;
}

static bool map_tables(long fd, const struct hl_object *o, const ElfW(Phdr) * segment,
	size_t header_size, struct view *v)
{
	uint64_t offset = segment->p_offset + (o->header - o->low);
	uintptr_t frames = find_eh_frame(fd, o, offset), low, high;
	uintptr_t inside;
	long p;

	if (!frames || !is_same_file(fd, o, segment->p_offset + segment->p_filesz))
		return false;
	low = hl_min_u64(frames, o->header);
	high = frames < o->header ? o->header + header_size : o->high;
	offset = segment->p_offset + (low - o->low);
	inside = offset & (HL_PAGE - 1);
	p = hl_sys6(SYS_mmap, 0, (long)(inside + (high - low)), PROT_READ, MAP_PRIVATE, fd,
		(long)(offset - inside));
	if (p < 0 && p > -4096)
		return false;
	/* Otherwise one fault may map 2 MiB, if the page cache has them as one folio. */
	hl_sys3(SYS_madvise, p, inside + (high - low), MADV_NOHUGEPAGE);
	v->start = (uintptr_t)p;
	v->end = hl_align_up(v->start + inside + (high - low), HL_PAGE);
	v->low = v->start + inside;
	v->high = v->low + (high - low);
	v->shift = low - v->low;
	v->header = o->header - v->shift;
	return true;
}

static bool make_view(const struct link_map *m, struct view *v)
{
	const ElfW(Phdr) * segment;
	struct hl_object o;
	size_t header_size;
	bool done;
	long fd;

	if (!m->l_ld || !hl_object_find((uintptr_t)m->l_ld, &o) || o.map != m || o.module.is_vdso)
		return false;
	segment = find_tables_segment(&o, &header_size);
	if (!segment || header_size < LARGE_HEADER_BYTES || has_text_relocations(m))
		return false;
	fd = open_file(&o);
	if (fd < 0)
		return false;
	done = map_tables(fd, &o, segment, header_size, v);
	hl_sys1(SYS_close, fd);
	v->object = m;
	return done;
}

/* Limited address space is worth more than resident pages. */
static bool may_map(void)
{
	struct rlimit limit;

	return hl_walk_probes_allowed() &&
	       hl_sys4(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) == 0 &&
	       limit.rlim_cur == RLIM_INFINITY;
}

hl_cold void hl_unwind_open_tables(void)
{
	const struct link_map *m = first_object;
	uint32_t n = 0;

	if (atomic_load(&n_views) || !may_map())
		return;
	for (uint32_t i = 0; i < n_objects && n < VIEWS_MAX; i++, m = m->l_next)
		n += make_view(m, &views[n]);
	atomic_store_explicit(&n_views, n, memory_order_release);
}

void hl_tables_use_view(struct hl_object *o)
{
	uint32_t n = atomic_load_explicit(&n_views, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++) {
		if (views[i].object != o->map)
			continue;
		o->low = views[i].low;
		o->high = views[i].high;
		o->header = views[i].header;
		o->shift = views[i].shift;
		return;
	}
}

/* Only memory of our views: other mappings may be next to them. */
static void release_range(uintptr_t start, uintptr_t end)
{
	uint32_t n = atomic_load_explicit(&n_views, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++) {
		uintptr_t from = hl_max_u64(start, views[i].start),
			  to = hl_min_u64(end, views[i].end);

		if (from < to)
			hl_sys3(SYS_madvise, from, to - from, MADV_DONTNEED);
	}
}

/* Releases all pieces of a region that are not in resident[]. */
static void release_other_pieces(uintptr_t region)
{
	uint32_t keep = 0;

	for (uint32_t i = 0; i < RESIDENT_MAX; i++) {
		uintptr_t piece =
			atomic_load_explicit(&resident[i], memory_order_relaxed) & ~PIECE_USED;

		if (piece - region < REGION)
			keep |= 1u << ((piece - region) / PIECE);
	}
	for (uint32_t i = 0, from = 0; i <= REGION / PIECE; i++) {
		if (i < REGION / PIECE && !(keep & (1u << i)))
			continue;
		if (from < i)
			release_range(region + from * PIECE, region + i * PIECE);
		from = i + 1;
	}
}

/*
 * Clock replacement: the hand skips pieces that were used since it last passed them. So pieces that
 * one lookup uses are not released before it ends; a released piece would be faulted in again
 * without being counted. Returns the replaced piece.
 */
static uintptr_t replace_piece(uintptr_t piece)
{
	_Atomic uintptr_t *slot = &resident[0];

	for (uint32_t i = 0; i < 2 * RESIDENT_MAX; i++) {
		uintptr_t old;

		slot = &resident[atomic_fetch_add(&clock_hand, 1) % RESIDENT_MAX];
		old = atomic_load(slot);
		if (old & PIECE_USED)
			atomic_compare_exchange_strong(slot, &old, old & ~PIECE_USED);
		else if (atomic_compare_exchange_strong(slot, &old, piece | PIECE_USED))
			return old;
	}
	return atomic_exchange(slot, piece | PIECE_USED) & ~PIECE_USED;
}

static bool mark_used(uintptr_t piece)
{
	for (uint32_t i = 0; i < RESIDENT_MAX; i++) {
		uintptr_t old = atomic_load_explicit(&resident[i], memory_order_relaxed);

		if ((old & ~PIECE_USED) != piece)
			continue;
		if (old == piece)
			atomic_compare_exchange_strong(&resident[i], &old, piece | PIECE_USED);
		return true;
	}
	return false;
}

hl_cold void hl_tables_touch_view(uintptr_t addr)
{
	uintptr_t piece = addr & ~(PIECE - 1), region = addr & ~(REGION - 1), old;

	if (mark_used(piece) || !hl_walk_probes_allowed())
		return;
	old = replace_piece(piece);
	/* The fault happens here, so that the other pages it has mapped can be released at once. */
	(void)*(const volatile uint8_t *)addr;
	release_other_pieces(region);
	if (old && (old & ~(REGION - 1)) != region)
		release_other_pieces(old & ~(REGION - 1));
}
