/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tags_start.c - how counting by tags begins: under `record`, whose collector sets the mode; or
 * standalone, without a collector, in a program that is linked to libheaplapse.so or has
 * HEAPLAPSE_MODE=tags.
 */
#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "record/arch/syscall.h"
#include "record/interpose/preload_list.h"
#include "record/tags/tags.h"
#include "record/session/lifecycle.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* True if this object names libheaplapse.so as a dependency. */
static bool needs_recorder(const struct link_map *map)
{
	const char *strings = NULL;

	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB)
			strings = (const char *)d->d_un.d_ptr;
	/* The vDSO's addresses are not relocated, but it has no dependencies. */
	for (const ElfW(Dyn) *d = map->l_ld; d && strings && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED &&
			!strncmp(strings + d->d_un.d_val, HL_PRELOAD_OURS, strlen(HL_PRELOAD_OURS)))
			return true;
	return false;
}

static bool is_linked(void)
{
	struct dl_find_object own;
	const struct link_map *map;

	if (_dl_find_object((void *)(uintptr_t)is_linked, &own) != 0)
		return false;
	for (map = own.dlfo_link_map; map->l_prev; map = map->l_prev)
		;
	for (; map; map = map->l_next)
		if (needs_recorder(map))
			return true;
	return false;
}

bool hl_tags_standalone_requested(const char *mode, const char *preload)
{
	if (mode && *mode)
		return !strcmp(mode, "tags");
	return !hl_preload_contains(preload, HL_PRELOAD_OURS) && is_linked();
}

bool hl_tags_set_charge(const char *how)
{
	if (!how || !*how || !strcmp(how, "freeing"))
		return true;
	if (strcmp(how, "owner") != 0)
		return false;
	hl_tags.owner = hl_tags_owner_init();
	if (!hl_tags.owner)
		hl_print_message("frees are charged to the scope that frees",
			"there is no address space for the owners of blocks (is RLIMIT_AS set?)");
	else
		atomic_fetch_or(&hl_tags_head.flags, HL_TAGS_OWNER);
	return true;
}

static void note_start(void)
{
	struct timespec now = {0};

	hl_sys2(SYS_clock_gettime, CLOCK_REALTIME, &now);
	hl_tags_head.start_s = now.tv_sec;
	atomic_store(&hl_tags_head.before_bytes, hl_tags_heap_bytes());
}

const char *hl_tags_begin_standalone(void)
{
	static _Atomic uint32_t alone = HL_MODE_TAGS;

	if (hl_sys3(SYS_madvise, &hl_fork_page, sizeof(hl_fork_page), MADV_WIPEONFORK) < 0)
		return "this kernel cannot mark memory for fork (Linux 4.14 or newer is needed)";
	hl_rec.pid = (uint32_t)hl_sys0(SYS_getpid);
	atomic_store(&hl_fork_page.ours, 1);
	atomic_store(&hl_rec.phase, HL_PHASE_OFF); /* there are no rings */
	note_start();
	atomic_store(&hl_tags_head.running, 1);
	hl_tags.control = &alone;
	return NULL;
}

void hl_tags_begin_with_region(const struct hl_region *region)
{
	note_start();
	hl_tags.control = &region->control;
	if (hl_control_mode(atomic_load(&region->control)) == HL_MODE_TAGS)
		atomic_store(&hl_tags_head.running, 1);
}
