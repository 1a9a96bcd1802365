/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_api.c - memory of pools that the program announces: by heaplapse.h, or by the three
 * functions that programs prepared for heaptrack look up.
 */
#include <string.h>

#include "record/session/recorder.h"
#include "record/emit/emit.h"
#include "record/session/thread.h"

/* The pool of these functions, which have no parameter for a name. */
#define HEAPTRACK_POOL "heaptrack_report"

hl_export void heaplapse_impl_alloc(const char *pool, const void *ptr, size_t size);
hl_export void heaplapse_impl_realloc(
	const char *pool, const void *old, const void *ptr, size_t size);
hl_export void heaplapse_impl_free(const char *pool, const void *ptr);
hl_export void heaptrack_report_alloc(void *ptr, size_t size);
hl_export void heaptrack_report_realloc(void *ptr_in, size_t size, void *ptr_out);
hl_export void heaptrack_report_free(void *ptr);

#define CAPTURE_REGS(regs)   \
	struct hl_regs regs; \
	HL_ARCH_CAPTURE(&regs)

static uint64_t hash_name(const char *name, size_t len)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
	return h ? h : 1;
}

/* Sends the name before the first event of a pool, and again if another pool was named since. */
static bool send_pool_name(struct hl_thread *t, const char *name, uint64_t *pool)
{
	size_t len = strnlen(name, HL_POOL_NAME_MAX);
	const uint64_t words[] = {hash_name(name, len), len};

	*pool = words[0];
	if (t->sent_pool == *pool)
		return true;
	if (!hl_emit_state(t, HL_REC_POOL_NAME, words, 2, name, len))
		return false;
	if (!t->shared) /* with shared rings the takeover by a new collector goes unnoticed */
		t->sent_pool = *pool;
	return true;
}

static void report_alloc(const struct hl_regs *regs, const char *name, const void *ptr, size_t size)
{
	struct hl_thread *t = hl_thread_enter();
	uint64_t pool;

	if (!t)
		return;
	if (send_pool_name(t, name, &pool))
		hl_emit_pool_alloc(t, regs, pool, ptr, size);
	else
		hl_emit_drop(t);
}

static void report_free(const char *name, const void *ptr)
{
	struct hl_thread *t = hl_thread_enter();
	uint64_t words[2] = {(uintptr_t)ptr};

	if (t && (!send_pool_name(t, name, &words[1]) ||
			 !hl_emit_state(t, HL_REC_POOL_FREE, words, 2, NULL, 0)))
		hl_emit_drop(t);
}

static void report_realloc(
	const struct hl_regs *regs, const char *pool, const void *old, const void *ptr, size_t size)
{
	if (old)
		report_free(pool, old);
	if (ptr)
		report_alloc(regs, pool, ptr, size);
}

void heaplapse_impl_alloc(const char *pool, const void *ptr, size_t size)
{
	CAPTURE_REGS(regs);
	report_realloc(&regs, pool ? pool : "", NULL, ptr, size);
}

void heaplapse_impl_realloc(const char *pool, const void *old, const void *ptr, size_t size)
{
	CAPTURE_REGS(regs);
	report_realloc(&regs, pool ? pool : "", old, ptr, size);
}

void heaplapse_impl_free(const char *pool, const void *ptr)
{
	if (ptr)
		report_free(pool ? pool : "", ptr);
}

void heaptrack_report_alloc(void *ptr, size_t size)
{
	CAPTURE_REGS(regs);
	report_realloc(&regs, HEAPTRACK_POOL, NULL, ptr, size);
}

void heaptrack_report_realloc(void *ptr_in, size_t size, void *ptr_out)
{
	CAPTURE_REGS(regs);
	report_realloc(&regs, HEAPTRACK_POOL, ptr_in, ptr_out, size);
}

void heaptrack_report_free(void *ptr)
{
	if (ptr)
		report_free(HEAPTRACK_POOL, ptr);
}
