/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.h - the CPU's name, in constants only: see the contract in arch.h. The recorder and the tool
 * include it; no other file outside this directory names a CPU (tools/check-cpu-names.py).
 */
#ifndef HL_RECORD_ARCH_CPU_H
#define HL_RECORD_ARCH_CPU_H

#include HL_ARCH_CPU /* record/arch/<cpu>/cpu.h, selected by the build */

#endif
