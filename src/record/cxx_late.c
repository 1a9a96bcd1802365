/*
 * cxx_late.c - operators of C++ that come with a plugin, in a program that had none.
 *
 * The loader binds a plugin's calls, and those of the C++ library that it brings along, to what the
 * plugin has first, then to what it needs. With us it binds them to our hooks, which stand before
 * all of these; so each asks here what would have been found, by the object that the call comes
 * from. If anything but the language's library has one of the operators in that scope, then what
 * they do is the plugin's own: all are passed on, and what comes of them at malloc is recorded.
 *
 * An entry is written once, then its object says that it is good; a dlclose makes all empty. Who
 * reads one looks at the object again afterwards: the calling object cannot go away meanwhile, but
 * its entry can become another's.
 */
#include <link.h>
#include <stdatomic.h>

#include "record/cxx.h"
#include "record/lookup.h"
#include "record/real.h"
#include "record/recorder.h"

#define N_SCOPES 64u
#define BUSY     1u

struct scope {
	_Atomic uintptr_t object; /* where it begins; 0: empty */
	_Atomic uintptr_t real[HL_OP_COUNT];
	_Atomic bool passed_on;
};

static struct scope scopes[N_SCOPES];

static uintptr_t find(enum hl_cxx_op op, uintptr_t caller)
{
	return (uintptr_t)hl_lookup_in_scope(hl_cxx_symbols[op], hl_real.own_lo, caller);
}

static bool has_own(uintptr_t caller)
{
	for (int i = 0; i < HL_OP_COUNT; i++) {
		uintptr_t f = find((enum hl_cxx_op)i, caller);

		if (f && !hl_cxx_is_standard(f))
			return true;
	}
	return false;
}

static void fill(struct scope *s, uintptr_t object, uintptr_t caller)
{
	bool own = has_own(caller);

	for (int i = 0; i < HL_OP_COUNT; i++) {
		uintptr_t f = find((enum hl_cxx_op)i, caller);

		if (f && !own)
			hl_cxx_know((void *)f);
		atomic_store(&s->real[i], f);
	}
	atomic_store(&s->passed_on, own);
	atomic_store(&s->object, object);
}

/* The entry of an object, made if there is none; NULL: no room, or another thread makes it now. */
static struct scope *scope_of(uintptr_t object, uintptr_t caller)
{
	for (unsigned i = 0; i < N_SCOPES; i++) {
		uintptr_t there = atomic_load(&scopes[i].object);

		if (there == object)
			return &scopes[i];
		if (there == BUSY)
			return NULL;
		if (!there && atomic_compare_exchange_strong(&scopes[i].object, &there, BUSY)) {
			fill(&scopes[i], object, caller);
			return &scopes[i];
		}
	}
	return NULL;
}

struct hl_cxx_real hl_cxx_late(enum hl_cxx_op op, uintptr_t caller)
{
	struct dl_find_object object;
	struct scope *s = NULL;
	uintptr_t begin = 0, real = 0;
	bool passed_on = true;

	if (_dl_find_object((void *)caller, &object) == 0) {
		begin = (uintptr_t)object.dlfo_map_start;
		s = scope_of(begin, caller);
	}
	if (s) {
		real = atomic_load(&s->real[op]);
		passed_on = atomic_load(&s->passed_on);
	}
	if (!s || atomic_load(&s->object) != begin) {
		real = find(op, caller);
		passed_on = true;
	}
	return (struct hl_cxx_real){(void *)real, passed_on && real};
}

void hl_cxx_forget(void)
{
	for (unsigned i = 0; i < N_SCOPES; i++) {
		uintptr_t there = atomic_load(&scopes[i].object);

		if (there != BUSY)
			atomic_compare_exchange_strong(&scopes[i].object, &there, 0);
	}
}
