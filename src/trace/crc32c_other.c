/*
 * crc32c_other.c - CRC-32C where no instruction for it is used.
 */
#include "trace/crc32c.h"

uint32_t hl_crc32c(uint32_t crc, const void *data, size_t len)
{
	return hl_crc32c_table(crc, data, len);
}
