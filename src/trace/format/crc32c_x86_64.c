/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c_x86_64.c - CRC-32C with the SSE4.2 instruction if the processor has it. */
#include <nmmintrin.h>
#include <string.h>

#include "trace/format/crc32c.h"

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(
	uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t c = ~crc, word;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&word, p, 8);
		c = _mm_crc32_u64(c, word);
	}
	while (len--)
		c = _mm_crc32_u8((uint32_t)c, *p++);
	return ~(uint32_t)c;
}

uint32_t hl_crc32c(uint32_t crc, const void *data, size_t len)
{
	if (__builtin_cpu_supports("sse4.2"))
		return crc32c_sse42(crc, data, len);
	return hl_crc32c_table(crc, data, len);
}
