/*
 * order.c - another allocator stands before us, and the program's calls do not come to us: says so,
 * and how the order is changed. That depends on how each of the two came into the program.
 */
#include <link.h>

#include "record/lookup.h"
#include "record/preload.h"
#include "record/real.h"
#include "record/recorder.h"

static const char *name_of(uintptr_t addr)
{
	struct dl_find_object object;

	if (_dl_find_object((void *)addr, &object) != 0 || !object.dlfo_link_map->l_name[0])
		return "another allocator";
	return hl_lookup_file_name(object.dlfo_link_map->l_name);
}

hl_cold void hl_order_refuse(const char *preload)
{
	const char *other = name_of(hl_real.first_lo);

	hl_life_off(NULL);
	if (hl_preload_lists(preload, HL_PRELOAD_OURS))
		hl_life_off(
			"another allocator stands before " HL_PRELOAD_OURS " in LD_PRELOAD; put "
			"it behind");
	else if (hl_preload_lists(preload, other))
		hl_life_message4("nothing is counted in this program: ", other,
			", another allocator, is in LD_PRELOAD and so stands "
			"before " HL_PRELOAD_OURS ", which the program is linked to; ",
			"put " HL_PRELOAD_OURS " before it in LD_PRELOAD, too");
	else
		hl_life_message4("nothing is counted in this program: it is linked to ", other,
			", another allocator, before " HL_PRELOAD_OURS "; ",
			"put -lheaplapse before it on the linker's command line, or link with "
			"`pkg-config --libs heaplapse`, where the order does not matter");
}
