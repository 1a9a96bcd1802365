/* SPDX-License-Identifier: Apache-2.0 */
/* ring_clock.c - see ring_clock.h. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "record/arch/arch.h"
#include "ring/ring_clock.h"

uint64_t hl_ring_now(struct hl_region *region)
{
	if (region && region->clock == HL_CLOCK_COUNTER)
		return atomic_load(&region->stamp_counter);
	return hl_arch_stamp_ordered();
}

/*
 * Taken from the kernel: it uses the cycle counter as clock source only if that is invariant and
 * synchronous on all CPUs.
 */
bool hl_ring_counter_is_sound(void)
{
	static const char *const sound[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page"};
	char name[64] = "";
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return true; /* no /sys: a container, on a machine that most likely has a sound
				counter */
	n = read(fd, name, sizeof(name) - 1);
	close(fd);
	if (n <= 0)
		return true;
	name[strcspn(name, "\n")] = '\0';
	for (size_t i = 0; i < HL_ARRAY_LEN(sound); i++)
		if (!strcmp(name, sound[i]))
			return true;
	return false;
}
