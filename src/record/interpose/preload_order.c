/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_order.c - the message for a program whose calls do not reach us, because another
 * allocator is bound before us. It says how to change the order, which depends on how each of the
 * two was loaded.
 */
#include <link.h>

#include "base/attr.h"
#include "record/interpose/elf_lookup.h"
#include "record/interpose/preload_list.h"
#include "record/interpose/next.h"
#include "record/interpose/preload_order.h"
#include "record/session/lifecycle.h"

static const char *object_name(uintptr_t addr)
{
	struct dl_find_object object;

	if (_dl_find_object((void *)addr, &object) != 0 || !object.dlfo_link_map->l_name[0])
		return "another allocator";
	return hl_elf_lookup_file_name(object.dlfo_link_map->l_name);
}

hl_cold void hl_preload_order_refuse(const char *preload)
{
	const char *other = object_name(hl_next.first_lo);

	hl_lifecycle_disable(NULL);
	if (hl_preload_contains(preload, HL_PRELOAD_OURS))
		hl_lifecycle_disable("another allocator precedes " HL_PRELOAD_OURS
				     " in LD_PRELOAD; put " HL_PRELOAD_OURS " first");
	else if (hl_preload_contains(preload, other))
		hl_print_message4("nothing is counted in this program: ", other,
			", another allocator, is in LD_PRELOAD and so precedes " HL_PRELOAD_OURS
			", which the program is linked to; ",
			"put " HL_PRELOAD_OURS " before it in LD_PRELOAD, too");
	else
		hl_print_message4("nothing is counted in this program: it is linked to ", other,
			", another allocator, before " HL_PRELOAD_OURS "; ",
			"put -lheaplapse before it on the linker's command line, or link with "
			"`pkg-config --libs heaplapse`, where the order does not matter");
}
