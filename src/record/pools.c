/*
 * pools.c - memory that the program gives out itself, as it tells us: heaplapse.h, and the three
 * functions that programs look for which were prepared for heaptrack.
 */
#include "record/recorder.h"

/* What heaptrack's functions have no word for. */
#define HEAPTRACK_POOL "heaptrack_report"

hl_export void heaplapse_impl_alloc(const char *pool, const void *ptr, size_t size);
hl_export void heaplapse_impl_realloc(
	const char *pool, const void *old, const void *ptr, size_t size);
hl_export void heaplapse_impl_free(const char *pool, const void *ptr);
hl_export void heaptrack_report_alloc(void *ptr, size_t size);
hl_export void heaptrack_report_realloc(void *ptr_in, size_t size, void *ptr_out);
hl_export void heaptrack_report_free(void *ptr);

#define CAPTURED(regs)       \
	struct hl_regs regs; \
	HL_ARCH_CAPTURE(&regs)

static void report_realloc(
	const struct hl_regs *regs, const char *pool, const void *old, const void *ptr, size_t size)
{
	if (old)
		hl_emit_pool_free(pool, old);
	if (ptr)
		hl_emit_pool_alloc(regs, pool, ptr, size);
}

void heaplapse_impl_alloc(const char *pool, const void *ptr, size_t size)
{
	CAPTURED(regs);
	report_realloc(&regs, pool ? pool : "", NULL, ptr, size);
}

void heaplapse_impl_realloc(const char *pool, const void *old, const void *ptr, size_t size)
{
	CAPTURED(regs);
	report_realloc(&regs, pool ? pool : "", old, ptr, size);
}

void heaplapse_impl_free(const char *pool, const void *ptr)
{
	if (ptr)
		hl_emit_pool_free(pool ? pool : "", ptr);
}

void heaptrack_report_alloc(void *ptr, size_t size)
{
	CAPTURED(regs);
	report_realloc(&regs, HEAPTRACK_POOL, NULL, ptr, size);
}

void heaptrack_report_realloc(void *ptr_in, size_t size, void *ptr_out)
{
	CAPTURED(regs);
	report_realloc(&regs, HEAPTRACK_POOL, ptr_in, ptr_out, size);
}

void heaptrack_report_free(void *ptr)
{
	if (ptr)
		hl_emit_pool_free(HEAPTRACK_POOL, ptr);
}
