/*
 * tables.c - large unwind tables are read through mappings of our own, which give back what they
 * have made resident.
 *
 * Who reads a table where the loader has mapped it leaves its pages in the program's resident set:
 * the kernel maps 64 KiB or more around each fault, which are 10 MiB for a compiler. The pages
 * cannot be given back there, for nobody can tell cheaply what else a program has done with that
 * memory. So before the program runs we map the tables of each large object once more, from its
 * file; such a view is ours alone and nobody writes to it, so that any of its pages may go at any
 * time, whoever else is reading it.
 *
 * Views are of the objects that the program began with: these are never unloaded, so a view is
 * right for ever. All others, and those whose file is not there or not the same, are read in place.
 * At most KEPT pieces of all views are resident, but for races of threads that each cost one.
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

#define VIEWS_MAX    32u
#define KEPT         16u
#define PIECE        ((uintptr_t)64 * 1024) /* what Linux maps around a fault, at least */
#define REGION       ((uintptr_t)2 << 20)   /* no fault maps more; where folios are large, it may */
#define USED         ((uintptr_t)1)
#define HEADER_LARGE (32u * 1024) /* 4096 functions: .eh_frame has some 250 KiB then */
#define SAME_BYTES   1024u        /* of a file: headers, and mostly the build-id */

struct view {
	const void *object;   /* its link_map */
	uintptr_t start, end; /* the mapping */
	uintptr_t low, high;  /* the tables in it */
	uintptr_t header;
	uintptr_t shift;
};
static struct view views[VIEWS_MAX];
static _Atomic uint32_t n_views;

static _Atomic uintptr_t kept[KEPT]; /* pieces that may be resident, in the low bit USED */
static _Atomic uint32_t hand;

/* What the program began with: so many objects of the loader's list, whose order never changes. */
static const struct link_map *first_object;
static uint32_t n_objects;

static const struct link_map *object_of(uintptr_t addr)
{
	struct dl_find_object found;

	return _dl_find_object((void *)addr, &found) == 0 ? found.dlfo_link_map : NULL;
}

/*
 * Called by the first hook that is reached, so before the first dlopen is done. A recorder that
 * arrives by dlopen itself stands behind libc in the list, and cannot tell what will stay.
 */
void hl_tables_note_objects(void)
{
	const struct link_map *own, *libc, *m;
	bool before = false;

	if (first_object)
		return;
	own = object_of((uintptr_t)hl_tables_note_objects);
	libc = object_of((uintptr_t)getauxval);
	for (m = own; m; m = m->l_next)
		before |= m == libc;
	for (m = own; m && m->l_prev;)
		m = m->l_prev;
	first_object = m;
	for (; before && m; m = m->l_next)
		n_objects++;
}

/* Relocated tables are not what their file says. */
static bool has_text_relocations(const struct link_map *m)
{
	for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_TEXTREL ||
			(d->d_tag == DT_FLAGS && (d->d_un.d_val & DF_TEXTREL)))
			return true;
	return false;
}

/* The segment that holds the header, when it is one that nobody writes to. */
static const ElfW(Phdr) * segment_of_tables(const struct hl_object *o, size_t *header_size)
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

/* Is this still the file that the loader has mapped? And long enough for its last table. */
static bool is_same_file(long fd, const struct hl_object *o, uint64_t end)
{
	uint8_t bytes[SAME_BYTES];

	return hl_sys4(SYS_pread64, fd, bytes, sizeof(bytes), 0) == sizeof(bytes) &&
	       memcmp(bytes, (const void *)o->module.start, sizeof(bytes)) == 0 &&
	       hl_sys4(SYS_pread64, fd, bytes, 1, end - 1) == 1;
}

/* Where .eh_frame starts, from the header's first words; read from the file, for the reason above.
 */
static uintptr_t find_frames(long fd, const struct hl_object *o, uint64_t offset)
{
	uint8_t head[16];
	struct hl_bytes b = {.p = head + 4, .end = head + sizeof(head)};
	uintptr_t frames;

	if (hl_sys4(SYS_pread64, fd, head, sizeof(head), offset) != sizeof(head) || head[0] != 1)
		return 0;
	frames = hl_bytes_pointer(&b, head[1], o->header);
	if ((head[1] & 0x70) == 0x10)
		frames += o->header - (uintptr_t)head;
	return b.bad || frames < o->low || frames >= o->high ? 0 : frames;
}

static bool map_tables(long fd, const struct hl_object *o, const ElfW(Phdr) * segment,
	size_t header_size, struct view *v)
{
	uint64_t offset = segment->p_offset + (o->header - o->low);
	uintptr_t frames = find_frames(fd, o, offset), low, high;
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
	/* Or one fault may map 2 MiB where the page cache has them in one piece. */
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
	segment = segment_of_tables(&o, &header_size);
	if (!segment || header_size < HEADER_LARGE || has_text_relocations(m))
		return false;
	fd = open_file(&o);
	if (fd < 0)
		return false;
	done = map_tables(fd, &o, segment, header_size, v);
	hl_sys1(SYS_close, fd);
	v->object = m;
	return done;
}

/* Where address space is short it is worth more than resident pages. */
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

/* Only what is ours of it: beside a view may lie anything. */
static void give_back(uintptr_t start, uintptr_t end)
{
	uint32_t n = atomic_load_explicit(&n_views, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++) {
		uintptr_t from = hl_max_u64(start, views[i].start),
			  to = hl_min_u64(end, views[i].end);

		if (from < to)
			hl_sys3(SYS_madvise, from, to - from, MADV_DONTNEED);
	}
}

/* All pieces of a region but those that are kept. */
static void give_back_others(uintptr_t region)
{
	uint32_t keep = 0;

	for (uint32_t i = 0; i < KEPT; i++) {
		uintptr_t piece = atomic_load_explicit(&kept[i], memory_order_relaxed) & ~USED;

		if (piece - region < REGION)
			keep |= 1u << ((piece - region) / PIECE);
	}
	for (uint32_t i = 0, from = 0; i <= REGION / PIECE; i++) {
		if (i < REGION / PIECE && !(keep & (1u << i)))
			continue;
		if (from < i)
			give_back(region + from * PIECE, region + i * PIECE);
		from = i + 1;
	}
}

/*
 * In whose place the piece shall come: the hand of a clock goes round, and passes over what was
 * used since it was there the last time. What one lookup uses is thus not given back before its
 * end; it would come back unknown.
 */
static uintptr_t replace(uintptr_t piece)
{
	_Atomic uintptr_t *slot = &kept[0];

	for (uint32_t i = 0; i < 2 * KEPT; i++) {
		uintptr_t old;

		slot = &kept[atomic_fetch_add(&hand, 1) % KEPT];
		old = atomic_load(slot);
		if (old & USED)
			atomic_compare_exchange_strong(slot, &old, old & ~USED);
		else if (atomic_compare_exchange_strong(slot, &old, piece | USED))
			return old;
	}
	return atomic_exchange(slot, piece | USED) & ~USED;
}

static bool is_kept(uintptr_t piece)
{
	for (uint32_t i = 0; i < KEPT; i++) {
		uintptr_t old = atomic_load_explicit(&kept[i], memory_order_relaxed);

		if ((old & ~USED) != piece)
			continue;
		if (old == piece)
			atomic_compare_exchange_strong(&kept[i], &old, piece | USED);
		return true;
	}
	return false;
}

hl_cold void hl_tables_touch_view(uintptr_t addr)
{
	uintptr_t piece = addr & ~(PIECE - 1), region = addr & ~(REGION - 1), old;

	if (is_kept(piece) || !hl_walk_probes_allowed())
		return;
	old = replace(piece);
	/* The fault happens here, so that what else it has mapped can go at once. */
	(void)*(const volatile uint8_t *)addr;
	give_back_others(region);
	if (old && (old & ~(REGION - 1)) != region)
		give_back_others(old & ~(REGION - 1));
}
