/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_space.c - how much of the shared memory a program has address space for.
 *
 * RLIMIT_AS limits the address space. Under such a limit the rings take at most a part of what is
 * left, so that the program keeps the rest; threads that find no ring use the shared rings. Without
 * a limit nothing is tested, and all rings are mapped.
 */
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/attr.h"
#include "record/arch/syscall.h"
#include "record/session/address_space.h"
#include "ring/region_layout.h"

/* The rings take at most 1/SPACE_DIVISOR of the address space that is left. */
#define SPACE_DIVISOR 4u

static bool is_limited(void)
{
	struct rlimit space;

	return hl_sys4(SYS_prlimit64, 0, RLIMIT_AS, NULL, &space) == 0 &&
	       space.rlim_cur != RLIM_INFINITY;
}

static bool can_map(size_t bytes)
{
	long p = hl_sys6(SYS_mmap, 0, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p < 0 && p > -4096)
		return false;
	hl_sys2(SYS_munmap, p, bytes);
	return true;
}

hl_cold uint32_t hl_address_space_rings(void)
{
	uint32_t n = HL_OWN_RINGS;

	if (!is_limited())
		return n;
	while (n > 0 && !can_map((size_t)SPACE_DIVISOR * hl_region_bytes(n)))
		n /= 2;
	return n;
}
