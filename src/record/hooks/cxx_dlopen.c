/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cxx_dlopen.c - C++ operators that come with a plugin, in a program that had none at the start.
 *
 * The loader binds the calls of a plugin, and those of the C++ library that it brings along, to
 * definitions in the plugin first, then in its dependencies. With the recorder loaded it binds them
 * to our hooks, which come before all of these. So each hook asks here which definition would have
 * been found for the calling object. If anything but the standard library defines one of the
 * operators in that scope, the operators are the plugin's own: all are passed through, and the
 * malloc calls that they make are recorded.
 *
 * An entry is written once; storing `object` last publishes it. A dlclose empties all entries. A
 * reader checks `object` again after reading an entry: the calling object cannot be unloaded
 * meanwhile, but its entry can be emptied and reused for another object.
 */
#include <link.h>
#include <stdatomic.h>

#include "record/hooks/cxx.h"
#include "record/interpose/elf_lookup.h"
#include "record/interpose/next.h"

#define N_SCOPES   64u
#define SCOPE_BUSY 1u

struct scope {
	_Atomic uintptr_t object; /* start address of the object; 0: empty */
	_Atomic uintptr_t real[HL_OP_COUNT];
	_Atomic bool passed_on;
};

static struct scope scopes[N_SCOPES];

static uintptr_t find_operator(enum hl_cxx_op op, uintptr_t caller)
{
	return (uintptr_t)hl_elf_lookup_in_scope(hl_cxx_symbols[op], hl_next.own_lo, caller);
}

static bool has_custom_operator(uintptr_t caller)
{
	for (int i = 0; i < HL_OP_COUNT; i++) {
		uintptr_t f = find_operator((enum hl_cxx_op)i, caller);

		if (f && !hl_cxx_is_standard(f))
			return true;
	}
	return false;
}

static void fill_scope(struct scope *s, uintptr_t object, uintptr_t caller)
{
	bool own = has_custom_operator(caller);

	for (int i = 0; i < HL_OP_COUNT; i++) {
		uintptr_t f = find_operator((enum hl_cxx_op)i, caller);

		if (f && !own)
			hl_cxx_add_internal((void *)f);
		atomic_store(&s->real[i], f);
	}
	atomic_store(&s->passed_on, own);
	atomic_store(&s->object, object);
}

/* The entry of an object, created if there is none. NULL: the table is full, or another thread is
 * filling an entry. */
static struct scope *get_scope(uintptr_t object, uintptr_t caller)
{
	for (unsigned i = 0; i < N_SCOPES; i++) {
		uintptr_t old = atomic_load(&scopes[i].object);

		if (old == object)
			return &scopes[i];
		if (old == SCOPE_BUSY)
			return NULL;
		if (!old && atomic_compare_exchange_strong(&scopes[i].object, &old, SCOPE_BUSY)) {
			fill_scope(&scopes[i], object, caller);
			return &scopes[i];
		}
	}
	return NULL;
}

struct hl_cxx_next hl_cxx_find_in_scope(enum hl_cxx_op op, uintptr_t caller)
{
	struct dl_find_object object;
	struct scope *s = NULL;
	uintptr_t begin = 0, real = 0;
	bool passed_on = true;

	if (_dl_find_object((void *)caller, &object) == 0) {
		begin = (uintptr_t)object.dlfo_map_start;
		s = get_scope(begin, caller);
	}
	if (s) {
		real = atomic_load(&s->real[op]);
		passed_on = atomic_load(&s->passed_on);
	}
	if (!s || atomic_load(&s->object) != begin) {
		real = find_operator(op, caller);
		passed_on = true;
	}
	return (struct hl_cxx_next){(void *)real, passed_on && real};
}

void hl_cxx_forget(void)
{
	for (unsigned i = 0; i < N_SCOPES; i++) {
		uintptr_t old = atomic_load(&scopes[i].object);

		if (old != SCOPE_BUSY)
			atomic_compare_exchange_strong(&scopes[i].object, &old, 0);
	}
}
