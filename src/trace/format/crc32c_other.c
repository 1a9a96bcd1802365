/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c_other.c - CRC-32C on architectures for which no special instruction is used. */
#include "trace/format/crc32c.h"

uint32_t hl_crc32c(uint32_t crc, const void *data, size_t len)
{
	return hl_crc32c_table(crc, data, len);
}
