/* SPDX-License-Identifier: Apache-2.0 */
/* clone.h - starts a child process that shares our memory: see the contract in arch.h. */
#ifndef HL_RECORD_ARCH_CLONE_H
#define HL_RECORD_ARCH_CLONE_H

#include HL_ARCH_CLONE /* record/arch/<cpu>/clone.h, selected by the build */

#endif
