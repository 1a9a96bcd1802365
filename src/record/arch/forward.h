/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forward.h - a C function that jumps to the next function of its name: see the contract in arch.h.
 */
#ifndef HL_RECORD_ARCH_FORWARD_H
#define HL_RECORD_ARCH_FORWARD_H

#include HL_ARCH_FORWARD /* record/arch/<cpu>/forward.h, selected by the build */

#endif
