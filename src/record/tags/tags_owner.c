/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tags_owner.c - --tags=owner: the scope that owns each block. A free is charged to the scope that
 * allocated the block, in whatever thread and scope it happens, so that live bytes are correct for
 * each scope.
 *
 * The owner of the block at an address is a node id in a table by address. The table has leaves of
 * 16 MiB of address space each, which are created as the heap grows; addresses without a block take
 * no memory except for the rest of a page. The entry of a block is written only by the thread that
 * has the block, so there is no lock: it is cleared before the block is freed, while no other
 * thread can get the address.
 *
 * Here any thread may write a node, with atomic additions.
 */
#include "record/arch/arch.h"
#include "record/arch/syscall.h"
#include "record/tags/tags.h"

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

/* Maps address space alone: a page takes memory when it is written to. */
static void *map_pages(size_t bytes)
{
	return hl_rec.no_syscalls ? NULL : hl_arch_map(bytes);
}

bool hl_tags_owner_init(void)
{
	/* libc's blocks are at least 16 bytes apart; other allocators have smaller ones. */
	granule = hl_next.foreign ? 3 : 4;
	leaves = map_pages(DIR_LEN * sizeof(*leaves));
	nodes = map_pages(NODES_DIR * sizeof(*nodes));
	return leaves && nodes;
}

hl_cold static leaf_t new_leaf(_Atomic(leaf_t) *leaf_slot)
{
	size_t bytes = (UINT64_C(1) << (LEAF_SHIFT - granule)) * sizeof(uint32_t);
	leaf_t made = map_pages(bytes), other = NULL;

	if (!made || atomic_compare_exchange_strong(leaf_slot, &other, made))
		return made;
	hl_arch_unmap((void *)made, bytes);
	return other;
}

hl_inline _Atomic uint32_t *find_entry(const void *p, bool make)
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

void hl_tags_owner_put(const void *p, uint32_t id)
{
	_Atomic uint32_t *e = find_entry(p, true);

	if (hl_likely(e != NULL))
		atomic_store_explicit(e, id, memory_order_relaxed);
}

/* Clears the entry and returns it. 0: the block is older than the counting, or there was no memory
 * for the entry. */
uint32_t hl_tags_owner_take(const void *p)
{
	_Atomic uint32_t *e = find_entry(p, false);
	uint32_t id = e ? atomic_load_explicit(e, memory_order_relaxed) : 0;

	if (hl_likely(id))
		atomic_store_explicit(e, 0, memory_order_relaxed);
	return id;
}

bool hl_tags_owner_add_node(struct hl_tag_node *n)
{
	nodes_t part, other = NULL;

	if (!hl_tags.owner)
		return true;
	part = atomic_load(&nodes[n->id >> NODES_SHIFT]);
	if (!part) {
		size_t bytes = sizeof(*part) << NODES_SHIFT;

		part = map_pages(bytes);
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

static struct hl_tag_node *find_node(uint32_t id)
{
	nodes_t part =
		id ? atomic_load_explicit(&nodes[id >> NODES_SHIFT], memory_order_acquire) : NULL;

	return part ? atomic_load_explicit(
			      &part[id & ((1u << NODES_SHIFT) - 1)], memory_order_acquire)
		    : NULL;
}

hl_inline void add_relaxed(uint64_t *to, uint64_t n)
{
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

hl_inline void begin_write(struct hl_tag_node *n)
{
	__atomic_fetch_add(&n->begun, 1, __ATOMIC_ACQ_REL);
}

hl_inline void end_write(struct hl_tag_node *n)
{
	__atomic_fetch_add(&n->ended, 1, __ATOMIC_ACQ_REL);
}

void hl_tags_owner_alloc(struct hl_tag_node *n, const void *p, size_t size, enum hl_tag_call call)
{
	hl_tags_owner_put(p, n->id);
	begin_write(n);
	add_relaxed(&n->alloc_bytes, size);
	add_relaxed(&n->calls[call], 1);
	end_write(n);
}

/* A block without an owner was allocated before counting began. Charging its free to a scope would
 * make the scope's live bytes negative. */
void hl_tags_owner_free(struct hl_tag_node *n, const void *p, size_t size, enum hl_tag_call call)
{
	struct hl_tag_node *owner = find_node(hl_tags_owner_take(p));

	if (hl_unlikely(!owner)) {
		atomic_fetch_add_explicit(&hl_tags_head.before_freed, size, memory_order_relaxed);
		return;
	}
	begin_write(owner);
	add_relaxed(&owner->free_bytes, size);
	add_relaxed(&owner->calls[call], 1);
	end_write(owner);
}

/*
 * A resized block is freed from its owner and charged to the scope that resizes, which made the
 * call. Block counts are derived from calls (tags/tag_report.c). The owner loses a block without a
 * call of its own, so its `realloc_new` is decreased by one, which adds one to its freed blocks.
 */
void hl_tags_owner_moved(struct hl_tag_node *n, uint32_t old_id, size_t old_size, const void *p,
	size_t size, enum hl_tag_call call)
{
	struct hl_tag_node *owner = find_node(old_id);

	if (owner) {
		begin_write(owner);
		add_relaxed(&owner->free_bytes, old_size);
		add_relaxed(&owner->realloc_new, -UINT64_C(1));
		end_write(owner);
	} else if (old_size) {
		atomic_fetch_add_explicit(
			&hl_tags_head.before_freed, old_size, memory_order_relaxed);
	}
	if (p)
		hl_tags_owner_put(p, n->id);
	begin_write(n);
	add_relaxed(&n->alloc_bytes, size);
	add_relaxed(&n->realloc_new, 1);
	add_relaxed(&n->realloc_freed, !p);
	add_relaxed(&n->calls[call], 1);
	end_write(n);
}
