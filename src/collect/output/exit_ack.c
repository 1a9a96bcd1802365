/* SPDX-License-Identifier: Apache-2.0 */
/* exit_ack.c - see exit_ack.h. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/output/exit_ack.h"
#include "ring/region_layout.h"

#define PAGE 4096u

_Static_assert(PAGE % sizeof(struct hl_ring) == 0 && HL_REGION_CONTROL_OFFSET % PAGE == 0,
	"the control of a ring is in one page");

int hl_exit_ack_send(int memfd, const struct hl_exit_ack *ack)
{
	uint32_t at = HL_REGION_CONTROL_OFFSET + ack->ring * (uint32_t)sizeof(struct hl_ring);
	struct hl_ring *ring;
	char *page;

	if (!ack->claim)
		return 0;
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, at & ~(PAGE - 1));
	if (page == MAP_FAILED)
		return -errno;
	ring = (struct hl_ring *)(page + at % PAGE);
	atomic_store(&ring->exit_ack, ack->claim);
	syscall(SYS_futex, &ring->exit_ack, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	munmap(page, PAGE);
	return 0;
}
