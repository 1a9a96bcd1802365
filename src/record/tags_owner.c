/*
 * tags_owner.c - --tags=owner: whose is a block? So that a free can be charged to the scope that
 * allocated, whichever thread and scope it happens in, and live memory is live memory.
 *
 * The owner of the block at an address is a number in a table by address, in leaves of 16 MiB of
 * address space each that are made as the heap reaches them; what no block begins at takes no
 * memory but for its page. A block's entry is written only by who has the block, so there is no
 * lock: it is taken out before the block is given back, when it is still nobody else's.
 *
 * A node is written by any thread here, with atomic additions.
 */
#include "record/arch/arch.h"
#include "record/arch/syscall.h"
#include "record/tags.h"

#define LEAF_SHIFT  24
#define ADDR_BITS   47
#define DIR_LEN     (UINT64_C(1) << (ADDR_BITS - LEAF_SHIFT))
#define NODES_SHIFT 12 /* of the table of nodes */
#define NODES_DIR   (1u << (32 - NODES_SHIFT))

typedef _Atomic uint32_t *leaf_t;
static _Atomic(leaf_t) *leaves; /* by address >> LEAF_SHIFT */
static unsigned granule;        /* blocks begin at multiples of 1 << granule */
typedef struct hl_tag_node *_Atomic *nodes_t;
static _Atomic(nodes_t) *nodes; /* by id >> NODES_SHIFT */

/* Address space alone: pages cost memory when they are written to. */
static void *reserve(size_t bytes)
{
	return hl_rec.no_syscalls ? NULL : hl_arch_map(bytes);
}

bool hl_tags_own_init(void)
{
	/* libc's blocks are 16 apart; others have smaller ones. */
	granule = hl_real.foreign ? 3 : 4;
	leaves = reserve(DIR_LEN * sizeof(*leaves));
	nodes = reserve(NODES_DIR * sizeof(*nodes));
	return leaves && nodes;
}

hl_cold static leaf_t new_leaf(_Atomic(leaf_t) *place)
{
	size_t bytes = (UINT64_C(1) << (LEAF_SHIFT - granule)) * sizeof(uint32_t);
	leaf_t made = reserve(bytes), other = NULL;

	if (!made || atomic_compare_exchange_strong(place, &other, made))
		return made;
	hl_arch_unmap((void *)made, bytes);
	return other;
}

hl_inline _Atomic uint32_t *entry_of(const void *p, bool make)
{
	uint64_t at = (uintptr_t)p;
	leaf_t leaf;

	if (hl_unlikely(at >> ADDR_BITS))
		return NULL;
	leaf = atomic_load_explicit(&leaves[at >> LEAF_SHIFT], memory_order_acquire);
	if (hl_unlikely(!leaf) && make)
		leaf = new_leaf(&leaves[at >> LEAF_SHIFT]);
	return leaf ? &leaf[(at & ((UINT64_C(1) << LEAF_SHIFT) - 1)) >> granule] : NULL;
}

void hl_tags_own_put(const void *p, uint32_t id)
{
	_Atomic uint32_t *e = entry_of(p, true);

	if (hl_likely(e != NULL))
		atomic_store_explicit(e, id, memory_order_relaxed);
}

/* 0: from before counting, or there was no memory to keep it. */
uint32_t hl_tags_own_take(const void *p)
{
	_Atomic uint32_t *e = entry_of(p, false);
	uint32_t id = e ? atomic_load_explicit(e, memory_order_relaxed) : 0;

	if (hl_likely(id))
		atomic_store_explicit(e, 0, memory_order_relaxed);
	return id;
}

bool hl_tags_own_add_node(struct hl_tag_node *n)
{
	nodes_t part, other = NULL;

	if (!hl_tags.owner)
		return true;
	part = atomic_load(&nodes[n->id >> NODES_SHIFT]);
	if (!part) {
		size_t bytes = sizeof(*part) << NODES_SHIFT;

		part = reserve(bytes);
		if (!part)
			return false;
		if (!atomic_compare_exchange_strong(&nodes[n->id >> NODES_SHIFT], &other, part)) {
			hl_arch_unmap((void *)part, bytes);
			part = other;
		}
	}
	atomic_store(&part[n->id & ((1u << NODES_SHIFT) - 1)], n);
	return true;
}

static struct hl_tag_node *node_of(uint32_t id)
{
	nodes_t part =
		id ? atomic_load_explicit(&nodes[id >> NODES_SHIFT], memory_order_acquire) : NULL;

	return part ? atomic_load_explicit(
			      &part[id & ((1u << NODES_SHIFT) - 1)], memory_order_acquire)
		    : NULL;
}

hl_inline void add(uint64_t *to, uint64_t n)
{
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

hl_inline void begin(struct hl_tag_node *n)
{
	__atomic_fetch_add(&n->begun, 1, __ATOMIC_ACQ_REL);
}

hl_inline void end(struct hl_tag_node *n)
{
	__atomic_fetch_add(&n->ended, 1, __ATOMIC_ACQ_REL);
}

void hl_tags_own_alloc(struct hl_tag_node *n, const void *p, size_t size, enum hl_tag_call call)
{
	hl_tags_own_put(p, n->id);
	begin(n);
	add(&n->alloc_bytes, size);
	add(&n->calls[call], 1);
	end(n);
}

/* What nobody owns was there before: it would make someone's live bytes less than none. */
void hl_tags_own_free(struct hl_tag_node *n, const void *p, size_t size, enum hl_tag_call call)
{
	struct hl_tag_node *owner = node_of(hl_tags_own_take(p));

	if (hl_unlikely(!owner)) {
		atomic_fetch_add_explicit(&hl_tags_head.before_freed, size, memory_order_relaxed);
		return;
	}
	begin(owner);
	add(&owner->free_bytes, size);
	add(&owner->calls[call], 1);
	end(owner);
}

/*
 * A block that is resized is given back by its owner and taken by who resizes, who has made the
 * call. The numbers of blocks are made of calls (tags/report.c): what the owner gives back without
 * a call of its own is one less of `realloc_new`.
 */
void hl_tags_own_moved(struct hl_tag_node *n, uint32_t old_id, size_t old_size, const void *p,
	size_t size, enum hl_tag_call call)
{
	struct hl_tag_node *owner = node_of(old_id);

	if (owner) {
		begin(owner);
		add(&owner->free_bytes, old_size);
		add(&owner->realloc_new, -UINT64_C(1));
		end(owner);
	} else if (old_size) {
		atomic_fetch_add_explicit(
			&hl_tags_head.before_freed, old_size, memory_order_relaxed);
	}
	if (p)
		hl_tags_own_put(p, n->id);
	begin(n);
	add(&n->alloc_bytes, size);
	add(&n->realloc_new, 1);
	add(&n->realloc_gone, !p);
	add(&n->calls[call], 1);
	end(n);
}
