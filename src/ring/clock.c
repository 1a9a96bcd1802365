/* clock.c - see clock.h. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "record/arch/arch.h"
#include "ring/clock.h"

uint64_t hl_ring_now(struct hl_region *region)
{
	if (region && region->clock == HL_CLOCK_COUNTER)
		return atomic_load(&region->order);
	return hl_arch_stamp_ordered();
}

/* The kernel knows: it uses the counter itself only where it is invariant and in step on all CPUs.
 */
bool hl_ring_counter_is_sound(void)
{
	static const char *const sound[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page"};
	char name[64] = "";
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return true; /* no /sys in here: a container on a machine that is most likely fine
			      */
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
