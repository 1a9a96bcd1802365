/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crc32c.h - the checksum of the trace file: CRC-32C (Castagnoli), reflected, as in iSCSI.
 */
#ifndef HL_TRACE_FORMAT_CRC32C_H
#define HL_TRACE_FORMAT_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues the checksum `crc` with these bytes. The first call passes 0. */
uint32_t hl_crc32c(uint32_t crc, const void *data, size_t len);

/* The same, computed with tables only: for processors without the instruction, and for the test. */
uint32_t hl_crc32c_table(uint32_t crc, const void *data, size_t len);

#endif
