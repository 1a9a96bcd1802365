/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_space.h - how many rings fit into the address space.
 */
#ifndef HL_RECORD_SESSION_ADDRESS_SPACE_H
#define HL_RECORD_SESSION_ADDRESS_SPACE_H

#include <stdint.h>

/* The number of rings, without the shared ones, that fit into the address space;
 * 0: none. */
uint32_t hl_address_space_rings(void);

#endif
